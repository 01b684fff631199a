//! ragdb, as the report uses it: the only module that calls its library.

use std::path::{Path, PathBuf};

use ragdb::{
    ContextRequest, Evidence, EvidenceBlock, Principal, ProposedAnswer, ProposedCitation, ProposedClaim, SearchRequest,
    Store, SyncRequest, SyncSources, Verdict, Verification, VerifyRequest,
};
use rusqlite::{Connection, OpenFlags};

use crate::Result;
use crate::chunk::{Chunk, FileChunks};

/// The name in the report.
pub const NAME: &str = "ragdb";

const FILE: &str = "ragdb.db";

/// A store and the calls that are measured.
pub struct Subject {
    path: PathBuf,
    store: Store,
}

impl Subject {
    /// A subject with a new store in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let store = Store::create(&path)?;
        Ok(Self { path, store })
    }

    /// A subject with the store that is in `folder`.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let store = Store::open(&path)?;
        Ok(Self { path, store })
    }

    /// The same, for reading only.
    pub fn open_read_only(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let store = Store::open_read_only(&path)?;
        Ok(Self { path, store })
    }

    /// Syncs `corpus` into a new store; an older one is removed. Files that can't be read are left out.
    pub fn sync_new(&mut self, corpus: &Path) -> Result<()> {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            match std::fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        self.store = Store::create(&self.path)?;
        self.sync(corpus)
    }

    /// Syncs `corpus` into the store that is there.
    pub fn sync(&self, corpus: &Path) -> Result<()> {
        let sources = SyncSources::Folders(vec![corpus.to_owned()]);
        self.store.sync(&SyncRequest { sources, keep_going: true, reroot: true, ..SyncRequest::default() })?;
        Ok(())
    }

    /// Searches with any of the query's words, without a floor, as the peers do; how many hits there are, at most `k`.
    pub fn search(&self, query: &str, k: usize) -> Result<usize> {
        Ok(self.store.search(&Principal::operator(), &request(query, k))?.hits.len())
    }

    /// Whether a search gives the hits, in the order and with the scores to the last bit, that reading every posting
    /// gives.
    pub fn is_exact(&self, query: &str, k: usize) -> Result<bool> {
        let request = request(query, k);
        let ids = |result: ragdb::SearchResult| -> Vec<(ragdb::ChunkId, u64)> {
            result.hits.iter().map(|hit| (hit.chunk_id, hit.score.to_bits())).collect()
        };
        Ok(ids(self.store.search(&Principal::operator(), &request)?)
            == ids(self.store.search_exhaustively(&Principal::operator(), &request)?))
    }

    /// What a model would be shown for a question.
    pub fn context(&self, question: &str) -> Result<Shown> {
        let request = ContextRequest::new(question);
        Ok(Shown(self.store.context(&Principal::operator(), &request)?))
    }

    /// An answer of `claims` claims that hold, each a line of the evidence that it quotes; the blocks give theirs in
    /// turns. `None` where too few lines prove what they say: many are a piece of a sentence.
    pub fn answer(&self, shown: &Shown, claims: usize) -> Result<Option<ProposedAnswer>> {
        let mut answer = shown.quotes();
        let judged = self.verify(shown, &answer)?;
        let mut holds = judged.claims.iter().map(|claim| claim.verdict == Verdict::Verified);
        answer.claims.retain(|_| holds.next() == Some(true));
        answer.claims.truncate(claims);
        Ok((answer.claims.len() == claims).then_some(answer))
    }

    /// How many of an answer's claims hold.
    pub fn verified(&self, shown: &Shown, answer: &ProposedAnswer) -> Result<usize> {
        let judged = self.verify(shown, answer)?;
        Ok(judged.claims.iter().filter(|claim| claim.verdict == Verdict::Verified).count())
    }

    fn verify(&self, shown: &Shown, answer: &ProposedAnswer) -> Result<Verification> {
        Ok(self.store.verify(&Principal::operator(), &VerifyRequest::new(&shown.0.manifest, answer))?)
    }

    /// The store's file, with nothing left in its log.
    #[must_use]
    pub fn database(&self) -> &Path {
        &self.path
    }
}

/// The evidence for a question.
pub struct Shown(Evidence);

impl Shown {
    /// A claim for each line, as far as an answer may have so many; the blocks give theirs in turns.
    fn quotes(&self) -> ProposedAnswer {
        const MOST: usize = 100;
        let blocks = self.0.blocks();
        let mut lines: Vec<_> = blocks.iter().map(sentences).collect();
        let mut answer = ProposedAnswer::default();
        loop {
            let before = answer.claims.len();
            for (label, line) in lines.iter_mut().filter_map(Iterator::next).take(MOST - before) {
                let citation = ProposedCitation { reference: label.clone(), quote: Some(line.into()), range: None };
                answer.claims.push(ProposedClaim { text: line.into(), citations: vec![citation] });
            }
            if answer.claims.len() == before {
                return answer;
            }
        }
    }
}

/// The block's label and text, line by line.
fn sentences(block: &EvidenceBlock) -> impl Iterator<Item = (&String, &str)> {
    let lines = block.body.lines().map(str::trim).filter(|line| is_sentence(line));
    lines.map(|line| (&block.label, line))
}

/// Whether a line says something: a claim of two words is none.
fn is_sentence(line: &str) -> bool {
    line.starts_with(char::is_alphabetic) && line.split_whitespace().count() >= 5
}

fn request(query: &str, k: usize) -> SearchRequest {
    SearchRequest { top_k: k, floor: Some(0.0), ..SearchRequest::new(query) }
}

/// The chunks of a store by file, sorted by path, headings only included: what the peers are given, so that all index
/// the same pieces.
pub fn stored_chunks(database: &Path) -> Result<Vec<FileChunks>> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT path, heading_path, text FROM chunks JOIN documents USING (document_no) \
               ORDER BY path, source_no, chunk_index";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut files: Vec<FileChunks> = Vec::new();
    while let Some(row) = rows.next()? {
        let path: String = row.get(0)?;
        let headings: Vec<String> = serde_json::from_str(&row.get::<_, String>(1)?)?;
        let chunk = Chunk { heading: headings.join(" > "), text: row.get(2)? };
        match files.last_mut().filter(|file| file.path == path) {
            Some(file) => file.chunks.push(chunk),
            None => files.push(FileChunks { path, chunks: vec![chunk] }),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read_in_the_order_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ragdb.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(include_str!("../../migrations/0001_store.sql")).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        let document = "INSERT INTO documents (document_no, document_id, source_no, path, title, lang, revision, \
                        content_hash, size_bytes, lines, generation_added, generation_updated, record_hash) \
                        VALUES (?1, printf('%032d', ?1), 1, ?2, '', 'en', 1, printf('%064d', 0), 1, 1, 1, 1, \
                        printf('%064d', 0))";
        connection.execute(document, (1, "b.md")).unwrap();
        connection.execute(document, (2, "a.md")).unwrap();
        let chunk = "INSERT INTO chunks (document_no, chunk_index, start_line, end_line, start_byte, end_byte, \
                     token_count, heading_only, generation_added, document_digest, content_digest, repeat, \
                     composition_digest, heading_path, text) \
                     VALUES (?1, ?2, 1, 1, 0, 1, 1, 0, 1, zeroblob(16), zeroblob(32), 0, zeroblob(16), ?3, ?4)";
        for (document, index, headings, text) in
            [(1, 0, "[]", "b0"), (2, 1, r#"["A","B"]"#, "a1"), (2, 0, r#"["A"]"#, "a0")]
        {
            connection.execute(chunk, (document, index, headings, text)).unwrap();
        }
        let chunk = |heading: &str, text: &str| Chunk { heading: heading.into(), text: text.into() };
        let expected = [
            FileChunks { path: "a.md".into(), chunks: vec![chunk("A", "a0"), chunk("A > B", "a1")] },
            FileChunks { path: "b.md".into(), chunks: vec![chunk("", "b0")] },
        ];
        assert_eq!(stored_chunks(&path).unwrap(), expected);
    }
}
