//! How this crate is optimised: its calls are timed, and the crates with the timed loops are compiled like it.

fn main() {
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=IPCPERF_TIMED_OPT_LEVEL={level}");
    println!("cargo::rerun-if-changed=build.rs");
}
