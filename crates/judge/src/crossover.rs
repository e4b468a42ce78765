//! A search for the place where one of two arms overtakes the other: which arm wins at each point, and where that changes.

use super::beside::Ratio;
use super::files::distrust;
use super::pair::FigurePair;
use super::rounds::short_name;
use ipcperf_core::result::{Cell, Crossover, ResultSet, Status};
use ipcperf_stats::{Arm, Change, Evidence, Looked, changes};

/// One point of a search.
pub struct Point<'a> {
    /// The size or load.
    pub at: u64,
    /// The cell of the first mechanism.
    pub a: &'a Cell,
    /// The cell of the second.
    pub b: &'a Cell,
    /// B over A, by the rounds that measured both.
    pub ratio: Option<Ratio>,
    /// Why the figures may not be believed.
    pub doubt: Option<String>,
    /// The arm that certainly wins.
    pub winner: Option<Arm>,
}

impl Point<'_> {
    /// How many times as good the winner is.
    pub fn factor(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.value.max(1.0 / ratio.value))
    }
}

/// All that a search has found.
pub struct Search<'a> {
    /// What was searched.
    pub asked: &'a Crossover,
    /// The points that were measured, in ascending order.
    pub points: Vec<Point<'a>>,
    /// Where the winner changes.
    pub changes: Vec<Change>,
    /// Why nothing of it may be believed.
    pub doubt: Option<String>,
}

impl<'a> Search<'a> {
    /// What a document says of a search, if it is of one.
    pub fn of(set: &'a ResultSet) -> Option<Self> {
        let asked = set.invocation.plan.crossover.as_ref()?;
        let doubt = distrust("this run", &[set]);
        let is_measured = |cell: &&Cell| cell.status == Status::Ok && cell.verified;
        let measured: Vec<(String, &Cell)> =
            set.cells.iter().filter(is_measured).map(|cell| (short_name(cell), cell)).collect();
        let at = |cell: &Cell| cell.key.place_on(asked.over);
        let mut points: Vec<Point<'_>> = measured
            .iter()
            .filter(|(arm, _)| *arm == asked.a)
            .filter_map(|(_, a)| {
                let is_its_b = |(arm, b): &&(String, &Cell)| *arm == asked.b && at(b) == at(a);
                let (_, b) = measured.iter().find(is_its_b)?;
                let pair = FigurePair::of_cells(a, b);
                let evidence = pair.evidence.filter(|_| pair.doubt.is_none());
                let certain = |evidence| {
                    ipcperf_stats::winner(evidence, pair.figure.more_is_better, asked.most_points)
                };
                Some(Point {
                    at: at(a)?,
                    a,
                    b,
                    winner: evidence.as_ref().filter(|_| doubt.is_none()).and_then(certain),
                    ratio: evidence.as_ref().map(Ratio::of),
                    doubt: pair.doubt,
                })
            })
            .collect();
        points.sort_by_key(|point| point.at);
        points.dedup_by_key(|point| point.at);
        let looked: Vec<Looked> = points.iter().map(|point| (point.at, point.winner)).collect();
        Some(Self { asked, points, changes: changes(&looked), doubt })
    }
}

/// The arm that certainly wins at one of at most `most_points` points, by values of rounds that measured both. `None` if
/// neither does, or a value is not a positive finite number.
#[must_use]
pub fn winner(a: &[f64], b: &[f64], more_is_better: bool, most_points: u64) -> Option<Arm> {
    ipcperf_stats::winner(&Evidence::paired(a, b)?, more_is_better, most_points)
}
