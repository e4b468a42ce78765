//! Reads the emitted code of the hot loops: what the source promises about the timed region
//! (no dynamic dispatch, no panic, no allocation, system calls by functions that return) must hold in the executable.

mod listing;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use listing::{Got, Report, functions, inspect};

/// The arguments of `cargo xtask asm`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Read this executable instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Print functions without a finding, too
    #[arg(long)]
    all: bool,
}

/// Prints what was found; false if a hot loop breaks a promise or there is no hot loop at all.
pub(crate) fn run(options: &Options) -> Result<bool> {
    ensure!(cfg!(target_arch = "x86_64"), "this reads x86-64 code only");
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::cargo::build_with_symbols()?,
    };
    let code = objdump(&binary, &["-d", "--no-show-raw-insn", "--demangle=rust"])?;
    let got = Got::parse(&objdump(&binary, &["-R"])?, &code);
    let reports: Vec<Report> = functions(&code)
        .filter(|function| function.is_hot_loop())
        .map(|function| inspect(&function, &got))
        .collect();
    if reports.is_empty() {
        bail!(
            "no function {}lead or follow in {}: stripped, inlined away, or not v0-mangled",
            listing::HOT,
            binary.display()
        );
    }
    let entries = functions(&code).filter(listing::Function::is_entry).count();
    let wrong: Vec<String> = functions(&code).filter_map(|one| one.wrong_entry()).collect();
    if entries != listing::ENTRIES.len() {
        println!("{entries} of {} are functions of their own", listing::ENTRIES.join(", "));
    }
    wrong.iter().for_each(|words| println!("{words}"));
    for report in reports.iter().filter(|report| options.all || !report.is_quiet()) {
        print!("{report}");
    }
    let broken = reports.iter().filter(|report| report.is_broken()).count();
    println!("{} hot loops, {broken} break a promise", reports.len());
    Ok(broken == 0 && wrong.is_empty() && entries == listing::ENTRIES.len())
}

fn objdump(binary: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("objdump")
        .args(arguments)
        .arg(binary)
        .output()
        .context("cannot start objdump (package binutils)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "objdump {}: {said}", arguments.join(" "));
    String::from_utf8(output.stdout).context("objdump printed something other than text")
}
