//! Channels from logs of transfers that are written down here.

use super::*;
use crate::record::calls::Heard;

/// `read` and `write` of every architecture.
const READ: i64 = if cfg!(target_arch = "x86_64") { 0 } else { 63 };
const WRITE: i64 = if cfg!(target_arch = "x86_64") { 1 } else { 64 };

fn socket(id: u64, peer: u64) -> Heard {
    Heard::Object(Object {
        id,
        kind: Kind::Unix(1),
        pair: [id.into(), peer.into()],
        name: String::new(),
        owns_name: false,
        ports: [0; 2],
        listens: false,
    })
}

/// A log of transfers: process, object, when, and how many bytes; more than 0 are written.
fn log(objects: impl IntoIterator<Item = Heard>, moves: &[(u32, u64, u64, i64)]) -> Log {
    let mut log = Log::default();
    objects.into_iter().for_each(|object| log.hear(object));
    for process in 1..=2 {
        log.name(process, format!("p{process}"));
    }
    for (process, object, at, bytes) in moves.iter().copied() {
        log.hear(Heard::Call(Call {
            number: if bytes > 0 { WRITE } else { READ },
            process,
            thread: process,
            begun: at,
            ended: at + 1,
            result: bytes.abs(),
            object,
            ..Call::default()
        }));
    }
    log
}

fn one(log: &Log) -> RecordedChannel {
    let mut all = channels(log);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[test]
fn questions_and_answers_in_pieces_are_one_request() {
    let pair = || [socket(10, 20), socket(20, 10)];
    let moves = [
        (1, 10, 100, 6),
        (1, 10, 110, 4),
        (2, 20, 120, -10),
        (2, 20, 150, 3),
        (1, 10, 160, -2),
        (1, 10, 170, -1),
        // The next one, whose answer nobody waits for.
        (1, 10, 200, 8),
    ];
    let channel = one(&log(pair(), &moves));
    assert_eq!((channel.asks.as_deref(), channel.answers.as_deref()), (Some("p1"), Some("p2")));
    assert_eq!((channel.requests, channel.unanswered), (1, 1));
    assert_eq!(channel.sizes, [RecordedSize { question: 10, answer: 3, count: 1 }]);
    assert_eq!(channel.exchange, Exchange::Pipelined);
    assert_eq!(channel.response.map(|time| time.p50_ns), Some(71));
    assert_eq!(channel.service.map(|time| time.p50_ns), Some(29));
    assert_eq!((channel.bytes_asked, channel.bytes_answered), (18, 3));
    // Seen from the end that answers alone it is the same.
    let half = one(&log([socket(20, 10)], &moves[2..4]));
    assert_eq!((half.asks, half.requests, half.response), (None, 1, None));
    assert_eq!(half.sizes, [RecordedSize { question: 10, answer: 3, count: 1 }]);
}

#[test]
fn requests_in_flight_are_counted_over_connections() {
    let objects = [socket(10, 20), socket(20, 10), socket(11, 21), socket(21, 11)];
    let mut moves = Vec::new();
    for (own, peer, at) in [(10, 20, 100), (11, 21, 150)] {
        moves.extend([(1, own, at, 5), (2, peer, at + 50, -5)]);
        moves.extend([(2, peer, at + 60, 5), (1, own, at + 99, -5)]);
    }
    let channel = one(&log(objects, &moves));
    assert_eq!((channel.connections, channel.requests), (2, 2));
    assert_eq!(channel.most_in_flight, Some(2));
    let mean = channel.in_flight.expect("there were some");
    assert!((mean - 200.0 / 150.0).abs() < 1e-9, "{mean}");
    assert_eq!((channel.exchange, channel.think), (Exchange::Closed, None));
}

#[test]
fn an_end_that_was_never_seen_with_its_peer_is_known_by_the_other() {
    let moves = [(1, 10, 100, 5), (2, 20, 110, -5), (2, 20, 120, 3), (1, 10, 130, -3)];
    let channel = one(&log([socket(10, 0), socket(20, 10)], &moves));
    assert_eq!(channel.sizes, [RecordedSize { question: 5, answer: 3, count: 1 }]);
    assert_eq!((channel.asks.as_deref(), channel.answers.as_deref()), (Some("p1"), Some("p2")));
}

/// The end that asks took its answers by calls that hide their sizes: it had made no request.
#[test]
fn requests_are_seen_from_the_end_that_is_seen_whole() {
    let moves = [(1, 10, 100, 5), (2, 20, 110, -5), (2, 20, 120, 3), (1, 10, 200, 5)];
    let moves = [&moves[..], &[(2, 20, 210, -5), (2, 20, 220, 3)]].concat();
    let channel = one(&log([socket(10, 20), socket(20, 10)], &moves));
    assert_eq!((channel.requests, channel.unanswered), (2, 0));
    assert_eq!(channel.sizes, [RecordedSize { question: 5, answer: 3, count: 2 }]);
    assert_eq!((channel.response, channel.service.map(|time| time.p50_ns)), (None, Some(9)));
}

/// Kernels use addresses again, so that many pairs had the same numbers; each of 40,000 looked at all others.
#[test]
fn connections_with_the_same_numbers_are_joined_by_their_times() {
    let same = |id: u64, pair| {
        let Heard::Object(object) = socket(id, 0) else { unreachable!("it is one") };
        Heard::Object(Object { pair, ..object })
    };
    let connections = 0..40_000_u64;
    let objects =
        connections.clone().flat_map(|at| [same(2 * at + 10, [1, 2]), same(2 * at + 11, [2, 1])]);
    let moves: Vec<_> = connections
        .flat_map(|at| {
            let (asker, answerer, time) = (2 * at + 10, 2 * at + 11, 100 * at + 10);
            [(1, asker, time, 5), (2, answerer, time + 20, -5), (2, answerer, time + 30, 3)]
                .into_iter()
                .chain([(1, asker, time + 40, -3)])
        })
        .collect();
    let channel = one(&log(objects, &moves));
    assert_eq!((channel.connections, channel.requests), (40_000, 40_000));
    assert_eq!(channel.response.map(|time| time.p99_ns), Some(41));
}

/// A log beside the requests moved most bytes, and was what the first sentence spoke of.
#[test]
fn what_asks_and_answers_comes_before_what_moves_most_bytes() {
    let Heard::Object(other) = socket(30, 0) else { unreachable!("it is one") };
    let pipe = Heard::Object(Object { kind: Kind::Pipe, ..other });
    let moves = [(1, 10, 100, 5), (2, 20, 110, -5), (2, 20, 120, 3), (1, 10, 130, -3)];
    let moves = [&moves[..], &[(1, 30, 200, 900), (2, 30, 210, -900)]].concat();
    let objects = [socket(10, 20), socket(20, 10), pipe];
    let kinds = channels(&log(objects, &moves)).into_iter().map(|one| one.exchange);
    assert_eq!(kinds.collect::<Vec<_>>(), [Exchange::Closed, Exchange::OneWay]);
}

#[test]
fn what_a_process_says_to_itself_is_no_channel() {
    let objects = [socket(10, 20), socket(20, 10)];
    let moves = [(1, 10, 100, 5), (1, 20, 110, -5)];
    assert_eq!(channels(&log(objects, &moves)).len(), 0);
}

/// A broker (2) with a publisher (1, over 30 and 40) and a subscriber (1, over 10 and 20): one question, and what it sends for each
/// of 20 publications of `size` bytes.
fn published(size: i64, more: impl Fn(u64, &mut Vec<Heard>)) -> RecordedChannel {
    let objects = [(10, 20), (20, 10), (30, 40), (40, 30)].map(|(id, peer)| socket(id, peer));
    let mut moves = vec![(1, 10, 100, 16), (2, 20, 110, -16), (2, 20, 120, 33), (1, 10, 130, -33)];
    let mut calls = Vec::new();
    for at in (0..20).map(|at| 1000 + at * 100) {
        moves.extend([(1, 30, at, 5), (2, 40, at + 10, -5), (2, 20, at + 20, size)]);
        moves.extend([(1, 10, at + 60, -size)]);
        more(at, &mut calls);
    }
    let mut log = log(objects, &moves);
    calls.into_iter().for_each(|call| log.hear(call));
    log.calls.sort_by_key(|call| call.ended);
    // Both connections are between the same programs.
    one(&log)
}

#[test]
fn what_a_broker_sends_to_its_subscribers_is_no_answer() {
    let channel = published(38, |_, _| ());
    assert_eq!(channel.sizes, [RecordedSize { question: 16, answer: 33, count: 1 }]);
    assert_eq!((channel.requests, channel.bytes_answered), (1, 33 + 20 * 38));
    let pushed = channel.pushed.expect("messages");
    assert_eq!((pushed.messages, pushed.bytes, pushed.span_ns), (20, 20 * 38, 19 * 100 + 1));
    assert_eq!(pushed.sizes, [RecordedSize { question: 0, answer: 38, count: 20 }]);
}

#[test]
fn a_large_answer_that_is_passed_on_in_pieces_is_one() {
    let channel = published(8192, |_, _| ());
    assert_eq!((channel.pushed, channel.requests), (None, 1));
    assert_eq!(channel.sizes[0].answer, 33 + 20 * 8192);
    // So is one that waits for room between its pieces.
    let waits_for_room = |at, calls: &mut Vec<Heard>| {
        calls.push(Heard::Call(Call {
            number: WRITE,
            process: 2,
            thread: 2,
            begun: at + 15,
            ended: at + 16,
            result: -i64::from(libc::EAGAIN),
            object: 20,
            ..Call::default()
        }));
    };
    let channel = published(38, waits_for_room);
    assert_eq!((channel.pushed, channel.requests), (None, 1));
}

#[test]
fn programs_of_one_name_are_told_apart_by_what_they_do_for_each_other() {
    let objects = [(10, 20), (20, 10), (30, 40), (40, 30)].map(|(id, peer)| socket(id, peer));
    let moves = [(1, 10, 100, 6), (2, 20, 110, -6), (2, 20, 120, 3), (1, 10, 130, -3)];
    let of = |objects: Vec<Heard>, moves: &[_], child: Option<u32>| {
        let mut log = log(objects, moves);
        (1..=3).for_each(|process| log.name(process, "python3".to_owned()));
        if let Some(child) = child {
            log.parents.insert(child, 1);
        }
        name_roles(&mut log);
        let names: Vec<String> = (1..=3).map(|process| log.program(process).to_owned()).collect();
        (names, channels(&log).into_iter().map(|one| one.asks.unwrap_or_default()).collect())
    };
    let (names, asks): (_, Vec<String>) = of(objects[..2].to_vec(), &moves, None);
    assert_eq!(names, ["python3 (client)", "python3 (server)", "python3"]);
    assert_eq!(asks, ["python3 (client)"]);
    // A third one asks through a connection of its own, and a process of the first one is the first one.
    let chain = [(2, 30, 112, 6), (3, 40, 114, -6), (3, 40, 116, 3), (2, 30, 118, -3)];
    let (names, _) = of(objects.to_vec(), &[&moves[..], &chain].concat(), None);
    assert_eq!(names, ["python3 (client)", "python3 (client and server)", "python3 (server)"]);
    let (names, _) = of(objects[..2].to_vec(), &moves, Some(2));
    assert_eq!(names, ["python3", "python3", "python3"], "a process that it has made");
}
