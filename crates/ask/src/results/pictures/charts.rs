//! Pictures of what a document has: rounds, tails, costs, sizes, loads, pauses and pairs of CPUs.

use super::cells::Anchors;
use super::curves::{loads, pauses, sizes};
use super::pairs::pairs;
use super::rankings::{cost, strip, tails};
use crate::results::chapters::{Block, Chapter, Section as Part};
use ipcperf_core::result::ResultSet;
use ipcperf_judge::MetricKind;
use ipcperf_render::doc::{Blocks, Chart, Section, Tone};
use ipcperf_render::text;

/// Pictures of one kind that are seen at once; the others are shown when asked for.
const SEEN: usize = 6;

/// All pictures of a document.
pub(crate) struct Gallery {
    rounds: Vec<Chart>,
    tails: Vec<Chart>,
    cost: Vec<Chart>,
    sizes: Vec<Chart>,
    load: Vec<Chart>,
    pauses: Vec<Chart>,
    pairs: Vec<Chart>,
}

impl Gallery {
    pub(crate) fn of(set: &ResultSet, chapters: &[Chapter], anchors: &Anchors) -> Self {
        let own: Vec<&Chapter> =
            chapters.iter().filter(|one| matches!(one.kind, MetricKind::Primary(_))).collect();
        Self {
            rounds: all(&own, strip, anchors),
            tails: all(&own, tails, anchors),
            cost: all(&own, cost, anchors),
            sizes: sizes(&own, anchors),
            load: loads(&own, anchors),
            pauses: pauses(&own, anchors),
            pairs: pairs(set),
        }
    }

    /// The picture of what was varied; otherwise of what was compared.
    pub(crate) fn take_answer(&mut self) -> Option<Chart> {
        let kinds = [
            (&mut self.sizes, SIZES_IN_SHORT),
            (&mut self.load, LOAD),
            (&mut self.pauses, PAUSES),
            (&mut self.rounds, ROUNDS_IN_SHORT),
        ];
        let (charts, how) = kinds.into_iter().find(|(charts, _)| !charts.is_empty())?;
        let mut chart = charts.remove(0);
        chart.note = match chart.note.trim_end_matches('.') {
            "" => how.to_owned(),
            note => format!("{note}. {how}"),
        };
        Some(chart)
    }

    /// Sections of them.
    pub(crate) fn add_to(self, body: &mut Blocks) {
        body.add(section("rounds", "Every round", ROUNDS, self.rounds));
        body.add(section("tails", "Tails", TAILS, self.tails));
        body.add(section("cost", "CPU against latency", COST, self.cost));
        body.add(section("sizes", "Size", SIZES, self.sizes));
        body.add(section("load", "Load", LOAD, self.load));
        body.add(section("pauses", "After a pause", PAUSES, self.pauses));
        body.add(section("pairs", "CPU to CPU", PAIRS, self.pairs));
    }
}

const ROUNDS_IN_SHORT: &str =
    "A point is a round; the line is the figure, the bar its 95 % interval.";
const SIZES_IN_SHORT: &str = "Medians over rounds with their 95 % intervals.";

const ROUNDS: &str = "A point is a round, in fresh processes: the first at the top of its row, the last at its bottom, so that a slant is drift and two clusters are two modes. The line is the figure, the bar its 95 % interval.";
const TAILS: &str = "The time that all but 1 in N operations stay below, over all accepted rounds. A line ends where fewer than 20 operations lie beyond it. Grey: other mechanisms of the same ranking within three times of the named ones; point at one for its name.";
const COST: &str = "Down and left is better; whether neighbours differ is not tested. Grey: the other mechanisms of the same ranking; point at one for its name.";
const SIZES: &str = "Medians over rounds with their 95 % intervals. Named is what is best at one of the sizes, and what most programs are written with; grey is the rest: point at one for its name. A ring is where two of the named lines cross with intervals apart at the measured sizes to both sides; where in between is interpolated.";
const LOAD: &str =
    "Response times in an open loop, from when a message was due, over what was offered.";
const PAUSES: &str = "A round trip after a pause in which the ends fall asleep.";
const PAIRS: &str = "The stronger the colour, the slower. Rows are the CPU of the lead, columns that of the follow.";

fn section(anchor: &str, title: &str, lede: &str, mut charts: Vec<Chart>) -> Section {
    let rest = charts.split_off(charts.len().min(SEEN));
    let fill = |body: &mut Blocks| {
        if !charts.is_empty() {
            body.say(Tone::Quiet, lede);
        }
        charts.into_iter().for_each(|one| body.chart(one));
        let more = text::counted(rest.len() as u64, "more picture");
        body.fold(more, |body| rest.into_iter().for_each(|one| body.chart(one)));
    };
    Section { anchor: anchor.to_owned(), ..Section::new(title, fill) }
}

/// What draws one ranking.
type Draw = fn(&Chapter, &Part, &Block, &Anchors) -> Option<Chart>;

/// A picture of each ranking: the first of every chapter that has rivals with a payload, then the others.
fn all(chapters: &[&Chapter], draw: Draw, anchors: &Anchors) -> Vec<Chart> {
    let mut ordered = Vec::new();
    for chapter in chapters {
        let parts = chapter.sections.iter();
        let mut blocks: Vec<(&Part, &Block)> =
            parts.flat_map(|part| part.blocks.iter().map(move |block| (part, block))).collect();
        let is_slight = |block: &Block| {
            block.rows.len() < 2 || block.rows.iter().all(|row| row.cell.key.size_bytes == 0)
        };
        blocks.sort_by_key(|(_, block)| is_slight(block));
        let one = |(part, block): (&Part, &Block)| draw(chapter, part, block, anchors);
        ordered.extend(blocks.into_iter().filter_map(one).enumerate());
    }
    ordered.sort_by_key(|(at, _)| *at);
    ordered.into_iter().map(|(_, shown)| shown).collect()
}
