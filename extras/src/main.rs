//! ipcperf with the mechanisms of libraries.
//!
//! ```text
//! cargo run --release -- run -m tokio,unix-stream/epoll,unix-stream/epoll-edge
//! ```

fn main() -> std::process::ExitCode {
    let mut registry = ipcperf::builtin();
    ipcperf_extras::visit_all(&mut registry);
    ipcperf::cli(registry).run()
}
