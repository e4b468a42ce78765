//! The verdicts of claims, for `ipcperf explain` and docs/WORDS.md.

use ipcperf_kit::word::{Word, WordKind, word};

/// Each verdict, with what it means and what to do about it.
pub(crate) const WORDS: &[Word] = &[
    word(
        "REPRODUCED",
        WordKind::Claim,
        "the whole interval lies within a factor of 1.5 of the published value (for a ratio also by its logarithm) and on its side; or the stated fact holds",
        "quote it with this machine's name",
    ),
    word(
        "DIRECTION",
        WordKind::Claim,
        "the direction holds, but not the size",
        "quote only the direction; more rounds may show the size",
    ),
    word(
        "NOT REPRODUCED",
        WordKind::Claim,
        "the interval excludes everything that would count as reproduced, corrected for the number of tests",
        "look at its tests (-v): machine, kernel and method differ from the original's",
    ),
    word(
        "INCONCLUSIVE",
        WordKind::Claim,
        "the interval does not decide, or the machine was too noisy for a verdict",
        "use a larger --scale or more --rounds on a quieter machine",
    ),
    word(
        "UNTESTABLE",
        WordKind::Claim,
        "cannot be measured on this machine",
        "read the reason, which says what is missing",
    ),
    word(
        "MEASURED",
        WordKind::Claim,
        "there is no published value to compare with",
        "treat it as a value of this machine",
    ),
    word("HOLDS", WordKind::Claim, "a self-check holds in every round", "nothing needs to be done"),
    word(
        "FAILS",
        WordKind::Claim,
        "a self-check fails in some round, so the study may not measure what it claims to",
        "trust no claim of this study until you know why",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replication::Verdict;

    #[test]
    fn every_verdict_is_explained_and_no_other_word() {
        let names: Vec<&str> = WORDS.iter().map(|word| word.name).collect();
        let mut verdicts: Vec<&str> = Verdict::ALL.iter().map(|one| one.name()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        verdicts.sort_unstable();
        assert_eq!(sorted, verdicts);
    }
}
