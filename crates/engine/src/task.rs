//! A worker process from the inside: it gets one task, reports the result, and ends.

use crate::error::words;
use crate::job::Failure;
use crate::page::Page;
use crate::panics;
use crate::plugins;
use crate::protocol::{Names, Order, Word};
use ipcperf_core::{KnobValue, Meet, Missing, SetupError, Wiring};
use ipcperf_sys::control::Control;
use ipcperf_sys::{affinity, process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;

/// Hidden subcommand that turns the program into a worker; the coordinator's process number follows it.
pub const SUBCOMMAND: &str = "__worker";

/// Something a worker can be sent to do.
#[derive(Clone, Copy)]
pub struct NamedTask<'a> {
    /// By which it is found.
    pub name: &'static str,
    /// Does it, and returns what it found out, or why it could not.
    pub run: &'a dyn Fn(&mut WorkerContext<'_>) -> Result<Value, Failure>,
}

/// Does one of these tasks and ends, or fails for what this process lacks. Standard input is the control channel.
#[must_use]
pub fn main(tasks: &[NamedTask<'_>], parent: u32, lacks: Option<Missing>) -> ExitCode {
    let Ok(control) = process::enlist(parent).map(Arc::new) else {
        return ExitCode::FAILURE;
    };
    let teller = Arc::clone(&control);
    panics::end_with(move |why| {
        // The coordinator may be gone; then nobody is left to tell.
        let _ = say(&teller, &Word::Panicked(why), &[]);
    });
    let done =
        lacks.map_or_else(|| serve(tasks, &control), |lacks| Err(SetupError::from(lacks).into()));
    let code = if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    // The coordinator may be gone; then nobody is left to tell.
    let _ = say(&control, &done.map_or_else(Word::Failed, Word::Done), &[]);
    code
}

fn serve(tasks: &[NamedTask<'_>], control: &Control) -> Result<Value, Failure> {
    let (Order::Task { name, params, plugins }, fds) = hear(control)? else {
        return Err(unexpected().into());
    };
    plugins::learn(plugins);
    let task = tasks.iter().find(|task| task.name == name);
    let task = task.ok_or_else(|| format!("unknown task '{name}'"))?;
    (task.run)(&mut WorkerContext { control, params, fds, effective: Vec::new() })
}

fn say(control: &Control, word: &Word, fds: &[OwnedFd]) -> io::Result<()> {
    let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    control.send(&serde_json::to_string(word)?, &fds)
}

fn hear(control: &Control) -> io::Result<(Order, Vec<OwnedFd>)> {
    let parcel = control.receive(None)?;
    Ok((serde_json::from_str(&parcel.text)?, parcel.fds))
}

fn unexpected() -> io::Error {
    io::Error::other("the coordinator sent something else")
}

/// What a worker on a task has.
#[derive(Debug)]
pub struct WorkerContext<'a> {
    control: &'a Control,
    params: Value,
    /// The descriptors it was given, in order.
    pub fds: Vec<OwnedFd>,
    /// Values of knobs that attaching has reported.
    pub effective: Vec<(String, KnobValue)>,
}

impl<'a> WorkerContext<'a> {
    /// What it was told.
    ///
    /// # Errors
    /// It was told something else.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(self.params.clone()).map_err(|error| format!("task: {error}"))
    }

    /// The page that it shares with the other workers: the first descriptor it was given.
    ///
    /// # Errors
    /// None was given, or what is no page with so many slots.
    pub fn page(&mut self, slots: usize) -> io::Result<Page> {
        if self.fds.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Page::from_fd(self.fds.remove(0), slots)
    }

    /// Where it says what it has to say.
    pub(crate) fn control(&self) -> &'a Control {
        self.control
    }

    /// Waits for the wiring of its end.
    ///
    /// # Errors
    /// The coordinator is gone.
    pub fn wiring(&mut self) -> io::Result<Wiring> {
        match hear(self.control)? {
            (Order::Wiring(Names { names, words }), fds) => Ok(Wiring { fds, names, words }),
            _ => Err(unexpected()),
        }
    }

    /// Says that it has come so far, with whatever the coordinator must know, and waits for the word to go on; returns
    /// what came with that.
    ///
    /// # Errors
    /// The coordinator is gone.
    pub fn ready<T: Serialize>(&mut self, told: &T) -> Result<Value, String> {
        self.hand_over(told, Vec::new())
    }

    /// Says the same and waits for nothing: [`WorkerContext::control`] is readable when it is to go on.
    pub(crate) fn announce<T: Serialize>(&self, told: &T) -> Result<(), String> {
        let told = serde_json::to_value(told).map_err(|error| error.to_string())?;
        say(self.control, &Word::Ready(told), &[]).map_err(|error| error.to_string())
    }

    /// Waits for the word to go on; returns what came with that.
    pub(crate) fn go(&self) -> Result<Value, String> {
        match hear(self.control) {
            Ok((Order::Go(told), _)) => Ok(told),
            Ok(_) => Err(unexpected().to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The same with descriptors, of which no copy stays here.
    ///
    /// # Errors
    /// The coordinator is gone.
    pub fn hand_over<T: Serialize>(
        &mut self,
        told: &T,
        fds: Vec<OwnedFd>,
    ) -> Result<Value, String> {
        let told = serde_json::to_value(told).map_err(|error| error.to_string())?;
        say(self.control, &Word::Ready(told), &fds).map_err(|error| error.to_string())?;
        drop(fds);
        self.go()
    }

    /// Asks the coordinator to be called after so many ns.
    pub(crate) fn alarm(&self, ns: u64) -> io::Result<()> {
        say(self.control, &Word::Alarm(ns), &[])
    }
}

impl Meet for WorkerContext<'_> {
    fn swap(&mut self, mine: Wiring) -> Result<Wiring, SetupError> {
        let word = Word::Swap(Names { names: mine.names, words: mine.words });
        let swapped = say(self.control, &word, &mine.fds).and_then(|()| self.wiring());
        swapped.map_err(|error| SetupError::Protocol(format!("swap: {error}")))
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.effective.push((knob.to_owned(), value));
    }
}

/// Pins a worker, where it has a CPU. A sandbox may refuse to let a process choose its CPUs: then this placement cannot
/// be had here.
///
/// # Errors
/// It cannot be pinned.
pub fn pin(cpu: Option<usize>) -> Result<(), Failure> {
    let Some(cpu) = cpu else { return Ok(()) };
    affinity::pin(cpu).map_err(|error| SetupError::from(not_pinned(cpu, &error)).into())
}

/// Why a process cannot be pinned to a CPU. A sandbox refuses it for all of them alike.
fn not_pinned(cpu: usize, error: &io::Error) -> Missing {
    let words = words(error);
    let what = match error.kind() {
        io::ErrorKind::InvalidInput => {
            format!("no process can be pinned to CPU {cpu} (sched_setaffinity: {words})")
        }
        _ => format!("no process can be pinned to a CPU (sched_setaffinity: {words})"),
    };
    Missing::new(what, "a sandbox that allows it, or --place free, which does without")
}

/// Why no process can be pinned at all.
pub(crate) fn pinning_objection() -> Option<Missing> {
    // To the CPUs that it has, which changes nothing.
    let allowed = affinity::allowed_cpus().ok()?;
    let tried = affinity::allow(process::own_pid(), &allowed);
    tried.err().map(|error| not_pinned(*allowed.first().unwrap_or(&0), &error))
}

/// Why work that a study wants came to nothing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::FailureKind;

    #[test]
    fn a_refused_pinning_is_unavailable_and_names_the_way_out() {
        let failure = pin(Some(100_000)).expect_err("no such CPU");
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert!(failure.reason.contains("CPU 100000") && failure.reason.contains("--place free"));
    }
}
