//! What is compared with what, and how close the two must be.

/// The CPUs of the lead and the follow.
pub(crate) type Cpus = [usize; 2];

/// What a case measures, and hence its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// One message there and one back; nanoseconds, median over all messages.
    RoundTrip,
    /// One way, the receiver counts; bytes per second.
    Stream,
}

impl Pattern {
    /// The name ipcperf gives it on its command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "ping-pong",
            Self::Stream => "stream",
        }
    }
}

/// What carries the bytes of a bare loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Pipe,
    UnixStream,
    Tcp,
    Eventfd,
    /// A word in shared memory, woken and waited for with `futex(2)`; never spins.
    Futex,
    /// A flag in shared memory that both ends spin on, the payload beside it; round trips only.
    Flag,
    /// A ring of slots in shared memory that both ends spin on, one in each direction.
    Ring,
    /// A flag without payload: what the machine charges for moving one cache line there and back.
    CacheLine,
}

impl Carrier {
    /// Whether a waiting end burns its CPU. Two such ends on one CPU wait for the scheduler's tick.
    pub(crate) fn spins(self) -> bool {
        matches!(self, Self::Flag | Self::Ring | Self::CacheLine)
    }
}

/// Where the two ends run. Which CPUs that means is asked of ipcperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    SameCpu,
    TwoCpus,
}

/// How near to the bare loop ipcperf must be; the ratio is always ipcperf / bare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// Below the lower end the bare loop is at fault, not ipcperf to be praised.
    Between(f64, f64),
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    /// The range in which the ratio may lie.
    pub(crate) fn range(self) -> (f64, f64) {
        match self {
            Self::Between(low, high) => (low, high),
            Self::AtMost(high) => (0.0, high),
            Self::AtLeast(low) => (low, f64::INFINITY),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Between(low, high) => write!(out, "{low:.2} to {high:.2}"),
            Self::AtMost(high) => write!(out, "<= {high:.2}"),
            Self::AtLeast(low) => write!(out, ">= {low:.2}"),
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The mechanism of ipcperf.
    pub(crate) mechanism: &'static str,
    /// The bare loop beside it.
    pub(crate) carrier: Carrier,
    pub(crate) pattern: Pattern,
    /// Bytes per message that the bare loop moves.
    pub(crate) bytes: usize,
    /// The size ipcperf is asked for: 0 where the mechanism only wakes.
    pub(crate) asked: usize,
    pub(crate) place: Place,
    pub(crate) target: Target,
}

impl Case {
    /// For people, and for `--only`.
    pub(crate) fn name(&self) -> String {
        format!("{} {} {}", self.mechanism, self.pattern.name(), size(self.bytes))
    }
}

/// `4 KiB` and the like; sizes here are exact multiples.
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// A round trip through the product should cost what the bare loop costs.
const ROUND_TRIP: Target = Target::Between(0.97, 1.05);
/// A general ring against 8 bytes in the flag's own line: it also keeps a length and a turn.
const SMALL_RING: Target = Target::AtMost(1.15);
/// Throughput of the product beside the bare loop.
const STREAM: Target = Target::AtLeast(0.95);

/// Every case, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let kernel =
        [("pipe", Carrier::Pipe), ("unix-stream", Carrier::UnixStream), ("tcp", Carrier::Tcp)];
    let places = [Place::SameCpu, Place::TwoCpus];
    let mut cases = Vec::new();
    let mut add = |mechanism, carrier, pattern, bytes, asked, place, target| {
        cases.push(Case { mechanism, carrier, pattern, bytes, asked, place, target });
    };
    for place in places {
        for (mechanism, carrier) in kernel {
            for bytes in [1, 4 << 10] {
                add(mechanism, carrier, Pattern::RoundTrip, bytes, bytes, place, ROUND_TRIP);
            }
        }
        add("eventfd", Carrier::Eventfd, Pattern::RoundTrip, 8, 0, place, ROUND_TRIP);
        add("futex", Carrier::Futex, Pattern::RoundTrip, 4, 0, place, ROUND_TRIP);
    }
    for (carrier, bytes, target) in [
        (Carrier::Ring, 1, ROUND_TRIP),
        (Carrier::Flag, 8, SMALL_RING),
        (Carrier::Ring, 4 << 10, ROUND_TRIP),
    ] {
        let place = Place::TwoCpus;
        add("shm-ring/spin", carrier, Pattern::RoundTrip, bytes, bytes, place, target);
    }
    for place in places {
        for (mechanism, carrier) in kernel {
            for bytes in [4 << 10, 64 << 10, 1 << 20] {
                add(mechanism, carrier, Pattern::Stream, bytes, bytes, place, STREAM);
            }
        }
    }
    for bytes in [4 << 10, 64 << 10, 1 << 20] {
        let place = Place::TwoCpus;
        add("shm-ring/spin", Carrier::Ring, Pattern::Stream, bytes, bytes, place, STREAM);
    }
    cases
}

/// The two placements as ipcperf names them, and the CPUs it chose for them.
#[derive(Clone, Debug)]
pub(crate) struct Placements {
    pub(crate) same: (String, Cpus),
    /// Absent on a machine that lends one CPU.
    pub(crate) two: Option<(String, Cpus)>,
}

impl Placements {
    /// Name and CPUs of a place, if this machine has it.
    pub(crate) fn of(&self, place: Place) -> Option<&(String, Cpus)> {
        match place {
            Place::SameCpu => Some(&self.same),
            Place::TwoCpus => self.two.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spinning_case_is_put_on_one_cpu() {
        assert!(all().iter().all(|case| !case.carrier.spins() || case.place == Place::TwoCpus));
    }

    #[test]
    fn every_case_can_be_named_alone() {
        let cases = all();
        let mut names: Vec<_> =
            cases.iter().map(|case| format!("{} {:?}", case.name(), case.place)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        assert_eq!(cases.len(), 40);
    }
}
