//! What is compared with what, and how close the two must be.

use clap::ValueEnum;

/// What a case measures, and hence its unit; the names are ipcperf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// One message there and one back; nanoseconds, median over all messages
    PingPong,
    /// One way, the receiver counts; bytes per second
    Stream,
    /// Clients that stay connected to one server; nanoseconds for each answered request
    Serve,
}

/// What carries the bytes of a bare loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Carrier {
    /// Two pipes
    Pipe,
    /// A pair of connected UNIX sockets
    UnixStream,
    /// A connection over loopback, without Nagle's delay
    Tcp,
    /// Two event counters
    Eventfd,
    /// A word in shared memory for each direction, woken and waited for with futex(2); never spins
    Futex,
    /// A ring of slots in shared memory for each direction; both ends spin
    Ring,
    /// A flag in shared memory with 8 bytes beside it; both ends spin, round trips only
    Flag,
}

/// The name that the command line has for it.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is hidden").get_name().to_owned()
}

impl Carrier {
    /// Whether a waiting end burns its CPU. Two such ends on one CPU wait for the scheduler's tick.
    pub(crate) fn spins(self) -> bool {
        matches!(self, Self::Flag | Self::Ring)
    }

    /// Whether it carries nothing but a wake-up, for which ipcperf is asked for 0 bytes.
    pub(crate) fn only_wakes(self) -> bool {
        matches!(self, Self::Eventfd | Self::Futex)
    }

    /// The sizes that are measured, bytes.
    fn sizes(self, pattern: Pattern) -> &'static [usize] {
        match (pattern, self) {
            (Pattern::PingPong, Self::Eventfd | Self::Flag) => &[8],
            (Pattern::PingPong, Self::Futex) => &[4],
            (Pattern::PingPong, _) => &[1, 4 << 10],
            (Pattern::Serve, Self::UnixStream | Self::Tcp) => &[64],
            (Pattern::Serve, _) => &[],
            (Pattern::Stream, Self::Eventfd | Self::Futex | Self::Flag) => &[],
            (Pattern::Stream, _) => &[4 << 10, 64 << 10, 1 << 20],
        }
    }
}

/// Where the two ends run, by ipcperf's word for it and on the CPUs that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) cpus: [usize; 2],
}

impl Place {
    pub(crate) fn is_one_cpu(&self) -> bool {
        self.cpus[0] == self.cpus[1]
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {},{}", self.name, self.cpus[0], self.cpus[1])
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) carrier: Carrier,
    pub(crate) pattern: Pattern,
    /// Bytes per message that the bare loop moves.
    pub(crate) bytes: usize,
    pub(crate) place: Place,
    /// Connections of a server; 1 elsewhere.
    pub(crate) conns: usize,
    pub(crate) rival: Rival,
}

/// What a cell is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// A loop of this program, without any of ipcperf's abstractions.
    Bare,
    /// A program in C that calls the C library, compiled by the machine's own compiler.
    PlainC,
}

impl Pattern {
    /// How many connections are measured.
    fn conns(self) -> &'static [usize] {
        match self {
            Self::Serve => &[1, 16, 64],
            Self::PingPong | Self::Stream => &[1],
        }
    }
}

impl Case {
    /// The mechanism of ipcperf that it is held against.
    pub(crate) fn mechanism(&self) -> String {
        if self.carrier.spins() { "shm-ring/spin".to_owned() } else { name(self.carrier) }
    }

    /// The range in which the ratio ipcperf / bare may lie.
    pub(crate) fn target(&self) -> (f64, f64) {
        match (self.pattern, self.carrier) {
            _ if self.rival == Rival::PlainC => (0.95, 1.05),
            // A general ring against 8 bytes in the flag's own line: it also keeps a length and a turn.
            (_, Carrier::Flag) => (0.0, 1.15),
            // Two that spin have no least time: how often they look decides. With two pauses between looks and not one the
            // bare ring takes 1.12 times as long for 1 B and 0.95 times for 4 KiB.
            (Pattern::PingPong, Carrier::Ring) => (0.0, 1.05),
            // Below the lower end the bare loop is at fault, not ipcperf to be praised.
            (Pattern::PingPong | Pattern::Serve, _) => (0.97, 1.05),
            (Pattern::Stream, _) => (0.95, f64::INFINITY),
        }
    }
}

/// For people, and for `--only`.
impl std::fmt::Display for Case {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {} ", self.mechanism(), name(self.pattern))?;
        match self.bytes {
            bytes if bytes >= 1 << 20 => write!(out, "{} MiB", bytes >> 20)?,
            bytes if bytes >= 1 << 10 => write!(out, "{} KiB", bytes >> 10)?,
            bytes => write!(out, "{bytes} B")?,
        }
        if self.pattern == Pattern::Serve {
            write!(out, " conns={}", self.conns)?;
        }
        if self.rival == Rival::PlainC { write!(out, ", plain C") } else { Ok(()) }
    }
}

/// Every case that can run at these places, in the order of the table.
pub(crate) fn all(places: &[Place]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &pattern in Pattern::value_variants() {
        for place in places {
            for &carrier in Carrier::value_variants() {
                if carrier.spins() && place.is_one_cpu() {
                    continue;
                }
                let sizes = carrier.sizes(pattern).iter();
                cases.extend(sizes.flat_map(|&bytes| {
                    pattern.conns().iter().map(move |&conns| Case {
                        carrier,
                        pattern,
                        bytes,
                        place: place.clone(),
                        conns,
                        rival: Rival::Bare,
                    })
                }));
            }
        }
    }
    cases
}

/// Round trips on one CPU, where each return after a system call counts, compared with a program in C.
pub(crate) fn beside_c(place: &Place) -> Vec<Case> {
    let carriers = [Carrier::Pipe, Carrier::UnixStream, Carrier::Tcp, Carrier::Eventfd];
    let sizes =
        |carrier: Carrier| -> &[usize] { if carrier.only_wakes() { &[8] } else { &[64, 4 << 10] } };
    let each = carriers.into_iter().flat_map(|carrier| {
        sizes(carrier).iter().map(move |&bytes| Case {
            carrier,
            pattern: Pattern::PingPong,
            bytes,
            place: place.clone(),
            conns: 1,
            rival: Rival::PlainC,
        })
    });
    each.collect()
}

/// The arguments of `cargo xtask bare`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Job {
    pub(super) carrier: Carrier,
    pub(super) pattern: Pattern,
    /// Bytes per message
    pub(super) bytes: usize,
    /// CPU of the lead, which times or sends
    pub(super) lead: usize,
    /// CPU of the follow
    pub(super) follow: usize,
    /// Length of the timed region
    pub(super) milliseconds: usize,
    /// Where in its page a buffer begins, bytes
    #[arg(default_value_t = 0)]
    pub(super) offset: usize,
    /// Connections of a server
    #[arg(default_value_t = 1)]
    pub(super) conns: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_named_alone() {
        let places = [("same-cpu", [0, 0]), ("same-llc", [0, 1])];
        let places = places.map(|(name, cpus)| Place { name, cpus });
        let cases = [all(&places), beside_c(&places[0])].concat();
        let mut names: Vec<_> = cases.iter().map(|case| format!("{case} {}", case.place)).collect();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), cases.len()), (59, 59));
        assert!(names.contains(&"shm-ring/spin ping-pong 4 KiB same-llc 0,1".to_owned()));
        assert!(names.contains(&"unix-stream stream 1 MiB same-cpu 0,0".to_owned()));
        assert!(names.contains(&"tcp ping-pong 4 KiB, plain C same-cpu 0,0".to_owned()));
        assert!(names.contains(&"tcp serve 64 B conns=16 same-llc 0,1".to_owned()));
    }

    #[test]
    fn no_spinning_case_is_put_on_one_cpu() {
        let cases = all(&[Place { name: "same-cpu", cpus: [1, 1] }]);
        assert!(cases.iter().all(|case| !case.carrier.spins()));
    }
}
