//! From calls to channels: who asks, who answers, how much, how often and how long it takes.
//!
//! Everything is seen from one end of a connection. Its calls are taken in the order in which their data moved: a write when it
//! begins, a read when it ends. Writes that follow one another are one question, reads that follow it are its answer; at the
//! end that answers it is the other way round.

mod connection;
mod delayed;
mod pushed;
mod roles;

pub(super) use connection::{Connection, ConnectionEnd, Move};
pub(super) use delayed::TcpDelays;
pub(super) use roles::name_roles;

use super::cpu::Cpu;
use super::log::Log;
use crate::profile::{
    ChannelNeed, Exchange, RecordedChannel, RecordedProgram, RecordedSize, RecordedTime,
};
use crate::record::calls::{Act, Call, Kind, Object};
use ipcperf_sys::trace::name;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Sizes that are listed.
const SIZES: usize = 8;

/// Of this share of requests, in one call each, a channel is called closed.
const MOSTLY: f64 = 0.95;

/// A question and its answer.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    question: u64,
    answer: u64,
    /// Calls that the question took.
    pieces: u64,
    /// Calls that the answer took, which may have no bytes.
    answers: u64,
    begun: u64,
    asked: u64,
    answering: u64,
    ended: u64,
}

/// Turns of one end. `asks` says which direction is the question.
fn turns(moves: &[Move], asks: bool) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for one in moves {
        let is_question = one.is_out == asks;
        if is_question && turns.last().is_none_or(|turn| turn.answers > 0) {
            let begun = if asks { one.begun } else { one.ended };
            turns.push(Turn { begun, ..Turn::default() });
        }
        // An answer before any question is what a server says first.
        let Some(turn) = turns.last_mut() else { continue };
        if is_question {
            turn.question += one.bytes;
            turn.pieces += 1;
            turn.asked = one.ended;
        } else {
            if turn.answers == 0 {
                turn.answering = one.begun;
            }
            turn.answers += 1;
            turn.answer += one.bytes;
            turn.ended = one.ended;
        }
    }
    turns
}

/// Kinds of which one object has both ends.
const SIDED: [&str; 6] = ["pipe", "fifo", "eventfd", "posix-mq", "sysv-mq", "sysv-sem"];

/// When the calls of each thread ended, and their numbers, in their order.
type Threads = HashMap<u32, Vec<(u64, i64)>>;

/// What makes connections one channel: kind, name, who asks, who answers, and whether it may have answers.
type Key = (String, String, Option<String>, Option<String>, bool);

/// All channels that moved data between two processes, or to one that was not recorded.
pub(super) fn channels(log: &Log) -> Vec<RecordedChannel> {
    let mut threads = Threads::new();
    for call in &log.calls {
        threads.entry(call.thread).or_default().push((call.ended, call.number));
    }
    let mut groups: BTreeMap<Key, Vec<Connection>> = BTreeMap::new();
    for (kind, name, connection) in connections(log) {
        let ends = [&connection.asker, &connection.answerer];
        let processes = ends.map(|end| end.as_ref().and_then(ConnectionEnd::process));
        // Threads of one process are no matter of this.
        if processes[0].is_some() && processes[0] == processes[1] {
            continue;
        }
        let [asks, answers] = processes.map(|one| one.map(|one| log.program(one).to_owned()));
        // Single pipes are no channel with pairs of them; a socket that was seen for a moment is one with others.
        let is_pair = !SIDED.contains(&kind) || connection.is_mutual();
        let key = (kind.to_owned(), name, asks, answers, is_pair);
        groups.entry(key).or_default().push(connection);
    }
    let delays = TcpDelays::of(log);
    let channel = |(key, connections)| channel(&threads, delays.as_ref(), key, connections);
    let mut channels: Vec<_> = groups.into_iter().map(channel).collect();
    // What asks and answers most often comes first, then what sends most messages one way.
    let messages = |one: &RecordedChannel| {
        let pushed = one.pushed.as_ref().map_or(0, |pushed| pushed.messages);
        one.sizes.iter().map(|size| size.count).sum::<u64>() + one.other_sizes + pushed
    };
    let bytes = |one: &RecordedChannel| one.bytes_asked + one.bytes_answered;
    channels.sort_by_key(|one| std::cmp::Reverse((one.requests, messages(one), bytes(one))));
    channels
}

/// Ends by object; of pipes and the like, the end that writes (`true`) and the end that reads.
fn ends(log: &Log) -> HashMap<(u64, bool), ConnectionEnd> {
    let mut ends: HashMap<(u64, bool), ConnectionEnd> = HashMap::new();
    let mut activity = pushed::ThreadActivity::default();
    for call in &log.calls {
        let act = call.act();
        let is_unasked = activity.has_turned(call, act);
        if log.kind(call.object).is_none() {
            continue;
        }
        let is_out = matches!(act, Act::Wrote(_));
        let end = ends.entry((call.object, has_sides(log, call.object) && is_out)).or_default();
        let needs = [
            (call.passes_descriptors(), ChannelNeed::Descriptors),
            (call.passes_credentials() || act == Act::AskedPeer, ChannelNeed::Credentials),
            (act == Act::EndedDirection, ChannelNeed::HalfClose),
        ];
        end.needs.extend(needs.into_iter().filter(|(is, _)| *is).map(|(_, need)| need));
        end.connects |= act == Act::Connected;
        let (Act::Read(bytes) | Act::Wrote(bytes)) = act else { continue };
        *end.processes.entry(call.process).or_default() += 1;
        let begun = if call.begun == 0 { call.ended } else { call.begun };
        let at = if is_out { begun } else { call.ended };
        let Call { ended, thread, process, object, .. } = *call;
        let one = Move { at, begun, ended, bytes, is_out, is_unasked, thread, process, object };
        end.moves.push(one);
    }
    ends.values_mut().for_each(ConnectionEnd::sort);
    ends
}

/// Pipes and counters are one object for both ends.
fn has_sides(log: &Log, object: u64) -> bool {
    matches!(
        log.objects.get(&object).map(|one| &one.kind),
        Some(Kind::Pipe | Kind::Queue | Kind::Semaphore | Kind::Other)
    )
}

pub(super) fn connections(log: &Log) -> Vec<(&'static str, String, Connection)> {
    let mut ends = ends(log);
    let mut ids: Vec<(u64, bool)> =
        ends.iter().filter(|(_, end)| !end.moves.is_empty()).map(|(id, _)| *id).collect();
    ids.sort_by_key(|id| (ends[id].span(), *id));
    let pairs = pairs(log);
    // Those that wait for their peers, by both numbers and in their order of time: kernels use addresses and ports again, so
    // thousands of connections may have the same.
    let mut waiting: HashMap<[u128; 2], BTreeSet<(u64, u64)>> = HashMap::new();
    for id in &ids {
        if let Some(pair) = pairs.get(&id.0).filter(|_| !has_sides(log, id.0)) {
            waiting.entry(*pair).or_default().insert((ends[id].span().0, id.0));
        }
    }
    let mut found = Vec::new();
    let mut pipes = Vec::new();
    for id in ids {
        let (object, is_out) = id;
        let Some(end) = ends.remove(&id) else { continue };
        let (Some(kind), Some(facts)) = (log.kind(object), log.objects.get(&object)) else {
            continue;
        };
        if has_sides(log, object) {
            let other = ends.remove(&(object, !is_out));
            let (writer, reader) = if is_out { (Some(end), other) } else { (other, Some(end)) };
            let name = if ["fifo", "posix-mq"].contains(&kind) {
                facts.name.clone()
            } else {
                String::new()
            };
            pipes.push((kind, name, Connection { asker: writer, answerer: reader }));
            continue;
        }
        let [own, number] = pairs.get(&object).copied().unwrap_or_default();
        let began = end.span().0;
        if let Some(same) = waiting.get_mut(&[own, number]) {
            same.remove(&(began, object));
        }
        // A reused pair of addresses has several: the one that was there at the time.
        let peers = waiting.get_mut(&[number, own]).filter(|_| number != 0);
        let other = peers.and_then(|peers| {
            let peer = nearest(peers, began)?;
            peers.remove(&peer);
            ends.remove(&(peer.1, false))
        });
        let asks = asks(log, object, &end, other.as_ref());
        let name = match facts.kind {
            Kind::Internet(..) => {
                let at = if asks { facts.ports[1] } else { facts.ports[0] };
                at.to_string()
            }
            _ => {
                let answers = if asks { other.as_ref() } else { Some(&end) };
                let theirs = object_of(log, answers).filter(|one| !one.name.is_empty());
                theirs.unwrap_or(facts).name.clone()
            }
        };
        let (asker, answerer) = if asks { (Some(end), other) } else { (other, Some(end)) };
        found.push((kind, name, Connection { asker, answerer }));
    }
    found.extend(joined(pipes));
    found
}

/// The one whose time is nearest; of two that are as near the earlier one.
fn nearest(all: &BTreeSet<(u64, u64)>, at: u64) -> Option<(u64, u64)> {
    let before = all.range(..(at, 0)).next_back().copied();
    let after = all.range((at, 0)..).next().copied();
    before.into_iter().chain(after).min_by_key(|(time, _)| time.abs_diff(at))
}

/// The number of each socket, and that of its peer. Of a connection that was accepted late and ended soon, one end may have been
/// seen while it had no peer yet and not again before it had none any more; the other end knows.
fn pairs(log: &Log) -> HashMap<u64, [u128; 2]> {
    let known = |pair: [u128; 2]| pair[0] != 0 && pair[1] != 0;
    let all = || log.objects.values();
    let told: HashMap<u128, u128> =
        all().filter(|one| known(one.pair)).map(|one| (one.pair[1], one.pair[0])).collect();
    let pair = |one: &Object| match one.pair {
        // Several can send to one socket of datagrams.
        [own, 0] if !one.has_datagrams() => [own, told.get(&own).copied().unwrap_or(0)],
        pair => pair,
    };
    all().map(|one| (one.id, pair(one))).collect()
}

/// What is known of the object of an end.
fn object_of<'a>(log: &'a Log, end: Option<&ConnectionEnd>) -> Option<&'a Object> {
    log.objects.get(&end?.moves.first()?.object)
}

/// Whether this end is the one that asks.
fn asks(log: &Log, object: u64, end: &ConnectionEnd, other: Option<&ConnectionEnd>) -> bool {
    let Some(facts) = log.objects.get(&object) else { return true };
    if end.connects || other.is_some_and(|other| other.connects) {
        return end.connects;
    }
    let both_are_bound =
        facts.owns_name && object_of(log, other).is_some_and(|other| other.owns_name);
    match facts.kind {
        Kind::Internet(..) if log.listening.contains(&facts.ports[0]) => false,
        Kind::Internet(..) if log.listening.contains(&facts.ports[1]) => true,
        Kind::Unix(_) if !facts.name.is_empty() && !both_are_bound => !facts.owns_name,
        _ => {
            let writes =
                |end: &ConnectionEnd| end.moves.iter().find(|one| one.is_out).map(|one| one.at);
            match (writes(end), other) {
                (own, Some(other)) => {
                    writes(other).is_none_or(|theirs| own.is_some_and(|own| own <= theirs))
                }
                // Of one end alone it is what it did first.
                (_, None) => end.moves.first().is_some_and(|one| one.is_out),
            }
        }
    }
}

/// Two pipes between the same two processes, in opposite directions, are one connection.
fn joined(
    pipes: Vec<(&'static str, String, Connection)>,
) -> impl Iterator<Item = (&'static str, String, Connection)> {
    let mut left: Vec<Option<(&'static str, String, Connection)>> =
        pipes.into_iter().map(Some).collect();
    let between = |(kind, _, one): &(&'static str, String, Connection)| {
        Some((*kind, one.asker.as_ref()?.process()?, one.answerer.as_ref()?.process()?))
    };
    // By kind, writer and reader; the first ones are taken first.
    let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, pipe) in left.iter().enumerate() {
        if let Some(key) = pipe.as_ref().and_then(between) {
            waiting.entry(key).or_default().push_back(at);
        }
    }
    for at in 0..left.len() {
        let key = left[at].as_ref().and_then(between);
        let Some((kind, a, b)) = key.filter(|(_, a, b)| a != b) else { continue };
        let Some(others) = waiting.get_mut(&(kind, b, a)) else { continue };
        while others.front().is_some_and(|other| *other <= at) {
            others.pop_front();
        }
        let back = others.pop_front();
        let Some((.., back)) = back.and_then(|back| left[back].take()) else { continue };
        let Some((.., there)) = left[at].as_mut() else { continue };
        let merge = |one: &mut Option<ConnectionEnd>, other: Option<ConnectionEnd>| {
            let (Some(one), Some(other)) = (one, other) else { return };
            one.moves.extend(other.moves);
            one.sort();
        };
        merge(&mut there.asker, back.answerer);
        merge(&mut there.answerer, back.asker);
    }
    left.into_iter().flatten()
}

fn channel(
    threads: &Threads,
    delays: Option<&TcpDelays>,
    key: Key,
    mut connections: Vec<Connection>,
) -> RecordedChannel {
    let (kind, name, asks, answers, is_pair) = key;
    let is_tcp = ["tcp", "tcp6"].contains(&kind.as_str());
    let delayed = delays.filter(|_| is_tcp).and_then(|delays| delays.writes(&connections));
    let is_mutual = is_pair && connections.iter().any(Connection::is_mutual);
    let mut all: Vec<Turn> = Vec::new();
    let (mut response, mut service, mut think) = (Vec::new(), Vec::new(), Vec::new());
    let mut unanswered = 0;
    let mut bytes = [0, 0];
    let mut needs = BTreeSet::new();
    let mut pushed = Vec::new();
    if is_mutual {
        pushed.extend(connections.iter_mut().flat_map(pushed::taken));
        bytes[1] = pushed.iter().map(|one| one.bytes).sum();
    }
    let connections = connections.as_slice();
    for connection in connections {
        let [asker, answerer] = [connection.asker.as_ref(), connection.answerer.as_ref()];
        let whole_asker = seen_whole(asker, answerer);
        let seen = match (whole_asker, answerer) {
            (Some(end), _) => end.moves.clone(),
            (None, Some(end)) => end.turned(),
            (None, None) => continue,
        };
        for one in &seen {
            bytes[usize::from(!one.is_out)] += one.bytes;
        }
        let mut whole = turns(&seen, true);
        unanswered += whole.iter().filter(|turn| turn.answers == 0).count() as u64;
        whole.retain(|turn| turn.answers > 0);
        if whole_asker.is_some() {
            response.extend(whole.iter().map(|turn| turn.ended.saturating_sub(turn.begun)));
            let pairs = whole.iter().zip(whole.iter().skip(1));
            think.extend(pairs.map(|(one, next)| next.begun.saturating_sub(one.ended)));
        }
        if let Some(end) = answerer {
            let answered = turns(&end.moves, false);
            let answered = answered.iter().filter(|turn| turn.answers > 0);
            service.extend(answered.map(|turn| turn.answering.saturating_sub(turn.asked)));
        }
        all.extend(whole);
        for end in [asker, answerer].into_iter().flatten() {
            needs.extend(end.needs.iter().copied());
        }
    }
    let requests = all.len() as u64;
    let one_way = one_way_sizes(connections);
    let single = all.iter().filter(|turn| turn.pieces == 1).count() as f64;
    let exchange = match () {
        () if !is_mutual => Exchange::OneWay,
        () if single >= MOSTLY * requests as f64 => Exchange::Closed,
        () => Exchange::Pipelined,
    };
    let pairs = all.iter().map(|turn| (turn.question, turn.answer));
    let (sizes, other_sizes) = if is_mutual {
        frequent(pairs)
    } else {
        frequent(one_way.into_iter().map(|size| (size, 0)))
    };
    let flight = connections.iter().any(|one| one.asker.is_some()).then(|| in_flight(&all));
    let of = |end: fn(&Connection) -> &Option<ConnectionEnd>| {
        calls_each(threads, connections.iter().filter_map(|one| end(one).as_ref()), requests)
    };
    RecordedChannel {
        kind,
        name,
        asks,
        answers,
        connections: connections.len() as u64,
        exchange,
        requests,
        unanswered: if is_mutual { unanswered } else { 0 },
        bytes_asked: bytes[0],
        bytes_answered: bytes[1],
        pushed: pushed::pushed(&pushed, |sizes| frequent(sizes.into_iter())),
        sizes,
        other_sizes,
        in_flight: flight.flatten().map(|flight| flight.mean),
        span_ns: flight.flatten().map(|flight| flight.span_ns),
        most_in_flight: flight.flatten().map(|flight| flight.most),
        response: time(response),
        service: time(service),
        think: time(think),
        delayed,
        asker_calls: of(|one| &one.asker),
        answerer_calls: of(|one| &one.answerer),
        needs: needs.into_iter().collect(),
    }
}

/// The end that asks, unless it is seen only in part and the end that answers is seen whole.
fn seen_whole<'a>(
    asker: Option<&'a ConnectionEnd>,
    answerer: Option<&ConnectionEnd>,
) -> Option<&'a ConnectionEnd> {
    let is_better = |other: &ConnectionEnd| other.sees_both();
    asker.filter(|end| end.sees_both() || !answerer.is_some_and(is_better))
}

/// Sizes of the writes, or of the reads where only these are known.
fn one_way_sizes(connections: &[Connection]) -> Vec<u64> {
    let ends = connections.iter().filter_map(|one| one.asker.as_ref().or(one.answerer.as_ref()));
    ends.flat_map(|end| end.moves.iter().map(|one| one.bytes)).collect()
}

/// The most frequent sizes, and how many have others.
fn frequent(pairs: impl Iterator<Item = (u64, u64)>) -> (Vec<RecordedSize>, u64) {
    let mut counts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for pair in pairs {
        *counts.entry(pair).or_default() += 1;
    }
    let mut sizes: Vec<_> = counts
        .into_iter()
        .map(|((question, answer), count)| RecordedSize { question, answer, count })
        .collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(size.count));
    let others = sizes.iter().skip(SIZES).map(|size| size.count).sum();
    sizes.truncate(SIZES);
    (sizes, others)
}

/// Requests in flight: on average from the first to the last, how long that was, and at most.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    mean: f64,
    span_ns: u64,
    most: u64,
}

fn in_flight(turns: &[Turn]) -> Option<InFlight> {
    let (mut most, mut now) = (0_u64, 0_u64);
    let begins = turns.iter().map(|turn| (turn.begun, true));
    let mut edges: Vec<_> = begins.chain(turns.iter().map(|turn| (turn.ended, false))).collect();
    // Ends come first where both are at one time.
    edges.sort_unstable();
    for (_, begins) in &edges {
        now = if *begins { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    let (first, last) = (edges.first()?.0, edges.last()?.0);
    let spent: u64 = turns.iter().map(|turn| turn.ended.saturating_sub(turn.begun)).sum();
    let span_ns = last - first;
    Some(InFlight { mean: spent as f64 / span_ns.max(1) as f64, span_ns, most })
}

fn time(mut values: Vec<u64>) -> Option<RecordedTime> {
    values.sort_unstable();
    // The smallest value that such a share does not exceed.
    let at = |share: f64| {
        let rank = (share * values.len() as f64).ceil() as usize;
        values.get(rank.max(1) - 1).copied()
    };
    Some(RecordedTime { p50_ns: at(0.5)?, p90_ns: at(0.9)?, p99_ns: at(0.99)? })
}

/// Calls of the threads that had to do with these ends, while they did, for each request.
fn calls_each<'a>(
    threads: &Threads,
    ends: impl Iterator<Item = &'a ConnectionEnd>,
    requests: u64,
) -> BTreeMap<String, f64> {
    let mut spans: HashMap<u32, (u64, u64)> = HashMap::new();
    for one in ends.flat_map(|end| &end.moves) {
        let span = spans.entry(one.thread).or_insert((one.begun, one.ended));
        *span = (span.0.min(one.begun), span.1.max(one.ended));
    }
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for (thread, (begin, end)) in spans {
        let calls = threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|(ended, _)| *ended < begin);
        for (_, number) in calls[first..].iter().take_while(|(ended, _)| *ended <= end) {
            *counts.entry(*number).or_default() += 1;
        }
    }
    let each = |count: u64| count as f64 / requests.max(1) as f64;
    // Less than one in a thousand requests has to do with something else.
    let counts = counts.into_iter().map(|(number, count)| (name(number), each(count)));
    counts.filter(|(_, each)| requests > 0 && *each >= 0.001).collect()
}

/// What each program called, and the CPU time of its processes.
pub(super) fn programs(log: &Log, cpu: &Cpu) -> Vec<RecordedProgram> {
    let mut found: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &log.calls {
        found.entry(log.program(call.process)).or_default().push(call);
    }
    let program = |(program, all): (&str, Vec<&Call>)| {
        let mut calls = BTreeMap::new();
        for call in &all {
            *calls.entry(call.number).or_default() += 1;
        }
        let different =
            |of: fn(&Call) -> u32| all.iter().map(|call| of(call)).collect::<BTreeSet<_>>();
        let processes = different(|call| call.process);
        RecordedProgram {
            name: program.to_owned(),
            cpu_ns: cpu.of(&processes),
            processes: processes.len() as u64,
            threads: different(|call| call.thread).len() as u64,
            calls: calls.into_iter().map(|(number, count)| (name(number), count)).collect(),
        }
    };
    let mut programs: Vec<_> = found.into_iter().map(program).collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.calls.values().sum::<u64>()));
    programs
}

#[cfg(test)]
mod tests;
