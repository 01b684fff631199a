//! The report as a part of a page of Markdown.

use std::fmt::Write;

use crate::corpus::Scale;
use crate::report::{self, Row};

/// What stands in a page before the report, and behind it.
const BEGIN: &str = "<!-- the report, written by --markdown -->\n";
const END: &str = "<!-- end of the report -->\n";

/// A corpus that was measured.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Which one.
    pub scale: Scale,
    /// How many files it has.
    pub files: usize,
    /// How large they are, in bytes.
    pub bytes: u64,
    /// How many chunks they give.
    pub chunks: usize,
}

/// What was measured, and on what: `machine` is a sentence.
#[must_use]
pub fn report(machine: &str, corpora: &[Corpus], rows: &[Row]) -> String {
    let mut text = format!("{machine}\n\n| corpus | files | Markdown | chunks |\n|---|--:|--:|--:|\n");
    for Corpus { scale, files, bytes, chunks } in corpora {
        let megabytes = *bytes as f64 / 1e6;
        let _ = writeln!(text, "| {} | {files} | {megabytes:.1} MB | {chunks} |", scale.name());
    }
    text + "\n" + &report::markdown(rows)
}

/// The page with the report in place of the one that it has; the report alone where the page has no place for it.
#[must_use]
pub fn with_report(page: &str, report: &str) -> String {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    match parts {
        Some((before, behind)) => format!("{before}{BEGIN}\n{report}\n{END}{behind}"),
        None => report.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_the_place_of_the_last_one() {
        let page = format!("# Speed\n\n{BEGIN}\nold\n\n{END}\nMore.\n");
        let renewed = with_report(&page, "new\n");
        assert_eq!(renewed, format!("# Speed\n\n{BEGIN}\nnew\n\n{END}\nMore.\n"));
        assert_eq!(with_report(&renewed, "new\n"), renewed);
        assert_eq!(with_report("elsewhere", "new\n"), "new\n");
    }

    #[test]
    fn corpora_are_told_before_the_rows() {
        let corpora = [Corpus { scale: Scale::S, files: 12, bytes: 33_460_000, chunks: 34 }];
        let text = report("2 cores.", &corpora, &[]);
        assert!(text.starts_with("2 cores.\n\n| corpus |") && text.contains("| S | 12 | 33.5 MB | 34 |\n"), "{text}");
    }
}
