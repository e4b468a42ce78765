//! Reads the emitted code of the hot loops: what the source promises about the timed region (no panic, no allocation,
//! and no call through a table but those of an erased port) must hold in the executable.

mod listing;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use listing::{Got, Report, Timed, functions, inspect};

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
        None => crate::build_product()?,
    };
    let code = objdump(&binary, &["-d", "--no-show-raw-insn", "--demangle=rust"])?;
    let got = Got::parse(&objdump(&binary, &["-R"])?, &code);
    let reports: Vec<Report> = functions(&code)
        .filter_map(|function| Some(inspect(&function, function.timed()?, &got)))
        .collect();
    let count = |kind| reports.iter().filter(|report| report.timed == kind).count();
    let (typed, erased) = (count(Timed::Loop), count(Timed::ErasedLoop));
    let (operations, payloads) = (count(Timed::Operation), count(Timed::Payload));
    if [typed, erased, operations, payloads].contains(&0) {
        bail!(
            "{}: {typed} loops and {erased} erased ones, {operations} operations and {payloads} payloads of theirs: \
             stripped, inlined away, or not v0-mangled",
            binary.display()
        );
    }
    for report in reports.iter().filter(|report| options.all || !report.is_quiet()) {
        print!("{report}");
    }
    let broken = reports.iter().filter(|report| report.is_broken()).count();
    println!(
        "{} hot loops ({erased} over erased ports, with {operations} operations and {payloads} payloads), \
         {broken} break a promise",
        typed + erased,
    );
    Ok(broken == 0)
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
