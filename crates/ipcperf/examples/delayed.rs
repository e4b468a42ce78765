//! ipcperf with one mechanism more: a UNIX stream socket of which the lead spins for a share of every round trip. A known
//! difference, to see that `compare` finds it, and finds nothing where there is none:
//!
//! ```text
//! cargo run --release -p ipcperf --example delayed -- \
//!     compare --live 'delayed 64 same-cpu percent=0' 'delayed 64 same-cpu percent=5'
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
        /// How much longer a round trip takes, in percent of what it takes by itself.
        pub percent: u64 = (5, "5", Count { min: 0, max: 1000 }),
    }
}

/// A UNIX stream socket that takes longer.
#[derive(Debug)]
struct Delayed;

impl Mechanism for Delayed {
    const SPEC: &'static Spec = &Spec {
        name: "delayed",
        summary: "A UNIX stream socket; the lead spins for a share of every round trip before the next.",
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
        end.effective("percent", end.options.percent);
        let share = end.options.percent as f64 / 100.0;
        let Attach { wiring, seat, shape, meet, .. } = end;
        let options = &UnixStreamOptions::default();
        let port = UnixStream::<Block>::attach(Attach { wiring, seat, shape, options, meet })?;
        // The follow answers as it would: each round trip is delayed once.
        Ok(Slowed { port, share: if seat == Seat::Lead { share } else { 0.0 }, last: None })
    }
}

/// A port whose next message leaves later by a share of what the last operation took. It reads the clock as often
/// whatever the share is, so that nothing else differs.
#[derive(Debug)]
struct Slowed<P> {
    port: P,
    share: f64,
    /// When the last message began to leave.
    last: Option<Instant>,
}

impl<P> Slowed<P> {
    fn delay(&mut self) {
        let now = Instant::now();
        let taken = self.last.map_or(Duration::ZERO, |last| now - last);
        let delay = taken.mul_f64(self.share);
        while now.elapsed() < delay {
            spin_loop();
        }
        self.last = Some(Instant::now());
    }
}

impl<P: Port> Port for Slowed<P> {
    const LOSSY: bool = P::LOSSY;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.delay();
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

    fn finish(&mut self) -> Result<(), Fault> {
        self.port.finish()
    }
}

fn main() -> ExitCode {
    let registry = ipcperf::builtin().with::<Delayed>();
    ipcperf::Cli::new(registry).run()
}
