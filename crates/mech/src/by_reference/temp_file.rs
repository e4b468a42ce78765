//! Files without a name: made for each message, and handed over as a descriptor.

use crate::by_reference::BY_REFERENCE;
use crate::by_reference::files;
use crate::by_reference::handover_port::{HandoverPort, Origin, UnnamedFile};
use crate::by_reference::packets::Extras;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::{fresh, store};

ipcperf_core::options! {
    /// Knobs of files that are made for each message.
    pub struct TempFileOptions {
        /// Where files lie: tmpfs is /dev/shm or /tmp, disk is /var/tmp or the current directory.
        pub dir: String = ("tmpfs".into(), "tmpfs", Place { words: &["tmpfs", "disk"] }),
        /// How a file comes to have no name: unlinked at once, or made without one (O_TMPFILE), which saves a system call.
        pub create: String = ("unlink".into(), "unlink", Choice { words: &["unlink", "o_tmpfile"] }),
        /// What the message beside the descriptor says: the file's length in 8 bytes, or nothing.
        pub message: String = ("length".into(), "length", Choice { words: &["length", "empty"] }),
        /// Further descriptors of each message, which the receiver closes.
        pub fds: u64 = (0, "0", Count { min: 0, max: 252 }),
        /// Where both ends sleep: in the call that moves the message, or in select(2) before each.
        pub wait: String = ("block".into(), "block", Choice { words: &["block", "select"] }),
        /// Send buffer (SO_SNDBUF); with it the socket stops the sender, and no credits do.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

impl TempFileOptions {
    fn is_unnamed(&self) -> bool {
        self.create == "o_tmpfile"
    }

    fn extras(&self) -> Extras {
        Extras { fds: self.fds, selects: self.wait == "select", sndbuf: self.sndbuf }
    }
}

/// A fresh file for each message.
#[derive(Debug)]
pub struct TempFile;

impl Mechanism for TempFile {
    const SPEC: &'static Spec = &Spec {
        name: "temp-file",
        wait: Wait::Block,
        summary: "A file made, unlinked and written for each message; its descriptor travels over a UNIX socket.",
        manual: &["open(2)", "unlink(2)", "unix(7)", "tmpfs(5)"],
        pitfalls: &[
            "Nothing is synchronised to disk: even on a disk it measures the page cache and the file system's bookkeeping.",
            "Sender and receiver share the file's offset, so the receiver must seek before it reads.",
            "Messages in flight take room in the file system, so the sender waits for credits.",
            "With create=o_tmpfile the sender makes one system call less than declared; with wait=select each end makes one more, and the receiver one for each of fds.",
        ],
        payload: Payload::up_to(
            fresh::LARGEST,
            "room in the file system; this program stops at 1 GiB",
        ),
        direction: Direction::TwoWay,
        reach: Reach::Related,
        shares: Namespaces::MNT,
        producers: Peers::One,
        consumers: Peers::One,
        // Private buffers serve again; the pages of the file are fresh, inside the kernel.
        memory: Memory::Reused,
        copies: 2,
        // open, unlink, write, sendmsg, close; recvmsg, lseek, read, close.
        syscalls: Syscalls { send: Some(5.0), recv: Some(4.0) },
        window: Some(files::UNDER_WAY),
        needs: &["a file system that may be written"],
        ..BY_REFERENCE
    };
    type Options = TempFileOptions;
    type Port = HandoverPort<UnnamedFile>;

    fn probe(options: &TempFileOptions) -> Result<(), Missing> {
        let base = files::base(&options.dir)?;
        let (_run, shape) = crate::trial()?;
        let tried = || {
            let scratch = files::scratch(&shape, &base)?;
            let path = files::c_path(scratch.path())?;
            if options.is_unnamed() {
                let made = store::create_unnamed(&path);
                made.map(drop).map_err(|code| no_unnamed(&base.to_string_lossy(), code))?;
            }
            options.extras().probe(1).map_err(SetupError::from)
        };
        tried().map_err(|error| files::missing(error, "temp-file"))
    }

    fn window(size: usize, options: &TempFileOptions) -> Option<u32> {
        options.extras().window(1, files::messages(size))
    }

    fn open(shape: &Shape, options: &TempFileOptions) -> Result<Link, SetupError> {
        let base = files::base(&options.dir)?;
        let scratch = files::scratch(shape, &base)?;
        let extras = options.extras();
        let ([lead, follow], sndbuf) = extras.open()?;
        let path = scratch.path().to_string_lossy().into_owned();
        let wiring = |fds| Wiring { names: vec![path.clone()], ..Wiring::of_fds(fds) };
        let link =
            Link { lead: wiring(lead), follow: wiring(follow), ..Link::default() }.guarded(scratch);
        let link = link.granted("dir", &options.dir).granted("create", &options.create);
        let link = link.granted("message", &options.message);
        Ok(extras.told(link, sndbuf))
    }

    fn attach(mut end: Attach<'_, TempFileOptions>) -> Result<Self::Port, SetupError> {
        let directory = files::name(&end.wiring.names)?;
        let origin = match (end.options.is_unnamed(), end.seat) {
            (true, _) => Origin::Unnamed(files::c_path(&directory)?),
            (false, Seat::Lead) => Origin::Unlinked(files::c_path(&directory.join("lead"))?),
            (false, Seat::Follow) => Origin::Unlinked(files::c_path(&directory.join("follow"))?),
        };
        let ends = end.descriptors()?;
        let transfer = UnnamedFile::new(origin, false, end.shape)?;
        let port = HandoverPort::new(ends, transfer, end.options.extras(), end.shape);
        Ok(if end.options.message == "empty" { port.untold() } else { port })
    }
}

/// Why no file without a name can be made.
fn no_unnamed(base: &str, code: i32) -> SetupError {
    let reason = ipcperf_core::errno::text(code);
    Missing::new(
        format!("no file without a name can be made in {base} (O_TMPFILE: {reason})"),
        "temp-file.create=unlink",
    )
    .into()
}
