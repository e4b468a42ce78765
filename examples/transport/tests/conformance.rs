//! `cargo test`: what `SPEC` says of the library, tried in real processes.

#[path = "../benches/mechanism/mod.rs"]
mod mechanism;

fn main() -> std::process::ExitCode {
    ipcperf::conformance::<mechanism::FramedMessages>()
}
