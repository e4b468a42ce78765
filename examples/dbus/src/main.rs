//! ipcperf with two more mechanisms, `dbus/p2p` and `dbus/bus`: a model for programs that add their own.
//!
//! ```text
//! cargo run --release --manifest-path examples/dbus/Cargo.toml -- run dbus/bus unix-stream
//! ```

fn main() -> std::process::ExitCode {
    ipcperf::Cli::new().mechanisms(ipcperf_dbus::visit_all).run()
}
