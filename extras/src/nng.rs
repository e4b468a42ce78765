//! nng, the successor of nanomsg: a pair of sockets over `ipc://`, by the C library of the system.

use crate::ffi::nng::{Message, Socket};
use crate::library::{LIBRARY, THREADS, has_unix, start};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::socket::Kind;
use std::time::{Duration, Instant};

ipcperf_core::options! {
    /// Knobs of nng.
    pub struct NngOptions {
        /// Where the library's own threads run: on the CPU of their end, or on any.
        pub threads: String = ("pinned".into(), "pinned", Choice { words: THREADS }),
    }
}

/// A `pair0` at each end.
#[derive(Debug)]
pub struct Nng;

impl Mechanism for Nng {
    const SPEC: &'static Spec = &Spec {
        name: "nng",
        wait: Wait::Epoll,
        summary: "Two nng pair0 sockets over ipc://, by libnng; an end sleeps until a thread of the library wakes it.",
        manual: &["nng_pair(7)", "nng_ipc(7)", "unix(7)"],
        pitfalls: &[
            "Every end has a pool of threads, and each message is handed over between several of them.",
            "The library's threads share the CPU of their end unless threads=free: a pinned program is slower for it.",
            "Nothing tells of a dead peer: the library waits for it to come back, and a receiver waits for ever.",
            "A socket that is closed drops what is under way in both directions: an end here waits until its peer has read.",
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
    type Port = NngPort;

    fn probe(_: &NngOptions) -> Result<(), Missing> {
        has_unix(Kind::Stream)
    }

    fn lends(_: &NngOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &NngOptions) -> Result<Link, SetupError> {
        Ok(Link::default().guarded(Unlink::new(shape.path("nng")?)))
    }

    fn attach(mut end: Attach<'_, NngOptions>) -> Result<NngPort, SetupError> {
        end.effective("threads", &end.options.threads);
        let address = format!("ipc://{}", end.shape.path("nng")?.display());
        let failed = |call: &'static str| {
            move |fault: Fault| SetupError::Protocol(format!("{call} ipc://: {fault}"))
        };
        let socket =
            start(&end.options.threads, || Socket::pair().map_err(failed("nng_pair0_open")))?;
        if end.seat == Seat::Follow {
            socket.listen(&address).map_err(failed("nng_listen"))?;
        }
        end.meet.swap(Wiring::default())?;
        if end.seat == Seat::Lead {
            socket.dial(&address).map_err(failed("nng_dial"))?;
        }
        let nonce = end.shape.nonce;
        Ok(NngPort {
            socket,
            buffer: Buffer::new(end.shape.size, end.shape.buffer_offset)?,
            end: word(b"ipcperf: the end", nonce),
            read: word(b"ipcperf: read it", nonce),
            has_ended: false,
            awaits: false,
        })
    }
}

/// Bytes of a word from port to port.
const WORD: usize = 24;

/// What one port says to the other, in a message that no payload is.
fn word(text: &[u8; 16], nonce: u64) -> [u8; WORD] {
    let mut word = [0; WORD];
    word[..16].copy_from_slice(text);
    word[16..].copy_from_slice(&(!nonce).to_le_bytes());
    word
}

/// One end: a socket, and the memory that a message is written in.
pub struct NngPort {
    socket: Socket,
    buffer: Buffer,
    /// Nothing follows.
    end: [u8; WORD],
    /// All was read up to the end.
    read: [u8; WORD],
    /// The peer has finished.
    has_ended: bool,
    /// This end has finished, and has not heard that its peer has read all.
    awaits: bool,
}

impl NngPort {
    /// The next message that is a payload.
    fn next(&mut self) -> Result<Message, Fault> {
        loop {
            let message = self.socket.receive()?;
            let bytes = message.bytes();
            if bytes == self.end {
                self.has_ended = true;
                self.confirm();
                return Err(Fault::Closed);
            }
            if bytes != self.read {
                return Ok(message);
            }
            self.awaits = false;
        }
    }
}

impl NngPort {
    /// Says that all was read. A peer that is gone, or waits no more, need not know.
    fn confirm(&self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(100) {
            match self.socket.try_send(&self.read) {
                // The message before it is on its way.
                Err(Fault::Timeout) => std::thread::sleep(Duration::from_micros(100)),
                _ => return,
            }
        }
    }
}

impl Port for NngPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        self.socket.send(out)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.has_ended {
            return Err(Fault::Closed);
        }
        let message = self.next()?;
        let bytes = message.bytes();
        if bytes.len() == len { take(bytes) } else { Err(Fault::Truncated) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        loop {
            match self.socket.try_send(&self.end) {
                Ok(()) => break self.awaits = true,
                // There is no room, or nobody: a peer that has finished may be gone, and need not know.
                Err(Fault::Timeout) if self.has_ended || began.elapsed() > LINGER => break,
                Err(Fault::Timeout) => std::thread::sleep(Duration::from_millis(1)),
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

/// How long an end that finishes waits for room, and then for its peer to read.
const LINGER: Duration = Duration::from_secs(30);

/// The same where the peer has finished too, and may be gone.
const SHORT: Duration = Duration::from_secs(1);

impl Drop for NngPort {
    fn drop(&mut self) {
        let began = Instant::now();
        if self.awaits && self.socket.give_up_after(Duration::from_millis(100)).is_err() {
            return;
        }
        while self.awaits && began.elapsed() < if self.has_ended { SHORT } else { LINGER } {
            match self.next() {
                // What comes while nobody waits for it any more, or nothing yet.
                Ok(_) | Err(Fault::Timeout | Fault::Closed) => {}
                Err(_) => return,
            }
        }
    }
}
