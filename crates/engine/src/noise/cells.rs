//! Findings about the machine that the rounds of the cells show.

use super::neighbour;
use crate::slice::crowd::STRANGER;
use ipcperf_core::findings::{self, Row};
use ipcperf_core::result::{
    Cell, CellKey, Connections, CoreKind, Finding, Metric, OperationMode, Round, Shortage, Status,
};
use ipcperf_core::units::{counted, format_nanos, format_per_second, format_size, percent};
use ipcperf_core::{Closes, Exchange, KnobValue, Load, Placement, Seat, Wait};
use ipcperf_stats::{relative_drift, robust_cv, trend_z};
use ipcperf_sys::limits;
use std::collections::{BTreeMap, BTreeSet};

/// What an operation may take longer than the others without a finding, ns. The longest that the kernel's own timers hold up
/// what nobody lost is 200 ms (the shortest timeout of TCP, `TCP_RTO_MIN`).
pub(crate) const LONGEST_NS: f64 = 200e6;

/// The figure of every accepted round.
fn accepted(cell: &Cell) -> impl Iterator<Item = f64> {
    let rounds = cell.rounds.iter().filter(|round| round.rejected.is_none());
    rounds.filter_map(|round| cell.figure_of(round))
}

/// Spread of the rounds of the larger mode. One round has no spread.
pub(super) fn spread(cell: &Cell) -> Option<f64> {
    accepted(cell).nth(1)?;
    let centre = cell.figure()?;
    let mode = |value| nearest_mode(centre, value);
    let speaks = |value: &f64| {
        centre.modes.len() < 2 || mode(*value) == mode(centre.value.unwrap_or(*value))
    };
    robust_cv(&accepted(cell).filter(speaks).collect::<Vec<_>>())
}

fn nearest_mode(metric: &Metric, value: f64) -> Option<usize> {
    let distance = |mode: f64| (mode.ln() - value.ln()).abs();
    (0..metric.modes.len()).min_by(|a, b| {
        distance(metric.modes[*a].value).total_cmp(&distance(metric.modes[*b].value))
    })
}

pub(super) fn two_modes(cell: &Cell) -> Option<Finding> {
    let [low, high] = cell.figure()?.modes.as_slice() else { return None };
    let format = |value: f64| cell.key.pattern.facts().figure.words(value, cell.key.size_bytes);
    let modes = format!(
        " ({} near {}, {} near {})",
        low.rounds,
        format(low.value),
        high.rounds,
        format(high.value)
    );
    let finding = findings::MULTIMODAL.measured(high.value / low.value, &[&cell.id, &modes]);
    Some(finding.of([cell]))
}

/// Cells whose single operations fall into modes: neither median nor mean describes them all.
pub(super) fn operation_modes(cells: &[Cell]) -> Option<Finding> {
    let measured = cells.iter().filter(|cell| cell.status == Status::Ok).count();
    let slowest = |cell: &Cell| cell.operation_modes.last().copied();
    let hit: Vec<(&Cell, OperationMode)> =
        cells.iter().filter_map(|cell| Some((cell, slowest(cell)?))).collect();
    // The more its share of the time exceeds its share of the operations, the more the median hides.
    let hidden = |mode: &OperationMode| mode.time_share - mode.share;
    let (worst, mode) = hit.iter().max_by(|a, b| hidden(&a.1).total_cmp(&hidden(&b.1)))?;
    let fastest = worst.operation_modes.first()?;
    let some = format!("{} of {measured}", hit.len());
    let detail = format!(
        " (worst: {}, {:.0} % near {}, {:.0} % near {} in {:.0} % of the time)",
        worst.id,
        fastest.share * 100.0,
        format_nanos(fastest.value),
        mode.share * 100.0,
        format_nanos(mode.value),
        mode.time_share * 100.0,
    );
    let remedy = match worst.key.wait {
        Wait::SpinThenBlock => {
            "measure with your program's pauses (--think), during which the mechanism falls asleep"
        }
        _ => "look for other work on the CPUs; if idle CPUs sleep at times, try --idle poll",
    };
    let ratio = mode.value / fastest.value;
    let finding = findings::OPMODES.measured(ratio, &[&some, &detail, remedy]);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// How much more a channel carries after a warm-up than while it is new, where both were measured, their intervals are apart, and
/// the difference is the largest.
pub(super) fn fresh(cells: &[Cell]) -> Option<Finding> {
    let new = cells.iter().filter(|cell| cell.key.load.fresh > 0);
    let pairs = new.filter_map(|cell| {
        let key = CellKey { load: Load { fresh: 0, ..cell.key.load.clone() }, ..cell.key.clone() };
        let warm = cells.iter().find(|other| other.key == key && other.knobs == cell.knobs)?;
        let of = |cell: &Cell| cell.figure().and_then(|figure| Some((figure.value?, figure.ci95?)));
        let ((rate, [_, most]), (warm_rate, [least, _])) = (of(cell)?, of(warm)?);
        (least > most).then_some((warm_rate / rate, cell, warm))
    });
    let (ratio, cell, warm) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let size = format_size(cell.key.load.fresh);
    let detail = format!(" ({}, the first {size})", cell.id);
    let finding = findings::FRESH.measured(ratio, &[&cell.key.mechanism, &detail]);
    Some(finding.of([cell, warm]))
}

pub(super) fn unstable(spreads: &[(&Cell, f64)]) -> Option<Finding> {
    let is_wide = |(_, spread): &&(&Cell, f64)| findings::UNSTABLE.is_passed(*spread);
    let wide: Vec<_> = spreads.iter().filter(is_wide).collect();
    let worst = wide.iter().map(|(_, spread)| *spread).reduce(f64::max)?;
    let some = format!("{} of {}", wide.len(), spreads.len());
    let detail = format!(" (worst: {})", percent(worst));
    let finding = findings::UNSTABLE.measured(worst, &[&some, &detail]);
    Some(finding.of(wide.iter().map(|(cell, _)| *cell)))
}

pub(super) fn rejections(cells: &[Cell]) -> Vec<Finding> {
    [
        findings::IMPOSSIBLE,
        findings::MOVED,
        findings::TRACED,
        findings::MIGRATE,
        findings::THROTTLE,
        findings::CLOCKJUMP,
    ]
    .into_iter()
    .filter_map(|row| {
        let hit: Vec<(&Cell, &str)> = cells
            .iter()
            .flat_map(|cell| cell.rounds.iter().map(move |round| (cell, round)))
            .filter_map(|(cell, round)| Some((cell, row.reason(round.rejected.as_ref()?)?)))
            .collect();
        let (cell, reason) = hit.first()?;
        let detail = format!(" (first: {}: {reason})", cell.id);
        let were = if hit.len() == 1 { "was" } else { "were" };
        let slices = format!("{} {were}", counted(hit.len() as u64, "slice"));
        let finding = row.measured(hit.len() as f64, &[&slices, &detail]);
        let mut finding = finding.of(hit.iter().map(|(cell, _)| *cell));
        finding.cells.dedup();
        Some(finding)
    })
    .collect()
}

/// Ends that sat on different kinds of cores though nobody asked for it: the scheduler put them there, or no other pair has
/// the placement. Who names CPUs means them.
pub(super) fn mixed(cells: &[Cell], kinds: &[CoreKind]) -> Option<Finding> {
    let kind = |cpu: usize| kinds.iter().position(|kind| kind.cpus.contains(&cpu));
    let are_mixed = |round: &&Round| {
        let sides = [&round.covariates.lead, &round.covariates.follow];
        let [lead, follow] = sides.map(|side| side.cpu.and_then(kind));
        round.rejected.is_none() && lead.zip(follow).is_some_and(|(lead, follow)| lead != follow)
    };
    let is_asked = |place: Placement| place == Placement::CrossKind || place.named().is_some();
    let cells = cells.iter().filter(|cell| !is_asked(cell.key.placement));
    let count = |cell: &Cell| cell.rounds.iter().filter(are_mixed).count() as u64;
    let hit: Vec<(&Cell, u64)> =
        cells.map(|cell| (cell, count(cell))).filter(|(_, count)| *count > 0).collect();
    let (first, _) = hit.first()?;
    let all: u64 = hit.iter().map(|(_, count)| count).sum();
    let slices = format!("{} {}", counted(all, "slice"), if all == 1 { "was" } else { "were" });
    let finding =
        findings::KINDS.measured(all as f64, &[&slices, &format!(" (first: {})", first.id)]);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// Page faults in timed regions: memory that was not resident. A few per slice have other causes: the kernel moves a page, or
/// unmaps it to see whether it is used.
pub(super) fn faults(cells: &[Cell]) -> Option<Finding> {
    let hit: Vec<(&Cell, u64)> = cells
        .iter()
        .filter_map(|cell| {
            let worst = cell
                .rounds
                .iter()
                .map(|round| {
                    round.covariates.lead.minor_faults.max(round.covariates.follow.minor_faults)
                })
                .max()?;
            findings::FAULT.is_passed(worst as f64).then_some((cell, worst))
        })
        .collect();
    let (cell, worst) = hit.iter().max_by_key(|(_, worst)| *worst)?;
    let finding = findings::FAULT.measured(*worst as f64, &[&format!(" ({})", cell.id)]);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// How long an end of a spinning cell was ready but not running, and how long it was watched, ns, by cell. Only of
/// spinning ends: a blocked one is woken for every message, and on one CPU each waits for the other by nature.
fn waiting(cells: &[Cell]) -> Vec<(&Cell, [f64; 2])> {
    let waited = |cell: &Cell| {
        cell.rounds.iter().fold([0.0; 2], |[waited, ran], round| {
            // Where an end had to wait, the timed region may be a small part of what it was watched for.
            let watched = round.elapsed_ns.max(round.covariates.machine_window_ns as f64);
            let delays = Seat::BOTH.map(|end| neighbour::waited(cell, round, end));
            match delays.into_iter().flatten().max() {
                Some(delay) => [waited + watched.min(delay as f64), ran + watched],
                None => [waited, ran],
            }
        })
    };
    cells
        .iter()
        .filter(|cell| cell.status == Status::Ok && cell.key.wait == Wait::Spin)
        .map(|cell| (cell, waited(cell)))
        .filter(|(_, [_, ran])| *ran > 0.0)
        .collect()
}

/// Share of the time in which an end of a spinning cell was ready but not running. Of all their time together: a load
/// that comes in the middle of a run is in less than half of the rounds, and a median would not see it.
pub(super) fn load(cells: &[Cell]) -> Option<f64> {
    let all = waiting(cells).into_iter().map(|(_, times)| times);
    let [waited, ran] = all.reduce(|a, b| [a[0] + b[0], a[1] + b[1]])?;
    Some(waited / ran)
}

pub(super) fn loaded(cells: &[Cell]) -> Option<Finding> {
    let shares = waiting(cells).into_iter().map(|(cell, [waited, ran])| (cell, waited / ran));
    let hit: Vec<_> = shares.filter(|(_, share)| findings::LOAD.is_passed(*share)).collect();
    let worst = hit.iter().map(|(_, share)| *share).reduce(f64::max)?;
    let finding = findings::LOAD.measured(worst, &[]);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

pub(super) fn lost(cells: &[Cell]) -> Option<Finding> {
    let is_lost =
        |cell: &&Cell| cell.lost > 0 && cell.key.pattern.facts().exchange != Exchange::Request;
    let hit: Vec<_> = cells.iter().filter(is_lost).collect();
    let worst = hit.iter().max_by_key(|cell| cell.lost)?;
    let some = format!("{} of {}", worst.lost, worst.messages + worst.lost);
    let buffer = worst.knobs.keys().find(|name| name.ends_with(".rcvbuf"));
    let remedy = match buffer {
        Some(knob) => format!("larger receive buffers (--set {knob}=BYTES)"),
        None => "a mechanism that makes the sender wait".into(),
    };
    let place = format!(" in {}", worst.id);
    Some(findings::LOSS.measured(worst.lost as f64, &[&some, &place, &remedy]).of(hit))
}

/// Knobs of which the kernel granted less than usual: those of equal reasons in one finding.
pub(super) fn quotas(cells: &[Cell]) -> Vec<Finding> {
    let mut short: BTreeMap<_, (BTreeSet<&str>, Vec<&Cell>)> = BTreeMap::new();
    for cell in cells {
        for (name, knob) in &cell.knobs {
            if let (Some(shortage), Some(granted)) = (&knob.shortage, &knob.effective) {
                let Shortage { usual, reason, remedy } = shortage;
                let (names, hit) =
                    short.entry((granted.to_string(), *usual, reason, remedy)).or_default();
                names.insert(name);
                hit.push(cell);
            }
        }
    }
    let mut list = Vec::new();
    for ((granted, usual, reason, remedy), (names, hit)) in short {
        let detail = format!(
            ": {} is {granted}, not {} ({}), because {reason}",
            names.into_iter().collect::<Vec<_>>().join(", "),
            KnobValue::Number(usual),
            counted(hit.len() as u64, "cell"),
        );
        list.push(findings::QUOTA.found(&[&detail, remedy]).of(hit));
    }
    list
}

/// Slices that ended long before their time, so that few operations count.
pub(super) fn short(cells: &[Cell]) -> Option<Finding> {
    /// As the sentence of the finding says.
    const LIMIT: f64 = 0.5;
    let share = |cell: &Cell| {
        let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
        accepted.filter_map(|round| Some(round.elapsed_ns / round.planned_ns?)).reduce(f64::min)
    };
    let all = cells.iter().filter_map(|cell| Some((cell, share(cell)?)));
    let hit: Vec<(&Cell, f64)> = all.filter(|(_, share)| *share < LIMIT).collect();
    let (cell, least) = hit.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let detail = format!(" (shortest: {}, {:.0} %)", cell.id, least * 100.0);
    let finding = findings::SHORT.found(&[&counted(hit.len() as u64, "cell"), &detail]);
    let finding = finding.against(*least, LIMIT);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// Slices in which a process stood still: everything but a median includes it.
pub(super) fn stopped(cells: &[Cell]) -> Option<Finding> {
    let slices = cells.iter().flat_map(|cell| {
        let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
        accepted.filter_map(move |round| Some((cell, round, round.standstill.as_ref()?)))
    });
    let slices: Vec<_> = slices.collect();
    let (cell, round, longest) = slices.iter().max_by(|a, b| a.2.ns.total_cmp(&b.2.ns))?;
    let what = match (&longest.who, longest.ns > 0.0) {
        (Some(who), true) => {
            format!("a signal stopped {who} for at least {}", format_nanos(longest.ns))
        }
        (Some(who), false) => format!("a signal stopped {who} for a moment"),
        (None, _) => format!(
            "nothing moved for {}, and neither stolen time, a CPU limit nor other work explains it",
            format_nanos(longest.ns)
        ),
    };
    let planned = round.planned_ns.filter(|planned| round.elapsed_ns > 1.1 * planned);
    let took = planned.map_or_else(String::new, |planned| {
        let [elapsed, planned] = [round.elapsed_ns, planned].map(format_nanos);
        format!(", {elapsed} elapsed where {planned} were planned")
    });
    let count = counted(slices.len() as u64, "slice");
    let detail = format!(" (longest: {}: {what}{took})", cell.id);
    let finding = findings::STOPPED.found(&[&count, &detail]).against(longest.ns, LONGEST_NS);
    let mut finding = finding.of(slices.iter().map(|(cell, ..)| *cell));
    finding.cells.dedup();
    Some(finding)
}

/// Whether more clients connected over TCP than the backlog holds, and some were refused. Those of other programs count, too.
fn was_crowded(requests: &Connections) -> bool {
    let lacked = requests.resent > 0 || requests.overflows.is_some_and(|count| count > 0);
    lacked && requests.conns > requests.backlog.saturating_add(1)
}

/// Above this share of all requests those that failed are an error.
const REFUSED: f64 = 0.01;

fn larger_backlog(cell: &Cell, requests: &Connections) -> String {
    let mechanism = cell.key.mechanism.split('/').next().unwrap_or_default();
    format!("a larger backlog (--set {mechanism}.backlog={}), or fewer clients", requests.conns)
}

/// A remedy for an error of requests, by its name.
fn remedy_for(error: &str, cell: &Cell, requests: &Connections) -> String {
    match error {
        "EMFILE" => {
            // Not just enough: something else had them open, too.
            let needed = 1024 + requests.conns;
            format!("allow more open files ({})", limits::more_open_files(needed))
        }
        "ENFILE" => "raise fs.file-max, the open files of the whole system".to_owned(),
        "EADDRNOTAVAIL" | "EADDRINUSE" => {
            let more = "allow more ports (sysctl net.ipv4.ip_local_port_range=\"1024 65535\")";
            match requests.closes {
                Some(Closes::Client) => format!(
                    "let the server close first, which keeps TIME_WAIT away from the clients' ports (--closes server), {more}, or \
                     use shorter slices"
                ),
                _ => format!("{more}, or use shorter slices"),
            }
        }
        "ENOBUFS" | "ENOMEM" => "use more memory, or fewer clients".to_owned(),
        "EACCES" | "EPERM" => "find the firewall or security module that forbids it".to_owned(),
        "ECONNREFUSED" | "ECONNRESET" | "ECONNABORTED" | "ETIMEDOUT" | "EAGAIN" => {
            format!("use {}", larger_backlog(cell, requests))
        }
        _ => "use fewer clients; connect(2) and socket(2) explain the error".to_owned(),
    }
}

/// Requests asked, and those that failed by the name of the error; `None` for cells without requests over connections.
fn asked(cell: &Cell) -> Option<(u64, &BTreeMap<String, u64>)> {
    let single = cell.connect.as_ref().map(|requests| (requests.asked, &requests.errors));
    single.or_else(|| cell.serve.as_ref().map(|served| (served.asked, &served.errors)))
}

/// Requests that failed in these cells, described by the cell with most of them, with a remedy for each of its errors.
fn refused(row: &Row, hit: &[&Cell]) -> Option<Finding> {
    let worst = hit.iter().max_by_key(|cell| cell.lost)?;
    let (asked, errors) = asked(worst)?;
    let classes: Vec<String> =
        errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let some = format!("{} of {asked}", worst.lost);
    let detail = format!(" in {} ({})", worst.id, classes.join(", "));
    let remedy = |error: &String| match &worst.connect {
        Some(requests) => remedy_for(error, worst, requests),
        // The connection had been made: its number is no limit any more.
        None => "find what breaks connections that stay (a firewall, ss -K)".to_owned(),
    };
    let remedies: Vec<String> = match errors.len() {
        1 => errors.keys().map(remedy).collect(),
        _ => errors.keys().map(|error| format!("{error}: {}", remedy(error))).collect(),
    };
    let limit = if row.code.starts_with('E') { REFUSED * asked as f64 } else { 0.0 };
    let finding = row.found(&[&some, &detail, &remedies.join("; ")]);
    let finding = finding.against(worst.lost as f64, limit);
    Some(finding.of(hit.iter().copied()))
}

/// Requests that failed, connections that found the backlog full or reused ports, and connections of other programs.
pub(super) fn connections(cells: &[Cell]) -> Vec<Finding> {
    let connecting = || cells.iter().filter_map(|cell| Some((cell, cell.connect.as_ref()?)));
    let failed = cells.iter().filter(|cell| cell.lost > 0 && asked(cell).is_some());
    let (many, few): (Vec<&Cell>, Vec<&Cell>) = failed.partition(|cell| {
        asked(cell).is_some_and(|(asked, _)| cell.lost as f64 > REFUSED * asked as f64)
    });
    let mut list: Vec<Finding> =
        [refused(&findings::REFUSED, &many), refused(&findings::FEW_REFUSED, &few)]
            .into_iter()
            .flatten()
            .collect();
    let crowded: Vec<_> = connecting().filter(|(_, requests)| was_crowded(requests)).collect();
    if let Some((worst, requests)) = crowded.iter().max_by_key(|(_, requests)| requests.resent) {
        let detail = format!(
            " in {} (room for {}: {} refused, {} resent, {} of {} requests repeated)",
            worst.id,
            requests.backlog,
            counted(requests.overflows.unwrap_or(0), "connection"),
            counted(requests.syn_resent.unwrap_or(0), "segment"),
            requests.resent,
            requests.asked
        );
        let finding = findings::BACKLOG.found(&[&detail, &larger_backlog(worst, requests)]);
        let finding = finding.against(requests.conns as f64, requests.backlog as f64 + 1.0);
        list.push(finding.of(crowded.iter().map(|(cell, _)| *cell)));
    }
    let turned_away = |cell: &Cell| cell.serve.as_ref().map(|served| served.refused);
    let crowded: Vec<_> = cells
        .iter()
        .filter_map(|cell| Some((cell, turned_away(cell).filter(|count| *count > 0)?)))
        .collect();
    if let Some((worst, most)) = crowded.iter().max_by_key(|(_, count)| *count) {
        let words = [counted(*most, "connection"), format!(" in {}", worst.id)];
        let finding = findings::REFUSED_BEFORE.measured(*most as f64, &[&words[0], &words[1]]);
        list.push(finding.of(crowded.iter().map(|(cell, _)| *cell)));
    }
    let strangers = |cell: &Cell| cell.connect.as_ref()?.server_errors.get(STRANGER).copied();
    let met: Vec<_> = cells.iter().filter_map(|cell| Some((cell, strangers(cell)?))).collect();
    if let Some((worst, most)) = met.iter().max_by_key(|(_, count)| *count) {
        let words = [counted(*most, "connection"), format!(" in {}", worst.id)];
        let finding = findings::STRANGERS.measured(*most as f64, &[&words[0], &words[1]]);
        list.push(finding.of(met.iter().map(|(cell, _)| *cell)));
    }
    let through = |cell: &Cell| {
        let ports = cell.connect.as_ref()?.ephemeral_ports?;
        let count = u64::from(ports.last.saturating_sub(ports.first)) + 1;
        // Each round has a server with a port of its own, against which ports are counted.
        let most = cell.rounds.iter().map(|round| round.messages + round.lost).max()?;
        (most > count).then_some((count, most))
    };
    for (row, side) in [(findings::PORTS, Closes::Server), (findings::CLIENT_PORTS, Closes::Client)]
    {
        let cells = cells.iter().filter(|cell| cell.key.load.closes() == side);
        let hit: Vec<_> = cells.filter_map(|cell| Some((cell, through(cell)?))).collect();
        if let Some((worst, (count, most))) = hit.iter().max_by_key(|(_, (_, most))| *most) {
            let detail = format!(" ({}: {most} through {count})", worst.id);
            let finding = row.found(&[&detail]).against(*most as f64, *count as f64);
            list.push(finding.of(hit.iter().map(|(cell, _)| *cell)));
        }
    }
    list
}

/// Rounds that drift in one direction: Theil-Sen above 2 % of the median, in an order that chance produces in fewer than 1 of
/// 100. One cell in a hundred does that by chance, so only more than that are reported.
pub(super) fn drifting(cells: &[Cell]) -> Option<Finding> {
    const SIGNIFICANT: f64 = 2.576;
    let measured: Vec<(&Cell, Vec<f64>)> = cells
        .iter()
        .filter(|cell| cell.status == Status::Ok)
        .map(|cell| (cell, accepted(cell).collect()))
        .collect();
    let hit: Vec<(&Cell, f64)> = measured
        .iter()
        .filter(|(_, values)| trend_z(values).is_some_and(|z| z.abs() > SIGNIFICANT))
        .filter_map(|(cell, values)| Some((*cell, relative_drift(values)?)))
        .filter(|(_, drift)| findings::DRIFT.is_passed(drift.abs()))
        .collect();
    let by_chance = measured.len() / 50;
    if hit.len() <= by_chance {
        return None;
    }
    let (cell, worst) = hit.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let some = format!("{} of {}", hit.len(), measured.len());
    let detail = format!(" (most: {}, {:+.0} %)", cell.id, worst * 100.0);
    let finding = findings::DRIFT.measured(*worst, &[&some, &detail]);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

fn value(metric: Option<&Metric>) -> Option<f64> {
    metric?.value
}

fn open_loops(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().filter(|cell| cell.status == Status::Ok && cell.key.is_open())
}

/// Cells in which messages were sent faster than the other end answered them, or, in a feed, read them.
pub(super) fn saturated(cells: &[Cell]) -> Option<Finding> {
    let is_saturated = |cell: &&Cell| {
        let p50 = cell.rtt_ns.as_ref().and_then(|table| table.get("p50"));
        p50.is_some_and(|metric| metric.reason.as_deref() == Some("saturated"))
    };
    let hit: Vec<&Cell> = open_loops(cells).filter(is_saturated).collect();
    let first = hit.first()?;
    let offered = value(first.offered_per_second.as_ref())?;
    let achieved = value(first.achieved_per_second.as_ref())?;
    let detail = format!(
        " (first: {}, {} offered, {} achieved)",
        first.id,
        format_per_second(offered),
        format_per_second(achieved),
    );
    let finding = findings::SATURATED.found(&[&counted(hit.len() as u64, "open loop"), &detail]);
    Some(finding.against(achieved / offered, 0.99).of(hit))
}

/// Cells in which the sender itself was late by more than a tenth of the typical response, which the times include.
pub(super) fn late_sender(cells: &[Cell]) -> Option<Finding> {
    let share = |cell: &Cell| {
        let late = value(cell.pacing_ns.as_ref()?.get("p99"))?;
        let response = value(cell.rtt_ns.as_ref()?.get("p50"))?;
        Some((late / response, late))
    };
    let hit: Vec<(&Cell, f64, f64)> = open_loops(cells)
        .filter_map(|cell| share(cell).map(|(share, late)| (cell, share, late)))
        .filter(|(_, share, _)| findings::GENLIMIT.is_passed(*share))
        .collect();
    let (cell, worst, late) = hit.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let detail = format!(
        " (worst: {}, p99 {}, {:.0} % of the median response)",
        cell.id,
        format_nanos(*late),
        worst * 100.0
    );
    let finding =
        findings::GENLIMIT.measured(*worst, &[&counted(hit.len() as u64, "open loop"), &detail]);
    Some(finding.of(hit.iter().map(|(cell, ..)| *cell)))
}
