//! The ways in which an exchange can pass its object, and the system calls that each is made of.

use serde::{Deserialize, Serialize};

/// Descriptors that go with every message, whatever carries the object: with the header of the control message and
/// its padding they take 32 bytes, and so they do with the descriptor of a file beside them.
pub(super) const CLIENTS: usize = 3;

/// How the object gets across.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    /// In the datagram.
    Message,
    /// In the datagram, compressed.
    MessageGzip,
    /// Not at all: the datagram is empty.
    Empty,
    /// In a file that is created, unlinked, written and named by its descriptor.
    File,
    /// In a file that never had a name.
    OTmpfile,
    /// In an anonymous file that is written.
    Memfd,
    /// In an anonymous file that is written, then sealed; the receiver looks at the seals.
    SealedMemfd,
    /// In an anonymous file that both ends map.
    MappedMemfd,
    /// In anonymous files that the sender makes once and uses in turn.
    ReusedMemfd,
    /// In a queue in a mapped file, a record lock for each access.
    Queue,
    /// As before, but the receiver takes the lock only when it knows of no more.
    QueueAmortised,
}

/// System calls of one exchange, in their order, with how often.
type Calls = Vec<(&'static str, u64)>;

impl Mode {
    /// Whether the descriptor of a file goes with the message.
    pub(super) const fn has_file(self) -> bool {
        !matches!(
            self,
            Self::Message | Self::MessageGzip | Self::Empty | Self::Queue | Self::QueueAmortised
        )
    }

    /// Whether it needs a directory for files.
    pub(super) const fn has_place(self) -> bool {
        matches!(self, Self::File | Self::OTmpfile | Self::Queue | Self::QueueAmortised)
    }

    /// The calls of the sender and of the receiver; `None` where their number depends on chance.
    pub(super) fn calls(self) -> Option<[Calls; 2]> {
        let (before, after): (&[_], &[_]) = match self {
            Self::Message | Self::MessageGzip | Self::Empty => (&[], &[]),
            Self::File => (&["openat", "unlinkat", "write"], &["lseek", "read"]),
            Self::OTmpfile => (&["openat", "write"], &["lseek", "read"]),
            Self::Memfd => (&["memfd_create", "write"], &["lseek", "read"]),
            Self::SealedMemfd => (&["memfd_create", "write", "fcntl"], &["fcntl", "lseek", "read"]),
            Self::MappedMemfd => {
                (&["memfd_create", "ftruncate", "mmap", "munmap"], &["mmap", "munmap"])
            }
            Self::ReusedMemfd => (&["lseek", "write"], &["lseek", "read"]),
            Self::Queue => (&["fcntl", "fcntl"], &["fcntl", "fcntl"]),
            Self::QueueAmortised => return None,
        };
        let once = |names: &[&'static str]| names.iter().map(|name| (*name, 1)).collect::<Calls>();
        let mut sender = once(before);
        sender.extend([("pselect6", 1), ("sendmsg", 1)]);
        if self.has_file() && self != Self::ReusedMemfd {
            sender.push(("close", 1));
        }
        let mut receiver = vec![("pselect6", 1), ("recvmsg", 1)];
        receiver.extend(once(after));
        receiver.push(("close", CLIENTS as u64 + u64::from(self.has_file())));
        Some([sender, receiver])
    }
}

/// What is timed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Call {
    Select,
    SendMsg,
    RecvMsg,
    Open,
    Unlink,
    Write,
    Seal,
    Lseek,
    Read,
    Map,
    Unmap,
    /// Of the file that carries the object.
    Close,
    /// Of a descriptor that goes with the message.
    CloseClient,
    /// Queue and transformation: no system call of their own.
    Queue,
    Gzip,
}

impl Call {
    pub(super) const ALL: [Self; 15] = [
        Self::Select,
        Self::SendMsg,
        Self::RecvMsg,
        Self::Open,
        Self::Unlink,
        Self::Write,
        Self::Seal,
        Self::Lseek,
        Self::Read,
        Self::Map,
        Self::Unmap,
        Self::Close,
        Self::CloseClient,
        Self::Queue,
        Self::Gzip,
    ];

    /// As metrics and messages call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::SendMsg => "sendmsg",
            Self::RecvMsg => "recvmsg",
            Self::Open => "open",
            Self::Unlink => "unlink",
            Self::Write => "write",
            Self::Seal => "seal",
            Self::Lseek => "lseek",
            Self::Read => "read",
            Self::Map => "mmap",
            Self::Unmap => "munmap",
            Self::Close => "close",
            Self::CloseClient => "close_client",
            Self::Queue => "queue",
            Self::Gzip => "gzip",
        }
    }

    /// At most how often in one exchange.
    pub(super) const fn times(self) -> usize {
        if matches!(self, Self::CloseClient) { CLIENTS } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_the_study() {
        let [sender, receiver] = Mode::Message.calls().expect("fixed");
        assert_eq!(sender, [("pselect6", 1), ("sendmsg", 1)]);
        assert_eq!(receiver, [("pselect6", 1), ("recvmsg", 1), ("close", 3)]);
        let [file_sender, file_receiver] = Mode::File.calls().expect("fixed");
        let count = |list: &Calls| list.iter().map(|(_, times)| times).sum::<u64>();
        // Four more where it is sent and three more where it is received.
        assert_eq!(count(&file_sender), count(&sender) + 4);
        assert_eq!(count(&file_receiver), count(&receiver) + 3);
        assert_eq!(Mode::QueueAmortised.calls(), None);
    }

    #[test]
    fn calls_have_their_own_places_and_names() {
        for (index, call) in Call::ALL.into_iter().enumerate() {
            assert_eq!(call as usize, index);
            assert_eq!(Call::ALL.iter().filter(|other| other.name() == call.name()).count(), 1);
        }
    }
}
