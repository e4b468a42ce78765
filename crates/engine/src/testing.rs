//! A mechanism of the engine's own tests: real facts, knobs and ports are somebody else's business.

use crate::job::Job;
use crate::registry::Entry;
use ipcperf_core::result::CellKey;
use ipcperf_core::{
    Attach, BackPressure, Direction, Family, Fault, Limit, Link, Mechanism, Missing, OnClose,
    OptionSet, Payload, Port, Seat, SetupError, Shape, Spec, Syscalls, Transfers, Wait, options,
};

options! {
    /// One knob.
    pub(crate) struct Knobs {
        /// Whether it pretends to be there.
        pub(crate) present: bool = (true, "on", Flag),
    }
}

/// Messages of up to 8 KiB, blocking.
#[derive(Debug)]
pub(crate) struct Sample;

/// The same, spinning.
#[derive(Debug)]
pub(crate) struct Spinning;

/// The same, calling for an answer.
#[derive(Debug)]
struct Calling;

const SPEC: Spec = Spec {
    name: "sample",
    family: Family::Queue,
    summary: "A mechanism for tests.",
    manual: &["pipe(7)"],
    payload: Payload::Message {
        max: Some(Limit { bytes: 8192, set_by: "the test", raise: "a larger test" }),
    },
    direction: Direction::TwoWay,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    copies: 2,
    syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
    ..Spec::NOTHING
};

/// Never opened.
#[derive(Debug)]
pub(crate) struct NoPort;

impl Port for NoPort {
    fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        Err(Fault::Closed)
    }

    fn recv<T>(&mut self, _: usize, _: impl FnOnce(&[u8]) -> Result<T, Fault>) -> Result<T, Fault> {
        Err(Fault::Closed)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

macro_rules! sample {
    ($name:ident, $spec:expr) => {
        impl Mechanism for $name {
            const SPEC: &'static Spec = &$spec;
            type Options = Knobs;
            type Port = NoPort;

            fn probe(options: &Knobs) -> Result<(), Missing> {
                if options.present {
                    Ok(())
                } else {
                    Err(Missing::new("it is absent", "switch it on"))
                }
            }

            fn open(_: &Shape, _: &Knobs) -> Result<Link, SetupError> {
                Ok(Link::default())
            }

            fn attach(_: Attach<'_, Knobs>) -> Result<NoPort, SetupError> {
                Ok(NoPort)
            }
        }
    };
}

sample!(Sample, SPEC);
sample!(Calling, Spec { exchange: Transfers::Calls, ..SPEC });
sample!(Spinning, Spec { variant: Some("spin"), wait: Wait::Spin, default: false, ..SPEC });

/// The lead's job of a slice of this cell; the clock's ticks are nanoseconds.
pub(crate) fn job(key: CellKey) -> Job {
    Job {
        seat: Seat::Lead,
        shape: Shape { size: key.size(), pattern: key.pattern, nonce: 7, ..Shape::default() },
        options: OptionSet::default(),
        len: key.size(),
        window: 0,
        trial: 0,
        cpu: None,
        cpus: Vec::new(),
        counter: false,
        ns_per_tick: 1.0,
        seed: 1,
        overhead: 20,
        warmup: 1_000_000,
        warmup_operations: 0,
        slice: 10_000_000,
        peak: None,
        operations: 0,
        batch: 0,
        verify: 1,
        time_calls: false,
        channel: 0,
        injections: Vec::new(),
        program: None,
        group: None,
        realtime_for: None,
        neighbour: None,
        key,
    }
}

/// The one that calls, erased.
pub(crate) fn calling() -> Entry {
    Entry::of::<Calling>()
}

/// The other two, erased.
pub(crate) fn entries() -> [Entry; 2] {
    [Entry::of::<Sample>(), Entry::of::<Spinning>()]
}
