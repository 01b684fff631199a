//! One word with its parts, and who gets to see it.

use std::ops::Range;

use super::fold::Class;

/// A term is at most this many bytes long; what is longer is cut there, at a character.
pub(super) const MAX_TERM_BYTES: usize = 64;
/// A word with more changes of case than this is no identifier and has no parts.
const MAX_CUTS: usize = 7;

/// A place where a part of a word such as `maxChars` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Byte offset in the folded word.
    pub(super) folded: usize,
    /// Byte offset in the text.
    pub(super) source: usize,
}

/// One word: letters, marks and digits without a break.
#[derive(Debug)]
pub(super) struct Word<'a> {
    /// The folded word, at most [`MAX_TERM_BYTES`] long.
    pub(super) text: &'a str,
    /// Where its second and later parts begin.
    pub(super) cuts: &'a [Cut],
    /// Its bytes in the text, without the suffix.
    pub(super) source: Range<usize>,
    /// The character that joins it to the word before: `_`, `-`, `.` or `/`.
    pub(super) joiner: Option<u8>,
    /// Whether a joiner and another word follow.
    pub(super) continued: bool,
    /// `++` or `#`, as in `C++` and `C#`; else empty.
    pub(super) suffix: &'static str,
    /// Whether it starts with a point, as `.NET` does.
    pub(super) dotted: bool,
}

impl Word<'_> {
    /// The parts of a word that has some: folded text and bytes in the text.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let ends = self.cuts.iter().copied().chain([Cut { folded: self.text.len(), source: self.source.end }]);
        let mut from = Cut { folded: 0, source: self.source.start };
        ends.map(move |to| {
            let part = (&self.text[from.folded..to.folded], from.source..to.source);
            from = to;
            part
        })
    }
}

/// Gets what a text consists of, in its order.
pub(super) trait Visitor {
    /// A word.
    fn word(&mut self, word: &Word<'_>);
    /// A word without parts that nothing joins or marks, folded to as many bytes as it has at `at` in the text.
    fn plain_word(&mut self, text: &str, at: usize) {
        let source = at..at + text.len();
        self.word(&Word { text, cuts: &[], source, joiner: None, continued: false, suffix: "", dotted: false });
    }
    /// A character of a script without spaces; `continues` where it directly follows another.
    fn run(&mut self, c: char, continues: bool, source: Range<usize>);
    /// A pictograph.
    fn symbol(&mut self, c: char, source: Range<usize>);
}

/// A letter of a folded word, with what it was before.
#[derive(Clone, Copy)]
pub(super) struct Letter {
    pub(super) class: Class,
    pub(super) at: Cut,
}

/// Finds the parts of a word of mixed case: `maxChars`, `HTTPServer`, `base64Encode`; but not `APIs` or `H2O`.
pub(super) fn find_cuts(letters: &[Letter], word: &str, cuts: &mut Vec<Cut>) {
    for index in 1..letters.len() {
        if letters[index].class != Class::Upper {
            continue;
        }
        let next = letters.get(index + 1);
        let lower_follows = next.is_some_and(|next| next.class == Class::Lower);
        let plural = index + 2 == letters.len() && word.ends_with('s');
        let cut = match letters[index - 1].class {
            Class::Lower => true,
            Class::Upper => lower_follows && !plural,
            _ => lower_follows,
        };
        if cut {
            if cuts.len() == MAX_CUTS {
                cuts.clear();
                return;
            }
            cuts.push(letters[index].at);
        }
    }
}
