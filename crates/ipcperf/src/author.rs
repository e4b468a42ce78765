//! The command line and the conformance suite, for mechanisms of another package.

use ipcperf_core::Mechanism;
use ipcperf_engine::registry::Registry;
use std::process::ExitCode;

/// The whole command line of ipcperf, with mechanisms of your own:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     ipcperf::Cli::new().run() // with your own: .mechanism::<Mine>()
/// }
/// ```
///
/// Workers are re-executions of the program, so this has to be the first that `main` does.
#[derive(Debug)]
#[must_use]
pub struct Cli(Registry);

impl Cli {
    /// With the mechanisms of ipcperf.
    #[expect(
        clippy::new_without_default,
        reason = "a command line without an argument is no default of anything"
    )]
    pub fn new() -> Self {
        Self(crate::builtin())
    }

    /// With this one as well.
    pub fn mechanism<M: Mechanism>(self) -> Self {
        Self(self.0.with::<M>())
    }

    /// With all that this function shows.
    pub fn mechanisms(mut self, show: impl FnOnce(&mut Registry)) -> Self {
        show(&mut self.0);
        self
    }

    /// Does what the arguments of the process say.
    pub fn run(self) -> ExitCode {
        crate::cli(self.0).run()
    }
}

/// The whole of a test program (`harness = false`) that tries to refute what [`Mechanism::SPEC`] says, in real processes. `cargo
/// test --test NAME -- C09` runs one of its cases.
///
/// ```no_run
/// # struct Registry;
/// # fn conformance() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
/// fn main() -> std::process::ExitCode {
///     conformance() // ipcperf::conformance::<Mine>()
/// }
/// ```
#[must_use]
pub fn conformance<M: Mechanism>() -> ExitCode {
    conformance_of(|list| list.visit::<M>())
}

/// The same for all that this function shows.
#[must_use]
pub fn conformance_of(show: impl FnOnce(&mut Registry)) -> ExitCode {
    ipcperf_conformance::main(show)
}
