//! Rings in shared memory: one single-producer, single-consumer ring for each direction.

use crate::port::descriptors;
use crate::port::ring::RingPort;
use crate::wait;
use ipcperf_core::units::format_size;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::ring::{self, Strategy};
use ipcperf_sys::io::sysctl;
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of rings.
    pub struct ShmRingOptions {
        /// About how much memory the ring of each direction takes; two messages always fit.
        pub bytes: u64 = (1 << 20, "1M", Bytes { min: 4096, max: 1 << 30 }),
    }
}

/// How the ends of a ring wait.
pub trait RingWait: 'static {
    /// The variant's name.
    const VARIANT: &'static str;
    /// The class it is ranked in.
    const CLASS: Wait;
    /// One sentence.
    const SUMMARY: &'static str;
    /// System calls of one transfer when nobody has to wait.
    const SYSCALLS: Syscalls;
    /// The ring's name for it.
    type Strategy: Strategy + Send;
}

impl RingWait for wait::Spin {
    const VARIANT: &'static str = "spin";
    const CLASS: Wait = Wait::Spin;
    const SUMMARY: &'static str =
        "Two rings in shared memory; both ends watch the slot and never sleep.";
    const SYSCALLS: Syscalls = Syscalls { send: 0.0, recv: Some(0.0) };
    type Strategy = ring::Spin;
}

impl RingWait for wait::Futex {
    const VARIANT: &'static str = "futex";
    const CLASS: Wait = Wait::SpinThenBlock;
    const SUMMARY: &'static str = "Two rings in shared memory; an end watches the slot for a few microseconds, then sleeps in a futex.";
    const SYSCALLS: Syscalls = Syscalls { send: 0.0, recv: None };
    type Strategy = ring::SpinThenSleep;
}

/// Two rings.
#[derive(Debug)]
pub struct ShmRing<W>(PhantomData<W>);

impl<W: RingWait> Mechanism for ShmRing<W> {
    const SPEC: &'static Spec = &Spec {
        name: "shm-ring",
        variant: Some(W::VARIANT),
        family: Family::SharedMemory,
        wait: W::CLASS,
        // The one that also works where both ends share a CPU.
        default: matches!(W::CLASS, Wait::SpinThenBlock),
        summary: W::SUMMARY,
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)", "futex(2)"],
        pitfalls: &[
            "Spinning needs a CPU for each end; on one CPU every message waits for the scheduler.",
            "The receiver reads in place and must be done before it asks for the next message.",
            "A peer that dies tells nobody, and one that writes wildly damages both.",
            "Messages of more than half the memory asked for make the ring larger: it has at least two slots.",
        ],
        payload: Payload::Message {
            max: Some(Limit {
                bytes: ring::MAX_MESSAGE,
                set_by: "the 32-bit length of a slot",
                raise: "",
            }),
        },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["memfd_create (Linux 3.17)"],
    };
    type Options = ShmRingOptions;
    type Port = RingPort<W::Strategy>;

    fn probe(_: &ShmRingOptions) -> Result<(), Missing> {
        ring::create(1, 4096).map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, options: &ShmRingOptions) -> Result<Link, SetupError> {
        let budget = usize::try_from(options.bytes).unwrap_or(usize::MAX);
        let bytes = ring::bytes(shape.size, budget) as u64;
        if let Some(available) = sysctl::memory_available()
            && bytes.saturating_mul(2) > available / 2
        {
            // Pages are taken when first touched: without this the kernel would end a process instead.
            let what = format!(
                "two rings of {} would take more than half of the {} of memory available",
                format_size(bytes),
                format_size(available)
            );
            return Err(Missing::new(what, "smaller messages, or a smaller shm-ring.bytes").into());
        }
        let [ping_rx, ping_tx] = ring::create(shape.size, budget)?;
        let [pong_rx, pong_tx] = ring::create(shape.size, budget)?;
        Ok(Link {
            lead: Wiring::of_fds([pong_rx, ping_tx]),
            follow: Wiring::of_fds([ping_rx, pong_tx]),
            guards: Vec::new(),
            effective: vec![("shm-ring.bytes".into(), KnobValue::Number(bytes))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        _: &Shape,
        _: &ShmRingOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        RingPort::new(rx, tx)
    }
}
