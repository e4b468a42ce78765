//! Directories held by descriptor: what was checked is what is used, whatever somebody puts in its place meanwhile.

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// To look at something, or to go through it, without opening it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// To read a directory and nothing else.
const READ: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a directory in which other users cannot replace what this user makes: it is this user's, or sticky. The way to
/// it is that of `find`.
///
/// # Errors
/// It is neither, or cannot be opened.
pub fn open_safe(path: &Path) -> io::Result<OwnedFd> {
    let base = open_base(path)?;
    if base.is_safe { Ok(base.directory) } else { Err(is_unsafe(path)) }
}

fn is_unsafe(path: &Path) -> io::Error {
    let text = format!("'{}' is another user's and not sticky", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// A directory in which this user makes directories.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) directory: OwnedFd,
    /// Other users cannot replace what is made here. They can in a directory for all that is not sticky, an `emptyDir` of
    /// Kubernetes for example; what lies there is this user's only as far as it is reached by descriptor.
    pub(crate) is_safe: bool,
}

/// Opens a directory as `open_safe` does, or one in which everybody may make something.
///
/// # Errors
/// It is another user's, not sticky, and not for everybody; or it cannot be opened.
pub(crate) fn open_base(path: &Path) -> io::Result<Base> {
    let Place { directory, name, is_open_file, .. } = find(path)?;
    let follow = if is_open_file { OFlags::empty() } else { OFlags::NOFOLLOW };
    let directory = fs::openat(directory, &name, READ | follow, Mode::empty())?;
    let facts = fs::fstat(&directory)?;
    let mode = Mode::from_raw_mode(facts.st_mode);
    let is_safe = facts.st_uid == own() || mode.contains(Mode::SVTX);
    if is_safe || mode.contains(Mode::WOTH) {
        return Ok(Base { directory, is_safe });
    }
    Err(is_unsafe(path))
}

/// Opens the directory `name` of this user, but no link to one.
///
/// # Errors
/// It is no directory, or another user's.
pub(crate) fn open_own(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let directory = fs::openat(parent, name, READ | OFlags::NOFOLLOW, Mode::empty())?;
    if fs::fstat(&directory)?.st_uid == own() {
        return Ok(directory);
    }
    let text = format!("{} is not a directory of this user", name.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// What is in a directory: names and kinds.
pub(crate) fn entries(directory: BorrowedFd<'_>) -> io::Result<Vec<(OsString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = match entry.file_type() {
            FileType::Unknown => match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                facts => FileType::from_raw_mode(facts?.st_mode),
            },
            kind => kind,
        };
        if name != c"." && name != c".." {
            found.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
    }
    Ok(found)
}

/// Removes a name that is no directory; `false` if it is gone already.
pub(crate) fn remove_name(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    match fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes the directory `name` of this user with all that lies in it; `false` if there is none.
///
/// # Errors
/// It is no directory of this user, or something in it cannot be removed.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    let directory = match open_own(parent, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    for (inner, kind) in entries(directory.as_fd())? {
        if kind.is_dir() {
            remove_tree(directory.as_fd(), &inner)?;
        } else {
            remove_name(directory.as_fd(), &inner)?;
        }
    }
    fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    Ok(true)
}

/// The place a path leads to.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its directory.
    pub(crate) directory: OwnedFd,
    /// What it is called there.
    pub(crate) name: OsString,
    /// What is there, if anything.
    pub(crate) facts: Option<Stat>,
    /// The name is a link of `/proc` to an open file, which is no path that could be walked.
    pub(crate) is_open_file: bool,
}

/// As many links as the kernel follows (`path_resolution(7)`).
const MOST_LINKS: u32 = 40;

/// Follows a path to its end, step by step. Links are followed too. In a sticky directory only what belongs to this user
/// or to the directory's owner is believed: of links that is the rule of `fs.protected_symlinks`, whether or not the
/// kernel is told to keep it; a folder of somebody else may hold further links; and a file at the end may be one that
/// somebody waits to see written.
///
/// # Errors
/// A directory on the way is missing, or something belongs to somebody else.
pub(crate) fn find(path: &Path) -> io::Result<Place> {
    walk(path, None)
}

/// Makes a directory and those above it, where they are missing. The way to it is that of `find`.
///
/// # Errors
/// As there; or it is no directory, or cannot be made.
pub fn make(path: &Path, mode: u32) -> io::Result<()> {
    let facts = walk(path, Some(Mode::from_raw_mode(mode)))?.facts;
    let kind = facts.map(|facts| FileType::from_raw_mode(facts.st_mode));
    if kind == Some(FileType::Directory) { Ok(()) } else { Err(Errno::EXIST.into()) }
}

/// What [`find`] does. Directories that are missing are made, where their mode is given.
fn walk(path: &Path, missing: Option<Mode>) -> io::Result<Place> {
    let steps = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|step| step.as_os_str().to_owned()).collect()
    };
    let mut ahead = steps(path);
    let mut directory = fs::open(".", LOOK | OFlags::DIRECTORY, Mode::empty())?;
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        let look = || fs::openat(&directory, &name, LOOK, Mode::empty());
        let found = match (look(), missing) {
            (Err(Errno::NOENT), Some(mode)) => match fs::mkdirat(&directory, &name, mode) {
                Ok(()) | Err(Errno::EXIST) => look()?,
                Err(error) => return Err(error.into()),
            },
            (Err(Errno::NOENT), None) if ahead.is_empty() => {
                return Ok(Place { directory, name, facts: None, is_open_file: false });
            }
            (other, _) => other?,
        };
        let facts = fs::fstat(&found)?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        // Nobody puts the root and the way up anywhere.
        let is_put = name != "/" && name != "." && name != "..";
        if is_put && is_foreign(&fs::fstat(&directory)?, &facts, own()) {
            let text = format!(
                "'{}' was put into a directory for all by another user (uid {})",
                name.display(),
                facts.st_uid
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        if kind.is_symlink() {
            let is_proc = fs::fstatfs(&directory)?.f_type as u64 == PROC_SUPER_MAGIC;
            if is_proc && ahead.is_empty() {
                let facts = Some(fs::statat(&directory, &name, AtFlags::empty())?);
                return Ok(Place { directory, name, facts, is_open_file: true });
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = fs::readlinkat(&found, c"", Vec::new())?;
            ahead.extend(steps(Path::new(&OsString::from_vec(target.into_bytes()))));
        } else if ahead.is_empty() {
            return Ok(Place { directory, name, facts: Some(facts), is_open_file: false });
        } else {
            directory = found;
        }
    }
    Err(Errno::NOENT.into())
}

/// `PROC_SUPER_MAGIC` of `include/uapi/linux/magic.h`.
const PROC_SUPER_MAGIC: u64 = 0x9fa0;

/// Whether what lies in a directory where everybody may put things belongs to neither user nor the directory's owner.
fn is_foreign(directory: &Stat, facts: &Stat, own: u32) -> bool {
    let mode = Mode::from_raw_mode(directory.st_mode);
    mode.contains(Mode::SVTX.union(Mode::WOTH))
        && facts.st_uid != own
        && facts.st_uid != directory.st_uid
}

/// Opens a file in a directory, but nothing that a link leads to.
pub(crate) fn open_at(
    directory: impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> io::Result<std::fs::File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(directory, name, flags, mode)?.into())
}

/// Gives a file of a test to another user, which only root can do; whether it could.
#[cfg(test)]
pub(crate) fn give_away(path: &Path) -> bool {
    let nobody = Some(rustix::fs::Uid::from_raw(65534));
    let given = fs::chownat(fs::CWD, path, nobody, None, AtFlags::SYMLINK_NOFOLLOW);
    let is_root = given.is_ok();
    if !is_root {
        assert_ne!(own(), 0, "{given:?}");
        crate::skipped::skipped("root", "nobody else can make directories of another user");
    }
    is_root
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs as paths;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_path_ends_where_the_kernel_says() {
        let base = tempfile::tempdir().expect("a directory");
        let at = |name: &str| base.path().join(name);
        paths::create_dir_all(at("a/b")).expect("directories");
        paths::write(at("a/file"), "").expect("a file");
        symlink("a/b", at("short")).expect("a link");
        symlink("../file", at("a/b/up")).expect("a link");
        symlink(at("short/up"), at("far")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        symlink("missing", at("dangling")).expect("a link");
        for name in ["a/file", "short/../file", "short/up", "far", "./a/./b/../file"] {
            let place = find(&at(name)).expect(name);
            let inode = paths::metadata(at(name)).expect(name).ino();
            assert_eq!((place.name.as_os_str(), place.is_open_file), (OsStr::new("file"), false));
            assert_eq!(place.facts.map(|facts| facts.st_ino), Some(inode), "{name}");
        }
        let place = find(&at("dangling")).expect("a place for a new file");
        assert!(place.name == "missing" && place.facts.is_none());
        for name in ["loop", "no/file", "a/file/x"] {
            assert!(find(&at(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn directories_are_made_where_they_are_missing_and_links_to_them_are_followed() {
        let base = tempfile::tempdir().expect("a directory");
        let at = |name: &str| base.path().join(name);
        paths::write(at("file"), "").expect("a file");
        symlink("real/below", at("link")).expect("a link");
        for name in ["a/b/c", "a/b/c", "a/../d/./e", "real", "link/f"] {
            make(&at(name), 0o700).expect(name);
            assert!(at(name).is_dir(), "{name}");
        }
        assert!(at("real/below/f").is_dir());
        assert_eq!(paths::metadata(at("a/b")).expect("made").mode() & 0o777, 0o700);
        for name in ["file", "file/below"] {
            assert!(make(&at(name), 0o700).is_err(), "{name}");
        }
    }

    #[test]
    fn in_a_directory_for_all_only_what_is_ours_or_its_owners_is_believed() {
        let base = tempfile::tempdir().expect("a directory");
        let open = fs::open(base.path(), READ, Mode::empty()).expect("a directory");
        let facts = |uid: u32, mode: u32| {
            let mut facts = fs::fstat(&open).expect("facts");
            (facts.st_uid, facts.st_mode) = (uid, mode);
            facts
        };
        let (sticky, shared, closed) = (0o41777, 0o40777, 0o41755);
        for (directory, owner, mode, foreign) in [
            (0, 1000, sticky, true),
            (0, 0, sticky, false),
            (0, 7, sticky, false),
            (1000, 1000, sticky, false),
            (0, 1000, shared, false),
            (0, 1000, closed, false),
        ] {
            let found = is_foreign(&facts(directory, mode), &facts(owner, 0o120_777), 7);
            assert_eq!(found, foreign, "{directory} {owner} {mode:o}");
        }
    }

    #[test]
    fn nobody_elses_directory_is_taken_for_safe_and_nobody_elses_link_is_followed() {
        let base = tempfile::tempdir().expect("a directory");
        let at = |name: &str| base.path().join(name);
        paths::create_dir(at("theirs")).expect("a directory");
        paths::create_dir(at("all")).expect("a directory");
        paths::write(at("precious"), "").expect("a file");
        symlink(at("precious"), at("all/link")).expect("a link");
        symlink(base.path(), at("all/way")).expect("a link");
        paths::set_permissions(at("all"), paths::Permissions::from_mode(0o1777)).expect("ours");
        assert!(open_safe(&at("theirs")).is_ok() && find(&at("all/link")).is_ok());
        paths::create_dir(at("all/folder")).expect("a directory");
        symlink(at("precious"), at("all/folder/link")).expect("a link");
        let theirs = ["theirs", "all/link", "all/way", "all/folder"];
        let given = theirs.iter().all(|name| give_away(&at(name)));
        if !given {
            return;
        }
        let error = open_safe(&at("theirs")).expect_err("another user's").to_string();
        assert!(error.contains("not sticky"), "{error}");
        for name in ["all/link", "all/way/precious", "all/folder/link", "all/folder/../../precious"]
        {
            let error = find(&at(name)).expect_err("another user's").to_string();
            assert!(error.contains("65534"), "{error}");
        }
        for name in ["all/folder", "all/folder/new", "all/way/new"] {
            let error = make(&at(name), 0o755).expect_err("another user's").to_string();
            assert!(error.contains("65534"), "{error}");
            let error = open_safe(&at(name)).expect_err("another user's").to_string();
            assert!(error.contains("65534"), "{error}");
        }
        assert!(!at("new").exists() && !at("all/folder/new").exists());
        paths::set_permissions(at("theirs"), paths::Permissions::from_mode(0o1777)).expect("root");
        assert!(open_safe(&at("theirs")).is_ok(), "sticky");
    }
}
