//! Spans of real text, each broken in 25 ways: none may pass. And the listed normalisations, all of which must pass
//! where they are asked for, and none where they are not.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::border::cut;
use super::super::length::Length;
use super::super::{Normalisation, find};

/// Numbers that are the same on every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())].clone())
    }
}

/// A span and what it was cut from.
struct Span<'a> {
    quote: &'a str,
    cited: &'a str,
    other: &'a str,
    range: Range<usize>,
}

/// Breaks a span; none where it has nothing that this way breaks.
type Mutator = fn(&Span<'_>, &mut Random) -> Option<String>;

const MUTATORS: [(&str, Mutator); 25] = [
    ("negation in", |it, random| insert_word(it.quote, &["not", "never", "no longer"], "不", random)),
    ("negation out", |it, random| {
        replace_one(it.quote, &[(" not ", " "), ("n't ", " "), ("不", ""), (" no ", " ")], random)
    }),
    ("modal changed", |it, random| {
        replace_one(
            it.quote,
            &[
                ("may", "must"),
                ("can ", "will "),
                ("should", "must"),
                ("must", "may"),
                ("可以", "必须"),
                ("必须", "可以"),
            ],
            random,
        )
    }),
    ("digit changed", |it, random| {
        change_at(
            it.quote,
            random,
            |c| c.is_ascii_digit(),
            |c| if c == '9' { "0".into() } else { char::from(c as u8 + 1).into() },
        )
    }),
    ("digits swapped", swap_digits),
    ("sign flipped", |it, random| {
        let place = random.pick(&numbers(it.quote))?;
        let before = &it.quote[..place.start];
        Some(match before.strip_suffix('-') {
            Some(before) => format!("{before}{}", &it.quote[place.start..]),
            None => format!("{before}-{}", &it.quote[place.start..]),
        })
    }),
    ("unit changed", |it, random| {
        let place = random.pick(&numbers(it.quote))?;
        Some(format!("{} ms{}", &it.quote[..place.end], &it.quote[place.end..]))
    }),
    ("percent to points", |it, random| {
        let pairs = [("%", " percentage points"), (" percent", " points"), ("百分之", "")];
        replace_one(it.quote, &pairs, random).or_else(|| {
            let place = random.pick(&numbers(it.quote))?;
            Some(format!("{}%{}", &it.quote[..place.end], &it.quote[place.end..]))
        })
    }),
    ("separator moved", |it, random| {
        let place = random.pick(&numbers(it.quote))?;
        let at = place.start + 1;
        Some(format!("{},{}", &it.quote[..at], &it.quote[at..]))
    }),
    ("decimal shifted", |it, random| {
        let place = random.pick(&numbers(it.quote))?;
        Some(format!("{}.0{}", &it.quote[..=place.start], &it.quote[place.start + 1..]))
    }),
    ("look-alike letter", |it, random| {
        change_at(
            it.quote,
            random,
            |c| "aeopcxi".contains(c),
            |c| {
                let at = "aeopcxi".find(c).unwrap_or(0);
                "аеорсхі".chars().nth(at).unwrap_or('а').into()
            },
        )
    }),
    ("full-width digit", |it, random| {
        change_at(
            it.quote,
            random,
            |c| c.is_ascii_digit(),
            |c| char::from_u32(c as u32 + 0xfee0).map(String::from).unwrap_or_default(),
        )
    }),
    ("case", |it, random| {
        change_at(
            it.quote,
            random,
            |c| c.is_ascii_alphabetic(),
            |c| if c.is_lowercase() { c.to_uppercase().collect() } else { c.to_lowercase().collect() },
        )
    }),
    ("accent", |it, random| {
        change_at(
            it.quote,
            random,
            |c| "éüöäaeou".contains(c),
            |c| match c {
                'é' => "e".into(),
                'ü' | 'u' => "ù".into(),
                'ö' | 'o' => "ò".into(),
                'e' => "è".into(),
                _ => "à".into(),
            },
        )
    }),
    ("wrong chunk", |it, _| Some(it.quote.to_owned())),
    ("words reordered", |it, random| {
        let words: Vec<&str> = it.quote.split(' ').collect();
        if words.len() < 2 {
            return None;
        }
        let at = random.below(words.len() - 1);
        let mut moved = words.clone();
        moved.swap(at, at + 1);
        (moved != words && !moved[at].is_empty() && !moved[at + 1].is_empty()).then(|| moved.join(" "))
    }),
    ("word dropped", |it, random| {
        let mut words: Vec<&str> = it.quote.split(' ').collect();
        if words.len() < 3 {
            return None;
        }
        let dropped = words.remove(1 + random.below(words.len() - 2));
        (!dropped.is_empty()).then(|| words.join(" "))
    }),
    ("word inserted", |it, random| insert_word(it.quote, &["only", "always", "also"], "仅", random)),
    ("cut inside a word", |it, random| {
        cut_between(it.quote, random, |a, b| a.is_ascii_alphabetic() && b.is_ascii_alphabetic())
    }),
    ("cut inside a number", |it, random| {
        cut_between(it.quote, random, |a, b| {
            (a.is_ascii_digit() && (b.is_ascii_digit() || b == '%')) || (b.is_ascii_digit() && "-.$".contains(a))
        })
    }),
    ("stitched with an ellipsis", |it, random| {
        stitched(it, random, [" … ", " ... ", " [...] ", "…"][random_of(it, 4)])
    }),
    ("stitched", |it, random| stitched(it, random, " ")),
    ("dash to minus", |it, random| change_at(it.quote, random, |c| matches!(c, '-' | '–' | '—'), |_| "−".into())),
    ("compatibility form", |it, random| {
        let pairs = [
            ("fi", "ﬁ"),
            ("fl", "ﬂ"),
            ("ff", "ﬀ"),
            ("...", "…"),
            ("2", "²"),
            ("a", "ａ"),
            ("(", "（"),
            (",", "，"),
            (".", "．"),
            ("。", "．"),
        ];
        replace_one(it.quote, &pairs, random)
    }),
    ("invisible character", |it, random| {
        let places: Vec<usize> = it.quote.char_indices().map(|(at, _)| at).skip(1).collect();
        let at = random.pick(&places)?;
        let c = random.pick(&['\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{202e}', '\u{e0041}', '\u{34f}'])?;
        Some(format!("{}{c}{}", &it.quote[..at], &it.quote[at..]))
    }),
];

/// More ways, beyond the 25.
const MORE: [(&str, Mutator); 3] = [
    ("emphasis dropped", |it, random| {
        replace_one(it.quote, &[("**", ""), ("`", ""), ("*", ""), ("> ", ""), ("[", "")], random)
    }),
    ("trailing words", |it, random| {
        Some(format!("{} {}", it.quote, random.pick(&["in all cases", "for everyone", "by default"])?))
    }),
    ("look-alike punctuation", |it, random| {
        replace_one(
            it.quote,
            &[(".", "․"), (",", "‚"), (";", ";"), (":", "：\u{fe0e}"), ("'", "ʹ"), ("!", "ǃ"), ("/", "∕")],
            random,
        )
    }),
];

fn random_of(it: &Span<'_>, bound: usize) -> usize {
    it.quote.len() % bound
}

/// The runs of ASCII digits.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

fn replace_one(text: &str, pairs: &[(&str, &str)], random: &mut Random) -> Option<String> {
    let places: Vec<(usize, &str, &str)> =
        pairs.iter().flat_map(|(from, to)| text.match_indices(from).map(move |(at, _)| (at, *from, *to))).collect();
    let (at, from, to) = random.pick(&places)?;
    Some(format!("{}{to}{}", &text[..at], &text[at + from.len()..]))
}

fn change_at(text: &str, random: &mut Random, which: fn(char) -> bool, to: fn(char) -> String) -> Option<String> {
    let places: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| which(*c)).collect();
    let (at, c) = random.pick(&places)?;
    Some(format!("{}{}{}", &text[..at], to(c), &text[at + c.len_utf8()..]))
}

fn insert_word(text: &str, words: &[&str], han: &str, random: &mut Random) -> Option<String> {
    let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    if let Some(at) = random.pick(&spaces) {
        return Some(format!("{} {}{}", &text[..at], random.pick(words)?, &text[at..]));
    }
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let at = random.pick(&places)?;
    Some(format!("{}{han}{}", &text[..at], &text[at..]))
}

fn swap_digits(it: &Span<'_>, random: &mut Random) -> Option<String> {
    let bytes = it.quote.as_bytes();
    let differ =
        |at: &usize| bytes[*at].is_ascii_digit() && bytes[at + 1].is_ascii_digit() && bytes[*at] != bytes[at + 1];
    let places: Vec<usize> = (0..bytes.len().saturating_sub(1)).filter(differ).collect();
    let at = random.pick(&places)?;
    let (a, b) = (char::from(bytes[at]), char::from(bytes[at + 1]));
    Some(format!("{}{b}{a}{}", &it.quote[..at], &it.quote[at + 2..]))
}

/// The longer part of a text that is cut where two characters meet.
fn cut_between(text: &str, random: &mut Random, which: fn(char, char) -> bool) -> Option<String> {
    let pairs = text.char_indices().zip(text.chars().skip(1));
    let places: Vec<usize> = pairs.filter(|((_, a), b)| which(*a, *b)).map(|((at, a), _)| at + a.len_utf8()).collect();
    let (head, tail) = text.split_at(random.pick(&places)?);
    Some(if head.len() > tail.len() { head } else { tail }.to_owned())
}

/// The span's first half, and as much from elsewhere in the cited text or another.
fn stitched(it: &Span<'_>, random: &mut Random, with: &str) -> Option<String> {
    let halves: Vec<usize> =
        it.quote.match_indices(' ').map(|(at, _)| at).filter(|at| *at > it.quote.len() / 3).collect();
    let head = &it.quote[..random.pick(&halves)?];
    let source = if random.below(2) == 0 { it.other } else { it.cited.get(it.range.end..)? };
    let words: Vec<&str> = source.split(' ').filter(|it| !it.is_empty()).collect();
    let start = random.below(words.len().checked_sub(6)?);
    Some(format!("{head}{with}{}", words[start..start + 6].join(" ")))
}

/// Whether a text really is a span of another: an independent and simpler look, which only knows letters and digits.
fn is_really_a_span(quote: &str, text: &str) -> bool {
    let quote = quote.trim();
    let glued = |a: Option<char>, b: Option<char>| {
        let (Some(a), Some(b)) = (a, b) else { return false };
        let latin = |c: char| c.is_alphanumeric() && (c as u32) < 0x2e80;
        (latin(a) && latin(b)) || (b.is_ascii_digit() && "-.$".contains(a)) || (a.is_ascii_digit() && b == '%')
    };
    let mut from = 0;
    while let Some(at) = text[from..].find(quote).map(|at| from + at) {
        let (before, after) = (text[..at].chars().next_back(), text[at + quote.len()..].chars().next());
        if !glued(before, quote.chars().next()) && !glued(quote.chars().next_back(), after) {
            return true;
        }
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// Chunks of the Markdown files below a folder: runs of paragraphs of about a thousand bytes.
fn chunks(folder: &Path, most_files: usize) -> Vec<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    let step = (files.len() / most_files).max(1);
    let mut chunks = Vec::new();
    for text in files.iter().step_by(step).filter_map(|file| fs::read_to_string(file).ok()) {
        let mut chunk = String::new();
        for block in text.split_inclusive("\n\n") {
            chunk.push_str(block);
            if chunk.len() > 1000 {
                chunks.push(std::mem::take(&mut chunk));
            }
        }
        chunks.push(chunk);
    }
    chunks.retain(|chunk| chunk.len() > 100);
    chunks
}

/// A span of a chunk with both ends on borders, long enough to be a quote; mostly one with a digit, a negation or a modal
/// verb, where one is met.
fn span(chunk: &str, random: &mut Random) -> Option<Range<usize>> {
    let borders: Vec<usize> =
        (0..=chunk.len()).filter(|at| chunk.is_char_boundary(*at) && cut(chunk, *at).is_none()).collect();
    let wanted: &[&str] = match random.below(5) {
        0 => &["not ", "n't ", " no ", "不"],
        1 => &["may", "can ", "should", "must", "可以", "必须"],
        2 => &[""],
        _ => &["0", "1", "2", "3", "4", "5"],
    };
    (0..40).find_map(|attempt| {
        let start = random.pick(&borders)?;
        let least = start + 30 + random.below(120);
        let end = *borders.iter().find(|at| **at >= least)?;
        let text = chunk.get(start..end)?;
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
        let fits = trimmed.len() == text.len() && Length::of(text).enough();
        (fits && (attempt > 30 || wanted.iter().any(|it| text.contains(it)))).then_some(start..end)
    })
}

/// What the matrix came to.
#[derive(Debug, Default)]
struct Counts {
    /// How many spans were broken in each way.
    broken: Vec<(&'static str, usize)>,
    /// Mutations that gave a text which stands there all the same; they don't count.
    no_mutation: usize,
    /// Mutations that changed white space only.
    white_space: usize,
    /// Those that passed.
    wrong: Vec<String>,
    /// Spans written in a listed other way, all of which passed.
    normalised: usize,
}

/// Breaks `spans` spans in each way. A way that finds nothing to break in one span is given another, of `MORE_SPANS`
/// times as many.
fn matrix(chunks: &[String], spans: usize) -> Counts {
    const MORE_SPANS: usize = 10;
    let mut counts = Counts::default();
    let mut random = Random(7);
    let mut pool = Vec::new();
    while pool.len() < spans * MORE_SPANS {
        let index = random.below(chunks.len());
        let (cited, other) = (&chunks[index], &chunks[(index + 1 + random.below(chunks.len() - 1)) % chunks.len()]);
        let Some(range) = span(cited, &mut random) else { continue };
        pool.push(Span { quote: &cited[range.clone()], cited, other, range });
    }
    for it in &pool[..spans] {
        let place = it.cited[..it.range.start].chars().count();
        let found = find(it.quote, it.cited, Some(place), &[], &[]);
        assert_eq!(found.map(|it| it.range), Ok(it.range.clone()), "{:?}", it.quote);
        counts.normalised += normalisations(it, &mut random);
    }
    for (name, mutate) in MUTATORS.iter().chain(&MORE) {
        let mut broken = 0;
        for it in &pool {
            let Some(mutated) = mutate(it, &mut random) else { continue };
            let against = if *name == "wrong chunk" { it.other } else { it.cited };
            if is_really_a_span(&mutated, against) {
                counts.no_mutation += 1;
                continue;
            }
            broken += 1;
            // What differs in white space alone is allowed where that is.
            let white_space = is_really_a_span(&words_of(&mutated), &words_of(against));
            counts.white_space += usize::from(white_space);
            let all = if white_space { &[][..] } else { &Normalisation::ALL };
            for allowed in [&[][..], all] {
                if let Ok(found) = find(&mutated, against, None, &[], allowed) {
                    counts.wrong.push(format!("{name}: {mutated:?} passed as {:?}", &against[found.range]));
                }
            }
            if broken == spans {
                break;
            }
        }
        counts.broken.push((name, broken));
    }
    counts
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a span as each listed normalisation allows; gives how many ways there were.
fn normalisations(it: &Span<'_>, random: &mut Random) -> usize {
    use unicode_normalization::UnicodeNormalization;
    let prose_dash = |text: &str| text.contains(" - ").then(|| text.replace(" - ", " – "));
    let hyphen = |text: &str| {
        let at = text.match_indices('-').map(|(at, _)| at).find(|at| {
            text[..*at].ends_with(|c: char| c.is_ascii_alphabetic())
                && text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic())
        })?;
        Some(format!("{}\u{2010}{}", &text[..at], &text[at + 1..]))
    };
    let soft = |text: &str, random: &mut Random| {
        let chars = text.char_indices().zip(text.chars().skip(1));
        let inside = chars.filter(|((_, a), b)| a.is_ascii_alphabetic() && b.is_ascii_alphabetic());
        let places: Vec<usize> = inside.map(|((at, _), _)| at + 1).collect();
        let at = random.pick(&places)?;
        Some(format!("{}\u{ad}{}", &text[..at], &text[at..]))
    };
    let decomposed: String = it.quote.nfd().collect();
    let ways = [
        (Normalisation::Nfc, (decomposed != it.quote && it.quote.nfc().eq(it.quote.chars())).then_some(decomposed)),
        (Normalisation::WhiteSpace, it.quote.contains(' ').then(|| it.quote.replace(' ', "  "))),
        (Normalisation::WhiteSpace, it.quote.contains(' ').then(|| it.quote.replace(' ', "\u{a0}"))),
        (Normalisation::Quotes, it.quote.contains('\'').then(|| it.quote.replace('\'', "’"))),
        (Normalisation::Quotes, it.quote.contains('"').then(|| it.quote.replace('"', "“"))),
        (Normalisation::Dashes, prose_dash(it.quote)),
        (Normalisation::Dashes, hyphen(it.quote)),
        (Normalisation::SoftHyphen, soft(it.quote, random)),
    ];
    let mut tried = 0;
    for (normalisation, written) in ways.into_iter().filter_map(|(it, written)| Some((it, written?))) {
        let place = it.cited[..it.range.start].chars().count();
        let found = find(&written, it.cited, Some(place), &[], &[normalisation]);
        let found = found.unwrap_or_else(|fault| panic!("{written:?} for {:?}: {fault:?}", it.quote));
        assert_eq!((found.range, found.normalisations), (it.range.clone(), vec![normalisation]), "{written:?}");
        assert!(find(&written, it.cited, None, &[], &[]).is_err(), "{written:?}");
        tried += 1;
    }
    tried
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn a_hundred_spans_broken_in_25_ways_and_none_passes() {
    let counts = matrix(&chunks(&repository("fixtures/corpus"), 100), 100);
    assert_eq!(counts.wrong, Vec::<String>::new());
    assert!(counts.broken.iter().all(|(_, broken)| *broken >= 30), "{counts:?}");
    assert!(counts.normalised > 200, "{counts:?}");
}

#[test]
#[ignore = "long form: real documentation, where it is there"]
fn a_thousand_spans_of_real_text_broken_in_25_ways_and_none_passes() {
    let data = repository("target/data/C_docs");
    let mut all = chunks(&repository("fixtures/corpus"), 100);
    for set in
        ["large-cpp-docs", "medium-docs-cn", "medium-powershell", "small-rust-book", "small-vue-en", "small-vue-zh"]
    {
        all.extend(chunks(&data.join(set), 200));
    }
    if all.len() < 1000 {
        println!("skipped: {} has no documentation (the integration tests on real data unpack it)", data.display());
        return;
    }
    let counts = matrix(&all, 1000);
    println!("{counts:?}");
    assert_eq!(counts.wrong, Vec::<String>::new());
    assert!(counts.broken.iter().all(|(_, broken)| *broken == 1000), "{counts:?}");
    assert!(counts.normalised > 2_000, "{counts:?}");
}
