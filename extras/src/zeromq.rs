//! ZeroMQ: a pair of sockets over `ipc://`, by the C library of the system.

use crate::ffi::zeromq::{Message, Socket};
use crate::library::{LIBRARY, THREADS, has_unix, start};
use ipcperf_core::prelude::*;
use ipcperf_mech::port::fault;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::{Buffer, errno};
use std::path::Path;
use std::time::{Duration, Instant};

ipcperf_core::options! {
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
    type Port = ZeroMqPort;

    fn probe(_: &ZeroMqOptions) -> Result<(), Missing> {
        has_unix(Kind::Stream)
    }

    fn lends(_: &ZeroMqOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &ZeroMqOptions) -> Result<Link, SetupError> {
        Ok(Link::default().guarded(Unlink::new(shape.path("zeromq")?)))
    }

    fn attach(mut end: Attach<'_, ZeroMqOptions>) -> Result<ZeroMqPort, SetupError> {
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
        let buffer = Buffer::new(end.shape.size, end.shape.buffer_offset)?;
        Ok(ZeroMqPort {
            socket,
            message: Message::default(),
            buffer,
            is_held: false,
            has_ended: false,
            awaits: false,
        })
    }
}

fn address(path: &Path) -> String {
    format!("ipc://{}", path.display())
}

/// One end: a socket, the message that came last, and the memory that a message is written in.
pub struct ZeroMqPort {
    socket: Socket,
    message: Message,
    buffer: Buffer,
    /// The message was received and not shown yet.
    is_held: bool,
    /// The peer has finished.
    has_ended: bool,
    /// This end has finished, and has not heard that its peer has read all.
    awaits: bool,
}

/// Makes a call until nothing interrupts it.
fn whole<T>(mut call: impl FnMut() -> Result<T, i32>) -> Result<T, Fault> {
    loop {
        match call() {
            Err(errno::EINTR) => {}
            done => return done.map_err(fault),
        }
    }
}

impl ZeroMqPort {
    /// Takes note of what its peer says in a message of two parts, of which the first was received.
    fn hear(&mut self) -> Result<(), Fault> {
        let is_end = self.message.bytes().is_empty();
        whole(|| self.socket.receive(&mut self.message))?;
        if is_end {
            self.has_ended = true;
            // A peer that is gone need not know.
            if self.socket.try_send(READ, true).is_ok() {
                whole(|| self.socket.send(&[], false))?;
            }
        } else {
            self.awaits = false;
        }
        Ok(())
    }
}

impl Port for ZeroMqPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        whole(|| self.socket.send(out, false))
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        while !self.has_ended {
            if !std::mem::take(&mut self.is_held) {
                whole(|| self.socket.receive(&mut self.message))?;
            }
            if !self.message.has_more() {
                let message = self.message.bytes();
                return if message.len() == len { take(message) } else { Err(Fault::Truncated) };
            }
            self.hear()?;
        }
        Err(Fault::Closed)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        loop {
            match self.socket.try_send(&[], true) {
                Ok(()) => break,
                Err(errno::EAGAIN) => {}
                Err(errno::EINTR) => continue,
                Err(code) => return Err(fault(code)),
            }
            // There is no room, or nobody: a peer that has finished may be gone, and need not know.
            if self.has_ended || began.elapsed() > LINGER {
                return Ok(());
            }
            if !self.is_held && self.socket.try_receive(&mut self.message).is_ok() {
                self.is_held = !self.message.has_more();
                if !self.is_held {
                    self.hear()?;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        whole(|| self.socket.send(&[], false))?;
        self.awaits = true;
        Ok(())
    }
}

/// The first part of what tells a peer that all was read up to its end.
const READ: &[u8] = b"read";

/// How long an end that finishes waits for room, and then for its peer to read.
const LINGER: Duration = Duration::from_secs(30);

/// The same where the peer has finished too, and may be gone.
const SHORT: Duration = Duration::from_secs(1);

impl Drop for ZeroMqPort {
    fn drop(&mut self) {
        let began = Instant::now();
        while self.awaits && began.elapsed() < if self.has_ended { SHORT } else { LINGER } {
            match self.socket.try_receive(&mut self.message) {
                Ok(()) if self.message.has_more() => {
                    if self.hear().is_err() {
                        return;
                    }
                }
                // What comes while nobody waits for it any more.
                Ok(()) => {}
                Err(errno::EAGAIN | errno::EINTR) => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(_) => return,
            }
        }
    }
}
