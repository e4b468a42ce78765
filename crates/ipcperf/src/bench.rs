//! A bench of mechanisms of another package.

use crate::cli;
use ipcperf_ask::BenchProgram;
use ipcperf_core::Mechanism;
use ipcperf_engine::registry::Registry;
use std::process::ExitCode;

/// What a bench measures: mechanisms of your own, what they are compared with, and under which conditions. The flags of
/// the command line (`cargo bench -- --help`) go before all of it but the mechanisms.
#[derive(Debug)]
#[must_use]
pub struct Bench {
    registry: Registry,
    program: BenchProgram,
}

impl Bench {
    /// Measures this mechanism, in the same rounds as all others.
    pub fn mechanism<M: Mechanism>(mut self) -> Self {
        self.registry.visit::<M>();
        self.program.mechanisms.push(M::SPEC.full_name());
        self
    }

    /// Measures these mechanisms of ipcperf as well: `unix-stream`, or a list `unix-stream,pipe`. The first of all is what
    /// the others are compared with. Without any it is what [`Spec::over`](crate::Spec::over) names.
    pub fn against(mut self, names: &str) -> Self {
        self.program.against.push(names.to_owned());
        self
    }

    /// With messages of these sizes, in bytes. Without any it is 64.
    pub fn sizes(mut self, bytes: impl IntoIterator<Item = u64>) -> Self {
        self.program.sizes.extend(bytes.into_iter().map(|bytes| bytes.to_string()));
        self
    }

    /// With these patterns: `ping-pong`, which it is without any, `stream`, or a list.
    pub fn patterns(mut self, names: &str) -> Self {
        self.program.patterns.push(names.to_owned());
        self
    }

    /// With the ends at these places: `same-cpu`, `0,1`, or a list. Without any they are on one CPU, and on two that are close.
    pub fn places(mut self, names: &str) -> Self {
        self.program.places.push(names.to_owned());
        self
    }

    /// With this value of a knob, of any of the mechanisms: `mine.size=1M`.
    pub fn set(mut self, knob: &str) -> Self {
        self.program.settings.push(knob.to_owned());
        self
    }
}

/// The whole of a bench program (`harness = false`). It measures in fresh processes, proves that every message arrived as it was
/// sent, prints the table and the sentence, keeps the result in `target/ipcperf`, compares it with the last one, and ends with
/// the exit codes of ipcperf.
///
/// Its workers are re-executions of the program, so this has to be the first that `main` does; in a worker it does not
/// come back either.
///
/// ```text
/// fn main() {
///     ipcperf::bench(|b| b.mechanism::<Mine>().against("unix-stream").sizes([64, 4096]))
/// }
/// ```
pub fn bench(describe: impl FnOnce(Bench) -> Bench) -> ! {
    let Bench { registry, program } =
        describe(Bench { registry: crate::builtin(), program: BenchProgram::default() });
    let code = cli(registry).run_as(|cli, words| program.run(cli, words));
    // A code cannot be read back, only compared.
    let number = (0..=u8::MAX).find(|number| ExitCode::from(*number) == code);
    std::process::exit(number.map_or(1, i32::from))
}
