//! The conformance suite over the mechanisms of this program.

fn main() -> std::process::ExitCode {
    ipcperf_conformance::main(ipcperf_mech::visit_all)
}
