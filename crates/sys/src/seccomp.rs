//! System calls that are refused to the calling thread, as the sandbox of a container refuses them, for tests; or trapped; and
//! the steps of any other filter.
//!
//! # Safety
//! The program given to the kernel lives through the call that hands it over, and the kernel copies it. A filter
//! changes nothing but what system calls answer.

use std::io;

/// `BPF_LD | BPF_W | BPF_ABS` (`linux/bpf_common.h`).
pub const LOAD: u16 = 0x20;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
pub const JUMP_IF_EQUAL: u16 = 0x15;
/// `BPF_RET | BPF_K`.
pub const RETURN: u16 = 0x06;
/// `BPF_ALU | BPF_ADD | BPF_K`.
const ADD: u16 = 0x04;
/// Where `struct seccomp_data` holds the number of the call.
pub const NUMBER: u32 = 0;
/// Where it holds the architecture that the number is of.
pub const ARCHITECTURE: u32 = 4;
/// Where it holds the first argument of the call.
pub const ARGUMENT: u32 = 16;
/// Where it holds both halves of the address that the call comes from.
const ADDRESS: [u32; 2] = if cfg!(target_endian = "little") { [8, 12] } else { [12, 8] };

/// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64` (`linux/audit.h`): 64 bits, little-endian, and the number of the ELF machine.
pub const NATIVE: u32 = if cfg!(target_arch = "aarch64") { 0xC000_00B7 } else { 0xC000_003E };

/// Calls that sandboxes refuse, that old kernels lack, or that mechanisms need to exist, by name.
pub const OFTEN_REFUSED: &[(&str, i64)] = &[
    ("pipe2", libc::SYS_pipe2),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("mknodat", libc::SYS_mknodat),
    ("memfd_create", libc::SYS_memfd_create),
    ("eventfd2", libc::SYS_eventfd2),
    ("signalfd4", libc::SYS_signalfd4),
    ("inotify_init1", libc::SYS_inotify_init1),
    ("mq_open", libc::SYS_mq_open),
    ("msgget", libc::SYS_msgget),
    ("semget", libc::SYS_semget),
    ("shmget", libc::SYS_shmget),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("vmsplice", libc::SYS_vmsplice),
    ("splice", libc::SYS_splice),
    ("tee", libc::SYS_tee),
    ("sendfile", libc::SYS_sendfile),
    ("sendmmsg", libc::SYS_sendmmsg),
    ("recvmmsg", libc::SYS_recvmmsg),
];

/// How a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `EPERM`, as container runtimes do by default.
    NotPermitted,
    /// `ENOSYS`, as old kernels do.
    NotImplemented,
    /// This error, as where something has run out.
    With(i32),
    /// None: it ends the process, by SIGSYS.
    Killed,
}

/// From now on these calls of this thread, of its children and of the programs they execute fail. There is no
/// way back.
///
/// # Errors
/// The kernel has no filters, or refuses one more.
pub fn refuse(calls: &[i64], refusal: Refusal) -> io::Result<()> {
    let with = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
    let refused = match refusal {
        Refusal::NotPermitted => with(libc::EPERM),
        Refusal::NotImplemented => with(libc::ENOSYS),
        Refusal::With(errno) => with(errno),
        Refusal::Killed => libc::SECCOMP_RET_KILL_PROCESS,
    };
    install(&mut told_apart(calls, libc::SECCOMP_RET_ALLOW, refused)?, 0).map(drop)
}

/// From now on every call of this thread, of its children and of the programs they execute takes longer, by as much as the
/// kernel takes for 4,094 steps of a filter, `times` times: about a microsecond each. There is no way back.
///
/// # Errors
/// As [`refuse`]; a thread has room for 7 of them (32,768 steps in all, `seccomp(2)`).
pub fn delay(times: usize) -> io::Result<()> {
    // What depends on an argument is not remembered from one call to the next.
    let mut program = vec![step(LOAD, ARGUMENT, 0)];
    program.resize(libc::BPF_MAXINSNS as usize - 1, step(ADD, 1, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0));
    (0..times).try_for_each(|_| install(&mut program, 0).map(drop))
}

/// Which calls are trapped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trapped<'a> {
    AllBut(&'a [i64]),
    Only(&'a [i64]),
}

/// From now on these calls of this thread raise `SIGSYS` in place of what they do, unless they come from the instruction
/// before `address`. There is no way back.
///
/// # Errors
/// As [`refuse`].
pub(crate) fn trap(address: u64, trapped: Trapped<'_>) -> io::Result<()> {
    let [low, high] = [address as u32, (address >> 32) as u32];
    let from_elsewhere = libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: 3, k: low };
    let from_there = libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: 1, k: high };
    let known = vec![
        step(LOAD, ADDRESS[0], 0),
        from_elsewhere,
        step(LOAD, ADDRESS[1], 0),
        from_there,
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let (trap, allow) = (libc::SECCOMP_RET_TRAP, libc::SECCOMP_RET_ALLOW);
    let others = match trapped {
        Trapped::AllBut(these) => told_apart(these, trap, allow),
        Trapped::Only(these) => told_apart(these, allow, trap),
    };
    install(&mut [known, others?].concat(), 0).map(drop)
}

/// A step of a filter; `jt` is how far it jumps where a comparison holds.
#[must_use]
pub const fn step(code: u16, k: u32, jt: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf: 0, k }
}

/// One answer to `these` calls, another to all others.
fn told_apart(calls: &[i64], others: u32, these: u32) -> io::Result<Vec<libc::sock_filter>> {
    let mut program = vec![step(LOAD, NUMBER, 0)];
    for (at, call) in calls.iter().enumerate() {
        // A jump reaches 255 steps; there are never so many calls.
        let to_the_end = u8::try_from(calls.len() - at).map_err(io::Error::other)?;
        let number = u32::try_from(*call).map_err(io::Error::other)?;
        program.push(step(JUMP_IF_EQUAL, number, to_the_end));
    }
    program.push(step(RETURN, others, 0));
    program.push(step(RETURN, these, 0));
    Ok(program)
}

/// Installs a filter for this thread. Returns the descriptor of the filter where its flags ask for one. Allocates nothing.
///
/// # Errors
/// The kernel's; or the program is longer than a filter may be.
pub fn install(
    program: &mut [libc::sock_filter],
    flags: libc::c_ulong,
) -> io::Result<libc::c_long> {
    let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see the module.
    let set = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(set) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_fails_in_this_thread_alone() {
        let named = [libc::SYS_memfd_create, libc::SYS_eventfd2];
        let make = || rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC);
        let inside = std::thread::spawn(move || {
            refuse(&named, Refusal::NotImplemented).expect("a filter");
            (make().map(drop), rustix::pipe::pipe().map(drop))
        });
        let (refused, allowed) = inside.join().expect("it does not panic");
        assert_eq!(refused, Err(rustix::io::Errno::NOSYS));
        assert_eq!(allowed, Ok(()));
        assert!(make().is_ok());
    }
}
