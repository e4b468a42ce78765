//! System calls of running programs as they happen, with what their descriptors stand for: by programs in the kernel
//! ([`Kernel`]), which need rights, or by `ptrace(2)` ([`Traced`]), which stops the program at each call.

mod acts;
mod bpf;
mod datagrams;
mod details;
mod event;
mod kernel;
mod memory;
mod programs;
mod purpose;
mod shared;
mod traced;
mod waits;

pub(crate) use acts::{Act, Does, does};
pub(crate) use kernel::Kernel;
pub(crate) use purpose::WAITING;
pub(crate) use shared::{Shared, listening_ports, program_of};
pub(crate) use traced::{Traced, process_of};
pub(crate) use waits::Clock;

/// A call that has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Its number on this architecture.
    pub(crate) number: i64,
    /// The process, by the number that all its threads share.
    pub(crate) process: u32,
    /// The thread.
    pub(crate) thread: u32,
    /// When it was entered, ns of the monotonic clock; 0 if that was not seen.
    pub(crate) begun: u64,
    /// When it returned.
    pub(crate) ended: u64,
    /// What it returned: an error is negative.
    pub(crate) result: i64,
    /// Its first four arguments. Of a call that changes a System V semaphore, which is its object, the last one is by how much.
    ///
    /// Where programs are looked at closely: of a look at a clock the second one is where the time was stored, and the third one
    /// is where the function returns to that looked (0: unknown); of a sleep the last one is its length or its end, ns; of a
    /// socket option the last one is its value.
    pub(crate) arguments: [u64; 4],
    /// What its first argument stands for, if that is a descriptor: the same number for the same object. 0: unknown.
    pub(crate) object: u64,
    /// The kind of the first control message that was sent along (`SCM_RIGHTS`, `SCM_CREDENTIALS`), and 1; 0: none.
    pub(crate) control: u32,
}

/// What a descriptor stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A socket of any family; its type (`SOCK_STREAM`).
    Unix(i32),
    /// A socket of IP, likewise; version 6 or 4.
    Internet(i32, u8),
    /// A socket of another family.
    Socket(i32),
    /// A pipe or FIFO.
    Pipe,
    /// A System V queue.
    Queue,
    /// A System V semaphore.
    Semaphore,
    /// Whatever else, by its name alone: a file's last name, `[eventfd]`.
    Other,
}

/// An object, once it is known, and once more when it has a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// As in [`Call::object`].
    pub(crate) id: u64,
    /// What it is.
    pub(crate) kind: Kind,
    /// Two sockets are each other's peers where each has the other's number here: its own, and the peer's.
    pub(crate) pair: [u128; 2],
    /// The last part of a path, the name of an abstract socket, or of what is no socket.
    pub(crate) name: String,
    /// The name is its own, not its peer's.
    pub(crate) owns_name: bool,
    /// Ports of a socket of IP: its own, and the peer's.
    pub(crate) ports: [u16; 2],
    /// Connections are accepted from it.
    pub(crate) listens: bool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A call.
    Call(Call),
    /// An object that calls are about.
    Object(Object),
    /// A process made another one.
    Fork {
        /// The one.
        parent: u32,
        /// The other.
        child: u32,
    },
    /// A thread that moves data may use these CPUs.
    Placed {
        /// The thread.
        thread: u32,
        /// Ascending.
        cpus: Vec<usize>,
    },
    /// A process runs another program.
    Program {
        /// The process.
        process: u32,
        /// The beginning of the program's name, as the kernel keeps it (15 bytes).
        name: String,
        /// It has the runtime of Go, as far as programs are looked at closely.
        is_go: bool,
    },
}
