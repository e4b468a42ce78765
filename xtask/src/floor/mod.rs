//! What ipcperf adds to the bare mechanism: each of its cells beside a loop written without any of
//! its abstractions, the two interleaved round by round in random order.

mod bare_loops;
mod bare_memory;
mod bare_pair;
mod bare_plumbing;
mod bare_ring;
mod bare_shm;
mod bare_sys;
mod bounded;
mod case;
mod machine;
mod product;
mod table;
mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use bare_pair::{Job, Slice};
use case::{Carrier, Case, Cpus, Pattern, Place, Placements};
use ipcperf_stats::Rng;
use product::Product;
use verdict::{Rounds, Verdict, judge};

/// The arguments of `cargo xtask floor`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rounds; each measures every case once on both sides
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Length of one measurement of one side in milliseconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1000))]
    slice_ms: u64,
    /// Only the cases whose name and placement contain this ("pipe stream", "same-cpu")
    #[arg(long)]
    only: Option<String>,
    /// Put the table into this file, between the lines floor:begin and floor:end
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// Keep idle CPUs polling (PM QoS request, needs root), so that wake-ups cost what the kernel's code costs and not
    /// what the host makes of a halted CPU; the table goes between floor-idle-poll:begin and floor-idle-poll:end
    #[arg(long)]
    idle_poll: bool,
    /// Seed of the order of cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure this ipcperf instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Run the bare loops alone, on the first two CPUs
    #[arg(long, conflicts_with_all = ["markdown", "binary"])]
    bare_only: bool,
}

/// The length of the cache-line measurement before each case on two CPUs.
const LINE_SLICE: Duration = Duration::from_millis(5);
/// What `ipcperf list` may take, start to end.
const LIST_LIMIT: Duration = Duration::from_millis(20);
/// Runs of it; the median is stated.
const LIST_RUNS: usize = 20;
/// What a run may keep resident.
const RSS_LIMIT: u64 = 64 << 20;
/// A case that failed this often without ever succeeding is not tried again.
const GIVE_UP: u32 = 2;

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
    let markers = table::Markers::of(options.idle_poll);
    if let Some(file) = &options.markdown {
        markers.check(file)?;
    }
    let _held = options.idle_poll.then(poll_idle).transpose()?;
    let slice = Duration::from_millis(options.slice_ms);
    let product = match (&options.binary, options.bare_only) {
        (_, true) => None,
        (Some(binary), _) => {
            Some(Product { binary: binary.clone(), slice, idle_poll: options.idle_poll })
        }
        (None, _) => Some(Product {
            binary: crate::cargo::build_product()?,
            slice,
            idle_poll: options.idle_poll,
        }),
    };
    let placements = match &product {
        Some(product) => product.placements()?,
        None => first_cpus(),
    };
    let place_name = |place| {
        placements.of(place).map_or("two CPUs (not here)".to_owned(), |(name, cpus)| {
            format!("{name} {},{}", cpus[0], cpus[1])
        })
    };
    let mut cases = case::all();
    if let Some(only) = &options.only {
        cases.retain(|case| format!("{} {}", case.name(), place_name(case.place)).contains(only));
        ensure!(!cases.is_empty(), "no case contains {only:?}");
    }
    let bench =
        Bench { product, placements: &placements, slice, rate: bare_sys::ticks_per_nanosecond() };
    let resolution = bare_sys::tick_step() as f64 / bench.rate;
    let rounds = bench.rounds(&cases, options.rounds, options.seed);
    let lines: Vec<_> = cases
        .into_iter()
        .zip(rounds)
        .map(|(case, rounds)| {
            let step = match case.pattern {
                Pattern::RoundTrip => resolution,
                Pattern::Stream => 0.0,
            };
            let outcome = judge(&rounds, case.place, case.target, step);
            (case, rounds, outcome)
        })
        .collect();

    let missed = lines
        .iter()
        .filter(|(.., outcome)| !matches!(outcome, Ok(outcome) if !is_miss(outcome.verdict)))
        .count();
    let mut text = machine::describe();
    text.push_str(&format!("- resolution of the bare clock: {resolution:.1} ns\n"));
    text.push_str(&format!(
        "- {} rounds of {} ms per side, interleaved, order random (seed {})\n\n",
        options.rounds, options.slice_ms, options.seed
    ));
    text.push_str(&table::render(&lines, place_name));
    let mut passed = missed == 0;
    if let Some(product) = &bench.product {
        let (limits, kept) = limits(product)?;
        text.push_str(&limits);
        passed &= kept;
    }
    println!("{text}");
    if bench.product.is_some() {
        println!("{missed} of {} cases miss their target or have no ratio.", lines.len());
    } else {
        passed = lines.iter().all(|(_, rounds, _)| rounds.failure.is_none());
    }
    if let Some(file) = &options.markdown {
        markers.write(file, &text)?;
    }
    Ok(passed)
}

/// Without ipcperf to ask: the first CPU, and the first two.
fn first_cpus() -> Placements {
    let cpus = bare_pair::usable_cpus();
    let first = cpus.first().copied().unwrap_or(0);
    let two = cpus.get(1).map(|&second| ("two-cpu".to_owned(), [first, second]));
    Placements { same: ("same-cpu".to_owned(), [first, first]), two }
}

/// Unclear is not a miss: it says that more rounds are needed, not that the product is slow.
fn is_miss(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Over | Verdict::BareSlower)
}

/// Start-up time and memory, each beside its limit.
fn limits(product: &Product) -> Result<(String, bool)> {
    let mut times = (0..LIST_RUNS)
        .map(|_| product.list().map(|elapsed| elapsed.as_secs_f64()))
        .collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    let list = ipcperf_stats::median(&times).expect("there are runs");
    let rss = product.peak_rss_bytes()?;
    let word = |kept: bool| if kept { "within" } else { "over" };
    let (list_kept, rss_kept) = (list < LIST_LIMIT.as_secs_f64(), rss < RSS_LIMIT);
    let text = format!(
        "\n- `ipcperf list`, start to end, median of {LIST_RUNS}: {:.1} ms (target < {} ms: {})\n\
         - peak RSS of `ipcperf run`, the larger of coordinator and workers: {:.1} MiB \
         (target < {} MiB: {})\n",
        list * 1e3,
        LIST_LIMIT.as_millis(),
        word(list_kept),
        rss as f64 / (1 << 20) as f64,
        RSS_LIMIT >> 20,
        word(rss_kept),
    );
    Ok((text, list_kept && rss_kept))
}

/// Everything a round needs.
struct Bench<'a> {
    product: Option<Product>,
    placements: &'a Placements,
    slice: Duration,
    /// Ticks per nanosecond.
    rate: f64,
}

impl Bench<'_> {
    /// All rounds of all cases; the order of cases and of the two sides changes every round.
    fn rounds(&self, cases: &[Case], rounds: u32, seed: u64) -> Vec<Rounds> {
        let mut results = vec![Rounds::default(); cases.len()];
        let mut failures = vec![0; cases.len()];
        let mut dice = Rng::from_seed(seed);
        let mut order: Vec<usize> = (0..cases.len()).collect();
        for round in 0..rounds {
            eprintln!("round {} of {rounds}", round + 1);
            dice.shuffle(&mut order);
            for &index in &order {
                let result = &mut results[index];
                if failures[index] >= GIVE_UP && result.bare.is_empty() {
                    continue;
                }
                if let Err(error) = self.round(&cases[index], dice.below(2) == 0, result) {
                    failures[index] += 1;
                    result.failure.get_or_insert_with(|| format!("{error:#}"));
                }
            }
        }
        results
    }

    /// One round of one case. Nothing is kept unless both sides have a figure.
    fn round(&self, case: &Case, bare_first: bool, result: &mut Rounds) -> Result<()> {
        let Some((place, cpus)) = self.placements.of(case.place) else {
            anyhow::bail!("this machine lends one CPU");
        };
        let line = match case.place {
            Place::SameCpu => None,
            Place::TwoCpus => Some(self.line(*cpus)?),
        };
        let ours =
            || self.product.as_ref().map(|product| product.measure(case, place, *cpus)).transpose();
        let (bare, product) = if bare_first {
            let bare = self.bare(case, *cpus)?;
            (bare, ours()?)
        } else {
            let product = ours()?;
            (self.bare(case, *cpus)?, product)
        };
        result.bare.push(bare);
        result.product.extend(product);
        result.line_ns.extend(line);
        Ok(())
    }

    fn bare(&self, case: &Case, cpus: Cpus) -> Result<f64> {
        let Case { carrier, pattern, bytes, .. } = *case;
        let slice = bare_pair::measure(Job { carrier, pattern, bytes, cpus, slice: self.slice })?;
        Ok(self.figure(pattern, bytes, slice))
    }

    fn line(&self, cpus: Cpus) -> Result<f64> {
        let (carrier, pattern, bytes) = (Carrier::CacheLine, Pattern::RoundTrip, 8);
        let slice = bare_pair::measure(Job { carrier, pattern, bytes, cpus, slice: LINE_SLICE })?;
        Ok(self.figure(pattern, bytes, slice))
    }

    /// Nanoseconds or bytes per second.
    fn figure(&self, pattern: Pattern, bytes: usize, slice: Slice) -> f64 {
        match pattern {
            Pattern::RoundTrip => slice.median_ticks as f64 / self.rate,
            Pattern::Stream => {
                bytes as f64 * slice.messages as f64 * 1e9 / slice.elapsed_ns.max(1) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(carrier: Carrier, pattern: Pattern, bytes: usize, cpus: Cpus) -> Slice {
        let slice = Duration::from_millis(2);
        bare_pair::measure(Job { carrier, pattern, bytes, cpus, slice }).unwrap()
    }

    #[test]
    fn every_blocking_round_trip_answers() {
        for (carrier, bytes) in [
            (Carrier::Pipe, 1),
            (Carrier::UnixStream, 4096),
            (Carrier::Tcp, 65),
            (Carrier::Eventfd, 8),
            (Carrier::Futex, 4),
        ] {
            let slice = measure(carrier, Pattern::RoundTrip, bytes, first_cpus().same.1);
            assert!(slice.median_ticks > 0 && slice.messages >= 16, "{carrier:?}: {slice:?}");
        }
    }

    #[test]
    fn every_blocking_stream_delivers() {
        for carrier in [Carrier::Pipe, Carrier::UnixStream, Carrier::Tcp] {
            let slice = measure(carrier, Pattern::Stream, 256 << 10, first_cpus().same.1);
            assert!(slice.elapsed_ns > 0 && slice.messages >= 16, "{carrier:?}: {slice:?}");
        }
    }

    #[test]
    fn every_spinning_pair_delivers_where_there_are_two_cpus() {
        let Some((_, cpus)) = first_cpus().two else {
            eprintln!("skipped: one CPU only");
            return;
        };
        for bytes in [1, 8, 4096] {
            let slice = measure(Carrier::Flag, Pattern::RoundTrip, bytes, cpus);
            assert!(slice.median_ticks > 0 && slice.messages >= 16, "{bytes}: {slice:?}");
        }
        let slice = measure(Carrier::Ring, Pattern::Stream, 4096, cpus);
        assert!(slice.elapsed_ns > 0 && slice.messages >= 16, "{slice:?}");
    }

    #[test]
    fn a_spinning_pair_on_one_cpu_is_refused() {
        let job = Job {
            carrier: Carrier::Flag,
            pattern: Pattern::RoundTrip,
            bytes: 8,
            cpus: first_cpus().same.1,
            slice: Duration::from_millis(2),
        };
        assert!(bare_pair::measure(job).is_err());
    }

    #[test]
    fn a_pair_pinned_to_a_cpu_that_does_not_exist_is_an_error_not_a_hang() {
        let job = Job {
            carrier: Carrier::Pipe,
            pattern: Pattern::RoundTrip,
            bytes: 1,
            cpus: [0, 1023],
            slice: Duration::from_millis(2),
        };
        let error = bare_pair::measure(job).unwrap_err();
        assert!(format!("{error:#}").contains("Invalid argument"), "{error:#}");
    }
}
