//! The cases that ipcperf holds its own mechanisms to.

fn main() -> std::process::ExitCode {
    ipcperf_conformance::main(ipcperf_extras::visit_all)
}
