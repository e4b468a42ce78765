//! A file that appears whole or not at all, whatever kills the process while it is written.

use rustix::fs::{AtFlags, Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file under construction. It has no name until [`WholeFile::publish`]; dropping it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    target: PathBuf,
    /// Only on file systems without unnamed files.
    named: Option<PathBuf>,
}

impl WholeFile {
    /// Starts a file that will be at `target`; fails at once if it could not be written there.
    ///
    /// # Errors
    /// The folder does not exist or is not writable, or `target` is a folder.
    pub fn start(target: &Path) -> io::Result<Self> {
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        match rustix::fs::open(folder, flags, mode) {
            Ok(fd) => Ok(Self { file: fd.into(), target: target.to_owned(), named: None }),
            Err(
                rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL,
            ) => {
                let name = Self::beside(target);
                let file = File::options().write(true).create_new(true).open(&name)?;
                Ok(Self { file, target: target.to_owned(), named: Some(name) })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn beside(target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        target.with_file_name(format!(".{name}.{}", std::process::id()))
    }

    /// Puts everything on disk and gives it its name, replacing what was there.
    ///
    /// # Errors
    /// The disk is full, or the folder has changed meanwhile.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.sync_all()?;
        let name = match self.named.take() {
            Some(name) => name,
            None => {
                let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                let link = |name: &Path| {
                    rustix::fs::linkat(
                        rustix::fs::CWD,
                        &source,
                        rustix::fs::CWD,
                        name,
                        AtFlags::SYMLINK_FOLLOW,
                    )
                };
                // The common case: nothing is there yet, and the file appears under its final name.
                match link(&self.target) {
                    Ok(()) => return Ok(()),
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                let name = Self::beside(&self.target);
                link(&name)?;
                name
            }
        };
        fs::rename(&name, &self.target).inspect_err(|_| {
            let _ = fs::remove_file(&name);
        })
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
        if let Some(name) = &self.named {
            let _ = fs::remove_file(name);
        }
    }
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
}
