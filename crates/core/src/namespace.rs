//! Namespaces of Linux: what two processes on one host may or may not share, and which of them the follow enters.

use crate::missing::Missing;
use crate::names;
use crate::names::nearest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

names! {
    /// A kind of namespace, `namespaces(7)`.
    "namespace" Namespace {
        /// Network: interfaces, addresses, and the abstract names of UNIX sockets.
        Net = "net",
        /// System V objects and the names of POSIX queues.
        Ipc = "ipc",
        /// Mounts: what a path leads to.
        Mnt = "mnt",
        /// Process numbers.
        Pid = "pid",
        /// Users and their capabilities.
        User = "user",
    }
}

/// Some of the namespaces. As words with a plus sign between them: `net+ipc`; `none`, `all`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespaces(u8);

impl Namespaces {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// The network namespace.
    pub const NET: Self = Self::NONE.with(Namespace::Net);
    /// The namespace of System V objects and POSIX queues.
    pub const IPC: Self = Self::NONE.with(Namespace::Ipc);
    /// The mount namespace.
    pub const MNT: Self = Self::NONE.with(Namespace::Mnt);
    /// The PID namespace.
    pub const PID: Self = Self::NONE.with(Namespace::Pid);
    /// The user namespace.
    pub const USER: Self = Self::NONE.with(Namespace::User);
    /// The PID namespace and the user namespace.
    pub const PID_AND_USER: Self = Self::PID.with(Namespace::User);

    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Namespace::ALL.iter().fold(Self::NONE, |all, one| all.with(*one))
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, one: Namespace) -> Self {
        Self(self.0 | 1 << one as u8)
    }

    /// These but for one.
    #[must_use]
    pub const fn without(self, one: Namespace) -> Self {
        Self(self.0 & !(1 << one as u8))
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, those: Self) -> Self {
        Self(self.0 | those.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether this one is among them.
    #[must_use]
    pub const fn has(self, one: Namespace) -> bool {
        self.0 & 1 << one as u8 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in their natural order.
    pub fn each(self) -> impl Iterator<Item = Namespace> {
        Namespace::ALL.iter().copied().filter(move |one| self.has(*one))
    }
}

impl Serialize for Namespaces {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.each())
    }
}

impl fmt::Display for Namespaces {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => out.write_str("none"),
            all if all == Self::all() => out.write_str("all"),
            some => {
                let names: Vec<&str> = some.each().map(Namespace::name).collect();
                out.write_str(&names.join("+"))
            }
        }
    }
}

/// The namespaces that the follow enters before it attaches. As a word `net`, `net+ipc`, `all`, or `pid:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(into = "String", try_from = "String")]
pub enum FollowIn {
    /// New ones of these kinds, of its own.
    New(Namespaces),
    /// Those of the process with this number, as far as they differ from its own.
    Of(u32),
}

impl FollowIn {
    /// How it is written that it enters none.
    const NOWHERE: &'static str = "none";
    /// What the number of a process stands behind.
    const PROCESS: &'static str = "pid:";

    /// What was typed; `None` where it enters none.
    pub(crate) fn parsed(text: &str) -> Result<Option<Self>, String> {
        if text == Self::NOWHERE { Ok(None) } else { text.parse().map(Some) }
    }

    /// A number that is as large as there are more of them, and is none only where it enters none.
    pub(crate) fn order(self) -> u64 {
        match self {
            Self::New(Namespaces(bits)) => u64::from(bits),
            Self::Of(process) => u64::from(u8::MAX) + u64::from(process),
        }
    }
}

impl fmt::Display for FollowIn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New(which) => which.fmt(out),
            Self::Of(process) => write!(out, "{}{process}", Self::PROCESS),
        }
    }
}

impl From<FollowIn> for String {
    fn from(which: FollowIn) -> Self {
        which.to_string()
    }
}

impl TryFrom<String> for FollowIn {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for FollowIn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(number) = text.strip_prefix(Self::PROCESS) {
            let process = number.parse().ok().filter(|number| *number > 0 && *number <= 1 << 22);
            return process.map(Self::Of).ok_or_else(|| {
                format!("'{text}' does not name a process (pid:N, with N from 1 to 4194304)")
            });
        }
        if text == "all" {
            return Ok(Self::New(Namespaces::all()));
        }
        let mut which = Namespaces::NONE;
        for word in text.split('+') {
            which = which.with(word.parse().map_err(|_| {
                let known = Namespace::ALL.iter().map(|one| one.name());
                let all = known.clone().collect::<Vec<_>>().join(", ");
                let near = nearest(word, known.chain([Self::NOWHERE, "all"]));
                let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                format!("unknown namespace '{word}' (known: {all}, none, all, pid:N){near}")
            })?);
        }
        Ok(Self::New(which))
    }
}

names! {
    /// What lies between two ends that have addresses.
    #[derive(Default)]
    "network" Network {
        /// The loopback interface of the network namespace that both are in.
        #[default]
        Loopback = "loopback",
        /// A pair of virtual Ethernet devices between two network namespaces, one for each end.
        Veth = "veth",
        /// The same with a bridge in a third namespace, and a pair of devices from each end to it.
        Bridge = "bridge",
    }
}

impl Network {
    /// Whether both ends are in the network namespace that ipcperf was started in.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        *self == Self::Loopback
    }

    /// The address of the lead (0) or the follow (1), of the same family as this loopback address. The namespaces are
    /// nobody else's, so that these are free in them whatever the addresses of the host are.
    #[must_use]
    pub const fn address(self, seat: usize, loopback: IpAddr) -> IpAddr {
        let last = if seat == 0 { 1 } else { 2 };
        match (self, loopback) {
            (Self::Loopback, _) => loopback,
            (_, IpAddr::V4(_)) => IpAddr::V4(Ipv4Addr::new(10, 38, 0, last)),
            (_, IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::new(0xfd38, 0, 0, 0, 0, 0, 0, last as u16)),
        }
    }
}

/// Why ends that must share `needed` do not meet where one of them is in other namespaces, `entered`.
#[must_use]
pub fn parted(needed: Namespaces, entered: Namespaces) -> Option<Missing> {
    let (what, how) = match needed.common(entered).each().next()? {
        Namespace::Net => (
            "loopback addresses and abstract names end at the network namespace",
            "--net veth or --net bridge for what has an address, a path, or a mechanism that is handed over",
        ),
        Namespace::Ipc => (
            "identifiers of System V objects end at the IPC namespace",
            "a mechanism that is handed over as a descriptor",
        ),
        Namespace::Mnt => (
            "the directory that both ends use ends at the mount namespace",
            "a mechanism that is handed over as a descriptor",
        ),
        Namespace::Pid => (
            "process and thread numbers end at the PID namespace, and an end knows its peer by one",
            "a mechanism that is handed over as a descriptor",
        ),
        Namespace::User => (
            "reaching into the peer takes rights in the peer's user namespace",
            "a mechanism that is handed over as a descriptor",
        ),
    };
    Some(Missing::new(what, format!("{how} ('ipcperf help mechanisms', \"What still meets\")")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in ["net", "net+ipc", "mnt+user", "all", "pid:17"] {
            assert_eq!(text.parse::<FollowIn>().expect(text).to_string(), text);
        }
        let Ok(FollowIn::New(all)) = "net+ipc+mnt+pid+user".parse() else { panic!("five words") };
        assert_eq!((all, all.to_string().as_str()), (Namespaces::all(), "all"));
        assert_eq!(Namespaces::NONE.to_string(), "none");
    }

    #[test]
    fn a_wrong_word_names_the_nearest_right_one() {
        for (text, part) in [
            ("nett", "did you mean 'net'?"),
            ("net+users", "unknown namespace 'users'"),
            ("pid:", "'pid:' does not name a process"),
            ("pid:0", "from 1 to"),
            ("", "known: net, ipc"),
        ] {
            let told = text.parse::<FollowIn>().expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
    }

    #[test]
    fn ends_are_parted_by_what_they_must_share_and_by_nothing_else() {
        for needed in Namespace::ALL {
            for entered in Namespace::ALL {
                let [one, other] = [needed, entered].map(|which| Namespaces::NONE.with(*which));
                assert_eq!(parted(one, other).is_some(), needed == entered);
            }
        }
        assert_eq!(parted(Namespaces::NONE, Namespaces::all()), None);
    }

    #[test]
    fn both_ends_have_an_address_of_their_own_in_either_family() {
        for loopback in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let [lead, follow] = [0, 1].map(|seat| Network::Bridge.address(seat, loopback));
            assert!(lead != follow && lead.is_ipv4() == loopback.is_ipv4());
            assert_eq!(Network::Loopback.address(1, loopback), loopback);
        }
    }
}
