//! Two fresh worker processes around one open channel, watched from outside: the only place that starts, waits for
//! and kills workers.

use crate::error::named;
use crate::job::{Names, Order, Word};
use crate::page::Page;
use crate::task::SUBCOMMAND;
use ipcperf_core::{Seat, Wiring};
use ipcperf_sys::control;
use ipcperf_sys::process::{Worker, describe_end, own_pid};
use ipcperf_sys::signals::Interrupts;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Both workers of one measurement. Dropping it kills them.
#[derive(Debug)]
pub struct Stage<'a> {
    workers: Vec<Worker>,
    /// Whose channel has ended: it would be readable for ever.
    gone: [bool; 2],
    interrupts: Option<&'a Interrupts>,
    deadline: Instant,
    /// When the coordinator wants to be called.
    alarm: Option<Instant>,
}

/// What happened on the stage.
#[derive(Debug)]
pub enum Event {
    /// A worker said something.
    Said(Seat, Word),
    /// A worker ended without saying why.
    Died(Seat, String),
    /// It is the time that was asked for.
    Alarm,
    /// Time is up.
    Deadline,
    /// The user interrupted.
    Interrupted,
}

impl<'a> Stage<'a> {
    /// Starts `count` workers (1 or 2); everything must be over by `deadline`.
    ///
    /// # Errors
    /// A worker cannot be started.
    pub fn start(
        count: usize,
        pads: [usize; 2],
        deadline: Instant,
        interrupts: Option<&'a Interrupts>,
    ) -> io::Result<Self> {
        let parent = own_pid().to_string();
        let workers = pads
            .iter()
            .take(count)
            .map(|pad| Worker::start(&[SUBCOMMAND, &parent], *pad))
            .collect::<io::Result<_>>()
            .map_err(|error| named("a worker process (/proc/self/exe, pidfd_open)", &error))?;
        Ok(Self { workers, gone: [false; 2], interrupts, deadline, alarm: None })
    }

    /// Calls with [`Event::Alarm`] at that time, once.
    pub fn call_at(&mut self, time: Instant) {
        self.alarm = Some(time);
    }

    /// Stops a worker where it is.
    pub fn pause(&self, seat: Seat) {
        self.workers[seat.index()].pause();
    }

    /// Lets it go on.
    pub fn resume(&self, seat: Seat) {
        self.workers[seat.index()].resume();
    }

    /// Process number of a seat.
    #[must_use]
    pub fn pid(&self, seat: Seat) -> u32 {
        self.workers[seat.index()].pid()
    }

    /// Gives a worker its task and the shared page.
    ///
    /// # Errors
    /// The worker is gone.
    pub fn assign<T: serde::Serialize>(&self, seat: Seat, task: &T, page: &Page) -> io::Result<()> {
        self.send(seat, task, &[page.fd()])
    }

    /// Gives a worker its wiring; the coordinator's copy of the descriptors is closed, so that end-of-file works.
    ///
    /// # Errors
    /// The worker is gone.
    pub fn wire(&self, seat: Seat, wiring: Wiring) -> io::Result<()> {
        let fds: Vec<_> = wiring.fds.iter().map(AsFd::as_fd).collect();
        self.send(seat, &Names { names: wiring.names, words: wiring.words }, &fds)
    }

    /// Answers a worker.
    ///
    /// # Errors
    /// The worker is gone.
    pub fn order(&self, seat: Seat, order: &Order) -> io::Result<()> {
        self.send(seat, order, &[])
    }

    fn send<T: serde::Serialize>(
        &self,
        seat: Seat,
        what: &T,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.workers[seat.index()].control().send(&serde_json::to_string(what)?, fds)
    }

    /// Waits for the next thing to happen. Wirings the workers swap are relayed on the way.
    ///
    /// # Errors
    /// The kernel's, or a worker speaks nonsense.
    pub fn event(&mut self) -> io::Result<Event> {
        loop {
            let here: Vec<_> = (0..self.workers.len()).filter(|index| !self.gone[*index]).collect();
            let mut fds: Vec<_> =
                here.iter().map(|index| self.workers[*index].control().fd()).collect();
            fds.extend(self.interrupts.map(Interrupts::fd));
            let alarm = self.alarm.filter(|alarm| *alarm < self.deadline);
            let ready = control::wait_any(&fds, alarm.unwrap_or(self.deadline))?;
            if self.interrupts.is_some_and(Interrupts::arrived) {
                return Ok(Event::Interrupted);
            }
            let Some(index) =
                here.iter().zip(ready).find_map(|(index, ready)| ready.then_some(*index))
            else {
                return Ok(match alarm {
                    Some(_) => {
                        self.alarm = None;
                        Event::Alarm
                    }
                    None => Event::Deadline,
                });
            };
            let seat = Seat::BOTH[index];
            match self.workers[index].control().receive(Some(self.deadline)) {
                Ok(parcel) => {
                    let word = serde_json::from_str(&parcel.text).map_err(io::Error::other)?;
                    match word {
                        Word::Swap(names) => self.relay(seat, names, parcel.fds)?,
                        word => return Ok(Event::Said(seat, word)),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.gone[index] = true;
                    let end = self.workers[index].wait()?;
                    return Ok(Event::Died(seat, describe_end(end)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn relay(&self, from: Seat, names: Names, fds: Vec<OwnedFd>) -> io::Result<()> {
        if self.workers.len() < 2 {
            return Err(io::Error::other("a lone worker has nobody to swap with"));
        }
        let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        self.send(from.other(), &Order::Swapped(names), &borrowed)
    }

    /// After a failure: only so much longer is waited for what the other worker has to say.
    pub fn hurry(&mut self, grace: Duration) {
        self.deadline = self.deadline.min(Instant::now() + grace);
    }
}
