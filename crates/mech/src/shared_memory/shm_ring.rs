//! Rings in shared memory: one single-producer, single-consumer ring for each direction.

use crate::budget;
use crate::shared_memory::SHARED_MEMORY;
use crate::shared_memory::memory;
use crate::shared_memory::ring_port::{self, RingWait};
use crate::shared_memory::to_all;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::memory::ring::{self, Layout};
use ipcperf_sys::io::wake::counter;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;

ipcperf_core::options! {
    /// Knobs of rings.
    pub struct ShmRingOptions {
        /// About how much memory the ring of each direction takes; two messages always fit.
        pub bytes: u64 = (1 << 20, "1M", Bytes { min: 4096, max: 1 << 30 }),
        /// What the memory is: a memfd, a file in /dev/shm, System V memory, or a file in the run's directory. (An
        /// anonymous mapping reaches a process by fork only, and the ends here are executed afresh.)
        pub backing: String = ("memfd".into(), "memfd", Choice { words: &["memfd", "dev-shm", "sysv", "file"] }),
        /// Size of its pages where that is not the usual one: 2M needs vm.nr_hugepages, and a memfd or System V memory.
        pub huge: String = ("off".into(), "off", Choice { words: &["off", "2M"] }),
    }
}

/// Two rings.
#[derive(Debug)]
pub struct ShmRing<W>(PhantomData<W>);

fn layout(size: usize, options: &ShmRingOptions) -> Layout {
    Layout::ring(size, usize::try_from(options.bytes).unwrap_or(usize::MAX))
}

/// Two counters, as each end has them: its own, then its peer's.
fn bells() -> Result<[[OwnedFd; 2]; 2], SetupError> {
    let ((data, data_too), (room, room_too)) = (counter::create()?, counter::create()?);
    Ok([[data, room], [room_too, data_too]])
}

/// One ring whose messages reach all of so many consumers.
fn open_to_all(
    shape: &Shape,
    consumers: u64,
    options: &ShmRingOptions,
) -> Result<Link, SetupError> {
    let layout = layout(shape.size, options);
    let consumers = u32::try_from(consumers).unwrap_or(u32::MAX);
    let bytes = ring::bytes_for_all(layout, consumers);
    budget::memory(bytes, "a ring", "smaller messages, or a smaller shm-ring.bytes")?;
    let kind = memory::kind(&options.backing, &options.huge);
    let (directory, name) = (shape.directory.as_deref(), shape.name("ring"));
    let link = memory::link(ring::create_for_all(layout, consumers, kind, directory, &name)?)?;
    let link = link.granted("bytes", layout.bytes() as u64);
    Ok(link.granted("backing", &options.backing).granted("huge", &options.huge))
}

impl<W: RingWait> Mechanism for ShmRing<W> {
    const SPEC: &'static Spec = &Spec {
        name: "shm-ring",
        variant: Some(W::VARIANT),
        wait: W::CLASS,
        // The one that also works where both ends share a CPU, and burns none for long.
        default: matches!(W::CLASS, Wait::SpinThenBlock) && W::COPIES > 0,
        summary: W::SUMMARY,
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)", "futex(2)", "eventfd(2)"],
        pitfalls: &[
            "Spinning needs a CPU for each end; on one CPU every message waits for the scheduler.",
            "A receiver that reads in place must be done before it asks for the next message; all but copy-free copy.",
            "A system call is made only if the peer sleeps: count sleeps and wake-ups before comparing two machines.",
            "A peer's death goes unnoticed, and a peer that writes wildly damages both.",
            "Messages of more than half the memory asked for make the ring larger: it has at least two slots.",
            "A file in the run directory is on disk only if the directory is; dirty pages are written back meanwhile.",
        ],
        payload: Payload::up_to(ring::MAX_MESSAGE, "the 32-bit length of a slot"),
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        copies: W::COPIES,
        syscalls: Syscalls { send: Some(0.0), recv: W::RECEIVE },
        needs: &["memfd_create (Linux 3.17)"],
        ..SHARED_MEMORY
    };
    type Options = ShmRingOptions;
    type Port = W::Port;
    // A counter wakes one of those that sleep, and here each has to be.
    const TO_EACH: Option<ToEach<ShmRingOptions>> = if W::BELLS {
        None
    } else {
        Some(ToEach {
            open: open_to_all,
            attach: |end, consumer| {
                let kind = memory::kind(&end.options.backing, &end.options.huge);
                to_all::attach::<W, _>(end, kind, consumer)
            },
        })
    };

    fn probe(options: &ShmRingOptions) -> Result<(), Missing> {
        let kind = memory::kind(&options.backing, &options.huge);
        let (_run, shape) = crate::trial_where(kind.has_name())?;
        let layout = layout(1, options);
        let tried = ring::create(layout, kind, shape.directory.as_deref(), &shape.name("ring"));
        let tried = tried.map(drop);
        let tried = tried.and_then(|()| if W::BELLS { bells().map(drop) } else { Ok(()) });
        tried.map_err(crate::missing)
    }

    fn lends(_: &ShmRingOptions) -> [Lends; 2] {
        [Lends::Shared, W::RECEIVES]
    }

    fn shares(options: &ShmRingOptions) -> Namespaces {
        memory::shares(&options.backing)
    }

    fn open(shape: &Shape, options: &ShmRingOptions) -> Result<Link, SetupError> {
        let layout = layout(shape.size, options);
        let how = "smaller messages, or a smaller shm-ring.bytes";
        budget::memory(layout.bytes().saturating_mul(2), "two rings", how)?;
        let kind = memory::kind(&options.backing, &options.huge);
        let rings = ring::create(layout, kind, shape.directory.as_deref(), &shape.name("ring"))?;
        let link = memory::link(rings)?.granted("bytes", layout.bytes() as u64);
        let mut link = link.granted("backing", &options.backing).granted("huge", &options.huge);
        if W::BELLS {
            let ([ping_rx, ping_tx], [pong_rx, pong_tx]) = (bells()?, bells()?);
            link.lead.fds.extend(pong_rx.into_iter().chain(ping_tx));
            link.follow.fds.extend(ping_rx.into_iter().chain(pong_tx));
        }
        Ok(link)
    }

    fn attach(end: Attach<'_, ShmRingOptions>) -> Result<W::Port, SetupError> {
        let kind = memory::kind(&end.options.backing, &end.options.huge);
        let layout = layout(end.shape.size, end.options);
        ring_port::attach::<W, _>(end, kind, layout)
    }
}
