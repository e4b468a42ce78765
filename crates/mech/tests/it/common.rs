//! A channel of any mechanism between two threads of one process.

use ipcperf_core::{
    Attach, Fault, KnobValue, Link, Mechanism, Meet, OptionSet, Options, Payload, Port, Seat,
    SetupError, Shape, Wiring,
};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What the coordinator does for two workers that attach.
struct Relay {
    give: Sender<Wiring>,
    take: Receiver<Wiring>,
    effective: BTreeMap<String, KnobValue>,
}

impl Meet for Relay {
    fn swap(&mut self, mine: Wiring) -> Result<Wiring, SetupError> {
        let gone = |_| SetupError::Protocol("the peer is gone".into());
        self.give.send(mine).map_err(|_| SetupError::Protocol("the peer is gone".into()))?;
        self.take.recv().map_err(gone)
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.effective.insert(knob.to_owned(), value);
    }
}

/// Bytes of a message of a cell: of the word where the mechanism only wakes.
pub(crate) fn len_of<M: Mechanism>(size: usize) -> usize {
    M::SPEC.wake_word().unwrap_or(size)
}

/// Options from texts such as `pipe.size=64K`.
pub(crate) fn options<M: Mechanism>(texts: &[&str]) -> M::Options {
    let mut set = OptionSet::default();
    for text in texts {
        set.set(text).expect("mechanism.knob=value");
    }
    M::Options::parse(M::SPEC.name, &set).expect("in range")
}

pub(crate) fn shape(directory: &Path, size: usize) -> Shape {
    static NONCE: AtomicU64 = AtomicU64::new(0x5eed_0000);
    Shape {
        size,
        nonce: NONCE.fetch_add(1, Ordering::Relaxed),
        buffer_offset: 192,
        directory: Some(directory.to_owned()),
        ..Shape::default()
    }
}

/// Ends the test program when a seat panics: most mechanisms cannot tell the other seat, which would wait for ever.
struct NoOrphan;

impl NoOrphan {
    fn new() -> Self {
        static LOUD: Once = Once::new();
        // The harness shows captured output only of tests that return.
        LOUD.call_once(|| {
            std::panic::set_hook(Box::new(|panic| {
                let _ = writeln!(std::io::stderr(), "{panic}");
            }));
        });
        Self
    }
}

impl Drop for NoOrphan {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::exit(101);
        }
    }
}

/// What a seat does, given somebody to meet the other one by.
type Part<'a> = Box<dyn FnOnce(&mut Relay) + Send + 'a>;

/// Plays both seats, each in a thread of its own, and returns what they have found of the knobs. It is compiled once, not
/// for every mechanism and test: threads of their own were two fifths of this program.
fn play(lead: Part<'_>, follow: Part<'_>) -> BTreeMap<String, KnobValue> {
    let ((give_follow, take_lead), (give_lead, take_follow)) = (channel(), channel());
    std::thread::scope(|scope| {
        let _guard = NoOrphan::new();
        let follow = scope.spawn(move || {
            let _guard = NoOrphan::new();
            let mut relay =
                Relay { give: give_follow, take: take_follow, effective: BTreeMap::new() };
            follow(&mut relay);
            relay.effective
        });
        let mut relay = Relay { give: give_lead, take: take_lead, effective: BTreeMap::new() };
        lead(&mut relay);
        let mut effective = relay.effective;
        effective.extend(follow.join().expect("the follow ends in order"));
        effective
    })
}

/// Runs both seats of a fresh channel and returns the effective knobs. Fails if something stays in the run's directory.
pub(crate) fn run<M: Mechanism>(
    size: usize,
    knobs: &[&str],
    lead: impl FnOnce(&mut M::Port) + Send,
    follow: impl FnOnce(&mut M::Port) + Send,
) -> Result<BTreeMap<String, KnobValue>, SetupError> {
    let directory = tempfile::tempdir().expect("a run directory");
    let shape = &shape(directory.path(), size);
    let Link { lead: lead_wiring, follow: follow_wiring, guards, effective, .. } =
        M::open(shape, &options::<M>(knobs))?;
    let mut granted: BTreeMap<_, _> = effective.into_iter().collect();
    granted.extend(play(
        Box::new(move |relay| lead(&mut attach::<M>(lead_wiring, Seat::Lead, shape, knobs, relay))),
        Box::new(move |relay| {
            follow(&mut attach::<M>(follow_wiring, Seat::Follow, shape, knobs, relay));
        }),
    ));
    drop(guards);
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("it exists").collect();
    assert!(left.is_empty(), "{} left {left:?}", M::SPEC.full_name());
    Ok(granted)
}

fn attach<M: Mechanism>(
    wiring: Wiring,
    seat: Seat,
    shape: &Shape,
    knobs: &[&str],
    meet: &mut dyn Meet,
) -> M::Port {
    let attached = M::attach(Attach { wiring, seat, shape, options: &options::<M>(knobs), meet });
    attached.unwrap_or_else(|error| panic!("{seat:?}: {error}"))
}

/// Writes a message nobody else writes: every byte depends on its place, the sequence and the direction. A word is
/// never 0 nor all ones.
pub(crate) fn fill(bytes: &mut [u8], seq: u64, seat: Seat) {
    let start = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seat.index() as u64 + 1);
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (start >> (8 * (at % 8))) as u8 ^ (at >> 3) as u8;
    }
    if let [first, .., last] = bytes {
        (*first, *last) = (*first | 1, *last & 0x7f);
    }
}

/// Compares with what [`fill`] writes.
pub(crate) fn check(bytes: &[u8], seq: u64, seat: Seat) -> Result<(), Fault> {
    let mut wanted = vec![0; bytes.len()];
    fill(&mut wanted, seq, seat);
    if bytes == wanted { Ok(()) } else { Err(Fault::Corrupt) }
}

/// A receive that goes on where a lossy mechanism gives up: on a busy machine the peer may not run for that long.
pub(crate) fn patiently<P: Port>(
    port: &mut P,
    size: usize,
    take: impl Fn(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    /// Ten seconds: what did not come by then was lost.
    const TRIES: u32 = 50;
    let mut result = port.recv(size, &take);
    for _ in 1..TRIES {
        if !P::LOSSY || result != Err(Fault::Timeout) {
            break;
        }
        result = port.recv(size, &take);
    }
    result
}

/// `count` round trips of `size` bytes, every byte compared.
pub(crate) fn ping_pong<M: Mechanism>(
    size: usize,
    count: u64,
    knobs: &[&str],
) -> Result<BTreeMap<String, KnobValue>, SetupError> {
    let name = M::SPEC.full_name();
    let len = len_of::<M>(size);
    let verify = |bytes: &[u8], seq, seat| {
        assert_eq!(bytes.len(), len, "{name}");
        check(bytes, seq, seat)
    };
    run::<M>(
        size,
        knobs,
        |port| {
            for seq in 0..count {
                let check = |reply: &[u8]| verify(reply, seq, Seat::Follow);
                let mut result = port
                    .send(size, |out| fill(out, seq, Seat::Lead))
                    .and_then(|()| port.recv(size, check));
                if result == Err(Fault::Timeout) {
                    result = patiently(port, size, check);
                }
                assert_eq!(result, Ok(()), "{name}: reply {seq} of {size} bytes");
            }
        },
        |port| {
            for seq in 0..count {
                let result = patiently(port, size, |bytes| verify(bytes, seq, Seat::Lead));
                assert_eq!(result, Ok(()), "{name}: message {seq} of {size} bytes");
                assert_eq!(port.send(size, |out| fill(out, seq, Seat::Follow)), Ok(()), "{name}");
            }
            assert_eq!(port.flush(), Ok(()), "{name}");
        },
    )
}

/// Whether the cell's size is always 0.
pub(crate) fn is_wake<M: Mechanism>() -> bool {
    matches!(M::SPEC.payload, Payload::Wake { .. })
}
