//! The stage of a case: one mechanism, a run directory, a seed, a deadline.

use crate::census::Descriptors;
use crate::entry::Entry;
use crate::payload::Random;
use crate::script::{Batch, Script, Sizes, StepOutcome};
use ipcperf_core::{OptionSet, Seat, Transfers};
use ipcperf_sys::affinity;
use ipcperf_sys::rundir::RunDirectory;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::Path;
use std::time::Instant;

/// Surroundings of one case, in a process of its own that has no other thread.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) entry: &'a Entry,
    /// Where run directories are made; nobody else's.
    pub(crate) base: &'a Path,
    pub(crate) run: RunDirectory,
    pub(crate) deadline: Instant,
    is_long: bool,
    /// What this process inherited from the parent of the test program; its workers inherit the same.
    pub(crate) inherited: Descriptors,
    /// Messages are sent from memory that is gone when the call returns.
    pub(crate) is_fleeting: Cell<bool>,
    random: RefCell<Random>,
}

/// Messages, channels or round trips of a case. The short amount takes every path that the long one takes, and is what
/// mechanisms that are broken on purpose are caught with; the long one is for what goes wrong once in many times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount<T = u64> {
    pub(crate) short: T,
    pub(crate) long: T,
}

/// Why a case has not passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The mechanism broke its word.
    Failed(String),
    /// The host cannot run this, as the mechanism itself says.
    Unavailable(String),
    /// The case found nothing that it could try.
    NotApplicable(String),
}

impl Trouble {
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) | Self::Unavailable(text) | Self::NotApplicable(text) => {
                out.write_str(text)
            }
        }
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(format!("the suite itself: {error}"))
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("the suite itself: {error}"))
    }
}

/// Fails a case unless `holds`.
pub(crate) fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<(), Trouble> {
    if holds { Ok(()) } else { Err(Trouble::Failed(text())) }
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        entry: &'a Entry,
        base: &'a Path,
        seed: u64,
        deadline: Instant,
        is_long: bool,
    ) -> Result<Self, Trouble> {
        let mut random = Random::new(seed);
        let mut inherited = Descriptors::take();
        inherited.fds.retain(|fd| !fd.is_close_on_exec);
        let run = RunDirectory::create_in(base, random.next())?;
        Ok(Self {
            entry,
            base,
            run,
            deadline,
            is_long,
            inherited,
            is_fleeting: Cell::new(false),
            random: RefCell::new(random),
        })
    }

    /// How many messages, channels or round trips this run takes.
    pub(crate) fn amount<T>(&self, amount: Amount<T>) -> T {
        if self.is_long { amount.long } else { amount.short }
    }

    /// The next random number.
    pub(crate) fn draw(&self) -> u64 {
        self.random.borrow_mut().next()
    }

    /// A random number from `low` to `high`.
    pub(crate) fn between(&self, low: u64, high: u64) -> u64 {
        self.random.borrow_mut().between(low, high)
    }

    /// Random sizes from `low` to `high` that both ends know.
    pub(crate) fn sizes(&self, low: usize, high: usize) -> Sizes {
        Sizes::Random { seed: self.draw(), low, high }
    }

    /// Whether each message needs an answer before the next: then nothing goes unasked.
    pub(crate) fn calls(&self) -> bool {
        self.entry.spec().exchange == Transfers::Calls
    }

    /// One end sends and the other receives, or where nothing goes unasked answers each.
    pub(crate) fn flow(&self, script: Script, from: Seat, batch: Batch) -> Script {
        if self.calls() {
            script.exchange(Batch { window: 0, ..batch })
        } else {
            script.send(from, batch)
        }
    }

    /// A batch within the window that the mechanism declares for messages of up to `largest` bytes.
    pub(crate) fn batch(&self, count: u64, sizes: Sizes, largest: usize) -> Batch {
        Batch::new(count, sizes, self.entry.window(largest, &OptionSet::default()))
    }

    /// The wanted size, or what the mechanism carries if that is less: nothing but its word where it only wakes.
    pub(crate) fn size(&self, wanted: usize, options: &OptionSet) -> usize {
        match self.entry.spec().wake_word() {
            Some(_) => 0,
            None => wanted.min(self.entry.limit(options).unwrap_or(usize::MAX)),
        }
    }

    /// Two CPUs for ends that burn one each; otherwise wherever the scheduler likes.
    pub(crate) fn cpus(&self) -> Result<[Option<usize>; 2], Trouble> {
        if !self.entry.spec().wait.burns_cpu() {
            return Ok([None; 2]);
        }
        match affinity::allowed_cpus()?[..] {
            [one, two, ..] => Ok([Some(one), Some(two)]),
            _ => Err(Trouble::Unavailable(
                "two CPUs: only one is allowed, and both ends spin".into(),
            )),
        }
    }

    /// One CPU for both ends where they wait by turns anyway: waking an idle CPU costs more than the whole transfer.
    pub(crate) fn near_cpus(&self) -> Result<[Option<usize>; 2], Trouble> {
        let spec = self.entry.spec();
        if spec.wait.burns_cpu() || spec.window.is_none() {
            return self.cpus();
        }
        Ok([affinity::allowed_cpus()?.first().copied(); 2])
    }
}

/// Both ends must tell the same of every step: as many messages and bytes, with the same fingerprint.
pub(crate) fn mirror(seen: &[Vec<StepOutcome>; 2]) -> Result<(), Trouble> {
    let [lead, follow] = seen;
    ensure(lead.len() == follow.len(), || "the ends played different steps".into())?;
    for (step, (lead, follow)) in lead.iter().zip(follow).enumerate() {
        let tell = |seen: &StepOutcome| (seen.count, seen.bytes, seen.hash);
        ensure(tell(lead) == tell(follow), || {
            let text = |seen: &StepOutcome| {
                format!(
                    "{} messages, {} bytes, fingerprint {:016x}",
                    seen.count, seen.bytes, seen.hash
                )
            };
            format!("step {}: the lead tells {}, the follow {}", step + 1, text(lead), text(follow))
        })?;
    }
    Ok(())
}
