//! What a question asks for, read from its own words: the request contract. Pure.
//!
//! The parts only decide what else to search for, and what an extract has to touch; a part that is cut wrongly costs a
//! call and never makes a claim true.

use std::collections::HashSet;
use std::ops::Range;

use crate::lexicon::{FloorRule, LexedQuery, Lexer};

/// More parts than this are not asked for one by one.
const MOST_PARTS: usize = 8;

/// More conjunctions than this in one sentence are not looked at.
const MOST_JOINTS: usize = 32;

/// The share of a part's words that evidence for it has, all words weighing the same.
const COVERED: f64 = 0.5;

/// One thing that a question asks for.
pub(super) struct Part {
    /// The words to search for.
    pub query: String,
    /// Those words as terms.
    pub lexed: LexedQuery,
    /// Units of `lexed` without which nothing is about this part: an identifier, a quoted phrase.
    anchors: Vec<usize>,
    rule: FloorRule,
}

impl Part {
    fn new(query: String, anchor: Option<&str>, lexer: &mut Lexer) -> Self {
        let lexed = lexer.query(&query);
        let is_anchor = |surface: &str| anchor.is_some_and(|anchor| anchor.contains(surface));
        let anchors = (0..lexed.units.len()).filter(|&unit| is_anchor(&lexed.units[unit].surface)).collect();
        let rule = FloorRule::new(&lexed, &vec![1.0; lexed.terms.len()], &vec![1; lexed.terms.len()], 0, COVERED);
        Self { query, lexed, anchors, rule }
    }

    /// Whether a text with these terms has enough of the part; `has` says whether it has a term.
    pub fn is_covered(&self, has: impl Fn(&str) -> bool) -> bool {
        let has = |term: usize| has(&self.lexed.terms[term].term);
        self.has_anchors(has) && self.rule.passes(has)
    }

    /// Whether a text names what the part names; `has` is asked with indexes of `lexed.terms`.
    pub fn has_anchors(&self, has: impl Fn(usize) -> bool) -> bool {
        self.anchors
            .iter()
            .map(|&unit| &self.lexed.units[unit])
            .all(|unit| unit.primary.iter().all(|&term| has(term)) || unit.wholes.iter().any(|&term| has(term)))
    }
}

/// The parts of a question; at least one.
pub(super) fn parts(query: &str, lexer: &mut Lexer) -> Vec<Part> {
    let whole = lexer.query(query);
    let known: HashSet<&str> = whole.terms.iter().map(|term| term.term.as_str()).collect();
    let mut reader = Reader { known, lexer, seen: HashSet::new(), parts: Vec::new() };
    for clause in clauses(query) {
        reader.clause(clause);
    }
    let mut parts = reader.parts;
    if parts.len() <= 1 {
        // One part is the question itself: its other words may still help.
        let anchor = parts.pop().and_then(|part| part.anchor);
        return vec![Part::new(query.trim().to_owned(), anchor.as_deref(), lexer)];
    }
    parts.truncate(MOST_PARTS);
    parts.into_iter().map(|draft| Part::new(draft.query, draft.anchor.as_deref(), lexer)).collect()
}

struct Draft {
    query: String,
    anchor: Option<String>,
}

struct Reader<'a> {
    /// The terms of the whole question, so that words that say nothing are not taken for content.
    known: HashSet<&'a str>,
    lexer: &'a mut Lexer,
    seen: HashSet<Vec<String>>,
    parts: Vec<Draft>,
}

impl Reader<'_> {
    /// How many things a text names that the question as a whole is about.
    fn content(&mut self, text: &str) -> usize {
        let lexed = self.lexer.query(text);
        let known = |&term: &usize| self.known.contains(lexed.terms[term].term.as_str());
        lexed.units.iter().filter(|unit| unit.primary.iter().any(known)).count()
    }

    fn clause(&mut self, clause: &str) {
        let anchors = anchors(clause);
        let distinct: HashSet<&str> = anchors.iter().map(|range| &clause[range.clone()]).collect();
        if compares(clause) || distinct.len() == 1 && !joins(clause) {
            return self.add(clause.to_owned(), anchors.first().map(|range| clause[range.clone()].to_owned()));
        }
        if distinct.len() > 1 {
            for (at, range) in anchors.iter().enumerate().take(MOST_PARTS) {
                let others: Vec<_> = anchors.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, r)| r).collect();
                self.add(without(clause, &others), Some(clause[range.clone()].to_owned()));
            }
            return;
        }
        for piece in self.conjuncts(clause) {
            let anchor = anchors.first().map(|range| clause[range.clone()].to_owned());
            let anchor = anchor.filter(|anchor| piece.contains(anchor.as_str()));
            self.add(piece.to_owned(), anchor);
        }
    }

    fn add(&mut self, query: String, anchor: Option<String>) {
        if self.parts.len() > MOST_PARTS || self.content(&query) == 0 {
            return;
        }
        let mut terms: Vec<String> = self.lexer.query(&query).terms.into_iter().map(|term| term.term).collect();
        terms.sort_unstable();
        if self.seen.insert(terms) {
            self.parts.push(Draft { query: query.trim().to_owned(), anchor });
        }
    }

    /// A clause cut at the conjunctions that join questions rather than the words of a name.
    fn conjuncts<'t>(&mut self, clause: &'t str) -> Vec<&'t str> {
        let (mut pieces, mut rest) = (Vec::new(), clause);
        let mut from = 0;
        for _ in 0..MOST_JOINTS {
            let Some((at, length, least)) = next_joint(rest, from) else { break };
            let (left, right) = (&rest[..at], &rest[at + length..]);
            let least = if begins_question(right) { 1 } else { least };
            if pieces.len() < MOST_PARTS && self.content(left) >= least && self.content(right) >= least {
                pieces.push(left);
                (rest, from) = (right, 0);
            } else {
                from = at + length;
            }
        }
        pieces.push(rest);
        pieces
    }
}

/// Words that join, and how much must stand on each side for a cut.
const JOINTS: [(&str, usize); 10] = [
    (" as well as ", 2),
    (" and ", 2),
    (" AND ", 2),
    (" And ", 2),
    ("以及", 1),
    ("并且", 1),
    ("还有", 1),
    ("另外", 1),
    ("、", 1),
    ("&", 2),
];

/// The first joint from a byte on: its place, its length, and what must stand on each side.
fn next_joint(text: &str, from: usize) -> Option<(usize, usize, usize)> {
    let found = JOINTS.iter().filter_map(|&(joint, least)| {
        let at = from + text[from..].find(joint)?;
        Some((at, joint.len(), least))
    });
    let commas = text[from..].char_indices().filter_map(|(at, c)| {
        let at = from + at;
        let is_cut = matches!(c, ',' | '，') && begins_question(&text[at + c.len_utf8()..]);
        is_cut.then_some((at, c.len_utf8(), 1))
    });
    found.chain(commas.take(1)).min()
}

const QUESTION_WORDS: [&str; 13] =
    ["who", "what", "when", "where", "why", "how", "which", "whether", "can", "does", "do", "is", "are"];
const QUESTION_CHARACTERS: [&str; 8] = ["谁", "什么", "何时", "哪", "为什么", "怎", "如何", "多少"];

fn begins_question(text: &str) -> bool {
    let text = text.trim_start();
    let word: String = text.chars().take(8).take_while(char::is_ascii_alphabetic).collect();
    QUESTION_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
        || QUESTION_CHARACTERS.iter().any(|known| text.starts_with(known))
}

/// Whether a clause puts things side by side: one question about all of them.
fn compares(clause: &str) -> bool {
    let folded = clause.to_lowercase();
    let words = ["difference", "differ", "between", "versus", "vs", "compare", "compared", "comparison"];
    folded.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
        || ["区别", "不同", "相比", "对比"].iter().any(|mark| clause.contains(mark))
}

fn joins(clause: &str) -> bool {
    next_joint(clause, 0).is_some()
}

/// The sentences and questions of a text, without those that end inside quotation marks.
fn clauses(query: &str) -> Vec<&str> {
    let (mut found, mut start, mut quoted) = (Vec::new(), 0, false);
    let mut characters = query.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => quoted = !quoted,
            '“' | '「' => quoted = true,
            '”' | '」' => quoted = false,
            _ => {}
        }
        let ends = match c {
            '?' | '？' | '!' | '！' | ';' | '；' | '。' | '\n' => true,
            '.' => characters.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends && !quoted {
            found.push(&query[start..at]);
            start = at + c.len_utf8();
        }
    }
    found.push(&query[start..]);
    found.retain(|clause| !clause.trim().is_empty());
    found
}

/// Quoted phrases and identifiers: what stands in evidence as it is written here, or not at all.
fn anchors(clause: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = clause[at..].chars().next() {
        let inside = at + c.len_utf8();
        let close = match c {
            '"' | '`' => Some(c),
            '“' => Some('”'),
            '「' => Some('」'),
            _ => None,
        };
        if let Some((close, end)) = close.and_then(|close| Some((close, inside + clause[inside..].find(close)?))) {
            if !clause[inside..end].trim().is_empty() {
                found.push(inside..end);
            }
            at = end + close.len_utf8();
            continue;
        }
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '-');
        if word(c) {
            let end = at + clause[at..].find(|c| !word(c)).unwrap_or(clause.len() - at);
            let token = clause[at..end].trim_matches([':', '.', '/', '-']);
            if is_identifier(token) {
                let start = at + clause[at..end].find(token).unwrap_or(0);
                found.push(start..start + token.len());
            }
            at = end;
        } else {
            at = inside;
        }
    }
    found
}

fn is_identifier(token: &str) -> bool {
    let letter_first = token.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = token.bytes().any(|byte| byte.is_ascii_alphabetic());
    (letter_first && has_digit) || (has_letter && (token.trim_matches('_').contains('_') || token.contains("::")))
}

/// A clause without the named places, and without what joined them to the rest.
fn without(clause: &str, places: &[&Range<usize>]) -> String {
    const JOINERS: [&str; 9] = ["and", "or", "以及", "和", "与", "及", "、", ",", "，"];
    let (mut kept, mut at) = (String::new(), 0);
    for place in places {
        // What was cut away behind the place before may reach into this one.
        let before = clause[at.min(place.start)..place.start].trim_end_matches(['"', '`', '“', '「', ' ']);
        let joined = JOINERS.iter().find_map(|joiner| before.strip_suffix(joiner));
        // Behind a joiner, what follows the place is joined to what is left of it.
        kept.push_str(joined.unwrap_or(before));
        kept.push(' ');
        at = at.max(place.end);
        let after = clause[at..].trim_start_matches(['"', '`', '”', '」', ' ']);
        let after = match JOINERS.iter().find_map(|joiner| after.strip_prefix(joiner)) {
            Some(rest) if joined.is_none() => rest,
            _ => after,
        };
        at = clause.len() - after.len();
    }
    kept.push_str(&clause[at..]);
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn read(query: &str) -> Vec<String> {
        parts(query, &mut Lexer::new()).into_iter().map(|part| part.query).collect()
    }

    #[rstest]
    #[case::one("How long is the refund window?", &["How long is the refund window?"])]
    #[case::two_questions(
        "How long is the refund window? Who pays import duty?",
        &["How long is the refund window", "Who pays import duty"]
    )]
    #[case::and_who("How long is the refund window and who pays duty?", &["How long is the refund window", "who pays duty"])]
    #[case::comma("How long is the refund window, who pays?", &["How long is the refund window", "who pays"])]
    #[case::a_name("terms and conditions", &["terms and conditions"])]
    #[case::a_comparison(
        "What is the difference between cargo build and cargo check?",
        &["What is the difference between cargo build and cargo check?"]
    )]
    #[case::identifiers("What do E42 and E43 mean?", &["What do E42 mean", "What do E43 mean"])]
    #[case::three("E17, E18 and E19", &["E17", "E18", "E19"])]
    #[case::an_identifier("What does max_chars do?", &["What does max_chars do?"])]
    #[case::phrases(r#"meaning of "store credit" and "grace period""#, &[r#"meaning of "store credit""#, r#"meaning of "grace period""#])]
    #[case::chinese("退款期限是多少天以及谁支付进口关税？", &["退款期限是多少天", "谁支付进口关税"])]
    #[case::chinese_identifiers("错误码E42和E43是什么意思", &["错误码E42 是什么意思", "错误码 E43是什么意思"])]
    #[case::a_list("退款期限、运费", &["退款期限", "运费"])]
    #[case::twice("refund window? Refund window!", &["refund window? Refund window!"])]
    #[case::nothing("", &[""])]
    fn a_question_is_read_as_its_parts(#[case] query: &str, #[case] expected: &[&str]) {
        assert_eq!(read(query), expected);
    }

    #[rstest]
    #[case("E42", "Error E42 means a declined card", true)]
    #[case("What does E42 mean?", "An error is a mean thing", false)]
    #[case("how long is the refund window", "The refund window is 45 days", true)]
    #[case("how long is the refund window", "A window opens", false)]
    fn a_part_is_covered_by_enough_of_it(#[case] query: &str, #[case] text: &str, #[case] covered: bool) {
        let mut lexer = Lexer::new();
        let part = &parts(query, &mut lexer)[0];
        let words: Vec<String> = lexer.query(text).terms.into_iter().map(|term| term.term).collect();
        assert_eq!(part.is_covered(|term| words.iter().any(|word| word == term)), covered);
    }

    proptest! {
        #[test]
        fn any_text_has_a_few_parts(query in "(and|以及|、|\"|`|“|E4[0-9]|max_chars|[a-z]{1,5}|[ ?.,;是什么]|\\PC){0,40}") {
            let parts = parts(&query, &mut Lexer::new());
            prop_assert!((1..=MOST_PARTS).contains(&parts.len()));
        }
    }
}
