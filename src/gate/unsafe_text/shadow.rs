//! The shadow of a text: what is left of it when disguises are taken off.
//!
//! Compatibility forms are decomposed, accents dropped, letters lower-cased; look-alike letters become Latin where they
//! stand in a word with Latin letters or are a whole word after a Latin one; format characters, emphasis marks and back-ticks go; `_` and runs of white space
//! become one space, none between ideographs; a digit between letters becomes the letter it looks like; tag characters
//! become the ASCII they stand for. The space before a paragraph, a heading, a list item, a table's row or a quote is a
//! line feed, so that a rule can tell where a sentence may begin.
//!
//! The [`Form::Bare`] shadow has the markup taken off as well (`markup.rs`).

use std::ops::Range;

use unicode_normalization::char::{compose, decompose_compatible, is_combining_mark};

use super::hidden::{self, is_format};
use super::lines::Lines;
use super::look_alikes::{look_alike, substitute};
use super::markup::{self, Markup, Shown};
use super::seam::Stretch;

/// Takes what the folding of a text emits.
pub(super) trait Sink {
    /// A character of the shadow, and where in the text it comes from.
    fn put(&mut self, source: usize, character: char);
    /// The same for ASCII.
    fn put_ascii(&mut self, source: usize, byte: u8);
    /// The same for a run of it, which is yet to be lower-cased.
    fn put_run(&mut self, source: usize, run: &str) {
        for (source, byte) in (source..).zip(run.bytes()) {
            self.put_ascii(source, byte.to_ascii_lowercase());
        }
    }
}

/// Whether markup is seen as it is written or as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Written,
    Bare,
}

/// What becomes of an ASCII byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Keep,
    Space,
    Drop,
    Digit,
    /// It may be markup.
    Markup,
    /// It is not ASCII.
    Other,
}

const CLASSES: [Class; 256] = classes(Form::Written);
const BARE_CLASSES: [Class; 256] = classes(Form::Bare);

const fn classes(form: Form) -> [Class; 256] {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation)] // below 128
        let c = byte as u8;
        classes[byte] = match c {
            0..=b' ' | b'_' | 0x7f => Class::Space,
            b'*' | b'~' | b'`' => Class::Drop,
            b'0'..=b'9' => Class::Digit,
            b'<' | b'&' | b'\\' | b'[' | b']' | b'{' | b'}' | b'.' | b'!' | b'?' | b'-'
                if matches!(form, Form::Bare) =>
            {
                Class::Markup
            }
            _ => Class::Keep,
        };
        byte += 1;
    }
    classes
}

/// How far a word is looked at to tell its script.
const LONGEST_WORD: usize = 64;

/// Folds a part of a text into a sink.
fn fold(text: &str, stretch: Stretch, form: Form, sink: &mut impl Sink) {
    let Stretch { seam, end } = stretch;
    let bytes = text.as_bytes();
    let mut folder = Folder {
        text,
        sink,
        space: seam.map(|seam| seam.space),
        begins: seam.is_some(),
        ideograph: seam.is_some_and(|seam| seam.ideograph),
        latin: seam.is_some_and(|seam| seam.latin),
        word_end: 0,
        mixed: false,
    };
    let classes = if form == Form::Bare { &BARE_CLASSES } else { &CLASSES };
    let mut lines = if seam.is_some() { Lines::after_blank() } else { Lines::of(text) };
    let mut at = seam.map_or(0, |seam| seam.at);
    while at < end {
        let byte = bytes[at];
        match classes[usize::from(byte)] {
            Class::Other => {
                at = folder.character(at);
                continue;
            }
            Class::Keep => {
                let length = run(&bytes[at..end], classes);
                folder.run(at, at + length);
                at += length;
                continue;
            }
            Class::Digit => folder.ascii(at, digit(bytes, at)),
            Class::Space => {
                folder.space.get_or_insert(at);
                if byte == b'\n' {
                    let (begins, marks) = lines.next(&text[at + 1..]);
                    folder.begins |= begins;
                    // The marks of a quoted block stand between its words.
                    at += marks;
                }
            }
            Class::Drop => {}
            Class::Markup => {
                let Markup { length, shown } = markup::at(text, at);
                match shown {
                    Shown::Nothing => {}
                    Shown::Space { begins } => {
                        folder.space.get_or_insert(at);
                        folder.begins |= begins;
                    }
                    Shown::Character(c) => folder.shown(at, c),
                }
                at += length;
                continue;
            }
        }
        at += 1;
    }
}

/// How many bytes are kept, with single spaces between them.
fn run(bytes: &[u8], classes: &[Class; 256]) -> usize {
    let is_kept = |byte: Option<&u8>| byte.is_some_and(|byte| classes[usize::from(*byte)] == Class::Keep);
    let mut length = 0;
    loop {
        while is_kept(bytes.get(length)) {
            length += 1;
        }
        if bytes.get(length) != Some(&b' ') || !is_kept(bytes.get(length + 1)) {
            return length;
        }
        length += 1;
    }
}

/// The letter that a digit between two letters looks like.
fn digit(bytes: &[u8], at: usize) -> u8 {
    let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    if at == 0 || !letter(bytes.get(at - 1)) || !letter(bytes.get(at + 1)) {
        return bytes[at];
    }
    match bytes[at] {
        b'0' => b'o',
        b'1' => b'i',
        b'3' => b'e',
        b'4' => b'a',
        b'5' => b's',
        b'7' => b't',
        other => other,
    }
}

#[allow(clippy::struct_excessive_bools)] // each is about another part of what was read
struct Folder<'a, S> {
    text: &'a str,
    sink: &'a mut S,
    /// White space that is not emitted yet.
    space: Option<usize>,
    /// Whether a block begins after it.
    begins: bool,
    /// Whether the last character emitted is one of those that are written without spaces.
    ideograph: bool,
    /// Whether the last letter emitted is a Latin one.
    latin: bool,
    /// Up to where `mixed` is known.
    word_end: usize,
    /// Whether the present word is to be read as Latin.
    mixed: bool,
}

impl<S: Sink> Folder<'_, S> {
    /// Emits the white space at `at`.
    fn gap(&mut self, at: usize) {
        let begins = std::mem::take(&mut self.begins);
        self.sink.put_ascii(at, if begins { b'\n' } else { b' ' });
    }

    /// Emits a character that the text spells out.
    fn shown(&mut self, source: usize, c: char) {
        if c.is_whitespace() {
            self.space.get_or_insert(source);
            return;
        }
        if is_format(c) {
            return;
        }
        if let Some(plain) = substitute(c) {
            plain.chars().for_each(|plain| self.emit(source, plain));
            return;
        }
        let mut parts = String::new();
        decompose_compatible(c, |part| parts.push(part));
        for part in parts.chars().take(4).filter(|part| !is_accent(*part)) {
            match look_alike(part).filter(|_| self.latin) {
                Some(latin) => self.emit(source, latin),
                None => part.to_lowercase().for_each(|part| self.emit(source, part)),
            }
        }
    }

    #[inline]
    fn ascii(&mut self, source: usize, byte: u8) {
        if let Some(at) = self.space.take() {
            self.gap(at);
        }
        self.ideograph = false;
        self.latin = byte.is_ascii_alphabetic() || (self.latin && !byte.is_ascii_digit());
        self.sink.put_ascii(source, byte);
    }

    /// Emits what is kept, with single spaces in it.
    fn run(&mut self, from: usize, to: usize) {
        if let Some(at) = self.space.take() {
            self.gap(at);
        }
        self.ideograph = false;
        let run = &self.text[from..to];
        self.latin |= run.bytes().rev().any(|byte| byte.is_ascii_alphabetic());
        self.sink.put_run(from, run);
    }

    fn emit(&mut self, source: usize, c: char) {
        if c.is_ascii() {
            #[allow(clippy::cast_possible_truncation)] // it is ASCII
            let byte = c as u8;
            match CLASSES[usize::from(byte)] {
                Class::Space => {
                    self.space.get_or_insert(source);
                }
                Class::Drop => {}
                Class::Keep | Class::Digit | Class::Markup | Class::Other => {
                    self.ascii(source, byte.to_ascii_lowercase());
                }
            }
            return;
        }
        let ideograph = is_ideograph(c);
        if let Some(at) = self.space.take()
            && !(ideograph && self.ideograph)
        {
            self.gap(at);
        }
        self.begins = false;
        self.ideograph = ideograph;
        self.latin &= !c.is_alphabetic();
        self.sink.put(source, c);
    }

    /// Takes the character at `at`, which is not ASCII, and returns where the next one begins.
    fn character(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let Some(c) = rest.chars().next() else { return self.text.len() };
        let next = at + c.len_utf8();
        if is_ideographic(c) {
            return self.composed(at, next, c);
        }
        if is_format(c) {
            if c == hidden::CANCEL_TAG || !hidden::is_tag(c) {
                return next;
            }
            if let Some(plain) = hidden::tag_as_ascii(c) {
                self.emit(at, plain);
            }
            return next;
        }
        if c == hidden::BLACK_FLAG {
            // The tags of a flag name a region and say nothing.
            return at + hidden::flag_length(rest);
        }
        if c.is_whitespace() {
            self.space.get_or_insert(at);
            return next;
        }
        if let Some(plain) = substitute(c) {
            plain.chars().for_each(|plain| self.emit(at, plain));
            return next;
        }
        let mut parts = ['\0'; 4];
        let mut count = 0;
        decompose_compatible(c, |part| {
            if let Some(slot) = parts.get_mut(count) {
                *slot = part;
            }
            count += 1;
        });
        // The longest decompositions are of ligatures of whole words; nothing is written in them.
        let parts = if count <= parts.len() { &parts[..count] } else { &[c][..] };
        if let [part] = *parts
            && is_syllabic(part)
        {
            return self.composed(at, next, part);
        }
        for &part in parts {
            if is_accent(part) {
                continue;
            }
            let latin = look_alike(part).filter(|_| self.is_mixed(at, next));
            match latin {
                Some(latin) => self.emit(at, latin),
                None => part.to_lowercase().filter(|part| !is_accent(*part)).for_each(|part| self.emit(at, part)),
            }
        }
        next
    }

    /// Emits a syllable or its first part, joined with the marks and parts that follow it.
    fn composed(&mut self, at: usize, mut next: usize, mut c: char) -> usize {
        while let Some(following) = self.text[next..].chars().next() {
            if !joins(following) {
                break;
            }
            let mut mark = following;
            decompose_compatible(following, |part| mark = part);
            let Some(joined) = compose(c, mark) else { break };
            c = joined;
            next += following.len_utf8();
        }
        self.emit(at, c);
        next
    }

    /// Whether the word around a character has Latin letters as well, or none but look-alikes after a Latin word; looked
    /// up once a word.
    fn is_mixed(&mut self, at: usize, next: usize) -> bool {
        if at < self.word_end {
            return self.mixed;
        }
        let of_word = |c: &char| c.is_alphabetic() || is_format(*c) || is_combining_mark(*c) || c.is_ascii_digit();
        let before = self.text[..at].chars().rev().take(LONGEST_WORD).take_while(of_word);
        let after = self.text[next..].chars().take(LONGEST_WORD).take_while(of_word);
        let latin = |c: char| c.is_ascii_alphabetic();
        self.word_end = next + after.clone().map(char::len_utf8).sum::<usize>();
        let alike = || {
            let mut word = self.text[at..self.word_end].chars().filter(|c| c.is_alphabetic());
            self.latin && word.all(|c| look_alike(c).is_some())
        };
        self.mixed = before.into_iter().any(latin) || after.into_iter().any(latin) || alike();
        self.mixed
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{3000}'..='\u{303F}')
}

/// Characters that stay as they are, but for a mark or part that follows and [joins] them.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{3098}' | '\u{30A0}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Marks of kana and parts of Hangul syllables that make one character with what they follow.
fn joins(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309A}' | '\u{FF9E}' | '\u{FF9F}' | '\u{1160}'..='\u{11FF}')
}

/// Kana and the parts of Hangul syllables.
fn is_syllabic(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{1100}'..='\u{115F}')
}

/// Marks on letters; not those that make another letter of kana, and no vowel signs.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// A character folded by itself.
fn fold_one(c: char, sink: &mut impl Sink) {
    let mut bytes = [0; 4];
    let text = c.encode_utf8(&mut bytes);
    fold(text, Stretch::whole(text), Form::Written, sink);
}

/// What a character becomes wherever it stands; `None` for one that depends on what is around it.
pub(super) fn fold_alone(c: char) -> Option<String> {
    let mut depends = joins(c) || look_alike(c).is_some();
    decompose_compatible(c, |part| depends |= is_syllabic(part) || look_alike(part).is_some());
    if depends {
        return None;
    }
    let mut folded = Plain(String::new());
    fold_one(c, &mut folded);
    Some(folded.0)
}

/// A word of a rule, folded as a text is: letter by letter, with all else left as it stands.
pub(super) fn fold_letters(pattern: &str) -> String {
    let mut folded = Plain(String::new());
    for c in pattern.chars() {
        if c.is_ascii() {
            folded.0.push(c);
        } else {
            fold_one(c, &mut folded);
        }
    }
    folded.0
}

struct Plain(String);

impl Sink for Plain {
    fn put(&mut self, _: usize, character: char) {
        self.0.push(character);
    }

    fn put_ascii(&mut self, _: usize, byte: u8) {
        self.0.push(byte.into());
    }
}

/// A folded text with the way back.
pub(super) struct Shadow {
    text: String,
    /// Places of the shadow from which on the distance to the source is another one: (shadow, source).
    breaks: Vec<(usize, usize)>,
}

impl Sink for Shadow {
    #[inline]
    fn put(&mut self, source: usize, character: char) {
        self.note(source);
        self.text.push(character);
    }

    #[inline]
    fn put_ascii(&mut self, source: usize, byte: u8) {
        self.note(source);
        self.text.push(byte.into());
    }

    fn put_run(&mut self, source: usize, run: &str) {
        self.note(source);
        let start = self.text.len();
        self.text.push_str(run);
        self.text[start..].make_ascii_lowercase();
    }
}

impl Shadow {
    pub(super) fn of(text: &str, stretch: Stretch, form: Form) -> Self {
        let length = stretch.end - stretch.seam.map_or(0, |seam| seam.at);
        let mut shadow = Self { text: String::with_capacity(length), breaks: vec![(0, 0)] };
        fold(text, stretch, form, &mut shadow);
        shadow
    }

    #[inline]
    fn note(&mut self, source: usize) {
        let at = self.text.len();
        let (shadow, known) = self.breaks[self.breaks.len() - 1];
        if at - shadow != source - known {
            self.breaks.push((at, source));
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the source that these bytes of the shadow come from.
    pub(super) fn source(&self, source: &str, range: Range<usize>) -> Range<usize> {
        let last = self.text[range.clone()].char_indices().next_back().map_or(range.start, |(at, _)| range.start + at);
        let (start, last) = (self.place(range.start), self.place(last));
        let length = source[last..].chars().next().map_or(0, char::len_utf8);
        start..last + length
    }

    fn place(&self, at: usize) -> usize {
        let index = self.breaks.partition_point(|&(shadow, _)| shadow <= at) - 1;
        let (shadow, source) = self.breaks[index];
        source + (at - shadow)
    }
}
