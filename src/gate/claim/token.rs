//! Text to tokens: words, single Han characters, runs of digits and marks, each with its bytes in the text.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters of a script with spaces, with apostrophes inside.
    Word,
    /// One Han character.
    Han,
    /// Decimal digits.
    Digits,
    /// Any other visible character, alone.
    Mark,
}

/// A piece of a text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// Lower case, full-width forms as plain ones, the Han characters of the tables as Simplified ones.
    pub(super) folded: String,
    /// The same in its own case.
    pub(super) cased: String,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: Kind,
    /// Whether white space, or the start of the text, is before it.
    pub(super) spaced: bool,
    /// Whether it is the first of its line.
    pub(super) leads: bool,
}

impl Token {
    /// Whether it is this mark.
    pub(super) fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark && self.folded.starts_with(mark)
    }
}

/// Traditional characters of the tables, each followed by its Simplified form.
const TRADITIONAL: &str = "萬万億亿兩两無无沒没須须應应該该個个時时鐘钟鍾钟點点過过於于僅仅許许減减啟启後后選选開开關关閉闭\
總总對对絕绝並并會会據据說说負负號号幣币塊块歐欧鎊镑週周約约將将達达來来論论斷断線线禁禁還还從从難难長长條条\
們们這这種种為为與与簽签審审批批級级類类別别數数據据訂订單单請请記记錄录環环輕轻張张臺台檔档頁页類类變变續续\
帶带陽阳陰阴處处內内處处終终結结讓让給给則则當当雙双進进遠远離离網网頻频權权責责間间層层確确";

/// Full-width forms, dashes of words, the minus sign, typographic apostrophes, and Traditional characters that the
/// tables use. The full-width comma stays: it never stands inside a number.
fn fold(c: char) -> char {
    match c {
        '\0'..='\u{7f}' | '\u{ff0c}' => c,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2212}' | '\u{2010}' | '\u{2011}' => '-',
        '\u{2019}' | '\u{2bc}' => '\'',
        '\u{b5}' => 'μ',
        '\u{2e80}'.. => simplified(c),
        _ => c,
    }
}

fn simplified(c: char) -> char {
    static PAIRS: std::sync::LazyLock<std::collections::HashMap<char, char>> = std::sync::LazyLock::new(|| {
        let chars: Vec<char> = TRADITIONAL.chars().collect();
        chars.as_chunks::<2>().0.iter().map(|[from, to]| (*from, *to)).collect()
    });
    PAIRS.get(&c).copied().unwrap_or(c)
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{3041}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{3ffff}')
}

fn kind_of(c: char) -> Kind {
    if c.is_ascii_digit() {
        Kind::Digits
    } else if is_han(c) {
        Kind::Han
    } else if c.is_alphabetic() {
        Kind::Word
    } else {
        Kind::Mark
    }
}

/// Characters that are neither seen nor part of a word.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut spaced, mut leads) = (true, true);
    for (at, raw) in text.char_indices() {
        if raw.is_whitespace() {
            leads |= raw == '\n';
            spaced = true;
            continue;
        }
        let c = fold(raw);
        if is_invisible(c) {
            continue;
        }
        let (kind, end) = (kind_of(c), at + raw.len_utf8());
        if let (false, Some(last)) = (spaced, tokens.last_mut()) {
            let inside = match (last.kind, kind) {
                (Kind::Word, Kind::Word) | (Kind::Digits, Kind::Digits) => true,
                // A mark on a letter, or an apostrophe with a letter behind it.
                (Kind::Word, Kind::Mark) => {
                    unicode_normalization::char::is_combining_mark(c)
                        || c == '\'' && text[end..].chars().next().is_some_and(|next| kind_of(next) == Kind::Word)
                }
                _ => false,
            };
            if inside {
                last.folded.extend(c.to_lowercase());
                last.cased.push(c);
                last.range.end = end;
                continue;
            }
        }
        let folded = c.to_lowercase().collect();
        tokens.push(Token { folded, cased: c.into(), range: at..end, kind, spaced, leads });
        (spaced, leads) = (false, false);
    }
    tokens
}
