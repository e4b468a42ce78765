//! System V message queues, `sysvipc(7)`: one for each direction.

use crate::queue::sysv_port::SysvPort;
use crate::wait::Wait;
use ipcperf_core::{
    BackPressure, Direction, Family, Guard, KnobValue, Limit, Link, Mechanism, Meet, Memory,
    Missing, OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::queue::sysv::{Id, NOT_BUILT_IN, Queue, TOO_MANY};
use ipcperf_sys::io::sysctl;
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

fn explained(error: SetupError) -> SetupError {
    match error {
        SetupError::Sys { code: NOT_BUILT_IN, .. } => {
            Missing::new("this kernel has no System V queues", "a kernel with CONFIG_SYSVIPC")
                .into()
        }
        SetupError::Sys { code: TOO_MANY, .. } => {
            Missing::new("kernel.msgmni queues exist", "remove unused ones with ipcrm").into()
        }
        other => other,
    }
}

// A queue is no descriptor: nothing could be watched, hence the plain gate.
impl<W: Wait<Gate = ()>> Mechanism for SysvMq<W> {
    const SPEC: &'static Spec = &Spec {
        name: "sysv-mq",
        variant: W::VARIANT,
        family: Family::Queue,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: if W::VARIANT.is_none() {
            "Two System V message queues, which select by type; a receiver sleeps in msgrcv."
        } else {
            "Two System V message queues with IPC_NOWAIT; both ends ask again and again."
        },
        manual: &["sysvipc(7)", "msgop(2)", "msgget(2)"],
        pitfalls: &[
            "A queue holds 16 KiB by default: two messages of 8 KiB.",
            "A queue is no descriptor: it cannot be polled, and it stays until it is removed (ipcrm).",
            "A message starts behind its 8-byte type, so the payload is never aligned to a cache line.",
            "Nothing tells an end that the other is gone.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Named,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_SYSVIPC"],
    };
    type Options = SysvMqOptions;
    type Port = SysvPort<W>;
    const SHARES: bool = true;

    fn probe(options: &SysvMqOptions) -> Result<(), Missing> {
        let tried = Queue::trial().and_then(|queue| queue.set_capacity(options.qbytes));
        tried.map(drop).map_err(|error| crate::missing(explained(error)))
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

    fn open(shape: &Shape, options: &SysvMqOptions) -> Result<Link, SetupError> {
        let limit = Self::limit(options).map_or(usize::MAX, |limit| limit.bytes);
        if shape.size > limit {
            let what = format!("{} bytes do not fit a System V queue ({limit})", shape.size);
            return Err(Missing::new(what, "sysctl kernel.msgmax and kernel.msgmnb").into());
        }
        let ping = Queue::create(&shape.directory).map_err(explained)?;
        let pong = Queue::create(&shape.directory).map_err(explained)?;
        let granted = ping.set_capacity(options.qbytes)?;
        pong.set_capacity(options.qbytes)?;
        // An identifier is never negative; both wirings say where to receive, then where to send.
        let words =
            |rx: Id, tx: Id| vec![u64::from(rx.0.cast_unsigned()), u64::from(tx.0.cast_unsigned())];
        Ok(Link {
            lead: Wiring { words: words(pong.id(), ping.id()), ..Wiring::default() },
            follow: Wiring { words: words(ping.id(), pong.id()), ..Wiring::default() },
            guards: vec![Guard::new(ping), Guard::new(pong)],
            effective: vec![("sysv-mq.qbytes".into(), KnobValue::Number(granted))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &SysvMqOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let ids: Option<Vec<Id>> =
            wiring.words.iter().map(|word| i32::try_from(*word).ok().map(Id)).collect();
        match ids.as_deref() {
            Some(&[rx, tx]) => SysvPort::new(rx, tx, shape),
            _ => Err(SetupError::Protocol("two queue identifiers were expected".into())),
        }
    }
}
