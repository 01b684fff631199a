//! Text to words, and to pairs of characters where a script has no blanks.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// tantivy's own tokenizer cuts at what is neither letter nor digit; this one cuts runs of Han and Kana characters
/// into overlapping pairs as well, which is how ragdb finds them.
#[derive(Clone, Default)]
pub struct Words {
    token: Token,
}

/// The tokens of one text.
pub struct Stream<'a> {
    text: &'a str,
    /// Where the rest begins.
    at: usize,
    /// Whether the character there is the end of a pair already.
    paired: bool,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        Stream { text, at: 0, paired: false, token: &mut self.token }
    }
}

impl Stream<'_> {
    fn next_range(&mut self) -> Option<std::ops::Range<usize>> {
        loop {
            let rest = &self.text[self.at..];
            let mut chars = rest.char_indices();
            let (skipped, first) = chars.find(|(_, c)| c.is_alphanumeric())?;
            let start = self.at + skipped;
            let paired = std::mem::take(&mut self.paired) && skipped == 0;
            if !has_no_blanks(first) {
                let end = chars.find(|(_, c)| !c.is_alphanumeric() || has_no_blanks(*c));
                self.at = end.map_or(self.text.len(), |(place, _)| start - skipped + place);
                return Some(start..self.at);
            }
            self.at = start + first.len_utf8();
            if let Some((_, second)) = chars.next().filter(|(_, c)| has_no_blanks(*c)) {
                self.paired = true;
                return Some(start..self.at + second.len_utf8());
            }
            if !paired {
                return Some(start..self.at);
            }
        }
    }
}

fn has_no_blanks(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(range) = self.next_range() else { return false };
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (range.start, range.end);
        self.token.text.clear();
        self.token.text.push_str(&self.text[range]);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_marks_and_runs_become_pairs() {
        let mut words = Words::default();
        let mut tokens = |text| {
            let mut found: Vec<String> = Vec::new();
            words.token_stream(text).process(&mut |token| found.push(token.text.clone()));
            found
        };
        assert_eq!(tokens("Set-up, part 2: día"), ["Set", "up", "part", "2", "día"]);
        assert_eq!(tokens("TiDB数据库的 表x"), ["TiDB", "数据", "据库", "库的", "表", "x"]);
        assert_eq!(tokens("数据,库 据"), ["数据", "库", "据"]);
        assert!(tokens(" ,-").is_empty());
    }
}
