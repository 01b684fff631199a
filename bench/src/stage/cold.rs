//! A process that opens an index, answers one query and ends: with the index in the page cache, and without.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Bench, K};
use crate::corpus::Scale;
use crate::measure::{Contender, alternate, median};
use crate::process::{self, Usage};
use crate::report::{Bar, Row};
use crate::{Result, TANTIVY, cache, fts5, queries, subject};

/// The hidden argument of the report that makes it such a process of a peer: its name, folder and query follow.
pub const ANSWER: &str = "--answer";

/// The hidden argument that makes it one that puts files into the page cache or out of it: how, and the files follow.
/// They are those of a store that is open in the report, and whoever closes a descriptor of them drops SQLite's locks.
pub const PAGE_CACHE: &str = "--page-cache";

const FILL: &str = "fill";
const DROP: &str = "drop";
const DROP_ALL: &str = "drop-all";

/// How many queries there are a round.
const QUERIES: usize = 10;

/// By program, what each of its runs took.
type Runs = Vec<(String, Vec<Usage>)>;

/// A program with its arguments before the query, and the files that it reads.
struct Process {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    files: Vec<PathBuf>,
}

impl Bench {
    /// Time from start to end of a process with one query, and what is read from the disk for it.
    pub fn cold(&mut self) -> Result<Vec<Row>> {
        // What a process maps stays in the page cache, whoever drops it.
        for peer in &mut self.peers {
            peer.close()?;
        }
        let mut queries = queries::headings(&self.files, QUERIES / 2);
        queries.extend(queries::questions(&self.files, QUERIES / 2));
        let processes = self.processes()?;

        for process in &processes {
            page_cache_of(FILL, &process.files)?;
        }
        let warm = self.runs(&processes, &queries, |_| Ok(()))?;
        let (dropped, was_dropped) = self.dropped(&processes, &queries)?;
        // What is measured next finds it as it was.
        for process in &processes {
            page_cache_of(FILL, &process.files)?;
        }
        let times = |runs: &Runs| figures(runs, |usage| usage.time);
        let read = figures(&dropped, |usage| usage.read as f64 / 1e6);
        let row = |name: &str, unit, figures, bar| Row::new(name, self.scale, unit, figures, Some(bar));
        let at_x = if self.scale == Scale::X { Some(Bar::AtMost(10.0)) } else { None };
        Ok(vec![
            row("one query, process, warm", "ms", times(&warm), Bar::times(TANTIVY, 1.5)),
            row("one query, process, cache dropped", "ms", times(&dropped), Bar::times(TANTIVY, 0.2))
                .counts_if(was_dropped),
            Row::new("one query, process: read from disk", self.scale, "MB", read, at_x).counts_if(was_dropped),
        ])
    }

    /// The runs with the page cache dropped, and whether it could be. What is read then comes from the disk.
    fn dropped(&self, processes: &[Process], queries: &[String]) -> Result<(Runs, bool)> {
        let from_disk = |runs: &Runs| figures(runs, |usage| usage.read as f64).iter().all(|(_, bytes)| *bytes > 0.0);
        let runs = self.runs(processes, queries, |files| page_cache_of(DROP, files))?;
        if from_disk(&runs) {
            return Ok((runs, true));
        }
        eprintln!("posix_fadvise drops nothing from the page cache; /proc/sys/vm/drop_caches is used instead");
        match self.runs(processes, queries, |files| page_cache_of(DROP_ALL, files)) {
            Ok(again) if from_disk(&again) => Ok((again, true)),
            _ => {
                eprintln!("nor does that: rows with the cache dropped don't count");
                Ok((runs, false))
            }
        }
    }

    /// The programs that were found, and whose index is there.
    fn processes(&self) -> Result<Vec<Process>> {
        let own = std::env::current_exe()?;
        let database = self.subject.database();
        let peer = |name: &'static str, path: &Path| -> Result<Process> {
            let arguments = vec![ANSWER.to_owned(), name.to_owned(), self.scratch.display().to_string()];
            Ok(Process { name, program: own.clone(), arguments, files: cache::files(path)? })
        };
        let mut processes = Vec::new();
        if let Some(binary) = &self.binary {
            let arguments =
                ["--quiet", "--db", &database.display().to_string(), "search", "--literal", "--floor", "0", "-k"];
            let mut arguments = arguments.map(str::to_owned).to_vec();
            arguments.push(K.to_string());
            let files = cache::files(database)?;
            processes.push(Process { name: subject::NAME, program: binary.clone(), arguments, files });
        }
        for other in &self.peers {
            processes.push(peer(other.name(), &other.path())?);
        }
        Ok(processes)
    }

    /// Each process once for each query and round, after `before` was done to its files.
    fn runs(&self, processes: &[Process], queries: &[String], before: fn(&[PathBuf]) -> Result<()>) -> Result<Runs> {
        let query = std::cell::Cell::new(0);
        let (query, mut contenders) = (&query, Vec::new());
        for process in processes {
            contenders.push(Contender::new(process.name, move || {
                before(&process.files)?;
                let asked = &queries[query.get()];
                process::watched(&process.program, process.arguments.iter().chain([asked]))
            }));
        }
        alternate(self.rounds * queries.len(), &mut contenders, |round| {
            query.set(round % queries.len());
            Ok(())
        })
    }
}

/// Fills the page cache with files, or drops them, in a process of its own.
fn page_cache_of(how: &str, files: &[PathBuf]) -> Result<()> {
    let status = Command::new(std::env::current_exe()?).args([PAGE_CACHE, how]).args(files).status()?;
    if status.success() { Ok(()) } else { Err(format!("{how} of the page cache failed: {status}").into()) }
}

/// What that process does.
pub fn page_cache(how: &str, files: &[PathBuf]) -> Result<()> {
    match how {
        FILL => cache::fill(files),
        DROP => cache::drop_files(files),
        DROP_ALL => cache::drop_all(files),
        _ => Err(format!("{how} is nothing to do with the page cache").into()),
    }
}

fn figures(runs: &Runs, of: impl Fn(&Usage) -> f64) -> Vec<(String, f64)> {
    let middle = |usages: &[Usage]| median(&usages.iter().map(&of).collect::<Vec<_>>());
    runs.iter().map(|(name, usages)| (name.clone(), middle(usages))).collect()
}

/// What the process of a peer does: opens the index of that name in `folder`, and answers.
pub fn answer(name: &str, folder: &Path, query: &str) -> Result<()> {
    let hits = match name {
        #[cfg(feature = "tantivy")]
        TANTIVY => crate::peer::Peer::search(&mut crate::tantivy::Tantivy::at(folder), query, K)?,
        fts5::NAME => crate::peer::Peer::search(&mut fts5::Fts5::open(folder)?, query, K)?,
        _ => return Err(format!("{name} is no peer").into()),
    };
    println!("{hits}");
    Ok(())
}
