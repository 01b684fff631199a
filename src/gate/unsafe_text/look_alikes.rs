//! Letters that look like Latin ones.

/// Letters of other scripts that pass for a Latin letter inside a Latin word, after compatibility forms are folded:
/// those of Unicode's confusables that fonts draw alike. In a word of their own script they stay what they are.
const LOOK_ALIKES: &[(char, &str)] = &[
    ('a', "аАαΑɑᎪꓮ"),
    ('b', "ЬВΒᏴꓐьƄ"),
    ('c', "сСϲϹᏟꓚⅽ"),
    ('d', "ԁᎠꓓժ"),
    ('e', "еЕєЄεΕᎬꓰ"),
    ('f', "ϝҒғꓝẝքƒ"),
    ('g', "ɡԌԍցᏀꓖ"),
    ('h', "һНΗᎻꓧհհ"),
    ('i', "іІιΙӀӏɩᎥꙇι"),
    ('j', "јЈϳᎫꓙյ"),
    ('k', "кКκΚᏦꓗ"),
    ('l', "ⅼᏞꓡլ"),
    ('m', "мМΜᎷꓟ"),
    ('n', "пոηΝꓠռ"),
    ('o', "оОοΟσօഠꓳ०০੦೦"),
    ('p', "рРρΡᏢꓑ"),
    ('q', "ԛԚզգ"),
    ('r', "гꓣᎡᏒɾ"),
    ('s', "ѕЅᏚꓢʂ"),
    ('t', "тТτΤᎢꓔ"),
    ('u', "υսцꓴʋ"),
    ('v', "νѵѴᏙꓦ"),
    ('w', "ԝԜшωᎳꓪաѡ"),
    ('x', "хХχΧꓫ"),
    ('y', "уУγΥүҮꓬყ"),
    ('z', "ΖᏃꓜʐ"),
];

/// The Latin letter that a letter of another script looks like.
pub(super) fn look_alike(c: char) -> Option<char> {
    // All of the table is outside ASCII and Latin-1, and nothing of it is an ideograph.
    if !matches!(u32::from(c), 0x180..=0x1FFF | 0x2100..=0x2FFF | 0xA000..=0xABFF) {
        return None;
    }
    LOOK_ALIKES.iter().find(|(_, letters)| letters.contains(c)).map(|(latin, _)| *latin)
}

/// What stands for a character wherever it is: letters and signs of the Latin script that compatibility
/// decomposition does not reach.
pub(super) fn substitute(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' | 'ᴏ' => "o",
        'đ' | 'Đ' | 'ð' | 'Ð' | 'ᴅ' => "d",
        'ħ' | 'Ħ' | 'ʜ' => "h",
        'ı' | 'ɪ' => "i",
        'ł' | 'Ł' | 'ʟ' => "l",
        'ŧ' | 'Ŧ' | 'ᴛ' => "t",
        'ᴀ' => "a",
        'ʙ' => "b",
        'ᴄ' => "c",
        'ᴇ' => "e",
        'ꜰ' => "f",
        'ɢ' => "g",
        'ᴊ' => "j",
        'ᴋ' => "k",
        'ᴍ' => "m",
        'ɴ' => "n",
        'ᴘ' => "p",
        'ʀ' => "r",
        'ꜱ' => "s",
        'ᴜ' => "u",
        'ᴠ' => "v",
        'ᴡ' => "w",
        'ʏ' => "y",
        'ᴢ' => "z",
        '‘' | '’' | '‛' | 'ʼ' => "'",
        '“' | '”' | '„' | '«' | '»' => "\"",
        '‐' | '‑' | '‒' | '–' | '—' | '−' => "-",
        _ => return None,
    })
}
