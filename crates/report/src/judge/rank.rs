//! Who is ahead of whom, and when nobody can say.

use super::metric::{MetricKind, Reading, TIE_FACTOR};
use ipcperf_core::result::Cell;
use ipcperf_stats::{Evidence, Factor, Order, beside_first};
use std::collections::BTreeMap;

/// Of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// A ratio and its 95 % interval, where there are rounds enough for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) ci95: Option<[f64; 2]>,
}

impl Ratio {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let interval = evidence.interval(CONFIDENCE);
        Self { value: evidence.ratio(), ci95: interval.map(|one| [one.low, one.high]) }
    }
}

impl MetricKind {
    /// The figure of one cell as a multiple of that of another, by the rounds that have both.
    pub(crate) fn ratio(self, cell: &Cell, best: &Cell) -> Option<Ratio> {
        let (best, own) = self.common(best, cell);
        Evidence::paired(&best, &own).as_ref().map(Ratio::of)
    }

    /// How many times worse each of the others is than the first cell: more than 1 is worse, of times and of rates. The
    /// intervals hold together. `None` with fewer than six common rounds, and where the rounds of either fall into two
    /// modes, of which no factor is true.
    pub(crate) fn factors(self, first: &Cell, others: &[&Cell]) -> Vec<Option<Factor>> {
        let is_one = |cell: &Cell| self.of_cell(cell).is_none_or(|metric| metric.modes.len() < 2);
        let cells: Vec<&Cell> = std::iter::once(first).chain(others.iter().copied()).collect();
        let mut rows = logarithms(self, &cells);
        for (cell, row) in cells.iter().zip(&mut rows) {
            if !is_one(cell) {
                row.fill(None);
            }
        }
        beside_first(&rows)
    }

    /// Whether `a` is better than `b` by more than the margin of a tie, the clock and the modes of both.
    fn is_apart(self, a: &Reading, b: &Reading) -> bool {
        if self.more_is_better() {
            return a.span[0] >= b.span[1] * TIE_FACTOR;
        }
        // What both have in them is no difference.
        let clock = (b.clock - a.clock).max(0.0);
        a.span[1] * TIE_FACTOR <= b.span[0] - clock
    }
}

/// A place in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// 1 and the number of those that are certainly better.
    pub(crate) place: usize,
    /// Some other cell is certainly neither better nor worse.
    pub(crate) is_tied: bool,
}

impl Rank {
    /// `1`, or `1=` where it is tied.
    #[cfg(test)]
    pub(crate) fn words(self) -> String {
        format!("{}{}", self.place, if self.is_tied { "=" } else { "" })
    }
}

/// Cells under equal conditions, and which of them are certainly better than which.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// Of each cell, those that are certainly better.
    better: Vec<Cells>,
}

impl Ranking {
    /// Ranks cells that are given in the order of the document.
    ///
    /// One cell is certainly better than another if the joint test over all pairs orders them, and their figures are apart.
    /// What is certainly better than something that is certainly better is so too. Cells in two modes are tested with the
    /// others, and the others without them: noise as large as theirs would leave no order to anybody. The time this takes
    /// grows with the square of the number of cells up to 256, as [`Order::of`] says; beyond that only looking up the
    /// verdicts does.
    pub(crate) fn of(kind: MetricKind, cells: &[(&Cell, Reading)]) -> Self {
        let mut rows = logarithms(kind, &cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>());
        let is_split = |cell: usize| cells[cell].1.is_split();
        let of_all = (0..cells.len()).any(is_split).then(|| Order::of(&rows));
        for cell in (0..cells.len()).filter(|cell| is_split(*cell)) {
            rows[cell].fill(None);
        }
        let of_steady = Order::of(&rows);
        let is_below = |a: usize, b: usize| match &of_all {
            Some(of_all) if is_split(a) || is_split(b) => of_all.is_below(a, b),
            _ => of_steady.is_below(a, b),
        };
        let mut best_first: Vec<usize> = (0..cells.len()).collect();
        best_first.sort_by(|a, b| kind.order(cells[*a].1.value, cells[*b].1.value));
        let mut better = vec![Cells::default(); cells.len()];
        for (at, &cell) in best_first.iter().enumerate() {
            let mut ahead = Cells::none_of(cells.len());
            // The nearest first: it brings those before it along.
            for &other in best_first[..at].iter().rev() {
                let is_certain = !ahead.has(other)
                    && kind.is_apart(&cells[other].1, &cells[cell].1)
                    && is_below(other, cell);
                if is_certain {
                    ahead.add(other);
                    ahead.add_all(&better[other]);
                }
            }
            better[cell] = ahead;
        }
        Self { better }
    }

    /// Whether one cell is certainly better than another.
    pub(crate) fn is_better(&self, cell: usize, other: usize) -> bool {
        self.better[other].has(cell)
    }

    /// The place of each cell.
    pub(crate) fn ranks(&self) -> Vec<Rank> {
        let mut behind = vec![0; self.better.len()];
        for better in &self.better {
            better.all().for_each(|cell| behind[cell] += 1);
        }
        let rank = |(better, behind): (&Cells, usize)| {
            let ahead = better.all().count();
            Rank { place: ahead + 1, is_tied: ahead + behind + 1 < self.better.len() }
        };
        self.better.iter().zip(behind).map(rank).collect()
    }
}

/// The figures of the rounds as the joint test takes them: logarithms, less is better.
pub(super) fn logarithms(kind: MetricKind, cells: &[&Cell]) -> Vec<Vec<Option<f64>>> {
    let rows: Vec<BTreeMap<u64, f64>> = cells.iter().map(|cell| kind.by_round(cell)).collect();
    let mut numbers: Vec<u64> = rows.iter().flat_map(BTreeMap::keys).copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let logarithm = |value: &f64| if kind.more_is_better() { -value.ln() } else { value.ln() };
    let row = |row: &BTreeMap<u64, f64>| {
        numbers.iter().map(|number| row.get(number).map(logarithm)).collect()
    };
    rows.iter().map(row).collect()
}

/// Some of the cells of a ranking, one bit for each.
#[derive(Clone, Debug, Default)]
struct Cells(Vec<u64>);

impl Cells {
    fn none_of(cells: usize) -> Self {
        Self(vec![0; cells.div_ceil(64)])
    }

    fn has(&self, cell: usize) -> bool {
        self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    fn add(&mut self, cell: usize) {
        self.0[cell / 64] |= 1 << (cell % 64);
    }

    fn add_all(&mut self, others: &Self) {
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        (0..64 * self.0.len()).filter(|cell| self.has(*cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{ROUND_TRIP, Reading};
    use crate::testing::sample::{Build, TWO, cell};
    use ipcperf_core::PatternKind;
    use ipcperf_core::result::{ClockFacts, ClockReading, Mode, Timing};
    use ipcperf_stats::{Rng, median};

    /// How nine rounds scatter, in one cell and in another.
    const ONE_WAY: [f64; 9] = [0.0, 1.0, -1.0, 0.6, -0.6, 0.3, -0.3, 0.9, -0.8];
    const OTHER_WAY: [f64; 9] = [0.5, -0.9, 0.0, 1.0, 0.7, -0.2, -1.0, -0.4, 0.2];

    /// A cell with these median round trips.
    fn of(values: &[f64]) -> Cell {
        cell("pipe", 64, TWO).rtt(median(values).unwrap(), 0.0).of_rounds(values)
    }

    fn around(value: f64, half: f64, scatter: [f64; 9]) -> Cell {
        of(&scatter.map(|one| value + half * one))
    }

    fn ranked(cells: &[Cell], clock: &ClockFacts) -> Ranking {
        let read = |cell| (cell, ROUND_TRIP.reading(cell, clock).unwrap());
        let cells: Vec<(&Cell, Reading)> = cells.iter().map(read).collect();
        Ranking::of(ROUND_TRIP, &cells)
    }

    fn words(cells: &[Cell]) -> Vec<String> {
        ranked(cells, &ClockFacts::default()).ranks().into_iter().map(Rank::words).collect()
    }

    #[test]
    fn a_place_is_one_and_the_number_of_those_that_are_certainly_better() {
        let cells = [
            around(100.0, 1.0, ONE_WAY),
            around(110.0, 1.0, OTHER_WAY),
            around(118.0, 30.0, [1.0, -0.9, 0.8, 0.0, -1.0, 0.9, -0.8, 0.1, -0.2]),
            around(130.0, 1.0, ONE_WAY),
        ];
        assert_eq!(words(&cells), ["1=", "2=", "1=", "3="], "the third ties with all");
    }

    #[test]
    fn less_than_three_percent_apart_is_a_tie_however_sure_the_rounds_are() {
        assert_eq!(words(&[of(&[100.0; 9]), of(&[102.9; 9])]), ["1=", "1="]);
        assert_eq!(words(&[of(&[100.0; 9]), of(&[103.1; 9])]), ["1", "2"]);
    }

    #[test]
    fn with_fewer_than_six_common_rounds_all_tie() {
        for rounds in 1..=9 {
            let told: [&str; 2] = if rounds < 6 { ["1=", "1="] } else { ["1", "2"] };
            let (few, all) = (vec![100.0; rounds], vec![300.0; 9]);
            assert_eq!(words(&[of(&few), of(&all[..rounds])]), told, "{rounds}");
            assert_eq!(words(&[of(&few), of(&all)]), told, "{rounds} of 9");
        }
    }

    #[test]
    fn what_moves_a_whole_round_hides_no_difference() {
        let levels = [1.0, 2.0, 1.5, 0.7, 1.1, 1.9, 0.8, 1.4, 1.0];
        let of_level = |value: f64, scatter: [f64; 9]| {
            let at = |at: usize| levels[at] * (value + scatter[at]);
            of(&std::array::from_fn::<_, 9, _>(at))
        };
        assert_eq!(words(&[of_level(100.0, ONE_WAY), of_level(112.0, OTHER_WAY)]), ["1", "2"]);
    }

    #[test]
    fn a_rejected_round_says_nothing() {
        let mut slower = around(130.0, 1.0, OTHER_WAY);
        slower.rounds[0].p50_ns = Some(1.0);
        slower.rounds[0].rejected = Some("moved".to_owned());
        assert_eq!(words(&[around(100.0, 1.0, ONE_WAY), slower]), ["1", "2"]);
    }

    /// A cell in two modes, the first of which speaks.
    fn two_modes(of_first: usize) -> Cell {
        let value = |at| if at < of_first { 700.0 } else { 40_000.0 };
        let mut cell = of(&std::array::from_fn::<_, 9, _>(|at| value(at) + ONE_WAY[at]));
        let modes = [(700.0, of_first), (40_000.0, 9 - of_first)];
        let p50 = cell.rtt_ns.as_mut().and_then(|table| table.get_mut("p50")).unwrap();
        p50.modes = modes.map(|(value, rounds)| Mode { value, rounds: rounds as u64 }).into();
        p50.value = Some(700.0);
        cell
    }

    #[test]
    fn a_cell_in_two_modes_is_not_ahead_of_what_lies_between_them() {
        let between = || around(10_000.0, 10.0, OTHER_WAY);
        for of_first in [5, 6] {
            assert_eq!(words(&[two_modes(of_first), between()]), ["1=", "1="], "{of_first}");
        }
        // Where all rounds would do, the modes still do not.
        let order = |value: f64| {
            let cells = [two_modes(6), around(value, 10.0, OTHER_WAY)];
            let [a, b] = [0, 1].map(|at| ROUND_TRIP.reading(&cells[at], &ClockFacts::default()));
            ROUND_TRIP.is_apart(&a.unwrap(), &b.unwrap())
        };
        assert!(!order(39_000.0) && order(42_000.0));
        let beyond = around(60_000.0, 10.0, OTHER_WAY);
        assert_eq!(words(&[two_modes(7), beyond]), ["1", "2"], "two rounds are the exception");
    }

    #[test]
    fn a_cell_in_two_modes_takes_no_place_from_the_others() {
        // As in a survey on a host that moves its CPUs: the modes are 200 times apart, and one slice in ten is missing.
        let mut rng = Rng::from_seed(5);
        let mut steady = |value: f64| {
            let noise: [f64; 10] = std::array::from_fn(|_| value * (0.08 * rng.normal()).exp());
            let mut cell = of(&noise);
            cell.rounds.retain(|_| rng.below(10) > 0);
            cell
        };
        let mut cells: Vec<Cell> =
            (0..30).map(|at| steady(40_000.0 * 1.25_f64.powi(at / 5))).collect();
        let alone = words(&cells);
        let first = |places: &[String]| places.iter().filter(|place| *place == "1=").count();
        assert!(first(&alone) < 12, "{alone:?}");
        let mut split = of(&[190.0, 41e3, 195.0, 40e3, 42e3, 41e3, 188.0]);
        let p50 = split.rtt_ns.as_mut().and_then(|table| table.get_mut("p50")).unwrap();
        p50.modes = vec![Mode { value: 190.0, rounds: 3 }, Mode { value: 41e3, rounds: 4 }];
        cells.push(split);
        assert_eq!(words(&cells)[..30], alone);
    }

    #[test]
    fn cpu_time_in_two_modes_spans_both_as_well() {
        let span = |of_first: usize| {
            let mut cell = around(100.0, 1.0, ONE_WAY).cpu(10.0);
            for (at, round) in cell.rounds.iter_mut().enumerate() {
                let cost = if at < of_first { 10 } else { 900 };
                (round.cpu_ns.lead, round.cpu_ns.follow) = (cost * round.messages, 0);
            }
            MetricKind::Cpu.reading(&cell, &ClockFacts::default()).unwrap().span.map(f64::round)
        };
        assert_eq!(span(6), [10.0, 900.0]);
        assert_eq!(span(7), [10.0, 10.0], "two rounds are the exception");
    }

    #[test]
    fn what_the_clock_explains_is_a_tie_of_an_operation_and_a_batch() {
        let reading = |cpu, p50_ns| ClockReading { cpu, p50_ns, ..ClockReading::default() };
        let clock = ClockFacts {
            before: vec![reading(0, 25.0), reading(7, 900.0)],
            after: vec![reading(1, 30.0)],
            ..ClockFacts::default()
        };
        let timed = |value: f64, scatter, mode: &str| {
            let timing = Some(Timing { mode: mode.to_owned(), batch: 1 });
            Cell { timing, ..around(value, 0.5, scatter) }
        };
        let words = |first: (f64, &str), second: (f64, &str)| {
            let cells = [timed(first.0, ONE_WAY, first.1), timed(second.0, OTHER_WAY, second.1)];
            let ranks = ranked(&cells, &clock).ranks();
            ranks.into_iter().map(Rank::words).collect::<Vec<_>>()
        };
        assert_eq!(words((580.0, "batch"), (620.0, "per-op")), ["1=", "1="]);
        assert_eq!(words((560.0, "batch"), (620.0, "per-op")), ["1", "2"]);
        assert_eq!(words((580.0, "per-op"), (620.0, "per-op")), ["1", "2"], "both have it");
        assert_eq!(words((580.0, "per-op"), (620.0, "batch")), ["1", "2"], "less without it");
    }

    #[test]
    fn rates_are_ranked_from_the_largest() {
        let cells = [1e9, 2e9, 3e9].map(|rate| cell("pipe", 1 << 20, TWO).rate(rate, 1e6));
        let kind = MetricKind::of(PatternKind::Stream);
        let read = |cell| (cell, kind.reading(cell, &ClockFacts::default()).unwrap());
        let ranking = Ranking::of(kind, &cells.iter().map(read).collect::<Vec<_>>());
        let words: Vec<String> = ranking.ranks().into_iter().map(Rank::words).collect();
        assert_eq!(words, ["3", "2", "1"]);
        assert!(ranking.is_better(2, 0) && !ranking.is_better(0, 2) && !ranking.is_better(0, 0));
    }

    #[test]
    fn nothing_and_what_has_no_rounds_are_ranked_without_a_fuss() {
        assert!(words(&[]).is_empty());
        let bare = |value: f64| Cell { rounds: Vec::new(), ..of(&[value]) };
        assert_eq!(words(&[bare(10.0), bare(90.0)]), ["1=", "1="]);
        assert_eq!(words(&[of(&[0.0; 9]), of(&[0.0; 9])]), ["1=", "1="]);
    }

    #[test]
    fn places_agree_with_figures_with_each_other_and_with_no_name() {
        let mut rng = Rng::from_seed(11);
        let clock = ClockFacts::default();
        let mut certain = 0;
        for table in 0..300 {
            let mut cells: Vec<Cell> = (0..2 + table % 8)
                .map(|_| {
                    let (level, spread) = (1.0 + 9.0 * rng.unit(), 0.3 * rng.unit());
                    let mut round = || level * (spread * rng.normal()).exp();
                    of(&std::array::from_fn::<_, 9, _>(|_| round()))
                })
                .collect();
            let value = |at: usize| ROUND_TRIP.reading(&cells[at], &clock).unwrap().value;
            let ranking = ranked(&cells, &clock);
            let mut ranks = ranking.ranks();
            for a in 0..cells.len() {
                let smaller = (0..cells.len()).filter(|b| value(*b) < value(a)).count();
                assert!(ranks[a].place <= 1 + smaller, "{ranks:?}");
                for b in (0..cells.len()).filter(|b| ranking.is_better(a, *b)) {
                    assert!(ranks[a].place < ranks[b].place && value(a) < value(b), "{ranks:?}");
                    certain += 1;
                }
            }
            cells.rotate_left(1);
            ranks.rotate_left(1);
            cells.iter_mut().for_each(|cell| cell.key.mechanism = "other".to_owned());
            assert_eq!(ranked(&cells, &clock).ranks(), ranks);
        }
        assert!(certain > 1_000, "{certain}");
    }
}
