//! The command line and the conformance suite, for mechanisms of another package.

use ipcperf_core::Mechanism;
use ipcperf_engine::registry::Registry;
use ipcperf_kit::error::note;
use std::process::ExitCode;

/// The whole command line of ipcperf, with mechanisms of your own:
///
/// ```text
/// fn main() -> std::process::ExitCode {
///     ipcperf::Cli::new().mechanism::<Mine>().run()
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
/// ```text
/// fn main() -> std::process::ExitCode {
///     ipcperf::conformance::<Mine>()
/// }
/// ```
///
/// A test function of the standard harness cannot call it: its workers are re-executions of the program, which would run the
/// harness. It then says so and fails.
#[must_use]
pub fn conformance<M: Mechanism>() -> ExitCode {
    conformance_of(|list| list.visit::<M>())
}

/// The same for all that this function shows.
#[must_use]
pub fn conformance_of(show: impl FnOnce(&mut Registry)) -> ExitCode {
    if std::thread::current().name() != Some("main") {
        note(
            "ipcperf::conformance re-executes this program: set harness = false for the test, and call it in main",
        );
        return ExitCode::FAILURE;
    }
    ipcperf_conformance::main(show)
}
