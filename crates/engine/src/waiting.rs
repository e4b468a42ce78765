//! How the coordinator waits: never for long at once, so that it notices whether it ran itself, and whether whom it waits
//! for stands still.

use ipcperf_sys::control::wait_any;
use ipcperf_sys::signals::Interrupts;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// How long it sleeps at once. A slice of a survey is shorter, and in a longer one a look takes microseconds.
pub(crate) const STEP: Duration = Duration::from_millis(250);

/// Waits until one of `fds` is readable or `deadline` has passed; says which are. `look` is called on the way.
pub(crate) fn wait(
    fds: &[BorrowedFd<'_>],
    deadline: Instant,
    interrupts: Option<&Interrupts>,
    look: impl Fn(),
) -> io::Result<Vec<bool>> {
    loop {
        let now = Instant::now();
        let until = deadline.min(now + STEP);
        let ready = wait_any(fds, until)?;
        if let Some(interrupts) = interrupts {
            interrupts.pulse().beat(until.saturating_duration_since(now));
        }
        if until == deadline || ready.contains(&true) {
            return Ok(ready);
        }
        look();
    }
}
