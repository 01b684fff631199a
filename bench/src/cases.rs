//! The five cases whose instructions are counted. What comes before a case is done in a process of its own, so that
//! the process that is counted does little more than the case.

use std::fs;
use std::path::Path;

use crate::subject::Subject;
use crate::{Result, generate};

/// A case.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What is done before, in an empty folder.
    pub before: fn(&Path) -> Result<()>,
    /// The case, in that folder.
    pub run: fn(&Path) -> Result<()>,
}

/// All of them.
pub const CASES: [Case; 5] = [
    Case { name: "first sync", before: corpus, run: first_sync },
    Case { name: "sync of one changed file", before: changed, run: sync },
    Case { name: "50 queries", before: store, run: queries },
    Case { name: "one query", before: store, run: query },
    Case { name: "verify 10 claims, 20 times", before: store, run: verify },
];

const CORPUS: &str = "corpus";
const K: usize = 10;

fn corpus(folder: &Path) -> Result<()> {
    generate::corpus(&folder.join(CORPUS))
}

fn store(folder: &Path) -> Result<()> {
    corpus(folder)?;
    first_sync(folder)
}

fn changed(folder: &Path) -> Result<()> {
    store(folder)?;
    let path = folder.join(CORPUS).join("part1/page001.md");
    generate::write(&path, &(fs::read_to_string(&path)? + "\nOne more paragraph of a changed page.\n"), 1)
}

fn first_sync(folder: &Path) -> Result<()> {
    Subject::create(folder)?.sync(&folder.join(CORPUS))
}

fn sync(folder: &Path) -> Result<()> {
    Subject::open(folder)?.sync(&folder.join(CORPUS))
}

fn queries(folder: &Path) -> Result<()> {
    let subject = Subject::open_read_only(folder)?;
    for query in generate::queries(50) {
        subject.search(&query, K)?;
    }
    Ok(())
}

fn query(folder: &Path) -> Result<()> {
    Subject::open_read_only(folder)?.search(&generate::queries(1)[0], K).map(drop)
}

fn verify(folder: &Path) -> Result<()> {
    const CLAIMS: usize = 10;
    let subject = Subject::open_read_only(folder)?;
    let shown = subject.context(&generate::queries(1)[0])?;
    let answer = subject.answer(&shown, CLAIMS)?.ok_or("the evidence has too few lines")?;
    for _ in 0..20 {
        if subject.verified(&shown, &answer)? != CLAIMS {
            return Err("a claim is not verified".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_runs() {
        for case in &CASES {
            let folder = tempfile::tempdir().unwrap();
            (case.before)(folder.path()).and_then(|()| (case.run)(folder.path())).unwrap();
        }
    }
}
