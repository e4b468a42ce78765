//! The cases that ipcperf holds its own mechanisms to.

fn main() -> std::process::ExitCode {
    ipcperf::conformance_of(ipcperf_dbus::visit_all)
}
