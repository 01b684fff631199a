//! How a run ends: the exit code, and what is said when it ends badly.

use std::io::{self, Write};

use clap::error::ErrorKind;
use serde::Serialize;

use crate::render::{FailureView, Palette, Role, clean, write_json};

/// How a verb that ran to its end came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, found or passed.
    Done,
    /// An honest negative.
    Negative,
}

impl Outcome {
    /// [`Outcome::Done`] where `good`.
    pub fn of(good: bool) -> Self {
        if good { Self::Done } else { Self::Negative }
    }
}

/// Why a verb did not run to its end.
#[derive(Debug)]
pub enum Stop {
    /// The library refused or failed.
    Ragdb(ragdb::Error),
    /// The arguments parse, but not together or not here.
    Usage(String),
    /// A result could not be written.
    Output(io::Error),
}

impl From<ragdb::Error> for Stop {
    fn from(error: ragdb::Error) -> Self {
        Self::Ragdb(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The exit code. A reader that went away has what it wanted.
pub fn code(result: &Result<Outcome, Stop>) -> u8 {
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Negative) => 1,
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(_) => 2,
    }
}

#[derive(Serialize)]
struct ErrorDocument {
    error: ErrorView,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<Vec<FailureView>>,
}

#[derive(Serialize)]
struct ErrorView {
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl From<&Stop> for ErrorDocument {
    fn from(stop: &Stop) -> Self {
        let (code, message, hint) = match stop {
            Stop::Ragdb(error) => (error.code(), error.to_string(), error.hint()),
            Stop::Usage(message) => ("usage", message.clone(), None),
            Stop::Output(error) => ("output", format!("the result could not be written: {error}"), None),
        };
        let failures = match stop {
            Stop::Ragdb(ragdb::Error::SyncFailed { failures }) => {
                Some(failures.iter().map(FailureView::from).collect())
            }
            _ => None,
        };
        Self { error: ErrorView { code, message, hint }, failures }
    }
}

/// Where and how an error is said.
#[derive(Clone, Copy)]
pub struct Reporter {
    /// As a JSON document on standard output.
    pub json: bool,
    /// With the chain of causes.
    pub verbose: bool,
    /// The colours of standard error.
    pub palette: Palette,
}

impl Reporter {
    /// Says why a verb stopped: on standard error also where standard output can't be written. Nothing more can be
    /// done where that fails as well.
    pub fn stop(self, stop: &Stop) {
        if matches!(stop, Stop::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return;
        }
        let document = ErrorDocument::from(stop);
        let printed = self.json && write_json(&mut io::stdout().lock(), &document).is_ok();
        if !printed {
            let _ = self.text(&document, stop, &mut io::stderr().lock());
        }
    }

    fn text(self, document: &ErrorDocument, stop: &Stop, out: &mut dyn Write) -> io::Result<()> {
        for failure in document.failures.iter().flatten() {
            failure.write_line(out, self.palette)?;
        }
        let ErrorView { message, hint, .. } = &document.error;
        writeln!(out, "{} {}", self.palette.paint(Role::Bad, "error:"), clean::Clean(message))?;
        let mut cause = match stop {
            Stop::Ragdb(error) if self.verbose => std::error::Error::source(error),
            _ => None,
        };
        while let Some(error) = cause {
            writeln!(out, "  because: {}", clean::Clean(&error.to_string()))?;
            cause = error.source();
        }
        match hint {
            Some(hint) => writeln!(out, "{} {}", self.palette.paint(Role::Strong, "hint:"), clean::Clean(hint)),
            None => Ok(()),
        }
    }
}

/// Ends a run whose arguments do not parse, or that asked for help; gives the exit code.
pub fn usage(error: &clap::Error, json: bool) -> u8 {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let shown = error.print().and_then(|()| io::stdout().flush());
        let result = shown.map(|()| Outcome::Done).map_err(Stop::Output);
        if let Err(stop) = &result {
            Reporter { json: false, verbose: false, palette: Palette::plain() }.stop(stop);
        }
        return code(&result);
    }
    // Nothing more can be done where this fails as well.
    let _ = if json {
        let (message, hint) = usage_message(&error.render().to_string());
        let error = ErrorView { code: "usage", message, hint };
        write_json(&mut io::stdout().lock(), &ErrorDocument { error, failures: None })
    } else {
        error.print()
    };
    2
}

/// Splits what clap says into the message, which is its first paragraph, and the hint: its tip, else the usage.
fn usage_message(rendered: &str) -> (String, Option<String>) {
    let mut paragraphs = rendered.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines.join(" ")
    });
    let message = paragraphs.next().unwrap_or_default();
    let hint = paragraphs.next().filter(|hint| !hint.is_empty());
    (message.strip_prefix("error: ").unwrap_or(&message).to_owned(), hint)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Ok(Outcome::Done), 0)]
    #[case(Ok(Outcome::Negative), 1)]
    #[case(Err(Stop::Output(io::ErrorKind::BrokenPipe.into())), 0)]
    #[case(Err(Stop::Output(io::ErrorKind::StorageFull.into())), 2)]
    #[case(Err(Stop::Usage(String::new())), 2)]
    #[case(Err(Stop::Ragdb(ragdb::Error::Invalid { message: String::new() })), 2)]
    fn exit_codes_are_those_of_grep(#[case] result: Result<Outcome, Stop>, #[case] expected: u8) {
        assert_eq!(code(&result), expected);
    }

    #[test]
    fn clap_s_message_is_split() {
        let rendered = "error: unexpected argument '--x' found\n\n  tip: a similar one\n\nUsage: ragdb\n";
        let expected = ("unexpected argument '--x' found".to_owned(), Some("tip: a similar one".to_owned()));
        assert_eq!(usage_message(rendered), expected);
    }
}
