//! The outline of a Markdown text: its heading sections and the blocks inside them, as pulldown-cmark sees them.
//!
//! Only a heading that stands in no other block opens a section: one inside a quotation, a list item or a footnote
//! belongs to what it is quoted or listed in.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::depth::without_abysses;
use super::lines::{line_end, line_start};

/// The extensions that decide where a block begins and ends. Heading attributes are left out on purpose:
/// pulldown-cmark takes any `{…}` at a heading's end for attributes, the `{id}` of `GET /users/{id}` included;
/// [`HeadingText`] drops the real ones.
const EXTENSIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES).union(Options::ENABLE_TASKLISTS);

/// A heading's text longer than this is cut: it is repeated in the heading path of every chunk below it.
const MAX_HEADING_CHARS: usize = 256;

/// A block in the order of the text; what follows it at a greater depth is inside it.
pub(super) struct Block {
    pub(super) bytes: Range<usize>,
    pub(super) depth: usize,
}

/// The heading that opens a section.
pub(super) struct Heading {
    pub(super) level: usize,
    pub(super) text: String,
    /// The end of the heading's last line (a setext underline counts), without its terminator.
    pub(super) end: usize,
}

/// What stands before the first heading, or a heading and what follows it up to the next.
pub(super) struct Section {
    pub(super) heading: Option<Heading>,
    pub(super) start: usize,
    /// The blocks behind the heading.
    pub(super) blocks: Vec<Block>,
}

/// Gives each section of `text[body_start..]` with the offset of its end to `each`, in order. Offsets are into
/// `text`; a section starts and ends at the start of a line.
pub(super) fn for_each_section(text: &str, body_start: usize, mut each: impl FnMut(&Section, usize)) {
    let mut section = Section { heading: None, start: body_start, blocks: Vec::new() };
    let mut depth = 0_usize;
    let mut heading: Option<HeadingText> = None;
    let parsed = without_abysses(&text[body_start..]);
    for (event, range) in Parser::new_ext(&parsed, EXTENSIONS).into_offset_iter() {
        let range = body_start + range.start..body_start + range.end;
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let start = line_start(text, range.start).max(body_start);
                each(&section, start);
                let visible = text[range.clone()].trim_end_matches([' ', '\t', '\r', '\n']).len();
                let end = line_end(text, range.start + visible);
                section.heading = Some(Heading { level: level as usize, text: String::new(), end });
                section.start = start;
                section.blocks.clear();
                heading = Some(HeadingText::default());
                depth = 1;
            }
            Event::End(TagEnd::Heading(_)) if heading.is_some() => {
                let text = heading.take().map(HeadingText::finish).unwrap_or_default();
                if let Some(heading) = &mut section.heading {
                    heading.text = text;
                }
                depth = 0;
            }
            Event::Start(tag) if is_block(&tag) => {
                section.blocks.push(Block { bytes: range, depth });
                depth += 1;
            }
            Event::End(tag) if is_block_end(tag) => depth = depth.saturating_sub(1),
            Event::Rule => section.blocks.push(Block { bytes: range, depth }),
            event => {
                if let Some(heading) = &mut heading {
                    heading.add(&event);
                }
            }
        }
    }
    each(&section, text.len());
}

/// A table is one block: its rows and cells are not.
fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::List(_)
            | Tag::Item
            | Tag::FootnoteDefinition(_)
            | Tag::Table(_)
    )
}

fn is_block_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::Table
    )
}

/// Collects the plain text of a heading: text, code and the words for an image; no markup, HTML tag or footnote
/// mark.
#[derive(Default)]
struct HeadingText {
    text: String,
    /// The bytes of `text` that end with a code span, in which braces are no attributes.
    code_end: usize,
}

impl HeadingText {
    fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => self.text.push_str(text),
            Event::Code(code) => {
                self.text.push_str(code);
                self.code_end = self.text.len();
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    fn finish(self) -> String {
        let plain = strip_attributes(&self.text, self.code_end);
        let mut text = String::with_capacity(plain.len().min(4 * MAX_HEADING_CHARS));
        for word in plain.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() > 4 * MAX_HEADING_CHARS {
                break;
            }
        }
        if let Some((cut, _)) = text.char_indices().nth(MAX_HEADING_CHARS) {
            text.truncate(cut);
            text.push('…');
        }
        text
    }
}

/// `text` without a `{#id}`, `{.class}` or `{: #id}` behind it.
fn strip_attributes(text: &str, code_end: usize) -> &str {
    let inside = |open: usize| text[open + 1..].trim_end().strip_suffix('}');
    let Some(open) = text.rfind('{').filter(|&open| open >= code_end) else { return text };
    let Some(inside) = inside(open) else { return text };
    let inside = inside.strip_prefix(':').unwrap_or(inside).trim();
    let mut chars = inside.chars();
    let named = match chars.next() {
        Some('#') => chars.next().is_some_and(|c| !c.is_whitespace()),
        Some('.') => chars.next().is_some_and(char::is_alphabetic),
        _ => false,
    };
    if named && !inside.contains('}') { &text[..open] } else { text }
}
