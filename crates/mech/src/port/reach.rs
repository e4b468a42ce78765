//! Access that the ends of a channel give each other: to their memory, or to their descriptors.
//!
//! It outlives the port that it belonged to, because a receiver that pulls, or a sender that pushes, may be behind. It
//! is let go of when the peer has let go too, looked at when the next port of such a kind is made, or with the process.

use crate::budget;
use ipcperf_core::{Fault, Meet, SetupError, Wiring};
use ipcperf_sys::io::memory::turns::{self, Turns};
use ipcperf_sys::io::peer;
use ipcperf_sys::process;
use std::sync::{Mutex, PoisonError};

/// Bytes of the messages of one direction that may be under way.
const UNDER_WAY: usize = 8 << 20;

/// How many of this size that are; a power of two, as [`Turns`] count.
pub(crate) fn under_way(size: usize) -> usize {
    1 << budget::messages(size, UNDER_WAY, turns::MOST as u32).ilog2()
}

/// Tells the peer who this process is and what it should know, lets it reach into this one, and returns the number of
/// the other process and what it has told, once both may begin.
pub(crate) fn introduce(
    meet: &mut dyn Meet,
    telling: Vec<u64>,
) -> Result<(u32, Vec<u64>), SetupError> {
    let names = vec![process::own_pid().to_string()];
    let told = meet.swap(Wiring { names, words: telling, ..Wiring::default() })?;
    let pid = told.names.first().and_then(|name| name.parse().ok());
    let pid = pid.ok_or_else(|| SetupError::Protocol("the peer did not say who it is".into()))?;
    peer::admit(pid);
    meet.swap(Wiring::default())?;
    Ok((pid, told.words))
}

/// Turns, and what the other process reaches into.
pub(crate) struct Reached<T> {
    pub(crate) turns: Turns,
    pub(crate) object: T,
}

impl<T: Send> Lent for Reached<T> {
    fn is_over(&self) -> bool {
        self.turns.is_peer_gone()
    }
}

/// The same as a port holds it. Dropped, it tells the peer, and lets go of it all once that has let go too.
pub(crate) struct Lending<T: Send + 'static>(Option<Reached<T>>);

impl<T: Send + 'static> Lending<T> {
    pub(crate) fn new(turns: Turns, object: T) -> Self {
        Self(Some(Reached { turns, object }))
    }

    #[inline(always)]
    pub(crate) fn get(&mut self) -> Result<&mut Reached<T>, Fault> {
        // There until it is dropped.
        self.0.as_mut().ok_or(Fault::Closed)
    }
}

impl<T: Send + 'static> Drop for Lending<T> {
    fn drop(&mut self) {
        let Some(mut reached) = self.0.take() else { return };
        reached.turns.let_go();
        if !reached.is_over() {
            KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(reached));
        }
    }
}

/// What the peer may still use.
trait Lent: Send {
    /// Whether the peer has let go of the channel.
    fn is_over(&self) -> bool;
}

static KEPT: Mutex<Vec<Box<dyn Lent>>> = Mutex::new(Vec::new());

/// Lets go of what no peer uses any more.
pub(crate) fn sweep() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).retain(|lent| !lent.is_over());
}
