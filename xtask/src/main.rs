//! Automation that needs more than a shell line: measures what ipcperf adds to bare loops, checks
//! the rules of the project, reads the emitted code of the hot loops, tries statistical promises, fuzzes every input. `cargo xtask --help` lists it.

mod asm;
mod cargo;
mod floor;
mod fuzz;
mod probe;
mod siege;
mod snippets;
mod soak;
mod tidy;
mod trial;
mod weigh;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Automation of the ipcperf workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure ipcperf beside bare loops, interleaved; exit 1 if a case misses its target
    Floor(floor::Options),
    /// Measure one bare loop and print nanoseconds or bytes per second: what floor starts
    Bare(floor::Job),
    /// Check the rules of the project; one line per violation, exit 1 if there is any
    Tidy,
    /// List the lines of crates with patterns of style that tidy counts
    Style,
    /// Count lines, tokens, round loops, judges and files that know a format; exit 1 if a count is above its ceiling
    Weigh,
    /// Write the documents that the program itself knows best
    Docs,
    /// Check the emitted code of the hot loops: no indirect call, no panic, no allocation
    Asm(asm::Options),
    /// Try every input with bytes chosen by what they reach; exit 1 if something does not hold
    Fuzz(fuzz::Options),
    /// Add a question and a finding to a copy and run the tests that know them all; exit 1 if one takes too many files
    Probe,
    /// Let faults strike real runs at random moments; exit 1 if anything is lost, left or untrue
    Siege(siege::Options),
    /// Run every command and program of the documents as its reader would; exit 1 if one does not do what it promises
    Snippets(snippets::Options),
    /// Let one run over all mechanisms go on; exit 1 if descriptors, memory or kernel objects grow
    Soak(soak::Options),
    /// Try a statistical promise many times, on simulated hosts or with the real program; exit 1 if it does not hold
    Trial(trial::Options),
}

fn main() -> Result<ExitCode> {
    let passed = match Cli::parse().task {
        // Bare loops without optimisation would flatter the product.
        Task::Floor(_) | Task::Bare(_) if cfg!(debug_assertions) => run_optimised()?,
        Task::Floor(options) => floor::run(&options)?,
        Task::Bare(job) => floor::print(&job)?,
        Task::Tidy => tidy::run()?,
        Task::Style => tidy::list_style()?,
        Task::Weigh => weigh::run()?,
        Task::Docs => tidy::write_documents()?,
        Task::Asm(options) => asm::run(&options)?,
        Task::Fuzz(options) => fuzz::run(&options)?,
        Task::Probe => probe::run()?,
        Task::Siege(options) => siege::run(&options)?,
        Task::Snippets(options) => snippets::run(&options)?,
        Task::Soak(options) => soak::run(&options)?,
        Task::Trial(options) => trial::run(&options)?,
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs this command line again in an optimised build of this program.
fn run_optimised() -> Result<bool> {
    let status = cargo::cargo()
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .context("cannot start cargo")?;
    Ok(status.success())
}
