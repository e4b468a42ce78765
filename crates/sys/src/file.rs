//! A file that appears whole or not at all, whatever kills the process while it is written.

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file under construction. It has no name until it is published; dropping it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    target: PathBuf,
    place: Place,
}

/// Where the bytes are meanwhile.
#[derive(Debug)]
enum Place {
    /// In a file without a name.
    Nowhere,
    /// In a file beside the target, on file systems without unnamed files.
    Beside(PathBuf),
    /// In the target itself, which is a device or a FIFO: there is nothing to replace.
    Target,
}

impl WholeFile {
    /// Starts a file that will be at `target`; fails at once if it could not be written there. A symbolic link is
    /// followed; what is no regular file (a FIFO, `/dev/stdout`) is written to and never replaced.
    ///
    /// # Errors
    /// The folder does not exist or is not writable, or `target` is a folder.
    pub fn start(target: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        match fs::metadata(&target) {
            Ok(facts) if facts.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(facts) if !facts.is_file() => {
                let file = File::options().write(true).open(&target)?;
                return Ok(Self { file, target, place: Place::Target });
            }
            _ => {}
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o644)) {
            Ok(fd) => Ok(Self { file: fd.into(), target, place: Place::Nowhere }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let (file, name) = Self::beside(&target)?;
                Ok(Self { file, target, place: Place::Beside(name) })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn beside(target: &Path) -> io::Result<(File, PathBuf)> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{}", std::process::id()));
        Ok((File::options().write(true).create_new(true).open(&path)?, path))
    }

    /// Puts everything on disk and gives it its name, replacing what was there.
    ///
    /// # Errors
    /// The disk is full, or the folder has changed meanwhile.
    pub fn publish(mut self) -> io::Result<()> {
        if matches!(self.place, Place::Target) {
            return self.file.flush();
        }
        self.file.sync_all()?;
        let target = self.target.clone();
        // The common case: nothing is there yet, and the file appears under its final name.
        if self.link(&target)? {
            return Ok(());
        }
        self.settle_beside()?;
        match &self.place {
            Place::Beside(name) => fs::rename(name, &target),
            _ => Err(io::ErrorKind::Other.into()),
        }
    }

    /// Like [`WholeFile::publish`], but under the first of `names` that nothing has yet; says which.
    ///
    /// # Errors
    /// As there; or all names are taken.
    pub fn publish_new(mut self, names: impl IntoIterator<Item = PathBuf>) -> io::Result<PathBuf> {
        self.file.sync_all()?;
        for name in names {
            if self.link(&name)? {
                return Ok(name);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file a name; false if something has it already.
    fn link(&mut self, name: &Path) -> io::Result<bool> {
        if matches!(self.place, Place::Nowhere) {
            let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let cwd = rustix::fs::CWD;
            match rustix::fs::linkat(cwd, &source, cwd, name, AtFlags::SYMLINK_FOLLOW) {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST) => return Ok(false),
                // Without /proc, or where a sandbox refuses it, a copy with a name does as well.
                Err(_) => self.settle_beside()?,
            }
        }
        let Place::Beside(beside) = &self.place else { return Ok(false) };
        match fs::hard_link(beside, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves the bytes into a file that has a name, if they are not in one.
    fn settle_beside(&mut self) -> io::Result<()> {
        if matches!(self.place, Place::Nowhere) {
            let (mut copy, name) = Self::beside(&self.target)?;
            self.place = Place::Beside(name);
            self.file.rewind()?;
            io::copy(&mut self.file, &mut copy)?;
            copy.sync_all()?;
        }
        Ok(())
    }
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
        if let Place::Beside(name) = &self.place {
            let _ = fs::remove_file(name);
        }
    }
}

/// A file in memory that no path leads to; it goes with its last descriptor.
///
/// # Errors
/// The kernel's, for example `EMFILE`.
pub fn unnamed(label: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(label, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_link_is_followed_and_what_is_no_file_is_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), "old").expect("written");
        std::os::unix::fs::symlink("real", at("link")).expect("a link");
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
        let names = || (1..).map(|number| folder.path().join(format!("run-{number}")));
        for number in 1..=3 {
            let mut file = WholeFile::start(&folder.path().join("run-1")).expect("writable");
            write!(file, "{number}").expect("written");
            let name = file.publish_new(names()).expect("published");
            assert!(name.ends_with(format!("run-{number}")));
            assert_eq!(fs::read_to_string(name).expect("there"), number.to_string());
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3);
    }
}
