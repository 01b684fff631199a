//! Words that say nothing about what a query is about. They are left out of queries only: chunks keep them all.

const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "me",
    "more",
    "most",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "same",
    "she",
    "should",
    "so",
    "some",
    "such",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

/// Chinese question words and the particle `的`, longest first. They end a run of characters as a blank would, so
/// that they and the pairs across their borders ask for nothing.
const RUN_STOP_WORDS: &[&str] = &[
    "为什么",
    "怎么样",
    "怎麼樣",
    "是什么",
    "是什麼",
    "有哪些",
    "為什麼",
    "为何",
    "什么",
    "什麼",
    "何处",
    "何时",
    "何時",
    "何處",
    "可以",
    "哪个",
    "哪些",
    "哪個",
    "哪裏",
    "哪裡",
    "哪里",
    "多少",
    "如何",
    "怎么",
    "怎样",
    "怎樣",
    "怎麼",
    "是否",
    "是誰",
    "是谁",
    "為何",
    "甚麼",
    "能否",
    "請問",
    "请问",
    "吗",
    "呢",
    "哪",
    "嗎",
    "怎",
    "的",
    "誰",
    "谁",
];

/// Whether a folded word is a stop word of queries.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// How many characters the longest stop word at the start of `run` has; 0 if there is none.
pub(super) fn run_stop_word(run: &[char]) -> usize {
    let starts = |word: &&&str| {
        let mut rest = run.iter();
        word.chars().all(|c| rest.next() == Some(&c))
    };
    RUN_STOP_WORDS.iter().find(starts).map_or(0, |word| word.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_the_order_that_the_search_needs() {
        assert!(STOP_WORDS.is_sorted());
        assert!(RUN_STOP_WORDS.is_sorted_by_key(|word| std::cmp::Reverse(word.chars().count())));
    }

    #[test]
    fn the_longest_stop_word_of_a_run_wins() {
        let run: Vec<char> = "为什么不".chars().collect();
        assert_eq!(run_stop_word(&run), 3);
        assert_eq!(run_stop_word(&run[1..]), 2);
        assert_eq!(run_stop_word(&run[3..]), 0);
    }
}
