//! Whether a sentence says a claim in so many words: the claim's words are one unbroken part of the sentence, from one
//! border of a clause to another. Words that are left out, put in or taken from another clause can turn any meaning; so
//! nothing but articles, forms of `be` and the like may differ.

use std::collections::{HashMap, HashSet};

use super::polarity::Class;
use super::reading::{Reading, Unit};
use super::token::{Kind, Token};
use super::values::Value;

/// A piece of a text as it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Atom {
    /// Compared, whatever it is: a word, a value, an identifier, a cue, or a mark that says something.
    Says(String),
    /// A border of clauses: weak ones, such as a comma, do not end what a denial bears on.
    Border { strong: bool },
}

/// Marks that say nothing: of quotation, emphasis, code, links and tables.
const SILENT: &str = "\"'`*_[]{}“”‘’「」『』《》〈〉«»‹›|#•·>";
/// Marks between clauses.
const WEAK: &str = ",、\u{ff0c}/";
const STRONG: &str = ";:.!?…—–()。\u{ff1b}\u{ff1a}\u{ff01}\u{ff1f}\u{ff08}\u{ff09}";
/// Words between clauses that stand on their own.
const CONTRASTS: [&str; 5] = ["but", "while", "whereas", "但", "而"];
const JOINS: [&str; 4] = ["and", "和", "并", "且"];
/// Words that only point at what follows: `Note that`.
const OPENERS: [&str; 1] = ["note"];
/// Forms that put a sentence into the past.
const PAST: [&str; 5] = ["was", "were", "had", "did", "been"];
/// `yes` and `no` of a field: empty in a sentence, and all that the field says.
const ANSWERS: [&str; 6] = ["是", "否", "yes", "no", "true", "false"];

/// The sentence's atoms, each with whether it is a cue that denies.
fn atoms(text: &Reading) -> Vec<(Atom, bool)> {
    let mut atoms = Vec::with_capacity(text.tokens.len());
    let mut units = text.units.iter().peekable();
    // Where each value or identifier that begins at a token ends; what stands between backticks is read as well.
    let values = text.values.iter().map(|value| &value.tokens);
    let named = text.identifiers.iter().map(|it| &it.tokens).filter(|it| !text.tokens[it.start].is('`'));
    let mut wholes: HashMap<usize, usize> = HashMap::new();
    for tokens in values.chain(named) {
        let end = wholes.entry(tokens.start).or_default();
        *end = tokens.end.max(*end);
    }
    let decimals: HashMap<usize, String> = text.values.iter().filter_map(|value| bare_decimal(text, value)).collect();
    let key = |unit: &Unit| decimals.get(&unit.at).filter(|_| unit.key.starts_with('=')).unwrap_or(&unit.key).clone();
    let denied: HashSet<usize> = text.cues.iter().filter(|cue| denies(cue.class)).map(|cue| cue.at).collect();
    let mut covered = 0;
    for (at, token) in text.tokens.iter().enumerate() {
        let mut taken = false;
        while let Some(unit) = units.next_if(|unit| unit.at <= at) {
            atoms.push((Atom::Says(key(unit)), denied.contains(&unit.at)));
            taken = true;
        }
        covered = covered.max(wholes.get(&at).copied().unwrap_or_default());
        if !taken && at >= covered {
            atoms.extend(loose(text, at, token).map(|atom| (atom, false)));
        }
    }
    atoms.extend(units.map(|unit| (Atom::Says(key(unit)), false)));
    atoms
}

/// A decimal without a unit, by its first token, as a key of what is written: 2.10 may be a version, and is not 2.1 then.
fn bare_decimal(text: &Reading, value: &Value) -> Option<(usize, String)> {
    let tokens = text.tokens[value.tokens.clone()].iter();
    let written: String = tokens.map(|token| token.folded.as_str()).collect();
    let plain = written.contains('.') && written.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (plain && value.unit().is_none()).then(|| (value.tokens.start, format!("={written}")))
}

/// What a token that no unit has read says.
fn loose(text: &Reading, at: usize, token: &Token) -> Option<Atom> {
    let (before, after) = (at.checked_sub(1).and_then(|at| text.tokens.get(at)), text.tokens.get(at + 1));
    let c = token.folded.chars().next()?;
    if token.kind != Kind::Mark {
        let word = token.folded.as_str();
        let ends = after.is_none_or(|next| next.kind == Kind::Mark);
        let alone = before.is_none_or(|last| last.kind == Kind::Mark);
        return match word {
            _ if PAST.contains(&word) => Some(Atom::Says("~past".into())),
            _ if ANSWERS.contains(&word) && (ends || alone) => Some(Atom::Says(format!("~{word}"))),
            _ => None,
        };
    }
    let touches = |other: Option<&Token>, spaced: bool| !spaced && other.is_some_and(|it| it.kind != Kind::Mark);
    let (left, right) = (touches(before, token.spaced), after.is_some_and(|next| touches(Some(next), next.spaced)));
    match c {
        // Between words a hyphen joins; at the end of a switch or before a number it is part of it.
        '-' if left && right || token.leads => None,
        '-' | '+' | '<' | '>' if left || right => Some(Atom::Says(format!("~{c}"))),
        // A cell of nothing else; else a dash between clauses.
        '-' if after.is_some_and(|next| next.kind != Kind::Mark) => Some(Atom::Border { strong: true }),
        '!' if after.is_some_and(|next| next.is('=') && !next.spaced) => Some(Atom::Says("~!".into())),
        '–' if right && !left => Some(Atom::Says("~-".into())),
        _ if WEAK.contains(c) => Some(Atom::Border { strong: false }),
        _ if STRONG.contains(c) => Some(Atom::Border { strong: true }),
        _ if SILENT.contains(c) => None,
        _ => Some(Atom::Says(format!("~{}", token.cased))),
    }
}

/// Whether the sentence contains the claim; if not, why.
pub(super) fn contains(claim: &Reading, sentence: &Reading, headings: &Reading) -> Result<(), &'static str> {
    let said = atoms(sentence);
    let there: HashSet<&Atom> = said.iter().map(|(atom, _)| atom).collect();
    let above: HashSet<&str> = headings.units.iter().map(|unit| unit.key.as_str()).collect();
    let heading_denies = headings.cues.iter().any(|cue| denies(cue.class));
    let lends = |atom: &Atom| match atom {
        Atom::Says(key) => !heading_denies && !key.starts_with(['=', '!', '~']) && above.contains(key.as_str()),
        Atom::Border { .. } => false,
    };
    let wanted: Vec<Atom> = atoms(claim)
        .into_iter()
        .map(|(atom, _)| atom)
        .filter(|atom| matches!(atom, Atom::Says(_)) && (there.contains(atom) || !lends(atom)))
        .collect();
    if wanted.is_empty() {
        return Err("the cited sentence has no word of the claim");
    }
    let mut why = "the cited text does not say it in one piece and in these words";
    for start in 0..said.len() {
        if said[start].0 != wanted[0] {
            continue;
        }
        let Some(end) = runs_to(&said, start, &wanted) else { continue };
        match borders(&said, start, end) {
            Ok(()) => return Ok(()),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// Where the wanted atoms end if they stand one after another from `start` on, with nothing but borders between.
fn runs_to(said: &[(Atom, bool)], start: usize, wanted: &[Atom]) -> Option<usize> {
    let mut wanted = wanted.iter();
    let mut next = wanted.next();
    for (at, (atom, _)) in said.iter().enumerate().skip(start) {
        match atom {
            Atom::Border { .. } => {}
            says if Some(says) == next => next = wanted.next(),
            Atom::Says(_) => return None,
        }
        if next.is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// Whether what stands before and behind a part of the sentence leaves it what it says.
fn borders(said: &[(Atom, bool)], start: usize, end: usize) -> Result<(), &'static str> {
    let is = |atom: Option<&(Atom, bool)>, words: &[&str]| match atom {
        Some((Atom::Says(word), _)) => words.contains(&word.as_str()),
        _ => false,
    };
    let (before, after) = (start.checked_sub(1).and_then(|at| said.get(at)), said.get(end));
    let border = |atom: Option<&(Atom, bool)>| matches!(atom, None | Some((Atom::Border { .. }, _)));
    if !border(before) && ![&JOINS[..], &CONTRASTS, &OPENERS].iter().any(|words| is(before, words)) {
        return Err("the cited text says more before these words, in the same clause");
    }
    if !border(after) && ![&JOINS[..], &CONTRASTS].iter().any(|words| is(after, words)) {
        return Err("the cited text says more behind these words, in the same clause");
    }
    let strong = |atom: &(Atom, bool)| matches!(atom.0, Atom::Border { strong: true }) || is(Some(atom), &CONTRASTS);
    let from = said[..start].iter().rposition(strong).map_or(0, |at| at + 1);
    let to = said[end..].iter().position(strong).map_or(said.len(), |at| end + at);
    let denied = said[from..start].iter().chain(&said[end..to]).any(|(_, denies)| *denies);
    if denied { Err("the cited text denies or demands something in the same sentence") } else { Ok(()) }
}

/// Whether a cue may turn what stands beside it.
pub(super) fn denies(class: Class) -> bool {
    matches!(class, Class::Negation | Class::Denial | Class::Prohibition | Class::Exemption)
}

/// Whether a cue of a sentence that introduces a list changes what its items say.
pub(super) fn takes_back(class: Class) -> bool {
    !matches!(class, Class::Voice | Class::Quantifier | Class::Neutral | Class::Opposite(..))
}

/// Words by which a text says of what follows that it is not so, or not so any more.
const FALSE: [&str; 14] = [
    "false",
    "wrong",
    "incorrect",
    "myth",
    "untrue",
    "deprecated",
    "obsolete",
    "removed",
    "former",
    "错误",
    "误区",
    "废弃",
    "过时",
    "谣言",
];

/// Whether a text says so.
pub(super) fn is_false(text: &Reading) -> bool {
    let words = text.tokens.iter().map(|token| token.folded.as_str());
    let joined: String = words.clone().filter(|word| !word.is_ascii()).collect();
    words.clone().any(|word| FALSE.contains(&word.trim_end_matches('s')) || FALSE.contains(&word))
        || FALSE.iter().any(|word| !word.is_ascii() && joined.contains(word))
}
