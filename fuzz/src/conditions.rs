//! Conditions of gates, and the words of loads and placements.

use crate::edits;
use ipcperf_core::result::ResultSet;
use ipcperf_core::{Load, LoadKey, Offered, OptionSet, Placement};
use ipcperf_judge::{Limit, Outcome, Slower};
use std::sync::LazyLock;

/// Results of one cell each.
static SINGLE: LazyLock<Vec<ResultSet>> = LazyLock::new(|| {
    let read = |text: &&str| ipcperf_judge::load(text).expect("a document of ours");
    let sets: Vec<ResultSet> = edits::RESULTS.iter().take(2).map(read).collect();
    let single = |set: &ResultSet| {
        let alone = |cell| ResultSet { cells: vec![cell], ..set.clone() };
        set.cells.iter().cloned().map(alone).collect::<Vec<_>>()
    };
    sets.iter().flat_map(single).collect()
});

/// A text under every language of one line.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(limit) = text.parse::<Limit>() {
        gate(&text, &limit);
    }
    let _ = text.parse::<Slower>();
    let _ = OptionSet::default().set(&text);
    if let Ok(rate) = text.parse::<Offered>() {
        // Shares are shown in four digits behind the point of a percent.
        let again = rate.to_string().parse::<Offered>();
        assert!(again.is_ok_and(|again| again.to_string() == rate.to_string()), "{rate}");
    }
    if let Ok(placement) = text.parse::<Placement>() {
        assert_eq!(placement.to_string().parse(), Ok(placement), "{text}");
    }
    for key in LoadKey::ALL {
        let mut load = Load::default();
        if load.set(*key, &text).is_ok() {
            comes_back(*key, &load);
        }
    }
}

/// What is wanted is never both certainly too much and certainly too little, and blanks mean nothing.
fn gate(text: &str, limit: &Limit) {
    let (from, to) = if text.contains('>') { ('>', '<') } else { ('<', '>') };
    let opposite = text.replacen(from, &to.to_string(), 1);
    let opposite: Limit = opposite.parse().expect("as good a condition");
    let spaced: Limit = format!("  {text} ").parse().expect("blanks mean nothing");
    for set in SINGLE.iter() {
        let outcome = limit.check(set);
        let is_failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        assert!(!is_failed(&outcome) || !is_failed(&opposite.check(set)), "{text}: {outcome:?}");
        assert_eq!(spaced.check(set), outcome, "{text}");
    }
}

/// A value of a load is shown as it can be asked for.
fn comes_back(key: LoadKey, load: &Load) {
    let Some(value) = load.value(key) else { return };
    let mut again = Load::default();
    let read = again.set(key, &value);
    assert!(read.is_ok(), "--{key} {value}: {read:?}");
    assert_eq!(again.value(key).as_ref(), Some(&value), "--{key}");
}
