//! References to the sender's pages in pipes, `vmsplice(2)`: one pipe for each direction.

use crate::budget;
use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::relay_port::{FromPipe, PagesToPipe, RelayPort};
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::pipe;
use ipcperf_sys::io::pipe::pool::{Pages, Pool};
use ipcperf_sys::io::pipe::splice;
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of vmsplice.
    pub struct VmspliceOptions {
        /// Capacity of each of the two pipes; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 28 }),
        /// Pages the sender writes to: usual ones, reserved ones of 2 MiB, or 2 MiB if the kernel can join usual ones.
        pub huge: String = ("off".into(), "off", Choice { words: &["off", "2M", "thp"] }),
        /// Gives the pages away (SPLICE_F_GIFT), which takes whole pages; a receiver that reads copies them all the same.
        pub gift: bool = (false, "off", Flag),
    }
}

impl VmspliceOptions {
    fn pages(&self) -> Pages {
        match self.huge.as_str() {
            "2M" => Pages::Huge,
            "thp" => Pages::Transparent,
            _ => Pages::Small,
        }
    }
}

/// Two pipes that hold pages of the sender.
#[derive(Debug)]
pub struct Vmsplice<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Vmsplice<W> {
    const SPEC: &'static Spec = &Spec {
        name: "vmsplice",
        summary: by_class(
            W::CLASS,
            "Two pipes that hold references to the sender's pages; the receiver reads, which copies once.",
            "Two pipes that hold references to the sender's pages, not blocking; both ends ask again and again.",
            "",
        ),
        manual: &["vmsplice(2)", "splice(2)", "pipe(7)"],
        pitfalls: &[
            "A page may be written again only after it was read, so the sender cycles through a pool of the pipe's capacity plus three messages, which does not stay in the caches.",
            "Bytes that the receiver does not read are dropped inside the kernel by one more call, splice to /dev/null, so touch=none copies 64 bytes; any other touch copies all.",
            "Every reference is to one page of 4 KiB, also inside a huge page, so small messages fill the pipe early.",
            "A vmsplice on the reading end copies: there is no way to receive into memory without a copy.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        copies: 1,
        ..waiting::<W>(KERNEL_COPY)
    };
    type Options = VmspliceOptions;
    type Port = RelayPort<FromPipe<W>, PagesToPipe<W>>;

    fn probe(options: &VmspliceOptions) -> Result<(), Missing> {
        let tried = || {
            let pipe = pipe::pair()?;
            pipe::set_capacity(&pipe.write, options.size)?;
            let mut pool = Pool::new(splice::page(), 1, options.pages())?;
            splice::try_vmsplice(&pipe, &mut pool)
        };
        tried().map_err(crate::missing)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn lends(_: &VmspliceOptions) -> [Lends; 2] {
        // Pages in turn, as many as the pipe may refer to.
        [Lends::Place, Lends::Buffer]
    }

    fn open(shape: &Shape, options: &VmspliceOptions) -> Result<Link, SetupError> {
        let page = splice::page();
        if options.gift && !shape.size.is_multiple_of(page) {
            let what = format!("only whole pages can be given away, not {} bytes", shape.size);
            let how = format!("a size that is a multiple of {page}, or vmsplice.gift=off");
            return Err(Missing::new(what, how).into());
        }
        let (ping, pong) = (pipe::pair()?, pipe::pair()?);
        let size = pipe::set_capacity(&ping.write, options.size)?;
        pipe::set_capacity(&pong.write, options.size)?;
        let pools = Pool::bytes(capacity(size), shape.size).saturating_mul(2);
        budget::memory(pools, "two pools", "smaller messages, or a smaller vmsplice.size")?;
        Ok(Link::of_fds([pong.read, ping.write], [ping.read, pong.write])
            .granted("size", size)
            .granted("gift", options.gift))
    }

    fn attach(mut end: Attach<'_, VmspliceOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        let size = capacity(pipe::set_capacity(&tx, None)?);
        let outlet = PagesToPipe::new(tx, size, end.options.pages(), end.options.gift, end.shape)?;
        // Held against what the kernel tells of the pool, which was made of such pages or not at all.
        end.effective("huge", &end.options.huge);
        RelayPort::new(FromPipe::new(rx)?, outlet, end.shape)
    }
}

fn capacity(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
