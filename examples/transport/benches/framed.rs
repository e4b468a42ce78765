//! `cargo bench`: the library, compared with the socket that it is built on.

mod mechanism;

fn main() {
    ipcperf::bench(|b| b.mechanism::<mechanism::FramedMessages>().sizes([64, 4096]))
}
