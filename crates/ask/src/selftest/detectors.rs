//! Every detector with the fault that triggers it and the sign by which it is recognised.

use super::clock;
use super::injectors::{self, Injector};
use super::stage::{Act, Halt, Stage};
use ipcperf_core::result::{ResultSet, Status};
use ipcperf_core::{Fault, findings};
use ipcperf_sys::affinity;
use std::collections::BTreeSet;

/// What finds one kind of fault.
pub(super) struct Detector {
    /// What goes wrong.
    pub(super) injector: Injector,
    /// What it is that goes wrong, in words.
    pub(super) finds: &'static str,
    /// Where it goes wrong: a cell, or only the clock.
    act: Option<Act>,
    /// How it is told.
    sign: &'static str,
    /// Whether it cannot go wrong on one CPU.
    takes_two: bool,
}

/// A slice that did not end.
const DEADLINE: &str = "deadline";
/// A worker that did.
const DIED: &str = "the worker ended";
/// A message that came shortened.
const TRUNCATED: &str = "a message arrived shortened";
/// A grade of D or F because busy-waiting processes waited for a CPU, not because their results differ.
const NOISY: &str = "grade D or F for it";

const PING: Act = Act::of("pipe 64 same-cpu");
const STREAM: Act = Act::of("pipe stream 64 same-cpu");
const NULL: Act = Act { rounds: 10, operations: 50, ..Act::of("null same-cpu") };

const fn of(injector: Injector, finds: &'static str, act: Act, sign: &'static str) -> Detector {
    Detector { injector, finds, act: Some(act), sign, takes_two: false }
}

const fn of_clock(injector: Injector, finds: &'static str, sign: &'static str) -> Detector {
    Detector { injector, finds, act: None, sign, takes_two: false }
}

pub(super) const DETECTORS: &[Detector] = &[
    of(injectors::CORRUPT, "a changed message", PING, findings::PAYLOAD.code),
    of(injectors::CORRUPT_BYTE, "one byte in the verification", PING, findings::PAYLOAD.code),
    of(injectors::DROP, "a lost message", STREAM, findings::PAYLOAD.code),
    of(injectors::DUPLICATE, "a message sent twice", STREAM, findings::PAYLOAD.code),
    of(injectors::REORDER, "two messages out of order", STREAM, findings::PAYLOAD.code),
    of(injectors::STALE, "an old message for a new one", PING, findings::PAYLOAD.code),
    of(injectors::TRUNCATE, "a cut message", Act::of("unix-seqpacket 64 same-cpu"), TRUNCATED),
    of(injectors::STALL, "an end that hangs", PING, DEADLINE),
    of(injectors::DIE, "an end that dies", PING, DIED),
    of(
        injectors::PRETEND,
        "messages that never moved",
        Act { bounds: true, ..Act::of("pipe stream 1M same-cpu touch=none") },
        findings::IMPOSSIBLE.code,
    ),
    of(
        injectors::LOSE,
        "losses of what may lose",
        Act { slice_ms: 100, ..Act::of("udp stream 64 same-cpu") },
        findings::LOSS.code,
    ),
    of(injectors::ALLOCATE, "page faults while it is timed", PING, findings::FAULT.code),
    of(
        injectors::UNPIN,
        "workers moved off their CPUs",
        Act { slice_ms: 150, ..PING },
        findings::MIGRATE.code,
    )
    .on_two_cpus(),
    of(
        injectors::FAR,
        "CPUs that were elsewhere",
        Act { rounds: 7, ..Act::of("pipe 64") },
        findings::MOVED.code,
    )
    .on_two_cpus(),
    of(
        injectors::HOG,
        "other work on a CPU",
        Act { rounds: 4, slice_ms: 100, ..Act::of("shm-ring/spin 64") },
        NOISY,
    )
    .on_two_cpus(),
    of(
        injectors::SLOW_CPU,
        "a CPU whose speed changes",
        Act { rounds: 8, ..PING },
        findings::SPEED.code,
    ),
    of(injectors::TWO_STATES, "two modes of rounds", NULL, findings::MULTIMODAL.code),
    of(
        injectors::TWO_KINDS,
        "two modes within rounds",
        Act { rounds: 2, operations: 1000, ..NULL },
        findings::OPMODES.code,
    ),
    of(injectors::DRIFT, "rounds that become slower", NULL, findings::DRIFT.code),
    of_clock(injectors::CLOCK_JUMP, "a clock that jumps", clock::JUMP),
    of_clock(injectors::CLOCK_DRIFT, "a clock whose rate changes", clock::JUMP),
    of_clock(injectors::CLOCK_BACK, "a clock that runs backwards", clock::BACK),
];

impl Detector {
    const fn on_two_cpus(self) -> Self {
        Self { takes_two: true, ..self }
    }

    /// The name of its check.
    pub(super) fn name(&self) -> String {
        format!("finds-{}", self.injector.name)
    }

    /// About how long its check takes, s: what is waited for where an end hangs, and two processes for each slice.
    pub(super) fn takes(&self) -> f64 {
        let Some(act) = &self.act else { return 0.8 };
        let slice = (act.slice_ms.max(act.operations / 30) as f64 + 30.0) / 1e3;
        let extra = if self.sign == DEADLINE { 5.2 } else { 0.0 };
        slice * act.rounds as f64 + extra + if act.bounds { 0.7 } else { 0.1 }
    }

    /// What the program tells where this goes wrong.
    fn told(&self, stage: &Stage<'_>) -> Result<BTreeSet<String>, Halt> {
        match &self.act {
            Some(act) => Ok(signs(&stage.play(act, &[&[self.injector]])?)),
            None => {
                let all = [&stage.sabotage[..], &[self.injector]].concat();
                Ok(clock::signs(&all).iter().map(|sign| (*sign).to_owned()).collect())
            }
        }
    }

    /// Lets it go wrong, and looks whether it is told.
    pub(super) fn check(&self, stage: &Stage<'_>) -> Result<(bool, String), Halt> {
        if self.takes_two && affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() < 2) {
            return Err(Halt::Missing(format!(
                "{}: it takes two CPUs, and there is one",
                self.finds
            )));
        }
        let told = self.told(stage)?;
        let listens = |sign: &&String| !stage.is_blind && **sign == self.sign;
        if told.iter().any(|sign| listens(&sign)) {
            return Ok((true, format!("{}: {}", self.finds, self.sign)));
        }
        let told =
            if told.is_empty() { "nothing".to_owned() } else { Vec::from_iter(told).join(", ") };
        Ok((false, format!("{}: not told as {}; told: {told}", self.finds, self.sign)))
    }
}

/// Everything by which a run tells that something is wrong.
pub(super) fn signs(set: &ResultSet) -> BTreeSet<String> {
    let mut signs: BTreeSet<String> =
        set.noise.findings.iter().map(|finding| finding.code.clone()).collect();
    for cell in &set.cells {
        if cell.status == Status::Deadline {
            signs.insert(DEADLINE.into());
        }
        let reason = cell.reason.as_deref().unwrap_or_default();
        for (sign, words) in [(DIED, DIED.to_owned()), (TRUNCATED, Fault::Truncated.to_string())] {
            if reason.contains(&words) {
                signs.insert(sign.into());
            }
        }
    }
    let is_cause = |cause: &String| cause.contains("busy-waiting processes waited");
    let noise = &set.noise;
    if ["D", "F"].contains(&noise.grade.as_str()) && noise.causes.iter().any(is_cause) {
        signs.insert(NOISY.into());
    }
    signs
}
