//! What the rounds of the cells tell about the machine.

use crate::assemble::standstill::LONGEST_NS;
use crate::connect::STRANGER;
use ipcperf_core::result::{Cell, Connections, Finding, Metric, OperationMode, Shortage, Status};
use ipcperf_core::units::{counted, format_nanos};
use ipcperf_core::{KnobValue, Wait};
use ipcperf_stats::{relative_drift, robust_cv, trend_z};
use ipcperf_sys::limits;
use std::collections::{BTreeMap, BTreeSet};

/// The figure of every accepted round.
fn accepted(cell: &Cell) -> impl Iterator<Item = f64> {
    let rounds = cell.rounds.iter().filter(|round| round.rejected.is_none());
    rounds.filter_map(|round| cell.figure_of(round))
}

/// Spread of the rounds of the mode that speaks. One round differs from none.
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
    let text = format!(
        "{}: {} rounds near {}, {} near {}; never averaged, the figure is that of the mode with more rounds",
        cell.id,
        low.rounds,
        format(low.value),
        high.rounds,
        format(high.value)
    );
    let remedy =
        "look at cacheline_rtt_ns of the rounds; pin the VM's CPUs on its host, or try --idle poll";
    let finding = Finding::new("W-MULTIMODAL", text, remedy);
    Some(finding.against(high.value / low.value, 1.5).of([cell]))
}

/// Cells whose single operations fall into modes: neither median nor mean tells of all.
pub(super) fn operation_modes(cells: &[Cell]) -> Option<Finding> {
    let measured = cells.iter().filter(|cell| cell.status == Status::Ok).count();
    let slowest = |cell: &Cell| cell.operation_modes.last().copied();
    let hit: Vec<(&Cell, OperationMode)> =
        cells.iter().filter_map(|cell| Some((cell, slowest(cell)?))).collect();
    // The farther the time that it takes is from how often it comes, the less the median says.
    let hidden = |mode: &OperationMode| mode.time_share - mode.share;
    let (worst, mode) = hit.iter().max_by(|a, b| hidden(&a.1).total_cmp(&hidden(&b.1)))?;
    let fastest = worst.operation_modes.first()?;
    let text = format!(
        "the single operations of {} of {measured} cells fall into modes within their rounds (most of all {}: {:.0} % \
         near {}, and {:.0} % near {}, which take {:.0} % of the time): read the mean beside the median",
        hit.len(),
        worst.id,
        fastest.share * 100.0,
        format_nanos(fastest.value),
        mode.share * 100.0,
        format_nanos(mode.value),
        mode.time_share * 100.0,
    );
    let ratio = mode.value / fastest.value;
    let remedy = match worst.key.wait {
        Wait::SpinThenBlock => {
            "measure it with the pauses of your program (--think), in which it falls asleep"
        }
        _ => "look for other work on the CPUs; where idle ones sleep at times, try --idle poll",
    };
    let finding = Finding::new("W-OPMODES", text, remedy).against(ratio, 1.5);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

pub(super) fn unstable(spreads: &[(&Cell, f64)]) -> Option<Finding> {
    const LIMIT: f64 = 0.05;
    let wide: Vec<_> = spreads.iter().filter(|(_, spread)| *spread > LIMIT).collect();
    let worst = wide.iter().map(|(_, spread)| *spread).reduce(f64::max)?;
    let text = format!(
        "the rounds of {} of {} cells differ by more than 5 % (worst {:.0} %): trust their intervals, not their digits",
        wide.len(),
        spreads.len(),
        worst * 100.0
    );
    let remedy = "a quieter machine, more rounds or longer slices";
    let finding = Finding::new("W-UNSTABLE", text, remedy).against(worst, LIMIT);
    Some(finding.of(wide.iter().map(|(cell, _)| *cell)))
}

pub(super) fn rejections(cells: &[Cell]) -> Vec<Finding> {
    ["E-IMPOSSIBLE", "E-TOPOLOGY", "E-MIGRATE", "E-THROTTLE", "E-CLOCKJUMP"]
        .into_iter()
        .filter_map(|code| {
            let hit: Vec<(&Cell, &str)> = cells
                .iter()
                .flat_map(|cell| cell.rounds.iter().map(move |round| (cell, round)))
                .filter_map(|(cell, round)| Some((cell, round.rejected.as_deref()?)))
                .filter(|(_, reason)| reason.starts_with(code))
                .collect();
            let (cell, reason) = hit.first()?;
            let detail = reason.trim_start_matches(code).trim_start_matches(": ");
            let text = format!(
                "{} rejected; first: {}: {detail}",
                counted(hit.len() as u64, "slice"),
                cell.id
            );
            let remedy = match code {
                "E-IMPOSSIBLE" => "the clock or the machine changed under the run: repeat it",
                "E-TOPOLOGY" => "pin the VM's CPUs on its host",
                "E-THROTTLE" => {
                    "a higher CPU limit of the container or control group, or shorter slices"
                }
                "E-MIGRATE" => {
                    "something moves processes off their CPUs: look for cpuset managers and taskset"
                }
                _ => "the machine was paused or moved: repeat the run",
            };
            let finding = Finding::new(code, text, remedy).against(hit.len() as f64, 0.0);
            let mut finding = finding.of(hit.iter().map(|(cell, _)| *cell));
            finding.cells.dedup();
            Some(finding)
        })
        .collect()
}

/// Page faults in timed regions: memory that was not resident. A few per slice have other causes: the kernel moves a page, or
/// takes it away to see who uses it.
pub(super) fn faults(cells: &[Cell]) -> Option<Finding> {
    const LIMIT: u64 = 16;
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
            (worst > LIMIT).then_some((cell, worst))
        })
        .collect();
    let (cell, worst) = hit.iter().max_by_key(|(_, worst)| *worst)?;
    let text = format!(
        "{worst} page faults inside a timed region ({}): first touches are in its tail",
        cell.id
    );
    let remedy = "free memory; a mechanism that allocates per message shows this by nature";
    let finding = Finding::new("W-FAULT", text, remedy).against(*worst as f64, LIMIT as f64);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// How long an end of a spinning cell was ready but not running, and how long it was watched, ns, by cell. Only of
/// spinning ends: a blocked one is woken for every message, and on one CPU each waits for the other by nature.
fn waiting(cells: &[Cell]) -> Vec<(&Cell, [f64; 2])> {
    let waited = |cell: &Cell| {
        cell.rounds.iter().fold([0.0; 2], |[waited, ran], round| {
            let sides = [&round.covariates.lead, &round.covariates.follow];
            // Where an end had to wait, the timed region may be a small part of what it was watched for.
            let watched = round.elapsed_ns.max(round.covariates.machine_window_ns as f64);
            match sides.into_iter().filter_map(|side| side.run_delay_ns).max() {
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
    const LIMIT: f64 = 0.05;
    let shares = waiting(cells).into_iter().map(|(cell, [waited, ran])| (cell, waited / ran));
    let hit: Vec<_> = shares.filter(|(_, share)| *share > LIMIT).collect();
    let worst = hit.iter().map(|(_, share)| *share).reduce(f64::max)?;
    let text = format!(
        "other work ran on the CPUs: spinning ends waited up to {:.0} % of the time for their turn",
        worst * 100.0
    );
    let remedy = "stop other work, or take CPUs it does not use";
    let finding = Finding::new("W-LOAD", text, remedy).against(worst, LIMIT);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

pub(super) fn lost(cells: &[Cell]) -> Option<Finding> {
    let hit: Vec<_> = cells.iter().filter(|cell| cell.lost > 0 && cell.connect.is_none()).collect();
    let worst = hit.iter().max_by_key(|cell| cell.lost)?;
    let text = format!(
        "{}: {} of {} messages were lost or came too late; a quantile that falls among them has no value",
        worst.id,
        worst.lost,
        worst.messages + worst.lost
    );
    let buffer = worst.knobs.keys().find(|name| name.ends_with(".rcvbuf"));
    let remedy = match buffer {
        Some(knob) => format!("larger receive buffers (--set {knob}=BYTES)"),
        None => "a mechanism that makes the sender wait".into(),
    };
    Some(Finding::new("W-LOSS", text, &remedy).against(worst.lost as f64, 0.0).of(hit))
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
        let text = format!(
            "{} is {granted} and not {} as usual ({}): {reason}",
            names.into_iter().collect::<Vec<_>>().join(", "),
            KnobValue::Number(usual),
            counted(hit.len() as u64, "cell"),
        );
        list.push(Finding::new("W-QUOTA", text, remedy).of(hit));
    }
    list
}

/// Slices that ended long before their time: a few operations speak for them.
pub(super) fn short(cells: &[Cell]) -> Option<Finding> {
    const LIMIT: f64 = 0.5;
    let share = |cell: &Cell| {
        let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
        accepted.filter_map(|round| Some(round.elapsed_ns / round.planned_ns?)).reduce(f64::min)
    };
    let all = cells.iter().filter_map(|cell| Some((cell, share(cell)?)));
    let hit: Vec<(&Cell, f64)> = all.filter(|(_, share)| *share < LIMIT).collect();
    let (cell, least) = hit.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "slices of {} ended before half of their time (shortest: {}, {:.0} %): fewer operations speak for them",
        counted(hit.len() as u64, "cell"),
        cell.id,
        least * 100.0
    );
    let remedy = "longer slices and warm-ups (--slice, --warmup), a quieter machine";
    let finding = Finding::new("W-SHORT", text, remedy).against(*least, LIMIT);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// Slices in which an end stood still: whatever is not a median contains it.
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
            "nothing moved for {}, of which no stolen time, CPU limit or other work is the cause",
            format_nanos(longest.ns)
        ),
    };
    let planned = round.planned_ns.filter(|planned| round.elapsed_ns > 1.1 * planned);
    let took = planned.map_or_else(String::new, |planned| {
        let [elapsed, planned] = [round.elapsed_ns, planned].map(format_nanos);
        format!(", {elapsed} elapsed where {planned} were planned")
    });
    let count = counted(slices.len() as u64, "slice");
    let text = format!(
        "an end stood still in {count} (longest: {}: {what}{took}): means, rates and tails contain it",
        cell.id
    );
    let remedy = "find who stops processes (a shell, a debugger, a control group, the host), and repeat the run";
    let finding = Finding::new("W-STOPPED", text, remedy).against(longest.ns, LONGEST_NS);
    let mut finding = finding.of(slices.iter().map(|(cell, ..)| *cell));
    finding.cells.dedup();
    Some(finding)
}

/// Whether more clients asked over TCP than could wait, and some found no room. Those of others are counted, too.
fn was_crowded(requests: &Connections) -> bool {
    let lacked = requests.resent > 0 || requests.overflows.is_some_and(|count| count > 0);
    lacked && requests.conns > requests.backlog.saturating_add(1)
}

/// Above this share of all requests those that failed are an error.
const REFUSED: f64 = 0.01;

/// What helps against an error of requests, by its name.
fn helps(error: &str, cell: &Cell, requests: &Connections) -> String {
    let mechanism = cell.key.mechanism.split('/').next().unwrap_or_default();
    match error {
        "EMFILE" => {
            // Not just enough: something else had them open, too.
            let needed = 1024 + requests.conns;
            format!("more open files ({})", limits::more_open_files(needed))
        }
        "ENFILE" => "a larger fs.file-max, the open files of the whole system".to_owned(),
        "EADDRNOTAVAIL" => {
            "more ports (sysctl net.ipv4.ip_local_port_range=\"1024 65535\"), or shorter slices"
                .to_owned()
        }
        "ENOBUFS" | "ENOMEM" => "more memory, or fewer clients".to_owned(),
        "EACCES" | "EPERM" => "find the firewall or security module that forbids it".to_owned(),
        "ECONNREFUSED" | "ECONNRESET" | "ECONNABORTED" | "ETIMEDOUT" | "EAGAIN" => {
            format!(
                "a larger backlog (--set {mechanism}.backlog={}), or fewer clients",
                requests.conns
            )
        }
        _ => "fewer clients; connect(2) and socket(2) say what the error means".to_owned(),
    }
}

/// Requests that failed in these cells, told of the one in which most did, with what helps against each of its errors.
fn refused(code: &str, hit: &[(&Cell, &Connections)]) -> Option<Finding> {
    let (worst, requests) = hit.iter().max_by_key(|(cell, _)| cell.lost)?;
    let errors = &requests.errors;
    let classes: Vec<String> =
        errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let text = format!(
        "{}: {} of {} requests failed ({}); rates are of those answered",
        worst.id,
        worst.lost,
        requests.asked,
        classes.join(", ")
    );
    let remedy = match errors.len() {
        1 => errors.keys().map(|error| helps(error, worst, requests)).collect(),
        _ => {
            let each =
                errors.keys().map(|error| format!("{error}: {}", helps(error, worst, requests)));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    let limit = if code.starts_with('E') { REFUSED * requests.asked as f64 } else { 0.0 };
    let finding = Finding::new(code, text, &remedy).against(worst.lost as f64, limit);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// Requests that failed, connections that found no room or used up the ports there are, and those of others.
pub(super) fn connections(cells: &[Cell]) -> Vec<Finding> {
    let connecting = || cells.iter().filter_map(|cell| Some((cell, cell.connect.as_ref()?)));
    let failed = connecting().filter(|(cell, _)| cell.lost > 0);
    let (many, few): (Vec<_>, Vec<_>) =
        failed.partition(|(cell, requests)| cell.lost as f64 > REFUSED * requests.asked as f64);
    let mut list: Vec<Finding> =
        [refused("E-REFUSED", &many), refused("W-REFUSED", &few)].into_iter().flatten().collect();
    let crowded: Vec<_> = connecting().filter(|(_, requests)| was_crowded(requests)).collect();
    if let Some((worst, requests)) = crowded.iter().max_by_key(|(_, requests)| requests.resent) {
        let text = format!(
            "{}: {} may wait at the server: {} found no room, TCP sent {} again after a second, and {} of {} \
             requests were asked again after 1.5 s, which is in the rate",
            worst.id,
            requests.backlog,
            counted(requests.overflows.unwrap_or(0), "connection"),
            counted(requests.syn_resent.unwrap_or(0), "segment"),
            requests.resent,
            requests.asked
        );
        let remedy = helps("ETIMEDOUT", worst, requests);
        let finding = Finding::new("W-BACKLOG", text, &remedy);
        let finding = finding.against(requests.conns as f64, requests.backlog as f64 + 1.0);
        list.push(finding.of(crowded.iter().map(|(cell, _)| *cell)));
    }
    let strangers = |cell: &Cell| cell.connect.as_ref()?.server_errors.get(STRANGER).copied();
    let met: Vec<_> = cells.iter().filter_map(|cell| Some((cell, strangers(cell)?))).collect();
    if let Some((worst, most)) = met.iter().max_by_key(|(_, count)| *count) {
        let text = format!(
            "{}: {} of others came to the server, which answered them beside those that were measured",
            worst.id,
            counted(*most, "connection")
        );
        let remedy = "find out who connects to every port of this machine";
        let finding = Finding::new("W-STRANGERS", text, remedy).against(*most as f64, 0.0);
        list.push(finding.of(met.iter().map(|(cell, _)| *cell)));
    }
    let through = |cell: &Cell| {
        let ports = cell.connect.as_ref()?.ephemeral_ports?;
        let count = u64::from(ports.last.saturating_sub(ports.first)) + 1;
        // Each round has a server with a port of its own, against which ports are counted.
        let most = cell.rounds.iter().map(|round| round.messages + round.lost).max()?;
        (most > count).then_some((count, most))
    };
    let hit: Vec<_> = cells.iter().filter_map(|cell| Some((cell, through(cell)?))).collect();
    if let Some((worst, (count, most))) = hit.iter().max_by_key(|(_, (_, most))| *most) {
        let text = format!(
            "{}: {most} connections of one round went through {count} ephemeral ports: each was used again while its \
             last connection was in TIME_WAIT at the server, who closes first",
            worst.id
        );
        let remedy = "shorter slices, or a wider net.ipv4.ip_local_port_range";
        let finding = Finding::new("I-PORTS", text, remedy).against(*most as f64, *count as f64);
        list.push(finding.of(hit.iter().map(|(cell, _)| *cell)));
    }
    list
}

/// Rounds that move in one direction: Theil-Sen over more than 2 % of the median, in an order that chance makes in
/// less than 1 of 100. One cell in a hundred does that by chance, so only more than that are told.
pub(super) fn drifting(cells: &[Cell]) -> Option<Finding> {
    const LIMIT: f64 = 0.02;
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
        .filter(|(_, drift)| drift.abs() > LIMIT)
        .collect();
    let by_chance = measured.len() / 50;
    if hit.len() <= by_chance {
        return None;
    }
    let (cell, worst) = hit.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let text = format!(
        "{} of {} cells moved in one direction over the rounds (most: {}, {:+.0} %): the machine was not in one state",
        hit.len(),
        measured.len(),
        cell.id,
        worst * 100.0
    );
    let remedy = "let the machine warm up or cool down, and repeat";
    let finding = Finding::new("W-DRIFT", text, remedy).against(*worst, LIMIT);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}
