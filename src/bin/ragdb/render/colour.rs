//! What stands out in text output, and how.

use std::fmt;
use std::io::IsTerminal;

use clap::builder::styling::{AnsiColor, Style};

use super::clean::Clean;
use crate::args::When;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A heading or label.
    Strong,
    /// A word of the query in a snippet.
    Match,
    /// A path or citation.
    Place,
    /// Something added, or in order.
    Good,
    /// Something to look at.
    Warning,
    /// Something removed, damaged or refused.
    Bad,
    /// Less important than what stands around it.
    Faint,
}

impl Role {
    fn style(self) -> Style {
        match self {
            Self::Strong | Self::Match => Style::new().bold(),
            Self::Place => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// Paints text for one output stream, or leaves it plain.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    on: bool,
}

impl Palette {
    /// The palette for `stream` under `--color when`.
    pub fn of(when: When, stream: &impl IsTerminal) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let on = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => stream.is_terminal() && !set("NO_COLOR") && !dumb,
        };
        Self { on }
    }

    /// The palette without colours.
    pub fn plain() -> Self {
        Self { on: false }
    }

    /// `text`, cleaned and painted.
    pub fn paint(self, role: Role, text: &str) -> Painted<'_> {
        Painted { style: self.on.then(|| role.style()), text }
    }
}

/// Text that displays cleaned and in its colours.
pub struct Painted<'a> {
    style: Option<Style>,
    text: &'a str,
}

impl fmt::Display for Painted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clean = Clean(self.text);
        match self.style {
            Some(style) => write!(f, "{style}{clean}{style:#}"),
            None => clean.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ragdb_s_own_escapes_reach_the_terminal() {
        let hostile = "a\u{1b}[2Jb";
        assert_eq!(Palette::plain().paint(Role::Bad, hostile).to_string(), "a\\u{1b}[2Jb");
        assert_eq!(Palette { on: true }.paint(Role::Bad, hostile).to_string(), "\u{1b}[31ma\\u{1b}[2Jb\u{1b}[0m");
    }
}
