//! The responses of common APIs.
//!
//! Anthropic, messages: `content` blocks of type `text`, each with `citations` that hold `cited_text` and the document by
//! its number among those sent: the run's labels in order. OpenAI, responses: `output[].content[]` of type `output_text`
//! with `annotations`, which name a file. OpenAI, chat completions: `choices[0].message.content`, which is text with
//! marks, or the JSON form. The texts of all blocks are one text; a sentence has the citations of each block that it
//! meets, since what a block leaves out of its sentence may turn its meaning.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

use super::marks::{self, Beside};
use super::{AnswerFormat, ProposedAnswer, ProposedCitation, invalid, json, spoken};
use crate::error::Result;
use crate::model::ChunkId;

#[derive(Deserialize)]
#[serde(untagged)]
enum Response {
    Blocks(Vec<Block>),
    Message(Message),
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    output: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Choice {
    message: ChoiceMessage,
}

#[derive(Deserialize)]
struct ChoiceMessage {
    content: Option<Content>,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    content: Option<Vec<Block>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    citations: Option<Vec<ApiCitation>>,
    #[serde(default)]
    annotations: Option<Vec<Annotation>>,
}

#[derive(Deserialize)]
struct ApiCitation {
    cited_text: String,
    #[serde(default)]
    document_index: Option<usize>,
    #[serde(default)]
    search_result_index: Option<usize>,
    #[serde(default)]
    document_title: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    start_char_index: Option<usize>,
    #[serde(default)]
    end_char_index: Option<usize>,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    file_id: Option<String>,
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    start_index: Option<usize>,
    #[serde(default)]
    end_index: Option<usize>,
}

/// Which format a text is in. What begins like JSON must be JSON: half a response is not prose.
pub(super) fn detect(text: &str) -> Result<AnswerFormat> {
    let inside = json::unfenced(text);
    if inside == "null" {
        return Err(invalid("the answer is null"));
    }
    let list = inside.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
    if !inside.starts_with('{') && !list {
        return Ok(AnswerFormat::Text);
    }
    let value: Value = serde_json::from_str(inside)
        .map_err(|error| invalid(format!("the answer begins like JSON and is not ({error}); is it text?")))?;
    let has = |name| value.get(name).is_some();
    if has("claims") {
        Ok(AnswerFormat::Json)
    } else if list || ["content", "choices", "output"].into_iter().any(has) {
        Ok(AnswerFormat::Api)
    } else {
        Err(invalid("the answer is JSON without claims, content, choices or output"))
    }
}

pub(super) fn parse(text: &str, labels: &[String]) -> Result<ProposedAnswer> {
    let response: Response = serde_json::from_str(json::unfenced(text))
        .map_err(|error| invalid(format!("the answer is not a response of a known API: {error}")))?;
    let message = match response {
        Response::Blocks(blocks) => return of_blocks(blocks, labels),
        Response::Message(message) => message,
    };
    if let Some(mut choices) = message.choices {
        let count = choices.len();
        let only = choices.pop().filter(|_| count == 1);
        let only = only.ok_or_else(|| invalid(format!("the response has {count} choices; give one")))?;
        return match only.message {
            ChoiceMessage { content: Some(content), .. } => of_content(content, labels),
            // Who declines claims nothing.
            ChoiceMessage { refusal: Some(_), .. } => Ok(ProposedAnswer::default()),
            ChoiceMessage { .. } => Err(invalid("the response's message has no content (null)")),
        };
    }
    if let Some(output) = message.output {
        return of_blocks(output.into_iter().filter_map(|item| item.content).flatten().collect(), labels);
    }
    let content = message.content.ok_or_else(|| invalid("the response has no content, choices or output"))?;
    of_content(content, labels)
}

fn of_content(content: Content, labels: &[String]) -> Result<ProposedAnswer> {
    match content {
        Content::Blocks(blocks) => of_blocks(blocks, labels),
        Content::Text(text) => {
            let text = spoken(text.trim())?;
            if detect(text)? == AnswerFormat::Json { json::parse(text) } else { marks::parse(text, &[], labels) }
        }
    }
}

fn of_blocks(blocks: Vec<Block>, labels: &[String]) -> Result<ProposedAnswer> {
    let mut text = String::new();
    let mut beside = Vec::new();
    for (block, number) in blocks.into_iter().zip(1..) {
        if !matches!(block.r#type.as_str(), "text" | "output_text") {
            continue;
        }
        let words = block.text.ok_or_else(|| invalid(format!("block {number} is of type text and has none")))?;
        let start = text.len();
        text.push_str(&words);
        for citation in block.citations.unwrap_or_default() {
            beside.push(Beside { at: start..text.len(), citation: citation.named(labels, number)? });
        }
        let annotations = block.annotations.unwrap_or_default();
        if !annotations.is_empty() {
            let places: Vec<usize> = words.char_indices().map(|(at, _)| at).chain([words.len()]).collect();
            for annotation in annotations {
                let Range { start: first, end } = annotation.place(&places);
                let citation = annotation.named(labels, number)?;
                beside.push(Beside { at: start + first..start + end, citation });
            }
        }
    }
    // Blocks may be a JSON answer in pieces.
    if beside.is_empty() {
        let said = spoken(text.trim())?;
        let is_json = json::unfenced(said).starts_with('{');
        return if is_json { json::parse(said) } else { marks::parse(said, &[], labels) };
    }
    marks::parse(&text, &beside, labels)
}

/// The first name that is a label of the run or a chunk id.
fn known<'a>(names: impl IntoIterator<Item = Option<&'a String>>, labels: &[String]) -> Option<String> {
    let is_known = |name: &&String| labels.contains(name) || ChunkId::parse(name).is_some();
    names.into_iter().flatten().find(is_known).cloned()
}

impl ApiCitation {
    fn named(self, labels: &[String], block: usize) -> Result<ProposedCitation> {
        let number = self.document_index.or(self.search_result_index);
        let label =
            |number: usize| labels.get(number).cloned().unwrap_or_else(|| format!("S{}", number.saturating_add(1)));
        let reference = known([self.source.as_ref(), self.document_title.as_ref()], labels)
            .or_else(|| number.map(label))
            .or(self.source)
            .or(self.url)
            .ok_or_else(|| invalid(format!("a citation of block {block} names no document")))?;
        let range = self.start_char_index.zip(self.end_char_index).map(|(start, end)| start..end);
        Ok(ProposedCitation { reference, quote: Some(self.cited_text), range })
    }
}

impl Annotation {
    fn named(self, labels: &[String], block: usize) -> Result<ProposedCitation> {
        let reference = known([self.file_id.as_ref(), self.filename.as_ref()], labels)
            .or(self.file_id)
            .or(self.filename)
            .or(self.url)
            .ok_or_else(|| invalid(format!("an annotation of block {block} names no file")))?;
        Ok(ProposedCitation { reference, quote: None, range: None })
    }

    /// The bytes of its text that it is about. `places` are where the characters begin.
    fn place(&self, places: &[usize]) -> Range<usize> {
        let byte = |at: usize| places.get(at).or(places.last()).copied().unwrap_or(0);
        let end = byte(self.end_index.or(self.index).unwrap_or(usize::MAX));
        // A point is about the character before it.
        let start =
            self.start_index.map_or_else(|| byte(places.partition_point(|at| *at < end).saturating_sub(1)), byte);
        start.min(end)..end
    }
}
