//! What the rounds of a run say in one sentence: one cell beside another, or the best beside the rest.

use super::figure::{Reading, lacking, own_by_round};
use super::judge::{Pair, between, judge, percent, times};
use crate::Specs;
use crate::chapters::is_comparable;
use crate::fittest::fitness;
use crate::text::{in_groups, join};
use ipcperf_core::result::{Adjustment, Cell, Difference, FigureComparison, ResultSet, Status};
use ipcperf_core::units::format_size;
use ipcperf_core::{Figure, Offered, OptionSet, Placement};
use ipcperf_stats::{Evidence, FEWEST_ROUNDS, MARGIN};

/// With more cells beside each other a table says more than a sentence.
const MOST_CELLS: usize = 6;

/// More sentences than this are no summary.
const MOST_SENTENCES: usize = 4;

type Frame<'a> = (String, bool, Option<&'a str>);

/// What cells must have in common to stand in one sentence: all but the mechanism and its knobs. What burns CPUs is not
/// set beside what sleeps, nor what was timed in batches beside single operations.
fn frame(cell: &Cell) -> Frame<'_> {
    let mut key = cell.key.clone();
    let burns = key.wait.burns_cpu();
    key.mechanism = String::new();
    let mode = cell.timing.as_ref().map(|timing| timing.mode.as_str());
    (key.words(&OptionSet::default()), burns, mode)
}

/// A cell as it is called beside others of its frame: its mechanism, and the knobs that were set.
pub(crate) fn name(cell: &Cell) -> String {
    let mut words = vec![cell.key.mechanism.clone()];
    let base = cell.key.mechanism.split('/').next().unwrap_or_default();
    words.extend(cell.knobs.iter().filter_map(|(name, reading)| {
        let name =
            name.strip_prefix(base).map_or(name.as_str(), |rest| rest.trim_start_matches('.'));
        Some(format!("{name}={}", reading.requested.as_ref()?))
    }));
    words.join(" ")
}

/// ` at 64 B on two CPUs`.
fn place(cell: &Cell) -> String {
    let size = match cell.key.size_bytes {
        0 => String::new(),
        size => format!(" at {}", format_size(size)),
    };
    let cpus = match cell.key.placement {
        place if place.is_one_cpu() => " on one CPU",
        Placement::Free => " on any CPUs",
        Placement::OneEnd { .. } => " with one end pinned",
        _ => " on two CPUs",
    };
    let load = cell.key.load.words();
    let load = if load.is_empty() { String::new() } else { format!(" ({})", load.join(", ")) };
    format!("{size}{cpus}{load}")
}

/// What B does beside A: `takes 1.28x [1.21, 1.36] as long as`.
pub(super) fn relation(one: &FigureComparison, figure: Figure) -> Option<String> {
    let (ratio, ci) = (one.ratio.value?, one.ratio.ci95?);
    let told = format!("{} {}", times(ratio), between(ci));
    Some(match figure {
        Figure::Time => format!("takes {told} as long as"),
        Figure::Throughput => format!("moves {told} as much as"),
        Figure::Requests => format!("answers {told} as many requests as"),
    })
}

/// The figures that speak for two cells, in the rounds that count for both.
pub(crate) fn pair<'a>(a: &'a Cell, b: &Cell) -> Pair<'a> {
    let (of_a, of_b) = (own_by_round(a), own_by_round(b));
    let common = || of_a.iter().filter_map(|(round, a)| Some((*a, *of_b.get(round)?)));
    let (a_rounds, b_rounds): (Vec<f64>, Vec<f64>) = common().unzip();
    let mode = |cell: &Cell| cell.timing.as_ref().map(|timing| timing.mode.clone());
    let timed = || (mode(a) != mode(b)).then(|| "timed in two ways".to_owned());
    let lacks = |cell: &Cell| lacking(cell).map(|why| format!("{}: {why}", name(cell)));
    Pair {
        reading: Reading::Own,
        key: &a.key,
        evidence: Evidence::paired(&a_rounds, &b_rounds),
        a_rounds,
        b_rounds,
        control_rounds: Vec::new(),
        margin: MARGIN,
        floor: None,
        doubt: lacks(a).or_else(|| lacks(b)).or_else(timed),
    }
}

/// The sentences of a run, or the one that says why there is none; nothing where there is nothing to compare, where a
/// table says more, or where the noise is too much.
#[must_use]
pub(crate) fn sentences(set: &ResultSet, specs: &Specs) -> Vec<String> {
    if set.invocation.plan.command != "run" || set.noise.grade == "F" {
        return Vec::new();
    }
    // Shares of what each mechanism does at most are no common load.
    let is_common = |cell: &&Cell| !matches!(cell.key.load.rate, Some(Offered::OfPeak(_)));
    // The table says why a cell has no figure, or no place.
    let has_figure = |cell: &&Cell| cell.figure().is_some_and(|figure| figure.value.is_some());
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok && cell.verified);
    let measured = measured.filter(is_common).filter(has_figure).filter(|one| is_comparable(one));
    let mut frames = in_groups(measured.map(|cell| (frame(cell), cell)));
    frames.retain(|(_, cells)| (2..=MOST_CELLS).contains(&cells.len()));
    let told: Vec<String> = frames.iter().filter_map(|(_, cells)| sentence(cells, specs)).collect();
    match told.len() {
        0 => unsaid(&frames.iter().map(|(_, cells)| cells.as_slice()).collect::<Vec<_>>()),
        1..=MOST_SENTENCES => return told,
        many => frames.iter().flat_map(|(_, cells)| cells).next().map(|cell| {
            let key = &cell.key;
            format!(
                "{many} groups of cells differ, too many for sentences; of one: ipcperf report FILE -p {} -s {} \
                 --place {}",
                key.pattern, key.size_bytes, key.placement
            )
        }),
    }
    .into_iter()
    .collect()
}

/// Why nothing is said of these groups of cells.
fn unsaid(groups: &[&[&Cell]]) -> Option<String> {
    let short = |cells: &&[&Cell]| {
        let had = cells.iter().map(|cell| own_by_round(cell).len()).min()?;
        Some((fewest(cells.len()), had)).filter(|(needed, had)| had < needed)
    };
    let (first, all) = (groups.first()?, groups.iter().map(short).collect::<Option<Vec<_>>>());
    Some(match all.and_then(|all| all.into_iter().min()) {
        Some((needed, had)) => format!(
            "Which is faster is not said: that takes {needed} rounds at the least, and {had} count (--rounds)."
        ),
        None if groups.len() == 1 && first.len() == 2 => format!(
            "{} and {} cannot be told apart{}: more --rounds may.",
            name(first[0]),
            name(first[1]),
            place(first[0])
        ),
        None => "None of these can certainly be told from the best: more --rounds may.".to_owned(),
    })
}

/// How many rounds it takes at the least to tell something for certain of so many cells: fewer orders of the rounds are
/// possible than would leave each of all pairs a chance of its share of 5 %.
fn fewest(cells: usize) -> usize {
    let pairs = cells * (cells - 1) / 2;
    (FEWEST_ROUNDS..64).find(|rounds| 40 * pairs <= 1 << rounds).unwrap_or(64)
}

fn sentence(cells: &[&Cell], specs: &Specs) -> Option<String> {
    match cells {
        [a, b] => two(a, b),
        several if (3..=MOST_CELLS).contains(&several.len()) => best(several, specs),
        _ => None,
    }
}

/// Those that are certainly slower than one of them, adjusted for all pairs.
fn slower_than<'a>(first: &Cell, cells: &[&'a Cell]) -> Vec<(&'a Cell, FigureComparison)> {
    let (mut pairs, mut arms) = (Vec::new(), Vec::new());
    for (at, one) in cells.iter().enumerate() {
        for other in &cells[at + 1..] {
            // The first is always A, so that its comparisons are told one way.
            let (a, b) = if other.id == first.id { (other, one) } else { (one, other) };
            pairs.push(pair(a, b));
            arms.push((*a, *b));
        }
    }
    let judged = arms.into_iter().zip(judge(pairs, Adjustment::Holm));
    judged
        .filter(|((a, _), one)| a.id == first.id && one.verdict == Difference::Slower)
        .map(|((_, b), one)| (b, one))
        .collect()
}

/// The second beside the first, or the first beside the second where that is the worse one.
fn two(a: &Cell, b: &Cell) -> Option<String> {
    let figure = a.key.pattern.facts().figure;
    let told = |a: &Cell, b: &Cell| {
        let one = judge(vec![pair(a, b)], Adjustment::Holm).pop()?;
        let relation = relation(&one, figure)?;
        let words = format!("{} {relation} {}{}, within rounds.", name(b), name(a), place(a));
        Some((one.verdict, words))
    };
    let (verdict, words) = told(a, b)?;
    match verdict {
        // Told so that a time is longer and a rate is larger than 1.
        Difference::Slower if figure == Figure::Time => Some(words),
        Difference::Faster if figure != Figure::Time => Some(words),
        Difference::Slower | Difference::Faster => told(b, a).map(|(_, words)| words),
        Difference::None => Some(format!(
            "{} and {} do not differ by more than {}{}.",
            name(a),
            name(b),
            percent(MARGIN),
            place(a)
        )),
        Difference::CannotTell => None,
    }
}

/// The best beside each of the rest, adjusted for all pairs it was chosen from; of those that cannot be told from the best
/// figure, the fittest.
fn best(cells: &[&Cell], specs: &Specs) -> Option<String> {
    let figure = cells.first()?.key.pattern.facts().figure;
    let centre = |cell: &Cell| cell.figure().and_then(|one| one.value);
    let better =
        |one: f64, other: f64| if figure == Figure::Time { one < other } else { one > other };
    let mut fastest = *cells.first()?;
    for cell in cells {
        if better(centre(cell)?, centre(fastest)?) {
            fastest = cell;
        }
    }
    let slower = slower_than(fastest, cells);
    let is_tied = |cell: &&&Cell| !slower.iter().any(|(known, _)| known.id == cell.id);
    let fit = |cell: &&&Cell| (fitness(specs(&cell.key.mechanism)), cell.id != fastest.id);
    let first = cells.iter().filter(is_tied).min_by_key(fit).copied()?;
    let worse = slower_than(first, cells);
    let ((second, how), rest) = worse.split_first()?;
    let mut parts = vec![format!(
        "{} {} {}{}, within rounds",
        name(second),
        relation(how, figure)?,
        name(first),
        place(first)
    )];
    for (cell, one) in rest {
        let (ratio, ci) = (one.ratio.value?, one.ratio.ci95?);
        parts.push(format!("{} {} {}", name(cell), times(ratio), between(ci)));
    }
    let is_open =
        |cell: &&&Cell| cell.id != first.id && !worse.iter().any(|(known, _)| known.id == cell.id);
    let open: Vec<String> = cells.iter().filter(is_open).map(|cell| name(cell)).collect();
    let rest = match open.as_slice() {
        [] => String::new(),
        names => format!("; {} cannot be told from {}", join(names), name(first)),
    };
    Some(format!("{}{rest}.", parts.join(", ")))
}
