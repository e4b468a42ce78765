//! Programs that run beside each other until all have ended.

use super::{Error, Keeper, Outlet};
use crate::waiting;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::program::{Ended, waiting_bytes};
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Instant;

/// Characters of a complaint that are shown: a screen has no room for more.
const SHOWN: usize = 300;
/// `SIGPIPE` (`signal(7)`).
const CUT_OFF: i32 = 13;

/// Programs that run beside each other. Dropping this kills them.
#[derive(Debug)]
pub struct Programs<'a> {
    keeper: Keeper,
    running: Vec<Running>,
    deadline: Instant,
    interrupts: Option<&'a Interrupts>,
}

#[derive(Debug)]
struct Running {
    name: String,
    errors: Outlet,
    /// The pipe it reads, held so that what it leaves there can be seen. The program that writes to that pipe is therefore cut
    /// off when this program has ended, and not when it merely closes its standard input.
    input: Option<OwnedFd>,
    is_joined: bool,
    unread_bytes: Option<u64>,
    ended: Option<ExitStatus>,
}

/// All of them, when they have ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// In the order of their start.
    pub programs: Vec<Seen>,
    /// When the last one had ended (`CLOCK_MONOTONIC`).
    pub end_ns: u64,
    /// Bytes that came out.
    pub arrived_bytes: u64,
    /// The first of them.
    pub start: String,
}

/// What was seen of one program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// Its process.
    pub pid: u32,
    /// Its end and what it consumed.
    pub ended: Ended,
    /// Bytes it wrote to its standard error.
    pub error_bytes: u64,
    /// Bytes it left in the pipe that it read; `None` where none was held.
    pub unread_bytes: Option<u64>,
}

impl Seen {
    /// Bytes it has written but to its standard error; `None` where the kernel does not count.
    #[must_use]
    pub fn written_bytes(&self) -> Option<u64> {
        Some(self.ended.moved?.written.saturating_sub(self.error_bytes))
    }
}

impl<'a> Programs<'a> {
    /// None yet; all must have ended by `deadline`.
    #[must_use]
    pub fn new(deadline: Instant, interrupts: Option<&'a Interrupts>) -> Self {
        Self::of(Keeper::default(), deadline, interrupts)
    }

    /// Waits until all have ended, and takes what comes out of `output` meanwhile. The first that ends badly ends all.
    ///
    /// # Errors
    /// Why they came to nothing.
    pub fn finish(mut self, mut output: Option<Outlet>) -> Result<Finished, Error> {
        let end_ns = self.run(output.as_mut())?;
        let programs = match self.keeper {
            Keeper::Untraced(programs) => programs,
            Keeper::Traced(_) => Vec::new(),
        };
        let seen = programs.iter().zip(self.running).filter_map(|(program, one)| {
            let (error_bytes, unread_bytes) = (one.errors.bytes(), one.unread_bytes);
            let ended = program.ended()?.clone();
            Some(Seen { pid: program.pid(), ended, error_bytes, unread_bytes })
        });
        let programs = seen.collect();
        let (arrived_bytes, start) =
            output.map_or_else(Default::default, |output| (output.bytes(), output.text()));
        Ok(Finished { programs, end_ns, arrived_bytes, start })
    }

    /// None yet; this keeper starts them, and all must have ended by `deadline`.
    #[must_use]
    pub fn of(keeper: Keeper, deadline: Instant, interrupts: Option<&'a Interrupts>) -> Self {
        Self { keeper, running: Vec::new(), deadline, interrupts }
    }

    /// Starts `command`, whose standard input and output are set already. `input` is the pipe it reads, where what it
    /// leaves there is of interest.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        &mut self,
        name: &str,
        command: &mut Command,
        input: Option<OwnedFd>,
    ) -> Result<(), Error> {
        let (errors, theirs) = Outlet::open()
            .map_err(|error| Error::Failed(format!("{name}: cannot be started: {error}")))?;
        command.stderr(theirs);
        self.keeper.start(&format!("{name}:"), command)?;
        let (name, is_joined) = (name.to_owned(), input.is_some());
        let (unread_bytes, ended) = (None, None);
        self.running.push(Running { name, errors, input, is_joined, unread_bytes, ended });
        Ok(())
    }

    /// Waits until all have ended, and says when that was. The first that ends badly ends all.
    pub(crate) fn run(&mut self, mut output: Option<&mut Outlet>) -> Result<u64, Error> {
        let mut end_ns = monotonic_ns();
        if let Some(interrupts) = self.interrupts {
            interrupts.pulse().begin();
        }
        while self.running.iter().any(|one| one.ended.is_none()) {
            let outlets = self.running.iter().map(|one| &one.errors).chain(output.as_deref());
            let mut fds: Vec<_> = outlets.filter_map(Outlet::awaited).collect();
            fds.extend(self.keeper.fds());
            fds.extend(self.interrupts.map(Interrupts::fd));
            let until = self.deadline.min(Instant::now() + self.keeper.latest());
            let ready = waiting::wait(&fds, until, self.interrupts, || ())?;
            end_ns = monotonic_ns();
            if self.interrupts.is_some_and(Interrupts::arrived) {
                return Err(Error::Interrupted);
            }
            let errors = self.running.iter_mut().map(|one| &mut one.errors);
            let outlets = errors.chain(output.as_deref_mut());
            let open = outlets.filter(|outlet| outlet.awaited().is_some());
            for (outlet, _) in open.zip(ready).filter(|(_, is_ready)| *is_ready) {
                outlet.take()?;
            }
            self.keeper.go_on()?;
            for (one, ended) in self.running.iter_mut().zip(self.keeper.ended()) {
                if one.ended.is_none() && ended.is_some() {
                    one.unread_bytes = one.input.take().map(waiting_bytes).transpose()?;
                    one.errors.take_all()?;
                    one.ended = ended;
                }
            }
            self.judge()?;
            let running = self.running.iter().filter(|one| one.ended.is_none());
            let late: Vec<String> = running.map(|one| one.name.clone()).collect();
            if !late.is_empty() && Instant::now() >= self.deadline {
                return Err(Error::Deadline(late));
            }
        }
        if let Some(output) = output {
            output.take_all()?;
        }
        Ok(end_ns)
    }

    /// Whether one has ended badly. It may be cut off by the next program once that has ended: to be cut off by one that
    /// wanted no more is no fault.
    fn judge(&self) -> Result<(), Error> {
        for (at, one) in self.running.iter().enumerate() {
            let Some(status) = one.ended else { continue };
            let next = self.running.get(at + 1);
            let may_be_cut = next.is_some_and(|next| next.is_joined && next.ended.is_some());
            if status.success() || (may_be_cut && status.signal() == Some(CUT_OFF)) {
                continue;
            }
            let text = one.errors.text();
            let complaint = text.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
            return Err(Error::Ended { name: one.name.clone(), status, complaint });
        }
        Ok(())
    }

    /// What keeps them.
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }
}
