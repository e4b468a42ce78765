//! Facts about the build that can change a number, for `--version` and the result document; and the texts that are part
//! of the program, compressed: the JSON Schemas of all documents (a sixth of their size) and the studies (a fifth).

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};

const SCHEMAS: &str = "schema";
const STUDIES: &str = "studies";

fn main() -> std::io::Result<()> {
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
    let out = PathBuf::from(variable("OUT_DIR"));
    for (folder, name) in [(SCHEMAS, "schemas.gz"), (STUDIES, "studies.gz")] {
        println!("cargo::rerun-if-changed={folder}");
        std::fs::write(out.join(name), packed(&texts(folder)?)?)?;
    }
    let names: Vec<String> = texts(SCHEMAS)?.into_iter().map(|(name, _)| name).collect();
    println!("cargo::rustc-env=IPCPERF_SCHEMAS={}", names.join(", "));
    Ok(())
}

/// The name of each file (`result` of `ipcperf.result-2.schema.json`, `qiita` of `qiita.toml`) and its text.
fn texts(folder: &str) -> std::io::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = file.trim_start_matches("ipcperf.");
        let name = file.split(['.', '-']).next().unwrap_or_default().to_owned();
        all.push((name, std::fs::read_to_string(path)?));
    }
    all.sort();
    Ok(all)
}

/// Each name, its text, and a zero, compressed.
fn packed(all: &[(String, String)]) -> std::io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for (name, text) in all {
        write!(packed, "{name}\n{text}\0")?;
    }
    packed.finish()
}
