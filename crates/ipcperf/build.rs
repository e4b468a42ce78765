//! Packs the documents, and links the program without the tables of unwinding where it aborts.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=docs");
    ipcperf_packed::pack_below("docs", ".md", "documents")?;
    // Linkers that somebody chose (mold, gold) may not read scripts; that of Rust and GNU ld do.
    let is_chosen = !variable("RUSTC_LINKER").is_empty()
        || variable("CARGO_ENCODED_RUSTFLAGS").contains("link");
    // A package from a registry does not have the profile of the workspace, and unwinds. CARGO_CFG_PANIC knows no profile.
    let aborts = variable("PROFILE") == "release" && Path::new("../../Cargo.toml").exists();
    // The objects with which a static program starts have tables of their own.
    let is_static = variable("CARGO_CFG_TARGET_ENV") != "gnu";
    if aborts && !is_chosen && !is_static {
        let script = Path::new(&variable("CARGO_MANIFEST_DIR")).join("no-unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
        println!("cargo::rerun-if-changed=no-unwinding.ld");
    }
    Ok(())
}
