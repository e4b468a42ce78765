//! What ipcperf adds to the bare mechanism: each of its cells beside a loop written without any of its abstractions.
//! Each side is a program that measures once in fresh processes and ends; the two are started in turn, round by round,
//! in random order.

mod bare;
mod case;
mod loops;
mod plain;
mod policy;
mod product;
mod served;
mod table;
mod verdict;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

pub(crate) use bare::print;
pub(crate) use case::Job;
use case::{Case, Rival};
use ipcperf_stats::Rng;
use plain::{Compiled, OF_OURS};
pub(crate) use policy::use_fifo;
use product::{Product, complaint};
use verdict::{Rounds, judge};

/// The arguments of `cargo xtask floor`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rounds; each measures every case once on both sides
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Length of one measurement of one side in milliseconds, 100 as `ipcperf run` has it
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    slice_ms: u64,
    /// Only the cases whose name and placement contain this ("pipe stream", "same-cpu")
    #[arg(long)]
    only: Option<String>,
    /// Write the table into this file
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// Keep idle CPUs polling (PM QoS request, needs root), so that wake-ups cost what the kernel's code costs and not
    /// what the host makes of a halted CPU
    #[arg(long)]
    idle_poll: bool,
    /// Seed of the order of cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure this ipcperf instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What `ipcperf list` may take, start to end.
const LIST_LIMIT: Duration = Duration::from_millis(20);
/// Runs of it; the median is stated.
const LIST_RUNS: usize = 20;
/// What a run may keep resident.
const RSS_LIMIT: u64 = 64 << 20;

/// Holds the request until it is dropped.
fn poll_idle() -> Result<std::fs::File> {
    use std::io::Write;
    let device = "/dev/cpu_dma_latency";
    let mut file = std::fs::File::options()
        .write(true)
        .open(device)
        .with_context(|| format!("--idle-poll: {device}"))?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

/// Measures and prints; false if a case or a limit is missed.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if let Some(file) = &options.markdown {
        // Fails now rather than after minutes of measuring.
        std::fs::write(file, "").with_context(|| file.display().to_string())?;
    }
    let _held = options.idle_poll.then(poll_idle).transpose()?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::cargo::build_product()?,
    };
    let product = Product { binary, slice_ms: options.slice_ms, idle_poll: options.idle_poll };
    let (places, mut text) = product.places()?;
    let mut cases = case::all(&places);
    let compiled = Compiled::here();
    let one_cpu = places.iter().find(|place| place.is_one_cpu());
    match (&compiled, one_cpu) {
        (Ok(_), Some(place)) => cases.extend(case::beside_c(place)),
        (Err(why), _) => text.push_str(&format!("- plain C: not compared: {why:#}\n")),
        (Ok(_), None) => text.push_str("- plain C: not compared: no place on one CPU\n"),
    }
    if let Some(only) = &options.only {
        cases.retain(|case| format!("{case} {}", case.place).contains(only));
        ensure!(!cases.is_empty(), "no case contains {only:?}");
    }
    let rounds = measure(&product, compiled.as_ref().ok(), &cases, options);
    let lines: Vec<_> = cases
        .iter()
        .zip(&rounds)
        .map(|(case, rounds)| (case, rounds, judge(case, rounds)))
        .collect();
    let is_miss = |line: &&table::Line<'_>| match &line.2 {
        Ok(outcome) => outcome.verdict.is_miss(),
        Err(_) => true,
    };
    let missed = lines.iter().filter(is_miss).count();
    let is_fifo = std::thread::spawn(policy::use_fifo).join().is_ok_and(|outcome| outcome.is_ok());
    text.push_str(&format!(
        "- streams on one CPU: under {}\n\
         - {} rounds of {} ms per side, interleaved, order random (seed {})\n\n",
        if is_fifo { "SCHED_FIFO" } else { "the default policy (SCHED_FIFO is not permitted)" },
        options.rounds,
        options.slice_ms,
        options.seed
    ));
    text.push_str(&table::render(&lines));
    let (limits, are_kept) = limits(&product)?;
    text.push_str(&limits);
    let mut are_kept = are_kept;
    if let (Ok(compiled), None) = (&compiled, &options.only) {
        let (value, ends) = product.of_ours(&compiled.echo, options.rounds)?;
        let [low, high] = OF_OURS;
        // As with the cases: a miss where the whole interval is outside.
        let is_missed = ends.is_some_and(|[least, most]| most < low || least > high);
        let word = match (low..=high).contains(&value) {
            true => "within",
            false if is_missed => "missed",
            false => "unclear",
        };
        let ends =
            ends.map(|[least, most]| format!(" [{least:.3} to {most:.3}]")).unwrap_or_default();
        text.push_str(&format!(
            "- examples/ends/echo.c as the follow of a pipe, 64 B on one CPU: {value:.3}{ends} of our own follow (target \
             {low} to {high}: {word})\n"
        ));
        are_kept &= !is_missed;
    }
    println!("{text}\n{missed} of {} cases miss their target or have no ratio.", lines.len());
    if let Some(file) = &options.markdown {
        std::fs::write(file, &text).with_context(|| file.display().to_string())?;
    }
    Ok(missed == 0 && are_kept)
}

/// Start-up time and memory, each beside its limit. A time says as much of the machine as of the program, so it is shown
/// and is no miss.
fn limits(product: &Product) -> Result<(String, bool)> {
    let times = (0..LIST_RUNS)
        .map(|_| product.list().map(|elapsed| elapsed.as_secs_f64()))
        .collect::<Result<Vec<_>>>()?;
    let list = ipcperf_stats::median(&times).expect("there are runs");
    let rss = product.peak_rss_bytes()?;
    let word = |is_below: bool| if is_below { "within" } else { "over" };
    let is_kept = rss < RSS_LIMIT;
    let text = format!(
        "\n- `ipcperf list`, start to end, median of {LIST_RUNS}: {:.1} ms (target < {} ms: {})\n\
         - peak RSS of `ipcperf run`, the larger of coordinator and workers: {:.1} MiB \
         (target < {} MiB: {})\n",
        list * 1e3,
        LIST_LIMIT.as_millis(),
        word(list < LIST_LIMIT.as_secs_f64()),
        rss as f64 / (1 << 20) as f64,
        RSS_LIMIT >> 20,
        word(is_kept),
    );
    Ok((text, is_kept))
}

/// All rounds of all cases; the order of cases and of the two sides changes every round.
fn measure(
    product: &Product,
    compiled: Option<&Compiled>,
    cases: &[Case],
    options: &Options,
) -> Vec<Rounds> {
    let mut results = vec![Rounds::default(); cases.len()];
    let mut dice = Rng::from_seed(options.seed);
    let mut order: Vec<usize> = (0..cases.len()).collect();
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        dice.shuffle(&mut order);
        for &index in &order {
            let (case, result) = (&cases[index], &mut results[index]);
            let bare_first = dice.below(2) == 0;
            let offset = dice.below(64) as usize * 64;
            // What never succeeded is not tried again.
            if result.failure.is_some() && result.bare.is_empty() {
                continue;
            }
            match one_round(product, compiled, case, bare_first, (options.slice_ms, offset)) {
                Ok((bare, (figure, line))) => {
                    result.bare.push(bare);
                    result.product.push(figure);
                    result.line_ns.extend(line);
                }
                // Nothing is kept unless both sides have a figure.
                Err(error) => {
                    result.failure.get_or_insert_with(|| format!("{error:#}"));
                }
            }
        }
    }
    results
}

/// One round of one case: the bare figure, the product's, and what that says of the cache line.
fn one_round(
    product: &Product,
    compiled: Option<&Compiled>,
    case: &Case,
    bare_first: bool,
    how: (u64, usize),
) -> Result<(f64, (f64, Option<f64>))> {
    if bare_first {
        return Ok((rival(compiled, case, how)?, product.measure(case)?));
    }
    let figures = product.measure(case)?;
    Ok((rival(compiled, case, how)?, figures))
}

fn rival(compiled: Option<&Compiled>, case: &Case, how: (u64, usize)) -> Result<f64> {
    match (case.rival, compiled) {
        (Rival::PlainC, Some(compiled)) => compiled.measure(case, how),
        (Rival::PlainC, None) => anyhow::bail!("plain C was not compiled"),
        (Rival::Bare, _) => bare(case, how),
    }
}

/// The figure of a bare pair, which is this program again. Its buffers begin anywhere in their pages, as those of each slice
/// do: a stream of 1 MiB over TCP makes 4.2 GB/s behind the first 64 bytes of a page and 4.9 at its start.
fn bare(case: &Case, (slice_ms, offset): (u64, usize)) -> Result<f64> {
    let [lead, follow] = case.place.cpus;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["bare", &case::name(case.carrier), &case::name(case.pattern)])
        // The last line of an error is then its cause.
        .env("RUST_BACKTRACE", "0")
        .args(
            [case.bytes, lead, follow, slice_ms as usize, offset, case.conns]
                .map(|number| number.to_string()),
        );
    let output = policy::without_preemption(case, &mut command).output()?;
    ensure!(output.status.success(), "bare loop: {}", complaint(&output));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
