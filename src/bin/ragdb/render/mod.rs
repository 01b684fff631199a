//! From a verb's result to bytes: JSON, or text that a terminal can be trusted with. Knows no store and no
//! arguments.

mod changes;
pub mod clean;
mod colour;
pub mod csv;
mod failures;
mod generation;
pub mod snippet;
mod table;
mod verdicts;
mod words;

use std::io::{self, Write};

use serde::Serialize;

pub use changes::ChangesView;
pub use colour::{Palette, Role};
pub use failures::FailureView;
pub use generation::{ChunksView, DocumentsView, GenerationView};
pub use table::{Align, Table};
pub use verdicts::{ClaimView, DroppedView, PublishedView};
pub use words::{bytes, counted, optional, short};

/// Where text is written, and how it is painted.
pub struct Screen<'a> {
    /// The stream.
    pub out: &'a mut dyn Write,
    /// Its colours.
    pub palette: Palette,
}

/// A verb's result: its serde form is the JSON document, and it can write itself as text.
pub trait View: Serialize {
    /// Writes the text form.
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()>;
}

/// Writes a JSON document on one line.
pub fn write_json(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    let document = serde_json::to_string(document)?;
    writeln!(out, "{}", clean::json(&document))
}
