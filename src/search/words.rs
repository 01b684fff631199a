//! The words that a hit must have or must not have, for chunks that something else than words found.

use crate::access::Scope;
use crate::error::Result;
use crate::index;
use crate::store::Connection;
use crate::store::postings::PostingReader;

use super::query::Lexed;

/// Which chunks have the words that `+`, `-`, phrases and `--all-terms` ask about.
pub(super) struct Words {
    /// For each required word, its ways of being there: all lists of one way must have the chunk.
    required: Vec<Vec<Vec<usize>>>,
    /// A chunk that all lists of a group have is out.
    excluded: Vec<Vec<usize>>,
    /// The chunks of each word, ascending.
    chunks: Vec<Vec<i64>>,
}

impl Words {
    /// Looks the words up; reads nothing where there are none.
    pub(super) fn new(conn: &Connection, scope: &Scope, kept: &index::Kept, lexed: &Lexed) -> Result<Self> {
        let mut terms: Vec<&str> = Vec::new();
        let mut place = |term| {
            terms.iter().position(|known| *known == term).unwrap_or_else(|| {
                terms.push(term);
                terms.len() - 1
            })
        };
        let mut required = Vec::new();
        for unit in lexed.required.iter().map(|&index| &lexed.asked.units[index]) {
            let mut name = |&index: &usize| place(lexed.asked.terms[index].term.as_str());
            let mut ways = vec![unit.primary.iter().map(&mut name).collect()];
            ways.extend(unit.wholes.iter().map(|whole| vec![name(whole)]));
            required.push(ways);
        }
        let excluded = lexed.excluded.iter().map(|group| group.iter().map(|term| place(term.as_str())).collect());
        let excluded: Vec<Vec<usize>> = excluded.collect();
        let chunks = if terms.is_empty() {
            Vec::new()
        } else {
            index::having(&mut PostingReader::new(conn)?, kept, scope.classes(), &terms)?
        };
        Ok(Self { required, excluded, chunks })
    }

    /// Whether a chunk has what it must, and not what it must not.
    pub(super) fn accept(&self, chunk_no: i64) -> bool {
        let all = |words: &Vec<usize>| words.iter().all(|&word| self.chunks[word].binary_search(&chunk_no).is_ok());
        self.required.iter().all(|ways| ways.iter().any(all))
            && !self.excluded.iter().any(|group| !group.is_empty() && all(group))
    }
}
