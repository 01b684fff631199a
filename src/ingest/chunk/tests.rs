use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rstest::rstest;

use super::*;

fn policy(max_chars: u32, overlap_chars: u32) -> ChunkPolicy {
    ChunkPolicy { target_chars: max_chars.min(800), max_chars, overlap_chars }
}

fn texts<'a>(source: &'a str, chunked: &Chunked) -> Vec<&'a str> {
    let bytes = |span: Span| usize::try_from(span.start_byte).unwrap()..usize::try_from(span.end_byte).unwrap();
    chunked.chunks.iter().map(|chunk| &source[bytes(chunk.span)]).collect()
}

/// Each chunk on a line: its lines, its heading path, `!` where it is only a heading.
fn outline(source: &str, max_chars: u32) -> Vec<String> {
    let describe = |chunk: &RawChunk| {
        let mark = if chunk.heading_only { "!" } else { "" };
        format!("{}-{} {}{mark}", chunk.span.start_line, chunk.span.end_line, chunk.heading_path.join("/"))
    };
    chunk_markdown(source, 0, &policy(max_chars, 0)).chunks.iter().map(describe).collect()
}

#[rstest]
#[case::nothing("", &[])]
#[case::blank(" \n\t\n\n", &[])]
#[case::mark_only("\u{feff}", &[])]
#[case::no_heading("a\n\nb\n", &["1-3 "])]
#[case::before_heading("\n\na\n\n# H\n\nb\n", &["3-3 ", "5-7 H"])]
#[case::levels("# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne", &["1-2 A", "3-4 A/B", "5-6 A/B/C", "7-8 A/D", "9-10 E"])]
#[case::skipped_levels("#### D\n\na\n\n# A\n\nb\n\n### C\n\nc\n\n## B\n\nd", &["1-3 D", "5-7 A", "9-11 A/C", "13-15 A/B"])]
#[case::setext("Title\n=====\n\nSub\n---\n\npara\nstill para\n===\n\nend", &["1-2 Title!", "4-5 Title/Sub!", "7-11 para still para"])]
#[case::setext_after_rule("a\n\n---\n\nb\n", &["1-5 "])]
#[case::rule_after_list("- item\n---\nb", &["1-3 "])]
#[case::table_after_setext("A\n===\n| a |\n|---|\n| b |", &["1-5 A"])]
#[case::crlf("# A\r\n\r\na\r\n\r\n## B\r\n\r\nb\r\n", &["1-3 A", "5-7 A/B"])]
#[case::lone_cr("# A\r\ra\r\r## B\r\rb\r", &["1-3 A", "5-7 A/B"])]
#[case::lone_cr_setext("A\r=\ra\r\rB\r-\rb", &["1-3 A", "5-7 A/B"])]
#[case::lone_cr_fence("# A\r```\r# no\r```\r# B\r", &["1-4 A", "5-5 B!"])]
#[case::lone_cr_html("# A\r<!-- x\r# no\r-->\r# B\r", &["1-4 A", "5-5 B!"])]
#[case::mixed_ends("# A\r\r\n# B\n\r# C\r\n", &["1-1 A!", "3-3 B!", "5-5 C!"])]
#[case::mark("\u{feff}# A\n\na", &["1-3 A"])]
#[case::indented_heading("   # A\na\n    # code\n", &["1-3 A"])]
#[case::tab_is_code("a\n\n\t# code\n", &["1-3 "])]
#[case::no_space("#nospace\n####### seven\n#\u{a0}nbsp\n", &["1-3 "])]
#[case::tab_behind_mark("#\tA\na", &["1-2 A"])]
#[case::closing_marks("## A ##\n### B ###   \n#### C#\n", &["1-1 A!", "2-2 A/B!", "3-3 A/B/C#!"])]
#[case::empty_heading("# A\n## B\n##\nb\n### C\nc", &["1-1 A!", "2-2 A/B!", "3-4 A", "5-6 A/C"])]
#[case::fence("# A\n```\n# no\n```\n# B\n", &["1-4 A", "5-5 B!"])]
#[case::fence_of_four("# A\n````md\n```\n# no\n```\n````\n# B\nb", &["1-6 A", "7-8 B"])]
#[case::fence_of_tildes("# A\n~~~\n# no\n```\n~~~\n# B\nb", &["1-5 A", "6-7 B"])]
#[case::unclosed_fence("# A\n\n```sh\n# no\n\n## no\n\nto the end\n", &["1-8 A"])]
#[case::fence_in_list("- a\n  ```\n# ends the list and its fence\n", &["1-2 ", "3-3 ends the list and its fence!"])]
#[case::html_block("<div>\n# no\n</div>\n\n# A\n", &["1-3 ", "5-5 A!"])]
#[case::html_comment("<!--\n# no\n\n# no\n-->\n# A\na", &["1-5 ", "6-7 A"])]
#[case::html_heading("<h1>no</h1>\n\na", &["1-3 "])]
#[case::in_quotation("> # no\n> a\n\n# A\n> ## no\n", &["1-2 ", "4-5 A"])]
#[case::in_list("- # no\n\n  ## no\n\n1. ## no\n\n# A\n", &["1-5 ", "7-7 A!"])]
#[case::in_footnote("[^1]: a\n\n    # no\n\n# A\n", &["1-3 ", "5-5 A!"])]
#[case::links("[a]: b\n# A\n[c]: d\n", &["1-1 ", "2-3 A"])]
#[case::link_before_setext("[a]: b\nA\n---\na", &["1-1 ", "2-4 A"])]
#[case::front_matter_is_not_ours("---\na: b\n---\n", &["1-1 ", "2-3 a: b!"])]
#[case::form_feed_is_visible("# A\n\u{c}\n# B\n\u{a0}\n", &["1-2 A", "3-4 B"])]
#[case::line_separator_is_no_line("# A\u{2028}# B\na\u{85}b", &["1-2 A # B"])]
fn sections_follow_the_headings(#[case] source: &str, #[case] expected: &[&str]) {
    assert_eq!(outline(source, 900), expected);
}

#[rstest]
#[case("# A  *b* `c  d`  **e**", "A b c d e")]
#[case("# [link](x) ![image](y) <b>c</b>[^1]\n\n[^1]: d", "link image c")]
#[case("# A &amp; B\\*", "A & B*")]
#[case("A  \nB\\\nC\n===", "A B C")]
#[case("# 标题 {#id}", "标题")]
#[case("# 标题{#id .class}", "标题")]
#[case("# A {.class}", "A")]
#[case("# A {: #id }", "A")]
#[case("# GET /users/{id}", "GET /users/{id}")]
#[case("# `{#id}`", "{#id}")]
#[case("# `a` {#id}", "a")]
#[case("# f {.2f} x", "f {.2f} x")]
#[case("# f {.2f}", "f {.2f}")]
#[case("# {}", "{}")]
#[case("# A {#id", "A {#id")]
#[case("# A\u{3000}B\u{a0}C", "A B C")]
fn a_heading_is_named_by_its_plain_text(#[case] source: &str, #[case] expected: &str) {
    let chunked = chunk_markdown(source, 0, &policy(900, 0));
    assert_eq!(chunked.chunks[0].heading_path, [expected]);
    assert_eq!(chunked.title.as_deref(), Some(expected));
}

#[test]
fn a_long_heading_is_cut_in_the_path_and_whole_in_the_text() {
    let source = format!("# {}\n\na", "字 ".repeat(1000));
    let chunked = chunk_markdown(&source, 0, &policy(5000, 0));
    assert_eq!(chunked.chunks[0].heading_path[0].chars().count(), 257);
    assert!(chunked.chunks[0].heading_path[0].ends_with('…'));
    assert_eq!(texts(&source, &chunked), [source.as_str()]);
}

#[rstest]
#[case("## B\n\n# A\n\n# C\n", Some("A"))]
#[case("#\n\n# A\n", Some("A"))]
#[case("A\n=\n", Some("A"))]
#[case("## B\n\n> # A\n", None)]
#[case("", None)]
fn the_first_heading_of_level_one_is_the_title(#[case] source: &str, #[case] title: Option<&str>) {
    assert_eq!(chunk_markdown(source, 0, &policy(900, 0)).title.as_deref(), title);
}

#[rstest]
#[case::paragraphs("aaaa\n\nbbbb\n\ncccc\n", 10, &["aaaa\n\nbbbb", "cccc"])]
#[case::lines("aaaa\nbbbb\ncccc\ndddd\n", 10, &["aaaa\nbbbb", "cccc\ndddd"])]
#[case::long_line("a\n\n0123456789abc\n\nb", 10, &["a", "0123456789abc", "b"])]
#[case::heading_stays("# H\n\naaaaa\n\nbbbbb", 10, &["# H\n\naaaaa", "bbbbb"])]
#[case::heading_alone("# H\n\naaaaaa\n\nbbb", 10, &["# H", "aaaaaa", "bbb"])]
#[case::heading_and_lines("# H\naaaaaa\nbbb\nccc", 10, &["# H\naaaaaa", "bbb\nccc"])]
#[case::long_setext("aaaaaa\nbbbbbb\n===\n\ncc", 10, &["aaaaaa", "bbbbbb\n===", "cc"])]
#[case::fence_whole("aaa\n\n```\nb\n\nc\n```\n\nd", 12, &["aaa", "```\nb\n\nc\n```", "d"])]
#[case::fence_split_at_blanks("```\naaa\n\nbbb\nccc\n```\n\nd", 11, &["```\naaa", "bbb\nccc\n```", "d"])]
#[case::unclosed_fence("```\naaaa\nbbbb\ncccc", 9, &["```\naaaa", "bbbb\ncccc"])]
#[case::table_whole("aaaa\n\n|a|\n|-|\n|b|\n\nc", 12, &["aaaa", "|a|\n|-|\n|b|", "c"])]
#[case::table_split("|a|\n|-|\n|b|\n|c|\n|d|", 12, &["|a|\n|-|\n|b|", "|c|\n|d|"])]
#[case::list_whole("aaaa\n\n- b\n- c\n- d\n\ne", 12, &["aaaa", "- b\n- c\n- d", "e"])]
#[case::items_whole("- a\n  b\n- c\n  d\n- e\n  f", 12, &["- a\n  b", "- c\n  d", "- e\n  f"])]
#[case::items_packed("- a\n- b\n- c\n- d\n- e", 12, &["- a\n- b\n- c", "- d\n- e"])]
#[case::loose_item("- a\n\n  b\n\n- c\n\n  d\n", 9, &["- a\n\n  b", "- c\n\n  d"])]
#[case::item_split("- a\n\n  ```\n  b\n\n  c\n  ```\n", 20, &["- a", "  ```\n  b\n\n  c\n  ```"])]
#[case::nested_items("- a\n  - b\n    b\n  - c\n    c\n", 12, &["- a", "  - b\n    b", "  - c\n    c"])]
#[case::items_on_one_line("- - a\n    b\n  - c\n    d\n", 12, &["- - a\n    b", "  - c\n    d"])]
#[case::quotation("> a\n> a\n>\n> b\n> b\n", 8, &["> a\n> a", ">", "> b\n> b"])]
#[case::html("<p>\naaaa\n</p>\n\nb", 13, &["<p>\naaaa\n</p>", "b"])]
#[case::links("aaaa\n\n[b]: c\n[d]: e\n\nffff", 14, &["aaaa", "[b]: c\n[d]: e", "ffff"])]
#[case::footnote("aaaaaa\n\n[^1]: b\n\n    c\n\nd", 16, &["aaaaaa", "[^1]: b\n\n    c", "d"])]
#[case::rules("aaaa\n\n---\n\nbbbb", 10, &["aaaa\n\n---", "bbbb"])]
#[case::crlf_counts("aaa\r\nbbb\r\nccc\r\n", 8, &["aaa\r\nbbb", "ccc"])]
#[case::lone_cr("aaaa\rbbbb\rcccc", 9, &["aaaa\rbbbb", "cccc"])]
#[case::characters("字字字字\n字字字字\n\n字字", 9, &["字字字字\n字字字字", "字字"])]
#[case::white_space_stays("  aaaa  \n\n    \n\tbb  \n", 10, &["  aaaa  ", "\tbb  "])]
fn a_long_section_is_split_at_its_best_borders(
    #[case] source: &str,
    #[case] max_chars: u32,
    #[case] expected: &[&str],
) {
    assert_eq!(texts(source, &chunk_markdown(source, 0, &policy(max_chars, 0))), expected);
}

/// A document by the lengths of its headings and paragraphs, with a blank line between them.
fn shaped(lengths: &[(&str, usize)]) -> String {
    let block = |&(mark, length): &(&str, usize)| format!("{mark}{}\n", "字".repeat(length - mark.len()));
    lengths.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// The shapes of the four documents of the S0 corpus, and how many chunks it is known to give.
#[rstest]
#[case(900, 13)]
#[case(120, 21)]
fn packing_is_greedy_as_in_the_reference(#[case] max_chars: u32, #[case] chunks: usize) {
    let documents = [
        shaped(&[("# ", 26), ("## ", 18), ("", 174), ("", 143), ("## ", 14), ("", 176)]),
        shaped(&[("# ", 14), ("## ", 19), ("", 77), ("## ", 14), ("", 79), ("## ", 13), ("", 70)]),
        shaped(&[("# ", 21), ("## ", 20), ("", 215), ("## ", 17), ("", 192), ("## ", 9), ("", 167)]),
        shaped(&[("# ", 29), ("## ", 27), ("", 149), ("", 125)]),
    ];
    let count = |document: &String| chunk_markdown(document, 0, &policy(max_chars, 0)).chunks.len();
    assert_eq!(documents.iter().map(count).sum::<usize>(), chunks);
}

#[test]
fn target_is_for_packing_and_max_for_blocks() {
    let source = "# H\n\naaaa\nbbbb\n\ncc\n\ndd\n\nee\n";
    let policy = ChunkPolicy { target_chars: 8, max_chars: 14, overlap_chars: 0 };
    assert_eq!(texts(source, &chunk_markdown(source, 0, &policy)), ["# H\n\naaaa\nbbbb", "cc\n\ndd", "ee"]);
}

#[rstest]
#[case::lines("aaa\nbbb\nccc\nddd", 11, 3, &["aaa\nbbb\nccc", "ccc\nddd"])]
#[case::none_fits("aaaa\nbbbb\ncccc", 9, 3, &["aaaa\nbbbb", "cccc"])]
#[case::whole_lines("aaa\nbbb\nccc\nddd\neee\nfff", 15, 8, &["aaa\nbbb\nccc\nddd", "ccc\nddd\neee\nfff"])]
#[case::blank_lines("aaa\n\nbbb\n\nccc\n\nddd", 13, 4, &["aaa\n\nbbb\n\nccc", "ccc\n\nddd"])]
#[case::only_what_fits("a\nb\nc\n0123456", 9, 5, &["a\nb\nc", "c\n0123456"])]
#[case::no_room("a\nb\nc\n012345678", 9, 5, &["a\nb\nc", "012345678"])]
#[case::no_heading("# H\n0123456\na\nb", 9, 8, &["# H", "0123456\na", "a\nb"])]
#[case::not_the_heading("# H\naaaa\nbbbb\ncccc", 9, 8, &["# H\naaaa", "aaaa\nbbbb", "bbbb\ncccc"])]
#[case::other_section("aaa\nbbb\n\n# H\nccc", 8, 7, &["aaa\nbbb", "# H\nccc"])]
fn overlap_repeats_whole_lines_of_the_section(
    #[case] source: &str,
    #[case] max_chars: u32,
    #[case] overlap_chars: u32,
    #[case] expected: &[&str],
) {
    assert_eq!(texts(source, &chunk_markdown(source, 0, &policy(max_chars, overlap_chars))), expected);
}

#[rstest]
#[case("\u{feff}---\r\na: b\r\n---\r\n\r\n# A\r\n\r\na", 19, 5, 7, 21)]
#[case("\u{feff}a\n# b\n", 0, 1, 1, 3)]
#[case("# a\n\n# b\n", 4, 3, 3, 5)]
fn spans_count_from_the_start_of_the_file(
    #[case] source: &str,
    #[case] body_start: usize,
    #[case] start_line: u32,
    #[case] end_line: u32,
    #[case] start_byte: u64,
) {
    let span = chunk_markdown(source, body_start, &policy(900, 0)).chunks[0].span;
    assert_eq!((span.start_line, span.end_line, span.start_byte), (start_line, end_line, start_byte));
}

#[test]
fn the_parts_of_a_long_section_share_its_path() {
    let source = "# A\n\n## B\n\naaaaaaaa\n\nbbbbbbbb\n";
    assert_eq!(outline(source, 10), ["1-1 A!", "3-3 A/B!", "5-5 A/B", "7-7 A/B"]);
}

#[rstest]
#[case("", 10, &[])]
#[case("\u{feff}# no\n\nbbbb", 20, &["# no\n\nbbbb"])]
#[case("aaaa\n\nbbbb\n \ncccc", 10, &["aaaa\n\nbbbb", "cccc"])]
#[case("aaaa\nbbbb\ncccc\n\nd", 9, &["aaaa\nbbbb", "cccc\n\nd"])]
fn plain_text_is_cut_into_paragraphs(#[case] source: &str, #[case] max_chars: u32, #[case] expected: &[&str]) {
    let chunked = chunk_text(source, 0, &policy(max_chars, 0));
    assert_eq!(texts(source, &chunked), expected);
    assert!(chunked.chunks.iter().all(|chunk| chunk.heading_path.is_empty() && !chunk.heading_only));
    assert_eq!(chunked.title, None);
}

#[test]
fn only_what_is_deep_out_of_proportion_is_hidden_from_the_parser() {
    let deep = format!("# A\n{}a\n", "> ".repeat(20_000));
    assert_eq!(depth::without_abysses(&deep), deep);

    let hostile = format!("{deep}{}{}# B\n", "b\n".repeat(50_000), format!("{}c\n", "-".repeat(64)).repeat(10));
    let tame = depth::without_abysses(&hostile);
    let expected = hostile.replace(&"> ".repeat(20_000), &"x".repeat(40_000));
    assert!(tame == expected, "only the long prefix is overwritten");
    assert_eq!(outline(&hostile, 1_000_000), ["1-50012 A", "50013-50013 B!"]);
}

#[rstest]
#[case::one_line("word and more ".repeat(600_000))]
#[case::headings(numbered("# Heading number ", "\n\ntext\n\n", 60_000))]
#[case::long_heading(format!("# {}\n\n{}", "long ".repeat(200_000), "## x\n".repeat(20_000)))]
#[case::quotations(format!("{}a\n", "> ".repeat(20_000)))]
#[case::items(format!("{}a\n", "- ".repeat(20_000)))]
#[case::staircase(staircase(2000))]
#[case::quotations_and_lines(format!("{}a\n{}", "> ".repeat(100_000), "b\n".repeat(400_000)))]
#[case::items_and_lines(format!("{}a\n{}", "- ".repeat(100_000), "b\n".repeat(400_000)))]
#[case::unclosed_fence(format!("# A\n```\n{}", "# b\n\n".repeat(200_000)))]
#[case::blank_lines(format!("# A\n{}b\n{}", "\n".repeat(1_000_000), "c\n\n".repeat(200_000)))]
#[case::wide_table(format!("{}\n{}\n{}", "|a".repeat(5000), "|-".repeat(5000), "|\n".repeat(50_000)))]
#[case::links(format!("{}\n{}", numbered("[", "]: x\n", 50_000), numbered("[", "] ", 50_000)))]
#[case::brackets("[".repeat(500_000))]
#[case::stars("*a _b ".repeat(100_000))]
fn hostile_texts_take_linear_time(#[case] source: String) {
    let started = Instant::now();
    chunk_markdown(&source, 0, &policy(1200, 120));
    let taken = started.elapsed();
    // The optimised build takes a tenth of a second for the worst of these; quadratic time is minutes.
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

fn numbered(before: &str, after: &str, count: usize) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{before}{number}{after}");
        text
    })
}

fn staircase(depth: usize) -> String {
    (0..depth).fold(String::new(), |text, depth| text + &"  ".repeat(depth) + "- item\n")
}
