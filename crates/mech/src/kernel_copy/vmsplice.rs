//! References to the sender's pages in pipes, `vmsplice(2)`: one pipe for each direction.

use crate::budget;
use crate::kernel_copy::relay_port::{FromPipe, PagesToPipe, RelayPort};
use crate::port::descriptors;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::pipe;
use ipcperf_sys::io::pipe::pool::{Pages, Pool};
use ipcperf_sys::io::pipe::splice;

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
pub struct Vmsplice;

impl Mechanism for Vmsplice {
    const SPEC: &'static Spec = &Spec {
        name: "vmsplice",
        variant: None,
        family: Family::KernelCopy,
        wait: Wait::Block,
        default: true,
        summary: "Two pipes that hold references to the sender's pages; the receiver reads, which copies once.",
        manual: &["vmsplice(2)", "splice(2)", "pipe(7)"],
        pitfalls: &[
            "A page may be written again only after it was read: the sender goes through a pool of the pipe's capacity and three messages, which falls out of the caches.",
            "What nobody looks at is dropped inside the kernel by one more call, splice to /dev/null, so touch=none copies 64 bytes; any other touch copies all.",
            "Every reference is to one page of 4 KiB, also inside a huge page, so small messages fill the pipe early.",
            "A vmsplice on the reading end copies: there is no way to receive into memory without a copy.",
        ],
        payload: Payload::Stream,
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: false,
        memory: Memory::Reused,
        copies: 1,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        window: None,
        needs: &[],
    };
    type Options = VmspliceOptions;
    type Port = RelayPort<FromPipe, PagesToPipe>;

    fn probe(options: &VmspliceOptions) -> Result<(), Missing> {
        let tried = || {
            let pipe = pipe::pair()?;
            pipe::set_capacity(&pipe.write, options.size)?;
            let mut pool = Pool::new(splice::page(), 1, options.pages())?;
            splice::try_vmsplice(&pipe, &mut pool)
        };
        tried().map_err(crate::missing)
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
        Ok(Link {
            lead: Wiring::of_fds([pong.read, ping.write]),
            follow: Wiring::of_fds([ping.read, pong.write]),
            guards: Vec::new(),
            effective: vec![
                ("vmsplice.size".into(), KnobValue::Number(size)),
                ("vmsplice.gift".into(), KnobValue::Flag(options.gift)),
            ],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &VmspliceOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        let size = capacity(pipe::set_capacity(&tx, None)?);
        let outlet = PagesToPipe::new(tx, size, options.pages(), options.gift, shape)?;
        // Held against what the kernel tells of the pool, which was made of such pages or not at all.
        meet.effective("vmsplice.huge", KnobValue::Word(options.huge.clone()));
        RelayPort::new(FromPipe::new(rx)?, outlet, shape)
    }
}

fn capacity(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
