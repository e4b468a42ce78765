//! Who looks at a clock, and which of these looks belong together.
//!
//! A benchmark looks at the begin and at the end of what it times. Its runtime looks as well: to load a module, to compile a
//! function, to collect garbage, at each turn of its event loop. Looks from one place in the code of the runtime belong together:
//! those of the benchmark all come through the function of the language that reads clocks, and no others do.

use super::super::log::Log;
use super::group::Group;
use crate::record::calls::{Call, Clock};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A look at a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    /// When it began and ended, ns.
    pub(super) begun: u64,
    pub(super) ended: u64,
    thread: u32,
    /// Where the time was stored.
    place: u64,
    /// Where the function returns to that looked.
    caller: u64,
    /// It was at a clock that counts time that passes, in short steps.
    is_precise: bool,
    /// It was at `CLOCK_REALTIME`.
    is_of_day: bool,
    /// Its thread waited just before it, and so it may be there for that wait.
    has_waited: bool,
    /// Its thread did nothing else but look at clocks until it waited: which wait that was.
    wait: Option<u64>,
    /// It may end what an earlier look begins, but begins nothing itself.
    pub(super) only_ends: bool,
}

/// Whose looks, and at which clock.
type Looker = (u32, u64);

/// Looks that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// In their order of time.
    pub(super) looks: Vec<ClockReading>,
    /// Those of a runtime may be among them, or they may all be its own.
    pub(super) is_mixed: bool,
    /// It is one of several of its process, most of which are the runtime's own.
    pub(super) is_part: bool,
    /// It is the place of the stack that they have in common.
    pub(super) is_by_place: bool,
    /// It is rather one of the runtime: another process of the same program has such a series as well, or it is known by a caller in
    /// Python, where the place is the same at any depth of functions.
    pub(super) is_common: bool,
}

/// The series of each process. If the process times messages at all, at least one of its series does.
pub(super) type Looks = BTreeMap<u32, Vec<Series>>;

/// In the runtime of Go a user's look stores the time where the stack of the thread begins, so far from another one's at most. The
/// stacks of all threads but the first one begin at the end of a page: the time is so far before it (96 bytes in Go 1.26, where the
/// looks of the runtime are 400 bytes before it or more).
const NEAR: u64 = 32;
const PAGE: u64 = 4096;
const BEGIN: u64 = 160;

/// A function that looks in several processes of one program, so often in each, is one of the runtime.
const SOME: usize = 5;

/// Places of the stack from which a benchmark does not look.
const MANY: usize = 10;

/// All series by process. A look by a program that does nothing else with the channels, as `date` in a script, is one of the
/// script.
pub(super) fn looks(log: &Log, groups: &[Group], clock: impl Fn(Clock) -> Option<u64>) -> Looks {
    let mut looks: BTreeMap<(u32, u64), Vec<ClockReading>> = BTreeMap::new();
    // Of a process with an end, only the main thread and the threads that move data time messages.
    let mut threads: HashMap<u32, HashSet<u32>> = HashMap::new();
    for one in groups.iter().flat_map(|group| group.processes.values().flatten()) {
        threads.entry(one.process).or_default().insert(one.thread);
    }
    let concerns = |call: &Call| {
        let threads = threads.get(&call.process);
        threads.is_none_or(|all| call.thread == call.process || all.contains(&call.thread))
    };
    let mut has_waited: HashMap<u32, bool> = HashMap::new();
    let mut recent: HashMap<u32, Vec<(Looker, usize)>> = HashMap::new();
    for call in &log.calls {
        let has_waited = has_waited.insert(call.thread, call.waits()).unwrap_or(false);
        if call.reads_clock().is_none() {
            for (looker, at) in recent.remove(&call.thread).unwrap_or_default() {
                let look = looks.get_mut(&looker).and_then(|looks| looks.get_mut(at));
                if let Some(look) = look.filter(|_| call.waits()) {
                    look.wait = Some(call.ended);
                }
            }
        }
        // A launcher reads clocks for itself, not for the program that it becomes.
        if call.loads_program() {
            looks.retain(|(process, _), _| *process != call.process);
            for looks in recent.values_mut() {
                looks.retain(|((process, _), _)| *process != call.process);
            }
        }
        let Some(clock) = call.reads_clock().and_then(&clock) else { continue };
        if concerns(call) {
            let looker = (call.process, clock);
            let all = looks.entry(looker).or_default();
            recent.entry(call.thread).or_default().push((looker, all.len()));
            all.push(ClockReading {
                begun: call.begun,
                ended: call.ended,
                thread: call.thread,
                place: call.arguments[1],
                caller: call.arguments[2],
                has_waited,
                wait: None,
                only_ends: false,
                is_precise: call.reads_clock().is_some_and(Clock::is_precise),
                is_of_day: call.reads_clock().is_some_and(Clock::is_of_day),
            });
        }
    }
    let is_end = |process: &u32| groups.iter().any(|group| group.processes.contains_key(process));
    let single = |((process, _), looks): &(&(u32, u64), &Vec<ClockReading>)| {
        looks.len() == 1 && !is_end(process) && log.parents.contains_key(process)
    };
    let moved: Vec<_> = looks.iter().filter(single).map(|(key, _)| *key).collect();
    for (process, clock) in moved {
        let root = ancestors(log, process).last().unwrap_or(process);
        let of_one = looks.remove(&(process, clock)).unwrap_or_default();
        looks.entry((root, clock)).or_default().extend(of_one);
    }
    looks.values_mut().for_each(|looks| looks.sort_unstable_by_key(|one| one.begun));
    let mut callers: HashMap<(&str, u64), BTreeMap<u32, usize>> = HashMap::new();
    for ((process, _), looks) in &looks {
        for one in looks {
            let same = callers.entry((log.program(*process), one.caller)).or_default();
            *same.entry(*process).or_default() += 1;
        }
    }
    let is_common = |process: u32, part: &Series| {
        let caller = part.looks.first().map_or(0, |one| one.caller);
        let same = callers.get(&(log.program(process), caller));
        let others = same.into_iter().flatten().filter(|(other, _)| **other != process);
        others.into_iter().any(|(_, count)| *count >= SOME)
    };
    let mut found = Looks::new();
    let of_go: Looks = of_go(log, &looks);
    for ((process, _), looks) in looks {
        if of_go.contains_key(&process) {
            continue;
        }
        let has_runtime = has_runtime(log, process);
        let all = found.entry(process).or_default();
        if has_runtime && has_callers(log, process) {
            let parts = parted(&looks, |one| one.caller);
            all.extend(parts.map(|part| Series {
                is_common: is_python(log, process) || is_common(process, &part),
                ..part
            }));
            // In Python an old address may lie in such a frame, but what is called from many places is the runtime's.
            let places = places(&looks);
            let is_rare =
                |one: &&ClockReading| places.get(&one.caller).is_none_or(|all| all.len() < MANY);
            let rare: Vec<ClockReading> = looks.iter().filter(is_rare).copied().collect();
            let parts = parted(&rare, |one| one.place).filter(|_| is_python(log, process));
            all.extend(parts.map(|part| Series { is_by_place: true, ..part }));
        } else if has_runtime {
            let looks = looks.iter().filter(|one| !one.has_waited).copied().collect();
            all.extend(parted(&without_waits(looks, |_| true), |one| one.place));
        }
        all.push(Series { looks, is_mixed: has_runtime, ..Series::default() });
    }
    found.extend(of_go);
    found
}

/// Without the last one before each wait: a runtime looks there to learn until when it waits.
fn without_waits(
    mut looks: Vec<ClockReading>,
    may_be: impl Fn(&ClockReading) -> bool,
) -> Vec<ClockReading> {
    let last: HashMap<u64, u64> = looks
        .iter()
        .filter(|one| may_be(one))
        .filter_map(|one| Some((one.wait?, one.begun)))
        .collect();
    looks.retain(|one| one.wait.is_none_or(|wait| last.get(&wait) != Some(&one.begun)));
    looks
}

/// At which places of the stack looks have been stored that came from each function.
fn places(looks: &[ClockReading]) -> HashMap<u64, HashSet<u64>> {
    let mut places: HashMap<u64, HashSet<u64>> = HashMap::new();
    for one in looks {
        places.entry(one.caller).or_default().insert(one.place);
    }
    places
}

/// Series by what their looks have in common.
fn parted(
    looks: &[ClockReading],
    key: impl Fn(&ClockReading) -> u64,
) -> impl Iterator<Item = Series> {
    let mut parts: BTreeMap<u64, Vec<ClockReading>> = BTreeMap::new();
    for one in looks {
        parts.entry(key(one)).or_default().push(*one);
    }
    parts.into_values().map(|looks| Series { looks, is_part: true, ..Series::default() })
}

/// Processes with the runtime of Go. Its `time.Now` looks at the time of the day and then at the monotonic clock, and stores both
/// next to each other; the runtime itself never looks at the former.
fn of_go(log: &Log, looks: &BTreeMap<(u32, u64), Vec<ClockReading>>) -> Looks {
    let mut all: BTreeMap<u32, Vec<ClockReading>> = BTreeMap::new();
    for ((process, _), looks) in looks.iter().filter(|((process, _), all)| {
        log.of_go.contains(process) && all.iter().all(|one| one.is_precise)
    }) {
        all.entry(*process).or_default().extend(looks);
    }
    let mut found = Looks::new();
    for (process, mut looks) in all {
        looks.sort_unstable_by_key(|one| one.begun);
        let mut last: HashMap<u32, ClockReading> = HashMap::new();
        let mut places: HashSet<(u32, u64)> = HashSet::new();
        let mut of_now: HashSet<u64> = HashSet::new();
        for one in &looks {
            let before = last.insert(one.thread, *one).filter(|before| before.is_of_day);
            let is_now =
                |before: &ClockReading| !one.is_of_day && before.place.abs_diff(one.place) <= NEAR;
            if before.as_ref().is_some_and(is_now) {
                places.insert((one.thread, one.place));
                of_now.insert(one.begun);
            }
        }
        // `time.Since` looks at the monotonic clock alone, later than the look that it is given and from the same place.
        let first = looks.iter().map(|one| one.begun).find(|begun| of_now.contains(begun));
        let is_users = |one: &ClockReading| {
            let of_thread = || places.iter().filter(|(thread, _)| *thread == one.thread);
            if first.is_none_or(|first| one.begun < first) {
                false
            } else if of_thread().next().is_some() {
                of_thread().any(|(_, place)| place.abs_diff(one.place) <= NEAR)
            } else if one.thread == process {
                false
            } else {
                let is_same = |(thread, place): &(u32, u64)| {
                    *thread != process && (place % PAGE).abs_diff(one.place % PAGE) <= NEAR
                };
                PAGE - one.place % PAGE <= BEGIN || places.iter().any(is_same)
            }
        };
        let users = looks.iter().filter(|one| !one.is_of_day && is_users(one));
        let users = users
            .map(|one| ClockReading { only_ends: !of_now.contains(&one.begun), ..*one })
            .collect();
        // A goroutine that sleeps looks as well.
        let users = without_waits(users, |one| one.only_ends);
        let users = Series { looks: users, ..Series::default() };
        looks.retain(|one| !one.is_of_day);
        found.insert(process, vec![users, Series { looks, is_mixed: true, ..Series::default() }]);
    }
    found
}

/// In programs of such a language the function that reads clocks has a small frame, and the address of its caller is just above
/// it. In other languages old addresses come first, but the frame is always at the same place of the stack.
fn has_callers(log: &Log, process: u32) -> bool {
    const WITHOUT: [&str; 3] = ["ruby", "perl", "php"];
    let program = log.program(process);
    !WITHOUT.iter().any(|runtime| program.starts_with(runtime))
}

fn is_python(log: &Log, process: u32) -> bool {
    ["python", "pypy"].iter().any(|name| log.program(process).starts_with(name))
}

/// A process runs an interpreter or a virtual machine, which reads clocks for its own sake.
pub(super) fn has_runtime(log: &Log, process: u32) -> bool {
    const RUNTIMES: [&str; 10] =
        ["python", "pypy", "ruby", "perl", "php", "node", "MainThread", "bun", "deno", "java"];
    let program = log.program(process);
    RUNTIMES.iter().any(|runtime| program.starts_with(runtime))
}

/// The parent of a process, its parent, and so on.
pub(super) fn ancestors(log: &Log, process: u32) -> impl Iterator<Item = u32> {
    let mut seen = HashSet::from([process]);
    let parent = |process: &u32| log.parents.get(process).copied();
    std::iter::successors(parent(&process), move |process| parent(process))
        .take_while(move |process| seen.insert(*process))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: u32 = 100;

    fn look(begun: u64, thread: u32, place: u64, is_of_day: bool) -> Call {
        let clock = if is_of_day { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        Call {
            number: libc::SYS_clock_gettime,
            process: PROCESS,
            thread,
            begun,
            ended: begun + 5,
            result: 0,
            arguments: [u64::try_from(clock).expect("it is not negative"), place, 0, 0],
            object: 0,
            control: 0,
        }
    }

    #[test]
    fn in_go_only_looks_from_the_begin_of_a_stack_are_of_the_user_and_those_at_no_date_begin_nothing()
     {
        let (first, second, third) = (PROCESS, PROCESS + 1, PROCESS + 2);
        let calls = vec![
            // The runtime, before the program reads a clock: at its place, but earlier.
            look(10, first, 0x7ffe_1000_04c0, false),
            // `time.Now`.
            look(20, first, 0x7ffe_1000_04c0, true),
            look(30, first, 0x7ffe_1000_04b0, false),
            // The runtime, from deep within the stacks, once at the place that is the user's in another thread.
            look(40, first, 0x7ffe_1000_0fa0, false),
            look(50, second, 0xc000_0000_0cb0, false),
            look(60, third, 0xc000_0010_0e40, false),
            // `time.Since`, in a thread in which nothing else is known.
            look(70, second, 0xc000_0000_0fa0, false),
            // `time.Now` in another thread.
            look(80, third, 0xc000_0010_0fb0, true),
            look(90, third, 0xc000_0010_0fa0, false),
        ];
        let mut log = Log::default();
        log.calls = calls;
        log.of_go.insert(PROCESS);
        let found = looks(&log, &[], |_| Some(0));
        let users: Vec<_> =
            found[&PROCESS][0].looks.iter().map(|one| (one.begun, one.only_ends)).collect();
        assert_eq!(users, [(30, false), (70, true), (90, false)]);
    }
}
