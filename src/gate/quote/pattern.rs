//! Every place where a text stands in another, in time linear in both whatever they hold (Knuth, Morris and Pratt).

/// A text to look for.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    bytes: &'a [u8],
    /// For each length of a beginning that matched: the longest shorter one that ends it too.
    fallback: Vec<usize>,
}

/// The longest beginning of a pattern that stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Longest {
    /// Its length in bytes; it may end inside a character.
    pub length: usize,
    /// Where it begins in the text.
    pub start: usize,
}

impl<'a> Pattern<'a> {
    /// `text` is not empty.
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut fallback = vec![0; bytes.len() + 1];
        let mut length = 0;
        for at in 1..bytes.len() {
            while length > 0 && bytes[at] != bytes[length] {
                length = fallback[length];
            }
            length += usize::from(bytes[at] == bytes[length]);
            fallback[at + 1] = length;
        }
        Self { bytes, fallback }
    }

    /// Calls `found` with where the pattern begins, for each place in order, overlapping ones too, until it says to
    /// stop by giving `false`. Gives the longest beginning that was met.
    pub(super) fn each(&self, text: &str, mut found: impl FnMut(usize) -> bool) -> Longest {
        let mut longest = Longest::default();
        let mut length = 0;
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            while length > 0 && (length == self.bytes.len() || self.bytes[length] != byte) {
                length = self.fallback[length];
            }
            length += usize::from(self.bytes[length] == byte);
            if length > longest.length {
                longest = Longest { length, start: at + 1 - length };
            }
            if length == self.bytes.len() && !found(at + 1 - length) {
                break;
            }
        }
        longest
    }
}
