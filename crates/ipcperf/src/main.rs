//! `ipcperf`: measures inter-process communication on Linux and says which mechanism to use.

use std::process::ExitCode;

fn main() -> ExitCode {
    ipcperf::Cli::new().run()
}
