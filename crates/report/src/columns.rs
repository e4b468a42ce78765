//! What a row can show, and in which order columns give way when the line is short.

use crate::Style;
use crate::chapters::{Chapter, Row, Section, label, marked_label};
use crate::figures::{self, NONE, or_none};
use crate::judge::MetricKind;
use crate::{text, words};
use ipcperf_core::result::{self, Cell, CpuCost, Metric};
use ipcperf_core::{self as core, Ends, Exchange, PatternFacts, PatternKind, Rated, Seat};
use ipcperf_stats::{Factor, Interval};
use std::collections::BTreeMap;

/// A column of a results table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Of lead and follow, where many were named.
    Cpus,
    Size,
    /// Of a fan.
    Peers,
    /// Connections that stay.
    Conns,
    Mechanism,
    /// What the rows are compared by.
    Figure,
    Spread,
    /// How many times slower or faster it is than the reference, with its interval, and what else may be said of it.
    Ratio,
    /// A program at the place of the follow over our own, with its interval.
    OfOurs,
    /// A library as a multiple of the bare mechanism that it is built on, with its interval.
    OfBare,
    /// Of all operations, beside the median.
    Mean,
    Messages,
    Bound,
    Quantile(&'static str),
    /// How much was asked for.
    Load,
    /// Messages due per second.
    Offered,
    /// Messages answered per second.
    Achieved,
    /// From when a message was sent, where the figure counts from when it was due.
    Service(&'static str),
    /// How evenly the peers of a fan were served.
    Fairness,
    /// What the peer of a fan had that was served least.
    Least,
    /// What the slowest consumer of a broadcast got per second.
    Slowest,
    /// How many messages a consumer of a broadcast had not read yet.
    Behind,
    /// The way from lead to follow, and how far it may be off.
    OneWay,
    /// What changing a message and changing it back cost alone.
    Transform,
    Cpu,
    CpuSpread,
    User,
    System,
    Machine,
    Switches,
    Preempted,
    Faults,
    Ipis,
    Syscalls,
    Energy,
    /// Requests that failed.
    Errors,
    /// What was busy.
    Limit,
}

use Column::{
    Achieved, Behind, Bound, Conns, Cpu, CpuSpread, Cpus, Energy, Errors, Fairness, Faults, Figure,
    Ipis, Least, Limit, Load, Machine, Mean, Mechanism, Messages, OfBare, OfOurs, Offered, OneWay,
    Peers, Preempted, Quantile, Ratio, Service, Size, Slowest, Spread, Switches, Syscalls, System,
    Transform, User,
};

const P50: Column = Quantile("p50");
const P90: Column = Quantile("p90");
const P99: Column = Quantile("p99");
const P99_9: Column = Quantile("p99.9");
const MAX: Column = Quantile("max");
const SERVICE: [Column; 2] = [Service("p50"), Service("p99.9")];

/// Columns from left to right; a pattern has those that its facts give it.
const ORDER: &[Column] = &[
    Cpus, Size, Peers, Conns, Mechanism, Load, Offered, Achieved, Figure, Spread, Ratio, OfBare,
    OfOurs, Mean, OneWay, Transform, Bound, Messages, Slowest, Behind, Fairness, Least, P50, P90,
    P99, P99_9, MAX, SERVICE[0], SERVICE[1], Cpu, Limit, Errors, Switches, Ipis, Syscalls,
];

/// The same of a table of costs.
const COST: &[Column] = &[
    Cpus, Size, Peers, Conns, Mechanism, Cpu, CpuSpread, Ratio, User, System, Machine, Switches,
    Preempted, Faults, Ipis, Syscalls, Energy, Figure,
];

/// The order in which columns are given room, while they fit. Columns that a flag asked for come first, then the ratio to
/// the reference, then the tail.
const KEEP: &[Column] = &[
    Load, Bound, OneWay, Transform, Ratio, Limit, Errors, P50, P99, Cpu, Mean, Offered, Slowest,
    Behind, Fairness, Least, Messages, P99_9, Achieved, SERVICE[0], SERVICE[1], Switches, P90, MAX,
    Ipis, Syscalls,
];
const KEEP_COST: &[Column] =
    &[Ratio, User, System, Machine, Figure, Switches, Faults, Preempted, Syscalls, Energy, Ipis];

/// What is never dropped: a figure without its uncertainty says too much, and what a program or a library makes of it is what
/// was asked for. Long names are clipped for it.
pub(crate) const fn always(kind: MetricKind) -> &'static [Column] {
    match kind {
        MetricKind::Cpu => &[Cpus, Size, Peers, Conns, Mechanism, Cpu, CpuSpread],
        _ => &[Cpus, Size, Peers, Conns, Mechanism, Figure, Spread, OfOurs, OfBare],
    }
}

/// All columns of a table, left to right. Without rivals at any size there is no ratio to show.
fn all(chapter: &Chapter, style: &Style) -> Vec<Column> {
    let Chapter { pattern, kind, sections, .. } = chapter;
    let columns = match kind {
        MetricKind::Primary(_) | MetricKind::P99 | MetricKind::Above(_) => ORDER,
        MetricKind::Cpu => COST,
    };
    let blocks: Vec<_> = sections.iter().flat_map(|section| &section.blocks).collect();
    let has_rivals = blocks.iter().any(|block| block.reference.is_some());
    let any = |has: &dyn Fn(&Cell) -> bool| {
        blocks.iter().flat_map(|block| &block.rows).any(|row| has(row.cell))
    };
    let is_shown = |column: &Column| match column {
        Cpus => has_many_named_cpus(sections),
        OfOurs => any(&|cell| !cell.key.load.is_ours()),
        OfBare => any(&|cell| cell.of_bare.is_some()),
        Bound => style.versus_bound,
        Ratio => has_rivals,
        OneWay => any(&|cell| cell.key.load.one_way),
        Transform => any(&|cell| cell.transform.is_some()),
        _ => true,
    };
    let belongs = |column: &Column| column.belongs(pattern.facts()) && is_shown(column);
    columns.iter().copied().filter(belongs).collect()
}

/// `1.50x [1.48, 1.53]`; without an interval where there are too few rounds.
fn beside(other: &result::Beside) -> String {
    let with = |[low, high]: [f64; 2]| {
        figures::factor(Factor { ratio: other.ratio, interval: Interval { low, high } })
    };
    other.ci95.map_or_else(|| figures::times(other.ratio), with)
}

/// Longest head of a ratio, in characters: as long as most ratios are.
const LONGEST_HEAD: usize = 24;

/// Where a ratio and its interval end, and what is said of the margin begins.
const WITHIN: &str = "] (within";

/// The head of the column of ratios: `vs unix-stream`, or [`words::VERSUS`] where its rows differ in it, or its name is long.
pub(crate) fn ratio_head(chapter: &Chapter) -> String {
    let blocks = chapter.sections.iter().flat_map(|section| &section.blocks);
    let references = blocks.filter_map(|block| block.reference.map(label));
    match text::each_once(references).as_slice() {
        [one] if text::width(one) + 3 <= LONGEST_HEAD => format!("vs {one}"),
        _ => words::VERSUS.to_owned(),
    }
}

/// The heads of all columns that tables of a pattern can have.
#[cfg(test)]
pub(crate) fn every(pattern: PatternKind, style: &Style) -> Vec<String> {
    let all = ORDER.iter().chain(COST).filter(|column| column.belongs(pattern.facts()));
    all.map(|column| column.head(pattern, style)).collect()
}

/// Whether the CPUs of lead and follow are a column: so many pairs were named that tables of their own would be a list of
/// headings.
fn has_many_named_cpus(sections: &[Section]) -> bool {
    let is_next = |two: &&[Section]| two[0].way.differs_in_named_cpus(&two[1].way);
    sections.windows(2).filter(is_next).count() > 1
}

/// Those of its columns that have a figure; one without any gives its room to the next.
pub(crate) fn shown(chapter: &Chapter, style: &Style) -> Vec<Column> {
    let blocks = || chapter.sections.iter().flat_map(|section| &section.blocks);
    let has_figure = |column: &Column| {
        let mut rows = blocks().flat_map(|block| &block.rows);
        rows.any(|row| !["", NONE].contains(&column.cell(row, true).as_str()))
    };
    let mut columns = all(chapter, style);
    columns.retain(|column| always(chapter.kind).contains(column) || has_figure(column));
    columns
}

/// The columns that may be dropped, the most wanted first.
pub(crate) const fn wanted(kind: MetricKind) -> &'static [Column] {
    match kind {
        MetricKind::Primary(_) | MetricKind::P99 | MetricKind::Above(_) => KEEP,
        MetricKind::Cpu => KEEP_COST,
    }
}

impl Column {
    /// Whether a pattern with these facts can have it.
    fn belongs(self, facts: &PatternFacts) -> bool {
        let is_crowd = matches!(facts.ends, Ends::Many(_));
        let is_connected = facts.ends == Ends::Connected;
        match self {
            Load => facts.is_open,
            Offered | Service(_) => facts.is_open || is_connected,
            Conns | Limit => is_connected,
            // The sender of an open loop watches the clock with what is left of the CPU time.
            Ratio | Cpu | Switches => !facts.is_open,
            Ipis | Syscalls => !facts.is_open && facts.ends != Ends::Clients && !is_connected,
            Peers => is_crowd,
            // Each consumer of a broadcast gets the same.
            Fairness | Least => (is_crowd && !facts.to_each) || is_connected,
            Slowest | Behind => facts.to_each,
            Bound => facts.bound.is_some(),
            // A curve is about its tail.
            Mean => facts.figure == core::Figure::Time && !facts.is_open,
            Achieved => facts.rate == Some(Rated::Answered),
            Messages => facts.rate == Some(Rated::Arrived),
            Errors => facts.exchange == Exchange::Request,
            Quantile("p50") => facts.figure == core::Figure::Requests,
            Quantile("p90") => !facts.is_open && facts.figure != core::Figure::Throughput,
            Quantile(_) => is_crowd || facts.figure != core::Figure::Throughput,
            _ => true,
        }
    }

    /// Its heading.
    pub(crate) fn head(self, pattern: PatternKind, style: &Style) -> String {
        let figure = pattern.facts().figure;
        let is_time = figure == core::Figure::Time;
        let text = match self {
            Cpus => "CPUs",
            Size => "size",
            Peers => "peers",
            Conns => "conns",
            Mechanism => "mechanism",
            Figure if is_time => "p50",
            Figure => "rate",
            Spread | CpuSpread if style.unicode => "±",
            Spread | CpuSpread => "+/-",
            Mean => "mean",
            Messages => "messages",
            Ratio => words::VERSUS,
            OfOurs => "of ours",
            OfBare => "of bare",
            Bound if is_time => "x bound",
            Bound => "of bound",
            Quantile(name) => match pattern.many() {
                Some(Seat::Lead) => return format!("{name} send"),
                Some(Seat::Follow) => return format!("{name} recv"),
                None => name,
            },
            Load => "load",
            Offered => "offered",
            Achieved => "achieved",
            Service(name) => return format!("service {name}"),
            Fairness => "Jain",
            Least => "least",
            Slowest => "slowest",
            Behind => "behind",
            OneWay => "one way",
            Transform => "transform",
            Cpu if figure == core::Figure::Requests => "CPU/req",
            Cpu => "CPU/msg",
            User => "user",
            System => "system",
            Machine => "machine",
            Preempted => "preempted",
            Faults => "faults",
            Energy => "energy",
            Errors => "errors",
            Limit => "limit",
            Switches => "switches",
            Ipis => "IPIs",
            Syscalls => "syscalls",
        };
        text.to_owned()
    }

    /// Numbers stand at the right edge.
    pub(crate) const fn is_number(self) -> bool {
        !matches!(self, Mechanism | Ratio | Limit)
    }

    /// What a row shows in it. The size is the first row's alone.
    pub(crate) fn cell(self, row: &Row<'_>, is_first: bool) -> String {
        let cell = row.cell;
        let count = |value: Option<f64>| or_none(value, figures::count);
        let metric = |metric: &Option<Metric>, words: fn(f64) -> String| {
            or_none(metric.as_ref().and_then(|metric| metric.value), words)
        };
        let cost =
            |words: &dyn Fn(&CpuCost) -> String| or_none(cell.cpu_ns_per_message.as_ref(), words);
        match self {
            Size if is_first => figures::size(cell.key.size_bytes),
            Peers if is_first => cell.key.load.peers.to_string(),
            Conns if is_first => cell.key.load.conns.to_string(),
            Cpus if is_first => cell.key.placement.to_string(),
            Cpus | Size | Peers | Conns => String::new(),
            // A curve has one name.
            Mechanism if cell.key.pattern.facts().is_open && !is_first => String::new(),
            Mechanism if row.is_floor => format!("{} (floor)", label(cell)),
            Mechanism => marked_label(cell),
            Figure => {
                let kind = MetricKind::of(cell.key.pattern);
                let Some(value) = cell.figure().and_then(|metric| metric.value) else {
                    return cell.figure().map_or(NONE, why).to_owned();
                };
                format!("{}{}", kind.words(value, cell.key.size_bytes), mark(cell))
            }
            // A value that was not confirmed has no interval.
            Spread | CpuSpread if cell.is_unconfirmed() => NONE.to_owned(),
            Spread => {
                let unit = MetricKind::of(cell.key.pattern).unit(cell.key.size_bytes);
                or_none(row.metric(), |metric| figures::spread(metric, unit))
            }
            Ratio => or_none(row.relation, |relation| {
                let words = relation.words(row.margin);
                // The addition `within 10 %` has a line of its own.
                words.split_once(WITHIN).map_or(words.clone(), |(first, _)| format!("{first}]"))
            }),
            OfOurs => or_none(cell.of_ours.as_ref(), beside),
            OfBare => or_none(cell.of_bare.as_ref(), beside),
            Mean => quantile(cell.rtt_ns.as_ref(), "mean"),
            Messages => metric(&cell.messages_per_second, figures::per_second),
            Load => or_none(cell.key.load.rate, |rate| rate.to_string()),
            Offered => metric(&cell.offered_per_second, figures::per_second),
            Achieved => metric(&cell.achieved_per_second, figures::per_second),
            Service(name) => quantile(cell.service_ns.as_ref(), name),
            Bound => or_none(cell.bound.as_ref(), |bound| figures::times(bound.ratio)),
            Quantile("p50")
                if cell.times().and_then(|all| all.get("p50")).is_some_and(is_saturated) =>
            {
                SATURATED.to_owned()
            }
            Quantile(name) => quantile(cell.times(), name),
            OneWay => cell.one_way_ns.as_ref().and_then(one_way).unwrap_or_else(|| NONE.to_owned()),
            Transform => or_none(cell.transform.as_ref(), |cost| {
                figures::nanos(cost.compress_ns + cost.decompress_ns)
            }),
            Cpu => metric(&cell.cpu_ns_per_message.as_ref().map(CpuCost::figure), figures::nanos),
            CpuSpread => cost(&|cost| figures::spread(&cost.figure(), figures::NANOS)),
            User => cost(&|cost| figures::nanos(cost.user)),
            System => cost(&|cost| figures::nanos(cost.system)),
            Machine => metric(&cell.machine_cpu_ns_per_message, figures::nanos),
            Energy => metric(&cell.energy_nj_per_message, figures::nanojoules),
            Preempted => count(cell.involuntary_switches_per_message),
            Faults => count(cell.page_faults_per_message),
            Fairness => or_none(cell.jain().and_then(|jain| jain.value), figures::index),
            Least => {
                let fan = cell.fan.as_ref().map(|fan| &fan.least_share);
                let least = fan.or_else(|| cell.serve.as_ref().map(|serve| &serve.least_share));
                or_none(least.and_then(|least| least.value), figures::share)
            }
            Slowest => {
                let fan = cell.fan.as_ref();
                metric(&fan.and_then(|fan| fan.slowest_per_second.clone()), figures::per_second)
            }
            Behind => {
                let behind = cell.fan.as_ref().and_then(|fan| fan.behind.as_ref()?.value);
                or_none(behind, |messages| text::grouped(messages.round() as u64))
            }
            Limit => or_none(cell.serve.as_ref(), |serve| serve.limit.clone()),
            Switches => count(cell.context_switches_per_message),
            Ipis => count(cell.ipis_per_message),
            Syscalls => count(cell.syscalls_per_message),
            // A connection that stays hardly ever fails: only then it is shown.
            Errors if cell.serve.is_some() && cell.lost == 0 => NONE.to_owned(),
            Errors => text::grouped(cell.lost),
        }
    }

    /// The second line of a row: of rounds that fell into two modes, and of a ratio that is within the margin.
    pub(crate) fn second(self, row: &Row<'_>) -> String {
        let modes = row.metric().map(|metric| metric.modes.as_slice()).unwrap_or_default();
        match (self, other_mode(row)) {
            (Ratio, _) => {
                let words = row.relation.map(|relation| relation.words(row.margin));
                let words = words.unwrap_or_default();
                words.find(WITHIN).map_or_else(String::new, |at| words[at + 2..].to_owned())
            }
            (Figure, Some(other)) => {
                let kind = MetricKind::of(row.cell.key.pattern);
                format!("{}*", kind.words(other.0, row.cell.key.size_bytes))
            }
            (Mechanism, Some(other)) => {
                let rounds: u64 = modes.iter().map(|mode| mode.rounds).fold(0, u64::saturating_add);
                format!("  in {} of {}", text::grouped(other.1), text::counted(rounds, "round"))
            }
            _ => String::new(),
        }
    }
}

fn quantile(table: Option<&BTreeMap<String, Metric>>, name: &str) -> String {
    let Some(metric) = table.and_then(|quantiles| quantiles.get(name)) else {
        return NONE.to_owned();
    };
    match metric.value {
        Some(value) => figures::nanos(value),
        None if why(metric) == LOST => LOST.to_owned(),
        None => NONE.to_owned(),
    }
}

/// Answers that never came are slower than any figure.
const LOST: &str = "lost";

/// Messages came faster than they were answered.
pub(crate) const SATURATED: &str = "saturated";

fn is_saturated(metric: &Metric) -> bool {
    why(metric) == SATURATED
}

/// The word for a missing figure, where there is one.
fn why(metric: &Metric) -> &'static str {
    match metric.reason.as_deref() {
        Some(LOST) => LOST,
        Some(SATURATED) => SATURATED,
        _ => NONE,
    }
}

/// The mode that is not the row's figure: value and rounds.
pub(crate) fn other_mode(row: &Row<'_>) -> Option<(f64, u64)> {
    other_mode_of(row.metric()?)
}

/// The mode that is not what a cell is ordered by: `190 ns in 3 of 7 rounds`.
pub(crate) fn other_mode_words(cell: &Cell, kind: MetricKind) -> Option<String> {
    let metric = kind.of_cell(cell)?;
    let (value, rounds) = other_mode_of(metric)?;
    let all = metric.modes.iter().map(|mode| mode.rounds).fold(0, u64::saturating_add);
    let words = kind.words(value, cell.key.size_bytes);
    Some(format!("{words} in {} of {}", text::grouped(rounds), text::counted(all, "round")))
}

/// The mode of a metric that is not its value: value and rounds.
pub(crate) fn other_mode_of(metric: &Metric) -> Option<(f64, u64)> {
    let value = metric.value?;
    if metric.modes.len() < 2 {
        return None;
    }
    let distance = |mode: f64| (mode - value).abs();
    let other =
        metric.modes.iter().max_by(|a, b| distance(a.value).total_cmp(&distance(b.value)))?;
    Some((other.value, other.rounds))
}

/// `3.10 us +-0.05`: the median and its uncertainty in one unit. A plain sign, so that the bound is never taken for an
/// interval.
fn one_way(way: &result::OneWay) -> Option<String> {
    let value = way.quantiles.get("p50")?.value?;
    let words = figures::nanos(value);
    let (_, unit) = words.rsplit_once(' ')?;
    let scale = figures::NANOS.iter().find(|(_, name)| *name == unit)?.0;
    let bound = way.bound_ns?;
    Some(format!("{words} +-{}", figures::bound(bound / scale)))
}

/// Signs after the figure; the legend explains them.
pub(crate) fn mark(cell: &Cell) -> &'static str {
    let is_batch = cell.timing.as_ref().is_some_and(|timing| timing.mode == "batch");
    match (cell.figure().is_some_and(|metric| metric.modes.len() > 1), is_batch) {
        (true, _) => words::TWO_MODES,
        (false, true) if cell.key.pattern.facts().figure == core::Figure::Time => words::BATCH,
        _ => "",
    }
}
