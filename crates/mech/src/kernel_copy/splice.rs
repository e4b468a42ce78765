//! Pages moved between pipes and a socket, `splice(2)`, at both ends.

use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::carried::{FromSocketOverPipe, OverPipe, ToSocket};
use crate::kernel_copy::relay_port::RelayPort;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::pipe::splice;
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::{duplicate, pipe};
use std::os::fd::AsFd;

ipcperf_core::options! {
    /// Knobs of splice.
    pub struct SpliceOptions {
        /// Capacity of the pipes of each end; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 28 }),
    }
}

/// A UNIX stream socket with a pipe on each side.
#[derive(Debug)]
pub struct Splice;

impl Mechanism for Splice {
    const SPEC: &'static Spec = &Spec {
        name: "splice",
        wait: Wait::Block,
        summary: "Written to a pipe, spliced to a UNIX stream socket, spliced to another pipe, read: what a proxy does with its pages.",
        manual: &["splice(2)", "pipe(7)", "unix(7)"],
        pitfalls: &[
            "Only the step between the two pipes copies nothing: bytes that start and end in a process are still written and read.",
            "A splice moves what is available: from the socket it stops at each piece that was sent, so large messages take many calls.",
            "Bytes that the receiver does not read are dropped inside the kernel by one more call, splice to /dev/null.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        copies: 2,
        syscalls: Syscalls { send: Some(2.0), recv: Some(2.0) },
        needs: &["splice to UNIX sockets (Linux 2.6.17)"],
        ..KERNEL_COPY
    };
    type Options = SpliceOptions;
    type Port = RelayPort<FromSocketOverPipe, OverPipe<ToSocket>>;

    fn probe(options: &SpliceOptions) -> Result<(), Missing> {
        let tried = || {
            let pipe = pipe::pair()?;
            pipe::set_capacity(&pipe.write, options.size)?;
            let (one, _two) = socket::pair(Kind::Stream)?;
            splice::try_splice(&pipe, one.as_fd())
        };
        tried().map_err(crate::missing)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn open(_: &Shape, _: &SpliceOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::Stream)?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(mut end: Attach<'_, SpliceOptions>) -> Result<Self::Port, SetupError> {
        let [own] = end.descriptors()?;
        // No one else needs these pipes, so each end makes its own.
        let (into, out) = (pipe::pair()?, pipe::pair()?);
        let size = pipe::set_capacity(&into.write, end.options.size)?;
        pipe::set_capacity(&out.write, end.options.size)?;
        end.effective("size", size);
        let capacity = usize::try_from(size).unwrap_or(usize::MAX);
        let tx = ToSocket(duplicate(&own)?);
        let inlet = FromSocketOverPipe::new(own, out)?;
        RelayPort::new(inlet, OverPipe::new(into, capacity, tx, end.shape)?, end.shape)
    }
}
