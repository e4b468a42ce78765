//! ipcperf with the mechanisms `dbus/p2p` and `dbus/bus`: the model of a program that brings mechanisms of its own.
//!
//! ```text
//! cargo run --release --manifest-path examples/dbus/Cargo.toml -- run dbus/bus unix-stream
//! ```

fn main() -> std::process::ExitCode {
    let mut registry = ipcperf::builtin();
    ipcperf_dbus::visit_all(&mut registry);
    ipcperf::Cli::new(registry).run()
}
