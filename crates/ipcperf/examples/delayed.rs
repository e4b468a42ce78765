//! ipcperf with one mechanism more: a UNIX stream socket of which the lead spins before every message. A known
//! difference, to see that `compare` finds it, and finds nothing where there is none:
//!
//! ```text
//! cargo run --release -p ipcperf --example delayed -- \
//!     compare --live 'delayed 64 same-cpu ns=0' 'delayed 64 same-cpu ns=500'
//! ```
//!
//! It is also a mechanism from outside, in one file: what was measured does not know that it is delayed, and the program
//! that measures does not know either.

use ipcperf_core::prelude::*;
use ipcperf_mech::stream::unix_stream::{UnixStream, UnixStreamOptions};
use ipcperf_mech::wait::Block;
use std::hint::spin_loop;
use std::process::ExitCode;
use std::time::{Duration, Instant};

ipcperf_core::options! {
    /// Knobs of delayed sockets.
    pub struct DelayedOptions {
        /// How much longer each round trip takes, ns.
        pub ns: u64 = (1000, "1000", Count { min: 0, max: 1_000_000_000 }),
    }
}

/// A UNIX stream socket that takes longer.
#[derive(Debug)]
struct Delayed;

impl Mechanism for Delayed {
    const SPEC: &'static Spec = &Spec {
        name: "delayed",
        summary: "A UNIX stream socket; the lead spins before every message.",
        pitfalls: &["It is slow on purpose."],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        producers: Peers::One,
        consumers: Peers::One,
        ..*UnixStream::<Block>::SPEC
    };
    type Options = DelayedOptions;
    type Port = Slowed<<UnixStream<Block> as Mechanism>::Port>;

    fn probe(_: &DelayedOptions) -> Result<(), Missing> {
        UnixStream::<Block>::probe(&UnixStreamOptions::default())
    }

    fn open(shape: &Shape, _: &DelayedOptions) -> Result<Link, SetupError> {
        UnixStream::<Block>::open(shape, &UnixStreamOptions::default())
    }

    fn attach(mut end: Attach<'_, DelayedOptions>) -> Result<Self::Port, SetupError> {
        end.effective("ns", end.options.ns);
        // The follow answers as it would: each round trip is delayed once.
        let delay = (end.seat == Seat::Lead).then(|| Duration::from_nanos(end.options.ns));
        let Attach { wiring, seat, shape, meet, .. } = end;
        let options = &UnixStreamOptions::default();
        let port = UnixStream::<Block>::attach(Attach { wiring, seat, shape, options, meet })?;
        Ok(Slowed { port, delay, delays: 0, spent: Duration::ZERO })
    }
}

/// A port whose messages leave later. A delay of nothing reads the clock as well, so that nothing else differs.
#[derive(Debug)]
struct Slowed<P> {
    port: P,
    /// Of the lead only.
    delay: Option<Duration>,
    /// How many delays there were, and how long they were: the clock is read in steps, so that none is as asked for.
    delays: u64,
    spent: Duration,
}

/// What a delay is longer by than its steps are, the lead was interrupted in, which is no part of what is added to a median.
const INTERRUPTED: Duration = Duration::from_micros(1);

impl<P> Slowed<P> {
    fn wait(&mut self) {
        let Some(delay) = self.delay else { return };
        let begin = Instant::now();
        let spent = loop {
            let spent = begin.elapsed();
            if spent >= delay {
                break spent;
            }
            spin_loop();
        };
        if spent < delay + INTERRUPTED {
            self.delays += 1;
            self.spent += spent;
        }
    }
}

impl<P: Port> Port for Slowed<P> {
    const LOSSY: bool = P::LOSSY;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.wait();
        self.port.send(len, fill)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.port.recv(len, take)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.port.flush()
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.port.events(report);
        report("delays", self.delays);
        report("ns delayed", u64::try_from(self.spent.as_nanos()).unwrap_or(u64::MAX));
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.port.finish()
    }
}

fn main() -> ExitCode {
    let registry = ipcperf::builtin().with::<Delayed>();
    ipcperf::cli(registry).run()
}
