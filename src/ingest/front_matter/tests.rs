use std::fmt::Write as _;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

/// The fields and the body.
fn read(source: &str) -> (Option<Value>, &str) {
    let parsed = parse(source).unwrap_or_else(|error| panic!("{source:?}: {error:?}"));
    (parsed.fields.map(Value::Object), &source[parsed.body_start..])
}

#[rstest]
#[case::yaml("---\ntitle: x\ntags: [a, b]\n---\n# H\n", json!({"title": "x", "tags": ["a", "b"]}), "# H\n")]
#[case::dots("---\ntitle: x\n...\nbody", json!({"title": "x"}), "body")]
#[case::crlf("---\r\na: 1\r\nb: |\r\n  x\r\n  y\r\n---\r\nbody", json!({"a": 1, "b": "x\ny\n"}), "body")]
#[case::lone_cr("---\ra: 1\rb: 2\r---\rbody", json!({"a": 1, "b": 2}), "body")]
#[case::mark("\u{feff}---\na: 1\n---\nbody", json!({"a": 1}), "body")]
#[case::white_space_behind("--- \na: 1\n---\t\nbody", json!({"a": 1}), "body")]
#[case::no_final_terminator("---\na: 1\n---", json!({"a": 1}), "")]
#[case::empty("---\n---\nbody", json!({}), "body")]
#[case::empty_lines("---\n\n---\nbody", json!({}), "body")]
#[case::comments_only("---\n# layout: x\n---\nbody", json!({}), "body")]
#[case::comments_first("---\n# to change it\n\nlayout: home\n---\nbody", json!({"layout": "home"}), "body")]
#[case::blank_line_first("---\n\ntitle: x\n---\nbody", json!({"title": "x"}), "body")]
#[case::longer_rule_inside("---\na: |\n  ----\n  --- b\n---\nbody", json!({"a": "----\n--- b\n"}), "body")]
#[case::later_rule("---\na: 1\n---\nbody\n\n---\n", json!({"a": 1}), "body\n\n---\n")]
#[case::toml("+++\nt = 'x'\n[m]\nn = [1, 2]\n+++\nbody", json!({"t": "x", "m": {"n": [1, 2]}}), "body")]
#[case::toml_crlf("+++\r\nt = 1\r\n+++\r\nbody", json!({"t": 1}), "body")]
#[case::toml_lone_cr("+++\rt = 1\ru = 2\r+++\rbody", json!({"t": 1, "u": 2}), "body")]
#[case::toml_empty("+++\n+++\nbody", json!({}), "body")]
fn reads_front_matter(#[case] source: &str, #[case] fields: Value, #[case] body: &str) {
    assert_eq!(read(source), (Some(fields), body));
}

#[rstest]
#[case::plain("# H\n", 0)]
#[case::nothing("", 0)]
#[case::mark_only("\u{feff}", 3)]
#[case::mark("\u{feff}# H\n", 3)]
#[case::rule_alone("---", 0)]
#[case::rule("---\n\nSome text: here\n\nmore\n", 0)]
#[case::rule_then_word("---\n\nNote: not closed\n", 0)]
#[case::rule_then_text("---\nSome text under a rule.\n", 0)]
#[case::two_rules("---\n\n# Slide: one\n\nSome words: more\n\n---\n\n# Slide two\n", 0)]
#[case::slide("---\n\n# Slide\n\n---\n", 0)]
#[case::longer("----\na: 1\n----\n", 0)]
#[case::indented(" ---\na: 1\n---\n", 0)]
#[case::second_line("\n---\na: 1\n---\n", 0)]
#[case::pluses("+++\nsome text\n", 0)]
fn leaves_other_beginnings_alone(#[case] source: &str, #[case] body_start: usize) {
    assert_eq!(parse(source), Ok(FrontMatter { body_start, fields: None }));
}

#[rstest]
#[case::unclosed("---\ntitle: x\nlist:\n  - a\n\n# H\n\nbody\n", "front_matter_unclosed", "line `---`")]
#[case::unclosed_toml("+++\ntitle = 'x'\n\n# H\n", "front_matter_unclosed", "line `+++`")]
#[case::pandoc_in_pluses("+++\ntitle: x\n...\n\ntext", "front_matter_unclosed", "line `+++`")]
#[case::colon_in_value("---\na: 1\nb: c: d\n---\n", "front_matter_invalid", "line 3")]
#[case::open_quote("---\na: \"b\n---\n", "front_matter_invalid", "line")]
#[case::list("---\n- a\n- b\n---\n", "front_matter_invalid", "key: value")]
#[case::text("---\njust text\n---\n", "front_matter_invalid", "key: value")]
#[case::twice("---\na: 1\nb: 2\na: 3\n---\n", "front_matter_invalid", "line 4")]
#[case::twice_inside("---\nm:\n  a: 1\n  a: 2\n---\n", "front_matter_invalid", "line 4")]
#[case::unknown_anchor("---\na: *b\n---\n", "front_matter_invalid", "line 2")]
#[case::compound_key("---\n? [a, b]\n: c\n---\n", "front_matter_invalid", "line 2")]
#[case::closed_late("---\na: 1\n\n# H\n\nbody text\n\n---\nmore", "front_matter_invalid", "line")]
#[case::toml_broken("+++\na = 1\nb = \n+++\n", "front_matter_invalid", "line 3")]
#[case::toml_twice("+++\na = 1\na = 2\n+++\n", "front_matter_invalid", "line 3")]
fn names_what_is_broken(#[case] source: &str, #[case] code: &str, #[case] message: &str) {
    let error = parse(source).expect_err(source);
    assert_eq!(error.code, code);
    assert!(error.message.contains(message), "{}", error.message);
    assert!(!error.message.contains('\n'), "{:?}", error.message);
}

#[rstest]
#[case::date("2018-05-31", json!("2018-05-31"))]
#[case::american_date("05/31/2018", json!("05/31/2018"))]
#[case::time("2018-05-31 10:11:12 +0200", json!("2018-05-31 10:11:12 +0200"))]
#[case::clock("12:30:45", json!("12:30:45"))]
#[case::norway("no", json!("no"))]
#[case::truth("true", json!(true))]
#[case::null("~", json!(null))]
#[case::nothing("", json!(null))]
#[case::integer("-7", json!(-7))]
#[case::large("18446744073709551615", json!(u64::MAX))]
#[case::float("1.5", json!(1.5))]
#[case::leading_zero("007", json!("007"))]
#[case::underscore("1_000", json!("1_000"))]
#[case::not_a_number(".nan", json!(".nan"))]
#[case::infinite("-.inf", json!("-.inf"))]
#[case::too_large("1e999", json!(".inf"))]
#[case::own_tag("!mine x", json!("x"))]
#[case::folded(">-\n  a\n  b", json!("a b"))]
#[case::percent("% of x # comment", json!("% of x"))]
#[case::at("@me's", json!("@me's"))]
#[case::backtick("`code` words", json!("`code` words"))]
#[case::list_of_percents("\n  - %\n  - x\n  - '@'\n  - @", json!(["%", "x", "@", "@"]))]
fn yaml_values_become_json(#[case] value: &str, #[case] expected: Value) {
    let source = format!("---\nk: {value}\n---\n");
    assert_eq!(read(&source), (Some(json!({ "k": expected })), ""));
}

#[rstest]
#[case("1", "1")]
#[case("true", "true")]
#[case("~", "~")]
#[case("2018-05-31", "2018-05-31")]
fn keys_are_strings(#[case] key: &str, #[case] expected: &str) {
    let source = format!("---\n{key}: x\n---\n");
    assert_eq!(read(&source), (Some(json!({ expected: "x" })), ""));
}

#[test]
fn merge_keys_and_anchors_are_resolved() {
    let source = "---\nbase: &b\n  x: 1\nmore:\n  <<: *b\n  y: 2\n---\n";
    assert_eq!(read(source).0, Some(json!({"base": {"x": 1}, "more": {"x": 1, "y": 2}})));
}

#[test]
fn toml_values_become_json() {
    let source = "+++\nd = 2018-05-31\nt = 2018-05-31T10:11:12Z\nf = 1.5\ni = -inf\nn = nan\nb = true\n+++\n";
    let expected = json!({
        "d": "2018-05-31", "t": "2018-05-31T10:11:12Z", "f": 1.5, "i": "-inf", "n": "NaN", "b": true,
    });
    assert_eq!(read(source).0, Some(expected));
}

#[test]
fn the_order_of_keys_is_kept() {
    let fields = parse("---\nz: 1\na: 2\nm: 3\n---\n").expect("valid").fields.expect("present");
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let repeats = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{repeats}]");
    }
    bomb += "---\n";
    assert_eq!(parse(&bomb).expect_err("too large").code, "front_matter_invalid");

    let long = format!("---\na: &a {}\nb: [{}]\n---\n", "x".repeat(1 << 20), vec!["*a"; 1000].join(", "));
    assert_eq!(parse(&long).expect_err("too large").code, "front_matter_invalid");
}

#[rstest]
#[case("[")]
#[case("{a: ")]
#[case("- ")]
#[case("? ")]
fn depth_is_bounded(#[case] opening: &str) {
    let source = format!("---\na: 1\nb:\n {}x\n---\n", opening.repeat(100_000));
    assert_eq!(parse(&source).expect_err("too deep").code, "front_matter_invalid");
    let source = format!("+++\na = {}x\n+++\n", opening.repeat(100_000));
    assert_eq!(parse(&source).expect_err("too deep").code, "front_matter_invalid");
}

#[test]
fn a_long_front_matter_still_ends() {
    let entries = "- entry\n".repeat(5000);
    let source = format!("---\napi_name:\n{entries}---\nbody");
    let (fields, body) = read(&source);
    assert_eq!(fields.expect("present")["api_name"].as_array().map(Vec::len), Some(5000));
    assert_eq!(body, "body");
}

#[rstest]
#[case("", 0, true)]
#[case("\u{feff} \t\r\n\u{3000}\n", 0, true)]
#[case("---\n---\n\n", 8, true)]
#[case("---\n---\n\n.", 8, false)]
fn a_body_of_white_space_is_blank(#[case] source: &str, #[case] body_start: usize, #[case] blank: bool) {
    assert_eq!(is_blank(source, body_start), blank);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_beginning_is_read_or_refused(
        mark in any::<bool>(),
        opening in prop::sample::select(vec!["---", "---", "+++", "text"]),
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "---", "...", "+++", "a: b", "a = 1", "b:", "  - c", "- %", "- @a'b", "? x", "[t]", "# d", "", " ", "\t",
                "e: |", "  f", "g: &h i", "j: *h", "<<: *h", "k: !!int z", "l: \"m", "'n': o", "字: é", "{", "[", "}", "]",
                "%YAML 1.2", "%", "!", "p: `q`", "\u{feff}r: s", "\u{85}", "\0",
            ]),
            0..12,
        ),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let source = format!("{}{opening}{end}{}", if mark { "\u{feff}" } else { "" }, lines.join(end));
        match parse(&source) {
            Ok(FrontMatter { body_start, fields }) => {
                let before = &source[..body_start];
                let start = if mark { 3 } else { 0 };
                let is_after_a_line = before.ends_with(['\n', '\r']) || body_start == source.len();
                let fits = if fields.is_some() { is_after_a_line } else { body_start == start };
                prop_assert!(fits, "the body starts at {body_start}");
            }
            Err(error) => {
                prop_assert!(["front_matter_unclosed", "front_matter_invalid"].contains(&error.code));
                prop_assert!(!error.message.contains(['\n', '\r']), "{}", error.message);
            }
        }
    }
}
