//! Programs that nobody here wrote, connected by pipes: started without a shell, watched from outside, ended in time,
//! and what they consumed. A process of its own, the watch, is their parent, so that they end with the coordinator even
//! if that is killed.

mod run;
mod traced;
mod watch;

pub use crate::measured::{PipelinePlan, PipelineRun, Ran, RoundRun, Seen};
pub use run::{Settings, run};
pub use watch::Watch;
pub(crate) use watch::{TASK, serve};

use crate::error::not_started;
use crate::task::TaskError;
use crate::waiting;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::io::pipe::{self, splice};
use ipcperf_sys::io::{errno, stream};
use ipcperf_sys::process::describe_end;
use ipcperf_sys::program::{Program, exit_status, waiting_bytes};
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Bytes of what a program writes that are kept: for a reason, a version, a table of figures.
const KEPT: usize = 2048;
/// Characters of a complaint that are told: a screen has no room for more.
const TOLD: usize = 300;
/// `SIGPIPE` (`signal(7)`).
const CUT_OFF: i32 = 13;

/// Why programs came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Error {
    /// The user interrupted.
    Interrupted,
    /// These had not ended when the time was over.
    Deadline(Vec<String>),
    /// One ended badly.
    Ended {
        /// Which.
        name: String,
        /// How.
        #[serde(with = "exit_status")]
        status: ExitStatus,
        /// The first line of what it wrote to its standard error.
        complaint: String,
    },
    /// Something else went wrong.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => out.write_str("interrupted"),
            Self::Deadline(names) => write!(out, "{}: not done in time", names.join(", ")),
            Self::Ended { name, status, complaint } => {
                write!(out, "{name}: {}", describe_end(*status))?;
                if complaint.is_empty() { Ok(()) } else { write!(out, ": {complaint}") }
            }
            Self::Failed(reason) => out.write_str(reason),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Error> for TaskError {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            Error::Deadline(_) => Self::Deadline(error.to_string()),
            Error::Ended { .. } | Error::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}

/// Programs that run beside each other. Dropping this kills them.
#[derive(Debug)]
pub struct Programs<'a> {
    running: Vec<Running>,
    deadline: Instant,
    interrupts: Option<&'a Interrupts>,
}

#[derive(Debug)]
struct Running {
    name: String,
    program: Program,
    errors: Outlet,
    /// The pipe it reads, held so that what it leaves there can be seen. The program that writes to that pipe is therefore cut
    /// off when this program has ended, and not when it merely closes its standard input.
    input: Option<OwnedFd>,
    is_joined: bool,
    seen: Option<Seen>,
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

impl<'a> Programs<'a> {
    /// None yet; all must have ended by `deadline`.
    #[must_use]
    pub fn new(deadline: Instant, interrupts: Option<&'a Interrupts>) -> Self {
        Self { running: Vec::new(), deadline, interrupts }
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
        let program = Program::start(command).map_err(|error| cannot_start(name, &error))?;
        let is_joined = input.is_some();
        let name = name.to_owned();
        self.running.push(Running { name, program, errors, input, is_joined, seen: None });
        Ok(())
    }

    /// Waits until all have ended, and takes what comes out of `output` meanwhile. The first that ends badly ends all.
    ///
    /// # Errors
    /// Why they came to nothing.
    pub fn finish(mut self, mut output: Option<Outlet>) -> Result<Finished, Error> {
        let null = splice::null().map_err(|error| Error::Failed(error.to_string()))?;
        let mut end_ns = monotonic_ns();
        if let Some(interrupts) = self.interrupts {
            interrupts.pulse().begin();
        }
        while self.running.iter().any(|one| one.seen.is_none()) {
            let waiting: Vec<_> = self.running.iter().filter(|one| one.seen.is_none()).collect();
            let outlets = self.running.iter().map(|one| &one.errors).chain(&output);
            let outlets: Vec<_> = outlets.filter(|outlet| !outlet.is_closed).collect();
            let mut fds: Vec<_> = waiting.iter().map(|one| one.program.pidfd()).collect();
            fds.extend(outlets.iter().map(|outlet| outlet.fd.as_fd()));
            fds.extend(self.interrupts.map(Interrupts::fd));
            let ready = waiting::wait(&fds, self.deadline, self.interrupts, || ())?;
            end_ns = monotonic_ns();
            if self.interrupts.is_some_and(Interrupts::arrived) {
                return Err(Error::Interrupted);
            }
            if !ready.contains(&true) {
                let late = waiting.iter().map(|one| one.name.clone());
                return Err(Error::Deadline(late.collect()));
            }
            let (ended, rest) = ready.split_at(waiting.len());
            let (mut ended, mut rest) = (ended.iter().copied(), rest.iter().copied());
            let errors = self.running.iter_mut().map(|one| &mut one.errors);
            for outlet in errors.chain(&mut output).filter(|outlet| !outlet.is_closed) {
                if rest.next() == Some(true) {
                    outlet.take(null.as_fd())?;
                }
            }
            let waiting = self.running.iter_mut().filter(|one| one.seen.is_none());
            for one in waiting {
                if ended.next() == Some(true) {
                    one.end(null.as_fd())?;
                }
            }
            self.judge()?;
        }
        if let Some(output) = &mut output {
            output.take_all(null.as_fd())?;
        }
        let (arrived_bytes, start) =
            output.map_or_else(Default::default, |output| (output.bytes, output.text()));
        let programs = self.running.iter_mut().filter_map(|one| one.seen.take()).collect();
        Ok(Finished { programs, end_ns, arrived_bytes, start })
    }

    /// Whether one has ended badly. It may be cut off by the next program once that has ended.
    fn judge(&self) -> Result<(), Error> {
        for (at, one) in self.running.iter().enumerate() {
            let Some(seen) = &one.seen else { continue };
            let next = self.running.get(at + 1);
            let may_be_cut = next.is_some_and(|next| next.is_joined && next.seen.is_some());
            judge(&one.name, seen.ended.status, may_be_cut, &one.errors)?;
        }
        Ok(())
    }
}

/// Whether a program has ended badly, which complained there. To be cut off by the next one, which wanted no more, is no
/// fault.
fn judge(name: &str, status: ExitStatus, may_be_cut: bool, errors: &Outlet) -> Result<(), Error> {
    if status.success() || (may_be_cut && status.signal() == Some(CUT_OFF)) {
        return Ok(());
    }
    let text = errors.text();
    let complaint = text.lines().next().unwrap_or_default().chars().take(TOLD).collect();
    Err(Error::Ended { name: name.to_owned(), status, complaint })
}

impl Running {
    fn end(&mut self, null: BorrowedFd<'_>) -> Result<(), Error> {
        let pid = self.program.pid();
        let unread_bytes = self.input.take().map(|pipe| waiting_bytes(&pipe)).transpose()?;
        let ended = self.program.wait()?;
        self.errors.take_all(null)?;
        self.seen = Some(Seen { pid, ended, error_bytes: self.errors.bytes, unread_bytes });
        Ok(())
    }
}

/// The end of a pipe that programs write to: all of it is counted, and the first of it kept.
#[derive(Debug)]
pub struct Outlet {
    fd: OwnedFd,
    kept: Vec<u8>,
    bytes: u64,
    is_closed: bool,
}

impl Outlet {
    /// Makes the pipe; the other end is for the writer.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> Result<(Self, OwnedFd), Error> {
        let failed = |error: ipcperf_core::SetupError| Error::Failed(error.to_string());
        let pair = pipe::pair().map_err(failed)?;
        pipe::set_nonblocking(&pair.read).map_err(failed)?;
        let (kept, bytes, is_closed) = (Vec::new(), 0, false);
        Ok((Self { fd: pair.read, kept, bytes, is_closed }, pair.write))
    }

    /// Takes some of what is there; false if nothing is.
    fn take(&mut self, null: BorrowedFd<'_>) -> Result<bool, Error> {
        let mut buffer = [0; KEPT];
        match stream::read(self.fd.as_fd(), &mut buffer) {
            Ok(taken) => {
                self.bytes += taken as u64;
                self.is_closed = taken == 0;
                let room = KEPT - self.kept.len();
                self.kept.extend(buffer.iter().take(taken.min(room)));
            }
            Err(errno::EAGAIN) => return Ok(false),
            Err(errno::EINTR) => return Ok(true),
            Err(code) => return Err(io::Error::from_raw_os_error(code).into()),
        }
        // The rest without a way through this process, so that it slows nobody down.
        let waiting = waiting_bytes(&self.fd)?;
        if waiting > 0 && self.kept.len() == KEPT {
            let len = usize::try_from(waiting).unwrap_or(usize::MAX);
            let moved = splice::splice(self.fd.as_fd(), null, len);
            self.bytes += moved.map_err(io::Error::from_raw_os_error)? as u64;
        }
        Ok(!self.is_closed)
    }

    /// Takes all that is there. Who was left behind may hold the other end open for ever.
    fn take_all(&mut self, null: BorrowedFd<'_>) -> Result<(), Error> {
        while !self.is_closed && self.take(null)? {}
        Ok(())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

/// Starts the programs of a pipeline one after the other, with pipes between them; returns where the last one writes
/// to. `start` is told the pipe that a program reads.
fn connect(
    plan: &PipelinePlan,
    mut start: impl FnMut(&str, &mut Command, Option<&OwnedFd>) -> Result<(), Error>,
) -> Result<Outlet, Error> {
    let (output, theirs) = Outlet::open()?;
    let (mut theirs, mut input) = (Some(theirs), None::<OwnedFd>);
    for (at, words) in plan.programs.iter().enumerate() {
        let Some((program, arguments)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(arguments);
        let stdin = input.as_ref().map(OwnedFd::try_clone).transpose()?;
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let mut next = None;
        if at + 1 == plan.programs.len() {
            command.stdout(theirs.take().map_or_else(Stdio::null, Stdio::from));
        } else {
            let pair = pipe::pair().map_err(|error| Error::Failed(error.to_string()))?;
            command.stdout(pair.write);
            next = Some(pair.read);
        }
        let name = plan.commands.get(at).unwrap_or(program);
        start(name, &mut command, input.as_ref())?;
        input = next;
    }
    Ok(output)
}

fn cannot_start(name: &str, error: &io::Error) -> Error {
    not_started(&format!("{name}: cannot be started"), error).into()
}

#[cfg(test)]
mod tests;
