//! What the signs and columns of a table mean; only those that occur.

use crate::advice::no_places;
use crate::chapters::{Block, Chapter, Row, is_touched};
use crate::columns::{self, Column};
use crate::figures;
use crate::format::Style;
use crate::rank::{Yardstick, clock_share, has_too_few_rounds, is_timed_alone};
use crate::{text, words};
use ipcperf_core::result::ResultSet;
use ipcperf_core::{PatternKind, PayloadFile, Wait};
use ipcperf_stats::LEAST_ROUNDS;

/// The quantiles of which a missing one is explained.
const QUANTILES: [&str; 2] = ["p90", "p99"];

/// The longest slice that is named as a remedy, ms.
const LONGEST_MS: f64 = 60_000.0;

/// What the signs and columns mean; only those that occur.
pub(crate) fn legend_lines(set: &ResultSet, chapters: &[Chapter], style: &Style) -> Vec<String> {
    let sections = chapters.iter().flat_map(|chapter| &chapter.sections);
    let blocks: Vec<&Block> = sections.flat_map(|section| &section.blocks).collect();
    let rows: Vec<&Row> = blocks.iter().flat_map(|block| &block.rows).collect();
    let mut lines = Vec::new();
    if rows.is_empty() {
        return lines;
    }
    let spread = Column::Spread.head(PatternKind::PingPong, style);
    lines.push(format!(
        "A round trip is there and back, never halved. {spread} is half of the 95 % interval over rounds. CPU/msg is \
         the CPU time of both ends for one message in one direction."
    ));
    if rows.iter().any(|row| Column::Mean.cell(row, true) != figures::NONE) {
        lines.push(
            "mean is that of all operations, as other tools print it: far from p50, some are of another kind."
                .to_owned(),
        );
    }
    lines.extend(costs(chapters));
    let mut legends: Vec<&str> = Vec::new();
    for row in &rows {
        let legend = row.cell.key.pattern.facts().legend;
        if !legend.is_empty() && !legends.contains(&legend) {
            legends.push(legend);
        }
    }
    lines.extend(legends.into_iter().map(str::to_owned));
    lines.extend(places(set, &blocks));
    if rows.iter().any(|row| has_wide_spread(row)) {
        lines.push(format!(
            "{spread} above 50 % is the 95 % interval itself, or {} where that does not fit.",
            figures::WIDE
        ));
    }
    if rows.iter().any(|row| !is_touched(row.cell.key.touch)) {
        lines.push(
            "Touch none and header are not ranked: a payload that is not touched costs nothing to move by reference."
                .to_owned(),
        );
    }
    lines.extend(special(&rows));
    if rows.iter().any(|row| row.cell.key.wait == Wait::SpinThenBlock) {
        lines.extend(words::legend(words::BRIEFLY));
    }
    if rows.iter().any(|row| row.beside_best.is_some()) {
        lines.push(
            "x best is the figure as a multiple of the best of its ranking, by the rounds of both, with the 95 % interval of \
             this pair alone."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.is_two_mode()) {
        lines.extend(words::legend(words::TWO_MODES));
    }
    if rows.iter().any(|row| Column::Figure.cell(row, true).ends_with(words::BATCH)) {
        lines.extend(words::legend(words::BATCH));
    }
    let is_saturated = |row: &&Row| Column::Figure.cell(row, true) == columns::SATURATED;
    let is_unsupported =
        |row: &&Row| Column::Quantile("p99").cell(row, true) == figures::NONE && !is_saturated(row);
    if rows
        .iter()
        .any(|row| (row.cell.rtt_ns.is_some() || row.cell.connect.is_some()) && is_unsupported(row))
    {
        lines.push(missing_quantile(set, &rows));
    }
    if style.versus_bound {
        lines.extend(bounds(&rows));
    }
    lines
}

/// Why the first quantile that is missing is missing, and what would give it.
fn missing_quantile(set: &ResultSet, rows: &[&Row]) -> String {
    let lacks = |row: &&Row| {
        let times = row.cell.times()?;
        let shown = QUANTILES.iter().filter_map(|name| Some((*name, times.get(*name)?)));
        let mut missing = shown.filter(|(_, metric)| metric.value.is_none());
        missing.find_map(|(name, metric)| Some((name, samples(metric.reason.as_deref()?)?)))
    };
    match rows.iter().find_map(lacks) {
        Some((name, (needed, had))) => {
            let plan = &set.invocation.plan;
            let slice = plan.slice_ms * (needed as f64 / had.max(1) as f64);
            let has_option = matches!(plan.command.as_str(), "run" | "compare");
            let longer = match slice.is_finite() && slice <= LONGEST_MS {
                _ if !has_option => "a longer --budget, or 'ipcperf run --slice'".to_owned(),
                true => format!("--slice {:.0}ms", (slice / 10.0).ceil() * 10.0),
                false => "a longer --slice".to_owned(),
            };
            format!(
                "- in a quantile: the sample is too small; the first, {name}, needs {} and had {}: {longer}.",
                text::counted(needed, "sample"),
                text::grouped(had)
            )
        }
        None => "- in a quantile: the sample is too small to support one.".to_owned(),
    }
}

/// Samples needed and had: `needs 2000 samples, has 1500`.
fn samples(reason: &str) -> Option<(u64, u64)> {
    let (needed, had) = reason.strip_prefix("needs ")?.split_once(" samples, has ")?;
    Some((needed.parse().ok()?, had.parse().ok()?))
}

/// What a place is, and why there is none.
fn places(set: &ResultSet, blocks: &[&Block]) -> Vec<String> {
    let ranked = |block: &&Block| block.rows.iter().filter(|row| row.rank.is_some()).count() > 1;
    let rivals: Vec<&Row> =
        blocks.iter().copied().filter(ranked).flat_map(|block| &block.rows).collect();
    let has_rivals = blocks.iter().any(|block| block.rows.len() > 1);
    let mut lines: Vec<String> = no_places(set).filter(|_| has_rivals).into_iter().collect();
    if rivals.iter().any(|row| row.rank.is_some_and(|rank| rank.is_tied)) {
        lines.push(
            "A place is 1 and the number of rows that are certainly better, by one test of all pairs within rounds. = is \
             a tie with some other row. Less than 3 % apart is a tie."
                .to_owned(),
        );
    }
    if rivals.iter().any(|row| row.rank.is_some() && has_too_few_rounds(row.cell)) {
        lines.push(format!("No order can be given with fewer than {LEAST_ROUNDS} rounds."));
    }
    let is_mixed = |block: &&Block| {
        let alone = block.rows.iter().filter(|row| row.rank.is_some());
        let mut alone = alone.map(|row| is_timed_alone(row.cell));
        let first = alone.next();
        alone.any(|other| Some(other) != first)
    };
    let mixed = blocks.iter().filter(|block| is_mixed(block)).flat_map(|block| &block.rows);
    let clock = mixed.map(|row| clock_share(row.cell, &set.clock)).fold(0.0, f64::max);
    if clock > 0.0 {
        lines.push(format!(
            "Figures without ^ have up to {} of reading the clock in them; what this explains is a tie with one that has ^.",
            figures::nanos(clock)
        ));
    }
    lines
}

/// What timed ways and changed messages mean.
fn special(rows: &[&Row]) -> Vec<String> {
    let mut lines = Vec::new();
    let timed = rows.iter().filter_map(|row| row.cell.one_way_ns.as_ref());
    if timed.into_iter().any(|way| way.bound_ns.is_some() && way.reason.is_none()) {
        lines.push(
            "one way is from lead to follow, median; +- is how well the difference of the two CPUs' counters is known. The \
             other figures of such a cell contain the reading of two more clocks."
                .to_owned(),
        );
    }
    let mut refused: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.yardstick != Yardstick::Cpu) {
        let way = row.cell.one_way_ns.as_ref();
        let Some(reason) = way.and_then(|way| way.reason.as_deref()) else { continue };
        match refused.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, who)) => who.push(row.cell.id.clone()),
            None => refused.push((reason, vec![row.cell.id.clone()])),
        }
    }
    lines.extend(refused.iter().map(|(reason, who)| match who.as_slice() {
        [one] => format!("No one-way figure for {one}: {reason}."),
        all => format!("No one-way figure for {} cells: {reason}.", all.len()),
    }));
    let mut named: Vec<String> = Vec::new();
    let mut sources: Vec<String> = Vec::new();
    for row in rows {
        let payload = row.cell.key.load.payload.as_ref();
        let source = payload.map(PayloadFile::sentence);
        sources.extend(source.filter(|source| !sources.contains(source)));
        let Some(cost) = &row.cell.transform else { continue };
        let size = figures::plain(cost.ratio);
        let whose = payload.map(|one| format!(" of {}", one.file)).unwrap_or_default();
        let words =
            format!("{} by {} makes messages{whose} {size} times shorter", cost.name, cost.library);
        if !named.contains(&words) {
            named.push(words);
        }
    }
    if !named.is_empty() {
        let made = if sources.is_empty() {
            "Half of the bytes of every message are random: "
        } else {
            "With these contents "
        };
        lines.push(format!(
            "transform is the time that changing a message and changing it back take by themselves; all other figures \
             contain it. {made}{}.",
            named.join("; ")
        ));
    }
    lines.extend(sources);
    lines
}

/// How the rankings by CPU time are to be read.
fn costs(chapters: &[Chapter]) -> Option<String> {
    let mut rows = chapters
        .iter()
        .filter(|chapter| chapter.yardstick == Yardstick::Cpu)
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| &section.blocks)
        .flat_map(|block| &block.rows)
        .filter_map(|row| row.cell.cpu_ns_per_message.as_ref());
    let cost = rows.next()?;
    let split = if cost.split_is_approximate {
        " (an estimate: this kernel divides CPU time by ticks)"
    } else {
        ""
    };
    let guest = if cost.excludes_hypervisor {
        " What the hypervisor does for this machine is in no figure."
    } else {
        ""
    };
    Some(format!(
        "user and system are the parts of CPU/msg{split}. machine is the busy time of all CPUs for one message, less \
         what they are busy anyway; it needs longer slices than the rest.{guest}"
    ))
}

fn has_wide_spread(row: &Row) -> bool {
    let column = match row.yardstick {
        Yardstick::Cpu => Column::CpuSpread,
        _ => Column::Spread,
    };
    let words = column.cell(row, true);
    words == figures::WIDE || figures::is_interval(&words)
}

/// What the bound columns are multiples of.
fn bounds(rows: &[&Row]) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for row in rows {
        let Some(bound) = &row.cell.bound else { continue };
        // A stream is held against bytes whatever its messages are.
        let value = figures::of(row.cell.key.pattern.facts().figure, bound.value, 1);
        let words = match bound.name.as_str() {
            "cacheline_rtt_ns" => {
                format!("a cache line there and back on {:#} {value}", row.cell.key.placement)
            }
            "futex_wake_rtt_ns" => {
                format!("a futex wake there and back on {:#} {value}", row.cell.key.placement)
            }
            name => format!("{name} {value}"),
        };
        if !named.contains(&words) {
            named.push(words);
        }
    }
    (!named.is_empty()).then(|| format!("Bounds of this machine: {}.", named.join(", ")))
}
