//! The forms that an answer can have, good, bad and hostile.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::{AnswerFormat, ProposedAnswer, ProposedCitation, ProposedClaim};
use crate::model::{ChunkId, Digest, DocumentId};

fn labels() -> Vec<String> {
    ["S1", "S2", "S3"].map(str::to_owned).to_vec()
}

fn parse(text: &str, format: AnswerFormat) -> Result<ProposedAnswer, String> {
    ProposedAnswer::parse(text, format, &labels()).map_err(|error| {
        assert_eq!(error.code(), "invalid");
        error.to_string()
    })
}

/// Claims as `text <ref: quote @range>`.
fn shown(answer: &ProposedAnswer) -> Vec<String> {
    let citation = |it: &ProposedCitation| {
        let quote = it.quote.as_ref().map_or(String::new(), |quote| format!(": {quote}"));
        let range = it.range.as_ref().map_or(String::new(), |range| format!(" @{}-{}", range.start, range.end));
        format!(" <{}{quote}{range}>", it.reference)
    };
    answer.claims.iter().map(|it| it.text.clone() + &it.citations.iter().map(citation).collect::<String>()).collect()
}

#[rstest]
#[case("A key lasts 45 days [S1].", &["A key lasts 45 days. <S1>"])]
#[case("A key lasts 45 days. [S1] It rotates [S2].", &["A key lasts 45 days. <S1>", "It rotates. <S2>"])]
#[case("A key lasts 45 days.[S1][S3]\nIt rotates.", &["A key lasts 45 days. <S1> <S3>", "It rotates."])]
#[case("A key lasts [S1, S2] and rotates [S3; S4]. No mark.", &["A key lasts and rotates. <S1> <S2> <S3> <S4>", "No mark."])]
#[case("密钥保留45天【S1】。到期后轮换。[S2]没有引用！", &["密钥保留45天。 <S1>", "到期后轮换。 <S2>", "没有引用！"])]
#[case("It is 1.5 GB, e.g. for Dr. Smith [S1].", &["It is 1.5 GB, e.g. for Dr. Smith. <S1>"])]
#[case("Is it so? Yes! It is v1.2.3 [S1].", &["Is it so?", "Yes!", "It is v1.2.3. <S1>"])]
#[case("# Keys\n\n- One thing [S1]\n- Another. Third [S2]\n  goes on\n1. Last", &["One thing <S1>", "Another.", "Third goes on <S2>", "Last"])]
#[case("| name | days |\n|---|---|\n| key | 45 | [S1]\n| token | 9 [S2] |", &["key | 45 <S1>", "token | 9 <S2>"])]
#[case("| key | 45 | [S1]\n| token | 9 [S2] |", &["key | 45 <S1>", "token | 9 <S2>"])]
#[case("| name | 45 days |\n|---|---|\n| key | old | [S1]", &["name | 45 days", "key | old <S1>"])]
#[case("# Answer\n\n## A key lasts 45 days\n\n### It rotates [S1]\n\n# It is so.\n\n# A title that has more words than a title has", &[
    "A key lasts 45 days", "It rotates <S1>", "It is so.", "A title that has more words than a title has",
])]
#[case("It rotates [S1]\nSources: [S1], [S2]\n\n**References:** [S1][S2]\n- 来源：[S1]、[S2]\nSource", &["It rotates <S1>"])]
#[case("Sources: [S1] and the law. Sources of income [S1].", &["Sources: and the law. <S1>", "Sources of income. <S1>"])]
#[case("<think>It may be 30 [S1]. {</think>\n\nIt is 45 [S1].", &["It is 45. <S1>"])]
#[case("Not supported by the corpus.", &[])]
#[case("\"Not supported by the corpus\"", &[])]
#[case("<think>hm</think>**Not supported by the corpus.**", &[])]
#[case("# Answer\n\nNot supported by the corpus.", &[])]
#[case("It rotates [S1]. Not supported by the corpus.", &["It rotates. <S1>", "Not supported by the corpus."])]
#[case("> It is quoted\n> over lines [S1].\n> Next.", &["It is quoted over lines. <S1>", "Next."])]
#[case("Code:\n\n```\nlet x = 1. Then.\n```\n\nDone [S1].", &["Code:", "let x = 1. Then.", "Done. <S1>"])]
#[case("```\nno end. At all", &["no end. At all"])]
#[case("The file `a[S1].md` is read [S2].", &["The file `a[S1].md` is read. <S2>"])]
#[case("See [the page](x.md) and [S 1] and [1] and [Sx] and [S1", &["See [the page](x.md) and [S 1] and [1] and [Sx] and [S1"])]
#[case("Unknown labels count too [S99].", &["Unknown labels count too. <S99>"])]
#[case("[S1] says so.", &["says so. <S1>"])]
#[case("", &[])]
#[case("[S1]\n\n---\n\n***", &[])]
#[case("“It lasts 45 days,” he said. Then [S1].", &["“It lasts 45 days,” he said.", "Then. <S1>"])]
#[case("He said \"It is so. It is not.\" Then [S1].", &["He said \"It is so. It is not.\"", "Then. <S1>"])]
#[case("A 5\" disk. A 3\" disk [S1].", &["A 5\" disk.", "A 3\" disk. <S1>"])]
fn text_with_marks(#[case] text: &str, #[case] claims: &[&str]) {
    for format in [AnswerFormat::Text, AnswerFormat::Auto] {
        assert_eq!(shown(&parse(text, format).unwrap()), claims);
    }
}

#[rstest]
#[case("It says \"a key lasts for 45 days\" [S1].", &["a key lasts for 45 days"], &["S1"])]
#[case("It says “a key lasts for 45 days” [S1][S2].", &["a key lasts for 45 days"; 2], &["S1", "S2"])]
#[case("文档说「密钥的保留时间是45天」[S1]。", &["密钥的保留时间是45天"], &["S1"])]
#[case("文档说『密钥的保留时间是45天』【S1】。", &["密钥的保留时间是45天"], &["S1"])]
#[case("[S1]: «une clé dure quarante jours».", &["une clé dure quarante jours"], &["S1"])]
#[case("\"One passage of text\" [S1], \"another passage of text\" [S2].", &["One passage of text", "another passage of text"], &["S1", "S2"])]
#[case("\"One passage of text\" and \"another passage of text\" [S1].", &["One passage of text", "another passage of text"], &["S1", "S1"])]
#[case("So it is [S1], and \"another passage of text\" [S2].", &["", "another passage of text"], &["S1", "S2"])]
// Too short, or code: words of the claim.
#[case("The \"key\" is of 'a kind' [S1].", &[""], &["S1"])]
#[case("Run `ragdb sync the whole folder` [S1].", &[""], &["S1"])]
fn quoted_passages(#[case] text: &str, #[case] quotes: &[&str], #[case] references: &[&str]) {
    let answer = parse(text, AnswerFormat::Text).unwrap();
    assert_eq!(answer.claims.len(), 1);
    let citations = &answer.claims[0].citations;
    assert_eq!(citations.iter().map(|it| it.quote.as_deref().unwrap_or("")).collect::<Vec<_>>(), quotes);
    assert_eq!(citations.iter().map(|it| it.reference.as_str()).collect::<Vec<_>>(), references);
}

#[rstest]
#[case(r#"{"claims": []}"#, &[])]
#[case(r#"{"claims": [{"text": " A. ", "citations": [{"ref": "S1", "quote": "q"}, {"ref": "[S2]", "quote": null}, {"ref": "x"}]}, {"text": "B."}]}"#,
    &["A. <S1: q> <S2> <x>", "B."])]
#[case("```json\n{\"claims\": [{\"text\": \"A\", \"confidence\": 0.9}], \"note\": [1]}\n```", &["A"])]
#[case("```\n{\"claims\": [{\"text\": \"A\"}]}\n```", &["A"])]
#[case("\u{feff}{\"claims\": [{\"text\": \"A\"}]}", &["A"])]
#[case("<think>\n{\"claims\": [{\"text\": \"no\"}]}\n</think>\n```json\n{\"claims\": [{\"text\": \"A\"}]}\n```", &["A"])]
#[case(r#"{"claims": [{"text": " ", "citations": [{"ref": "S1"}]}, {"text": "A", "citations": [{"ref": "【S1】"}, {"ref": "[ S2 ]"}, {"ref": "s1"}]}]}"#, &["A <S1> <S2> <s1>"])]
#[case(r#"{"claims": [{"text": "Not supported by the corpus."}]}"#, &[])]
fn json_claims(#[case] text: &str, #[case] claims: &[&str]) {
    for format in [AnswerFormat::Json, AnswerFormat::Auto] {
        assert_eq!(shown(&parse(text, format).unwrap()), claims);
    }
}

#[rstest]
#[case("", "EOF")]
#[case("prose", "expected value at line 1 column 1")]
#[case(r#"{"claims": "x"}"#, "expected a sequence at line 1 column 14")]
#[case(r#"{"claims": [{"text": 5}]}"#, "expected a string")]
#[case(r#"{"claims": [{"citations": []}]}"#, "missing field `text`")]
#[case("<think>{\"claims\": []}", "ends before its <think> block does")]
#[case("null", "invalid type: null")]
#[case(r#"{"claims": null}"#, "invalid type: null")]
#[case(r#"{"claims": [{"text": "A", "citations": null}]}"#, "expected a sequence")]
#[case(r#"{"claims": [{"text": "A", "citations": [{"quote": "q"}]}]}"#, "missing field `ref`")]
#[case(r#"{"claims": [{"text": "A", "citations": [{"ref": 1}]}]}"#, "expected a string")]
#[case(r#"{"claims": [{"text": "A", "citations": [{"ref": "S1", "quote": 5}]}]}"#, "expected a string")]
#[case(r#"{"claims": [{"text": "A", "text": "B"}]}"#, "duplicate field `text`")]
#[case(r#"{"claims": [], "claims": []}"#, "duplicate field `claims`")]
#[case(r#"{"claims": []} and more"#, "trailing characters")]
#[case("```json\n{\"claims\": []}\n```\n```json\n{}\n```", "trailing characters")]
#[case(r#"{"claim": []}"#, "missing field `claims`")]
fn json_that_is_refused(#[case] text: &str, #[case] why: &str) {
    let message = parse(text, AnswerFormat::Json).unwrap_err();
    assert!(message.contains(why), "{message}");
}

#[rstest]
#[case(r#"{"claims": [}"#, "begins like JSON")]
#[case(r#"{"answer": "x"}"#, "without claims, content, choices or output")]
#[case(r#"{"claims": 5}"#, "expected a sequence")]
#[case(r#"{"choices": []}"#, "0 choices")]
#[case(r#"{"content": [{"type": "text"}]}"#, "block 1 is of type text and has none")]
#[case(r#"{"content": [{"type": "text", "text": "A", "citations": [{"cited_text": "q"}]}]}"#, "names no document")]
#[case(r#"{"content": 5}"#, "not a response of a known API")]
#[case("null", "the answer is null")]
#[case(r#"{"content": null}"#, "no content")]
#[case(r#"{"choices": [{"message": {"content": null}}]}"#, "no content (null)")]
fn what_auto_refuses(#[case] text: &str, #[case] why: &str) {
    let message = parse(text, AnswerFormat::Auto).unwrap_err();
    assert!(message.contains(why), "{message}");
}

#[test]
fn anthropic_messages() {
    let message = json!({"id": "m", "type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "According to the docs, "},
        {"type": "text", "text": "a key lasts 45 days", "citations": [
            {"type": "char_location", "cited_text": "It lasts 45 days.", "document_index": 0, "document_title": "keys.md", "start_char_index": 8, "end_char_index": 25},
            {"type": "page_location", "cited_text": "Page text", "document_index": 4, "start_page_number": 1, "end_page_number": 2}]},
        {"type": "text", "text": ". It rotates. ", "citations": null},
        {"type": "text", "text": "And more", "citations": [
            {"type": "content_block_location", "cited_text": "b", "document_index": 1, "document_title": "S3", "start_block_index": 0, "end_block_index": 1},
            {"type": "search_result_location", "cited_text": "c", "search_result_index": 1, "source": "https://x", "title": null, "start_block_index": 0, "end_block_index": 1},
            {"type": "web_search_result_location", "cited_text": "d", "url": "https://y", "encrypted_index": "e"}]},
    ]});
    let claims = [
        "According to the docs, a key lasts 45 days. <S1: It lasts 45 days. @8-25> <S5: Page text>",
        "It rotates.",
        "And more <S3: b> <S2: c> <https://y: d>",
    ];
    for text in [message.to_string(), message["content"].to_string()] {
        for format in [AnswerFormat::Api, AnswerFormat::Auto] {
            assert_eq!(shown(&parse(&text, format).unwrap()), claims);
        }
    }
}

#[test]
fn openai_responses() {
    let output = json!({"object": "response", "output": [
        {"type": "file_search_call", "queries": ["q"]},
        {"type": "reasoning", "content": null},
        {"type": "message", "content": [{"type": "output_text", "text": "Schlüssel: ja. A key lasts 45 days. It rotates.", "annotations": [
            {"type": "file_citation", "index": 34, "file_id": "file-1", "filename": "S2"},
            {"type": "url_citation", "start_index": 36, "end_index": 46, "url": "https://x", "title": "t"}]}]},
    ]});
    let claims = ["Schlüssel: ja.", "A key lasts 45 days. <S2>", "It rotates. <https://x>"];
    assert_eq!(shown(&parse(&output.to_string(), AnswerFormat::Auto).unwrap()), claims);
}

#[rstest]
#[case(json!("A key lasts 45 days [S1]."), &["A key lasts 45 days. <S1>"])]
#[case(json!("{\"claims\": [{\"text\": \"A\"}]}"), &["A"])]
#[case(json!([{"type": "text", "text": "```json\n{\"claims\": [{\"text\": \"A\"}]}\n```"}]), &["A"])]
fn openai_chat(#[case] content: serde_json::Value, #[case] claims: &[&str]) {
    let response = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]});
    assert_eq!(shown(&parse(&response.to_string(), AnswerFormat::Auto).unwrap()), claims);
}

#[test]
fn who_declines_claims_nothing() {
    let response = json!({"choices": [{"message": {"content": null, "refusal": "I can't."}}]});
    assert_eq!(parse(&response.to_string(), AnswerFormat::Auto), Ok(ProposedAnswer::default()));
}

#[test]
fn chunk_ids_are_marks() {
    let id = ChunkId::new(DocumentId::new("docs", "a.md"), &Digest::of("x"), 0).to_string();
    let answer = parse(&format!("It is so [{id}]."), AnswerFormat::Text).unwrap();
    assert_eq!(shown(&answer), [format!("It is so. <{id}>")]);
}

#[test]
fn more_than_an_answer_may_hold() {
    let many = |count: usize, it: &str| vec![it; count].join(",");
    let claims = format!(r#"{{"claims": [{}]}}"#, many(201, r#"{"text": "A"}"#));
    assert!(parse(&claims, AnswerFormat::Auto).unwrap_err().contains("201 claims; at most 200"));
    let citations = format!(r#"{{"claims": [{{"text": "A", "citations": [{}]}}]}}"#, many(21, r#"{"ref": "S1"}"#));
    assert!(parse(&citations, AnswerFormat::Auto).unwrap_err().contains("claim 1 has 21 citations; at most 20"));
    assert!(parse(&format!("A {}.", "[S1]".repeat(21)), AnswerFormat::Auto).unwrap_err().contains("21 citations"));
    assert!(parse(&"It. ".repeat(202), AnswerFormat::Text).unwrap_err().contains("more than 200 claims"));
    assert!(parse(&"A".repeat((4 << 20) + 1), AnswerFormat::Auto).unwrap_err().contains("at most 4194304"));
    assert_eq!(parse(&"It. ".repeat(200), AnswerFormat::Text).unwrap().claims.len(), 200);
    let deep = |open: &str| format!("{{\"claims\": [], \"x\": {}", open.repeat(1 << 19));
    for text in [deep("["), deep("{\"x\":"), "[{".repeat(1 << 20), format!("[{}", "[".repeat(1 << 21))] {
        for format in [AnswerFormat::Json, AnswerFormat::Api] {
            assert!(parse(&text, format).unwrap_err().contains("not"), "{}", &text[..40]);
        }
    }
}

#[test]
fn hostile_texts_take_linear_time() {
    let begun = std::time::Instant::now();
    for unit in [
        "[",
        "[S1",
        "[S1, ",
        "[S1]",
        "\"",
        "\" ",
        "“",
        "`",
        "「「",
        ". ",
        ".",
        "> ",
        "| ",
        "```\n",
        "- ",
        "# ",
        "1. ",
        "a\n",
        "。",
        "…\"a b c d e f g h i\"[S1]",
    ] {
        let text = unit.repeat((1 << 17) / unit.len());
        for text in [text.clone(), format!("A {text}")] {
            let _ = parse(&text, AnswerFormat::Text);
            let _ = parse(&text, AnswerFormat::Auto);
        }
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

/// The letters of a text, which are not those of its marks.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_lowercase).collect()
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        for format in AnswerFormat::ALL {
            let _ = parse(&text, format);
        }
    }

    #[test]
    fn any_json_is_read_or_refused(text in r#"[\[\]{}:,"a-c0-9 \\n]{0,80}|\{"(claims|content|choices|output)": ?[\[\]{}:,"a-z0-9 ]{0,60}"#) {
        for format in AnswerFormat::ALL {
            let _ = parse(&text, format);
        }
    }

    #[test]
    fn no_word_of_a_text_is_lost(text in r#"([a-z]{1,4}[.!?。]?["“”`「」|>#*'()-]?[ \n]{0,2}|\[S1\]|[0-9]\. |\n- |\n\n|```\n){0,40}"#) {
        let answer = parse(&text, AnswerFormat::Text).unwrap();
        let found: String = answer.claims.iter().map(|it| letters(&it.text)).collect();
        prop_assert_eq!(found, letters(&text));
    }

    #[test]
    fn json_comes_back_as_it_was(claims in proptest::collection::vec(
        ("[a-z].{0,20}[a-z]", proptest::collection::vec(("[A-Za-z0-9]{1,8}", proptest::option::of(".{0,20}")), 0..4)), 0..5)
    ) {
        let claims: Vec<ProposedClaim> = claims.into_iter().map(|(text, citations)| ProposedClaim {
            text,
            citations: citations.into_iter().map(|(reference, quote)| ProposedCitation { reference, quote, range: None }).collect(),
        }).collect();
        let written = json!({"claims": claims.iter().map(|claim| json!({
            "text": claim.text,
            "citations": claim.citations.iter().map(|it| json!({"ref": it.reference, "quote": it.quote})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>()});
        for format in [AnswerFormat::Json, AnswerFormat::Auto] {
            prop_assert_eq!(&parse(&written.to_string(), format).unwrap().claims, &claims);
        }
    }
}
