//! Every mechanism end to end between two threads. The suite for two processes is another crate.

use crate::common::{check, fill, is_wake, options, patiently, ping_pong, run};
use ipcperf_core::{
    BackPressure, Fault, Mechanism, OnClose, Payload, Port, Seat, SetupError, Visitor, Wait,
};
use ipcperf_mech::visit_all;
use ipcperf_sys::skipped::skipped;

/// Runs for every mechanism that this build has.
struct Each<F>(F);

trait Case {
    fn run<M: Mechanism>(&self);
}

impl<F: Case> Visitor for Each<F> {
    fn visit<M: Mechanism>(&mut self) {
        // A signal is sent to a process, and here both ends are threads of one.
        if M::SPEC.name == "signal" {
            return;
        }
        match M::probe(&options::<M>(&[])) {
            Ok(()) => self.0.run::<M>(),
            Err(missing) => skipped(&M::SPEC.full_name(), missing),
        }
    }
}

/// Sizes of the payload; wake-ups have their own word.
fn sizes<M: Mechanism>() -> Vec<usize> {
    if is_wake::<M>() {
        return vec![0];
    }
    let limit = M::limit(&options::<M>(&[])).map_or(usize::MAX, |limit| limit.bytes);
    [1, 64, 4096, 60_000].into_iter().filter(|size| *size <= limit).collect()
}

struct RoundTrips;

impl Case for RoundTrips {
    fn run<M: Mechanism>(&self) {
        M::probe(&options::<M>(&[])).unwrap_or_else(|missing| panic!("{missing}"));
        for size in sizes::<M>() {
            // The conformance suite sends a hundred thousand between processes. Of large ones comparing every byte takes
            // longer than the transfer, and where the ends spin on one CPU each message takes a time slice.
            let count = if size > 4096 || M::SPEC.wait == Wait::Spin { 10 } else { 100 };
            let granted =
                ping_pong::<M>(size, count, &[]).unwrap_or_else(|error| panic!("{error}"));
            let knobs = <M::Options as ipcperf_core::Options>::KNOBS;
            for knob in knobs {
                let name = format!("{}.{}", M::SPEC.name, knob.name);
                assert!(granted.contains_key(knob.name), "{name} is read back: {granted:?}");
            }
        }
    }
}

#[test]
fn every_message_arrives_as_it_was_sent() {
    visit_all(&mut Each(RoundTrips));
}

struct Streaming;

impl Case for Streaming {
    fn run<M: Mechanism>(&self) {
        if M::SPEC.is_floor() || M::SPEC.back_pressure == BackPressure::Overwrites {
            return;
        }
        let name = M::SPEC.full_name();
        let size = if is_wake::<M>() { 0 } else { 512 };
        let count = if M::SPEC.wait == Wait::Spin { 1_000 } else { 5_000 };
        let window = M::window(size, &options::<M>(&[])).map_or(u64::MAX, u64::from);
        run::<M>(
            size,
            &[],
            |port| {
                for seq in 0..count {
                    assert_eq!(port.send(size, |out| fill(out, seq, Seat::Lead)), Ok(()), "{name}");
                    if seq % window == window - 1 {
                        let credit = patiently(port, size, |_| Ok(()));
                        assert_eq!(credit, Ok(()), "{name}: credit {seq}");
                    }
                }
                assert_eq!(port.flush(), Ok(()), "{name}");
            },
            |port| {
                for seq in 0..count {
                    let result = patiently(port, size, |bytes| check(bytes, seq, Seat::Lead));
                    assert_eq!(result, Ok(()), "{name}: message {seq}");
                    if seq % window == window - 1 {
                        assert_eq!(port.send(size, |out| fill(out, seq, Seat::Follow)), Ok(()));
                    }
                }
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_fast_sender_loses_nothing_inside_its_window() {
    visit_all(&mut Each(Streaming));
}

struct Largest;

impl Case for Largest {
    fn run<M: Mechanism>(&self) {
        let limit = M::limit(&options::<M>(&[]));
        let Some(max) = limit.map(|limit| limit.bytes).filter(|bytes| *bytes < 1 << 20) else {
            return;
        };
        let name = M::SPEC.full_name();
        ping_pong::<M>(max, 3, &[]).unwrap_or_else(|error| panic!("{name} at {max}: {error}"));
        let beyond = run::<M>(
            max + 1,
            &[],
            |port| {
                assert_eq!(port.send(max + 1, |_| {}), Err(Fault::TooLong), "{name}: {max} + 1");
                // The port stays usable, and nothing of the refused message is on the way.
                assert_eq!(port.send(max, |out| fill(out, 7, Seat::Lead)), Ok(()), "{name}");
                assert_eq!(port.flush(), Ok(()), "{name}");
            },
            |port| {
                let intact = patiently(port, max, |bytes| check(bytes, 7, Seat::Lead));
                assert_eq!(intact, Ok(()), "{name}");
            },
        );
        assert!(matches!(beyond, Ok(_) | Err(SetupError::Unavailable(_))), "{name}: {beyond:?}");
    }
}

#[test]
fn the_limit_passes_and_one_byte_more_is_refused() {
    visit_all(&mut Each(Largest));
}

/// Whether it keeps several messages that nobody has answered: what needs a window does not, and a newer value takes
/// the place of an older one.
fn takes_several<M: Mechanism>() -> bool {
    M::SPEC.window.is_none() && M::SPEC.back_pressure != BackPressure::Overwrites
}

struct Finishing;

impl Case for Finishing {
    fn run<M: Mechanism>(&self) {
        if M::SPEC.on_close != OnClose::Told || !takes_several::<M>() {
            return;
        }
        let name = M::SPEC.full_name();
        run::<M>(
            100,
            &[],
            |port| {
                for seq in 0..3 {
                    assert_eq!(port.send(100, |out| fill(out, seq, Seat::Lead)), Ok(()), "{name}");
                }
                assert_eq!(port.finish(), Ok(()), "{name}");
                // The other direction still works.
                assert_eq!(port.recv(100, |bytes| check(bytes, 9, Seat::Follow)), Ok(()), "{name}");
            },
            |port| {
                for seq in 0..3 {
                    let result = port.recv(100, |bytes| check(bytes, seq, Seat::Lead));
                    assert_eq!(result, Ok(()), "{name}");
                }
                assert_eq!(port.recv(100, |_| Ok(())), Err(Fault::Closed), "{name}");
                assert_eq!(port.send(100, |out| fill(out, 9, Seat::Follow)), Ok(()), "{name}");
                assert_eq!(port.flush(), Ok(()), "{name}");
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_finished_end_is_drained_and_then_told() {
    visit_all(&mut Each(Finishing));
}

struct Vanishing;

impl Case for Vanishing {
    fn run<M: Mechanism>(&self) {
        if M::SPEC.on_death != OnClose::Told || !takes_several::<M>() {
            return;
        }
        let name = M::SPEC.full_name();
        run::<M>(
            100,
            &[],
            // Leaves without a word, with a message of its own under way and one of its peer unread.
            |port| {
                assert_eq!(port.recv(100, |bytes| check(bytes, 0, Seat::Follow)), Ok(()), "{name}");
                assert_eq!(port.send(100, |out| fill(out, 1, Seat::Lead)), Ok(()), "{name}");
                assert_eq!(port.flush(), Ok(()), "{name}");
            },
            |port| {
                for seq in 0..2 {
                    let sent = port.send(100, |out| fill(out, seq, Seat::Follow));
                    assert!(matches!(sent, Ok(()) | Err(Fault::Closed)), "{name}: {sent:?}");
                }
                let flushed = port.flush();
                assert!(matches!(flushed, Ok(()) | Err(Fault::Closed)), "{name}: {flushed:?}");
                let last = port.recv(100, |bytes| check(bytes, 1, Seat::Lead));
                assert_eq!(last, Ok(()), "{name}: what was sent is drained");
                assert_eq!(port.recv(100, |_| Ok(())), Err(Fault::Closed), "{name}");
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn an_end_that_vanishes_is_noticed_after_its_last_message() {
    visit_all(&mut Each(Vanishing));
}

struct TooLong;

impl Case for TooLong {
    fn run<M: Mechanism>(&self) {
        if is_wake::<M>() {
            return;
        }
        let refused = |port: &mut M::Port| {
            assert_eq!(port.send(1 << 25, |_| {}), Err(Fault::TooLong), "{}", M::SPEC.full_name());
        };
        run::<M>(64, &[], refused, refused).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_message_longer_than_the_shape_is_refused_and_not_sent() {
    visit_all(&mut Each(TooLong));
}

struct Shortened;

impl Case for Shortened {
    fn run<M: Mechanism>(&self) {
        let is_message = matches!(M::SPEC.payload, Payload::Message { .. });
        if !is_message || M::SPEC.back_pressure == BackPressure::Overwrites {
            return;
        }
        let name = M::SPEC.full_name();
        run::<M>(
            64,
            &[],
            |port| {
                for len in [32, 64] {
                    assert_eq!(port.send(len, |out| fill(out, 0, Seat::Lead)), Ok(()), "{name}");
                }
                assert_eq!(port.flush(), Ok(()), "{name}");
            },
            |port| {
                let shorter = port.recv(64, |_| Ok(()));
                assert_eq!(shorter, Err(Fault::Truncated), "{name}: 32 bytes for 64");
                let longer = port.recv(32, |_| Ok(()));
                assert_eq!(longer, Err(Fault::Truncated), "{name}: 64 bytes for 32");
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_message_of_another_length_is_never_taken_for_the_expected_one() {
    visit_all(&mut Each(Shortened));
}
