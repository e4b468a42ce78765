//! System V message queues. They are no descriptors: they have a key and outlive every process.
//!
//! # Safety
//! A message buffer starts with the `long` the kernel calls the message type, 8-byte aligned, followed by the bytes;
//! lengths passed never exceed what follows. Control structures are live and of the type the command asks for.

use crate::io::last_errno;
use crate::io::names::{SYSV_QUEUE, Unlink};
use crate::io::system_v::{self, Most};
use crate::io::{Buffer, raw};
use crate::sysctl;
use ipcperf_core::{Missing, SetupError};
use std::path::Path;

/// How many queues there may be (`msgget(2)`).
const MOST: Most = Most {
    what: "System V message queues",
    name: "kernel.msgmni",
    default: 32_000,
    set: "kernel.msgmni=32000",
    letter: 'q',
};

/// Bytes of the message type before the payload.
const TYPE: usize = size_of::<libc::c_long>();
/// The type of every message: queues here have one direction, so there is nothing to select.
const ONLY: libc::c_long = 1;

/// A queue, removed when dropped.
#[derive(Debug)]
pub struct Queue {
    id: Id,
    _noted: Unlink,
}

/// How any process names the queue in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub i32);

impl Queue {
    /// Makes a queue that only this user may use, noted in the ledger of the run.
    ///
    /// # Errors
    /// `Unavailable` where the kernel has none, or no more; otherwise the call that failed.
    pub fn create(directory: &Path) -> Result<Self, SetupError> {
        let made = system_v::create(directory, SYSV_QUEUE, "msgget", get);
        let (id, noted) = made.map_err(|error| match error {
            SetupError::Sys { call, code: libc::ENOSYS } if call == "msgget" => {
                Missing::new("this kernel has no System V queues", "a kernel with CONFIG_SYSVIPC")
                    .into()
            }
            SetupError::Sys { call, code: libc::ENOSPC } if call == "msgget" => {
                MOST.reached(sysctl::number("kernel/msgmni").unwrap_or(MOST.default)).into()
            }
            other => other,
        })?;
        Ok(Self { id: Id(id), _noted: noted })
    }

    /// Its number, valid until it is removed.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Asks for a capacity where one is given, and returns the one in force, in bytes of payload.
    ///
    /// # Errors
    /// `Unavailable` when the capacity is above what this user may have; otherwise the failed `msgctl`.
    pub fn set_capacity(&self, bytes: Option<u64>) -> Result<u64, SetupError> {
        let mut facts = self.facts()?;
        if let Some(bytes) = bytes {
            facts.msg_qbytes = bytes;
            // SAFETY: live facts of this queue, of the type IPC_SET takes.
            if unsafe { libc::msgctl(self.id.0, libc::IPC_SET, &raw mut facts) } != 0 {
                return Err(match last_errno() {
                    libc::EPERM => {
                        let limit = sysctl::number("kernel/msgmnb").unwrap_or(16384);
                        let what =
                            format!("a queue of {bytes} bytes is above kernel.msgmnb ({limit})");
                        Missing::new(what, format!("sysctl kernel.msgmnb={bytes}")).into()
                    }
                    code => SetupError::sys(format!("msgctl IPC_SET {bytes} bytes"), code),
                });
            }
            facts = self.facts()?;
        }
        Ok(facts.msg_qbytes)
    }

    fn facts(&self) -> Result<libc::msqid_ds, SetupError> {
        facts(self.id).map_err(|code| SetupError::sys("msgctl IPC_STAT", code))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Gone already if somebody else removed it.
        let _ = remove(self.id.0);
    }
}

fn get(key: i32, flags: i32) -> Result<i32, i32> {
    // SAFETY: takes two integers.
    system_v::number(unsafe { libc::msgget(key, flags) })
}

fn facts(id: Id) -> Result<libc::msqid_ds, i32> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut facts: libc::msqid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: live facts of the type IPC_STAT fills.
    let returned = unsafe { libc::msgctl(id.0, libc::IPC_STAT, &raw mut facts) };
    if returned < 0 { Err(last_errno()) } else { Ok(facts) }
}

fn remove(id: i32) -> Result<bool, i32> {
    // SAFETY: IPC_RMID looks at no structure.
    system_v::removed(unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) })
}

/// Whether a queue with this number exists.
#[must_use]
pub fn exists(id: Id) -> bool {
    facts(id).is_ok()
}

/// Removes the queue with `key`; `false` if there is none.
///
/// # Errors
/// The `errno`, `EPERM` for a queue of another user.
pub fn remove_by_key(key: i32) -> Result<bool, i32> {
    system_v::remove_by_key(key, |key| get(key, 0), remove)
}

/// The buffer of a port: message type and payload.
#[derive(Debug)]
pub struct Message {
    buffer: Buffer,
}

impl Message {
    /// Room for payloads up to `len` bytes; the type starts `offset` bytes (a multiple of 8) into a page.
    ///
    /// # Errors
    /// There is no memory, or `offset` is odd.
    pub fn new(len: usize, offset: usize) -> Result<Self, SetupError> {
        if !offset.is_multiple_of(TYPE) {
            return Err(SetupError::Protocol(format!(
                "buffer offset {offset} is not a multiple of 8"
            )));
        }
        let mut buffer = Buffer::new(len.saturating_add(TYPE), offset)?;
        if let Some(head) = buffer.get_mut(TYPE) {
            head.copy_from_slice(&ONLY.to_ne_bytes());
        }
        Ok(Self { buffer })
    }

    /// The first `len` bytes of the payload, or `None` if there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn payload(&mut self, len: usize) -> Option<&mut [u8]> {
        self.buffer.get_mut(len.checked_add(TYPE)?)?.get_mut(TYPE..)
    }

    /// Sends the first `len` bytes of the payload; sleeps while the queue is full, unless `nowait`.
    ///
    /// # Errors
    /// The `errno`: `EINVAL` for a message above `kernel.msgmax` or longer than the buffer, `EIDRM` once the queue
    /// was removed, `EAGAIN` for a full queue with `nowait`.
    #[inline(always)]
    pub fn send(&mut self, queue: Id, len: usize, nowait: bool) -> Result<usize, i32> {
        let all = self.buffer.get_mut(len.saturating_add(TYPE)).ok_or(libc::EINVAL)?;
        let at = all.as_ptr() as usize;
        let flags = if nowait { libc::IPC_NOWAIT as usize } else { 0 };
        // SAFETY: type and `len` bytes are inside the buffer.
        unsafe { raw::call6(libc::SYS_msgsnd, [queue.0 as usize, at, len, flags, 0, 0]) }
    }

    /// Receives one message of at most `len` bytes into the payload and returns its length; sleeps while there is
    /// none, unless `nowait`.
    ///
    /// # Errors
    /// The `errno`: `E2BIG` for a longer message, which stays in the queue; `EAGAIN` for an empty queue with `nowait`
    /// (the kernel's word is `ENOMSG`).
    #[inline(always)]
    pub fn receive(&mut self, queue: Id, len: usize, nowait: bool) -> Result<usize, i32> {
        let all = self.buffer.get_mut(len.saturating_add(TYPE)).ok_or(libc::EINVAL)?;
        let at = all.as_mut_ptr() as usize;
        let flags = if nowait { libc::IPC_NOWAIT as usize } else { 0 };
        // Type 0 asks for the oldest message.
        // SAFETY: type and `len` bytes are inside the buffer.
        let step =
            unsafe { raw::call6(libc::SYS_msgrcv, [queue.0 as usize, at, len, 0, flags, 0]) };
        step.map_err(|code| if code == libc::ENOMSG { libc::EAGAIN } else { code })
    }
}
