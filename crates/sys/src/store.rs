//! A directory of this user alone, in which files stay from one run to the next.

use crate::directory::{self, entries, open_own, open_safe, remove_name};
use crate::file::WholeFile;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Who else may put something into a directory.
const OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);

/// The directory, held by its descriptor. Files in it are readable for this user alone.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    directory: OwnedFd,
}

/// A file as its directory tells of it: another file of the same name differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub written_ns: i64,
}

impl Store {
    /// The directory `name` in `base`; both are made, for this user alone, where they are missing.
    ///
    /// # Errors
    /// They cannot be made or opened; `base` is another user's and not sticky; `name` is no directory of this user, or
    /// others may write to it.
    pub fn make(base: &Path, name: &str) -> io::Result<Self> {
        directory::make(base, 0o700)?;
        match mkdirat(open_safe(base)?, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Self::open(base, name),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory `name` in `base`, which must be there.
    ///
    /// # Errors
    /// As [`Store::make`].
    pub fn open(base: &Path, name: &str) -> io::Result<Self> {
        let directory = open_own(open_safe(base)?.as_fd(), name.as_ref())?;
        let path = base.join(name);
        let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
        if mode.intersects(OTHERS) {
            let text = format!(
                "others may write to '{}' (mode {:o}); chmod 700 it",
                path.display(),
                mode.bits() & 0o7777
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Self { path, directory })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files in it, in no order. A name that is no text is none of ours.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn files(&self) -> io::Result<Vec<StoredFile>> {
        let mut files = Vec::new();
        for (name, kind) in entries(self.directory.as_fd())? {
            let Some(name) = name.to_str().filter(|_| kind.is_file()) else { continue };
            match statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(facts) => files.push(StoredFile {
                    name: name.to_owned(),
                    bytes: u64::try_from(facts.st_size).unwrap_or(0),
                    written_ns: facts
                        .st_mtime
                        .saturating_mul(1_000_000_000)
                        .saturating_add_unsigned(facts.st_mtime_nsec),
                }),
                // Removed meanwhile.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(files)
    }

    /// Opens a file to read it, but nothing that a link leads to, and nothing that is waited for.
    ///
    /// # Errors
    /// It is not there, not readable, or no regular file.
    pub fn read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = directory::open_at(&self.directory, OsStr::new(name), flags, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file),
            _ => Err(io::Error::other("it is no regular file")),
        }
    }

    /// Starts a file that will have this name, or one that it is published under.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn start(&self, name: &str) -> io::Result<WholeFile> {
        WholeFile::start_in(self.directory.try_clone()?, name, Mode::RUSR | Mode::WUSR)
    }

    /// Removes a file; `false` if it is gone already.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        remove_name(self.directory.as_fd(), name.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn write(store: &Store, name: &str, text: &str) {
        let mut file = store.start(name).expect("writable");
        file.write_all(text.as_bytes()).expect("written");
        file.publish().expect("published");
    }

    #[test]
    fn it_is_made_for_this_user_alone_and_so_are_its_files() {
        let base = tempfile::tempdir().expect("a folder");
        let data = base.path().join("share/data");
        assert!(
            Store::open(&data, "ours").is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        );
        let store = Store::make(&data, "ours").expect("made");
        write(&store, "file", "one");
        write(&store, "file", "two!");
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        for folder in [base.path().join("share"), data.clone(), data.join("ours")] {
            assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        }
        assert_eq!(mode(&store.path().join("file")), 0o600);
        let mut text = String::new();
        store.read("file").expect("there").read_to_string(&mut text).expect("text");
        assert_eq!(text, "two!");
        let again = Store::open(&data, "ours").expect("there");
        let files = again.files().expect("readable");
        assert_eq!((files.len(), files[0].bytes), (1, 4));
        assert!(again.remove("file").expect("ours") && !again.remove("file").expect("gone"));
        assert_eq!(store.files().expect("readable"), []);
    }

    #[test]
    fn what_others_may_write_to_or_a_link_leads_to_is_refused() {
        let base = tempfile::tempdir().expect("a folder");
        let store = Store::make(base.path(), "open").expect("made");
        fs::set_permissions(store.path(), fs::Permissions::from_mode(0o770)).expect("ours");
        let error = Store::make(base.path(), "open").expect_err("for others").to_string();
        assert!(error.contains("(mode 770); chmod 700 it"), "{error}");
        symlink("/", base.path().join("link")).expect("a link");
        assert!(Store::make(base.path(), "link").is_err());
        let ours = Store::make(base.path(), "ours").expect("made");
        symlink("/etc/passwd", ours.path().join("file")).expect("a link");
        assert!(ours.read("file").is_err());
        assert_eq!(ours.files().expect("readable"), [], "a link is no file");
        rustix::fs::mkfifoat(&ours.directory, "fifo", Mode::RUSR | Mode::WUSR).expect("made");
        let error = ours.read("fifo").expect_err("nobody writes there").to_string();
        assert!(error.contains("no regular file"), "{error}");
        // It is replaced, and what it leads to is not.
        write(&ours, "file", "text");
        assert!(fs::symlink_metadata(ours.path().join("file")).expect("there").is_file());
        let theirs = base.path().join("theirs");
        fs::create_dir(&theirs).expect("a folder");
        if directory::give_away(&theirs) {
            let error = Store::make(base.path(), "theirs").expect_err("another user's").to_string();
            assert!(error.contains("not a directory of this user"), "{error}");
            let error = Store::make(&theirs, "ours").expect_err("another user's").to_string();
            assert!(error.contains("not sticky"), "{error}");
        }
    }
}
