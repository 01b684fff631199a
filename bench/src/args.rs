//! The report's arguments.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::corpus::Scale;
use crate::stage::STAGES;

/// How to call the report.
pub const USAGE: &str = "\
usage: cargo bench -p ragdb-bench --bench report -- [--corpus S|L|X]... [--json FILE] [--markdown FILE]
                                                     [--data DIR] [--rounds N] [--queries N] [--only STAGE]...
  --corpus   the corpus to measure, may be repeated; S by default
  --json     where the figures go, beside the table that is printed
  --markdown where that table goes as Markdown: into the page between its marks, where it has them
  --data     where the data sets are, or will be unpacked; target/data by default
  --rounds   how often each measurement is repeated; 3 by default
  --queries  how many queries of each kind; 500 by default
  --only     a stage, may be repeated: first sync, memory, sizes, queries, access, cold, evidence, no change, changes,
             or readers
Paths are those below the repository. Two corpora or more give the growth from the smallest to each. With --queries 100,
a run on S is short.";

/// What to measure, and where.
#[derive(Debug, Default, PartialEq)]
pub struct Args {
    /// The corpora, in the order given.
    pub corpora: Vec<Scale>,
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
    /// Where the table goes as Markdown.
    pub markdown: Option<PathBuf>,
    /// Where the data sets are.
    pub data: Option<PathBuf>,
    /// How often each measurement is repeated.
    pub rounds: usize,
    /// How many queries of each kind.
    pub queries: usize,
    /// The stages to run; all of them where none is named.
    pub only: Vec<String>,
}

impl Args {
    /// Reads the arguments behind the program's name; paths are below `root`. `--bench`, which cargo adds, is left out.
    pub fn parse(args: impl IntoIterator<Item = String>, root: &Path) -> Result<Self> {
        let mut parsed = Self { rounds: 3, queries: 500, ..Self::default() };
        let mut args = args.into_iter().filter(|arg| arg != "--bench");
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} is unknown or has no value\n{USAGE}"))?;
            match name.as_str() {
                "--corpus" => parsed.corpora.push(Scale::parse(&value).ok_or("--corpus is S, L or X")?),
                "--json" => parsed.json = Some(value.into()),
                "--markdown" => parsed.markdown = Some(value.into()),
                "--data" => parsed.data = Some(value.into()),
                "--rounds" => parsed.rounds = count(&name, &value)?,
                "--queries" => parsed.queries = count(&name, &value)?,
                "--only" if STAGES.iter().any(|(name, _)| *name == value) => parsed.only.push(value),
                "--only" => return Err(format!("{value} is no stage\n{USAGE}").into()),
                _ => return Err(format!("{name} is unknown\n{USAGE}").into()),
            }
        }
        // cargo runs a bench in its package's folder, which nobody means who names a file.
        for path in [&mut parsed.json, &mut parsed.markdown, &mut parsed.data].into_iter().flatten() {
            *path = root.join(&*path);
        }
        if parsed.corpora.is_empty() {
            parsed.corpora.push(Scale::S);
        }
        Ok(parsed)
    }
}

fn count(name: &str, value: &str) -> Result<usize> {
    let count = value.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("{name} is {value}; it must be a whole number from 1").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args> {
        Args::parse(line.split_whitespace().map(str::to_owned), Path::new("/ragdb"))
    }

    #[test]
    fn arguments_are_read_and_cargos_own_is_ignored() {
        let args = parse("--bench --corpus L --corpus X --json out.json --rounds 7").unwrap();
        assert_eq!(args.corpora, [Scale::L, Scale::X]);
        assert_eq!((args.json, args.rounds, args.queries), (Some("/ragdb/out.json".into()), 7, 500));
        assert_eq!(parse("--bench").unwrap().corpora, [Scale::S]);
    }

    #[test]
    fn every_stage_can_be_asked_for_alone_and_is_named_in_the_usage() {
        for (stage, _) in STAGES {
            let args = Args::parse(["--only".to_owned(), stage.to_owned()], Path::new("")).unwrap();
            assert_eq!(args.only, [stage]);
            assert!(USAGE.replace('\n', " ").contains(stage), "{stage}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--corpus M", "--corpus", "--rounds 0", "--rounds x", "--fast 1", "--only fast", "S"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
