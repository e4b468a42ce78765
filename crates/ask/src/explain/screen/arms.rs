//! Which cells explaining a round trip takes: the round trip itself, and for each part an arm that isolates it.

use ipcperf_core::result::{Cell, CellKey, ResultSet, Status};
use ipcperf_core::{Idle, PatternKind, Placement};

/// What wakes and does nothing else: a write that adds one, a read that takes one, each a system call.
pub(crate) const WAKER: &str = "eventfd-semaphore";

/// What copies and does nothing else: the receiver of a ring in shared memory copies each message once.
pub(crate) const COPIER: &str = "shm-ring/futex";

/// How many messages the bursts of an arm have, the most wanted first: so many as a mechanism is sure to keep. What the
/// one wake-up of a burst is not the same in is divided by them.
pub(crate) const BURSTS: [u64; 6] = [64, 32, 16, 8, 4, 2];

/// Bytes of the messages of a burst that may lie in a channel together, so that the sender is not stopped: a quarter of
/// a pipe.
const UNDER_WAY: u64 = 16 << 10;

/// A cell that explaining takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Needed {
    /// The mechanism by its full name.
    pub mechanism: String,
    /// Bytes of a message; a wake-up has its own.
    pub size: u64,
    /// Where.
    pub placement: Placement,
    /// What idle CPUs do.
    pub idle: Idle,
    /// Messages of a burst: 0 for a round trip, otherwise the most.
    pub burst: u64,
}

impl Needed {
    fn trip(mechanism: &str, size: u64, placement: Placement) -> Self {
        Self { mechanism: mechanism.to_owned(), size, placement, idle: Idle::AsIs, burst: 0 }
    }

    fn burst(mechanism: &str, size: u64, burst: u64) -> Self {
        Self { burst, ..Self::trip(mechanism, size, Placement::SameCpu) }
    }

    /// What its loop does.
    #[must_use]
    pub(crate) const fn pattern(&self) -> PatternKind {
        if self.burst > 0 { PatternKind::Burst } else { PatternKind::PingPong }
    }

    fn is(&self, key: &CellKey) -> bool {
        let has_burst = match self.burst {
            0 | 1 => key.load.burst == self.burst,
            most => (2..=most).contains(&key.load.burst),
        };
        key.mechanism == self.mechanism
            && key.pattern == self.pattern()
            && (key.size_bytes == self.size || key.size_bytes == 0)
            && key.placement == self.placement
            && key.idle == self.idle
            && key.load.align.is_none()
            && has_burst
    }

    /// This cell of a document, or why it has no figure.
    pub(crate) fn of<'a>(&self, set: &'a ResultSet) -> Result<&'a Cell, String> {
        let cell = set.cells.iter().find(|cell| self.is(&cell.key));
        let cell = cell.ok_or_else(|| format!("no cell of {} for it", self.mechanism))?;
        match cell.status {
            Status::Ok => Ok(cell),
            _ => Err(cell.reason.clone().unwrap_or_else(|| "no figure".to_owned())),
        }
    }
}

/// The pair of cells on one CPU of which one sends many messages for a wake-up, and the other one.
pub(crate) fn bursts(mechanism: &str, size: u64) -> [Needed; 2] {
    [BURSTS[0], 1].map(|burst| Needed::burst(mechanism, size, burst))
}

/// The pair of cells on one CPU that differ in what they copy.
pub(crate) fn copies(size: u64) -> [Needed; 2] {
    let burst = (UNDER_WAY / size.max(1)).clamp(2, BURSTS[0]);
    [size, 1].map(|size| Needed::burst(COPIER, size, burst))
}

/// Round trips of what only wakes.
pub(crate) fn wake(placement: Placement, idle: Idle) -> Needed {
    Needed { idle, ..Needed::trip(WAKER, 0, placement) }
}

/// All cells that explaining round trips of these mechanisms takes, the round trips first.
#[must_use]
pub(crate) fn needed(mechanisms: &[String], size: u64, places: &[Placement]) -> Vec<Needed> {
    let mut all: Vec<Needed> = Vec::new();
    for place in places {
        all.extend(mechanisms.iter().map(|name| Needed::trip(name, size, *place)));
    }
    all.extend(mechanisms.iter().flat_map(|name| bursts(name, 1)));
    all.extend(bursts(WAKER, 0));
    for place in places {
        all.push(wake(*place, Idle::AsIs));
        all.extend(place.is_two_cpus().then(|| wake(*place, Idle::Poll)));
    }
    all.extend(if size > 1 { copies(size).to_vec() } else { Vec::new() });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trips_come_first_and_every_arm_once() {
        let names = ["a", "b"].map(str::to_owned);
        let all = needed(&names, 64, &[Placement::SameCpu, Placement::SameLlc]);
        let trips: Vec<_> = all.iter().take_while(|one| one.burst == 0).collect();
        assert_eq!(trips.len(), 4);
        assert_eq!((trips[0].mechanism.as_str(), trips[1].mechanism.as_str()), ("a", "b"));
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?} twice");
        }
        // Four bursts of both, two of what wakes, two of what copies; three round trips of what wakes.
        assert_eq!(all.len(), 4 + 4 + 2 + 3 + 2);
        assert!(all.iter().all(|one| one.burst == 0 || one.placement == Placement::SameCpu));
        assert_eq!(copies(1 << 20)[0].burst, 2, "no more than a channel may keep");
    }
}
