//! One corpus under one rule of access, and the same under a hundred: what restricted readers pay.

use std::path::Path;

use ragdb::{Config, Principal, SearchRequest, Store, SyncRequest, SyncSources};

use crate::{Result, corpus};

/// How many rules the second store has.
pub const CLASSES: usize = 100;
/// The reader of all documents where they have one rule.
pub const ONE_RULE: &str = "one rule";
/// The operator where they have a hundred.
pub const UNRESTRICTED: &str = "unrestricted";

/// Two stores with the same documents in the same folders.
pub struct Ruled {
    one: Store,
    hundred: Store,
}

/// A reader of one of the stores.
pub struct Reader<'a> {
    /// What it is called in the report.
    pub name: &'static str,
    store: &'a Store,
    principal: Principal,
}

impl Ruled {
    /// Copies the documents of `from` into a hundred folders below `into`, and indexes them as one source, and as a
    /// hundred sources that a group of its own may read each.
    pub fn build(from: &Path, into: &Path) -> Result<Self> {
        let docs = into.join("docs");
        for (number, file) in corpus::walk(from)?.into_iter().enumerate() {
            let target = docs.join(format!("c{}", number % CLASSES)).join(&file.path);
            std::fs::create_dir_all(target.parent().ok_or("a file without a folder")?)?;
            std::fs::copy(from.join(&file.path), target)?;
        }
        let one = "sources:\n  - {id: docs, path: docs, groups: [all]}\n".to_owned();
        let source = |n| format!("  - {{id: c{n}, path: docs/c{n}, groups: [g{n}]}}\n");
        let hundred = format!("sources:\n{}", (0..CLASSES).map(source).collect::<String>());
        Ok(Self { one: sync(into, "one", &one)?, hundred: sync(into, "hundred", &hundred)? })
    }

    /// Who reads: without rules to speak of, and as the operator, a member of all groups, of a half and of a tenth of
    /// them.
    pub fn readers(&self) -> Result<Vec<Reader<'_>>> {
        let member = |groups: usize| {
            let nobody = Principal::new("", "reader")?;
            (0..groups).try_fold(nobody, |reader, n| reader.with_group(format!("g{n}")))
        };
        let of = |name, store, principal| Reader { name, store, principal };
        Ok(vec![
            of(ONE_RULE, &self.one, Principal::new("", "reader")?.with_group("all")?),
            of(UNRESTRICTED, &self.hundred, Principal::operator()),
            of("all 100 rules", &self.hundred, member(CLASSES)?),
            of("50 of 100 rules", &self.hundred, member(CLASSES / 2)?),
            of("10 of 100 rules", &self.hundred, member(CLASSES / 10)?),
        ])
    }
}

fn sync(folder: &Path, name: &str, yaml: &str) -> Result<Store> {
    let store = Store::create(folder.join(format!("{name}.db")))?;
    let sources = SyncSources::Config(Config::from_yaml(yaml, folder.join("ragdb.yaml"))?);
    store.sync(&SyncRequest { sources, keep_going: true, ..SyncRequest::default() })?;
    Ok(store)
}

impl Reader<'_> {
    /// Searches with any of the query's words, without a floor; how many hits there are.
    pub fn search(&self, query: &str, k: usize) -> Result<usize> {
        Ok(self.store.search(&self.principal, &request(query, k))?.hits.len())
    }

    /// Whether that gives what reading every posting gives, to the last bit.
    pub fn is_exact(&self, query: &str, k: usize) -> Result<bool> {
        let ids = |result: ragdb::SearchResult| -> Vec<(ragdb::ChunkId, u64)> {
            result.hits.iter().map(|hit| (hit.chunk_id, hit.score.to_bits())).collect()
        };
        let request = request(query, k);
        Ok(ids(self.store.search(&self.principal, &request)?)
            == ids(self.store.search_exhaustively(&self.principal, &request)?))
    }
}

fn request(query: &str, k: usize) -> SearchRequest {
    SearchRequest { top_k: k, floor: Some(0.0), ..SearchRequest::new(query) }
}
