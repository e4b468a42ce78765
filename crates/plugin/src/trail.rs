//! What a process that runs foreign code leaves for its coordinator: the call that it is in, and what it wrote to
//! standard error. Both are in memory that outlives the process, however it ends.

use ipcperf_core::SetupError;
use ipcperf_core::text::clean;
use ipcperf_sys::shm::SharedMemory;
use rustix::fs::SeekFrom;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// A function of a plug-in, as a trail has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum TransportCall {
    /// The loading of the library, in which its constructors run.
    Load = 1,
    Transport,
    Probe,
    Limit,
    Window,
    Open,
    Close,
    Attach,
    Detach,
    Send,
    Recv,
    Flush,
    Finish,
    Expect,
    Events,
    Descriptor,
    Reserve,
    Commit,
    Abort,
    Peek,
    Release,
    Reason,
}

/// In their order.
const CALLS: [&str; 22] = [
    "the code that runs when it is loaded",
    "ipcperf_transport_v1",
    "probe",
    "limit",
    "window",
    "open",
    "close",
    "attach",
    "detach",
    "send",
    "recv",
    "flush",
    "finish",
    "expect",
    "events",
    "descriptor",
    "reserve",
    "commit",
    "abort",
    "peek",
    "release",
    "reason",
];

/// Where the text begins.
const TEXT: usize = 4096;
/// As much of what it writes is kept as it writes first.
const MOST: usize = 64 << 10;
/// As much of its end is shown.
const SHOWN: usize = 3;

/// One mapping of it.
#[derive(Debug)]
pub(crate) struct Trail(SharedMemory);

impl Trail {
    pub(crate) fn create() -> Result<Self, SetupError> {
        let memory = SharedMemory::create("ipcperf-trail", TEXT + MOST);
        memory.map(Self).map_err(SetupError::io("memory for what a plug-in writes"))
    }

    /// To pass to the process.
    pub(crate) fn fd(&self) -> Result<OwnedFd, SetupError> {
        self.0.duplicate_fd().map_err(SetupError::io("memory for what a plug-in writes"))
    }

    /// In the process: from now on this is its standard error.
    pub(crate) fn take_over(fd: OwnedFd) -> io::Result<Self> {
        rustix::fs::seek(&fd, SeekFrom::Start(TEXT as u64))?;
        rustix::stdio::dup2_stderr(&fd)?;
        SharedMemory::from_fd(fd).map(Self)
    }

    /// Where the process notes what it calls.
    #[inline(always)]
    pub(crate) fn word(&self) -> &AtomicU32 {
        self.0.first_word()
    }

    /// The call that it has not returned from.
    pub(crate) fn call(&self) -> Option<&'static str> {
        let number = self.word().load(Ordering::Relaxed) as usize;
        CALLS.get(number.checked_sub(1)?).copied()
    }

    /// The last lines of what it wrote, as one.
    pub(crate) fn written(&self) -> String {
        let words = self.0.words_from(TEXT);
        let bytes = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN)..];
        clean(&last.join(" / "), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_call_has_its_name() {
        let trail = Trail::create().expect("memory");
        assert_eq!(trail.call(), None);
        for (call, name) in [
            (TransportCall::Load, "the code that runs when it is loaded"),
            (TransportCall::Send, "send"),
            (TransportCall::Reason, "reason"),
        ] {
            trail.word().store(call as u32, Ordering::Relaxed);
            assert_eq!(trail.call(), Some(name));
        }
    }

    #[test]
    fn the_last_lines_are_shown_and_no_more_is_kept_than_there_is_room_for() {
        let trail = Trail::create().expect("memory");
        assert_eq!(trail.written(), "");
        let mut file = std::fs::File::from(trail.fd().expect("a descriptor"));
        rustix::fs::seek(&file, SeekFrom::Start(TEXT as u64)).expect("a file");
        file.write_all(b"one\ntwo\n\n three\x1b[2J\nfour\n").expect("room");
        assert_eq!(trail.written(), "two / three?[2J / four");
        assert!(file.write_all(&[b'x'; MOST]).is_err(), "it grows");
    }
}
