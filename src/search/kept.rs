//! What a long-lived store keeps in memory for its searches.

use std::sync::{Mutex, PoisonError};

use crate::dense;
use crate::index;
use crate::lexicon::Lexer;

/// How many lexers wait for the next search at most.
const LEXERS: usize = 8;

/// Shared by all searches of a store.
#[derive(Default)]
pub(super) struct Kept {
    /// What is kept of the index.
    pub index: index::Kept,
    /// What is kept of the vectors.
    pub vectors: dense::Kept,
    lexers: Mutex<Vec<Lexer>>,
}

impl Kept {
    /// A lexer that an earlier search gave back, which knows the stems of common words, or a new one.
    pub(super) fn lexer(&self) -> Lexer {
        let waiting = self.lexers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        waiting.unwrap_or_else(Lexer::new)
    }

    /// Keeps a lexer for another search.
    pub(super) fn give_back(&self, lexer: Lexer) {
        let mut lexers = self.lexers.lock().unwrap_or_else(PoisonError::into_inner);
        if lexers.len() < LEXERS {
            lexers.push(lexer);
        }
    }
}
