//! Worker processes that do something else than one end of a slice: the servers, clients and relays that a published
//! experiment consists of. They are started, watched and killed like every worker.

use crate::error::named;
use crate::job::Task;
use ipcperf_sys::control::{Control, wait_any};
use ipcperf_sys::process::{Worker, describe_end, own_pid};
use ipcperf_sys::signals::Interrupts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

/// Hidden subcommand that turns the program into a worker; the coordinator's process number follows it.
pub const SUBCOMMAND: &str = "__worker";

/// Something a worker can be sent to do.
#[derive(Clone, Copy)]
pub struct NamedTask<'a> {
    /// By which it is found.
    pub name: &'static str,
    /// Does it, and returns what it found out, or why it could not.
    pub run: &'a dyn Fn(&mut WorkerContext<'_>) -> Result<Value, String>,
}

/// What a worker on a task has.
#[derive(Debug)]
pub struct WorkerContext<'a> {
    control: &'a Control,
    params: Value,
    /// The descriptors it was given, in order.
    pub fds: Vec<OwnedFd>,
}

/// From the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Set up; waits for the word to go. It may tell something: the number of a port.
    Ready(Value),
    /// What it found out.
    Done(Value),
    /// Why it could not.
    Failed(String),
}

impl<'a> WorkerContext<'a> {
    pub(crate) fn new(control: &'a Control, params: Value, fds: Vec<OwnedFd>) -> Self {
        Self { control, params, fds }
    }

    /// What it was told.
    ///
    /// # Errors
    /// It was told something else.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(self.params.clone()).map_err(|error| format!("task: {error}"))
    }

    /// Says that everything is set up, with whatever the coordinator must know, and waits for the word to go; returns
    /// what came with that.
    ///
    /// # Errors
    /// The coordinator is gone.
    pub fn ready<T: Serialize>(&mut self, told: &T) -> Result<Value, String> {
        let told = serde_json::to_value(told).map_err(|error| error.to_string())?;
        self.say(&Answer::Ready(told))?;
        let parcel = self.control.receive(None).map_err(|error| error.to_string())?;
        self.fds.extend(parcel.fds);
        serde_json::from_str(&parcel.text).map_err(|error| error.to_string())
    }

    pub(crate) fn say(&self, answer: &Answer) -> Result<(), String> {
        let text = serde_json::to_string(answer).map_err(|error| error.to_string())?;
        self.control.send(&text, &[]).map_err(|error| error.to_string())
    }
}

/// A worker on a task, as the coordinator sees it. Dropping it kills the worker.
#[derive(Debug)]
pub struct WorkerHandle<'a> {
    name: String,
    worker: Worker,
    deadline: Instant,
    interrupts: Option<&'a Interrupts>,
}

/// Why a task came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The user interrupted.
    Interrupted,
    /// It took too long.
    Deadline(String),
    /// It went wrong.
    Failed(String),
}

impl std::fmt::Display for TaskError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interrupted => out.write_str("interrupted"),
            Self::Deadline(reason) | Self::Failed(reason) => out.write_str(reason),
        }
    }
}

impl From<io::Error> for TaskError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl<'a> WorkerHandle<'a> {
    /// Starts a worker on a task; all of it must be over by `deadline`. `pad` bytes of extra environment vary the
    /// layout of its stack.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start<P: Serialize>(
        name: &str,
        params: &P,
        fds: &[BorrowedFd<'_>],
        pad: usize,
        deadline: Instant,
        interrupts: Option<&'a Interrupts>,
    ) -> Result<Self, TaskError> {
        let worker = Worker::start(&[SUBCOMMAND, &own_pid().to_string()], pad)
            .map_err(|error| named("a worker process (/proc/self/exe)", &error))?;
        let params = serde_json::to_value(params).map_err(io::Error::other)?;
        let task = Task::Named { name: name.to_owned(), params };
        let text = serde_json::to_string(&task).map_err(io::Error::other)?;
        tell(&worker, &text, fds)?;
        Ok(Self { name: name.to_owned(), worker, deadline, interrupts })
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// The process itself: to stop it, kill it or watch it.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Readable when it has said something or is gone.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.worker.control().fd()
    }

    /// Waits until it is set up; returns what it told.
    ///
    /// # Errors
    /// Why it is not.
    pub fn ready<T: DeserializeOwned>(&mut self) -> Result<T, TaskError> {
        match self.answer()? {
            Answer::Ready(told) => Ok(serde_json::from_value(told).map_err(io::Error::other)?),
            Answer::Done(_) => {
                Err(TaskError::Failed(format!("{}: done before it began", self.name)))
            }
            Answer::Failed(reason) => Err(TaskError::Failed(reason)),
        }
    }

    /// Gives the word to go, with whatever it must know by now. Whether it is gone shows in its next answer.
    ///
    /// # Errors
    /// The message cannot be sent.
    pub fn go<T: Serialize>(&self, told: &T, fds: &[BorrowedFd<'_>]) -> Result<(), TaskError> {
        let text = serde_json::to_string(told).map_err(io::Error::other)?;
        Ok(tell(&self.worker, &text, fds)?)
    }

    /// Waits for what it found out.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn done<T: DeserializeOwned>(&mut self) -> Result<T, TaskError> {
        match self.answer()? {
            Answer::Done(value) => Ok(serde_json::from_value(value).map_err(io::Error::other)?),
            Answer::Ready(_) => {
                Err(TaskError::Failed(format!("{}: not expected to wait", self.name)))
            }
            Answer::Failed(reason) => Err(TaskError::Failed(reason)),
        }
    }

    /// Waits for whatever it says next.
    ///
    /// # Errors
    /// It says nothing more.
    pub(crate) fn answer(&mut self) -> Result<Answer, TaskError> {
        let mut fds = vec![self.worker.control().fd()];
        fds.extend(self.interrupts.map(Interrupts::fd));
        let ready = wait_any(&fds, self.deadline)?;
        if self.interrupts.is_some_and(Interrupts::arrived) {
            return Err(TaskError::Interrupted);
        }
        if !ready[0] {
            return Err(TaskError::Deadline(format!("{}: not done in time", self.name)));
        }
        match self.worker.control().receive(Some(self.deadline)) {
            Ok(parcel) => Ok(serde_json::from_str(&parcel.text).map_err(io::Error::other)?),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let end = describe_end(self.worker.wait()?);
                Err(TaskError::Failed(format!("{}: the worker ended: {end}", self.name)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Sends a message. Who is gone hears nothing: how it ended is known to whoever waits for its answer.
fn tell(worker: &Worker, text: &str, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match worker.control().send(text, fds) {
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
        sent => sent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_is_gone_is_told_nothing_and_its_end_is_heard() {
        let deadline = Instant::now() + Duration::from_secs(60);
        // The test program is no worker: it refuses the arguments and ends.
        let mut handle =
            WorkerHandle::start("anything", &(), &[], 0, deadline, None).expect("started");
        assert!(wait_any(&[handle.fd()], deadline).expect("a descriptor")[0], "it never ended");
        handle.go(&1, &[]).expect("no error of its own");
        let error = handle.done::<u32>().expect_err("no answer");
        assert!(error.to_string().contains("anything: the worker ended"), "{error}");
    }
}
