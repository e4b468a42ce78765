//! Facts about the build that can change a number, for `--version` and the result document.

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let rustc = std::process::Command::new(variable("RUSTC")).arg("--version").output();
    let rustc = rustc
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    for (name, value) in [
        ("RUSTC", rustc),
        ("TARGET", variable("TARGET")),
        ("OPT_LEVEL", variable("OPT_LEVEL")),
        ("TARGET_FEATURES", variable("CARGO_CFG_TARGET_FEATURE")),
    ] {
        println!("cargo::rustc-env=IPCPERF_BUILD_{name}={value}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
