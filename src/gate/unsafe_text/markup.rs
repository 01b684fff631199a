//! Markup that parts words or letters without being seen: tags, comments, links, escapes, references to characters.

/// What stands at a place.
pub(super) struct Markup {
    /// Bytes.
    pub length: usize,
    pub shown: Shown,
}

/// What a reader sees of it.
pub(super) enum Shown {
    Nothing,
    Space { begins: bool },
    Character(char),
}

/// The longest tag, comment and link target.
const LONGEST: usize = 500;

/// Tags that do not part the letters around them.
const INLINE: [&str; 29] = [
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// What stands at `at`, which is one of the bytes of markup.
pub(super) fn at(text: &str, at: usize) -> Markup {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let before = letter(at.checked_sub(1).and_then(|at| bytes.get(at)));
    let keep = Markup { length: 1, shown: Shown::Character(char::from(rest[0])) };
    let hide = |length: usize| Markup { length, shown: Shown::Nothing };
    match rest[0] {
        b'<' => tag(rest).unwrap_or(keep),
        b'&' => reference(rest).unwrap_or(keep),
        b'\\' if !letter(rest.get(1)) => hide(1),
        b']' if rest.get(1) == Some(&b'(') => hide(up_to(&rest[1..], b')').map_or(1, |length| length + 1)),
        b']' if rest.get(1) == Some(&b'[') => hide(up_to(&rest[1..], b']').map_or(1, |length| length + 1)),
        b'!' if rest.get(1) == Some(&b'[') => hide(1),
        b'[' if before && is_link(rest) => hide(1),
        b'[' | b']' | b'{' | b'}' if before && letter(rest.get(1)) => {
            Markup { length: 1, shown: Shown::Space { begins: false } }
        }
        b'[' | b']' | b'{' | b'}' => hide(1),
        b'.' | b'!' | b'?' if before && goes_on(&rest[1..]) => Markup { length: 1, shown: Shown::Character(',') },
        b'-' if before => broken_word(rest).map_or(keep, hide),
        _ => keep,
    }
}

/// The length of what ends with `end` on the same line.
fn up_to(bytes: &[u8], end: u8) -> Option<usize> {
    let found = bytes.iter().take(LONGEST).position(|byte| *byte == end || *byte == b'\n')?;
    (bytes[found] == end).then_some(found + 1)
}

fn is_link(bytes: &[u8]) -> bool {
    up_to(bytes, b']').is_some_and(|length| bytes.get(length) == Some(&b'('))
}

/// Whether a sentence goes on after a mark that may end one.
fn goes_on(bytes: &[u8]) -> bool {
    match bytes {
        [first, ..] if first.is_ascii_alphabetic() => true,
        [b' ', next, ..] => next.is_ascii_lowercase(),
        _ => false,
    }
}

/// The length of a hyphen and the end of its line inside a word.
fn broken_word(bytes: &[u8]) -> Option<usize> {
    let end = if bytes.get(1) == Some(&b'\r') { 2 } else { 1 };
    if bytes.get(end) != Some(&b'\n') {
        return None;
    }
    let marks = bytes[end + 1..].iter().take(32).take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
    let next = end + 1 + marks;
    bytes.get(next).filter(|byte| byte.is_ascii_lowercase()).map(|_| next)
}

fn tag(bytes: &[u8]) -> Option<Markup> {
    if bytes.starts_with(b"<!--") {
        let near = &bytes[4..bytes.len().min(4 + LONGEST)];
        let length = near.windows(3).position(|end| end == b"-->")? + 7;
        return Some(Markup { length, shown: Shown::Nothing });
    }
    let name_at = if bytes.get(1) == Some(&b'/') { 2 } else { 1 };
    let name = &bytes[name_at..];
    let length = name.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if !name.first()?.is_ascii_alphabetic() || !matches!(name.get(length)?, b' ' | b'\t' | b'\n' | b'/' | b'>') {
        return None;
    }
    let end = bytes.iter().skip(1).take(LONGEST).position(|byte| matches!(byte, b'<' | b'>'))? + 1;
    if bytes[end] != b'>' {
        return None;
    }
    let is_inline = INLINE.iter().any(|inline| name[..length].eq_ignore_ascii_case(inline.as_bytes()));
    let shown = if is_inline { Shown::Nothing } else { Shown::Space { begins: true } };
    Some(Markup { length: end + 1, shown })
}

/// A reference to a character: `&#97;`, `&#x61;`, `&nbsp;`.
fn reference(bytes: &[u8]) -> Option<Markup> {
    let end = bytes.iter().take(12).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&bytes[1..end]).ok()?;
    let code = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16));
            char::from_u32(code.ok()?)?
        }
        None => match name {
            "nbsp" | "ensp" | "emsp" | "thinsp" | "Tab" | "NewLine" => ' ',
            "shy" | "zwnj" | "zwj" => '\u{200B}',
            "quot" => '"',
            "apos" | "lsquo" | "rsquo" => '\'',
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "period" => '.',
            "comma" => ',',
            "colon" => ':',
            "hyphen" | "dash" | "ndash" | "mdash" => '-',
            _ => return None,
        },
    };
    Some(Markup { length: end + 1, shown: Shown::Character(code) })
}
