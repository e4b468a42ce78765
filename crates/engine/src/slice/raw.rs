//! The input of a slice, and its result in ticks.

use super::compact::Compact;
use super::crowd::CrowdStats;
use super::crowd::connect::Model;
use super::paced::Paced;
use super::pair::Ways;
use super::window::Window;
use crate::hot::fan::Arrived;
use crate::hot::{Recorder, Spill};
use crate::job::{Failure, FailureKind, Job, Segment, SideReport};
use crate::offset::Offset;
use crate::page::Page;
use crate::supervisor::{LATE, Stop, Stopped};
use ipcperf_core::KnobValue;
use ipcperf_core::result::Status;
use ipcperf_sys::signals::Interrupts;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// What a slice came to.
#[derive(Debug)]
pub enum SliceOutcome {
    /// It ran to its end.
    Measured(Box<RawSlice>),
    /// It did not.
    Ended(Status, FailureKind, String),
    /// The user interrupted it.
    Interrupted,
}

/// A finished slice, in ticks.
#[derive(Clone, Debug)]
pub struct RawSlice {
    /// What was timed.
    pub data: Data,
    /// Operations per sample.
    pub batch: u64,
    /// Operations in the timed region.
    pub operations: u64,
    /// Length of the timed region at the timing end, ticks.
    pub elapsed: u64,
    /// Counts of lead and follow.
    pub counts: [Segment; 2],
    /// What both ends consumed.
    pub sides: [SideReport; 2],
    /// Knobs as granted.
    pub effective: Vec<(String, KnobValue)>,
    /// How long nothing was seen to move.
    pub gaps: Gaps,
    /// Who was stopped by a signal meanwhile.
    pub stopped: Option<Stopped>,
    /// What each of several channels did; `None` of one channel.
    pub channels: Option<RawChannels>,
}

/// How long what was timed took, one by one: operations, batches, rows or requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The longest, ticks.
    pub longest: u64,
    /// All of them, ticks.
    pub sum: u64,
    /// How many.
    pub count: u64,
}

impl Gaps {
    /// Adds these, ticks; not those whose end nobody saw.
    pub(crate) fn add(&mut self, ticks: impl IntoIterator<Item = u64>) {
        for ticks in ticks.into_iter().filter(|ticks| *ticks != Recorder::LOST) {
            self.longest = self.longest.max(ticks);
            self.sum += ticks;
            self.count += 1;
        }
    }
}

impl Gaps {
    /// Adds those of several that were at work beside each other: nothing moved while none of them moved anything, which is
    /// no longer than the longest of any of them.
    pub(crate) fn add_beside(&mut self, all: &[Self]) {
        let longest = all.iter().map(|one| one.longest).min().unwrap_or(0);
        self.longest = self.longest.max(longest);
        self.sum += all.iter().map(|one| one.sum).sum::<u64>();
        self.count += all.iter().map(|one| one.count).sum::<u64>();
    }
}

/// What was timed, by kind of pattern.
#[derive(Clone, Debug)]
pub enum Data {
    /// The lead timed its operations.
    Trips(Box<Trips>),
    /// The follow counted what arrived.
    Stream(Window),
    /// The same with several processes on one side, who timed their calls.
    Fan(RawFan),
    /// Several consumers noted when they had read each message.
    Feed(Box<RawFeed>),
    /// Clients timed their requests.
    Crowd(Box<CrowdSlice>),
}

/// Operations that the lead timed.
#[derive(Clone, Debug, Default)]
pub struct Trips {
    /// Ticks per batch: those whose answer came.
    pub histogram: Compact,
    /// Samples whose answer never came.
    pub unanswered: u64,
    /// Where they began at times of their own: what else is known of them.
    pub paced: Option<Paced>,
    /// The way from lead to follow, where it was timed.
    pub ways: Ways,
    /// What the histogram has, ticks, in the order in which it was timed; `None` where nobody asked.
    pub kept: Option<Vec<u64>>,
}

/// What one slice of a fan timed.
#[derive(Clone, Debug, Default)]
pub struct RawFan {
    /// The time in which all were at work.
    pub window: Window,
    /// Single calls of its peers, ticks.
    pub calls: Compact,
    /// Messages each peer moved while all were at work; empty where the first was done too soon to tell.
    pub served: Vec<f64>,
    /// Their processes.
    pub pids: Vec<u32>,
    /// Messages that each consumer of a grid took while all were at work, likewise.
    pub taken: Vec<f64>,
    /// How the messages of a grid came that were cut into pieces, and their number.
    pub arrived: Option<(Arrived, u64)>,
    /// How many messages that were sent the consumers of a broadcast had not read yet, from time to time.
    pub behind: Vec<f64>,
}

/// What a slice of a feed came to.
#[derive(Clone, Debug, Default)]
pub struct RawFeed {
    /// From when a message was due until a consumer had read it.
    pub latency: Compact,
    /// The same by consumer.
    pub by_consumer: Vec<Compact>,
    /// The age of the newest message of a consumer in the moment in which it gets the next one.
    pub staleness: Compact,
    /// How late messages were sent that found nothing before them.
    pub lateness: Compact,
    /// Messages that each consumer read.
    pub read: Vec<u64>,
    /// Messages that each consumer never got.
    pub lost: Vec<u64>,
    /// Messages that were due and not sent yet: the most, and when the last one was due.
    pub late: [u64; 2],
    /// Messages that were sent and not read yet: the most, and when the last one was sent.
    pub unread: [u64; 2],
    /// For how long messages were due.
    pub due: u64,
    /// Messages that were due.
    pub messages: u64,
    /// Messages came faster than they were sent or read.
    pub saturated: bool,
    /// Messages that seem to be read before they were due by more than the clocks may differ.
    pub negative: u64,
    /// The difference of the clocks before and after.
    pub offsets: Vec<Offset>,
    /// Processes of the consumers.
    pub pids: Vec<u32>,
}

/// What several channels did in one slice.
#[derive(Clone, Debug, Default)]
pub struct RawChannels {
    /// How long all of them were at work, ticks; 0 where one was done before another had begun.
    pub ticks: u64,
    /// Each by itself.
    pub each: Vec<RawChannel>,
}

/// What one of several channels did.
#[derive(Clone, Debug, Default)]
pub struct RawChannel {
    /// Operations while all were at work; one that began or ended outside counts in part.
    pub served: f64,
    /// Messages of lead and follow in the timed region.
    pub counts: [Segment; 2],
    /// Processes of lead and follow.
    pub pids: [u32; 2],
    /// Whether both have used CPU time in it.
    pub used_cpu: bool,
}

/// A slice of a crowd at rest.
#[derive(Clone, Debug)]
pub struct CrowdSlice {
    /// Everything but the distributions.
    pub after: CrowdStats,
    /// These, of all clients, ticks: requests, and of connections for single requests their parts, in the order of
    /// [`PARTS`](super::crowd::connect::PARTS).
    pub times: Vec<Compact>,
    /// Requests of each client process that stays connected.
    pub by_client: Vec<Compact>,
    /// Open loop: what else is known of them.
    pub paced: Option<Paced>,
    /// How many clients that connect could wait at the server.
    pub backlog: u64,
}

/// Everything a slice needs from its run.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The shared page.
    pub page: &'a Page,
    /// Interrupts, if caught.
    pub interrupts: Option<&'a Interrupts>,
}

/// What differs from slice to slice beside the shape.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The lead's job; the follow's differs in seat and CPU only.
    pub job: Job,
    /// Extra environment bytes of both workers.
    pub pads: [usize; 2],
    /// When the slice counts as hung.
    pub deadline: Duration,
    /// How the clients of the pattern `connect` call.
    pub client: Model,
    /// How many operations may be kept one by one, where they are; `None`: none is.
    pub room: Option<u64>,
    /// CPUs of lead and follow of each of several channels; empty where they are not pinned.
    pub channel_cpus: Vec<Vec<usize>>,
}

impl RawSlice {
    /// The operations that were kept one by one.
    pub(crate) fn kept(&self) -> &[u64] {
        match &self.data {
            Data::Trips(trips) => trips.kept.as_deref().unwrap_or_default(),
            _ => &[],
        }
    }

    /// With these data and nothing else yet.
    pub(crate) fn of(data: Data) -> Self {
        let (counts, sides) = Default::default();
        Self {
            data,
            batch: 1,
            operations: 0,
            elapsed: 0,
            counts,
            sides,
            effective: Vec::new(),
            gaps: Gaps::default(),
            stopped: None,
            channels: None,
        }
    }
}

/// What an attempt came to.
pub(super) fn outcome(attempt: Result<RawSlice, Stop>, terms: &Terms) -> SliceOutcome {
    match attempt {
        Ok(slice) => SliceOutcome::Measured(Box::new(slice)),
        Err(Stop::Interrupted) => SliceOutcome::Interrupted,
        Err(Stop::Deadline(reason)) => {
            let more = reason.split_once(LATE).map_or("", |(_, more)| more);
            let reason = format!("not done after {} s{more}", terms.deadline.as_secs());
            SliceOutcome::Ended(Status::Deadline, FailureKind::Failed, reason)
        }
        Err(Stop::Failed(Failure { kind, reason })) => {
            let status = match kind {
                FailureKind::Unavailable => Status::Unavailable,
                FailureKind::Invalid
                | FailureKind::Truncated
                | FailureKind::Died
                | FailureKind::PeerGone
                | FailureKind::Failed => Status::Failed,
            };
            SliceOutcome::Ended(status, kind, reason)
        }
    }
}

/// So many samples of these slots, long ones put back.
pub(crate) fn samples(slots: &[AtomicU32], count: u64, spills: &[Spill]) -> Vec<u64> {
    let stored = slots.iter().take(usize::try_from(count).unwrap_or(usize::MAX));
    let mut samples: Vec<u64> = stored.map(Recorder::read).collect();
    for Spill { index, ticks } in spills {
        if let Some(sample) = usize::try_from(*index).ok().and_then(|index| samples.get_mut(index))
        {
            *sample = *ticks;
        }
    }
    samples
}
