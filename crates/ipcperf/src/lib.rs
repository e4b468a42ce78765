//! Measures a transport of your own and those of the kernel: in fresh processes, every message proved, in interleaved
//! rounds with an interval. This page is all that an author needs.
//!
//! ```toml
//! [dev-dependencies]
//! ipcperf = { version = "1", default-features = false }  # without the commands for programs and studies
//!
//! [[bench]]
//! name = "mine"
//! harness = false
//! ```
//!
//! # What to implement
//! [`Mechanism`] sets a channel up, [`Port`] moves messages. Setup runs in another process than motion: [`Mechanism::open`] runs
//! in the coordinator and makes a [`Link`], what each end needs (descriptors, names, numbers) and guards of what has a name.
//! [`Mechanism::attach`] runs in a worker, a process for each end, and returns its port. What your library calls sending belongs
//! into [`Port::send`] and [`Port::recv`], nothing else: they are all that is timed.
//!
//! ```standalone_crate
//! use ipcperf::prelude::*;
//! use std::io::{Read, Write};
//! use std::net::Shutdown;
//! use std::os::unix::net::UnixStream;
//!
//! /// Bytes over a UNIX socket of the standard library.
//! struct Mine;
//!
//! impl Mechanism for Mine {
//!     const SPEC: &'static Spec = &Spec::stream("mine")
//!         .summary("std::os::unix::net::UnixStream; an end sleeps in read.")
//!         .over("unix-stream")
//!         .direction(Direction::TwoWay)
//!         .notices_close()
//!         .notices_death()
//!         .copies(2)
//!         .syscalls(1.0, 1.0);
//!     type Options = NoOptions;
//!     type Port = MinePort;
//!
//!     fn probe(_: &NoOptions) -> Result<(), Missing> {
//!         Ok(())
//!     }
//!
//!     // The memory of messages begins where this library has it.
//!     fn lends(_: &NoOptions) -> [Lends; 2] {
//!         [Lends::Place; 2]
//!     }
//!
//!     fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
//!         let (lead, follow) = UnixStream::pair()?;
//!         Ok(Link::of_fds([lead.into()], [follow.into()]))
//!     }
//!
//!     fn attach(mut end: Attach<'_, NoOptions>) -> Result<MinePort, SetupError> {
//!         let [own] = end.descriptors()?;
//!         Ok(MinePort { stream: own.into(), buffer: vec![0; end.shape.size] })
//!     }
//! }
//!
//! struct MinePort {
//!     stream: UnixStream,
//!     buffer: Vec<u8>,
//! }
//!
//! impl Port for MinePort {
//!     fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
//!         let message = self.buffer.get_mut(..len).ok_or(Fault::TooLong)?;
//!         fill(message);
//!         Ok(self.stream.write_all(message)?)
//!     }
//!
//!     fn recv<T>(
//!         &mut self,
//!         len: usize,
//!         take: impl FnOnce(&[u8]) -> Result<T, Fault>,
//!     ) -> Result<T, Fault> {
//!         let message = self.buffer.get_mut(..len).ok_or(Fault::TooLong)?;
//!         self.stream.read_exact(message)?;
//!         take(message)
//!     }
//!
//!     fn finish(&mut self) -> Result<(), Fault> {
//!         Ok(self.stream.shutdown(Shutdown::Write)?)
//!     }
//! }
//!
//! fn main() {
//!     ipcperf::bench(|b| b.mechanism::<Mine>().sizes([64, 4096]))
//! }
//! ```
//!
//! # What is promised
//! - *To the port*: both ends know the length of every message, and one thread calls an end. `fill` and `take` are called at most
//!   once, in `send` and `recv`, with all bytes of one message. After a fault a port is only dropped, except after
//!   [`Fault::Timeout`], [`Fault::TooLong`] and [`Fault::Closed`].
//! - *By the port*: `send` returns when the message is handed over, and waits where there is no room; a message that it holds
//!   back goes out with `recv`, `flush` or `finish`. Which fault means what: [`Fault`].
//! - *By [`Spec`]*: what is not said is not claimed, and not asked of it. Most of what is said, [`conformance`] tries to refute.
//! - *Deadlines*: calls may block for ever. The coordinator kills a worker that is stuck, and what has a name goes with its
//!   guard, also after SIGKILL ([`tools::Unlink`]).
//! - *Libraries with threads, or with calls that have answers*: say so ([`Spec::threads`], [`Spec::exchange`]). A choice that only
//!   changes a number is a knob ([`options!`]), one that changes the instructions is a type of its own ([`Spec::variant`]).
//!
//! # What comes out
//! [`bench()`] with `cargo bench`: a table, a sentence with an interval, `target/ipcperf/BENCH-UTC.json`, which `ipcperf report` and
//! `ipcperf trend` read, and the difference from the last one. `cargo bench -- --fail-on slower:5%` ends with 6 where a cell is
//! certainly slower than that, and with 9 where that is undecided. `cargo test --benches` tries one round. The program is also
//! the whole command line: `OLD compare 'mine 64' --live-binary NEW`, the programs in `target/release/deps`, measures two builds
//! of it side by side, which finds differences that two runs an hour apart do not. Slower is said of NEW.
//!
//! [`conformance`] with `cargo test`: 24 cases against the facts, in real processes. [`Cli`]: `ipcperf` with your mechanisms.
//!
//! A workspace does not inherit profiles; Cargo's own `bench` profile is right, and a debug build is a finding of the result.
#![forbid(unsafe_code)]

mod author;
mod bench;
pub mod tools;

pub use author::{Cli, conformance, conformance_of};
pub use bench::{Bench, bench};
pub use ipcperf_core::{
    Attach, BackPressure, Direction, Family, Fault, Guard, Knob, KnobKind, KnobValue, Lends, Limit,
    Link, Mechanism, Meet, Memory, Missing, Namespaces, OnClose, OnRestart, OptionError, OptionSet,
    Options, Part, Payload, Peers, Port, Reach, Seat, SetupError, Shape, Spec, Syscalls, Transfers,
    Visitor, Wait, Wiring, options, prelude,
};
pub use ipcperf_engine::registry::Registry;

#[doc(hidden)]
pub use ipcperf_ask::read_job;
#[cfg(feature = "studies")]
#[doc(hidden)]
pub use ipcperf_studies::read_study;

use ipcperf_engine::{protocol, tasks};
use ipcperf_judge::LoadError;
use ipcperf_kit::command::{self, Command};
use ipcperf_kit::document::Document;
use ipcperf_kit::reading;

/// The mechanisms of this program, and what makes more of them of files that are named.
#[doc(hidden)]
#[must_use]
pub fn builtin() -> Registry {
    let registry = ipcperf_builtin::builtin();
    #[cfg(feature = "plugins")]
    let registry = registry.with_plugins(&ipcperf_plugin::LOADER);
    registry
}

/// Lists of commands, in the order of the help within each group: those of the features of this build.
#[doc(hidden)]
pub const COMMANDS: &[&[Command]] = &[
    ipcperf_ask::COMMANDS,
    #[cfg(feature = "plugins")]
    ipcperf_plugin::COMMANDS,
    #[cfg(feature = "studies")]
    ipcperf_studies::COMMANDS,
    #[cfg(feature = "programs")]
    ipcperf_programs::COMMANDS,
];

/// The command line with all commands of this build, over these mechanisms.
#[doc(hidden)]
#[must_use]
pub fn cli(registry: Registry) -> ipcperf_kit::cli::Cli {
    let cli = ipcperf_kit::cli::Cli::new(registry).with_documents(document);
    COMMANDS.iter().fold(cli, |cli, commands| cli.with(commands))
}

/// The document of this name, in lower case.
fn document(name: &str) -> Option<String> {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/documents.gz"));
    ipcperf_packed::text(packed, &name.to_uppercase())
}

/// Every kind of what coordinator and workers tell each other.
#[doc(hidden)]
#[must_use]
pub fn messages() -> Vec<protocol::Kind> {
    tasks::kinds(&command::tasks(&COMMANDS.concat()))
}

/// Reads a document of any kind that a command of this build writes.
///
/// # Errors
/// It is none, or of another major version.
#[doc(hidden)]
pub fn read_document(text: &str) -> Result<Box<dyn Document>, LoadError> {
    reading::read(&COMMANDS.concat(), text)
}

#[cfg(all(test, feature = "programs", feature = "studies"))]
mod tests;
