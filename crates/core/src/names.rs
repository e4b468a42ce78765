//! The closed word lists that identify a cell. Each word is spelled the same on the command line, in job files, in tables
//! and in result documents.

use std::fmt;

/// A word that is not in its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What kind of word was expected: "placement", "pattern".
    pub kind: &'static str,
    /// What was given.
    pub given: String,
    /// The words that exist.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "unknown {} '{}' (known: {})", self.kind, self.given, self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// The known word nearest to `given`, if one is near enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Jaro and Winkler do not see that two letters of a short word are swapped: 'tpc' would be nearer to 'tcp6' than to 'tcp'.
    let is_one_slip = |word: &str| given.len() > 2 && strsim::osa_distance(given, word) == 1;
    known
        .into_iter()
        .map(|word| {
            let similarity = strsim::jaro_winkler(given, word);
            (if is_one_slip(word) { similarity + 1.0 } else { similarity }, word)
        })
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// Implements a closed list of words: all of them, the text of each, and parsing. An older word that is still read stands
/// behind the new one: `Item = "new" | "old"`.
#[macro_export]
macro_rules! words {
    ($kind:literal $name:ident { $($item:ident = $text:literal $(| $old:literal)?,)+ }) => {
        impl $name {
            /// All words of the list, in their natural order.
            pub const ALL: &'static [Self] = &[$(Self::$item,)+];

            /// Their texts, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// The word as written everywhere.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$item => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, $crate::UnknownName> {
                match text {
                    $($text $(| $old)? => Ok(Self::$item),)+
                    _ => Err($crate::UnknownName {
                        kind: $kind,
                        given: text.to_owned(),
                        known: Self::NAMES.to_vec(),
                    }),
                }
            }
        }
    };
}

/// A closed list of words that documents contain, too. The crate needs serde, and a feature `schema` with schemars.
#[macro_export]
macro_rules! names {
    ($(#[$doc:meta])* $kind:literal $name:ident { $($(#[$item_doc:meta])* $item:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$item_doc])* #[serde(rename = $text)] $item,)+ }

        $crate::words! { $kind $name { $($item = $text,)+ } }
    };
}
crate::names! {
    /// Where a client connects to.
    "listener" ListenerKind {
        /// A UNIX stream socket with a path.
        UnixPath = "unix-path",
        /// A UNIX stream socket with a name outside of the file system.
        UnixAbstract = "unix-abstract",
        /// A UNIX socket that keeps boundaries, with a path.
        UnixSeqpacket = "unix-seqpacket",
        /// TCP over 127.0.0.1.
        Tcp = "tcp",
        /// TCP over `::1`.
        Tcp6 = "tcp6",
        /// Multipath TCP over 127.0.0.1.
        Mptcp = "mptcp",
        /// SCTP over 127.0.0.1, one-to-one.
        Sctp = "sctp",
        /// A VM socket over the loopback transport.
        Vsock = "vsock",
        /// FIFOs: a client makes one for its request, and tells the server through one that all share.
        Fifo = "fifo",
    }
}

crate::names! {
    /// What grows where one mechanism may overtake another.
    #[derive(Default)]
    "axis" Axis {
        /// Bytes of a message.
        #[default]
        Size = "size",
        /// Clients that connect at the same time.
        Conns = "conns",
        /// Messages due per second.
        Rate = "rate",
        /// The pause before each round trip.
        Think = "think",
    }
}

crate::names! {
    /// How a server waits for those who connect.
    "server" Serving {
        /// It sleeps in `accept`.
        Accept = "accept",
        /// It sleeps in `epoll_wait`, then accepts all clients that have come.
        Epoll = "epoll",
    }
}

crate::names! {
    /// Which side closes a connection first. Over TCP its port then stays in TIME_WAIT.
    #[derive(Default)]
    "side" Closes {
        /// A client, once it has the whole answer; the server waits for that.
        Client = "client",
        /// The server, behind its answer.
        #[default]
        Server = "server",
    }
}

crate::names! {
    /// How a server of the pattern `serve` is built.
    #[derive(Default)]
    "style of a server" ServerStyle {
        /// One process that waits in `epoll_wait` for all connections, then reads, answers and writes.
        #[default]
        Epoll = "epoll",
        /// A thread for each connection, which sleeps in `read`.
        Threads = "threads",
        /// A process for each connection, which sleeps in `read`.
        Process = "process",
        /// One process that receives and sends through one io_uring for all connections.
        Uring = "uring",
        /// One process that waits in an edge-triggered `epoll_wait`, and reads each connection until nothing is left.
        Edge = "edge",
        /// The same, where each read reports how much is left (`SO_INQ`, `TCP_INQ`), so that none finds nothing.
        Inq = "inq",
    }
}

crate::names! {
    /// What clients are that connect at the same time.
    "kind of clients" ClientKind {
        /// Threads of one process.
        Threads = "threads",
        /// Processes.
        Processes = "processes",
    }
}

crate::names! {
    /// What an idle CPU does while a cell runs.
    #[derive(Default)]
    "idle policy" Idle {
        /// Whatever the machine is set to.
        #[default]
        AsIs = "as-is",
        /// `/dev/cpu_dma_latency` is held at 0, so that idle CPUs poll instead of halting.
        Poll = "poll",
    }
}

crate::names! {
    /// What happens to the payload on both sides. The 8-byte stamp that proves the transfer is written and checked
    /// under every policy.
    #[derive(Default)]
    "touch policy" Touch {
        /// Only the stamp.
        None = "none",
        /// The first cache line (64 bytes).
        Header = "header",
        /// One word in every cache line is written fresh by the sender and loaded by the receiver.
        #[default]
        CacheLine = "cacheline",
        /// Every byte is written fresh and compared.
        Full = "full",
        /// The message begins and ends in private memory of each end. Where the mechanism lends memory that is not the
        /// end's own, an end copies the whole message into it, or out of it; elsewhere as `none`, but that all bytes arrive.
        Copy = "copy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_to_itself_and_a_wrong_one_names_the_list() {
        for listener in ListenerKind::ALL {
            assert_eq!(listener.name().parse(), Ok(*listener));
        }
        let error = "unix_path".parse::<ListenerKind>().expect_err("an underscore is not a dash");
        assert!(error.to_string().contains("unknown listener 'unix_path'"));
        assert!(error.known.contains(&"unix-path"));
    }

    #[test]
    fn a_capability_has_a_new_name_for_people_and_the_old_one_in_documents_and_both_are_read() {
        use crate::spec::Capability;
        for old in ["told-of-close", "told-of-death"] {
            let can: Capability = old.parse().expect("an old name");
            assert_eq!(can.name().parse(), Ok(can));
            assert_ne!(can.name(), old);
            assert_eq!(serde_json::to_value(can).expect("a text"), old);
            assert_eq!(serde_json::from_value::<Capability>(old.into()).expect("a name"), can);
        }
    }

    #[test]
    fn the_nearest_word_is_offered_only_if_it_is_near() {
        let known = ["pipe", "pipe/spin", "unix-stream", "tcp"];
        assert_eq!(nearest("pip", known), Some("pipe"));
        assert_eq!(nearest("unixstream", known), Some("unix-stream"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("tpc", ["tcp", "tcp6", "udp"]), Some("tcp"));
    }
}
