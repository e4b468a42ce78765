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

/// Sections of them.
pub(crate) fn add(body: &mut Blocks, set: &ResultSet, chapters: &[Chapter], anchors: &Anchors) {
    let own: Vec<&Chapter> =
        chapters.iter().filter(|one| matches!(one.kind, MetricKind::Primary(_))).collect();
    body.add(section("rounds", "Every round", ROUNDS, all(&own, strip, anchors)));
    body.add(section("tails", "Tails", TAILS, all(&own, tails, anchors)));
    body.add(section("cost", "CPU against latency", COST, all(&own, cost, anchors)));
    body.add(section("sizes", "Size", SIZES, sizes(&own, anchors)));
    body.add(section("load", "Load", LOAD, loads(&own, anchors)));
    body.add(section("pauses", "After a pause", PAUSES, pauses(&own, anchors)));
    body.add(section("pairs", "CPU to CPU", PAIRS, pairs(set)));
}

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
