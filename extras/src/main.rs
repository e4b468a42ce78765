//! ipcperf with the mechanisms of libraries.
//!
//! ```text
//! cargo run --release -- run -m tokio,unix-stream/epoll,unix-stream/epoll-edge
//! ```

fn main() -> std::process::ExitCode {
    ipcperf::Cli::new().mechanisms(ipcperf_extras::visit_all).run()
}
