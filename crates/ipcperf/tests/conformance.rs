//! The conformance suite over the mechanisms of this program.

use ipcperf_conformance::Suite;

/// The matrix as it came out last.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CONFORMANCE.md");

fn main() -> std::process::ExitCode {
    Suite::of(ipcperf_mech::visit_all).kept_in(KEPT).run()
}
