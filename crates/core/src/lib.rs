//! The vocabulary of ipcperf. It makes no system call, has no `unsafe` and prints nothing.
//!
//! # Words of the code (one per thing; docs/WORDS.md has those that users read)
//!
//! | word | meaning |
//! |---|---|
//! | bare mechanism | what a library is built on: a run of both says what the library makes of it |
//! | port | one end of an open channel; what the hot loop holds |
//! | seat | which of the two ends a process is |
//! | listener | the socket or FIFO that clients connect to; a site is its name or address |
//! | apart | ends in namespaces of their own: what listens or has an address is then made by the follow, inside |
//! | load | what a pattern is asked to do beyond that: pauses, rates, windows, clients, a transform of the payload, a file that the payload is cut from |
//! | cell | mechanism x pattern x size x placement x idle x knobs x touch x load: what gets a number |
//! | coordinator | the process that the user started: it plans, opens channels, supervises, and times nothing |
//! | worker | a process that the coordinator started to do one task |
//! | shim | the worker that stands in for a program which is the follow |
//! | task | what a worker is sent to do, by name: one end of a slice, the server of a connect slice |
//! | supervisor | starts, wires, watches and ends workers |
//! | page | the memory that workers and their coordinator share; its gate is where all of them meet |
//! | slice length | how far a timed region has come, and whether it goes on |
//! | bench | measures slices: page, run directory, clock and bounds of a run |
//! | bench program | a program of another package, started by `cargo bench`, that measures mechanisms of its own |
//! | connection | two sockets that belong together; `connect` makes one for each request, `serve` keeps them |
//! | style | how the server of `serve` is built: one epoll loop, one io_uring, or a thread or a process for each connection |
//! | fan | a pattern with many processes at one end, and all its workers |
//! | message | one transfer in one direction; a round trip is two messages |
//! | pipeline | programs of others, each reading the output of the one before it; no cell |
//! | result set | all cells or pipelines of a run, host facts and plan: one immutable document |
//! | question | cells that differ in nothing but mechanism and knobs; each is compared with one of them, the reference |
//! | primary metric | the metric of a pattern that cells are compared by |
//! | floor, bound | the machine's own limits: null system call, cache-line round trip, futex wake, memcpy |

use std::collections::BTreeMap;

#[cfg_attr(doc, doc(hidden))]
pub mod digest;
#[cfg_attr(doc, doc(hidden))]
pub mod errno;
#[cfg_attr(doc, doc(hidden))]
pub mod findings;
mod link;
mod load;
mod load_value;
mod mechanism;
mod missing;
mod names;
mod namespace;
mod neighbour;
pub mod options;
mod pattern;
mod placement;
mod port;
pub mod prelude;
#[cfg_attr(doc, doc(hidden))]
pub mod result;
mod scheduling;
mod seat;
mod shape;
#[cfg_attr(doc, doc(hidden))]
pub mod shell_words;
mod spec;
mod spec_builder;
#[cfg_attr(doc, doc(hidden))]
pub mod text;
#[cfg_attr(doc, doc(hidden))]
pub mod units;

// What an author of a mechanism uses, which `ipcperf` shows.
pub use link::{Guard, Link, Trail, Wiring};
pub use mechanism::{
    Attach, AttachToEach, Lends, Mechanism, Meet, SetupError, ToEach, Usual, Visitor,
};
pub use missing::Missing;
pub use names::ListenerKind;
pub use namespace::{Namespace, Namespaces, Network};
pub use options::{Knob, KnobKind, KnobValue, OptionError, OptionSet, Options};
pub use pattern::PatternKind;
pub use port::{DynPort, Fault, Fill, Part, Port, Take, fault};
pub use seat::Seat;
pub use shape::Shape;
pub use spec::{
    BackPressure, Direction, Family, Limit, Memory, OnClose, OnRestart, Payload, Peers, Reach,
    Spec, Syscalls, Transfers, Wait,
};

// What the crates of ipcperf share beyond that.
#[doc(hidden)]
pub use load::{Load, LoadFacts, LoadKey};
#[doc(hidden)]
pub use load_value::{
    Address, Align, Arrivals, LoadError, MOST_PEERS, Mix, MixPart, Offered, PACKET_HEAD,
    PayloadFile, Service, Transform,
};
#[doc(hidden)]
pub use names::{
    Axis, ClientKind, Closes, Idle, ServerStyle, Serving, Touch, UnknownName, nearest,
};
#[doc(hidden)]
pub use namespace::{FollowIn, parted};
#[doc(hidden)]
pub use neighbour::{Neighbour, NeighbourPlace, NeighbourWork};
#[doc(hidden)]
pub use pattern::{Ends, Exchange, Figure, Limitation, PatternFacts, Rated};
#[doc(hidden)]
pub use placement::Placement;
#[doc(hidden)]
pub use port::Erased;
#[doc(hidden)]
pub use scheduling::{CpuWeight, EachEnd, Nice, SchedClass};
#[doc(hidden)]
pub use spec::Capability;

/// A map of these pairs; the last one of equal keys stays. `collect` makes the same map with a sort of its own in every place
/// where it stands, which is 3 to 5 KiB of program each.
#[doc(hidden)]
pub fn map_of<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}
