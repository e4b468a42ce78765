//! A pipeline of programs with the readings of its runs, and whether the bytes agree.

use crate::keeper::Seen;
use ipcperf_core::result::{ByteProof, ProofKind, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a program may read beyond what comes through its pipe and still agree with the count of the program before it:
/// its libraries, its locale, its own script.
const STARTING_BYTES: u64 = 1 << 20;

/// A pipeline to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelinePlan {
    /// The programs with their arguments, none of them empty; each reads what the one before it writes.
    pub programs: Vec<Vec<String>>,
    /// The programs as they were typed.
    pub commands: Vec<String>,
}

impl PipelinePlan {
    /// All of it in words: `head -c 1G /dev/zero | wc -c`.
    #[must_use]
    pub fn id(&self) -> String {
        self.commands.join(" | ")
    }

    /// The same as a sentence has it: of a program of several lines only the first.
    #[must_use]
    pub fn name(&self) -> String {
        self.commands.iter().map(|command| short(command)).collect::<Vec<_>>().join(" | ")
    }
}

/// A command as a sentence names it: of a program of several lines only the first, so that no reason has its source.
fn short(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} ...") } else { first.to_owned() }
}

/// All runs of one pipeline.
#[derive(Debug)]
pub struct PipelineRun {
    /// What was to be measured.
    pub plan: PipelinePlan,
    /// Its runs.
    pub rounds: Vec<RoundRun>,
    /// System calls by number, for each traced round and program.
    pub calls: Vec<Vec<BTreeMap<i64, u64>>>,
    /// Why no more runs were tried.
    pub ended: Option<(Status, String)>,
}

impl PipelineRun {
    /// How much its rounds differ.
    pub(crate) fn spread(&self) -> Option<f64> {
        self.rounds.get(1)?;
        let times = self.rounds.iter().map(|round| round.ran.elapsed_ns as f64);
        ipcperf_stats::robust_cv(&times.collect::<Vec<_>>())
    }
}

/// One run and its circumstances.
#[derive(Clone, Debug)]
pub struct RoundRun {
    /// Round.
    pub round: u64,
    /// Position in it.
    pub order: u64,
    /// What was seen.
    pub ran: Ran,
}

/// One run of a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ran {
    /// From before the first program was started until all had ended, ns.
    pub elapsed_ns: u64,
    /// Bytes that came out.
    pub arrived_bytes: u64,
    /// The first of them.
    pub start: String,
    /// The programs.
    pub programs: Vec<Seen>,
}

impl Ran {
    /// What the last program has read of what the one before it wrote, if there are two and the kernel counts.
    #[must_use]
    pub fn taken_bytes(&self) -> Option<u64> {
        match self.programs.as_slice() {
            [.., before, last] => {
                Some(before.written_bytes()?.saturating_sub(last.unread_bytes.unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// Whether the counts agree at every joint and at the end; `commands` name the programs.
    #[must_use]
    pub fn proof(&self, commands: &[String]) -> ByteProof {
        match self.doubt(commands) {
            Some(reason) => ByteProof { kind: ProofKind::None, reason: Some(reason) },
            None => ByteProof { kind: ProofKind::Bytes, reason: None },
        }
    }

    fn doubt(&self, commands: &[String]) -> Option<String> {
        let name = |at: usize| commands.get(at).map_or_else(String::new, |command| short(command));
        for (at, pair) in self.programs.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let (from, to) = (name(at), name(at + 1));
            if let Some(left @ 1..) = after.unread_bytes {
                return Some(format!("'{to}' left {left} bytes of '{from}' unread"));
            }
            let (Some(written), Some(moved)) = (before.written_bytes(), after.ended.moved) else {
                return Some("this kernel does not count bytes (/proc/PID/io)".into());
            };
            // Calls like splice move bytes that the kernel does not count.
            let agrees = written > 0 && moved.read.wrapping_sub(written) <= STARTING_BYTES;
            if !agrees {
                let read = moved.read;
                return Some(format!("'{from}' wrote {written} bytes, '{to}' read {read}"));
            }
        }
        let last = self.programs.last()?;
        let arrived = self.arrived_bytes;
        match last.written_bytes() {
            None => Some("this kernel does not count bytes (/proc/PID/io)".into()),
            Some(written) if written != arrived => {
                let last = name(commands.len().saturating_sub(1));
                Some(format!("'{last}' wrote {written} bytes, {arrived} arrived"))
            }
            Some(_) => None,
        }
    }
}
