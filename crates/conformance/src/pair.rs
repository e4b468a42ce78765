//! Two workers around one channel after another, as their coordinator sees them.

use crate::page::Page;
use crate::scene::{Scene, Trouble, mirror};
use crate::script::{Batch, Scenario, Script, Step, StepOutcome, Told, WorkerPart};
use crate::worker;
use ipcperf_core::{
    FollowIn, Guard, KnobValue, Link, Network, OptionSet, PatternKind, Seat, SetupError, Shape,
    Trail,
};
use ipcperf_engine::job::{Failure, FailureKind};
use ipcperf_engine::page;
use ipcperf_engine::protocol::Word;
use ipcperf_engine::supervisor::{Event, Supervisor};
use ipcperf_sys::process::Worker;
use ipcperf_sys::trace::Trace;
use std::time::{Duration, Instant};

/// How long the other end is waited for once one has stopped.
const GRACE: Duration = Duration::from_millis(500);

impl<'a> Scene<'a> {
    /// Two fresh workers.
    pub(crate) fn pair(&'a self, options: &OptionSet) -> Result<WorkerPair<'a>, Trouble> {
        WorkerPair::start(self, options, self.cpus()?, &[], None)
    }

    /// Two fresh workers that play over one channel for messages of `size` bytes.
    pub(crate) fn opened(
        &'a self,
        options: &OptionSet,
        size: usize,
        script: Script,
    ) -> Result<WorkerPair<'a>, Trouble> {
        let mut pair = self.pair(options)?;
        pair.open(size, script)?;
        Ok(pair)
    }

    /// Two fresh workers, one channel, and what both saw.
    pub(crate) fn play(
        &'a self,
        options: &OptionSet,
        size: usize,
        script: Script,
    ) -> Result<[Vec<StepOutcome>; 2], Trouble> {
        let mut pair = self.opened(options, size, script)?;
        let seen = pair.done()?;
        pair.close()?;
        Ok(seen)
    }

    /// One batch, of which nothing is received before its sender has come to rest; what is found then.
    pub(crate) fn play_late<T>(
        &'a self,
        options: &OptionSet,
        size: usize,
        (from, batch): (Seat, Batch),
        at_rest: impl FnOnce(&WorkerPair<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let script = Script::default()
            .only(from, Step::Send(batch.clone()))
            .only(from.other(), Step::Hold)
            .only(from.other(), Step::Receive(batch));
        let mut pair = self.opened(options, size, script)?;
        let receiver = from.other().index();
        pair.wait("the receiver to attach", |ends| ends[receiver].is_holding)?;
        pair.settle(from)?;
        let found = at_rest(&pair)?;
        pair.go(from.other())?;
        let mut seen = pair.done()?;
        seen[receiver].remove(0);
        mirror(&seen)?;
        Ok(found)
    }
}

/// Both workers. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct WorkerPair<'a> {
    scene: &'a Scene<'a>,
    workers: Supervisor<'a>,
    options: OptionSet,
    /// The follow is in namespaces of its own.
    is_apart: bool,
    page: Page,
    guards: Vec<Guard>,
    trail: Option<Box<dyn Trail>>,
    /// Values of knobs that opening has reported.
    pub(crate) effective: Vec<(String, KnobValue)>,
    /// What is known of each seat.
    pub(crate) ends: [State; 2],
}

/// What is known of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// It waits at a hold.
    pub(crate) is_holding: bool,
    /// It has played its scenario.
    pub(crate) done: Option<Vec<StepOutcome>>,
    /// It has ended, and how.
    pub(crate) died: Option<String>,
    was_killed: bool,
    refused: Option<(bool, String)>,
}

impl State {
    /// Why this end will not do what is waited for.
    fn trouble(&self) -> Option<String> {
        if let Some((_, reason)) = &self.refused {
            return Some(format!("could not attach: {reason}"));
        }
        if let Some(how) = self.died.as_ref().filter(|_| !self.was_killed) {
            return Some(format!("ended: {how}"));
        }
        let (step, last) = self.done.as_ref().and_then(|done| Some((done.len(), done.last()?)))?;
        last.stopped.then(|| format!("step {step}, after {} messages: {}", last.count, last.detail))
    }
}

impl<'a> WorkerPair<'a> {
    /// Starts two workers for channels with these knobs, pinned where CPUs are given; the follow may be in namespaces of its
    /// own.
    pub(crate) fn start(
        scene: &'a Scene<'a>,
        options: &OptionSet,
        cpus: [Option<usize>; 2],
        refused: &[i64],
        follow_in: Option<FollowIn>,
    ) -> Result<Self, Trouble> {
        let page = Page(page::Page::create(0)?);
        let mut workers = Supervisor::new(scene.deadline, None);
        for seat in Seat::BOTH {
            let who = workers.start(format!("{seat:?}"), 0)?;
            let part = WorkerPart {
                mechanism: scene.entry.spec().full_name(),
                seat,
                options: options.clone(),
                cpu: cpus[seat.index()],
                refused: refused.to_vec(),
                enters: follow_in.filter(|_| seat == Seat::Follow),
                is_fleeting: scene.is_fleeting.get(),
            };
            workers.assign(who, worker::NAME, &part, &[page.0.fd()])?;
        }
        Ok(Self {
            scene,
            workers,
            options: options.clone(),
            is_apart: follow_in.is_some(),
            page,
            guards: Vec::new(),
            trail: None,
            effective: Vec::new(),
            ends: Default::default(),
        })
    }

    /// Opens a channel for messages of `size` bytes and lets both workers play over it.
    pub(crate) fn open(&mut self, size: usize, script: Script) -> Result<(), Trouble> {
        self.close()?;
        let shape = Shape { is_apart: self.is_apart, ..self.scene.shape(size) };
        let Link { lead, follow, guards, effective, trail } =
            self.scene.entry.base.open(&shape, &self.options)?;
        (self.guards, self.effective, self.trail) = (guards, effective, trail);
        for ((seat, wiring), steps) in Seat::BOTH.into_iter().zip([lead, follow]).zip(script.0) {
            let who = seat.index();
            self.workers.go(who, &Scenario { shape: shape.clone(), steps })?;
            self.workers.wire(who..who + 1, wiring)?;
        }
        Ok(())
    }

    /// Lets go of the channel; the workers must be done with it.
    pub(crate) fn close(&mut self) -> Result<(), Trouble> {
        self.guards.clear();
        let closed = self.trail.take().map_or(Ok(()), |mut trail| trail.close().map(drop));
        self.page.0.reset(2);
        self.ends = Default::default();
        closed.map_err(Trouble::Failed)
    }

    /// Lets a holding worker go on.
    pub(crate) fn go(&mut self, seat: Seat) -> Result<(), Trouble> {
        self.ends[seat.index()].is_holding = false;
        Ok(self.workers.go(seat.index(), &())?)
    }

    /// Lets both workers go on.
    pub(crate) fn go_both(&mut self) -> Result<(), Trouble> {
        Seat::BOTH.into_iter().try_for_each(|seat| self.go(seat))
    }

    /// Kills a worker, as the kernel's out-of-memory killer would.
    pub(crate) fn kill(&mut self, seat: Seat) {
        self.ends[seat.index()].was_killed = true;
        self.worker(seat).kill();
    }

    /// The step a seat is at, from 1, and messages moved in it.
    pub(crate) fn progress(&self, seat: Seat) -> (u64, u64) {
        self.page.progress(seat)
    }

    /// From now on the workers have only so much longer.
    pub(crate) fn hurry(&mut self, grace: Duration) {
        self.workers.hurry(grace);
    }

    /// Waits until `until` holds.
    pub(crate) fn wait(
        &mut self,
        what: &str,
        until: impl Fn(&[State; 2]) -> bool,
    ) -> Result<(), Trouble> {
        while !until(&self.ends) {
            if self.ends.iter().any(|end| end.trouble().is_some()) {
                self.hurry(GRACE);
            }
            let is_over = self.ends.iter().all(|end| end.done.is_some() || end.trouble().is_some());
            if is_over || !self.turn(self.workers.deadline())? {
                return Err(self.trouble(what));
            }
        }
        Ok(())
    }

    /// Waits until both ends have attached and hold.
    pub(crate) fn attached(&mut self) -> Result<(), Trouble> {
        self.wait("both ends to attach", |ends| ends.iter().all(|end| end.is_holding))
    }

    /// Waits for both scenarios to be over as planned.
    pub(crate) fn done(&mut self) -> Result<[Vec<StepOutcome>; 2], Trouble> {
        self.wait("both ends to be done", |ends| {
            ends.iter().all(|end| end.done.is_some() && end.trouble().is_none())
        })?;
        Ok(self.ends.each_ref().map(|end| end.done.clone().unwrap_or_default()))
    }

    /// Waits until `seat` has moved nothing for a while, holds, or is done.
    pub(crate) fn settle(&mut self, seat: Seat) -> Result<(), Trouble> {
        const QUIET: Duration = Duration::from_millis(150);
        let (mut last, mut since) = (self.progress(seat), Instant::now());
        let at_rest = |end: &State| end.is_holding || end.done.is_some();
        while !at_rest(&self.ends[seat.index()]) {
            self.turn(Instant::now() + Duration::from_millis(10))?;
            let now = self.progress(seat);
            // A message may be larger than all buffers: then the first one never gets through.
            if now != last || now.0 == 0 {
                (last, since) = (now, Instant::now());
            }
            if since.elapsed() >= QUIET {
                return Ok(());
            }
            let failed = self.ends.iter().any(|end| end.trouble().is_some());
            if failed || Instant::now() >= self.workers.deadline() {
                return Err(self.trouble("the sender to come to rest"));
            }
        }
        Ok(())
    }

    /// Takes in one thing that happens; `false` if nothing did before `until`.
    pub(crate) fn turn(&mut self, until: Instant) -> Result<bool, Trouble> {
        self.workers.call_at(until);
        match self.workers.event()? {
            Event::Said(who, Word::Ready(told)) => {
                let end = &mut self.ends[who];
                match serde_json::from_value(told)? {
                    Told::Idle => {}
                    Told::Holding => end.is_holding = true,
                    Told::Done(seen) => end.done = Some(seen),
                    Told::Refused { unavailable, reason } => {
                        end.refused = Some((unavailable, reason));
                    }
                }
            }
            Event::Said(who, Word::Failed(Failure { kind, reason })) => {
                self.ends[who].refused = Some((kind == FailureKind::Unavailable, reason));
            }
            Event::Said(..) => return Err(Trouble::failed("the suite itself: an unknown word")),
            Event::Died(who, end) => self.ends[who].died = Some(end),
            Event::Alarm | Event::Deadline | Event::Interrupted => return Ok(false),
        }
        Ok(true)
    }

    /// What is wrong, told from both ends.
    pub(crate) fn trouble(&self, what: &str) -> Trouble {
        let unavailable =
            self.ends.iter().find_map(|end| end.refused.as_ref().filter(|(is, _)| *is));
        if let Some((_, reason)) = unavailable {
            return Trouble::Unavailable(reason.clone());
        }
        let mut told: Vec<_> = Seat::BOTH
            .into_iter()
            .filter_map(|seat| Some(format!("{seat:?}: {}", self.ends[seat.index()].trouble()?)))
            .collect();
        if told.is_empty() {
            told.push(format!("timed out waiting for {what}"));
        }
        for seat in Seat::BOTH {
            let end = &self.ends[seat.index()];
            if end.done.is_none() && end.died.is_none() && end.refused.is_none() {
                let (step, moved) = self.progress(seat);
                told.push(format!("{seat:?}: still at step {step} after {moved} messages"));
            }
            let Some(trail) = &self.trail else { continue };
            if let Some(call) = trail.call(seat) {
                told.push(format!("{seat:?}: in {call}"));
            }
            let written = trail.written(seat);
            if !written.is_empty() {
                told.push(format!("{seat:?} wrote: {written}"));
            }
        }
        Trouble::Failed(told.join("; "))
    }

    /// The worker of a seat.
    pub(crate) fn worker(&self, seat: Seat) -> &Worker {
        self.workers.worker(seat.index())
    }

    /// Process numbers of both.
    pub(crate) fn pids(&self) -> [u32; 2] {
        Seat::BOTH.map(|seat| self.worker(seat).pid())
    }

    /// Begins to observe the system calls of both.
    pub(crate) fn trace(&self) -> Result<Trace, Trouble> {
        Trace::of(&self.pids()).map_err(|error| {
            Trouble::Unavailable(format!("ptrace is refused here ({error}); allow it to this user"))
        })
    }
}

impl Scene<'_> {
    /// A fresh channel's shape.
    pub(crate) fn shape(&self, size: usize) -> Shape {
        Shape {
            size,
            pattern: PatternKind::PingPong,
            nonce: self.draw(),
            buffer_offset: 64 * (self.draw() % 64) as usize,
            directory: Some(self.run.path().to_owned()),
            is_apart: false,
            network: Network::Loopback,
        }
    }
}

impl From<SetupError> for Trouble {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Unavailable(missing) => Self::Unavailable(missing.to_string()),
            other => Self::Failed(format!("could not open: {other}")),
        }
    }
}
