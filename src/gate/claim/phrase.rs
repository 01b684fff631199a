//! Tables of phrases, looked up at a token: the longest wins.

use std::collections::HashMap;

use super::token::{Kind, Token, tokens};

/// Phrases with what they mean.
pub(super) struct Phrases<T> {
    meanings: HashMap<String, T>,
    /// By first token: the most tokens of a phrase that begins with it.
    longest: HashMap<String, usize>,
    cased: bool,
}

impl<T: Copy> Phrases<T> {
    /// A table; `cased` ones tell capital letters from small ones.
    pub(super) fn new<'a>(cased: bool, phrases: impl IntoIterator<Item = (&'a str, T)>) -> Self {
        let mut table = Self { meanings: HashMap::new(), longest: HashMap::new(), cased };
        for (phrase, meaning) in phrases {
            let tokens = tokens(phrase);
            let mut key = String::new();
            for token in &tokens {
                table.extend(&mut key, token);
            }
            if let Some(first) = tokens.first() {
                let longest = table.longest.entry(table.form(first).to_owned()).or_default();
                *longest = (*longest).max(tokens.len());
                table.meanings.insert(key, meaning);
            }
        }
        table
    }

    fn form<'t>(&self, token: &'t Token) -> &'t str {
        if self.cased { &token.cased } else { &token.folded }
    }

    fn extend(&self, key: &mut String, token: &Token) {
        key.push_str(self.form(token));
        key.push('\u{1}');
    }

    /// What the longest phrase at `at` means, and the token behind it.
    pub(super) fn find(&self, tokens: &[Token], at: usize) -> Option<(T, usize)> {
        let longest = *self.longest.get(self.form(tokens.get(at)?))?;
        let mut key = String::new();
        let mut found = None;
        for (index, token) in tokens.iter().enumerate().skip(at).take(longest) {
            self.extend(&mut key, token);
            // A phrase ends where a word does: `min` is not the start of `min_size`.
            let inside =
                token.kind == Kind::Word && tokens.get(index + 1).is_some_and(|next| !next.spaced && next.is('_'));
            if let (false, Some(meaning)) = (inside, self.meanings.get(&key)) {
                found = Some((*meaning, index + 1));
            }
        }
        found
    }
}
