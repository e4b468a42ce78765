//! Entering namespaces: new ones, or those of another process. A process does it while it has one thread, before it opens
//! anything that it will be measured by.

use ipcperf_core::{FollowIn, Missing, Namespace, Namespaces, SetupError, errno};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::thread::CapabilitySet;
use std::ffi::{CString, c_int};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// Directories that a mount namespace of its own has for itself, beside those that are named to [`enter`].
const OWN: [&str; 2] = ["/tmp", "/dev/shm"];

/// Whether this process may make namespaces as it is; otherwise it makes one of users first, in which it may.
#[must_use]
pub fn may_make() -> bool {
    let sets = rustix::thread::capabilities(None);
    sets.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// All namespaces that a process of this user leaves that enters these.
///
/// # Errors
/// It cannot enter those of that process.
pub fn left(which: FollowIn) -> Result<Namespaces, Missing> {
    match which {
        FollowIn::New(which) if may_make() || which.is_none() => Ok(which),
        FollowIn::New(which) => Ok(which.with(Namespace::User)),
        FollowIn::Of(process) => differing(process),
    }
}

/// The namespaces in which a process is and this one is not.
fn differing(process: u32) -> Result<Namespaces, Missing> {
    let no_such =
        || Missing::new(format!("there is no process {process}"), "the number of one that runs");
    let inode = |whose: &str, of: Namespace| {
        std::fs::metadata(format!("/proc/{whose}/ns/{of}")).map(|file| (file.dev(), file.ino()))
    };
    let mut all = Namespaces::NONE;
    for one in Namespace::ALL {
        // A kernel without this kind has no file for it.
        let Ok(own) = inode("self", *one) else { continue };
        let other = inode(&process.to_string(), *one).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Missing::new(
                format!("the namespaces of process {process} may not be looked at"),
                "run as root or as its user",
            ),
            _ => no_such(),
        })?;
        if own != other {
            all = all.with(*one);
        }
    }
    if all.is_none() {
        let what = format!("process {process} is in the namespaces of ipcperf itself");
        return Err(Missing::new(what, "a process in others, or --follow-in with their kinds"));
    }
    Ok(all)
}

const fn flag(of: Namespace) -> c_int {
    match of {
        Namespace::Net => libc::CLONE_NEWNET,
        Namespace::Ipc => libc::CLONE_NEWIPC,
        Namespace::Mnt => libc::CLONE_NEWNS,
        Namespace::Pid => libc::CLONE_NEWPID,
        Namespace::User => libc::CLONE_NEWUSER,
    }
}

fn flags(which: Namespaces) -> c_int {
    which.each().map(flag).fold(0, |all, one| all | one)
}

/// Enters these namespaces. In a new one of mounts `/tmp`, `/dev/shm` and the directories of `hidden` are empty ones of its
/// own. In another one of process numbers only a child can be: then this process becomes the parent of one, which goes on in
/// its place, and passes on how that ended. The one that goes on dies with its parent, as before.
///
/// # Errors
/// `Unavailable` where the right is missing, with the remedy.
pub fn enter(which: FollowIn, hidden: &[PathBuf]) -> Result<(), SetupError> {
    let coordinator = opened_process(rustix::process::getppid().ok_or_else(gone)?)?;
    let entered = left(which)?;
    match which {
        FollowIn::New(_) => {
            if entered.has(Namespace::User) {
                own_users()?;
            }
            unshare(entered.without(Namespace::User))?;
            if entered.has(Namespace::Mnt) {
                own_directories(hidden)?;
            }
        }
        FollowIn::Of(number) => {
            let process = Pid::from_raw(number.cast_signed());
            let process = process.and_then(|pid| opened_process(pid).ok());
            let none = || Missing::new(format!("process {number} has ended"), "one that runs");
            set(&process.ok_or_else(none)?, flags(entered)).map_err(|error| {
                let what =
                    format!("the namespaces of process {number} ({entered}) cannot be entered");
                refused(
                    &what,
                    &error,
                    "run as root, or as the user who made them (Linux 5.8 or newer)",
                )
            })?;
        }
    }
    // Other users and capabilities take the request back.
    die_with_parent()?;
    if has_ended(&coordinator) {
        return Err(gone());
    }
    if entered.has(Namespace::Pid) { go_on_in_child() } else { Ok(()) }
}

/// Enters the namespaces that these descriptors stand for, one after the other.
///
/// # Errors
/// The call that failed.
pub fn join(which: &[OwnedFd]) -> Result<(), SetupError> {
    for one in which {
        set(one, 0).map_err(|error| SetupError::sys("setns", code(&error)))?;
    }
    die_with_parent()
}

/// Makes a namespace of users in which this one has all rights, and is the user that it was.
pub(crate) fn own_users() -> Result<(), SetupError> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(Namespaces::NONE.with(Namespace::User))?;
    let write = |file: &str, text: String| {
        let opened = OpenOptions::new().write(true).open(format!("/proc/self/{file}"));
        opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            refused(&format!("a user namespace cannot be set up ({file})"), &error, RIGHTS)
        })
    };
    // Who may not leave a group may not be let into another.
    write("setgroups", "deny".into())?;
    write("uid_map", format!("{user} {user} 1"))?;
    Ok(write("gid_map", format!("{group} {group} 1"))?)
}

/// What helps where namespaces are refused.
const RIGHTS: &str = "run as root, or where users may make user namespaces (sysctl user.max_user_namespaces=10000, \
                      kernel.apparmor_restrict_unprivileged_userns=0; docker run --security-opt seccomp=unconfined)";

/// Makes new ones of these kinds, for this process alone.
pub(crate) fn unshare(which: Namespaces) -> Result<(), SetupError> {
    if which.is_none() {
        return Ok(());
    }
    // SAFETY: takes a number.
    if unsafe { libc::unshare(flags(which)) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let word = which.each().map(Namespace::name).collect::<Vec<_>>().join(", ");
    Err(match code(&error) {
        libc::ENOSPC | libc::EUSERS => Missing::new(
            format!("there are as many namespaces ({word}) as the system allows"),
            which.each().map(limit).collect::<Vec<_>>().join(", "),
        ),
        libc::EINVAL | libc::ENOSYS => Missing::new(
            format!("this kernel has no namespaces of a kind that was asked for ({word})"),
            "a kernel with CONFIG_NAMESPACES",
        ),
        _ => refused(&format!("new namespaces ({word}) take CAP_SYS_ADMIN"), &error, RIGHTS),
    }
    .into())
}

fn limit(of: Namespace) -> String {
    format!("sysctl user.max_{of}_namespaces=10000")
}

fn refused(what: &str, error: &io::Error, how: &str) -> Missing {
    Missing::new(format!("{what}: {}", errno::text(code(error))), how)
}

fn code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

fn gone() -> SetupError {
    SetupError::Protocol("the coordinator is gone".into())
}

/// Enters what a descriptor stands for: one namespace, or of a process those of these kinds.
pub(crate) fn set(which: &OwnedFd, kinds: c_int) -> io::Result<()> {
    // SAFETY: takes numbers.
    match unsafe { libc::setns(which.as_raw_fd(), kinds) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The network namespace that this process is in.
pub(crate) fn network() -> Result<OwnedFd, SetupError> {
    opened("net")
}

/// The namespace of users that this process is in.
pub(crate) fn users() -> Result<OwnedFd, SetupError> {
    opened("user")
}

fn opened(kind: &str) -> Result<OwnedFd, SetupError> {
    let path = format!("/proc/self/ns/{kind}");
    let file = File::open(&path);
    file.map(OwnedFd::from).map_err(|error| SetupError::sys(format!("open {path}"), code(&error)))
}

/// Empty directories in this process's own namespace of mounts, which nobody else sees.
fn own_directories(hidden: &[PathBuf]) -> Result<(), SetupError> {
    // Otherwise what is mounted here would be mounted everywhere.
    mount(None, Path::new("/"), libc::MS_REC | libc::MS_PRIVATE)?;
    let all = OWN.iter().map(Path::new).chain(hidden.iter().map(PathBuf::as_path));
    for directory in all {
        // One of them may lie in another, which is empty by now.
        if directory.is_dir() {
            mount(Some("tmpfs"), directory, libc::MS_NOSUID | libc::MS_NODEV)?;
        }
    }
    Ok(())
}

fn mount(kind: Option<&str>, at: &Path, flags: libc::c_ulong) -> Result<(), SetupError> {
    let text =
        |bytes: &[u8]| CString::new(bytes).map_err(|_| SetupError::sys("mount", libc::EINVAL));
    let (path, kind) = (text(at.as_os_str().as_bytes())?, text(kind.unwrap_or("none").as_bytes())?);
    // SAFETY: texts that end with a zero and live for the call; no data.
    let done =
        unsafe { libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), flags, ptr::null()) };
    if done == 0 {
        return Ok(());
    }
    Err(refused("a mount namespace of its own", &io::Error::last_os_error(), RIGHTS).into())
}

fn die_with_parent() -> Result<(), SetupError> {
    let asked = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    asked.map_err(|error| SetupError::sys("PR_SET_PDEATHSIG", error.raw_os_error()))
}

fn opened_process(pid: Pid) -> Result<OwnedFd, SetupError> {
    let opened = rustix::process::pidfd_open(pid, PidfdFlags::empty());
    opened.map_err(|error| SetupError::sys("pidfd_open", error.raw_os_error()))
}

/// Whether the process that this descriptor stands for has ended.
fn has_ended(process: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    !matches!(poll(&mut polled, Some(&Timespec::default())), Ok(0))
}

/// Returns in a child; this process waits for its end, and ends alike.
fn go_on_in_child() -> Result<(), SetupError> {
    let own = opened_process(rustix::process::getpid())?;
    // SAFETY: this process has one thread, so that the child finds no lock that nobody will open.
    match unsafe { libc::fork() } {
        0 => {
            die_with_parent()?;
            // The parent may have died before the request was in place; its number says nothing in here.
            if has_ended(&own) { Err(gone()) } else { Ok(()) }
        }
        child if child > 0 => stand_for(child),
        _ => {
            let error = io::Error::last_os_error();
            Err(refused("no process can be started in a new PID namespace", &error, RIGHTS).into())
        }
    }
}

/// Keeps nothing open, so that the end of every channel is seen when the child has ended, and then ends as it did.
fn stand_for(child: libc::pid_t) -> ! {
    let open: Vec<c_int> = std::fs::read_dir("/proc/self/fd")
        .map(|all| all.filter_map(|one| one.ok()?.file_name().to_str()?.parse().ok()).collect())
        .unwrap_or_default();
    for fd in open {
        // SAFETY: this process uses none of them any more: it waits, and ends.
        unsafe { libc::close(fd) };
    }
    let mut status = 0;
    loop {
        // SAFETY: `status` lives for the call.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            break;
        }
        if code(&io::Error::last_os_error()) != libc::EINTR {
            break;
        }
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: numbers, and a structure that lives for the call. The child has left the one core file there is.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1 };
    // SAFETY: takes a number. What runs at an exit in order belongs to the child.
    unsafe { libc::_exit(code) }
}

/// The number of this process in the PID namespace of `/proc`, which is the coordinator's even where this process has entered
/// another one.
pub(crate) fn outer_pid() -> Option<u32> {
    std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::queue::mqueue;
    use crate::io::socket::netlink;
    use rustix::io::Errno;
    use rustix::net::{self, SendFlags};

    #[test]
    fn a_process_is_in_its_own_namespaces_and_no_number_is_taken_that_nobody_has() {
        let own = differing(std::process::id()).expect_err("the same").to_string();
        assert!(own.contains("is in the namespaces of ipcperf itself"), "{own}");
        let nobody = differing(1 << 22).expect_err("nobody").to_string();
        assert!(nobody.contains("there is no process 4194304"), "{nobody}");
    }

    #[test]
    fn who_may_not_make_namespaces_enters_one_of_users_too() {
        let left = left(FollowIn::New(Namespaces::NET)).expect("no process is named");
        assert_eq!(left.has(Namespace::User), !may_make());
        assert!(left.has(Namespace::Net) && !left.has(Namespace::Ipc));
    }

    /// What `job` says in a namespace of this kind of its own; `None` where this user may not make one.
    fn elsewhere<T: Send>(kind: Namespace, job: impl Fn() -> T + Sync) -> Option<T> {
        let inside = || unshare(Namespaces::NONE.with(kind)).map(|()| job());
        // A namespace is a matter of threads, and this one has no other task.
        match std::thread::scope(|scope| scope.spawn(inside).join().expect("no panic")) {
            Ok(said) => Some(said),
            Err(why) => {
                crate::skipped::skipped("namespaces", why);
                None
            }
        }
    }

    /// The channels of these mechanisms are handed over, so that no conformance case comes by their names.
    #[test]
    fn the_name_of_a_queue_ends_at_the_ipc_namespace_and_a_netlink_port_at_net() {
        let name = format!("ipcperf-test-{}-elsewhere", std::process::id());
        let Ok(_queue) = mqueue::create_named(&name) else {
            return crate::skipped::skipped("posix-mq", "it cannot be had");
        };
        let is_there = || mqueue::unlink(&name);
        let ipc = elsewhere(Namespace::Ipc, is_there);
        let net = elsewhere(Namespace::Net, is_there);
        let here = is_there();
        // The first socket of a process in a namespace has the number of the process, wherever it is.
        let (_first, _) = netlink::bound().expect("netlink");
        let (_second, port) = netlink::bound().expect("netlink");
        let reach = || {
            let (from, _) = netlink::bound().expect("netlink");
            net::sendto(&from, b"a", SendFlags::DONTWAIT, &port)
        };
        if ipc.is_some() && net.is_some() {
            assert_eq!((ipc, net, here), (Some(Ok(false)), Some(Ok(true)), Ok(false)));
            assert_eq!(elsewhere(Namespace::Net, reach), Some(Err(Errno::CONNREFUSED)));
            assert_eq!(elsewhere(Namespace::Ipc, reach), Some(Ok(1)));
        }
    }

    #[test]
    fn the_number_by_proc_is_the_number_outside() {
        assert_eq!(outer_pid(), Some(std::process::id()));
    }
}
