//! The one keeper of programs of others: it starts them without a shell, hears of the end of each, and reaps it. How their
//! calls are seen, and what is looked after meanwhile, differs from command to command and is given to it.

mod outlet;
mod programs;

pub use outlet::Outlet;
pub use programs::{Finished, Programs, Seen};

use crate::error::not_started;
use crate::task::TaskError;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::program::{Program, exit_status};
use ipcperf_sys::trace::Follow;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How long a program may take to end once it is asked to.
pub const GRACE: Duration = Duration::from_secs(5);

/// What starts programs and hears of their ends. Dropping it ends them.
#[derive(Debug)]
pub enum Keeper {
    /// Nothing stops their calls.
    Untraced(Vec<Program>),
    /// They stop at each call.
    Traced(Follow),
}

impl Default for Keeper {
    fn default() -> Self {
        Self::Untraced(Vec::new())
    }
}

impl Keeper {
    /// Starts a program whose standard streams are set. An error begins with `what`.
    ///
    /// # Errors
    /// It cannot be started, or may not be traced.
    pub fn start(&mut self, what: &str, command: &mut Command) -> io::Result<()> {
        let started = match self {
            Self::Untraced(programs) => {
                Program::start(command).map(|program| programs.push(program))
            }
            Self::Traced(follow) => follow.start(command),
        };
        started.map_err(|error| match (error.kind(), self) {
            (kind @ io::ErrorKind::PermissionDenied, Self::Traced(_)) => {
                io::Error::new(kind, "ptrace is refused here; allow it to this user")
            }
            _ => not_started(&format!("{what} cannot be started"), &error),
        })
    }

    /// Traces a process that runs already, and goes on when this is dropped; without a tracer nothing is done.
    ///
    /// # Errors
    /// `PermissionDenied` where it may not be traced.
    pub fn attach(&mut self, process: u32) -> io::Result<()> {
        match self {
            Self::Untraced(_) => Ok(()),
            Self::Traced(follow) => follow.attach(process),
        }
    }

    /// Takes in what has happened since the last call, and reaps what has ended.
    ///
    /// # Errors
    /// The kernel's.
    pub fn go_on(&mut self) -> io::Result<()> {
        match self {
            Self::Untraced(programs) => programs.iter_mut().try_for_each(Program::try_wait),
            Self::Traced(follow) => follow.go_on(),
        }
    }

    /// How each has ended, in the order of their start.
    #[must_use]
    pub fn ended(&self) -> Vec<Option<ExitStatus>> {
        match self {
            Self::Untraced(programs) => {
                programs.iter().map(|one| one.ended().map(|ended| ended.status)).collect()
            }
            Self::Traced(follow) => follow.programs().iter().map(|one| one.ended).collect(),
        }
    }

    /// Readable when [`Keeper::go_on`] has something to do.
    #[must_use]
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Untraced(programs) => {
                let running = programs.iter().filter(|program| program.ended().is_none());
                running.map(Program::pidfd).collect()
            }
            Self::Traced(follow) => vec![follow.fd()],
        }
    }

    /// How long to wait for that at most.
    #[must_use]
    pub fn latest(&self) -> Duration {
        match self {
            Self::Untraced(_) => Duration::from_secs(3600),
            // Another thread may take the signal.
            Self::Traced(_) => Duration::from_millis(20),
        }
    }

    /// The process of the one that was started at this place, if there is one.
    #[must_use]
    pub fn pid(&self, at: usize) -> Option<u32> {
        match self {
            Self::Untraced(programs) => programs.get(at).map(Program::pid),
            Self::Traced(follow) => follow.programs().get(at).map(|program| program.pid),
        }
    }

    /// Tasks that have not ended, with all that they have started; none where that is not known.
    #[must_use]
    pub fn left(&self) -> Vec<u32> {
        match self {
            Self::Untraced(_) => Vec::new(),
            Self::Traced(follow) => follow.left().collect(),
        }
    }

    /// Asks all that have not ended to end, by SIGTERM.
    pub fn terminate(&self) {
        match self {
            Self::Untraced(programs) => programs.iter().for_each(Program::terminate),
            Self::Traced(follow) => follow.terminate(),
        }
    }
}

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
