//! Files that appear complete in a directory, by `rename(2)`, and are announced by `inotify(7)`.

use crate::by_reference::BY_REFERENCE;
use crate::by_reference::files;
use crate::by_reference::named_port::NamedPort;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::{fresh, watch};
use std::ffi::CString;
use std::path::Path;

ipcperf_core::options! {
    /// Knobs of files that are renamed into a watched directory.
    pub struct FileRenameOptions {
        /// Where files lie: tmpfs is /dev/shm or /tmp, disk is /var/tmp or the current directory.
        pub dir: String = ("tmpfs".into(), "tmpfs", Place { words: &["tmpfs", "disk"] }),
    }
}

/// A file with a name for each message.
#[derive(Debug)]
pub struct FileRename;

impl Mechanism for FileRename {
    const SPEC: &'static Spec = &Spec {
        name: "file-rename",
        wait: Wait::Block,
        summary: "A file written aside and renamed into a directory that the receiver watches; it reads and unlinks the file.",
        manual: &["rename(2)", "inotify(7)", "tmpfs(5)"],
        pitfalls: &[
            "Unread events beyond fs.inotify.max_queued_events are dropped, and one event reports it; the sender waits for credits here.",
            "A receiver that starts late must list the directory first; inotify reports only what is new.",
            "Nothing is synchronised to a disk: a rename is atomic for readers, not after a power cut.",
            "No end notices that the other is gone.",
        ],
        payload: Payload::up_to(
            fresh::LARGEST,
            "room in the file system; this program stops at 1 GiB",
        ),
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::None,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        // Private buffers serve again; the pages of the file are fresh, inside the kernel.
        memory: Memory::Reused,
        copies: 2,
        // open, write, close, rename; read of the event, open, read, unlink, close.
        syscalls: Syscalls { send: Some(4.0), recv: Some(5.0) },
        window: Some(files::UNDER_WAY),
        needs: &["CONFIG_INOTIFY_USER", "a file system that may be written"],
        ..BY_REFERENCE
    };
    type Options = FileRenameOptions;
    type Port = NamedPort;

    fn probe(options: &FileRenameOptions) -> Result<(), Missing> {
        let base = files::base(&options.dir)?;
        let (_run, shape) = crate::trial()?;
        let scratch = files::scratch(&shape, &base);
        let scratch = scratch.map_err(|error| files::missing(error, "file-rename"))?;
        watch::try_out(scratch.path()).map_err(crate::missing)
    }

    fn window(size: usize, _: &FileRenameOptions) -> Option<u32> {
        Some(files::messages(size))
    }

    fn open(shape: &Shape, options: &FileRenameOptions) -> Result<Link, SetupError> {
        let base = files::base(&options.dir)?;
        let scratch = files::scratch(shape, &base)?;
        // Watched from before the first message on.
        let watcher = |name| scratch.subdirectory(name).and_then(|path| watch::arrivals(&path));
        let (ping, pong) = (watcher("ping")?, watcher("pong")?);
        let path = scratch.path().to_string_lossy().into_owned();
        let wiring = |fd| Wiring { names: vec![path.clone()], ..Wiring::of_fds([fd]) };
        let link =
            Link { lead: wiring(pong), follow: wiring(ping), ..Link::default() }.guarded(scratch);
        Ok(link.granted("dir", &options.dir))
    }

    fn attach(mut end: Attach<'_, FileRenameOptions>) -> Result<Self::Port, SetupError> {
        let root = files::name(&end.wiring.names)?;
        let [watcher] = end.descriptors()?;
        let (watched, target, staged) = match end.seat {
            Seat::Lead => ("pong", "ping", "lead"),
            Seat::Follow => ("ping", "pong", "follow"),
        };
        let watched = files::c_path(&root.join(watched))?;
        let staged = files::c_path(&root.join(staged))?;
        let names = names(&root.join(target), files::messages(end.shape.size))?;
        NamedPort::new(watcher, &watched, staged, names, end.shape)
    }
}

/// Twice as many names as messages may be under way, all of one length: as long as an event of one read.
fn names(directory: &Path, messages: u32) -> Result<Vec<CString>, SetupError> {
    let name = |index| files::c_path(&directory.join(format!("message-{index:04}")));
    (0..2 * messages).map(name).collect()
}
