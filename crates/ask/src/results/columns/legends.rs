//! Sentences below tables about columns of theirs that depend on what is in them.

use super::column::{Tables, sentence};
use super::heads;
use crate::results::chapters::Row;
use ipcperf_core::result::{Cell, CpuCost, ProgramEnd};
use ipcperf_core::{Figure, PatternKind};
use ipcperf_judge::{MetricKind, figures};
use ipcperf_render::text;

/// What CPU time is of, unless all are requests.
pub(super) fn cost_of_messages(tables: &Tables<'_>) -> Vec<String> {
    let is_request = |row: &Row<'_>| row.cell.key.pattern.facts().figure == Figure::Requests;
    let words = "CPU/msg is the CPU time of both ends for one message in one direction.";
    sentence(!tables.rows().all(is_request), words)
}

/// What the CPU time has as parts.
pub(super) fn parts_of_cost(tables: &Tables<'_>) -> Vec<String> {
    let words = |(pattern, cost): (PatternKind, &CpuCost)| {
        let split = match cost.split_is_approximate {
            true => " (an estimate: this kernel divides CPU time by ticks)",
            false => "",
        };
        format!("user and system are the parts of {}{split}.", heads::cost(pattern))
    };
    tables.first_cost().map(words).into_iter().collect()
}

/// What the busy time of the machine is.
pub(super) fn machine(tables: &Tables<'_>) -> Vec<String> {
    let words = |(pattern, _): (PatternKind, &CpuCost)| {
        let each = match pattern.facts().figure {
            Figure::Requests => "request",
            Figure::Time | Figure::Throughput => "message",
        };
        format!(
            "machine is the busy time of all CPUs for one {each}, less what they are busy anyway; it needs longer slices \
             than the rest."
        )
    };
    tables.first_cost().map(words).into_iter().collect()
}

/// What programs at the place of the follow are held against, and what they were.
pub(super) fn of_ours(tables: &Tables<'_>) -> Vec<String> {
    let own = "of ours is a program's figure over that of our own follow in the same rounds, with the 95 % interval: what the \
               program and its runtime add.";
    std::iter::once(own.to_owned()).chain(programs(tables)).collect()
}

/// What neighbours did, and what their cells are held against.
pub(super) fn of_alone(tables: &Tables<'_>) -> Vec<String> {
    let did = tables.rows().filter_map(|row| {
        let (neighbour, load) =
            (row.cell.key.load.neighbour.as_ref()?, row.cell.neighbour.as_ref()?);
        let cpus = load.cpus.value?;
        Some(match neighbour.work.dose() {
            Some(_) => {
                let rate = text::grouped(load.per_second.value?.round() as u64);
                format!("{neighbour} did {rate} {} per second on {cpus:.2} CPUs", load.unit)
            }
            None => format!("{neighbour} used {cpus:.2} CPUs"),
        })
    });
    let did = text::join(&text::each_once(did));
    vec![format!(
        "of alone is the figure with a neighbour over that of the same cell without one, within rounds, with a 95 % \
         interval: {did}."
    )]
}

/// What libraries are held against.
pub(super) fn of_bare(tables: &Tables<'_>) -> Vec<String> {
    let bare = tables.rows().filter_map(|row| Some(row.cell.of_bare.as_ref()?.mechanism.clone()));
    let bare = text::join(&text::each_once(bare));
    vec![format!(
        "of bare is a library's figure as a multiple of that of the mechanism which it is built on ({bare}), within \
         rounds, with a 95 % interval."
    )]
}

/// What the way from lead to follow is, where it is known.
pub(super) fn one_way(tables: &Tables<'_>) -> Vec<String> {
    let mut timed = tables.rows().filter_map(|row| row.cell.one_way_ns.as_ref());
    sentence(
        timed.any(|way| way.bound_ns.is_some() && way.reason.is_none()),
        "one way is from lead to follow, median; +- is how well the difference of the two CPUs' counters is known. The \
         other figures of such a cell contain the reading of two more clocks.",
    )
}

/// What changed messages cost, and by how much they became shorter.
pub(super) fn transform(tables: &Tables<'_>) -> Vec<String> {
    let mut payloads = tables.rows().filter_map(|row| row.cell.key.load.payload.as_ref());
    let made = match payloads.next() {
        None => "Half of the bytes of every message are random: ",
        Some(_) => "With these contents ",
    };
    let changed = |row: &Row<'_>| {
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
    let named = text::each_once(tables.rows().filter_map(changed));
    vec![format!(
        "transform is the time that changing a message and changing it back take by themselves; all other figures \
         contain it. {made}{}.",
        named.join("; ")
    )]
}

/// How each program at the place of the follow began, and what it was: medians over all rounds.
fn programs(tables: &Tables<'_>) -> Vec<String> {
    let by_figure = tables.rows().filter(|row| row.kind != MetricKind::Cpu);
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

/// What the bound columns are multiples of.
pub(super) fn bounds(tables: &Tables<'_>) -> Vec<String> {
    let words = |row: &Row<'_>| {
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
    let named = text::each_once(tables.rows().filter_map(words));
    sentence(!named.is_empty(), &format!("Bounds of this machine: {}.", named.join(", ")))
}
