//! Worker processes, watched from outside: the only place that starts, waits for and kills them, however many they are
//! and whatever they do.

use crate::error::not_started;
use crate::job::{Failure, FailureKind};
use crate::plugins;
use crate::protocol::{Names, Order, Word};
use crate::task::{SUBCOMMAND, TaskError};
use crate::waiting;
use ipcperf_core::Wiring;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::{Halt, Worker, describe_end, own_pid};
use ipcperf_sys::signals::Interrupts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What is said of workers that are late; what is known of them may follow.
pub(crate) const LATE: &str = "not done in time";

/// How long what the others have to say is waited for after one has failed.
const GRACE: Duration = Duration::from_millis(300);

/// Fresh worker processes, known by their numbers in the order of their start. Dropping this kills them.
#[derive(Debug)]
pub struct Supervisor<'a> {
    workers: Vec<Member>,
    deadline: Instant,
    /// When the coordinator wants to be called.
    alarm: Option<Instant>,
    interrupts: Option<&'a Interrupts>,
    /// Each two that were started one after the other are the ends of a channel.
    in_pairs: bool,
}

#[derive(Debug)]
struct Member {
    name: String,
    process: Worker,
    /// Its channel has ended: it would be readable for ever. The process has, too, or will have: code of others may close the
    /// channel and live on.
    is_closed: bool,
    /// The process has ended.
    is_gone: bool,
    /// What it said of its panic.
    panic: Option<String>,
    /// It is stopped on purpose.
    is_held: bool,
    /// When it was first seen standing still, and for how long it did so altogether.
    since: Cell<Option<Instant>>,
    stood: Cell<Option<Duration>>,
}

/// A worker that a signal stopped, and nobody here asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Its name.
    pub who: String,
    /// For how long at the least, ns: it is looked at from time to time.
    pub least_ns: u64,
}

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// A worker said something.
    Said(usize, Word),
    /// A worker ended without a last word, or after it.
    Died(usize, String),
    /// It is the time that was asked for.
    Alarm,
    /// Time is up.
    Deadline,
    /// The user interrupted.
    Interrupted,
}

/// Why workers came to nothing.
#[derive(Debug)]
pub enum Stop {
    /// The user interrupted.
    Interrupted,
    /// Somebody took too long.
    Deadline(String),
    /// It went wrong.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Stop> for TaskError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => Self::Interrupted,
            Stop::Deadline(reason) => Self::Deadline(reason),
            Stop::Failed(failure) => Self::Failed(failure.reason),
        }
    }
}

impl<'a> Supervisor<'a> {
    /// Of nobody yet; all must be over by `deadline`.
    #[must_use]
    pub fn new(deadline: Instant, interrupts: Option<&'a Interrupts>) -> Self {
        if let Some(interrupts) = interrupts {
            interrupts.pulse().begin();
        }
        Self { workers: Vec::new(), deadline, alarm: None, interrupts, in_pairs: false }
    }

    /// The same of several channels: each two workers that are started one after the other have each other as peer.
    #[must_use]
    pub fn in_pairs(mut self) -> Self {
        self.in_pairs = true;
        self
    }

    /// Starts one more worker; `pad` bytes of extra environment vary the layout of its stack. Returns its number.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, name: impl Into<String>, pad: usize) -> io::Result<usize> {
        let process = Worker::start(&[SUBCOMMAND, &own_pid().to_string()], pad)
            .map_err(|error| not_started("a worker process", &error))?;
        self.workers.push(Member {
            name: name.into(),
            process,
            is_closed: false,
            is_gone: false,
            panic: None,
            is_held: false,
            since: Cell::new(None),
            stood: Cell::new(None),
        });
        Ok(self.workers.len() - 1)
    }

    /// A process itself: to stop it, kill it or watch it.
    ///
    /// # Panics
    /// There is no worker of this number.
    #[must_use]
    pub fn worker(&self, who: usize) -> &Worker {
        &self.workers[who].process
    }

    /// Stops a worker on purpose; [`Worker::resume`] lets it go on.
    ///
    /// # Panics
    /// There is no worker of this number.
    pub fn hold(&mut self, who: usize) {
        let member = &mut self.workers[who];
        member.is_held = true;
        member.process.pause();
    }

    /// The worker that stood still longest because of a signal, if one did: looks once more.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.workers.iter().for_each(Member::look);
        let stood = |member: &Member| {
            let least = member.stood.get()?.saturating_sub(waiting::STEP).as_nanos();
            let (who, least_ns) = (member.name.clone(), u64::try_from(least).unwrap_or(u64::MAX));
            Some(Stopped { who, least_ns })
        };
        self.workers.iter().filter_map(stood).max_by_key(|stop| stop.least_ns)
    }

    /// Gives a worker its task; the page that it shares with others is the first of its descriptors.
    ///
    /// # Errors
    /// The message cannot be sent.
    pub fn assign<P: Serialize>(
        &self,
        who: usize,
        task: &str,
        params: &P,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let params = serde_json::to_value(params)?;
        let order = Order::Task { name: task.to_owned(), params, plugins: plugins::all() };
        self.tell(who, &order, fds)
    }

    /// Gives these workers their wiring. The coordinator's copy of the descriptors is closed, so that end-of-file works.
    ///
    /// # Errors
    /// The message cannot be sent.
    pub fn wire(&self, whom: Range<usize>, wiring: Wiring) -> io::Result<()> {
        let Wiring { fds, names, words } = wiring;
        let order = Order::Wiring(Names { names, words });
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        whom.into_iter().try_for_each(|who| self.tell(who, &order, &fds))
    }

    /// Lets a worker go on that is ready, with whatever it must know by now.
    ///
    /// # Errors
    /// The message cannot be sent.
    pub fn go<T: Serialize>(&self, who: usize, told: &T) -> io::Result<()> {
        self.tell(who, &Order::Go(serde_json::to_value(told)?), &[])
    }

    /// Sends a message. A worker that is gone hears nothing: its end is reported to the caller that waits for its answer.
    fn tell(&self, who: usize, order: &Order, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        match self.worker(who).control().send(&serde_json::to_string(order)?, fds) {
            Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
            sent => sent,
        }
    }

    /// Calls with [`Event::Alarm`] at that time, once.
    pub fn call_at(&mut self, time: Instant) {
        self.alarm = Some(time);
    }

    /// When all must be over.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// From now on all must be over by then.
    pub fn allow(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// A worker that has not ended within `grace` after its last word, if there is one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn lingering(&self, grace: Duration) -> io::Result<Option<&str>> {
        let until = Instant::now() + grace;
        for member in &self.workers {
            if !wait_any(&[member.process.pidfd()], until)?[0] {
                return Ok(Some(&member.name));
            }
        }
        Ok(None)
    }

    /// From now on only so much longer is waited.
    pub fn hurry(&mut self, grace: Duration) {
        self.deadline = self.deadline.min(Instant::now() + grace);
    }

    /// Waits for the next thing to happen to any of them.
    ///
    /// # Errors
    /// The kernel's, or a worker speaks nonsense.
    pub fn event(&mut self) -> io::Result<Event> {
        let all: Vec<usize> = (0..self.workers.len()).collect();
        self.event_of(&all)
    }

    /// The same for some of them. What two workers swap is passed on, and the clock set, on the way.
    fn event_of(&mut self, whom: &[usize]) -> io::Result<Event> {
        loop {
            let here: Vec<usize> =
                whom.iter().copied().filter(|who| !self.workers[*who].is_gone).collect();
            let mut fds: Vec<_> = here.iter().map(|who| self.workers[*who].speaks()).collect();
            fds.extend(self.interrupts.map(Interrupts::fd));
            let alarm = self.alarm.filter(|alarm| *alarm < self.deadline);
            let look = || self.workers.iter().for_each(Member::look);
            let until = alarm.unwrap_or(self.deadline);
            let ready = waiting::wait(&fds, until, self.interrupts, look)?;
            if self.interrupts.is_some_and(Interrupts::arrived) {
                return Ok(Event::Interrupted);
            }
            let Some(who) = here.iter().zip(ready).find_map(|(who, ready)| ready.then_some(*who))
            else {
                if alarm.is_none() {
                    return Ok(Event::Deadline);
                }
                self.alarm = None;
                return Ok(Event::Alarm);
            };
            if self.workers[who].is_closed {
                let member = &mut self.workers[who];
                member.is_gone = true;
                let mut end = describe_end(member.process.wait()?);
                end.extend(member.panic.iter().flat_map(|why| [": ", why]));
                return Ok(Event::Died(who, end));
            }
            match self.worker(who).control().receive(Some(self.deadline)) {
                Ok(parcel) => match serde_json::from_str(&parcel.text)? {
                    Word::Swap(names) => self.relay(who, names, &parcel.fds)?,
                    Word::Alarm(ns) => self.call_at(Instant::now() + Duration::from_nanos(ns)),
                    Word::Panicked(why) => {
                        self.workers[who].panic.get_or_insert(why);
                    }
                    word => return Ok(Event::Said(who, word)),
                },
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.workers[who].is_closed = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn relay(&self, from: usize, names: Names, fds: &[OwnedFd]) -> io::Result<()> {
        if self.workers.len() != 2 && !self.in_pairs {
            return Err(io::Error::other("only two workers have a peer to swap with"));
        }
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        self.tell(from ^ 1, &Order::Wiring(names), &fds)
    }

    /// What each of them says next, in their order: that it is ready, or done. `alarm` is called when it is the time that
    /// was asked for. Once one has failed, the others are given a moment to say what they know of it.
    ///
    /// # Errors
    /// Why one of them says nothing; of several failures the one that explains the others.
    pub fn gather(&mut self, alarm: &mut dyn FnMut(&mut Self)) -> Result<Vec<Word>, Stop> {
        let mut said: Vec<Option<Word>> = self.workers.iter().map(|_| None).collect();
        let mut failures: Vec<(usize, Failure)> = Vec::new();
        loop {
            let has_failed = |who: &usize| failures.iter().any(|(failed, _)| failed == who);
            let silent: Vec<usize> =
                (0..said.len()).filter(|who| said[*who].is_none() && !has_failed(who)).collect();
            if silent.is_empty() {
                break;
            }
            match self.event_of(&silent)? {
                Event::Said(who, Word::Failed(failure)) => failures.push((who, failure)),
                Event::Said(who, word) => said[who] = Some(word),
                Event::Died(who, end) => failures.push((who, died(&end))),
                Event::Alarm => alarm(self),
                Event::Interrupted => return Err(Stop::Interrupted),
                // An end that lost its peer may wait for ever, and the failure that explains it is known.
                Event::Deadline if !failures.is_empty() => break,
                Event::Deadline => return Err(self.late(&silent)),
            }
            if !failures.is_empty() {
                self.hurry(GRACE);
            }
        }
        match worst(failures) {
            Some((who, failure)) => Err(Stop::Failed(self.named(who, failure))),
            None => Ok(said.into_iter().flatten().collect()),
        }
    }

    /// A failure with the name of who failed, where that explains it.
    fn named(&self, who: usize, failure: Failure) -> Failure {
        if failure.kind == FailureKind::Unavailable {
            return failure;
        }
        let reason = format!("{}: {}", self.workers[who].name, failure.reason);
        Failure { reason, ..failure }
    }

    fn late(&self, whom: &[usize]) -> Stop {
        let names: Vec<&str> = whom.iter().map(|who| self.workers[*who].name.as_str()).collect();
        Stop::Deadline(format!("{}: {LATE}", names.join(", ")))
    }

    /// Waits until a worker is ready; returns what it told.
    ///
    /// # Errors
    /// Why it is not.
    pub fn ready<T: DeserializeOwned>(&mut self, who: usize) -> Result<T, Stop> {
        Ok(self.word(who)?.ready().map_err(|failure| self.named(who, failure))?)
    }

    /// Waits for what a worker found out.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn done<T: DeserializeOwned>(&mut self, who: usize) -> Result<T, Stop> {
        Ok(self.word(who)?.done().map_err(|failure| self.named(who, failure))?)
    }

    /// Waits for whatever a worker says next, and looks at nobody else.
    fn word(&mut self, who: usize) -> Result<Word, Stop> {
        loop {
            match self.event_of(&[who])? {
                Event::Said(_, Word::Failed(failure)) => return Err(Stop::Failed(failure)),
                Event::Said(_, word) => return Ok(word),
                Event::Died(_, end) => return Err(self.named(who, died(&end)).into()),
                Event::Interrupted => return Err(Stop::Interrupted),
                Event::Deadline => return Err(self.late(&[who])),
                Event::Alarm => {}
            }
        }
    }
}

impl Member {
    /// Readable when it says something, or when it has ended.
    fn speaks(&self) -> BorrowedFd<'_> {
        if self.is_closed { self.process.pidfd() } else { self.process.control().fd() }
    }

    /// Whether it stands still, or has stood still since it was looked at last.
    fn look(&self) {
        if self.is_held {
            return;
        }
        let stood = self.stood.get().unwrap_or_default();
        match self.process.halt() {
            Some(Halt::Stands) => {
                self.since.set(self.since.get().or_else(|| Some(Instant::now())));
                self.stood.set(Some(stood));
            }
            Some(Halt::GoesOn) => {
                let more = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
                self.stood.set(Some(stood + more));
            }
            None => {}
        }
    }
}

fn died(end: &str) -> Failure {
    Failure { kind: FailureKind::Died, reason: format!("the worker ended: {end}") }
}

/// The failure that explains the others: an end that merely lost its peer is the symptom.
fn worst(failures: Vec<(usize, Failure)>) -> Option<(usize, Failure)> {
    failures.into_iter().min_by_key(|(_, failure)| match failure.kind {
        FailureKind::Invalid | FailureKind::Truncated => 0,
        FailureKind::Unavailable => 1,
        FailureKind::Failed | FailureKind::Died => 2,
        FailureKind::PeerGone => 3,
    })
}

impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        if let Some(interrupts) = self.interrupts {
            interrupts.pulse().beat(Duration::ZERO);
        }
        // All of them first, so that they end beside each other; each is waited for as it is dropped.
        for member in &self.workers {
            member.process.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::control;

    /// The test program is no worker: it refuses the arguments and ends.
    fn of_two() -> Supervisor<'static> {
        let mut workers = Supervisor::new(Instant::now() + Duration::from_secs(60), None);
        for name in ["one", "two"] {
            workers.start(name, 0).expect("started");
        }
        workers
    }

    #[test]
    fn who_is_gone_is_told_nothing_and_its_end_is_heard() {
        let mut workers = of_two();
        for who in [0, 1] {
            workers.assign(who, "anything", &(), &[]).expect("sent, or told to nobody");
        }
        let fd = workers.worker(1).control().fd();
        let deadline = workers.deadline;
        assert!(control::wait_any(&[fd], deadline).expect("a descriptor")[0], "it never ended");
        workers.go(1, &1).expect("no error of its own");
        let stop = workers.done::<u32>(1).expect_err("no answer");
        let told = TaskError::from(stop).to_string();
        assert!(told.contains("two: the worker ended"), "{told}");
    }

    #[test]
    fn a_worker_that_ends_without_a_word_is_named() {
        let mut workers = of_two();
        let stop = workers.gather(&mut |_| ()).expect_err("no answer");
        let told = TaskError::from(stop).to_string();
        assert!(told.contains(": the worker ended"), "{told}");
    }

    #[test]
    fn an_alarm_comes_before_the_deadline_and_once() {
        let mut workers = Supervisor::new(Instant::now() + Duration::from_millis(30), None);
        workers.call_at(Instant::now() + Duration::from_millis(2));
        assert!(matches!(workers.event().expect("no error"), Event::Alarm));
        assert!(matches!(workers.event().expect("no error"), Event::Deadline));
    }

    #[test]
    fn the_failure_that_explains_the_other_is_told() {
        let failure = |kind, reason: &str| Failure { kind, reason: reason.into() };
        let (who, told) = worst(vec![
            (1, failure(FailureKind::PeerGone, "the peer closed the channel")),
            (0, failure(FailureKind::Invalid, "wrong stamp")),
        ])
        .expect("a failure");
        assert_eq!((who, told.reason.as_str()), (0, "wrong stamp"));
        assert!(worst(Vec::new()).is_none());
    }
}
