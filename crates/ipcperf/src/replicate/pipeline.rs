//! `pipeline`: a source of zeros, a sink, and a way between them; how long a number of bytes takes.
//!
//! What was published are runs of two `socat` processes, timed from outside, so start-up and the wait of a relay for
//! its other direction are in the figures. Variants take these apart. A run counts only if all bytes arrived.

mod plan;
mod relay;
mod socat;
mod steady;
mod way;

use super::work::{Turn, Work};
use ipcperf_engine::task::{NamedTask, TaskError, WorkerContext};
use ipcperf_study::Readings;
use ipcperf_sys::io::pipe::{self, End};
use plan::{CLOSING, Method, Plan, Run};
use relay::Duty;
use serde::Deserialize;
use serde_json::Value;

/// One end of a pipeline.
pub(super) const TASK: NamedTask<'_> =
    NamedTask { name: relay::NAME, run: &|context| Ok(serve(context)?) };

/// Fewer blocks than this have no steady state.
const LEAST_BLOCKS: u64 = 10;
/// Above this a block is a buffer that no relay has.
const LARGEST_BLOCK: usize = 64 << 20;

/// What moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    /// Two socat processes with the published arguments, or the stand-in where there is no socat.
    AsPublished,
    /// The same with `-u`: one direction, so nothing to wait for at the end.
    OneWay,
    /// Two workers that do what socat does, block by block.
    StandIn,
    /// A writer and a reader, and nobody between; from a tenth of the bytes on.
    Direct,
}

/// The keys of an arm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    variant: Variant,
    method: Method,
    /// Bytes of one read and write.
    block: usize,
    /// The published length of a transfer.
    bytes: u64,
    /// A shorter one: at most so many bytes,
    most_bytes: Option<u64>,
    /// and at most so many blocks.
    most_blocks: Option<u64>,
    /// Capacity of an anonymous pipe.
    pipe_bytes: Option<u64>,
}

#[derive(Debug)]
struct Pipeline {
    variant: Variant,
    plan: Plan,
}

fn serve(context: &mut WorkerContext<'_>) -> Result<Value, String> {
    let duty: Duty = context.params()?;
    let end = if duty.is_source { End::Write } else { End::Read };
    let seen = if duty.relays {
        relay::serve(&duty, end, context)?
    } else {
        steady::serve(&duty, end, context)?
    };
    serde_json::to_value(seen).map_err(|error| error.to_string())
}

/// Its name in a study.
pub(crate) const KIND: &str = "pipeline";

/// How many bytes an arm with these keys sends.
pub(crate) fn bytes(keys: &toml::Table) -> Option<u64> {
    let keys: Keys = keys.clone().try_into().ok()?;
    plan(&keys).ok().map(|plan| plan.bytes)
}

/// Makes the work.
pub(crate) fn make(keys: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys: Keys = keys.clone().try_into().map_err(|error| format!("pipeline: {error}"))?;
    let plan = plan(&keys)?;
    Ok(Box::new(Pipeline { variant: keys.variant, plan }))
}

fn plan(keys: &Keys) -> Result<Plan, String> {
    let Keys { block, pipe_bytes, .. } = *keys;
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
    Ok(Plan {
        method: keys.method,
        block,
        bytes,
        // A shorter transfer has a shorter wait, so that the wait keeps its share.
        closing: (bytes < keys.bytes)
            .then(|| CLOSING.mul_f64(bytes as f64 / keys.bytes.max(1) as f64)),
        one_way: keys.variant == Variant::OneWay,
        pipe_bytes,
    })
}

impl Work for Pipeline {
    fn missing(&self) -> Option<String> {
        let bytes = self.plan.pipe_bytes?;
        let tried = pipe::pair().and_then(|pair| pipe::set_capacity(&pair.write, Some(bytes)));
        tried.err().map(|error| error.to_string())
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let plan = &self.plan;
        let mut readings = Readings::default();
        let mut fact = |name: &str, text: String| readings.facts.insert(name.to_owned(), text);
        if let Some(bytes) = plan.pipe_bytes {
            fact("pipe", format!("capacity {bytes} bytes"));
        }
        if self.variant == Variant::Direct {
            fact("variant", "writer and reader, nobody between, steady state".into());
            let seen = steady::measure(plan, turn)?;
            rates(&mut readings, plan, seen.bits_per_second(), &seen.run);
            return Ok(readings);
        }
        fact("closing wait", closing_words(plan));
        let mut is_socat = false;
        let run = if self.variant == Variant::StandIn {
            fact("variant", "stand-in: two workers; poll, read, write for each block".into());
            relay::measure(plan, turn)?
        } else {
            match socat::installed() {
                Ok(socat) => {
                    is_socat = true;
                    let [source, sink] = socat::commands(plan);
                    fact("variant", format!("two processes of {}", socat.version()));
                    fact("source", source);
                    fact("sink", sink);
                    socat.measure(plan, turn)?
                }
                Err(reason) => {
                    fact("variant", format!("stand-in: two workers, because {reason}"));
                    relay::measure(plan, turn)?
                }
            }
        };
        rates(&mut readings, plan, published_rate(plan.bytes, run.wall_ns)?, &run);
        readings.set("by_socat", f64::from(u8::from(is_socat)));
        Ok(readings)
    }
}

fn closing_words(plan: &Plan) -> String {
    if plan.wait().is_zero() {
        return "none".into();
    }
    let wait_ms = plan.wait().as_secs_f64() * 1e3;
    let scaled = if plan.closing.is_some() { ", shortened like the transfer" } else { "" };
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

fn rates(readings: &mut Readings, plan: &Plan, bits_per_second: f64, run: &Run) {
    let blocks = plan.bytes as f64 / plan.block as f64;
    readings.set("bits_per_second", bits_per_second);
    readings.set("mbits", bits_per_second / 1e6);
    readings.set("wall_s", run.wall_ns as f64 / 1e9);
    readings.set("user_s", run.user_ns as f64 / 1e9);
    readings.set("system_s", run.system_ns as f64 / 1e9);
    readings.set("cpu_s", (run.user_ns + run.system_ns) as f64 / 1e9);
    readings.set("cpu_us_per_block", (run.user_ns + run.system_ns) as f64 / 1e3 / blocks);
    readings.set("races_lost", run.races_lost as f64);
    if let Some(startup_ns) = run.startup_ns {
        readings.set("startup_ms", startup_ns as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests;
