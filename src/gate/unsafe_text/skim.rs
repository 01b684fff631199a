//! One pass over a text that tells where rules could match, in either form, without making a shadow.
//!
//! What it reads is the *outline* of the shadows: their letters and a few signs, each digit as the letter that it looks
//! like, and neither spaces nor other punctuation. A text has one outline but for its markup: from there on a state is
//! kept for each form until they meet again. Whatever anchor stands in a shadow, its outline stands in that of the text;
//! where more stands there, a shadow is made for nothing.

use super::hidden::{BLACK_FLAG, is_format, is_tag};
use super::markup::{self, Markup, Shown};
use super::shadow::{fold_alone, is_ideographic};

const SIGNS: &[u8] = b"<|![({%-";
/// All other digits.
const OTHER: u8 = 26 + 8;
/// What an outline leaves out.
const NOTHING: u8 = OTHER + 1;
/// Few, so that what is used of the automaton stays near: the bytes of other characters share those of letters and signs.
const COLUMNS: usize = 36;
/// A state is the place of its row in the automaton, in units of so many columns.
const UNIT: usize = 4;
/// In `ASCII`, added to the column of what may be markup.
const MARKUP: u8 = 0x80;

/// The column of the letter that each digit looks like.
const LETTERS: [u8; 10] = {
    let (a, e, i, o, s, t) = (0, 4, 8, 14, 18, 19);
    [o, i, OTHER, e, a, s, OTHER, t, OTHER, OTHER]
};

/// The column of each ASCII byte of a text; all other bytes are to be looked at like markup.
const ASCII: [u8; 256] = {
    let mut columns = [MARKUP; 256];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation)] // below 128
        let c = byte as u8;
        columns[byte] = match c {
            b'0'..=b'9' => LETTERS[(c - b'0') as usize],
            _ if c.is_ascii_alphabetic() => c.to_ascii_lowercase() - b'a',
            _ => NOTHING,
        };
        byte += 1;
    }
    let mut sign = 0;
    while sign < SIGNS.len() {
        #[allow(clippy::cast_possible_truncation)] // a few
        let column = 26 + sign as u8;
        columns[SIGNS[sign] as usize] = column;
        sign += 1;
    }
    let markup = b"<![]{-&";
    let mut byte = 0;
    while byte < markup.len() {
        columns[markup[byte] as usize] |= MARKUP;
        byte += 1;
    }
    columns
};

/// A place is noted every so many bytes.
const NOTED_EVERY: usize = 128;

/// The automaton of the outlines of anchors.
pub(super) struct Skimmer {
    /// The column of each byte of a shadow.
    columns: [u8; 256],
    next: Vec<u16>,
    /// From this state on, an anchor ends.
    first_end: u16,
    /// For each of those states, the groups that the anchors belong to.
    ends: Vec<u64>,
}

/// Where the outline of an anchor ends.
pub(super) struct Hit {
    /// At least so many bytes of either shadow lie before it.
    pub length: usize,
    pub groups: u64,
}

/// What one pass over a text finds.
#[derive(Default)]
pub(super) struct Skim {
    pub hits: Vec<Hit>,
    /// The groups of all of them.
    pub groups: u64,
    /// Whether the text has characters that the shadow leaves out.
    pub format_characters: bool,
    /// Places of the text, and the least length of a shadow before them.
    noted: Vec<(usize, usize)>,
}

impl Skim {
    /// A place of the text before which either shadow is at most so long.
    pub(super) fn place_before(&self, length: usize) -> usize {
        let index = self.noted.partition_point(|&(_, noted)| noted <= length);
        index.checked_sub(1).map_or(0, |index| self.noted[index].0)
    }

    /// A place of the text, if there is one, before which either shadow is at least so long.
    pub(super) fn place_after(&self, length: usize) -> Option<usize> {
        let index = self.noted.partition_point(|&(_, noted)| noted < length);
        self.noted.get(index).map(|&(place, _)| place)
    }
}

impl Skimmer {
    /// For anchors as they stand in a shadow, each with the groups that it belongs to.
    pub(super) fn new(anchors: &[(&str, u64)]) -> Result<Self, String> {
        let mut columns = ASCII.map(|column| column & !MARKUP);
        for byte in 0x80..=0xFF_u8 {
            columns[usize::from(byte)] = byte % OTHER;
        }
        let mut trie = Trie::new();
        for (anchor, groups) in anchors {
            trie.insert(anchor.bytes().map(|byte| columns[usize::from(byte)]).filter(|&it| it != NOTHING), *groups);
        }
        if trie.rows.len() * COLUMNS / UNIT > usize::from(u16::MAX) {
            return Err("the rules have too many anchors".into());
        }
        let (next, first_end, ends) = trie.finish();
        Ok(Self { columns, next, first_end, ends })
    }

    /// The groups of the anchors that may stand in a shadow.
    pub(super) fn groups(&self, shadow: &str) -> u64 {
        let (mut state, mut groups) = (0, 0);
        for byte in shadow.bytes() {
            state = self.step(state, self.columns[usize::from(byte)]);
            if state >= self.first_end {
                groups |= self.ends(state);
            }
        }
        groups
    }

    /// The groups of the anchors that end with a state.
    fn ends(&self, state: u16) -> u64 {
        self.ends[usize::from(state - self.first_end) * UNIT / COLUMNS]
    }

    /// Reads a text; `None` where only a shadow can tell, since a letter depends on those around it.
    pub(super) fn skim(&self, text: &str) -> Option<Skim> {
        let (skim, noted_at) = (Skim::default(), NOTED_EVERY);
        let reader = Reader {
            skimmer: self,
            text,
            at: 0,
            written: 0,
            bare: 0,
            shown_from: 0,
            length: 0,
            after_shown: 0,
            noted_at,
            skim,
        };
        reader.read()
    }

    #[inline]
    fn step(&self, state: u16, column: u8) -> u16 {
        self.next[usize::from(state) * UNIT + usize::from(column)]
    }
}

struct Reader<'a> {
    skimmer: &'a Skimmer,
    text: &'a str,
    at: usize,
    /// The state in the outline of the text as it is written.
    written: u16,
    /// That in the outline of the text without its markup.
    bare: u16,
    /// What stands before is markup that is not shown.
    shown_from: usize,
    /// At least so many bytes has either shadow up to here.
    length: usize,
    /// Whether the byte before is one that both shadows have: 1 or 0.
    after_shown: u8,
    noted_at: usize,
    skim: Skim,
}

impl Reader<'_> {
    fn read(mut self) -> Option<Skim> {
        while self.at < self.text.len() {
            if self.at >= self.noted_at {
                self.skim.noted.push((self.at, self.length));
                self.noted_at = self.at + NOTED_EVERY;
            }
            let end = self.text.len().min(self.noted_at);
            if self.written == self.bare && self.at >= self.shown_from {
                self.alike(end);
            } else {
                self.apart(end);
            }
            match self.text.as_bytes().get(self.at) {
                Some(byte) if !byte.is_ascii() => self.character()?,
                Some(&byte) if self.at < end && ASCII[usize::from(byte)] & MARKUP != 0 => self.markup(byte)?,
                _ => {}
            }
        }
        Some(self.skim)
    }

    /// Reads on up to what may be markup, while both forms are in one state.
    fn alike(&mut self, end: usize) {
        let bytes = &self.text.as_bytes()[..end];
        let (mut at, mut state, mut length, mut after_shown) = (self.at, self.written, self.length, self.after_shown);
        while let Some(&byte) = bytes.get(at) {
            let column = ASCII[usize::from(byte)];
            if column & MARKUP != 0 {
                break;
            }
            state = self.skimmer.step(state, column);
            (length, after_shown) = lengthened(byte, length, after_shown);
            if state >= self.skimmer.first_end && column != NOTHING {
                self.length = length;
                self.hit(state);
            }
            at += 1;
        }
        (self.at, self.length, self.after_shown) = (at, length, after_shown);
        (self.written, self.bare) = (state, state);
    }

    /// The same while they are not, up to where they meet.
    fn apart(&mut self, end: usize) {
        let bytes = &self.text.as_bytes()[..end];
        while let Some(&byte) = bytes.get(self.at) {
            let column = ASCII[usize::from(byte)];
            if column & MARKUP != 0 {
                break;
            }
            if self.at >= self.shown_from {
                (self.length, self.after_shown) = lengthened(byte, self.length, self.after_shown);
                self.put_bare(column);
            }
            self.put_written(column);
            self.at += 1;
            if self.written == self.bare && self.at >= self.shown_from {
                break;
            }
        }
    }

    fn hit(&mut self, state: u16) {
        let groups = self.skimmer.ends(state);
        self.skim.groups |= groups;
        self.skim.hits.push(Hit { length: self.length, groups });
    }

    fn put_written(&mut self, column: u8) {
        self.written = self.skimmer.step(self.written, column);
        if self.written >= self.skimmer.first_end && column != NOTHING {
            self.hit(self.written);
        }
    }

    fn put_bare(&mut self, column: u8) {
        self.bare = self.skimmer.step(self.bare, column);
        if self.bare >= self.skimmer.first_end && column != NOTHING {
            self.hit(self.bare);
        }
    }

    fn markup(&mut self, byte: u8) -> Option<()> {
        self.after_shown = 0;
        if self.at >= self.shown_from {
            let Markup { length, shown } = markup::at(self.text, self.at);
            self.shown_from = self.at + length;
            match shown {
                Shown::Character(c) if c.is_ascii() => self.put_bare(self.skimmer.columns[c as usize]),
                Shown::Character(c) if !c.is_whitespace() && !is_format(c) => return None,
                Shown::Character(_) | Shown::Nothing | Shown::Space { .. } => {}
            }
        }
        self.put_written(ASCII[usize::from(byte)] & !MARKUP);
        self.at += 1;
        Some(())
    }

    /// Reads a character that is not ASCII.
    fn character(&mut self) -> Option<()> {
        self.after_shown = 0;
        let c = self.text[self.at..].chars().next()?;
        let next = self.at + c.len_utf8();
        if is_ideographic(c) {
            for at in self.at..next {
                self.put(self.text.as_bytes()[at]);
            }
        } else if is_tag(c) || c == BLACK_FLAG {
            return None;
        } else if is_format(c) {
            self.skim.format_characters = true;
        } else if !c.is_whitespace() {
            for byte in fold_alone(c)?.bytes() {
                self.put(byte);
            }
        }
        self.at = next;
        Some(())
    }

    /// Takes a byte that both shadows have.
    fn put(&mut self, byte: u8) {
        let column = self.skimmer.columns[usize::from(byte)];
        if self.at >= self.shown_from {
            self.length += 1;
            self.put_bare(column);
        }
        self.put_written(column);
    }
}

/// In `WEIGHTS`: a byte that both shadows have, and one that both have after such a byte.
const SHOWN: u8 = 1;
const GAP: u8 = 2;

const WEIGHTS: [u8; 128] = {
    let mut weights = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation)] // below 128
        let c = byte as u8;
        weights[byte] = match c {
            b'*' | b'~' | b'`' | b'_' | b'{' | b'}' | b'[' | b']' | b'\\' | b'<' | b'&' | b'!' | b'-' | b'>' => 0,
            b'!'..=b'~' => SHOWN,
            0..=b' ' => GAP,
            _ => 0,
        };
        byte += 1;
    }
    weights
};

/// Counts a byte if it is sure to stand in both shadows.
#[inline]
fn lengthened(byte: u8, length: usize, after_shown: u8) -> (usize, u8) {
    let weight = WEIGHTS[usize::from(byte & 0x7F)];
    (length + usize::from((weight | (weight >> 1 & after_shown)) & SHOWN), weight & SHOWN)
}

/// The automaton while it is made.
struct Trie {
    rows: Vec<[u16; COLUMNS]>,
    groups: Vec<u64>,
}

impl Trie {
    fn new() -> Self {
        Self { rows: vec![[0; COLUMNS]], groups: vec![0] }
    }

    fn insert(&mut self, outline: impl Iterator<Item = u8>, groups: u64) {
        let mut state = 0;
        for column in outline {
            let known = usize::from(self.rows[state][usize::from(column)]);
            if known == 0 {
                let new = self.rows.len();
                #[allow(clippy::cast_possible_truncation)] // their number is looked at in the end
                let number = new as u16;
                self.rows[state][usize::from(column)] = number;
                self.rows.push([0; COLUMNS]);
                self.groups.push(0);
                state = new;
            } else {
                state = known;
            }
        }
        self.groups[state] |= groups;
    }

    /// Each state's next one, with those where an anchor ends behind the others; the first of these; and their groups.
    fn finish(mut self) -> (Vec<u16>, u16, Vec<u64>) {
        let mut fallback = vec![0; self.rows.len()];
        let mut queue: Vec<usize> = vec![0];
        let mut done = 0;
        while let Some(&state) = queue.get(done) {
            done += 1;
            for column in 0..COLUMNS {
                let child = usize::from(self.rows[state][column]);
                let elsewhere = if state == 0 { 0 } else { self.rows[fallback[state]][column] };
                if child == 0 {
                    self.rows[state][column] = elsewhere;
                } else {
                    fallback[child] = elsewhere.into();
                    self.groups[child] |= self.groups[usize::from(elsewhere)];
                    queue.push(child);
                }
            }
        }
        let states = 0..self.rows.len();
        let (ending, others): (Vec<usize>, Vec<usize>) = states.partition(|&state| self.groups[state] != 0);
        let mut numbers = vec![0_u16; self.rows.len()];
        let places = (0..).step_by(COLUMNS / UNIT);
        for (place, &state) in places.zip(others.iter().chain(&ending)) {
            numbers[state] = place;
        }
        let mut next = Vec::with_capacity(self.rows.len() * COLUMNS);
        for &state in others.iter().chain(&ending) {
            next.extend(self.rows[state].iter().map(|&next| numbers[usize::from(next)]));
            let nothing = next.len() - COLUMNS + usize::from(NOTHING);
            next[nothing] = numbers[state];
        }
        let first_end = ending.first().map_or(u16::MAX, |&state| numbers[state]);
        (next, first_end, ending.iter().map(|&state| self.groups[state]).collect())
    }
}
