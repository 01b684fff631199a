//! Rows under headings, aligned by what a terminal shows.

use std::io;

use super::clean::{columns, one_line, width};
use super::{Role, Screen};

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table of text cells. A cell stays on one line and is cut where it is wider than the limit.
pub struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    limit: usize,
}

impl Table {
    /// A table with these columns, whose cells are cut at `limit` terminal columns.
    pub fn new(headings: impl IntoIterator<Item = (impl Into<String>, Align)>, limit: usize) -> Self {
        let headings = headings.into_iter().map(|(name, align)| (cut(&one_line(&name.into()), limit), align));
        Self { headings: headings.collect(), rows: Vec::new(), limit }
    }

    /// Adds a row, one cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        self.rows.push(cells.into_iter().map(|cell| cut(&one_line(cell.as_ref()), self.limit)).collect());
    }

    /// Writes the table, each line after `indent` spaces; nothing trails the last column.
    pub fn write(&self, screen: &mut Screen<'_>, indent: usize) -> io::Result<()> {
        let mut widths: Vec<usize> = self.headings.iter().map(|(name, _)| width(name)).collect();
        for row in &self.rows {
            for (column, cell) in widths.iter_mut().zip(row) {
                *column = (*column).max(width(cell));
            }
        }
        let headings: Vec<&str> = self.headings.iter().map(|(name, _)| name.as_str()).collect();
        let line = self.line(&headings, &widths, indent);
        writeln!(screen.out, "{}", screen.palette.paint(Role::Strong, &line))?;
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            writeln!(screen.out, "{}", self.line(&cells, &widths, indent))?;
        }
        Ok(())
    }

    fn line(&self, cells: &[&str], widths: &[usize], indent: usize) -> String {
        let mut line = " ".repeat(indent);
        for ((cell, (_, align)), room) in cells.iter().zip(&self.headings).zip(widths) {
            let padding = " ".repeat(room.saturating_sub(width(cell)));
            match align {
                Align::Left => line.extend([*cell, &padding, "  "]),
                Align::Right => line.extend([&padding, *cell, "  "]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// `line` where it fits, else as much of it as fits before an ellipsis.
fn cut(line: &str, limit: usize) -> String {
    if width(line) <= limit {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = line.chars().take_while(|&character| {
        used += columns(character);
        used <= limit
    });
    fits.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Palette;

    #[test]
    fn columns_line_up_for_wide_characters_and_cells_are_cut() {
        let mut table = Table::new([("name", Align::Left), ("n", Align::Right), ("note", Align::Left)], 8);
        table.row(["中文", "7", "a\nb\u{1b}"]);
        table.row(["x", "1234", "much too long a note"]);
        let mut out = Vec::new();
        let mut screen = Screen { out: &mut out, palette: Palette::plain() };
        assert!(table.write(&mut screen, 1).is_ok());
        let shown = String::from_utf8_lossy(&out);
        assert_eq!(shown, " name     n  note\n 中文     7  a\\nb\\u{…\n x     1234  much to…\n");
    }
}
