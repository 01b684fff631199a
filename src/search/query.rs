//! The query language: words, `+must`, `-not`, `"a phrase"`, filters. Pure. What is not understood is text.

use crate::lexicon::{LexedQuery, Lexer, QueryTerm, QueryUnit};

/// What a filter looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Path,
    Heading,
    Source,
    Lang,
}

/// `path:guide`, or `-path:guide` where it is `negated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub field: Field,
    pub value: String,
    pub negated: bool,
}

/// A query as it was typed, in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// The bare words, as one text.
    pub text: String,
    /// Words that a hit must have.
    pub required: Vec<String>,
    /// Words that a hit must not have.
    pub excluded: Vec<String>,
    /// Phrases that a hit must have.
    pub phrases: Vec<String>,
    /// Phrases that a hit must not have.
    pub excluded_phrases: Vec<String>,
    pub filters: Vec<Filter>,
}

/// Takes a query apart. A query in which only exclusions and filters would be left has nothing to rank: its
/// exclusions are text then.
pub(super) fn parse(query: &str) -> Typed {
    let mut typed = Typed::default();
    let mut words: Vec<&str> = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (token, after) = next_token(rest);
        rest = after.trim_start();
        let (sign, plain) = match token.chars().next() {
            Some(sign @ ('+' | '-')) if !matches!(token[1..].chars().next(), None | Some('+' | '-')) => {
                (Some(sign), &token[1..])
            }
            _ => (None, token),
        };
        let negated = sign == Some('-');
        if let Some((field, value)) = filter(plain) {
            typed.filters.push(Filter { field, value: value.to_owned(), negated });
        } else if let Some(phrase) = quoted(plain) {
            let phrases = if negated { &mut typed.excluded_phrases } else { &mut typed.phrases };
            phrases.push(phrase.to_owned());
        } else {
            match sign {
                Some('+') => typed.required.push(plain.to_owned()),
                Some(_) => typed.excluded.push(plain.to_owned()),
                None => words.push(token),
            }
        }
    }
    if words.is_empty() && typed.required.is_empty() && typed.phrases.is_empty() {
        let exclusions = typed.excluded.drain(..).chain(typed.excluded_phrases.drain(..));
        typed.text = exclusions.collect::<Vec<_>>().join(" ");
    } else {
        typed.text = words.join(" ");
    }
    typed
}

/// Takes a query as text, whatever stands in it.
pub(super) fn literal(query: &str) -> Typed {
    Typed { text: query.to_owned(), ..Typed::default() }
}

/// The first token and what follows it. White space inside double quotes belongs to the token; a quote that is
/// never closed is an ordinary character.
fn next_token(text: &str) -> (&str, &str) {
    let mut quotes = text.match_indices('"').map(|(at, _)| at).peekable();
    let mut inside_until = None;
    for (at, character) in text.char_indices() {
        match inside_until {
            Some(end) if at < end => continue,
            Some(end) if at == end => {
                inside_until = None;
                continue;
            }
            _ => {}
        }
        if character == '"' {
            while quotes.next_if(|&quote| quote <= at).is_some() {}
            if let Some(end) = quotes.next() {
                inside_until = Some(end);
            }
        } else if character.is_whitespace() {
            return (&text[..at], &text[at..]);
        }
    }
    (text, "")
}

fn quoted(token: &str) -> Option<&str> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.trim().is_empty() && !inner.contains('"')).then_some(inner)
}

fn filter(token: &str) -> Option<(Field, &str)> {
    let (name, value) = token.split_once(':')?;
    let field = match name {
        "path" => Field::Path,
        "heading" => Field::Heading,
        "source" => Field::Source,
        "lang" => Field::Lang,
        _ => return None,
    };
    let value = quoted(value).unwrap_or(value);
    let is_pattern = field != Field::Path || super::filter::is_path_pattern(value);
    (!value.is_empty() && !value.contains('"') && is_pattern).then_some((field, value))
}

/// A query as the index takes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexed {
    pub asked: LexedQuery,
    /// Indexes of units that a hit must have.
    pub required: Vec<usize>,
    /// A chunk with all terms of one of these groups is out.
    pub excluded: Vec<Vec<String>>,
}

/// Turns the parts of a query into terms. With `all_terms`, every bare word is required too.
pub(super) fn lex(typed: &Typed, all_terms: bool, lexer: &mut Lexer) -> Lexed {
    let mut lexed = Lexed::default();
    let bare = lexer.query(&typed.text);
    lexed.add(bare, all_terms);
    for text in typed.required.iter().chain(&typed.phrases) {
        let query = lexer.query(text);
        lexed.add(query, true);
    }
    for text in &typed.excluded {
        let LexedQuery { terms, units } = lexer.query(text);
        let name = |&index: &usize| terms[index].term.clone();
        let all: Vec<String> = units.iter().flat_map(|unit| &unit.primary).map(name).collect();
        if !all.is_empty() {
            lexed.excluded.push(all);
        }
        if let [unit] = units.as_slice() {
            lexed.excluded.extend(unit.wholes.iter().map(|whole| vec![name(whole)]));
        }
    }
    lexed
}

impl Lexed {
    /// Joins another part's terms to these: a term that is there already keeps its place and weight.
    fn add(&mut self, query: LexedQuery, required: bool) {
        let known = &mut self.asked.terms;
        let place = |term: QueryTerm| {
            known.iter().position(|known| known.term == term.term).unwrap_or_else(|| {
                known.push(term);
                known.len() - 1
            })
        };
        let places: Vec<usize> = query.terms.into_iter().map(place).collect();
        let renumber = |list: Vec<usize>| list.into_iter().map(|index| places[index]).collect::<Vec<_>>();
        for unit in query.units {
            let unit = QueryUnit {
                primary: renumber(unit.primary),
                wholes: renumber(unit.wholes),
                partial: renumber(unit.partial),
                ..unit
            };
            let units = &mut self.asked.units;
            let index = units.iter().position(|known| known.primary == unit.primary).unwrap_or_else(|| {
                units.push(unit);
                units.len() - 1
            });
            if required && !self.required.contains(&index) {
                self.required.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn filter_of(field: Field, value: &str, negated: bool) -> Filter {
        Filter { field, value: value.into(), negated }
    }

    #[rstest]
    #[case("how to  install", Typed { text: "how to install".into(), ..Typed::default() })]
    #[case("+must -not maybe", Typed {
        text: "maybe".into(), required: vec!["must".into()], excluded: vec!["not".into()], ..Typed::default()
    })]
    #[case("\"refund policy\" days", Typed {
        text: "days".into(), phrases: vec!["refund policy".into()], ..Typed::default()
    })]
    #[case("-\"old  policy\" days", Typed {
        text: "days".into(), excluded_phrases: vec!["old  policy".into()], ..Typed::default()
    })]
    #[case("refund path:guide/*.md -lang:zh heading:\"Error codes\"", Typed {
        text: "refund".into(),
        filters: vec![
            filter_of(Field::Path, "guide/*.md", false),
            filter_of(Field::Lang, "zh", true),
            filter_of(Field::Heading, "Error codes", false),
        ],
        ..Typed::default()
    })]
    #[case::a_quote_without_end("say \"hello there", Typed { text: "say \"hello there".into(), ..Typed::default() })]
    #[case::an_empty_phrase("\"\" x", Typed { text: "\"\" x".into(), ..Typed::default() })]
    #[case::an_unknown_field("http://x foo:bar path:", Typed { text: "http://x foo:bar path:".into(), ..Typed::default() })]
    #[case::a_broken_pattern("path:[ vector", Typed { text: "path:[ vector".into(), ..Typed::default() })]
    #[case::a_long_option("--max-delete 5", Typed { text: "--max-delete 5".into(), ..Typed::default() })]
    #[case::a_word_with_signs("C++ a-b - + 1+1", Typed { text: "C++ a-b - + 1+1".into(), ..Typed::default() })]
    #[case::only_exclusions("-x -\"y z\"", Typed { text: "x y z".into(), ..Typed::default() })]
    #[case::a_required_name("+C++ x", Typed { text: "x".into(), required: vec!["C++".into()], ..Typed::default() })]
    #[case::wide_characters("+退款 政策", Typed { text: "政策".into(), required: vec!["退款".into()], ..Typed::default() })]
    #[case::nothing("", Typed::default())]
    fn a_query_is_taken_apart(#[case] query: &str, #[case] expected: Typed) {
        assert_eq!(parse(query), expected);
    }

    #[test]
    fn requiring_a_bare_word_does_not_count_it_twice() {
        let lexed = lex(&parse("refund +refund"), false, &mut Lexer::new());
        assert_eq!(lexed.asked.units.len(), 1);
        assert_eq!(lexed.required, [0]);
    }
}
