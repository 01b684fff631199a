//! How long a prompt may be: in characters, and in the tokens of a counter. Pure.

use std::fmt;

/// Counts the tokens of a text as some model would.
pub trait TokenCounter: Send + Sync {
    /// How many tokens `text` is.
    fn count(&self, text: &str) -> usize;

    /// A stable name and version, kept with the runs that it limited.
    fn name(&self) -> &str;
}

impl fmt::Debug for dyn TokenCounter + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An estimate that needs no vocabulary and would rather count too many: a token for every three ASCII letters of a
/// word, for every digit, punctuation mark and line end, for every four blanks of a run, and for every byte but one of
/// another character. No model counts exactly so; give a budget in characters where it must be exact, or your
/// model's own [`TokenCounter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApproximateTokens;

impl TokenCounter for ApproximateTokens {
    fn count(&self, text: &str) -> usize {
        let (mut tokens, mut letters, mut blanks) = (0_usize, 0_usize, 0_usize);
        for character in text.chars() {
            if character.is_ascii_alphabetic() {
                tokens += usize::from(letters % 3 == 0);
                (letters, blanks) = (letters + 1, 0);
                continue;
            }
            letters = 0;
            if character == ' ' || character == '\t' {
                // The blank before a word is part of the word's token.
                tokens += usize::from(blanks % 4 == 1);
                blanks += 1;
                continue;
            }
            blanks = 0;
            tokens += if character.is_ascii() { 1 } else { character.len_utf8() - 1 };
        }
        tokens
    }

    fn name(&self) -> &'static str {
        "approximate/1"
    }
}

/// The limits of one prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    /// The most characters (Unicode scalar values).
    pub max_chars: usize,
    /// What counts tokens.
    pub counter: Option<&'a dyn TokenCounter>,
    /// The most tokens of that counter.
    pub max_tokens: Option<usize>,
}

impl Budget<'_> {
    /// Why a whole prompt does not fit; `None` where it does. `chars` is its length.
    pub(crate) fn excess(&self, prompt: &str, chars: usize) -> Option<String> {
        if chars > self.max_chars {
            return Some(format!("the prompt would have {chars} characters; {} are allowed", self.max_chars));
        }
        let (tokens, most) = self.tokens(prompt).zip(self.max_tokens)?;
        (tokens > most).then(|| format!("the prompt would have {tokens} tokens; {most} are allowed"))
    }

    /// The prompt's length in tokens, where something counts them.
    pub(crate) fn tokens(&self, prompt: &str) -> Option<usize> {
        self.counter.map(|counter| counter.count(prompt))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", 0)]
    #[case("a", 1)]
    #[case("key", 1)]
    #[case("keys", 2)]
    #[case("two words", 3)]
    #[case("90 days.", 5)]
    #[case("a  b\n", 4)]
    #[case("        x", 3)]
    #[case("退款", 4)]
    #[case("é", 1)]
    #[case("🙂", 3)]
    fn tokens_are_counted_without_a_vocabulary(#[case] text: &str, #[case] tokens: usize) {
        assert_eq!(ApproximateTokens.count(text), tokens);
    }

    #[rstest]
    #[case(4, None, None)]
    #[case(3, None, Some("the prompt would have 4 characters; 3 are allowed"))]
    #[case(4, Some(2), None)]
    #[case(4, Some(1), Some("the prompt would have 2 tokens; 1 are allowed"))]
    fn both_limits_hold(#[case] max_chars: usize, #[case] max_tokens: Option<usize>, #[case] excess: Option<&str>) {
        let budget = Budget { max_chars, counter: Some(&ApproximateTokens), max_tokens };
        assert_eq!(budget.excess("keys", 4).as_deref(), excess);
    }
}
