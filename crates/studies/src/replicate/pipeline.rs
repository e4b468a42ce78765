//! `pipeline`: how long two `socat` processes take to pass a number of bytes from a source to a sink.
//!
//! The published runs are timed from outside, so start-up and the wait of a relay for its other direction are in the
//! figures. Variants take these apart. A run counts only if all bytes arrived.

mod plan;
mod socat;

use super::work::{Turn, Work};
use crate::claims::Readings;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::io::pipe;
use ipcperf_sys::signals::Interrupts;
use plan::{Method, Plan, TransferRun};
use serde::Deserialize;
use socat::Socat;
use std::time::Duration;

/// A run of fewer blocks than this is little more than start-up.
const LEAST_BLOCKS: u64 = 10;
/// No relay has a larger buffer.
const LARGEST_BLOCK: usize = 64 << 20;

/// How socat is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    /// Two processes with the published arguments.
    AsPublished,
    /// The same with `-u`: one direction, so there is no wait at the end.
    OneWay,
    /// As published, but both ends start at the same moment, to see whether they find each other.
    Together,
}

/// The keys of an arm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PipelineKeys {
    variant: Variant,
    method: Method,
    /// Bytes of one read and write.
    block: usize,
    /// The published length of a transfer.
    bytes: u64,
    /// A shorter one: at most so many bytes,
    most_bytes: Option<u64>,
    /// and at most so many blocks,
    most_blocks: Option<u64>,
    /// unless a run would be over before so many milliseconds: then as many more bytes as that takes, up to the
    /// published length. At full length a run takes as long as it takes.
    #[serde(default)]
    shortest_ms: u64,
    /// Capacity of an anonymous pipe.
    pipe_bytes: Option<u64>,
}

#[derive(Debug)]
struct Pipeline {
    variant: Variant,
    /// Its length grows until a run is long enough, and stays so for the rounds that follow.
    plan: Plan,
    shortest: Duration,
}

/// Its name in a study.
pub(crate) const KIND: &str = "pipeline";

/// How many bytes an arm with these keys sends.
pub(crate) fn bytes(keys: &toml::Table) -> Option<u64> {
    let keys: PipelineKeys = keys.clone().try_into().ok()?;
    plan(&keys).ok().map(|plan| plan.bytes)
}

/// What runs the two programs of an arm with these keys in a shell; `None` if they are started at the same moment on purpose.
pub(super) fn script(keys: &toml::Table) -> Option<String> {
    /// The port of the original.
    const PORT: u16 = 9999;
    let keys: PipelineKeys = keys.clone().try_into().ok()?;
    let is_transfer = keys.variant != Variant::Together;
    plan(&keys).ok().filter(|_| is_transfer).map(|plan| socat::script(&plan, PORT))
}

/// Makes the work.
pub(crate) fn make(keys: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys: PipelineKeys =
        keys.clone().try_into().map_err(|error| format!("pipeline: {error}"))?;
    let plan = plan(&keys)?;
    let shortest = Duration::from_millis(keys.shortest_ms);
    Ok(Box::new(Pipeline { variant: keys.variant, plan, shortest }))
}

fn plan(keys: &PipelineKeys) -> Result<Plan, String> {
    let PipelineKeys { block, pipe_bytes, .. } = *keys;
    if !(1..=LARGEST_BLOCK).contains(&block) {
        return Err(format!("pipeline: block is {block}; 1 .. {LARGEST_BLOCK} bytes are possible"));
    }
    let by_blocks = keys.most_blocks.unwrap_or(u64::MAX).saturating_mul(block as u64);
    let bytes = keys.bytes.min(keys.most_bytes.unwrap_or(u64::MAX)).min(by_blocks);
    if bytes / (block as u64) < LEAST_BLOCKS {
        return Err(format!("pipeline: {bytes} bytes are less than {LEAST_BLOCKS} blocks"));
    }
    if pipe_bytes.is_some() && keys.method != Method::AnonymousPipe {
        return Err("pipeline: pipe_bytes is for anonymous pipes".into());
    }
    if keys.variant == Variant::Together && keys.method == Method::AnonymousPipe {
        return Err("pipeline: the ends of an anonymous pipe cannot miss each other".into());
    }
    Ok(Plan {
        method: keys.method,
        block,
        bytes,
        published_bytes: keys.bytes,
        one_way: keys.variant == Variant::OneWay,
        pipe_bytes,
    })
}

/// A longer transfer where a run was too short, by half more than the time it lacks, because starting the processes took
/// part of it. `None` if the run was long enough, or as long as the published one.
fn lengthened(plan: &Plan, wall_ns: u64, shortest: Duration) -> Option<Plan> {
    let lacking = shortest.as_nanos() as f64 / wall_ns.max(1) as f64;
    if lacking <= 1.0 || plan.bytes >= plan.published_bytes {
        return None;
    }
    let blocks = (plan.bytes as f64 / plan.block as f64 * lacking * 1.5).ceil();
    let bytes = (blocks as u64).saturating_mul(plan.block as u64).min(plan.published_bytes);
    Some(Plan { bytes, ..*plan })
}

impl Pipeline {
    /// The transfer of this round, repeated with more bytes while it is too short.
    fn long_enough(&mut self, socat: &Socat, turn: &Turn<'_>) -> Result<TransferRun, TaskError> {
        loop {
            let run = socat.measure(&self.plan, turn)?;
            match lengthened(&self.plan, run.wall_ns, self.shortest) {
                Some(longer) => self.plan = longer,
                None => return Ok(run),
            }
        }
    }

    /// Whether two ends that start at the same moment find each other.
    fn together(&self, socat: &Socat, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let mut readings = Readings::default();
        let missed = socat.at_once(&self.plan, turn)?;
        readings.answer("missed", missed.is_some());
        if let Some(words) = missed {
            readings.facts.insert("an end that missed the other".into(), words);
        }
        Ok(readings)
    }
}

fn installed() -> Result<&'static Socat, TaskError> {
    socat::installed().as_ref().map_err(|why| TaskError::Failed(why.clone()))
}

/// What it finds out; both ends started at once only whether they missed each other.
pub(super) const READINGS: &[&str] = &[
    "mbits",
    "bits_per_second",
    "bytes",
    "wall_s",
    "user_s",
    "system_s",
    "cpu_s",
    "cpu_us_per_block",
    "races_lost",
    "startup_ms",
    "startup_share",
    "missed",
];

impl Work for Pipeline {
    fn look(&self, _: Option<&Interrupts>) -> Result<(), TaskError> {
        installed()?;
        let Some(bytes) = self.plan.pipe_bytes else { return Ok(()) };
        let tried = pipe::pair().and_then(|pair| pipe::set_capacity(&pair.write, Some(bytes)));
        tried.map(drop).map_err(|error| TaskError::Failed(error.to_string()))
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let socat = installed()?;
        if self.variant == Variant::Together {
            return self.together(socat, turn);
        }
        let run = self.long_enough(socat, turn)?;
        // The time of a run that moves one block: both processes start, meet and end, and nothing waits.
        let plan = &self.plan;
        let least = Plan { bytes: plan.block as u64, one_way: true, ..*plan };
        let startup_ns = socat.measure(&least, turn)?.wall_ns;
        let mut readings = Readings::default();
        let blocks = plan.bytes as f64 / plan.block as f64;
        let cpu_ns = (run.user_ns + run.system_ns) as f64;
        let wall_ns = run.wall_ns.max(1) as f64;
        for (name, value) in [
            ("mbits", plan.bytes as f64 * 8e3 / wall_ns),
            ("bits_per_second", published_rate(plan.bytes, run.wall_ns)?),
            ("bytes", plan.bytes as f64),
            ("wall_s", wall_ns / 1e9),
            ("user_s", run.user_ns as f64 / 1e9),
            ("system_s", run.system_ns as f64 / 1e9),
            ("cpu_s", cpu_ns / 1e9),
            ("cpu_us_per_block", cpu_ns / 1e3 / blocks),
            ("races_lost", run.races_lost as f64),
            ("startup_ms", startup_ns as f64 / 1e6),
            ("startup_share", startup_ns as f64 / wall_ns),
        ] {
            readings.set(name, value);
        }
        let [source, sink] = socat::commands(plan, run.port);
        let mut facts = vec![
            ("variant", format!("two processes of {}", socat.version())),
            ("source", source),
            ("sink", sink),
            ("script", socat::script(plan, run.port)),
            ("closing wait", closing_words(plan)),
        ];
        if let Some(bytes) = plan.pipe_bytes {
            facts.push(("pipe", format!("capacity {bytes} bytes")));
        }
        readings.facts.extend(facts.into_iter().map(|(name, text)| (name.to_owned(), text)));
        Ok(readings)
    }
}

fn closing_words(plan: &Plan) -> String {
    if plan.wait().is_zero() {
        return "none".into();
    }
    let wait_ms = plan.wait().as_secs_f64() * 1e3;
    let scaled = if plan.closing().is_some() { ", shortened like the transfer" } else { "" };
    format!("{wait_ms:.3} ms at either end, in the time that counts{scaled}")
}

/// As the published scripts calculate it: whole milliseconds, whole bits per second.
fn published_rate(bytes: u64, wall_ns: u64) -> Result<f64, TaskError> {
    let bits = u128::from(bytes) * 8;
    (bits * 1000)
        .checked_div((wall_ns / 1_000_000).into())
        .map(|rate| rate as f64)
        .ok_or_else(|| TaskError::Failed(format!("{bytes} bytes took less than a millisecond")))
}

#[cfg(test)]
mod tests;
