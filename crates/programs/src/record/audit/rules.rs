//! The rules. Each one takes everything that was seen, and says what it has found, or why it cannot look.

use super::findings;
use super::group::{FEW, Group};
use super::timed::{Timed, ancestors, calls_within};
use crate::profile::Audit;
use crate::record::calls::{Act, Call, WAITING};
use crate::record::channels::Move;
use crate::record::log::Log;
use ipcperf_core::findings::Row;
use ipcperf_core::result::Finding;
use ipcperf_core::units::{counted, format_nanos, grouped};
use ipcperf_sys::trace::name;
use std::collections::{BTreeMap, BTreeSet};

/// Of this share of messages something is said of all of them.
const MOSTLY: f64 = 0.5;

/// Less than this share of the bytes may stay behind: a last message that tells the other end to stop.
const BEHIND: f64 = 0.01;

/// A wait for a timeout that is longer than this is noticed, ns.
const LONG: u64 = 50_000_000;

/// More such waits than this are how the program works, not how it ends.
const ONCE: usize = 2;

/// Calls for each message by which two sides may differ.
const DIFFERENCE: f64 = 0.5;

/// Less often than this for each message is hardly ever.
const RARELY: f64 = 0.1;

/// What rules look at.
pub(super) struct Examined<'a> {
    pub(super) log: &'a Log,
    pub(super) groups: Vec<Group>,
    pub(super) timed: Vec<Timed>,
    /// The size of a message that was asked for.
    pub(super) size: Option<u64>,
    /// Programs were ended from outside, or not all calls were kept.
    pub(super) is_cut: bool,
}

/// What a rule has found, or why it could not look.
type Said = Result<Vec<Finding>, &'static str>;

/// Looks for everything.
pub(super) fn apply(examined: &Examined<'_>, audit: &mut Audit) {
    let rules: [(Row, Said); 12] = [
        (findings::OWN_BYTES, own_bytes(examined)),
        (findings::SETUP_TIMED, setup(examined)),
        (findings::TEARDOWN_TIMED, teardown(examined)),
        (findings::LATE_WAIT, late_wait(examined)),
        (findings::NOT_AWAITED, not_awaited(examined)),
        (findings::UNREAD, unread(examined)),
        (findings::OTHER_SIZE, other_size(examined)),
        (findings::ONE_PROCESS, one_process(examined)),
        (findings::UNEQUAL_CALLS, unequal(examined)),
        (findings::SHARED_CPU, shared_cpu(examined)),
        (findings::NOT_PINNED, not_pinned(examined)),
        (findings::NOT_TOUCHED, not_touched(examined)),
    ];
    for (row, said) in rules {
        let code = row.code.to_owned();
        match said {
            Ok(found) if found.is_empty() => audit.passed.push(code),
            Ok(found) => audit.findings.extend(found),
            Err(why) => {
                audit.unchecked.insert(code, why.to_owned());
            }
        }
    }
    audit.findings.sort_by_key(|finding| finding.severity);
}

fn of(group: &Group, finding: Finding) -> Finding {
    Finding { cells: vec![group.name.clone()], ..finding }
}

fn each(examined: &Examined<'_>, rule: impl Fn(&Group) -> Option<Finding>) -> Vec<Finding> {
    examined.groups.iter().filter_map(|group| Some(of(group, rule(group)?))).collect()
}

fn times(count: usize, what: &str) -> String {
    counted(count as u64, what)
}

/// Where the bytes of a channel went.
#[derive(Debug, Default)]
struct Carried {
    messages: usize,
    /// Read by the thread that wrote them.
    same_thread: usize,
    same_process: usize,
    written: u64,
    read: u64,
}

impl Carried {
    /// Follows bytes in their order from the writes to the reads.
    fn follow<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a Move>,
        reads: impl Iterator<Item = &'a Move>,
    ) {
        let mut reads = reads.peekable();
        let mut passed = 0;
        for write in writes {
            while reads.peek().is_some_and(|read| passed + read.bytes <= self.written) {
                passed += reads.next().map_or(0, |read| read.bytes);
            }
            self.messages += 1;
            if let Some(read) = reads.peek() {
                self.same_thread += usize::from(read.thread == write.thread);
                self.same_process += usize::from(read.process == write.process);
            }
            self.written += write.bytes;
        }
        self.read += passed + reads.map(|read| read.bytes).sum::<u64>();
    }
}

fn carried(group: &Group) -> Carried {
    let mut all = Carried::default();
    for connection in &group.connections {
        let (Some(a), Some(b)) = (&connection.asker, &connection.answerer) else { continue };
        for (from, to) in [(a, b), (b, a)] {
            let mut one = Carried::default();
            let writes = from.moves.iter().filter(|one| one.is_out);
            one.follow(writes, to.moves.iter().filter(|one| !one.is_out));
            all.messages += one.messages;
            all.same_thread += one.same_thread;
            all.same_process += one.same_process;
            all.written += one.written;
            all.read += one.read;
        }
    }
    all
}

fn own_bytes(examined: &Examined<'_>) -> Said {
    Ok(each(examined, |group| {
        let Carried { messages, same_thread, .. } = carried(group);
        let (who, _) = group.processes.iter().max_by_key(|(_, moves)| moves.len())?;
        (same_thread as f64 >= MOSTLY * messages as f64).then(|| {
            let (own, all) = (grouped(same_thread as u64), times(messages, "message"));
            let who = examined.log.program(*who);
            let words = format!(
                "{who} reads back {own} of {all} over {} that the same thread has written",
                group.kind
            );
            findings::OWN_BYTES.found(&[&words])
        })
    }))
}

fn one_process(examined: &Examined<'_>) -> Said {
    Ok(each(examined, |group| {
        let Carried { messages, same_thread, same_process, .. } = carried(group);
        let is_within = same_process == messages && (same_thread as f64) < MOSTLY * messages as f64;
        is_within.then(|| {
            let words = format!(
                "threads of one process exchange all {} over {}",
                times(messages, "message"),
                group.kind
            );
            findings::ONE_PROCESS.found(&[&words])
        })
    }))
}

/// What is timed, where the clock is read by a call.
fn timed<'a>(examined: &'a Examined<'_>) -> Result<&'a [Timed], &'static str> {
    match &examined.timed[..] {
        [] => Err("no two looks at a clock have half of the messages of a channel between them"),
        some => Ok(some),
    }
}

/// Spans with most messages of a channel, each one once: a script may use several channels at a time.
fn whole<'a>(
    examined: &'a Examined<'_>,
) -> Result<impl Iterator<Item = (&'a Timed, &'a Group, (u64, u64))>, &'static str> {
    let all = timed(examined)?;
    if all.iter().all(|timed| timed.whole().is_none()) {
        return Err("clocks are read between single messages, by the benchmark or by its runtime");
    }
    let mut seen = BTreeSet::new();
    Ok(all.iter().filter_map(move |timed| {
        let span = timed.whole().filter(|span| seen.insert((timed.process, *span)))?;
        Some((timed, examined.groups.get(timed.group)?, span))
    }))
}

/// `fork 2, connect 1`.
fn listed(calls: &[&Call]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        *counts.entry(name(call.number)).or_default() += 1;
    }
    let words: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    words.join(", ")
}

/// It made a process, or loaded a program into one.
fn starts(examined: &Examined<'_>, call: &Call) -> bool {
    let is_process = |made: u32| examined.log.parents.contains_key(&made);
    call.loads_program() || call.made().is_some_and(is_process)
}

fn setup(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, span) in whole(examined)? {
        let first = group.writes.iter().map(|one| one.begun).find(|begun| *begun > span.0);
        let Some(first) = first.filter(|first| *first < span.1) else { continue };
        // A connection for each message is what such a benchmark measures.
        let has_many = group.connections.len() * 2 >= group.writes.len();
        let is_of = |call: &&Call| {
            call.process == timed.process
                || ancestors(examined.log, call.process).any(|parent| parent == timed.process)
        };
        let calls: Vec<&Call> = calls_within(examined.log, (span.0, first))
            .filter(is_of)
            .filter(|call| starts(examined, call) || call.connects() && !has_many)
            .collect();
        if !calls.is_empty() {
            let words = format!(
                "{} reads the clock, and only then come {}: {} of {} before the first message",
                examined.log.program(timed.process),
                listed(&calls),
                format_nanos((first - span.0) as f64),
                format_nanos((span.1 - span.0) as f64),
            );
            found.push(of(group, findings::SETUP_TIMED.found(&[&words])));
        }
    }
    Ok(found)
}

fn teardown(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, span) in whole(examined)? {
        let moves = group.processes.values().flatten().map(|one| one.ended);
        let Some(last) = moves.filter(|ended| *ended < span.1).max() else { continue };
        let has_many = group.connections.len() * 2 >= group.writes.len();
        let ends = |call: &&Call| {
            call.process == timed.process && (call.reaped() || call.closes() && !has_many)
        };
        let calls: Vec<&Call> = calls_within(examined.log, (last, span.1)).filter(ends).collect();
        if !calls.is_empty() {
            let words = format!(
                "after the last message {} calls {}, and only then reads the clock: {} of {}",
                examined.log.program(timed.process),
                listed(&calls),
                format_nanos((span.1 - last) as f64),
                format_nanos((span.1 - span.0) as f64),
            );
            found.push(of(group, findings::TEARDOWN_TIMED.found(&[&words])));
        }
    }
    Ok(found)
}

/// An end: when its last byte moved, over which channel, and what is timed of all its channels.
#[derive(Default)]
struct Last<'a> {
    at: u64,
    channel: Option<&'a Group>,
    spans: Vec<(u64, u64)>,
    waits: Vec<&'a Call>,
}

fn late_wait(examined: &Examined<'_>) -> Said {
    let mut ends: BTreeMap<u32, Last<'_>> = BTreeMap::new();
    for (at, group) in examined.groups.iter().enumerate() {
        let timed = examined.timed.iter().filter(|timed| timed.group == at);
        let spans: Vec<(u64, u64)> = timed.flat_map(|timed| timed.spans.iter().copied()).collect();
        for (process, moves) in &group.processes {
            let end = ends.entry(*process).or_default();
            end.spans.extend(&spans);
            let last = moves.last().map_or(0, |one| one.ended);
            if last >= end.at {
                (end.at, end.channel) = (last, Some(group));
            }
        }
    }
    for call in examined.log.calls.iter().filter(|call| call.timed_out()) {
        if let Some(end) = ends.get_mut(&call.process)
            && call.begun >= end.at
            && call.ended.saturating_sub(call.begun) >= LONG
        {
            end.waits.push(call);
        }
    }
    let said = |(process, end): (u32, Last<'_>)| {
        let is_timed = |call: &&&Call| {
            let within =
                |span: &(u64, u64)| call.ended.min(span.1).saturating_sub(call.begun.max(span.0));
            end.spans.iter().map(within).sum::<u64>() >= LONG
        };
        // What happens often is how the program works.
        let channel = end.channel.filter(|_| end.waits.len() <= ONCE)?;
        let (row, wait) = match (end.waits.iter().find(is_timed), end.waits.first()) {
            (Some(wait), _) => (findings::LATE_WAIT, wait),
            // A clock around the whole program would include it.
            (None, Some(wait)) if end.spans.is_empty() => (findings::UNTIMED_WAIT, wait),
            _ => return None,
        };
        let words = format!(
            "{} waits {} in {} after its last byte, until the time is over",
            examined.log.program(process),
            format_nanos((wait.ended - wait.begun) as f64),
            name(wait.number),
        );
        Some(of(channel, row.found(&[&words])))
    };
    Ok(ends.into_iter().filter_map(said).collect())
}

fn not_awaited(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for timed in timed(examined)? {
        let Some(group) = examined.groups.get(timed.group) else { continue };
        let Some(moves) = group.processes.get(&timed.process) else { continue };
        let is_within = |one: &&Move| {
            timed.spans.first().is_some_and(|span| one.begun >= span.0)
                && timed.spans.last().is_some_and(|span| one.ended <= span.1)
        };
        let (writes, reads): (Vec<&Move>, Vec<&Move>) =
            moves.iter().filter(is_within).partition(|one| one.is_out);
        let (Some(last), true) = (writes.last(), reads.is_empty() && writes.len() >= FEW) else {
            continue;
        };
        let end = timed.spans.last().map_or(last.ended, |span| span.1);
        // What comes from anywhere may be the answer.
        let is_answer = |call: &&Call| {
            let data = matches!(call.act(), Act::Read(_));
            call.process == timed.process && (data || call.awaited())
        };
        let waits = match timed.whole() {
            Some(_) => calls_within(examined.log, (last.ended, end)).any(|call| is_answer(&call)),
            None => timed
                .spans
                .iter()
                .any(|span| calls_within(examined.log, *span).any(|call| is_answer(&call))),
        };
        if !waits {
            let who = examined.log.program(timed.process);
            let words = match timed.whole() {
                Some(_) => format!(
                    "after the last of {} {who} reads the clock without waiting for anything",
                    times(writes.len(), "message")
                ),
                None => {
                    format!("{who} times {} and waits for nothing", times(writes.len(), "write"))
                }
            };
            found.push(of(group, findings::NOT_AWAITED.found(&[&words])));
        }
    }
    Ok(found)
}

fn unread(examined: &Examined<'_>) -> Said {
    if examined.is_cut {
        return Err("programs were ended before they were done, or not all calls were kept");
    }
    if examined.log.calls.iter().any(|call| call.hides().is_some()) {
        return Err("some calls were used whose data is not seen");
    }
    Ok(each(examined, |group| {
        let Carried { written, read, .. } = carried(group);
        let left = written.saturating_sub(read);
        // A counter that is read once holds what was written to it several times.
        let is_left = group.kind != "eventfd" && left as f64 > BEHIND * written as f64;
        is_left.then(|| {
            let words = format!(
                "{} of {} B over {} were never read",
                grouped(left),
                grouped(written),
                group.kind
            );
            findings::UNREAD.found(&[&words])
        })
    }))
}

/// The most frequent size, and how many have it.
fn usual(moves: &[Move]) -> Option<(u64, usize)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for one in moves {
        *counts.entry(one.bytes).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

fn other_size(examined: &Examined<'_>) -> Said {
    let mut found = each(examined, |group| {
        let short = short_writes(examined, group);
        (short > 0).then(|| {
            let words = format!(
                "{} over {} were cut short, and the rest was not written",
                times(short, "write"),
                group.kind
            );
            findings::OTHER_SIZE.found(&[&words])
        })
    });
    let Some(size) = examined.size else {
        return if found.is_empty() {
            Err("--size was not given; no write was cut short")
        } else {
            Ok(found)
        };
    };
    found.extend(each(examined, |group| {
        let asked = group.writes.iter().filter(|one| one.bytes == size).count();
        let (usual, count) = usual(&group.writes)?;
        // Of a question and its answer one has the size.
        let is_other = (asked as f64) < MOSTLY * (1.0 - BEHIND) * group.writes.len() as f64;
        is_other.then(|| {
            let words = format!(
                "{} of {} over {} had {} B, and {} the {} B that were asked for",
                grouped(count as u64),
                times(group.writes.len(), "write"),
                group.kind,
                grouped(usual),
                grouped(asked as u64),
                grouped(size),
            );
            findings::OTHER_SIZE.found(&[&words])
        })
    }));
    Ok(found)
}

/// Writes to streams that took less than they were given, where the next one does not go on with the rest.
fn short_writes(examined: &Examined<'_>, group: &Group) -> usize {
    let threads: BTreeSet<u32> = group.writes.iter().map(|one| one.thread).collect();
    let mut rests: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let mut short = 0;
    let span = group.span();
    let calls = calls_within(examined.log, (span.0.saturating_sub(1), span.1.saturating_add(1)));
    for call in calls.filter(|call| threads.contains(&call.thread)) {
        let Some((given, taken)) = call.given_and_taken() else { continue };
        if examined.log.kind(call.object) != Some(group.kind) {
            continue;
        }
        let place = (call.thread, call.object);
        short += usize::from(rests.remove(&place).is_some_and(|rest| rest != given));
        if taken < given {
            rests.insert(place, given - taken);
        }
    }
    short + rests.len()
}

/// Calls for each message, by side and purpose.
fn calls_each(examined: &Examined<'_>, group: &Group) -> BTreeMap<(bool, &'static str), f64> {
    let of_askers: BTreeSet<u32> = group
        .connections
        .iter()
        .filter_map(|one| one.asker.as_ref())
        .flat_map(|end| end.moves.iter().map(|one| one.process))
        .collect();
    let questions = group.writes.iter().filter(|one| of_askers.contains(&one.process)).count();
    let messages = if questions > 0 { questions } else { group.writes.len() };
    let mut counts: BTreeMap<(bool, &'static str), f64> = BTreeMap::new();
    for call in calls_within(examined.log, group.span()) {
        let is_of = group.processes.contains_key(&call.process);
        if let Some(purpose) = call.purpose().filter(|_| is_of) {
            *counts.entry((of_askers.contains(&call.process), purpose)).or_default() += 1.0;
        }
    }
    counts.values_mut().for_each(|count| *count /= messages as f64);
    counts
}

fn unequal(examined: &Examined<'_>) -> Said {
    // Channels of one program that works through them at the same time are not compared with each other.
    let mut sides: Vec<&Group> = Vec::new();
    for group in &examined.groups {
        if sides.last().is_none_or(|last| last.span().1 <= group.span().0) {
            sides.push(group);
        }
    }
    let Some((first, others)) = sides.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err("no two channels were used one after the other");
    };
    let usual = calls_each(examined, first);
    let mut found = Vec::new();
    for group in others {
        let calls = calls_each(examined, group);
        let all: BTreeSet<_> = usual.keys().chain(calls.keys()).collect();
        let differences = all.into_iter().filter_map(|key| {
            let [a, b] = [&usual, &calls].map(|of| of.get(key).copied().unwrap_or(0.0));
            let side = if key.0 { "the asking end" } else { "the answering end" };
            let differs = match key.1 {
                // How often a runtime does depends on time, whether it does does not.
                WAITING => a.min(b) < RARELY && a.max(b) > 1.0 - RARELY,
                _ => (a - b).abs() >= DIFFERENCE,
            };
            differs.then(|| format!("{} {a:.1} and {b:.1} at {side}", key.1))
        });
        let differences: Vec<String> = differences.collect();
        if !differences.is_empty() {
            let words = format!(
                "{} and {} take different calls for each message ({})",
                first.kind,
                group.kind,
                differences.join("; ")
            );
            let cells = vec![first.name.clone(), group.name.clone()];
            found.push(Finding { cells, ..findings::UNEQUAL_CALLS.found(&[&words]) });
        }
    }
    Ok(found)
}

/// The CPUs that each end of a channel may use.
fn cpus(examined: &Examined<'_>, group: &Group) -> [BTreeSet<usize>; 2] {
    let of = |asks: bool| {
        let ends = group
            .connections
            .iter()
            .filter_map(|one| if asks { one.asker.as_ref() } else { one.answerer.as_ref() });
        let threads: BTreeSet<u32> =
            ends.flat_map(|end| end.moves.iter().map(|one| one.thread)).collect();
        let cpus = threads.iter().filter_map(|thread| examined.log.cpus.get(thread));
        cpus.flatten().copied().collect()
    };
    [of(true), of(false)]
}

/// `a > b over pipe and c > d over tcp`.
fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// One finding of all channels for which the same is said of their CPUs.
fn about_cpus(
    examined: &Examined<'_>,
    row: &Row,
    said: impl Fn(&Group) -> Option<(&'static str, String)>,
) -> Vec<Finding> {
    let mut channels: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for group in &examined.groups {
        if let Some(said) = said(group) {
            channels.entry(said).or_default().push(&group.name);
        }
    }
    let finding = |((which, may), names): ((&str, String), Vec<&str>)| {
        let words = format!("{which} of {} may use {may}", joined(&names));
        let cells = names.into_iter().map(str::to_owned).collect();
        Finding { cells, ..row.found(&[&words]) }
    };
    channels.into_iter().map(finding).collect()
}

fn shared_cpu(examined: &Examined<'_>) -> Said {
    Ok(about_cpus(examined, &findings::SHARED_CPU, |group| {
        let [a, b] = cpus(examined, group);
        let cpu = a.first().filter(|_| a.len() == 1 && a == b && !same_thread(group))?;
        Some(("both ends", format!("CPU {cpu} alone")))
    }))
}

fn same_thread(group: &Group) -> bool {
    let Carried { messages, same_thread, .. } = carried(group);
    same_thread as f64 >= MOSTLY * messages as f64
}

fn not_pinned(examined: &Examined<'_>) -> Said {
    if !ipcperf_sys::affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) {
        return Err("there is only one CPU here");
    }
    Ok(about_cpus(examined, &findings::NOT_PINNED, |group| {
        let counts = cpus(examined, group).map(|cpus| cpus.len());
        let which = match counts.map(|count| count > 1) {
            [true, true] => "either end",
            [true, false] => "the end that asks or sends",
            [false, true] => "the end that answers or receives",
            [false, false] => return None,
        };
        Some((which, format!("{} CPUs", counts.into_iter().max().unwrap_or(0))))
    }))
}

fn not_touched(examined: &Examined<'_>) -> Said {
    let span = |group: &Group| {
        let (first, last) = group.span();
        (first.saturating_sub(1), last.saturating_add(1))
    };
    Ok(each(examined, |group| {
        let calls: Vec<&Call> = calls_within(examined.log, span(group))
            .filter(|call| call.passes_on() && group.processes.contains_key(&call.process))
            .collect();
        let bytes: u64 = calls.iter().map(|call| call.result.cast_unsigned()).sum();
        let who = calls.first().map(|call| examined.log.program(call.process))?;
        let words = format!("{who} passes on {} B by {}", grouped(bytes), listed(&calls));
        Some(findings::NOT_TOUCHED.found(&[&words]))
    }))
}
