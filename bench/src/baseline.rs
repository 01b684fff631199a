//! Counts of instructions against those that were counted before.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::Result;

/// Counts by case, and what they were made with.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The compiler and the processor: counts of others can't be compared.
    pub made_with: String,
    /// By how many percent a count may differ: run to run, and by what a change elsewhere does to inlining.
    pub tolerance: f64,
    /// The instructions of each case.
    pub counts: Vec<(String, u64)>,
}

impl Baseline {
    /// Reads what [`Baseline::text`] wrote.
    pub fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let made_with = value["made_with"].as_str().ok_or("made_with is missing")?.to_owned();
        let tolerance = value["tolerance_percent"].as_f64().ok_or("tolerance_percent is missing")?;
        let counts = value["instructions"].as_object().ok_or("instructions are missing")?;
        let count = |(name, count): (&String, &Value)| Some((name.clone(), count.as_u64()?));
        let counts = counts.iter().map(count).collect::<Option<_>>().ok_or("a count is no whole number")?;
        Ok(Self { made_with, tolerance, counts })
    }

    /// As the file has it.
    pub fn text(&self) -> Result<String> {
        let counts: Map<String, Value> = self.counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        let value = json!({"made_with": self.made_with, "tolerance_percent": self.tolerance, "instructions": counts});
        Ok(serde_json::to_string_pretty(&value)? + "\n")
    }

    /// What is to be said of `now`, a line a case, and whether it is as good as before. Counts made with something else
    /// are told and fail nothing.
    #[must_use]
    pub fn judge(&self, now: &Self) -> (String, bool) {
        let (mut told, mut good) = (String::new(), true);
        let comparable = self.made_with == now.made_with;
        if !comparable {
            let _ = writeln!(told, "made with {}, the baseline with {}: not compared", now.made_with, self.made_with);
        }
        for (name, count) in &now.counts {
            let Some((_, before)) = self.counts.iter().find(|(known, _)| known == name) else {
                let _ = writeln!(told, "{name}: {count}; the baseline does not have it, write it anew with --update");
                good = false;
                continue;
            };
            let percent = 100.0 * (*count as f64 - *before as f64) / *before as f64;
            let verdict = match percent {
                _ if !comparable => "",
                more if more > self.tolerance => {
                    good = false;
                    "  MORE than is tolerated"
                }
                less if less < -self.tolerance => "  less: write the baseline anew with --update",
                _ => "",
            };
            let _ = writeln!(told, "{name:<28} {count:>14}  baseline {before:>14}  {percent:>+6.2} %{verdict}");
        }
        (told, good || !comparable)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn baseline(made_with: &str, count: u64) -> Baseline {
        Baseline { made_with: made_with.into(), tolerance: 3.0, counts: vec![("first sync".into(), count)] }
    }

    #[rstest]
    #[case::same(1000, true, "+0.00 %\n")]
    #[case::tolerated(1030, true, "+3.00 %\n")]
    #[case::more(1031, false, "+3.10 %  MORE than is tolerated\n")]
    #[case::less(900, true, "-10.00 %  less: write the baseline anew with --update\n")]
    fn a_count_is_held_to_the_one_before(#[case] count: u64, #[case] good: bool, #[case] end: &str) {
        let (told, is_good) = baseline("rustc 1", 1000).judge(&baseline("rustc 1", count));
        assert_eq!(is_good, good);
        assert!(told.starts_with("first sync ") && told.ends_with(end), "{told}");
    }

    #[test]
    fn another_compiler_fails_nothing_and_a_new_case_does() {
        let (told, good) = baseline("rustc 1", 1000).judge(&baseline("rustc 2", 2000));
        assert!(good && told.starts_with("made with rustc 2, the baseline with rustc 1"), "{told}");
        let mut more = baseline("rustc 1", 1000);
        more.counts.push(("verify".into(), 5));
        assert!(!baseline("rustc 1", 1000).judge(&more).1);
    }

    #[test]
    fn what_is_written_is_read() {
        let one = baseline("rustc 1, x86_64", 12);
        assert_eq!(Baseline::parse(&one.text().unwrap()).unwrap(), one);
        assert!(Baseline::parse("{}").is_err());
    }
}
