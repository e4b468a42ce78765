//! System V message queues, `sysvipc(7)`: one for each direction.

use crate::budget;
use crate::port::fault;
use crate::queue::QUEUE;
use crate::wait::{Wait, waiting};
use ipcperf_core::Wait as Class;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::queue::sysv;
use ipcperf_sys::io::queue::sysv::{Id, Queue};
use ipcperf_sys::sysctl;
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of System V message queues.
    pub struct SysvMqOptions {
        /// Bytes of payload each queue holds (msg_qbytes); above kernel.msgmnb it takes a privilege.
        pub qbytes: Option<u64> = (None, "kernel.msgmnb (16K)", Bytes { min: 64, max: 1 << 30 }),
    }
}

/// Two System V queues.
#[derive(Debug)]
pub struct SysvMq<W>(PhantomData<W>);

// A queue is no descriptor: nothing could be watched, hence the plain gate.
impl<W: Wait<Gate = ()>> Mechanism for SysvMq<W> {
    const SPEC: &'static Spec = &Spec {
        name: "sysv-mq",
        summary: if W::VARIANT.is_none() {
            "Two System V message queues, which select by type; a receiver sleeps in msgrcv."
        } else {
            "Two System V message queues with IPC_NOWAIT; both ends ask again and again."
        },
        manual: &["sysvipc(7)", "msgop(2)", "msgget(2)"],
        pitfalls: &[
            "A queue holds 16 KiB by default: two messages of 8 KiB.",
            "A queue is not a descriptor: it cannot be polled, and it stays until it is removed (ipcrm).",
            "A message starts behind its 8-byte type, so the payload is never aligned to a cache line.",
            "No end notices that the other is gone.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares: Namespaces::IPC,
        shares_by_name: Namespaces::IPC,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::Many,
        needs: &["CONFIG_SYSVIPC"],
        ..waiting::<W>(QUEUE)
    };
    type Options = SysvMqOptions;
    type Port = SysvPort<W>;
    const SHARES: bool = true;

    fn probe(options: &SysvMqOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        // Both, as a channel has them: a limit may have room for one.
        let make = || Queue::create(shape.directory()?);
        let tried = make().and_then(|ping| Ok((ping, make()?)));
        let tried = tried.and_then(|(ping, _)| ping.set_capacity(options.qbytes));
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(options: &SysvMqOptions) -> Option<Limit> {
        // Defaults of msgget(2). A message larger than the queue would wait for ever.
        let message = sysctl::number("kernel/msgmax").unwrap_or(8192);
        let queue = options.qbytes.or_else(|| sysctl::number("kernel/msgmnb")).unwrap_or(16384);
        let (bytes, set_by, raise) = if message <= queue {
            (message, "kernel.msgmax", "sysctl kernel.msgmax=BYTES, and kernel.msgmnb")
        } else {
            (queue, "msg_qbytes of the queue", "--set sysv-mq.qbytes=BYTES")
        };
        Some(Limit { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), set_by, raise })
    }

    fn lends(_: &SysvMqOptions) -> [Lends; 2] {
        // The message's type stands before its text.
        [Lends::Place; 2]
    }

    fn open(shape: &Shape, options: &SysvMqOptions) -> Result<Link, SetupError> {
        budget::within(Self::limit(options), shape.size)?;
        let ping = Queue::create(shape.directory()?)?;
        let pong = Queue::create(shape.directory()?)?;
        let granted = ping.set_capacity(options.qbytes)?;
        pong.set_capacity(options.qbytes)?;
        // An identifier is never negative; both wirings say where to receive, then where to send.
        let words =
            |rx: Id, tx: Id| Wiring::of_words([rx, tx].map(|id| u64::from(id.0.cast_unsigned())));
        let (lead, follow) = (words(pong.id(), ping.id()), words(ping.id(), pong.id()));
        let link = Link { lead, follow, ..Link::default() };
        Ok(link.guarded(ping).guarded(pong).granted("qbytes", granted))
    }

    fn attach(end: Attach<'_, SysvMqOptions>) -> Result<Self::Port, SetupError> {
        let ids: Option<Vec<Id>> =
            end.wiring.words.iter().map(|word| i32::try_from(*word).ok().map(Id)).collect();
        match ids.as_deref() {
            Some(&[rx, tx]) => SysvPort::new(rx, tx, end.shape),
            _ => Err(SetupError::Protocol("two queue identifiers were expected".into())),
        }
    }
}

/// One end.
pub struct SysvPort<W> {
    rx: sysv::Id,
    tx: sysv::Id,
    message: sysv::Message,
    _wait: PhantomData<W>,
}

impl<W: Wait<Gate = ()>> SysvPort<W> {
    /// Whether calls return instead of sleeping; a queue has no descriptor that could hold this as a flag.
    const NOWAIT: bool = matches!(W::CLASS, Class::Spin);

    /// One queue for each direction.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(rx: sysv::Id, tx: sysv::Id, shape: &Shape) -> Result<Self, SetupError> {
        let message = sysv::Message::new(shape.size, shape.buffer_offset)?;
        Ok(Self { rx, tx, message, _wait: PhantomData })
    }

    #[inline(always)]
    fn send_one(&mut self, len: usize) -> Result<usize, i32> {
        W::send(&(), || self.message.send(self.tx, len, Self::NOWAIT))
    }

    #[inline(always)]
    fn receive_one(&mut self, len: usize) -> Result<usize, i32> {
        W::receive(&(), || self.message.receive(self.rx, len, Self::NOWAIT))
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, len: usize, mut code: i32) -> Result<(), Fault> {
        while code == errno::EINTR {
            match self.send_one(len) {
                Ok(_) => return Ok(()),
                Err(again) => code = again,
            }
        }
        // msgsnd says EINVAL both for a length above kernel.msgmax and for a queue that is gone for good.
        if code == errno::EINVAL && sysv::exists(self.tx) {
            return Err(Fault::TooLong);
        }
        Err(if code == errno::EINVAL { Fault::Closed } else { fault(code) })
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == len => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(errno::EINVAL) => return Err(Fault::Closed),
                Err(code) => return Err(fault(code)),
            }
            step = self.receive_one(len);
        }
    }
}

impl<W: Wait<Gate = ()>> Port for SysvPort<W> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.message.payload(len).ok_or(Fault::TooLong)?);
        match self.send_one(len) {
            Ok(_) => Ok(()),
            Err(code) => self.send_again(len, code),
        }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let step = self.receive_one(len);
        if step != Ok(len) {
            self.receive_again(len, step)?;
        }
        take(self.message.payload(len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A queue has no end that could be closed.
        Ok(())
    }
}
