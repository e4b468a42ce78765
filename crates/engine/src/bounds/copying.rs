//! The cost of moving bytes through a pipe, and of copying them into shared memory and out again: one process does
//! both halves, so that nobody waits and only the moving is timed.
//!
//! Readings end in the bytes of a chunk: `pipe_us.524288`, `copy_us.524288`, each the median over chunks.

use ipcperf_core::{Fault, Seat, SetupError};
use ipcperf_stats::median;
use ipcperf_sys::clock::raw_ns;
use ipcperf_sys::io::memory::segment::{Kind, Segment};
use ipcperf_sys::io::memory::shm_sem::{self, Ends};
use ipcperf_sys::io::{errno, pipe, stream};
use ipcperf_sys::process::own_pid;
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

/// What fits a pipe at once, so that the process that also reads never has to wait for itself.
const PIECE: usize = 16 * 4096;

/// Chunks to move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunks {
    /// Bytes of a chunk, 1 to 64 MiB.
    pub sizes: Vec<usize>,
    /// Chunks of each size, both ways; 1 to 100,000.
    pub repeats: usize,
}

impl Chunks {
    /// # Errors
    /// What makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if self.sizes.is_empty() || self.sizes.iter().any(|size| !(1..=1 << 26).contains(size)) {
            return Err("'sizes' must be 1 to 67108864".into());
        }
        if !(1..=100_000).contains(&self.repeats) {
            return Err("'repeats' must be 1 to 100000".into());
        }
        Ok(())
    }
}

/// Median times of every size.
pub(super) fn costs(chunks: &Chunks) -> Result<Vec<(String, f64)>, String> {
    let largest = chunks.sizes.iter().copied().max().unwrap_or(0);
    let name = format!("ipcperf-copying-{}", own_pid());
    let mut both = Both::new(largest, &name).map_err(|error| error.to_string())?;
    let mut costs = Vec::new();
    for size in chunks.sizes.iter().copied() {
        let (mut pipe_ns, mut copy_ns) = (vec![0.0; chunks.repeats], vec![0.0; chunks.repeats]);
        for (pipe_ns, copy_ns) in pipe_ns.iter_mut().zip(&mut copy_ns) {
            let told = |fault: Fault| format!("{size} bytes: {fault}");
            let begin = raw_ns();
            both.through_the_pipe(size).map_err(told)?;
            let between = raw_ns();
            both.through_memory(size).map_err(told)?;
            *copy_ns = (raw_ns() - between) as f64;
            *pipe_ns = (between - begin) as f64;
        }
        for (name, times) in [("pipe_us", &pipe_ns), ("copy_us", &copy_ns)] {
            let ns = median(times).ok_or("nothing was timed")?;
            costs.push((format!("{name}.{size}"), ns / 1e3));
        }
    }
    Ok(costs)
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
