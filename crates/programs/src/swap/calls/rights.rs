//! Reaches files with the rights of a program: its user, groups, capabilities, root and working directory. ipcperf may run as root
//! while the program has given that up, and must not lend it.
//!
//! # Safety
//! The one call takes numbers.

use crate::swap::calls::handed::PendingCall;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{chroot, fchdir};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags, capabilities, set_capabilities,
    set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    unshare_unsafe,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

/// What the kernel asks for when a file is opened (`credentials(7)`, `capabilities(7)`).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Credentials {
    /// Those of file systems.
    user: u32,
    group: u32,
    groups: Vec<u32>,
    capabilities: u64,
}

impl Credentials {
    /// Reads them from a thread's status (`proc_pid_status(5)`).
    fn read(status: &str) -> Option<Self> {
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        // Real, effective, saved, and that of file systems.
        let last = |name| line(name)?.split_whitespace().nth(3)?.parse().ok();
        let groups = line("Groups:")?.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        let capabilities = u64::from_str_radix(line("CapEff:")?.trim(), 16).ok()?;
        let (user, group) = (last("Uid:")?, last("Gid:")?);
        Some(Self { user, group, groups: groups.ok()?, capabilities })
    }

    fn of(thread: &str) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
        Ok(Self::read(&status).ok_or(io::ErrorKind::InvalidData)?)
    }

    /// Gives this thread these credentials in place of its `own`. It sets only those that differ, because ipcperf may lack the
    /// right to set the others.
    fn take(&self, own: &Self) -> Result<(), Errno> {
        set_keep_capabilities(true)?;
        if self.groups != own.groups {
            let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
            set_thread_groups(&groups)?;
        }
        if self.group != own.group {
            let group = Gid::from_raw(self.group);
            set_thread_res_gid(group, group, group)?;
        }
        if self.user != own.user {
            let user = Uid::from_raw(self.user);
            set_thread_res_uid(user, user, user)?;
        }
        let kept =
            capabilities(None)?.permitted & CapabilitySet::from_bits_retain(self.capabilities);
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
        set_capabilities(None, sets)
    }
}

/// A program's rights, as far as they are others than those of ipcperf.
#[derive(Debug)]
pub(super) struct ProgramRights {
    /// The program's, and those of ipcperf.
    credentials: Option<[Credentials; 2]>,
    root: Option<OwnedFd>,
    folder: OwnedFd,
}

impl ProgramRights {
    /// Those of the thread that calls.
    pub(super) fn of(call: &PendingCall) -> io::Result<Self> {
        let thread = call.thread.to_string();
        let open = |name: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(format!("/proc/{thread}/{name}"), flags, Mode::empty())
        };
        let mut theirs = Credentials::of(&thread)?;
        let own = Credentials::of("thread-self")?;
        let namespace = |thread: &str| fs::read_link(format!("/proc/{thread}/ns/user")).ok();
        if namespace(&thread) != namespace("thread-self") {
            // Its capabilities are within a user namespace of its own.
            theirs.capabilities = 0;
        }
        let root = open("root")?;
        let [its, ours] = [rustix::fs::fstat(&root)?, rustix::fs::stat("/")?];
        let is_ours = (its.st_dev, its.st_ino) == (ours.st_dev, ours.st_ino);
        Ok(Self {
            credentials: (theirs != own).then_some([theirs, own]),
            root: Some(root).filter(|_| !is_ours),
            folder: open("cwd")?,
        })
    }

    /// Whether ipcperf reaches the same files with the same rights.
    pub(super) fn are_ours(&self) -> bool {
        self.credentials.is_none() && self.root.is_none()
    }

    /// Acts with them, in a thread that ends with it. Paths are the program's.
    pub(super) fn act<T: Send>(
        &self,
        act: impl FnOnce() -> Result<T, Errno> + Send,
    ) -> Result<T, Errno> {
        let with_rights = || {
            // SAFETY: the call takes a number. From here on this thread has a root, and a working directory of its own;
            // it still shares the table of descriptors with the other threads.
            unsafe { unshare_unsafe(UnshareFlags::FS) }?;
            if let Some(root) = &self.root {
                fchdir(root)?;
                chroot(".")?;
            }
            fchdir(&self.folder)?;
            if let Some([theirs, own]) = &self.credentials {
                theirs.take(own)?;
            }
            act()
        };
        std::thread::scope(|scope| scope.spawn(with_rights).join()).unwrap_or(Err(Errno::IO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_rights_of_a_thread() {
        let status = "Name:\tes\nUid:\t0\t65534\t0\t65534\nGid:\t1\t2\t3\t4\n\
                      Groups:\t27 100 \nCapEff:\t0000000000000400\n";
        let found = Credentials::read(status).expect("all of it");
        let wanted =
            Credentials { user: 65534, group: 4, groups: vec![27, 100], capabilities: 1024 };
        assert_eq!(found, wanted);
        assert!(Credentials::read("Uid:\t0\t0\t0\n").is_none());
        let own = Credentials::of("thread-self").expect("our own");
        assert_eq!(Credentials::of("thread-self").expect("again"), own);
    }

    /// As when the file of ipcperf has capabilities that the program does not get.
    #[test]
    fn a_user_gives_capabilities_up_without_a_right_to_change_groups() {
        let done = || {
            let nobody = Uid::from_raw(65534);
            if rustix::process::geteuid().is_root() {
                set_thread_res_uid(nobody, nobody, nobody).expect("root");
            }
            let own = Credentials::of("thread-self").expect("our own");
            let more = Credentials { capabilities: own.capabilities | 1024, ..own.clone() };
            let folder = rustix::fs::open("/", OFlags::PATH, Mode::empty()).expect("a folder");
            let rights = ProgramRights { credentials: Some([own, more]), root: None, folder };
            rights.act(|| Ok(rustix::process::geteuid().as_raw()))
        };
        // In a thread of its own, whose user the others do not get.
        let user = std::thread::spawn(done).join().expect("no panic");
        assert_ne!(user, Ok(0));
        assert!(user.is_ok(), "{user:?}");
    }
}
