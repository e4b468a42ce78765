//! ZeroMQ: a pair of sockets over `ipc://`, by the C library of the system.

use crate::ffi::zeromq::{Message, Socket};
use crate::library::{LIBRARY, THREADS, address, has_unix, start};
use crate::pair::{Pair, PairPort, Word};
use ipcperf::prelude::*;
use ipcperf::tools::Unlink;
use ipcperf::tools::errno;
use ipcperf::tools::socket::Kind;

ipcperf::options! {
    /// Knobs of ZeroMQ.
    pub struct ZeroMqOptions {
        /// Messages that may wait at each end before a sender waits (ZMQ_SNDHWM, ZMQ_RCVHWM).
        pub hwm: Option<u64> = (None, "1000, or as many as 4 MiB hold", Count { min: 1, max: 1_000_000 }),
        /// Where the library's own threads run: on the CPU of their end, or on any.
        pub threads: String = ("pinned".into(), "pinned", Choice { words: THREADS }),
    }
}

/// A `ZMQ_PAIR` at each end.
#[derive(Debug)]
pub struct ZeroMq;

/// What may wait at an end where nobody says otherwise: messages, and their bytes.
const USUAL: (u64, u64) = (1000, 4 << 20);

impl ZeroMqOptions {
    fn waiting(&self, size: usize) -> u64 {
        let fit = USUAL.1 / (size as u64).max(1);
        self.hwm.unwrap_or(fit.clamp(1, USUAL.0))
    }
}

impl Mechanism for ZeroMq {
    const SPEC: &'static Spec = &Spec {
        name: "zeromq",
        wait: Wait::Epoll,
        summary: "Two ZeroMQ PAIR sockets over ipc://, by libzmq; an end sleeps in poll until a thread of the library wakes it.",
        manual: &["zmq_pair(7)", "zmq_ipc(7)", "unix(7)"],
        pitfalls: &[
            "A message passes four threads: its sender, the library's at each end, its receiver. Each hand-over wakes a thread.",
            "The library's threads share the CPU of their end unless threads=free: a pinned program is slower for it.",
            "Nothing tells of a dead peer: the library waits for it to come back, and a receiver waits for ever.",
            "Nothing tells of a peer that closes, and what is under way may be lost then: an end here says that it ends, and \
             waits until its peer has read.",
            "By default 1000 messages may wait at each end, whatever their size; here no more than 4 MiB of them.",
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
        // Into the library's memory, into the kernel, out of it; a long message is not copied once more.
        copies: 3,
        needs: &["CONFIG_UNIX", "libzmq"],
        over: Some("unix-stream/epoll"),
        threads: true,
        ..LIBRARY
    };
    type Options = ZeroMqOptions;
    type Port = PairPort<Sockets>;

    fn probe(_: &ZeroMqOptions) -> Result<(), Missing> {
        has_unix(Kind::Stream)
    }

    fn lends(_: &ZeroMqOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &ZeroMqOptions) -> Result<Link, SetupError> {
        Ok(Link::default().guarded(Unlink::new(shape.path("zeromq")?)))
    }

    fn attach(mut end: Attach<'_, ZeroMqOptions>) -> Result<PairPort<Sockets>, SetupError> {
        let hwm = end.options.waiting(end.shape.size);
        end.effective("hwm", hwm);
        end.effective("threads", &end.options.threads);
        let address = address(&end.shape.path("zeromq")?);
        let failed = |call: &str, code| SetupError::sys(format!("{call} ipc://"), code);
        let socket = start(&end.options.threads, || {
            Socket::pair(i32::try_from(hwm).unwrap_or(i32::MAX))
                .map_err(|code| failed("zmq_socket", code))
        })?;
        if end.seat == Seat::Follow {
            socket.bind(&address).map_err(|code| failed("zmq_bind", code))?;
        }
        end.meet.swap(Wiring::default())?;
        if end.seat == Seat::Lead {
            socket.connect(&address).map_err(|code| failed("zmq_connect", code))?;
        }
        let pair = Sockets { socket, message: Message::default(), word: None };
        PairPort::new(pair, end.shape)
    }
}

/// The first part of what tells a peer that all was read up to its end; that of an end is empty.
const READ: &[u8] = b"read";

/// A socket and what came last: words are messages of two parts.
pub struct Sockets {
    socket: Socket,
    message: Message,
    word: Option<Word>,
}

impl Sockets {
    /// Takes the second part of what was received, if it has one.
    fn complete(&mut self) -> Result<(), i32> {
        self.word = None;
        if self.message.has_more() {
            let word = if self.message.bytes().is_empty() { Word::End } else { Word::Read };
            while let Err(code) = self.socket.receive(&mut self.message) {
                if code != errno::EINTR {
                    return Err(code);
                }
            }
            self.word = Some(word);
        }
        Ok(())
    }
}

impl Pair for Sockets {
    fn send(&mut self, message: &[u8]) -> Result<(), i32> {
        self.socket.send(message, false)
    }

    fn try_tell(&mut self, word: Word) -> Result<(), i32> {
        self.socket.try_send(if word == Word::End { &[] } else { READ }, true)?;
        // There is room for all parts of what has begun.
        while self.socket.send(&[], false) == Err(errno::EINTR) {}
        Ok(())
    }

    fn receive(&mut self) -> Result<(), i32> {
        self.socket.receive(&mut self.message)?;
        self.complete()
    }

    fn try_receive(&mut self) -> Result<(), i32> {
        self.socket.try_receive(&mut self.message)?;
        self.complete()
    }

    fn word(&self) -> Option<Word> {
        self.word
    }

    fn message(&mut self) -> &[u8] {
        self.message.bytes()
    }
}
