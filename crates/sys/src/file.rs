//! A file that appears whole or not at all, whatever kills the process while it is written.

use crate::directory::{self, open_at};
use crate::{random, terminal};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// A file under construction. It has no name until it is published; dropping it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    target: directory::Place,
    place: Staging,
}

/// Where the bytes are meanwhile.
#[derive(Debug)]
enum Staging {
    /// In a file without a name.
    Nowhere,
    /// In a file of this name beside the target, on file systems without unnamed files.
    Beside(OsString),
    /// In the target itself, which is a FIFO or standard output: there is nothing to replace.
    Target,
}

impl WholeFile {
    /// Starts a file that will be at `target`; fails at once if it could not be written there. It will have the
    /// permissions of the file that it replaces. A symbolic link is followed, but not where another user put it in a
    /// directory for all; what is no regular file (a FIFO, `/dev/stdout`) is written to and never replaced.
    ///
    /// # Errors
    /// The folder does not exist or is not writable; `target` is a folder, another user's, or a device other than
    /// standard output.
    pub fn start(target: &Path) -> io::Result<Self> {
        let target = directory::find(target)?;
        let mode = match &target.facts {
            None => Mode::from_raw_mode(0o644),
            Some(facts) => match FileType::from_raw_mode(facts.st_mode) {
                FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
                FileType::RegularFile if !target.is_open_file => {
                    Mode::from_raw_mode(facts.st_mode & 0o777)
                }
                _ => {
                    let file = through(&target, facts)?;
                    return Ok(Self { file, target, place: Staging::Target });
                }
            },
        };
        let file = Self::begin(target, mode)?;
        if file.target.facts.is_some() {
            // What is there keeps its permissions, whatever the umask says.
            set_mode(&file.file, mode)?;
        }
        Ok(file)
    }

    fn begin(target: directory::Place, mode: Mode) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR;
        let (file, place) = match open_at(&target.directory, OsStr::new("."), flags, mode) {
            Err(error) if is_without_unnamed_files(&error) => {
                let (file, name) = beside(&target, mode)?;
                (file, Staging::Beside(name))
            }
            other => (other?, Staging::Nowhere),
        };
        Ok(Self { file, target, place })
    }

    /// Whether a file could be started at `target` and get its name; a FIFO is not opened, since that would wait for its
    /// reader.
    ///
    /// # Errors
    /// As [`WholeFile::start`] and [`WholeFile::publish`].
    pub fn check(target: &Path) -> io::Result<()> {
        let is_fifo = |facts: Stat| FileType::from_raw_mode(facts.st_mode) == FileType::Fifo;
        if directory::find(target)?.facts.is_some_and(is_fifo) {
            return Ok(());
        }
        Self::start(target)?.try_names()
    }

    /// Whether it could get a name; leaves nothing.
    fn try_names(mut self) -> io::Result<()> {
        match self.place {
            Staging::Target => return Ok(()),
            // That name is taken, and only who may make links is told so. Where there are unnamed files there are links.
            Staging::Nowhere if self.link_open(".".as_ref()) == Err(Errno::EXIST) => return Ok(()),
            _ => {}
        }
        let name = random_name();
        self.name_new(&name)?;
        directory::remove_name(self.target.directory.as_fd(), &name).map(drop)
    }

    /// Puts everything on disk and gives it its name, replacing what was there.
    ///
    /// # Errors
    /// The disk is full, or the folder has changed meanwhile.
    pub fn publish(mut self) -> io::Result<()> {
        if matches!(self.place, Staging::Target) {
            return self.file.flush();
        }
        sync(&self.file)?;
        let name = self.target.name.clone();
        // The common case: nothing is there yet, and the file appears under its final name.
        if self.name_new(&name)? {
            return Ok(());
        }
        self.settle_beside()?;
        let folder = &self.target.directory;
        match &self.place {
            Staging::Beside(beside) => Ok(rustix::fs::renameat(folder, beside, folder, &name)?),
            _ => Err(io::ErrorKind::Other.into()),
        }
    }

    /// Like [`WholeFile::publish`], but under the first of `names` in the same folder that nothing has yet; says which.
    ///
    /// # Errors
    /// As there; or all names are taken.
    pub fn publish_new(mut self, names: impl IntoIterator<Item = String>) -> io::Result<String> {
        sync(&self.file)?;
        for name in names {
            if self.name_new(OsStr::new(&name))? {
                return Ok(name);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file a name that nothing has yet; false if something has it.
    fn name_new(&mut self, name: &OsStr) -> io::Result<bool> {
        if matches!(self.place, Staging::Nowhere) {
            match self.link_open(name) {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST) => return Ok(false),
                // Without /proc, or where a sandbox refuses it, a copy with a name does as well.
                Err(_) => self.settle_beside()?,
            }
        }
        let Staging::Beside(beside) = &self.place else { return Ok(false) };
        let folder = &self.target.directory;
        // FAT has no links, NFS cannot rename without replacing, some FUSE and 9p file systems can do neither.
        let renamed =
            || rustix::fs::renameat_with(folder, beside, folder, name, RenameFlags::NOREPLACE);
        let linked = || rustix::fs::linkat(folder, beside, folder, name, AtFlags::empty());
        match renamed().or_else(|error| if error == Errno::EXIST { Err(error) } else { linked() }) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            Err(_) => {}
        }
        // Then an empty file takes the name, so that what is replaced is ours.
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        match open_at(folder, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error),
        }
        rustix::fs::renameat(folder, beside, folder, name).inspect_err(|_| {
            let _ = directory::remove_name(folder.as_fd(), name);
        })?;
        Ok(true)
    }

    /// Gives a file without a name one.
    fn link_open(&self, name: &OsStr) -> Result<(), Errno> {
        let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, &source, &self.target.directory, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Moves the bytes into a file that has a name, if they are not in one.
    fn settle_beside(&mut self) -> io::Result<()> {
        if matches!(self.place, Staging::Nowhere) {
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.file)?.st_mode & 0o777);
            let (mut copy, name) = beside(&self.target, mode)?;
            self.place = Staging::Beside(name);
            set_mode(&copy, mode)?;
            self.file.rewind()?;
            io::copy(&mut self.file, &mut copy)?;
            sync(&copy)?;
        }
        Ok(())
    }
}

/// Puts it on disk, where that can be asked for.
fn sync(file: &File) -> io::Result<()> {
    match rustix::fs::fsync(file) {
        // A file system that cannot (`fsync(2)`), or a sandbox that refuses it: the file is written all the same.
        Ok(()) | Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sets the permissions; on file systems that have none all files have the same.
fn set_mode(file: &File, mode: Mode) -> io::Result<()> {
    if rustix::fs::fstat(file)?.st_mode & 0o777 == mode.as_raw_mode() {
        return Ok(());
    }
    Ok(rustix::fs::fchmod(file, mode)?)
}

fn is_without_unnamed_files(error: &io::Error) -> bool {
    [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL]
        .iter()
        .any(|known| error.raw_os_error() == Some(known.raw_os_error()))
}

fn random_name() -> OsString {
    OsString::from(format!(".ipcperf-{:016x}", random::number()))
}

fn beside(target: &directory::Place, mode: Mode) -> io::Result<(File, OsString)> {
    // Not after the target, whose name may be as long as names can be.
    let name = random_name();
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    Ok((open_at(&target.directory, &name, flags, mode)?, name))
}

/// Opens what is written to and not replaced. Standard output is written to whatever it is; of the rest no device,
/// since a disk is one too.
fn through(target: &directory::Place, facts: &Stat) -> io::Result<File> {
    // Who reads it may never come.
    crate::signals::let_end();
    let stdout = rustix::stdio::stdout();
    let same = |other: Stat| (other.st_dev, other.st_ino) == (facts.st_dev, facts.st_ino);
    if !terminal::stdout_was_closed() && rustix::fs::fstat(stdout).is_ok_and(same) {
        return Ok(rustix::io::fcntl_dupfd_cloexec(stdout, 3)?.into());
    }
    let refuse = |facts: &Stat| match FileType::from_raw_mode(facts.st_mode) {
        FileType::BlockDevice | FileType::CharacterDevice => {
            let text = "a device is written to only if it is standard output";
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
        _ => Ok(()),
    };
    refuse(facts)?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY;
    let file = if target.is_open_file {
        let flags = flags | OFlags::CLOEXEC;
        rustix::fs::openat(&target.directory, &target.name, flags, Mode::empty())?.into()
    } else {
        open_at(&target.directory, &target.name, flags, Mode::empty())?
    };
    refuse(&rustix::fs::fstat(&file)?)?;
    Ok(file)
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Staging::Beside(name) = &self.place {
            let _ = directory::remove_name(self.target.directory.as_fd(), name);
        }
    }
}

/// A regular file, open for reading, and its length. A FIFO is refused and not waited for, and no device is opened, since
/// even that may do something.
///
/// # Errors
/// The kernel's; or it is no regular file, with what it is.
pub fn regular(path: &Path) -> io::Result<(File, u64)> {
    let refuse = |facts: &Stat| match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::Error::other("it is a directory")),
        FileType::Fifo => {
            Err(io::Error::other("it is a FIFO, and only a regular file can be read twice"))
        }
        _ => Err(io::Error::other("it is not a regular file")),
    };
    refuse(&rustix::fs::stat(path)?)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = rustix::fs::fstat(&file)?;
    refuse(&facts)?;
    Ok((file, u64::try_from(facts.st_size).unwrap_or(0)))
}

/// Whether a path leads to a file that this process has open: `/dev/stdin`, `/dev/fd/63` of a pipe that a shell makes.
#[must_use]
pub fn is_open_file(path: &Path) -> bool {
    directory::find(path).is_ok_and(|place| place.is_open_file)
}

/// A file in memory that no path leads to; it goes with its last descriptor.
///
/// # Errors
/// The kernel's, for example `EMFILE`.
pub fn unnamed(label: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(label, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Bytes of the file system at `path`: all, and those that this user may still use; `None` where there is none.
#[must_use]
pub fn space(path: &Path) -> Option<(u64, u64)> {
    let facts = rustix::fs::statvfs(path).ok()?;
    Some((facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::{self, Refusal};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn it_appears_whole_replaces_what_was_there_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("run.json");
        let count = || fs::read_dir(folder.path()).expect("readable").count();
        for text in ["first", "second"] {
            let mut file = WholeFile::start(&target).expect("writable");
            file.write_all(text.as_bytes()).expect("written");
            assert_ne!(fs::read_to_string(&target).unwrap_or_default(), text);
            file.publish().expect("published");
            assert_eq!(fs::read_to_string(&target).expect("there"), text);
            assert_eq!(count(), 1);
        }
        drop(WholeFile::start(&target).expect("writable"));
        assert_eq!(count(), 1);
        assert!(WholeFile::start(&folder.path().join("no/such/run.json")).is_err());
        assert!(WholeFile::start(folder.path()).is_err());
    }

    /// Other file systems: without unnamed files there is a file beside the target, and of the three ways to give it a new
    /// name any may be missing.
    #[test]
    fn whatever_a_file_system_lacks_a_new_file_appears_and_nothing_is_overwritten() {
        let (link, rename, sync) = (libc::SYS_linkat, libc::SYS_renameat2, libc::SYS_fsync);
        for (calls, errno) in [
            (vec![link], libc::EPERM),
            (vec![rename], libc::EINVAL),
            (vec![link, rename, sync], libc::EINVAL),
            (vec![link, rename, sync], libc::ENOSYS),
        ] {
            let tried = std::thread::spawn(move || {
                seccomp::refuse(&calls, Refusal::With(errno)).expect("a filter");
                let folder = tempfile::tempdir().expect("a temporary folder");
                let at = |name: &str| folder.path().join(name);
                let read = |name: &str| fs::read_to_string(at(name)).expect("there");
                let begun = |text: &str| {
                    let mut file = WholeFile::start(&at("run")).expect("writable");
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                    // As where there are no unnamed files.
                    let name = random_name();
                    file.file =
                        open_at(&file.target.directory, &name, flags, Mode::RWXU).expect("made");
                    file.place = Staging::Beside(name);
                    file.write_all(text.as_bytes()).expect("written");
                    file
                };
                WholeFile::check(&at("run")).expect("it can be written");
                begun("checked").try_names().expect("it can be written");
                assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
                begun("first").publish().expect("published");
                begun("second").publish().expect("published");
                assert_eq!(read("run"), "second", "replaced as asked");
                let names = || ["run", "run-2", "run-3"].map(ToOwned::to_owned);
                assert_eq!(begun("third").publish_new(names()).expect("published"), "run-2");
                let mut unnamed = WholeFile::start(&at("run")).expect("writable");
                unnamed.write_all(b"fourth").expect("written");
                assert_eq!(unnamed.publish_new(names()).expect("published"), "run-3");
                let error = begun("fifth").publish_new(names()).expect_err("all are taken");
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
                assert_eq!(["run", "run-2", "run-3"].map(read), ["second", "third", "fourth"]);
                assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3);
            });
            tried.join().expect("no panic");
        }
    }

    #[test]
    fn what_could_get_no_name_is_told_before_it_is_written() {
        let calls = [libc::SYS_linkat, libc::SYS_renameat, libc::SYS_renameat2];
        let tried = std::thread::spawn(move || {
            seccomp::refuse(&calls, Refusal::NotPermitted).expect("a filter");
            let folder = tempfile::tempdir().expect("a temporary folder");
            WholeFile::check(&folder.path().join("run")).expect_err("no way to name it");
            assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
        });
        tried.join().expect("no panic");
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| folder.path().join(name);
        fs::write(place("file"), "12345").expect("written");
        symlink(place("file"), place("link")).expect("linked");
        rustix::fs::mkfifoat(CWD, place("fifo"), Mode::RUSR).expect("made");
        for name in ["file", "link"] {
            assert_eq!(regular(&place(name)).expect(name).1, 5);
        }
        for (path, told) in [
            (place(""), "it is a directory"),
            (place("fifo"), "it is a FIFO"),
            ("/dev/zero".into(), "it is not a regular file"),
            (place("none"), "No such file"),
        ] {
            let error = regular(&path).expect_err(told).to_string();
            assert!(error.contains(told), "{}: {error}", path.display());
        }
    }

    #[test]
    fn the_longest_name_is_replaced_too() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("n".repeat(255));
        for text in ["first", "second"] {
            let mut file = WholeFile::start(&target).expect("writable");
            file.write_all(text.as_bytes()).expect("written");
            file.publish().expect("published");
            assert_eq!(fs::read_to_string(&target).expect("there"), text);
        }
        assert!(WholeFile::check(&folder.path().join("n".repeat(256))).is_err(), "told at once");
    }

    #[test]
    fn a_link_is_followed_and_what_is_no_file_is_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), "old").expect("written");
        symlink("real", at("link")).expect("a link");
        let mut file = WholeFile::start(&at("link")).expect("writable");
        file.write_all(b"new").expect("written");
        file.publish().expect("published");
        assert!(at("link").is_symlink());
        assert_eq!(fs::read_to_string(at("real")).expect("there"), "new");

        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a FIFO");
        let path = at("fifo");
        let reader = std::thread::spawn(move || fs::read_to_string(path).expect("readable"));
        let mut file = WholeFile::start(&at("fifo")).expect("writable");
        file.write_all(b"through").expect("written");
        file.publish().expect("published");
        assert_eq!(reader.join().expect("the reader ends"), "through");
        assert!(fs::metadata(at("fifo")).expect("still there").file_type().is_fifo());
    }

    #[test]
    fn a_new_name_is_never_somebody_elses() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let names = || (1..).map(|number| format!("run-{number}"));
        for number in 1..=3 {
            let mut file = WholeFile::start(&folder.path().join("run-1")).expect("writable");
            write!(file, "{number}").expect("written");
            let name = file.publish_new(names()).expect("published");
            assert_eq!(name, format!("run-{number}"));
            let text = fs::read_to_string(folder.path().join(name)).expect("there");
            assert_eq!(text, number.to_string());
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3);
    }

    #[test]
    fn what_is_replaced_keeps_its_permissions() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("run.json");
        for mode in [0o600, 0o666, 0o640] {
            fs::write(&target, "old").expect("written");
            fs::set_permissions(&target, fs::Permissions::from_mode(mode)).expect("ours");
            WholeFile::start(&target).expect("writable").publish().expect("published");
            let facts = fs::metadata(&target).expect("there");
            assert_eq!((facts.len(), facts.permissions().mode() & 0o777), (0, mode));
        }
    }

    #[test]
    fn a_device_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let link = folder.path().join("link");
        symlink("/dev/full", &link).expect("a link");
        for target in [Path::new("/dev/full"), &link] {
            for attempt in [WholeFile::check(target), WholeFile::start(target).map(drop)] {
                let error = attempt.expect_err("a device").to_string();
                assert!(error.contains("standard output"), "{error}");
            }
        }
    }

    #[test]
    fn an_open_file_is_written_to_through_its_descriptor() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut whole = WholeFile::start(Path::new(&path)).expect("writable");
        whole.write_all(b"text").expect("written");
        whole.publish().expect("published");
        assert_eq!(io::read_to_string(&mut file).expect("readable"), "text");
    }

    #[test]
    fn what_another_user_put_where_all_may_write_is_neither_followed_nor_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (precious, open) = (folder.path().join("precious"), folder.path().join("open"));
        fs::create_dir(&open).expect("a folder");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).expect("ours");
        fs::write(&precious, "old").expect("written");
        fs::write(open.join("file"), "old").expect("written");
        symlink(&precious, open.join("link")).expect("a link");
        fs::create_dir(open.join("folder")).expect("a folder");
        symlink(&precious, open.join("folder/link")).expect("a link");
        for (name, theirs) in [
            ("link", "link"),
            ("file", "file"),
            ("folder/link", "folder"),
            ("folder/new", "folder"),
        ] {
            if directory::give_away(&open.join(theirs)) {
                assert!(WholeFile::check(&open.join(name)).is_err(), "{name}");
                assert!(WholeFile::start(&open.join(name)).is_err(), "{name}");
            }
        }
        assert_eq!(fs::read_to_string(&precious).expect("there"), "old");
    }
}
