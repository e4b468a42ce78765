//! A file of slots that both ends keep mapped: the sender writes one, a word about it travels another way.
//!
//! # Safety
//! The mapping belongs to the memory it came from, which is held for as long, and slots lie inside (checked when it is
//! attached). Which end may touch a slot is decided by the word that travels and by the engine's credits, as `Spec`
//! says: the sender writes a slot again only after a credit has told that it was looked at.

use crate::shm::SharedMemory;
use ipcperf_core::SetupError;
use std::os::fd::OwnedFd;

/// Slots of one direction, as one end sees them.
#[derive(Debug)]
pub struct Slots {
    memory: SharedMemory,
    stride: usize,
    count: usize,
    largest: usize,
}

/// Bytes from one slot to the next: whole pages, so that messages begin alike.
fn stride(largest: usize) -> usize {
    let page = rustix::param::page_size();
    largest.max(1).checked_next_multiple_of(page).unwrap_or(usize::MAX)
}

impl Slots {
    /// Bytes of `count` slots for messages up to `largest` bytes.
    #[must_use]
    pub fn bytes(largest: usize, count: usize) -> usize {
        stride(largest).saturating_mul(count)
    }

    /// Makes the file and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create(largest: usize, count: usize) -> Result<[OwnedFd; 2], SetupError> {
        let memory = SharedMemory::create("ipcperf-slots", Self::bytes(largest, count));
        let memory = memory.map_err(failed)?;
        Ok([memory.duplicate_fd().map_err(failed)?, memory.duplicate_fd().map_err(failed)?])
    }

    /// Maps it.
    ///
    /// # Errors
    /// The descriptor is not of such a file.
    pub fn attach(fd: OwnedFd, largest: usize, count: usize) -> Result<Self, SetupError> {
        let memory = SharedMemory::from_fd(fd).map_err(failed)?;
        if memory.len() < Self::bytes(largest, count) {
            return Err(SetupError::Protocol("the shared memory is smaller than its slots".into()));
        }
        Ok(Self { memory, stride: stride(largest), count, largest })
    }

    /// A slot to write; `None` if there is none or the message is too long.
    #[inline(always)]
    #[must_use]
    pub fn write(&mut self, slot: usize, len: usize) -> Option<&mut [u8]> {
        if slot >= self.count || len > self.largest {
            return None;
        }
        // SAFETY: inside the mapping, by the line above and the check in `attach`; see the module.
        Some(unsafe {
            std::slice::from_raw_parts_mut(self.memory.as_ptr().add(slot * self.stride), len)
        })
    }

    /// A slot to read; `None` if there is none or the message is too long.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, slot: usize, len: usize) -> Option<&[u8]> {
        if slot >= self.count || len > self.largest {
            return None;
        }
        // SAFETY: as in `write`.
        Some(unsafe {
            std::slice::from_raw_parts(self.memory.as_ptr().add(slot * self.stride), len)
        })
    }

    /// How many there are.
    #[inline(always)]
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

fn failed(error: std::io::Error) -> SetupError {
    SetupError::sys("shared memory", error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_a_slot_is_read_from_it_and_there_is_nothing_beyond() {
        let [one, two] = Slots::create(5000, 3).expect("memory");
        let mut one = Slots::attach(one, 5000, 3).expect("a mapping");
        let two = Slots::attach(two, 5000, 3).expect("a mapping");
        for slot in 0..3 {
            one.write(slot, 5000).expect("a slot").fill(slot as u8 + 1);
        }
        for slot in 0..3 {
            assert!(
                two.read(slot, 5000).is_some_and(|got| got.iter().all(|b| *b == slot as u8 + 1))
            );
        }
        assert!(one.write(3, 1).is_none() && two.read(3, 1).is_none());
        assert!(one.write(0, 5001).is_none() && two.read(0, 5001).is_none());
    }
}
