//! `ragdb sql`: read-only SQL on the store, and the named audits.

use std::io::{self, IsTerminal, Read};

use ragdb::{Audit, SqlResult, SqlValue};
use serde::{Serialize, Serializer};

use crate::args::SqlArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Screen, Table, View, csv};

/// A table cuts cells at so many terminal columns.
const CELL: usize = 80;

/// Runs the verb.
pub fn run(args: &SqlArgs, context: &mut Context) -> Result<Outcome, Stop> {
    if args.audits {
        return list_audits(args, context);
    }
    let reader = args.reader.principal()?;
    let query = match (&args.audit, &args.query) {
        (Some(name), _) => {
            let audit = audit(name)?;
            if audit.operator_only && !reader.reads_everything() {
                let message = format!(
                    "the audit {name} is about more than what somebody may read; it is the operator's, without --scope"
                );
                return Err(Stop::Usage(message));
            }
            audit.sql.to_owned()
        }
        (None, Some(query)) => query.clone(),
        (None, None) => from_standard_input()?,
    };
    print(context.open_read_only()?.sql(&reader, &query)?, args, context)
}

/// Lists the named audits: in a table with what they answer, as exact data with their SQL as well.
fn list_audits(args: &SqlArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let exact = args.csv || context.json;
    let columns = ["name", "description", "sql"].into_iter().map(str::to_owned).take(if exact { 3 } else { 2 });
    let columns: Vec<String> = columns.collect();
    let rows = ragdb::audits().iter().map(|audit| {
        let row = [audit.name, audit.description, audit.sql].map(|text| SqlValue::Text(text.into()));
        row.into_iter().take(columns.len()).collect()
    });
    print(SqlResult { rows: rows.collect(), columns }, args, context)
}

fn audit(name: &str) -> Result<&'static Audit, Stop> {
    ragdb::audits().iter().find(|audit| audit.name == name).ok_or_else(|| {
        let names: Vec<_> = ragdb::audits().iter().map(|audit| audit.name).collect();
        Stop::Usage(format!("there is no audit {name:?}; there are {}", names.join(", ")))
    })
}

fn from_standard_input() -> Result<String, Stop> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        return Err(Stop::Usage("give a QUERY, --audit NAME or --audits, or pipe the statement in".into()));
    }
    let mut query = String::new();
    let read = input.read_to_string(&mut query);
    read.map_err(|source| ragdb::Error::Io { path: "standard input".into(), source })?;
    Ok(query)
}

fn print(result: SqlResult, args: &SqlArgs, context: &mut Context) -> Result<Outcome, Stop> {
    if args.csv {
        let mut out = Vec::new();
        csv::write_record(&mut out, result.columns.into_iter().map(Some))?;
        for row in result.rows {
            csv::write_record(
                &mut out,
                row.into_iter().map(|value| match value {
                    SqlValue::Null => None,
                    value => Some(plain(&value)),
                }),
            )?;
        }
        context.print_exact(&out)?;
    } else {
        let rows = result.rows.into_iter().map(|row| row.into_iter().map(Cell).collect()).collect();
        context.print(&SqlView { columns: result.columns, rows })?;
    }
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct SqlView {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

struct Cell(SqlValue);

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            SqlValue::Null => serializer.serialize_none(),
            SqlValue::Integer(number) => serializer.serialize_i64(*number),
            SqlValue::Real(number) if number.is_finite() => serializer.serialize_f64(*number),
            // JSON has no infinity, and no bytes.
            value @ (SqlValue::Real(_) | SqlValue::Blob(_)) => serializer.serialize_str(&plain(value)),
            SqlValue::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A value as text: a blob as SQL writes it, `x'0a'`.
fn plain(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "NULL".into(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => format!("{number:?}"),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Blob(bytes) => {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
            ["x'".to_owned(), digits.collect(), "'".to_owned()].concat()
        }
    }
}

impl View for SqlView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let is_number = |cell: &Cell| matches!(cell.0, SqlValue::Null | SqlValue::Integer(_) | SqlValue::Real(_));
        let headings = self.columns.iter().enumerate().map(|(position, name)| {
            let numbers = !self.rows.is_empty() && self.rows.iter().all(|row| row.get(position).is_some_and(is_number));
            (name.clone(), if numbers { Align::Right } else { Align::Left })
        });
        let mut table = Table::new(headings, CELL);
        for row in &self.rows {
            table.row(row.iter().map(|cell| plain(&cell.0)));
        }
        table.write(screen, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kind_in_json() {
        let row = [
            SqlValue::Null,
            SqlValue::Integer(i64::MAX),
            SqlValue::Real(0.5),
            SqlValue::Real(f64::INFINITY),
            SqlValue::Text("x".into()),
            SqlValue::Blob(vec![0, 255]),
        ];
        let json = serde_json::to_string(&row.map(Cell)).unwrap_or_default();
        assert_eq!(json, r#"[null,9223372036854775807,0.5,"inf","x","x'00ff'"]"#);
    }
}
