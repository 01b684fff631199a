//! The whole of a compound such as `max_chars`, `x.y` or `A/B`: its words without what joins them.

use super::word::MAX_TERM_BYTES;

/// Puts the words of a compound together, so that `max_chars`, `max-chars` and `maxChars` have one whole.
///
/// A joiner between two digits stays (`1.2` is not `12`). Words joined by `/` are wholes of their own; two of them
/// have a common whole too (`HTTP/2`), longer paths have not. A whole longer than a term may be is left out.
#[derive(Default)]
pub(super) struct Compound {
    /// The words since the last `/`, or since the start.
    piece: Joined,
    /// All words.
    all: Joined,
    slashes: u32,
}

#[derive(Default)]
struct Joined {
    text: String,
    words: u32,
    too_long: bool,
}

impl Joined {
    fn push(&mut self, joiner: Option<u8>, word: &str) {
        self.words += 1;
        if self.too_long || self.text.len() + 1 + word.len() > MAX_TERM_BYTES {
            self.too_long = true;
            return;
        }
        let digits = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        if let Some(joiner) = joiner
            && digits(self.text.as_bytes().last())
            && digits(word.as_bytes().first())
        {
            self.text.push(char::from(joiner));
        }
        self.text.push_str(word);
    }

    fn finish(&mut self, emit: &mut impl FnMut(&str)) {
        if self.words > 1 && !self.too_long {
            emit(&self.text);
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.text.clear();
        self.words = 0;
        self.too_long = false;
    }
}

impl Compound {
    /// Adds a word; `joiner` is what joins it to the one before.
    pub(super) fn push(&mut self, joiner: Option<u8>, word: &str, emit: &mut impl FnMut(&str)) {
        if joiner == Some(b'/') {
            self.slashes += 1;
            self.piece.finish(emit);
            self.piece.push(None, word);
        } else {
            self.piece.push(joiner, word);
        }
        self.all.push(joiner, word);
    }

    /// Whether it has words.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.all.words > 0
    }

    /// Ends the compound.
    pub(super) fn finish(&mut self, emit: &mut impl FnMut(&str)) {
        self.piece.finish(emit);
        if self.slashes == 1 {
            self.all.finish(emit);
        }
        self.all.clear();
        self.slashes = 0;
    }
}
