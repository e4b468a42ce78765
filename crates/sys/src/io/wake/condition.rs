//! A robust mutex and a condition variable in shared memory, `pthread_cond_init(3)`: those of the C library, with the
//! word they guard.
//!
//! # Safety
//! A mailbox lies inside a mapping that outlives every use of it. Its mutex and its condition were initialised as
//! shared between processes before a descriptor of the memory left the process that made it. `is_full` and `word` are
//! touched only by the holder of the mutex, through raw pointers: no reference to them is ever made. Pointers to
//! mailboxes come from `Shared::address` alone.

use crate::io::memory::shared::Shared;
use ipcperf_core::{Seat, SetupError};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// One direction.
#[repr(C)]
struct Mailbox {
    mutex: libc::pthread_mutex_t,
    condition: libc::pthread_cond_t,
    is_full: bool,
    word: u64,
}

/// One end of two mailboxes, one for each direction.
pub struct Mailboxes {
    both: Shared<Mailbox>,
    seat: Seat,
}

impl Mailboxes {
    /// Makes the mailboxes of a channel, both empty, and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        let both = Shared::<Mailbox>::create("ipcperf-mailboxes")?;
        for seat in Seat::BOTH {
            // SAFETY: room for a mailbox that nobody uses yet.
            unsafe { initialise(both.address(seat)) }?;
        }
        both.descriptors()
    }

    /// Becomes the end of `seat`.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn attach(fd: OwnedFd, seat: Seat) -> Result<Self, SetupError> {
        Ok(Self { both: Shared::from_fd(fd)?, seat })
    }

    /// Puts a word into the peer's mailbox, over one that is there already, and wakes the peer if it sleeps.
    ///
    /// # Errors
    /// `EOWNERDEAD` where the peer died with the mutex in its hands; otherwise the `errno`.
    #[inline(always)]
    pub fn put(&self, word: u64) -> Result<(), i32> {
        let mailbox = self.both.address(self.seat);
        // SAFETY: the mutex was initialised; see the module.
        lock(mailbox, unsafe { libc::pthread_mutex_lock(&raw mut (*mailbox).mutex) })?;
        // SAFETY: the mutex is held.
        unsafe {
            (*mailbox).word = word;
            (*mailbox).is_full = true;
        }
        unlock(mailbox)?;
        // After the mutex was given back, so that a woken process finds it free.
        // SAFETY: the condition was initialised; see the module.
        done(unsafe { libc::pthread_cond_signal(&raw mut (*mailbox).condition) })
    }

    /// Takes the word out of its own mailbox; sleeps while there is none.
    ///
    /// # Errors
    /// As [`Mailboxes::put`].
    #[inline(always)]
    pub fn take(&self) -> Result<u64, i32> {
        let mailbox = self.both.address(self.seat.other());
        // SAFETY: the mutex was initialised; see the module.
        lock(mailbox, unsafe { libc::pthread_mutex_lock(&raw mut (*mailbox).mutex) })?;
        // SAFETY: the mutex is held.
        if !unsafe { (*mailbox).is_full } {
            sleep(mailbox)?;
        }
        // SAFETY: the mutex is held.
        let word = unsafe {
            (*mailbox).is_full = false;
            (*mailbox).word
        };
        unlock(mailbox)?;
        Ok(word)
    }
}

/// Sleeps until the mailbox is full; the mutex is held before and afterwards. Out of line: an end that sleeps has time,
/// and the compiler would keep the address of the called function in a register, where nobody can see what it is.
#[inline(never)]
fn sleep(mailbox: *mut Mailbox) -> Result<(), i32> {
    loop {
        // SAFETY: both were initialised, and the mutex is held; it is held again afterwards.
        lock(mailbox, unsafe {
            libc::pthread_cond_wait(&raw mut (*mailbox).condition, &raw mut (*mailbox).mutex)
        })?;
        // SAFETY: the mutex is held.
        if unsafe { (*mailbox).is_full } {
            return Ok(());
        }
    }
}

/// What a call that acquires the mutex has returned.
#[inline(always)]
fn lock(mailbox: *mut Mailbox, code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(not_locked(mailbox, code)) }
}

/// The holder of the mutex died: it is held by the caller now, and is repaired and given back, so that every later
/// attempt of either end succeeds and nobody is blocked by the dead.
#[cold]
#[inline(never)]
fn not_locked(mailbox: *mut Mailbox, code: i32) -> i32 {
    if code == libc::EOWNERDEAD {
        // SAFETY: with this answer the caller holds the mutex.
        unsafe {
            libc::pthread_mutex_consistent(&raw mut (*mailbox).mutex);
            libc::pthread_mutex_unlock(&raw mut (*mailbox).mutex);
        }
    }
    code
}

#[inline(always)]
fn unlock(mailbox: *mut Mailbox) -> Result<(), i32> {
    // SAFETY: the caller holds the mutex.
    done(unsafe { libc::pthread_mutex_unlock(&raw mut (*mailbox).mutex) })
}

#[inline(always)]
fn done(code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// Makes an empty mailbox.
///
/// # Safety
/// There is room for one that nobody uses yet.
unsafe fn initialise(mailbox: *mut Mailbox) -> Result<(), SetupError> {
    let named = |name: &'static str| move |code| SetupError::sys(name, code);
    let mut mutex = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
    let mut condition = MaybeUninit::<libc::pthread_condattr_t>::uninit();
    let (mutex, condition) = (mutex.as_mut_ptr(), condition.as_mut_ptr());
    // SAFETY: attributes are initialised before any other use; the rest is the caller's promise.
    unsafe {
        done(libc::pthread_mutexattr_init(mutex)).map_err(named("pthread_mutexattr_init"))?;
        done(libc::pthread_mutexattr_setpshared(mutex, libc::PTHREAD_PROCESS_SHARED))
            .map_err(named("pthread_mutexattr_setpshared"))?;
        done(libc::pthread_mutexattr_setrobust(mutex, libc::PTHREAD_MUTEX_ROBUST))
            .map_err(named("pthread_mutexattr_setrobust"))?;
        done(libc::pthread_mutex_init(&raw mut (*mailbox).mutex, mutex))
            .map_err(named("pthread_mutex_init"))?;
        done(libc::pthread_condattr_init(condition)).map_err(named("pthread_condattr_init"))?;
        done(libc::pthread_condattr_setpshared(condition, libc::PTHREAD_PROCESS_SHARED))
            .map_err(named("pthread_condattr_setpshared"))?;
        done(libc::pthread_cond_init(&raw mut (*mailbox).condition, condition))
            .map_err(named("pthread_cond_init"))?;
        (*mailbox).is_full = false;
        (*mailbox).word = 0;
        // Attributes of the C libraries of Linux own nothing, so that a failure above leaves nothing behind.
        libc::pthread_mutexattr_destroy(mutex);
        libc::pthread_condattr_destroy(condition);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_died_is_told_once_and_then_the_mailbox_works_again() {
        let [lead, follow] = Mailboxes::create().expect("a page of memory");
        let dying = lead.try_clone().expect("a descriptor");
        let lead = Mailboxes::attach(lead, Seat::Lead).expect("the mailboxes");
        let follow = Mailboxes::attach(follow, Seat::Follow).expect("the mailboxes");
        // A thread that ends with the mutex in its hands is what a killed process is. Its mapping stays until then:
        // the kernel marks the mutex there.
        let dead = std::thread::spawn(|| {
            let dying = Mailboxes::attach(dying, Seat::Lead).expect("the mailboxes");
            let mailbox = dying.both.address(Seat::Lead);
            // SAFETY: the mutex was initialised.
            assert_eq!(unsafe { libc::pthread_mutex_lock(&raw mut (*mailbox).mutex) }, 0);
            std::mem::forget(dying);
        });
        dead.join().expect("it ends in order");
        assert_eq!(follow.take(), Err(libc::EOWNERDEAD));
        assert_eq!(lead.put(7), Ok(()));
        assert_eq!(follow.take(), Ok(7));
    }
}
