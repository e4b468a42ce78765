//! What the signs and columns of a table mean; only those that occur.

use crate::Style;
use crate::advice::{for_samples, samples};
use crate::chapters::{Block, Chapter, Row, is_touched};
use crate::columns::{self, Column};
use crate::figures;
use crate::judge::{MetricKind, Relation, clock_share, has_too_few_rounds, is_timed_alone};
use crate::{text, words};
use ipcperf_core::result::{Cell, ProgramEnd, ResultSet};
use ipcperf_core::{Figure, PatternKind, PayloadFile, Wait};
use ipcperf_stats::FEWEST_ROUNDS;

/// The quantiles of which a missing one is explained.
const QUANTILES: [&str; 2] = ["p90", "p99"];

/// What the signs and columns mean; only those that occur, of columns that have a figure.
pub(crate) fn legend_lines(set: &ResultSet, chapters: &[Chapter], style: &Style) -> Vec<String> {
    let shown: Vec<Column> =
        chapters.iter().flat_map(|chapter| columns::shown(chapter, style)).collect();
    let shown = shown.as_slice();
    let sections = chapters.iter().flat_map(|chapter| &chapter.sections);
    let blocks: Vec<&Block> = sections.flat_map(|section| &section.blocks).collect();
    let rows: Vec<&Row> = blocks.iter().flat_map(|block| &block.rows).collect();
    let mut lines = Vec::new();
    if rows.is_empty() {
        return lines;
    }
    let has = |column: Column| shown.contains(&column);
    let spread = Column::Spread.head(PatternKind::PingPong, style);
    let of_requests = |row: &Row| row.cell.key.pattern.facts().figure == Figure::Requests;
    let mut heads = vec![format!("{spread} is half of the 95 % interval over rounds.")];
    if rows.iter().any(|row| row.cell.rtt_ns.is_some() && !of_requests(row)) {
        heads.insert(0, "A round trip is there and back, never halved.".to_owned());
    }
    if has(Column::Cpu) && !rows.iter().all(|row| of_requests(row)) {
        heads.push(
            "CPU/msg is the CPU time of both ends for one message in one direction.".to_owned(),
        );
    }
    lines.push(heads.join(" "));
    if rows.iter().any(|row| spread_words(row) == figures::NONE && has_too_few_rounds(row.cell)) {
        lines.push(format!("- in {spread}: an interval takes {FEWEST_ROUNDS} rounds."));
    }
    if has(Column::Mean) && rows.iter().any(|row| Column::Mean.cell(row, true) != figures::NONE) {
        lines
            .push("mean far from p50 means two kinds of round trips: see the findings.".to_owned());
    }
    lines.extend(costs(chapters, shown));
    let legends = rows.iter().map(|row| row.cell.key.pattern.facts().legend);
    let legends = text::each_once(legends.filter(|legend| !legend.is_empty()));
    lines.extend(legends.into_iter().map(str::to_owned));
    lines.extend(places(set, &blocks));
    if rows.iter().any(|row| figures::is_interval(&spread_words(row))) {
        lines.push(format!("{spread} above 50 % is the 95 % interval itself."));
    }
    if rows.iter().any(|row| !is_touched(row.cell.key.touch)) {
        lines.push(
            "Touch none and header are not compared: a payload that is not touched costs nothing to move by reference."
                .to_owned(),
        );
    }
    lines.extend(special(&rows, shown));
    if rows.iter().any(|row| row.cell.key.wait == Wait::SpinThenBlock) {
        lines.extend(words::legend(words::BRIEFLY));
    }
    if has(Column::Ratio) {
        lines.push(
            "A ratio is the median over rounds of how many times slower or faster a row is than the reference in the same \
             round; for rates, slower means a lower rate. The 95 % intervals of the rows of one size and place hold together; \
             'as fast' rests on the 90 % interval of the row alone."
                .to_owned(),
        );
    }
    if has(Column::OfOurs) {
        lines.push(
            "of ours is a program's figure over that of our own follow in the same rounds, with the 95 % interval: what the \
             program and its runtime add."
                .to_owned(),
        );
    }
    lines.extend(programs(&rows));
    if has(Column::OfBare) {
        let bare = rows.iter().filter_map(|row| Some(row.cell.of_bare.as_ref()?.mechanism.clone()));
        let bare = text::join(&text::each_once(bare));
        lines.push(format!(
            "of bare is a library's figure as a multiple of that of the mechanism which it is built on ({bare}), within \
             rounds, with a 95 % interval."
        ));
    }
    if rows.iter().any(|row| row.is_two_mode()) {
        lines.extend(words::legend(words::TWO_MODES));
    }
    if rows.iter().any(|row| Column::Figure.cell(row, true).ends_with(words::BATCH)) {
        lines.extend(words::legend(words::BATCH));
    }
    let is_saturated = |row: &&Row| {
        let says = |column: Column| column.cell(row, true) == columns::SATURATED;
        says(Column::Figure) || says(Column::Quantile("p50"))
    };
    let is_unsupported =
        |row: &&Row| Column::Quantile("p99").cell(row, true) == figures::NONE && !is_saturated(row);
    let has_times = |row: &&Row| row.cell.rtt_ns.is_some() || row.cell.connect.is_some();
    let is_missed = |row: &&Row| has_times(row) && is_unsupported(row);
    // A column that is hidden because it has no figure at all is missed most of all.
    let is_empty =
        |name| rows.iter().all(|row| Column::Quantile(name).cell(row, true) == figures::NONE);
    let mut names = QUANTILES.to_vec();
    names.retain(|name| has(Column::Quantile(name)) || is_empty(name));
    if !names.is_empty() && rows.iter().any(is_missed) {
        let head = match names.iter().any(|name| has(Column::Quantile(name))) {
            true => "- in a quantile".to_owned(),
            false => format!("No {}", names.join(" and no ")),
        };
        lines.push(format!("{head}: {}", missing_quantile(set, &rows, &names)));
    }
    if has(Column::Bound) {
        lines.extend(bounds(&rows));
    }
    lines
}

/// How each program at the place of the follow began, and what it was: medians over all rounds.
fn programs(rows: &[&Row]) -> Vec<String> {
    let by_figure = rows.iter().filter(|row| row.kind != MetricKind::Cpu);
    let all =
        text::in_groups(by_figure.filter_map(|row| Some((row.cell.key.load.end()?, row.cell))));
    let line = |(program, cells): &(String, Vec<&Cell>)| {
        let rounds: Vec<&ProgramEnd> = cells
            .iter()
            .flat_map(|cell| &cell.rounds)
            .filter_map(|round| round.program.as_ref())
            .collect();
        let median = |of: fn(&ProgramEnd) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(|round| of(round)).collect();
            all.sort_by(f64::total_cmp);
            Some(figures::nanos(*all.get(all.len() / 2)?))
        };
        let most = |of: fn(&ProgramEnd) -> u64| rounds.iter().map(|round| of(round)).max();
        let (first, warmup) = (median(|one| one.first_answer_ns)?, median(|one| one.warmup_ns)?);
        let processes = match most(|one| one.processes)? {
            1 => "1 process".to_owned(),
            count => format!("{} processes", text::grouped(count)),
        };
        let threads = text::counted(most(|one| one.threads)?, "thread");
        let lost = match rounds.iter().any(|round| round.is_incomplete) {
            true if cells.iter().any(|cell| cell.key.load.at.is_some()) => {
                "; its CPU time is unknown: only a UNIX socket names its process"
            }
            true => "; its CPU time is unknown: it ignores the end of processes that it started",
            false => "",
        };
        let mut said = rounds
            .iter()
            .find(|round| !round.said.is_empty())
            .map_or_else(Vec::new, |one| one.said.clone());
        said.truncate(4);
        let said = match said.is_empty() {
            true => String::new(),
            false => format!("; said by the program, not checked: {}", said.join(", ")),
        };
        Some(format!(
            "{program}: first answer {first} after its start, then {warmup} of warm-up (medians); {processes}, {threads}{lost}{said}."
        ))
    };
    all.iter().filter_map(line).collect()
}

/// Why the first quantile that is missing is missing, and what would give it.
fn missing_quantile(set: &ResultSet, rows: &[&Row], names: &[&str]) -> String {
    let lacks = |row: &&Row| {
        let times = row.cell.times()?;
        names.iter().find_map(|name| {
            let metric = times.get(*name).filter(|metric| metric.value.is_none())?;
            Some((*name, samples(metric.reason.as_deref()?)?))
        })
    };
    match rows.iter().find_map(lacks) {
        Some((name, (needed, had))) => format!(
            "too few samples; {name} needs {} (had {}): use {}.",
            text::grouped(needed),
            text::grouped(had),
            for_samples(set, needed, had)
        ),
        None => "too few samples.".to_owned(),
    }
}

/// Why there is no ratio, and what the clock is in the figures.
fn places(set: &ResultSet, blocks: &[&Block]) -> Vec<String> {
    let compared = blocks.iter().copied().filter(|block| block.reference.is_some());
    let mut rivals = compared.flat_map(|block| &block.rows);
    let mut lines = Vec::new();
    let is_short = |row: &Row| matches!(row.relation, Some(Relation::TooFewPairs(_)));
    if rivals.any(is_short) {
        lines.push(format!("No ratio with fewer than {FEWEST_ROUNDS} rounds of both."));
    }
    let is_mixed = |block: &&Block| {
        let alone = block.rows.iter().filter(|row| row.relation.is_some());
        let mut alone = alone.map(|row| is_timed_alone(row.cell));
        let first = alone.next();
        alone.any(|other| Some(other) != first)
    };
    let mixed = blocks.iter().filter(|block| is_mixed(block)).flat_map(|block| &block.rows);
    let clock = mixed.map(|row| clock_share(row.cell, &set.clock)).fold(0.0, f64::max);
    if clock > 0.0 {
        lines.push(format!(
            "Figures without ^ include up to {} of reading the clock, which makes no difference to one that has ^.",
            figures::nanos(clock)
        ));
    }
    lines
}

/// What timed ways and changed messages mean.
fn special(rows: &[&Row], shown: &[Column]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut timed = rows.iter().filter_map(|row| row.cell.one_way_ns.as_ref());
    let is_shown = shown.contains(&Column::OneWay);
    if is_shown && timed.any(|way| way.bound_ns.is_some() && way.reason.is_none()) {
        lines.push(
            "one way is from lead to follow, median; +- is how well the difference of the two CPUs' counters is known. The \
             other figures of such a cell contain the reading of two more clocks."
                .to_owned(),
        );
    }
    let by_figure = rows.iter().filter(|row| row.kind != MetricKind::Cpu);
    let refused = text::in_groups(by_figure.filter_map(|row| {
        let way = row.cell.one_way_ns.as_ref()?;
        Some((way.reason.as_deref()?, row.cell.id.as_str()))
    }));
    lines.extend(refused.iter().map(|(reason, who)| match who.as_slice() {
        [one] => format!("No one-way figure for {one}: {reason}."),
        all => format!("No one-way figure for {} cells: {reason}.", all.len()),
    }));
    let payloads = rows.iter().filter_map(|row| row.cell.key.load.payload.as_ref());
    let sources = text::each_once(payloads.map(PayloadFile::sentence));
    let changed = |row: &&Row| {
        let cost = row.cell.transform.as_ref()?;
        let (size, how) = match cost.ratio {
            // A checksum is added to the message.
            ratio if ratio < 1.0 => (figures::plain(1.0 / ratio), "longer"),
            ratio => (figures::plain(ratio), "shorter"),
        };
        let payload = row.cell.key.load.payload.as_ref();
        let whose = payload.map(|one| format!(" of {}", one.file)).unwrap_or_default();
        let (name, library) = (&cost.name, &cost.library);
        Some(format!("{name} by {library} makes messages{whose} {size} times {how}"))
    };
    let named = text::each_once(rows.iter().filter_map(changed));
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

/// How the tables of CPU time are to be read.
fn costs(chapters: &[Chapter], shown: &[Column]) -> Option<String> {
    let mut rows = chapters
        .iter()
        .filter(|chapter| chapter.kind == MetricKind::Cpu)
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| &section.blocks)
        .flat_map(|block| &block.rows)
        .filter_map(|row| Some((row.cell.key.pattern, row.cell.cpu_ns_per_message.as_ref()?)));
    let (pattern, cost) = rows.next()?;
    let (head, each) = match pattern.facts().figure {
        Figure::Requests => ("CPU/req", "request"),
        _ => ("CPU/msg", "message"),
    };
    let split = if cost.split_is_approximate {
        " (an estimate: this kernel divides CPU time by ticks)"
    } else {
        ""
    };
    let guest = if cost.excludes_hypervisor { " Hypervisor CPU time is not included." } else { "" };
    let parts = match shown.contains(&Column::User) {
        true => format!(" user and system are the parts of {head}{split}."),
        false => String::new(),
    };
    let machine = match shown.contains(&Column::Machine) {
        true => format!(
            " machine is the busy time of all CPUs for one {each}, less what they are busy anyway; it needs longer slices \
             than the rest."
        ),
        false => String::new(),
    };
    let words = format!("{parts}{machine}{guest}");
    (!words.is_empty()).then(|| words.trim_start().to_owned())
}

/// What stands in the column of the uncertainty.
fn spread_words(row: &Row) -> String {
    let column = match row.kind {
        MetricKind::Cpu => Column::CpuSpread,
        _ => Column::Spread,
    };
    column.cell(row, true)
}

/// What the bound columns are multiples of.
fn bounds(rows: &[&Row]) -> Option<String> {
    let words = |row: &&Row| {
        let bound = row.cell.bound.as_ref()?;
        // A stream is held against bytes whatever its messages are.
        let value = figures::of(row.cell.key.pattern.facts().figure, bound.value, 1);
        Some(match bound.name.as_str() {
            "cacheline_rtt_ns" => {
                format!("a cache-line round trip on {:#} {value}", row.cell.key.placement)
            }
            "futex_wake_rtt_ns" => {
                format!("a futex wake-up round trip on {:#} {value}", row.cell.key.placement)
            }
            name => format!("{name} {value}"),
        })
    };
    let named = text::each_once(rows.iter().filter_map(words));
    (!named.is_empty()).then(|| format!("Bounds of this machine: {}.", named.join(", ")))
}
