//! What a run or a comparison says in one sentence, which people copy.

use crate::Specs;
use crate::advice::has_places;
use crate::chapters::is_comparable;
use crate::figures;
use crate::fittest::fitness;
use crate::judge::{MetricKind, Ranking, Reading, lost_its_rounds, name, percent};
use crate::text::{in_groups, join};
use ipcperf_core::result::{
    Cell, CellComparison, ClockFacts, Comparison, Difference, ResultSet, Status,
};
use ipcperf_core::units::format_size;
use ipcperf_core::{Offered, OptionSet, Placement};
use ipcperf_stats::{FEWEST_ROUNDS, Factor, Interval, MARGIN};

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

/// ` (64 B, two CPUs)`.
fn place(cell: &Cell) -> String {
    let size = Some(cell.key.size_bytes).filter(|size| *size > 0).map(format_size);
    let cpus = match cell.key.placement {
        place if place.is_one_cpu() => "one CPU",
        Placement::Free => "any CPUs",
        Placement::OneEnd { .. } => "one end pinned",
        _ => "two CPUs",
    };
    let words = size.into_iter().chain([cpus.to_owned()]).chain(cell.key.load.words());
    format!(" ({})", words.collect::<Vec<_>>().join(", "))
}

/// The sentences of a run: of each group of cells that can be compared the best beside the nearest that is certainly slower,
/// or why there is none. Nothing where there is nothing to compare.
#[must_use]
pub(crate) fn sentences(set: &ResultSet, specs: &Specs) -> Vec<String> {
    if set.invocation.plan.command != "run" {
        return Vec::new();
    }
    // Shares of what each mechanism does at most are no common load.
    let is_common = |cell: &&Cell| !matches!(cell.key.load.rate, Some(Offered::OfPeak(_)));
    // The table says why a cell has no figure, or no place.
    let has_figure = |cell: &&Cell| cell.figure().is_some_and(|figure| figure.value.is_some());
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok && cell.verified);
    let measured = measured.filter(is_common).filter(has_figure).filter(|one| is_comparable(one));
    let measured = measured.filter(|cell| !lost_its_rounds(cell));
    let mut frames = in_groups(measured.map(|cell| (frame(cell), cell)));
    frames.retain(|(_, cells)| cells.len() > 1);
    match frames.as_slice() {
        [] => Vec::new(),
        [..] if !has_places(set) => {
            vec![format!("Too noisy to compare: noise grade {}.", set.noise.grade)]
        }
        few if few.len() <= MOST_SENTENCES => {
            few.iter().map(|(_, cells)| sentence(cells, specs, &set.clock)).collect()
        }
        many => {
            let key = &many[0].1[0].key;
            vec![format!(
                "{} groups of cells were compared, too many for sentences; of one: ipcperf report FILE -p {} -s {} \
                 --place {}",
                many.len(),
                key.pattern,
                key.size_bytes,
                key.placement
            )]
        }
    }
}

/// `unix-stream is 1.8x [1.6, 2.0] faster than tcp (64 B, two CPUs)`: the fittest of the best beside the nearest that is
/// certainly slower, or why nothing is said.
fn sentence(cells: &[&Cell], specs: &Specs, clock: &ClockFacts) -> String {
    let place = place(cells[0]);
    let kind = MetricKind::of(cells[0].key.pattern);
    let read = |cell: &&'_ Cell| kind.reading(cell, clock);
    let cells: Vec<(&Cell, _)> =
        cells.iter().filter_map(|cell| Some((*cell, read(cell)?))).collect();
    let ranking = Ranking::of(kind, &cells);
    let ranks = ranking.ranks();
    let order = |a: &usize, b: &usize| kind.order(cells[*a].1.value, cells[*b].1.value);
    let fit = |at: &usize| fitness(specs(&cells[*at].0.key.mechanism));
    let of_best = (0..cells.len()).filter(|at| ranks[*at].place == 1);
    let Some(first) = of_best.min_by(|a, b| fit(a).cmp(&fit(b)).then_with(|| order(a, b))) else {
        return "Nothing to compare: no cell has a figure.".to_owned();
    };
    let (behind, as_fast): (Vec<usize>, Vec<usize>) =
        (0..cells.len()).filter(|at| *at != first).partition(|at| ranking.is_better(first, *at));
    let others: Vec<&Cell> = behind.iter().chain(&as_fast).map(|at| cells[*at].0).collect();
    let factors = kind.factors(cells[first].0, &others);
    let winner = name(cells[first].0);
    let names: Vec<String> = as_fast.iter().map(|at| name(cells[*at].0)).collect();
    let Some(nearest) = (0..behind.len()).min_by(|a, b| order(&behind[*a], &behind[*b])) else {
        return no_winner(&winner, &names, &place, factors[0], kind, &cells);
    };
    let slower = name(cells[behind[nearest]].0);
    let how = match factors[nearest].filter(|factor| factor.interval.low > 1.0) {
        Some(factor) => {
            format!("{winner} is {} faster than {slower}{place}", figures::factor(factor))
        }
        None => {
            format!("{winner} is faster than {slower}{place}; by how much is too uncertain to say")
        }
    };
    match names.as_slice() {
        [] => format!("{how}."),
        [one] => format!("{how}; {one} is as fast."),
        several if several.len() <= 3 => format!("{how}; {} are as fast.", join(several)),
        several => format!("{how}; {} others are as fast.", several.len()),
    }
}

/// Why none of these is the fastest.
fn no_winner(
    first: &str,
    others: &[String],
    place: &str,
    factor: Option<Factor>,
    kind: MetricKind,
    cells: &[(&Cell, Reading)],
) -> String {
    let rounds = cells.iter().map(|(cell, _)| kind.by_round(cell).len()).min().unwrap_or(0);
    if cells.iter().any(|(cell, _)| !kind.has_enough_rounds(cell)) {
        return format!(
            "Too few rounds to compare{place}: it takes {FEWEST_ROUNDS}, and {rounds} count (--rounds)."
        );
    }
    let [other] = others else {
        return format!(
            "None is certainly slower than {first}{place}: more --rounds may tell them apart."
        );
    };
    let is_within = |one: &Factor| {
        one.interval.low >= 1.0 / (1.0 + MARGIN) && one.interval.high <= 1.0 + MARGIN
    };
    match factor.filter(is_within) {
        Some(_) => format!("{first} is as fast as {other} to within {}{place}.", percent(MARGIN)),
        None => {
            format!("{first} is as fast as {other}{place}, as far as {rounds} rounds can tell.")
        }
    }
}

/// The sentence of a comparison: the faster side beside the slower one, of the cell that differs most, or why there is none.
#[must_use]
pub(crate) fn comparison(document: &Comparison) -> Option<String> {
    let least = |one: &&CellComparison| one.primary.at_least.unwrap_or(0.0);
    let cells = &document.comparisons;
    let most = cells.iter().max_by(|a, b| least(a).total_cmp(&least(b)))?;
    let one = &most.primary;
    if cells.len() > 1 && one.at_least.is_none() {
        return Some(format!("No certain difference in any of {} cells.", cells.len()));
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (most.a.split(' ').collect(), most.b.split(' ').collect());
    let common = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let place = match a[a.len() - common..].join(" ") {
        place if place.is_empty() => place,
        place => format!(" ({place})"),
    };
    // Of two documents or programs it is the sides that differ.
    let side = |own: &[&str], names: &[String]| match own.len() - common {
        0 => join(names),
        count => own[..count].join(" "),
    };
    let (a, b) = (side(&a, &document.a.names), side(&b, &document.b.names));
    let (faster, slower) = if one.verdict == Difference::Faster { (&b, &a) } else { (&a, &b) };
    let words = match one.verdict {
        Difference::Faster | Difference::Slower => {
            let (ratio, [low, high]) = (one.ratio.value?, one.ratio.ci95?);
            let times = |ratio: f64| ratio.max(1.0 / ratio);
            let interval =
                Interval { low: times(low).min(times(high)), high: times(low).max(times(high)) };
            let factor = figures::factor(Factor { ratio: times(ratio), interval });
            format!("{faster} is {factor} faster than {slower}{place}")
        }
        Difference::None => {
            format!("{b} is as fast as {a} to within {}{place}", percent(one.margin))
        }
        Difference::CannotTell => {
            format!("Cannot tell whether {b} or {a} is faster{place}: {}", one.reason)
        }
    };
    let confounded = match document.confounded_by.as_slice() {
        [] => String::new(),
        names => format!("; they also differ in {}", join(names)),
    };
    let most = if cells.len() > 1 { "Largest difference: " } else { "" };
    Some(format!("{most}{}{confounded}.", words.trim_end_matches('.')))
}
