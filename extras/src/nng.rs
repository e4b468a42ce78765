//! nng: a pair of sockets over `ipc://`, by the C library of the system.

use crate::ffi::nng::{Message, Socket};
use crate::library::{LIBRARY, THREADS, address, has_unix, start};
use crate::pair::{Pair, PairPort, Word};
use ipcperf::prelude::*;
use ipcperf::tools::Unlink;
use ipcperf::tools::socket::Kind;

ipcperf::options! {
    /// Knobs of nng.
    pub struct NngOptions {
        /// Messages that may wait at each end before a sender waits (NNG_OPT_SENDBUF, NNG_OPT_RECVBUF).
        pub waiting: u64 = (16, "16", Count { min: 0, max: 8192 }),
        /// Where the library's own threads run: on the CPU of their end, or on any.
        pub threads: String = ("pinned".into(), "pinned", Choice { words: THREADS }),
    }
}

/// A socket of the protocol `pair` at each end.
#[derive(Debug)]
pub struct Nng;

impl Mechanism for Nng {
    const SPEC: &'static Spec = &Spec {
        name: "nng",
        wait: Wait::Block,
        summary: "Two nng sockets of the protocol pair over ipc://, by libnng; an end sleeps until a thread of the library wakes it.",
        manual: &["unix(7)", "epoll(7)", "futex(2)"],
        pitfalls: &[
            "A message passes threads of the library at each end, each of which is woken for it.",
            "The library's threads share the CPU of their end unless threads=free: a pinned program is slower for it.",
            "Nothing tells of a dead peer: the library waits for it to come back, and a receiver waits for ever.",
            "What is under way when a peer closes may be lost: an end here says that it ends, and waits until its peer has read.",
            "By default nng refuses to receive a message beyond 1 MiB; here there is no limit.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Undetected,
        on_restart: OnRestart::GoesOn,
        // Into the library's memory, into the kernel, out of it.
        copies: 3,
        needs: &["CONFIG_UNIX", "libnng"],
        over: Some("unix-stream/epoll"),
        threads: true,
        ..LIBRARY
    };
    type Options = NngOptions;
    type Port = PairPort<Sockets>;

    fn probe(_: &NngOptions) -> Result<(), Missing> {
        has_unix(Kind::Stream)
    }

    fn lends(_: &NngOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &NngOptions) -> Result<Link, SetupError> {
        Ok(Link::default().guarded(Unlink::new(shape.path("nng")?)))
    }

    fn attach(mut end: Attach<'_, NngOptions>) -> Result<PairPort<Sockets>, SetupError> {
        end.effective("waiting", end.options.waiting);
        end.effective("threads", &end.options.threads);
        let address = address(&end.shape.path("nng")?);
        let failed = |call: &str, code| SetupError::sys(format!("{call} ipc://"), code);
        let waiting = i32::try_from(end.options.waiting).unwrap_or(i32::MAX);
        let socket = start(&end.options.threads, || {
            Socket::pair(waiting).map_err(|code| failed("nng_pair0_open", code))
        })?;
        if end.seat == Seat::Follow {
            socket.listen(&address).map_err(|code| failed("nng_listen", code))?;
        }
        end.meet.swap(Wiring::default())?;
        if end.seat == Seat::Lead {
            socket.dial(&address).map_err(|code| failed("nng_dial", code))?;
        }
        let pair = Sockets { socket, message: Message::default(), size: end.shape.size };
        PairPort::new(pair, end.shape)
    }
}

/// A socket and what came last: words are longer than any message, by one byte or two.
pub struct Sockets {
    socket: Socket,
    message: Message,
    /// Bytes of the longest message.
    size: usize,
}

impl Pair for Sockets {
    fn send(&mut self, message: &[u8]) -> Result<(), i32> {
        self.socket.send(message, true)
    }

    fn try_tell(&mut self, word: Word) -> Result<(), i32> {
        let longer = if word == Word::End { 1 } else { 2 };
        self.socket.send(&vec![0; self.size + longer], false)
    }

    fn receive(&mut self) -> Result<(), i32> {
        self.socket.receive(&mut self.message, true)
    }

    fn try_receive(&mut self) -> Result<(), i32> {
        self.socket.receive(&mut self.message, false)
    }

    fn word(&self) -> Option<Word> {
        match self.message.bytes().len().checked_sub(self.size) {
            Some(1) => Some(Word::End),
            Some(2) => Some(Word::Read),
            _ => None,
        }
    }

    fn message(&mut self) -> &[u8] {
        self.message.bytes()
    }
}
