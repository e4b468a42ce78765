//! What it costs to move bytes through a pipe, and to copy them into shared memory and out again: one process does
//! both halves, so that nobody waits and only the moving is timed.
//!
//! Readings end in the bytes of a chunk: `pipe_us.524288`, `copy_us.524288`, each the median over chunks.

use super::place;
use super::{Readings, Turn, Work};
use ipcperf_core::{Fault, Seat, SetupError};
use ipcperf_engine::errand::{Crew, Errand, Hand, Mishap};
use ipcperf_stats::median;
use ipcperf_sys::affinity;
use ipcperf_sys::clock::raw_ns;
use ipcperf_sys::io::memory::segment::{Kind, Segment};
use ipcperf_sys::io::memory::shm_sem::{self, Ends};
use ipcperf_sys::io::{errno, pipe, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::os::fd::AsFd;

/// Does both.
pub(crate) const ERRAND: Errand = Errand { name: "copying", run: copy };

/// What fits a pipe at once, so that the process that also reads never has to wait for itself.
const PIECE: usize = 16 * 4096;

/// Makes the work.
///
/// # Errors
/// What the study says makes no sense.
pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys: Keys = table.clone().try_into().map_err(|error| error.to_string())?;
    if keys.sizes.is_empty() || keys.sizes.iter().any(|size| !(1..=1 << 26).contains(size)) {
        return Err("'sizes' must be 1 to 67108864".into());
    }
    if !(1..=100_000).contains(&keys.repeats) {
        return Err("'repeats' must be 1 to 100000".into());
    }
    Ok(Box::new(Copying { keys }))
}

/// What a study says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Bytes of a chunk.
    sizes: Vec<usize>,
    /// Chunks of each size, both ways.
    repeats: usize,
}

struct Copying {
    keys: Keys,
}

#[derive(Debug, Serialize, Deserialize)]
struct Brief {
    keys: Keys,
    cpu: usize,
    name: String,
}

/// Median times of one size.
#[derive(Debug, Serialize, Deserialize)]
struct Cost {
    pipe_ns: f64,
    copy_ns: f64,
}

impl Work for Copying {
    fn missing(&self) -> Option<String> {
        place::pair(false).err()
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap> {
        let [_, cpu] = place::pair(false).map_err(Mishap::Failed)?;
        let name = format!("ipcperf-{:016x}-copying", turn.nonce);
        let brief = Brief { keys: self.keys.clone(), cpu, name };
        let pad = turn.nonce as usize % 4096;
        let mut hand = Hand::start(ERRAND.name, &brief, &[], pad, turn.deadline, turn.interrupts)?;
        let costs: Vec<Cost> = hand.done()?;
        let mut readings = Readings::default();
        for (size, cost) in self.keys.sizes.iter().zip(costs) {
            readings.set(format!("pipe_us.{size}"), cost.pipe_ns / 1e3);
            readings.set(format!("copy_us.{size}"), cost.copy_ns / 1e3);
        }
        Ok(readings)
    }
}

fn copy(crew: &mut Crew<'_>) -> Result<Value, String> {
    let Brief { keys, cpu, name } = crew.params()?;
    affinity::pin(cpu).map_err(|error| format!("CPU {cpu}: {error}"))?;
    let largest = keys.sizes.iter().copied().max().unwrap_or(0);
    let mut both = Both::new(largest, &name).map_err(|error| error.to_string())?;
    let mut costs = Vec::new();
    for size in keys.sizes {
        let (mut pipe_ns, mut copy_ns) = (vec![0.0; keys.repeats], vec![0.0; keys.repeats]);
        for (pipe_ns, copy_ns) in pipe_ns.iter_mut().zip(&mut copy_ns) {
            let told = |fault: Fault| format!("{size} bytes: {fault}");
            let begin = raw_ns();
            both.through_the_pipe(size).map_err(told)?;
            let between = raw_ns();
            both.through_memory(size).map_err(told)?;
            *copy_ns = (raw_ns() - between) as f64;
            *pipe_ns = (between - begin) as f64;
        }
        let cost = |times: &[f64]| median(times).ok_or("nothing was timed");
        costs.push(Cost { pipe_ns: cost(&pipe_ns)?, copy_ns: cost(&copy_ns)? });
    }
    serde_json::to_value(costs).map_err(|error| error.to_string())
}

/// A pipe and a buffer in shared memory, both of whose ends are here.
struct Both {
    pipe: pipe::Pair,
    /// Bytes that fit the pipe at once.
    piece: usize,
    sender: Ends,
    receiver: Ends,
    from: Box<[u8]>,
    into: Box<[u8]>,
}

impl Both {
    fn new(largest: usize, name: &str) -> Result<Self, SetupError> {
        let memory = shm_sem::create(Kind::DEFAULT, largest, None, name)?;
        let second = Segment::attach(Kind::DEFAULT, memory.ticket()?)?;
        let pipe = pipe::pair()?;
        // A user with many pipes gets smaller ones.
        let room = usize::try_from(pipe::set_capacity(&pipe.write, None)?).unwrap_or(4096);
        Ok(Self {
            pipe,
            piece: room.min(PIECE),
            sender: Ends::attach(memory, Seat::Lead, largest)?,
            receiver: Ends::attach(second, Seat::Follow, largest)?,
            from: (0..largest).map(|at| at as u8).collect(),
            // Written, so that no page of it is new to a timed copy.
            into: vec![1; largest].into_boxed_slice(),
        })
    }

    fn through_the_pipe(&mut self, size: usize) -> Result<(), Fault> {
        let from = self.from.get(..size).ok_or(Fault::TooLong)?;
        let into = self.into.get_mut(..size).ok_or(Fault::TooLong)?;
        for (from, into) in from.chunks(self.piece).zip(into.chunks_mut(self.piece)) {
            whole(from.len(), || stream::write(self.pipe.write.as_fd(), from))?;
            whole(into.len(), || stream::read(self.pipe.read.as_fd(), into))?;
        }
        Ok(())
    }

    fn through_memory(&mut self, size: usize) -> Result<(), Fault> {
        let from = self.from.get(..size).ok_or(Fault::TooLong)?;
        let into = self.into.get_mut(..size).ok_or(Fault::TooLong)?;
        self.sender.send(size, |out| out.copy_from_slice(from))?;
        self.receiver.receive(into)
    }
}

/// A call that moves everything: the pipe is empty before a write, and holds it all before a read.
#[inline(always)]
fn whole(len: usize, mut call: impl FnMut() -> Result<usize, i32>) -> Result<(), Fault> {
    loop {
        match call() {
            Ok(moved) if moved == len => return Ok(()),
            Ok(_) => return Err(Fault::Truncated),
            Err(errno::EINTR) => {}
            Err(code) => return Err(Fault::Sys(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_bring_all_bytes_also_of_chunks_larger_than_the_pipe() {
        let name = format!("ipcperf-copying-{}", std::process::id());
        let mut both = Both::new(200_001, &name).expect("a pipe and memory");
        for size in [1, 4096, 65_537, 200_001] {
            for way in [Both::through_the_pipe, Both::through_memory] {
                both.into.fill(0xee);
                way(&mut both, size).expect("moved");
                assert_eq!(both.into[..size], both.from[..size]);
                assert!(both.into[size..].iter().all(|byte| *byte == 0xee));
            }
        }
    }
}
