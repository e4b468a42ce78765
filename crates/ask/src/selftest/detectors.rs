//! Every detector with the fault that triggers it and the sign by which it is recognised.

use super::clock;
use super::injectors::{self, Injector};
use super::sign::{self, Sign, listed};
use super::stage::{Act, Halt, Stage, document};
use ipcperf_core::findings;
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
    /// The sign that shows it.
    sign: Sign,
    /// Whether it cannot go wrong on one CPU.
    takes_two: bool,
}

const PING: Act = Act::of("pipe 64 same-cpu");
const STREAM: Act = Act::of("pipe stream 64 same-cpu");
const NULL: Act = Act { rounds: 10, operations: 50, ..Act::of("null same-cpu") };

const fn of(injector: Injector, finds: &'static str, act: Act, sign: Sign) -> Detector {
    Detector { injector, finds, act: Some(act), sign, takes_two: false }
}

const fn of_clock(injector: Injector, finds: &'static str, sign: Sign) -> Detector {
    Detector { injector, finds, act: None, sign, takes_two: false }
}

pub(super) const DETECTORS: &[Detector] = &[
    of(injectors::CORRUPT, "a changed message", PING, Sign::Finding(findings::PAYLOAD.code)),
    of(
        injectors::CORRUPT_BYTE,
        "one byte in the verification",
        PING,
        Sign::Finding(findings::PAYLOAD.code),
    ),
    of(injectors::DROP, "a lost message", STREAM, Sign::Finding(findings::PAYLOAD.code)),
    of(injectors::DUPLICATE, "a message sent twice", STREAM, Sign::Finding(findings::PAYLOAD.code)),
    of(
        injectors::REORDER,
        "two messages out of order",
        STREAM,
        Sign::Finding(findings::PAYLOAD.code),
    ),
    of(
        injectors::STALE,
        "an old message for a new one",
        PING,
        Sign::Finding(findings::PAYLOAD.code),
    ),
    of(
        injectors::TRUNCATE,
        "a cut message",
        Act::of("unix-seqpacket 64 same-cpu"),
        Sign::Truncated,
    ),
    of(injectors::STALL, "an end that hangs", PING, Sign::Deadline),
    of(injectors::DIE, "an end that dies", PING, Sign::Died),
    of(
        injectors::PRETEND,
        "messages that never moved",
        Act { bounds: true, ..Act::of("pipe stream 1M same-cpu touch=none") },
        Sign::Finding(findings::IMPOSSIBLE.code),
    ),
    of(
        injectors::LOSE,
        "losses of what may lose",
        Act { slice_ms: 100, ..Act::of("udp stream 64 same-cpu") },
        Sign::Finding(findings::LOSS.code),
    ),
    of(
        injectors::ALLOCATE,
        "page faults while it is timed",
        PING,
        Sign::Finding(findings::FAULT.code),
    ),
    of(
        injectors::UNPIN,
        "workers moved off their CPUs",
        Act { slice_ms: 150, ..PING },
        Sign::Finding(findings::MIGRATE.code),
    )
    .on_two_cpus(),
    of(
        injectors::FAR,
        "CPUs that were elsewhere",
        Act { rounds: 7, ..Act::of("pipe 64") },
        Sign::Finding(findings::MOVED.code),
    )
    .on_two_cpus(),
    of(
        injectors::HOG,
        "other work on a CPU",
        Act { rounds: 4, slice_ms: 100, ..Act::of("shm-ring/spin 64") },
        Sign::Finding(findings::LOAD.code),
    )
    .on_two_cpus(),
    of(
        injectors::SLOW_CPU,
        "a CPU whose speed changes",
        Act { rounds: 8, ..PING },
        Sign::Finding(findings::SPEED.code),
    ),
    of(
        injectors::TWO_STATES,
        "two modes of rounds",
        NULL,
        Sign::Finding(findings::MULTIMODAL.code),
    ),
    of(
        injectors::TWO_KINDS,
        "two modes within rounds",
        Act { rounds: 2, operations: 1000, ..NULL },
        Sign::Finding(findings::OPMODES.code),
    ),
    of(injectors::DRIFT, "rounds that become slower", NULL, Sign::Finding(findings::DRIFT.code)),
    of_clock(injectors::CLOCK_JUMP, "a clock that jumps", Sign::Finding(clock::JUMP)),
    of_clock(injectors::CLOCK_DRIFT, "a clock whose rate changes", Sign::Finding(clock::JUMP)),
    of_clock(injectors::CLOCK_BACK, "a clock that runs backwards", Sign::Finding(clock::BACK)),
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
        let extra = if matches!(self.sign, Sign::Deadline) { 5.2 } else { 0.0 };
        slice * act.rounds as f64 + extra + if act.bounds { 0.7 } else { 0.1 }
    }

    /// What the program reports where this goes wrong.
    fn signs(&self, stage: &Stage<'_>) -> Result<BTreeSet<Sign>, Halt> {
        match &self.act {
            Some(act) => {
                let found = stage.run(act, &[&[self.injector]])?;
                let ends: Vec<Sign> = sign::ends(&found).collect();
                Ok(sign::found(&document(found)).chain(ends).collect())
            }
            None => {
                let all = [&stage.sabotage[..], &[self.injector]].concat();
                Ok(clock::signs(&all).into_iter().map(Sign::Finding).collect())
            }
        }
    }

    /// Makes it go wrong, and looks whether it is reported.
    pub(super) fn check(&self, stage: &Stage<'_>) -> Result<(bool, String), Halt> {
        if self.takes_two && affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() < 2) {
            return Err(Halt::Missing(format!(
                "{}: it takes two CPUs, and there is one",
                self.finds
            )));
        }
        let mut signs = self.signs(stage)?;
        let is_found = signs.remove(&self.sign);
        if is_found && !stage.is_blind {
            return Ok((true, format!("{}: {}", self.finds, self.sign)));
        }
        let reported = if signs.is_empty() { "nothing".to_owned() } else { listed(&signs) };
        Ok((false, format!("{}: not reported as {}, but: {reported}", self.finds, self.sign)))
    }
}
