//! Knobs at their ends, and what their values do.

use crate::common::{check, fill, is_wake, options, patiently, ping_pong, run};
use ipcperf_core::{
    Capability, Fault, KnobKind, KnobValue, Mechanism, Options, Port, Seat, SetupError, Visitor,
};
use ipcperf_mech::datagram::udp::Udp;
use ipcperf_mech::datagram::unix_dgram::UnixDgram;
use ipcperf_mech::datagram::unix_seqpacket::UnixSeqpacket;
use ipcperf_mech::queue::posix_mq::PosixMq;
use ipcperf_mech::queue::sysv_mq::SysvMq;
use ipcperf_mech::shared_memory::shm_ring::ShmRing;
use ipcperf_mech::stream::pipe::Pipe;
use ipcperf_mech::stream::tcp::Tcp;
use ipcperf_mech::stream::unix_stream::UnixStream;
use ipcperf_mech::visit_all;
use ipcperf_mech::wait::{Block, Epoll, Futex, Spin, Wait};

struct Ends;

impl Visitor for Ends {
    fn visit<M: Mechanism>(&mut self) {
        for knob in M::Options::KNOBS {
            let values = match knob.kind {
                KnobKind::Bytes { min, max } | KnobKind::Count { min, max } => {
                    vec![min.to_string(), max.to_string()]
                }
                KnobKind::Flag => vec!["on".into(), "off".into()],
                KnobKind::Choice { words } | KnobKind::Place { words } => {
                    words.iter().map(ToString::to_string).collect()
                }
                KnobKind::Text { .. } => vec!["t".into()],
                kind => panic!("no values of {kind:?}"),
            };
            for value in values {
                let text = format!("{}.{}={value}", M::SPEC.name, knob.name);
                if let Err(missing) = M::probe(&options::<M>(&[&text])) {
                    assert!(
                        !missing.what.is_empty() && !missing.how.is_empty(),
                        "{text}: {missing}"
                    );
                    continue;
                }
                let size = if is_wake::<M>() { 0 } else { 16.min(largest::<M>(&text)) };
                match ping_pong::<M>(size, 20, &[&text]) {
                    Ok(_) => {}
                    // What only the size of the cell decides, such as the memory left for a ring.
                    Err(SetupError::Unavailable(missing)) => {
                        assert!(!missing.what.is_empty() && !missing.how.is_empty(), "{text}");
                    }
                    Err(other) => panic!("{text}: {other}"),
                }
            }
        }
    }
}

fn largest<M: Mechanism>(text: &str) -> usize {
    M::limit(&options::<M>(&[text])).map_or(usize::MAX, |limit| limit.bytes)
}

#[test]
fn every_knob_works_at_its_ends_or_is_refused_with_a_remedy() {
    visit_all(&mut Ends);
}

#[test]
fn the_capacity_asked_for_is_the_one_reported() {
    for (size, granted) in [("4K", 4096), ("5000", 8192), ("1M", 1 << 20)] {
        let knob = format!("pipe.size={size}");
        let effective = ping_pong::<Pipe<Block>>(4096, 10, &[&knob]).expect("allowed");
        assert_eq!(effective["size"], KnobValue::Number(granted));
    }
}

#[test]
fn a_message_larger_than_everything_in_between_still_arrives_whole() {
    let size = 300_000;
    ping_pong::<Pipe<Block>>(size, 10, &["pipe.size=4096"]).expect("in pieces");
    ping_pong::<Pipe<Spin>>(size, 3, &["pipe.size=64K"]).expect("in pieces");
    ping_pong::<Pipe<Epoll>>(size, 10, &["pipe.size=4096"]).expect("in pieces");
    ping_pong::<UnixStream<Epoll>>(size, 10, &["unix-stream.sndbuf=8K"]).expect("in pieces");
    ping_pong::<Tcp<Block>>(size, 10, &["tcp.sndbuf=8K", "tcp.rcvbuf=8K"]).expect("in pieces");
    ping_pong::<ShmRing<Futex>>(size, 10, &["shm-ring.bytes=4096"]).expect("two slots");
}

#[test]
fn the_two_ends_of_a_named_socket_find_each_other() {
    for bind in ["path", "abstract"] {
        let knob = format!("unix-stream.bind={bind}");
        ping_pong::<UnixStream<Block>>(64, 100, &[&knob]).expect("they meet");
        ping_pong::<UnixStream<Spin>>(64, 100, &[&knob]).expect("they meet");
    }
}

/// Its ends have no common ancestor to hand them a pair, and are told which way they met.
fn meets_by_path<M: Mechanism>() {
    let knob = format!("{}.bind=path", M::SPEC.name);
    for size in [1, 64, 100_000] {
        let effective = ping_pong::<M>(size, 20, &[&knob]).expect("they meet");
        assert_eq!(effective["bind"], KnobValue::Word("path".into()), "{}", M::SPEC.full_name());
        assert!(effective.contains_key("sndbuf") && effective.contains_key("rcvbuf"));
    }
    assert!(M::SPEC.can(Capability::Unrelated), "{}", M::SPEC.full_name());
}

#[test]
fn sockets_that_keep_boundaries_are_found_by_path() {
    meets_by_path::<UnixDgram<Block>>();
    meets_by_path::<UnixDgram<Spin>>();
    meets_by_path::<UnixDgram<Epoll>>();
    meets_by_path::<UnixSeqpacket<Block>>();
    meets_by_path::<UnixSeqpacket<Spin>>();
    meets_by_path::<UnixSeqpacket<Epoll>>();
}

#[test]
fn messages_that_would_look_like_the_end_are_refused() {
    for bind in ["socketpair", "path"] {
        let knob = format!("unix-seqpacket.bind={bind}");
        let refused = run::<UnixSeqpacket<Block>>(0, &[&knob], |_| {}, |_| {});
        assert!(matches!(refused, Err(SetupError::Unavailable(_))), "{refused:?}");
    }
    ping_pong::<UnixDgram<Block>>(0, 10, &[]).expect("a datagram may be empty");
}

/// The facts are those of a pair: an end that is found by path has to see the same of a peer that is gone.
#[test]
fn a_peer_found_by_path_sees_an_end_as_the_facts_say() {
    let last = |got: &[u8]| check(got, 1, Seat::Follow);
    run::<UnixSeqpacket<Block>>(
        8,
        &["unix-seqpacket.bind=path"],
        |port| {
            assert_eq!(patiently(port, 8, last), Ok(()));
            assert_eq!(port.recv(8, |_| Ok(())), Err(Fault::Closed));
        },
        |port| assert_eq!(port.send(8, |out| fill(out, 1, Seat::Follow)), Ok(())),
    )
    .expect("they meet");
    run::<UnixDgram<Block>>(
        8,
        &["unix-dgram.bind=path"],
        |port| {
            assert_eq!(port.send(8, |out| fill(out, 1, Seat::Lead)), Ok(()));
            assert_eq!(patiently(port, 8, last), Ok(()));
            let is_refused = |_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                port.send(8, |out| fill(out, 2, Seat::Lead)).is_err()
            };
            assert!((0..10_000).any(is_refused), "only a sender learns that nobody is there");
        },
        |port| {
            assert_eq!(patiently(port, 8, |got| check(got, 1, Seat::Lead)), Ok(()));
            assert_eq!(port.send(8, |out| fill(out, 1, Seat::Follow)), Ok(()));
        },
    )
    .expect("they meet");
}

#[test]
fn the_send_buffer_moves_the_largest_datagram() {
    let small = largest::<UnixDgram<Block>>("unix-dgram.sndbuf=8K");
    // Twice what was asked for, less the bookkeeping.
    assert_eq!(small, 2 * 8192 - 32);
    assert!(largest::<UnixDgram<Block>>("unix-dgram.sndbuf=100K") > small);
    ping_pong::<UnixDgram<Block>>(small, 10, &["unix-dgram.sndbuf=8K"]).expect("it fits");
}

#[test]
fn the_largest_udp_message_does_not_depend_on_the_buffers() {
    ping_pong::<Udp<Block>>(65507, 20, &["udp.sndbuf=2K", "udp.rcvbuf=2K"]).expect("one at a time");
}

#[test]
fn a_window_of_datagrams_fits_a_receiver_that_does_not_read() {
    for rcvbuf in ["2K", "16K", "64K", "200K"] {
        let knob = format!("udp.rcvbuf={rcvbuf}");
        for size in [1, 64, 600, 1500, 4096, 9000, 40_000, 65507] {
            let window =
                Udp::<Block>::window(size, &options::<Udp<Block>>(&[&knob])).expect("it drops");
            let sent = std::sync::Barrier::new(2);
            run::<Udp<Block>>(
                size,
                &[&knob],
                |port| {
                    for round in 0..20 {
                        for seq in 0..window {
                            assert_eq!(port.send(size, |out| out.fill(seq as u8)), Ok(()));
                        }
                        sent.wait();
                        assert_eq!(patiently(port, size, |_| Ok(())), Ok(()), "credit {round}");
                    }
                },
                |port| {
                    for round in 0..20 {
                        sent.wait();
                        for seq in 0..window {
                            let got = port.recv(size, |bytes| Ok(bytes[size - 1]));
                            assert_eq!(got, Ok(seq as u8), "{size} B, {knob}, round {round}");
                        }
                        assert_eq!(port.send(size, |_| {}), Ok(()));
                    }
                },
            )
            .expect("loopback");
        }
    }
    assert_eq!(Udp::<Block>::window(64, &options::<Udp<Block>>(&[])), Some(16));
}

fn loses<W: Wait<Gate = ()>>() {
    run::<Udp<W>>(
        8,
        &[],
        |port| {
            assert_eq!(port.recv(8, |_| Ok(())), Err(Fault::Timeout));
            assert_eq!(port.send(8, |out| fill(out, 1, Seat::Lead)), Ok(()));
            assert_eq!(patiently(port, 8, |got| check(got, 2, Seat::Follow)), Ok(()));
        },
        |port| {
            assert_eq!(patiently(port, 8, |got| check(got, 1, Seat::Lead)), Ok(()));
            assert_eq!(port.send(8, |out| fill(out, 2, Seat::Follow)), Ok(()));
        },
    )
    .expect("loopback");
}

#[test]
fn a_lost_datagram_is_a_timeout_and_the_port_goes_on() {
    loses::<Block>();
    loses::<Spin>();
}

#[test]
fn queues_hold_to_their_limits_and_name_them() {
    let too_long =
        run::<PosixMq<Block>>(1 << 20, &[], |_| {}, |_| {}).expect_err("above 8192 by default");
    assert!(too_long.to_string().contains("fs.mqueue.msgsize_max"), "{too_long}");
    let too_deep = PosixMq::<Block>::probe(&options::<PosixMq<Block>>(&["posix-mq.depth=65536"]));
    assert!(too_deep.expect_err("above 10 by default").how.contains("fs.mqueue.msg_max"));
    let too_long =
        run::<SysvMq<Block>>(1 << 20, &[], |_| {}, |_| {}).expect_err("above 8192 by default");
    assert!(too_long.to_string().contains("kernel.msgmax"), "{too_long}");
    let effective = ping_pong::<PosixMq<Block>>(100, 50, &["posix-mq.depth=3"]).expect("allowed");
    assert_eq!(effective["depth"], KnobValue::Number(3));
    assert_eq!(effective["size"], KnobValue::Number(100));
    ping_pong::<PosixMq<Block>>(100, 50, &["posix-mq.priority=32767"]).expect("allowed");
    let mut set = ipcperf_core::OptionSet::default();
    set.set("posix-mq.priority=32768").expect("a setting");
    let error = <PosixMq<Block> as Mechanism>::Options::parse("posix-mq", &set).expect_err("more");
    assert!(error.to_string().contains("0..32767"), "{error}");
    let effective = ping_pong::<SysvMq<Block>>(100, 50, &["sysv-mq.qbytes=1000"]).expect("allowed");
    assert_eq!(effective["qbytes"], KnobValue::Number(1000));
}

/// Its kernel object refuses once; from then on it is not connected to anybody.
#[test]
fn every_send_to_a_peer_that_is_gone_is_told_the_same() {
    fn once_more<M: Mechanism>() {
        run::<M>(
            8,
            &[],
            |port| {
                let mut refused = 0;
                for _ in 0..10_000 {
                    match port.send(8, |out| fill(out, 1, Seat::Lead)) {
                        Ok(()) => std::thread::sleep(std::time::Duration::from_millis(1)),
                        Err(fault) => {
                            assert_eq!(fault, Fault::Closed, "{}", M::SPEC.full_name());
                            refused += 1;
                        }
                    }
                    if refused == 3 {
                        return;
                    }
                }
                panic!("{}: nobody is there, and no sender is told", M::SPEC.full_name());
            },
            |_| (),
        )
        .expect("they meet");
    }
    once_more::<UnixDgram<Block>>();
    once_more::<UnixDgram<Epoll>>();
    once_more::<UnixDgram<Spin>>();
}
