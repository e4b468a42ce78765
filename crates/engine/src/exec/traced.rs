//! One run of a pipeline under a tracer: which system calls it makes. It yields no times.

use super::{Error, Outlet, cannot_start, connect, judge};
use crate::measured::PipelinePlan;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::io::pipe::splice;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::trace::Follow;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How late the change of a program is noticed where another thread takes the signal.
const LATEST: Duration = Duration::from_millis(20);

/// The calls of each program by number.
pub(super) type Calls = Vec<BTreeMap<i64, u64>>;

/// Runs a pipeline once.
///
/// # Errors
/// Why it came to nothing.
pub(super) fn follow(
    plan: &PipelinePlan,
    deadline: Instant,
    interrupts: Option<&Interrupts>,
) -> Result<Calls, Error> {
    let null = splice::null().map_err(|error| Error::Failed(error.to_string()))?;
    let mut follow = Follow::new()?;
    let mut outlets = Vec::new();
    let output = connect(plan, |name, command, _| {
        let (errors, theirs) = Outlet::open()?;
        command.stderr(theirs);
        outlets.push(errors);
        follow.start(command).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::Failed(format!("{name}: ptrace is refused here; allow it to this user"))
            }
            _ => cannot_start(name, &error),
        })
    })?;
    outlets.push(output);
    loop {
        let programs = follow.programs();
        for ((at, program), name) in programs.iter().enumerate().zip(&plan.commands) {
            let Some(status) = program.ended else { continue };
            outlets[at].take_all(null.as_fd())?;
            // Nobody holds the pipes here: who is cut off need not wait for the end of the next one.
            judge(name, status, at + 1 < programs.len(), &outlets[at])?;
        }
        if programs.iter().all(|program| program.ended.is_some()) {
            return Ok(programs.iter().map(|program| program.calls.clone()).collect());
        }
        let open: Vec<usize> = (0..outlets.len()).filter(|at| !outlets[*at].is_closed).collect();
        let mut fds: Vec<_> = open.iter().map(|at| outlets[*at].fd.as_fd()).collect();
        fds.push(follow.fd());
        fds.extend(interrupts.map(Interrupts::fd));
        let ready = wait_any(&fds, deadline.min(Instant::now() + LATEST))?;
        if interrupts.is_some_and(Interrupts::arrived) {
            return Err(Error::Interrupted);
        }
        if Instant::now() >= deadline {
            let running = plan.commands.iter().zip(follow.programs());
            let late = running.filter(|(_, program)| program.ended.is_none());
            return Err(Error::Deadline(late.map(|(name, _)| name.clone()).collect()));
        }
        for (at, _) in open.iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
            outlets[*at].take(null.as_fd())?;
        }
        follow.go_on()?;
    }
}
