//! The conformance suite: what every mechanism must keep, tried in real processes. Each fact of a
//! [`Spec`](ipcperf_core::Spec) has a case that tries to refute it, and what a mechanism does not claim is not asked
//! of it; there is no list of mechanisms in here.
//!
//! A mechanism of another crate is put through it by a test without the standard harness (`harness = false`):
//!
//! ```no_run
//! # use ipcperf_engine::registry::Registry;
//! # fn visit_all(_: &mut Registry) {}
//! fn main() -> std::process::ExitCode {
//!     ipcperf_conformance::main(visit_all) // or: |list| list.visit::<MyMechanism>()
//! }
//! ```
//!
//! `cargo test --test conformance -- pipe C09` runs the trials whose names contain both words. After the trials a
//! matrix of mechanisms and cases is printed, with what was not applicable or not available, and why. With
//! `IPCPERF_EXPECT_ALL=1` a mechanism that cannot run here fails the run, but for those that `IPCPERF_MAY_LACK` names
//! (`vsock,sctp`); `IPCPERF_SEED` makes other random choices than the usual ones; `IPCPERF_LONG_CASES=1` moves up to ten
//! times as many messages and opens up to four times as many channels, for what goes wrong once in many times.
//!
//! # How it works
//! Each trial is three processes, re-executions of the test program: the coordinator of the case, which opens
//! channels, and two single-threaded workers, which attach and play scripts (`script`). The coordinator compares what
//! both tell, kills, waits with a deadline, and looks at what is left behind. Payloads and their checks share nothing
//! with the engine.

mod book;
mod case;
mod cases;
mod census;
mod entry;
mod filter;
mod matrix;
mod page;
mod pair;
mod payload;
mod player;
mod run;
mod scene;
mod script;
mod suite;
mod task;
mod worker;

pub use case::Outcome;
pub use suite::{Suite, TASKS};

use ipcperf_engine::registry::Registry;
use std::process::ExitCode;

/// The whole of a test program: runs the suite over the mechanisms that `visit` shows it.
#[must_use]
pub fn main(visit: impl FnOnce(&mut Registry)) -> ExitCode {
    Suite::of(visit).run()
}
