//! C19: a system call that fails ends a run of messages, not the process.

use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{OptionSet, Seat};
use ipcperf_sys::trace::Trace;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// What the calls of a transfer may fail with by their manual pages, by name: `errno(3)`.
const ERRORS: [(&str, i32); 8] = [
    ("EIO", 5),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EINVAL", 22),
    ("EPIPE", 32),
    ("ECONNRESET", 104),
    ("ENOBUFS", 105),
];
/// Round trips of one attempt.
const TRIPS: u64 = 5;
/// An end that has lost a wake-up waits for ever, which is not the question here.
const PATIENCE: Duration = Duration::from_millis(400);

/// Some call of some end fails once in each way. The end may report a fault, go on, or wait; it may not die.
pub(crate) fn no_panic_on_errors(scene: &Scene<'_>) -> Result<(), Trouble> {
    if !Trace::CAN_FAIL {
        let text = "calls cannot be made to fail on this architecture; x86-64 can";
        return Err(Trouble::Unavailable(text.into()));
    }
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    let mut struck = false;
    for seat in Seat::BOTH {
        for (name, errno) in ERRORS {
            let batch = Batch { tolerant: true, ..Batch::new(TRIPS, Sizes::List(vec![size]), 0) };
            let script = Script::default().both(Step::Hold).both(Step::Watched(batch));
            let nth = scene.between(1, TRIPS);
            let mut pair = scene.opened(&options, size, script)?;
            pair.attached()?;
            let trace = pair.trace()?;
            pair.go_both()?;
            let deadline = scene.deadline.min(Instant::now() + PATIENCE);
            match trace.fail(seat.index(), nth, errno, deadline) {
                Ok(has_failed) => struck |= has_failed,
                // It waits for what the call would have brought.
                Err(error) if error.kind() == ErrorKind::TimedOut => struck = true,
                Err(error) => {
                    pair.wait("the end of the process", |ends| ends[seat.index()].died.is_some())?;
                    let how = pair.ends[seat.index()].died.clone().unwrap_or_default();
                    ensure(false, || {
                        format!("{name} from call {nth} of the {seat:?}: {error}: {how}")
                    })?;
                }
            }
        }
    }
    match struck {
        true => Ok(()),
        false => Err(Trouble::NotApplicable("calls: none that may fail".into())),
    }
}
