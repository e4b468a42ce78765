//! VM sockets over the loopback transport: `AF_VSOCK` with the context identifier of this very machine.

use crate::io::failed;
use crate::io::last_errno;
use crate::io::socket::{Kind, get_option, meeting, set_option};
use ipcperf_core::{Missing, SetupError};
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{self, AddressFamily, SocketFlags};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};

/// Options of level `AF_VSOCK` (include/uapi/linux/vm_sockets.h).
const BUFFER_SIZE: c_int = 0;
const BUFFER_MAX_SIZE: c_int = 2;
const CONNECT_TIMEOUT: c_int = 6;

/// How long a connect may take. Over the loopback transport it takes microseconds; over another one, to a machine that
/// does not answer, it would take this long.
const PATIENCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 500_000 };

/// A port of this machine, or any (`VMADDR_PORT_ANY`).
struct Address(u32);

// SAFETY: the closure gets a `sockaddr_vm` and its size.
unsafe impl SocketAddrArg for Address {
    unsafe fn with_sockaddr<R>(
        &self,
        f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R,
    ) -> R {
        // SAFETY: `sockaddr_vm` is made of integers.
        let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = libc::VMADDR_CID_LOCAL;
        address.svm_port = self.0;
        f((&raw const address).cast(), size_of_val(&address) as SocketAddrLen)
    }
}

/// A socket, not yet bound or connected, whose buffer is as asked.
fn socket(kind: Kind, buffer: Option<u64>) -> Result<OwnedFd, SetupError> {
    let made =
        net::socket_with(AddressFamily::VSOCK, kind.socket_type(), SocketFlags::CLOEXEC, None);
    let socket = made.map_err(|error| match error {
        Errno::AFNOSUPPORT => Missing::new(
            "this kernel has no VM sockets, or their module is not loaded",
            "modprobe vsock_loopback, or a kernel with CONFIG_VSOCKETS_LOOPBACK",
        )
        .into(),
        Errno::SOCKTNOSUPPORT | Errno::OPNOTSUPP => {
            Missing::new("VM sockets of this kernel keep no boundaries", "Linux 5.14 or newer")
                .into()
        }
        other => failed("socket")(other),
    })?;
    set(&socket, CONNECT_TIMEOUT, PATIENCE, "SO_VM_SOCKETS_CONNECT_TIMEOUT")?;
    if let Some(bytes) = buffer {
        set(&socket, BUFFER_MAX_SIZE, bytes, "SO_VM_SOCKETS_BUFFER_MAX_SIZE")?;
        set(&socket, BUFFER_SIZE, bytes, "SO_VM_SOCKETS_BUFFER_SIZE")?;
    }
    Ok(socket)
}

fn set<T: Copy>(socket: &OwnedFd, name: c_int, value: T, text: &str) -> Result<(), SetupError> {
    set_option(socket, libc::AF_VSOCK, name, value).map_err(failed(text))
}

/// Bytes that may be under way to this socket.
///
/// # Errors
/// `getsockopt` failed.
pub fn buffer_size(socket: &OwnedFd) -> Result<u64, SetupError> {
    let mut value = 0_u64;
    get_option(socket, libc::AF_VSOCK, BUFFER_SIZE, &mut value)
        .map_err(failed("SO_VM_SOCKETS_BUFFER_SIZE"))?;
    Ok(value)
}

/// Listens on this machine alone, neither for its host nor for guests of its own, and returns the port the kernel
/// chose. What connects inherits the size of the buffer.
///
/// # Errors
/// `Unavailable` where the loopback transport is missing; otherwise the call that failed.
pub fn listen(kind: Kind, buffer: Option<u64>) -> Result<(OwnedFd, u32), SetupError> {
    let listener = socket(kind, buffer)?;
    net::bind(&listener, &Address(libc::VMADDR_PORT_ANY)).map_err(|error| match error {
        Errno::ADDRNOTAVAIL => no_transport(),
        other => failed("bind")(other),
    })?;
    let backlog = c_int::try_from(meeting::backlog()).unwrap_or(c_int::MAX);
    net::listen(&listener, backlog).map_err(failed("listen"))?;
    // SAFETY: `sockaddr_vm` is made of integers.
    let mut bound: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&bound) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the size of the address.
    let got = unsafe { libc::getsockname(listener.as_raw_fd(), (&raw mut bound).cast(), &mut len) };
    if got != 0 {
        return Err(SetupError::sys("getsockname", last_errno()));
    }
    Ok((listener, bound.svm_port))
}

/// Connects to a listener of [`listen`] and introduces itself.
///
/// # Errors
/// As [`listen`].
pub fn connect(
    kind: Kind,
    buffer: Option<u64>,
    port: u32,
    nonce: u64,
) -> Result<OwnedFd, SetupError> {
    let socket = socket(kind, buffer)?;
    net::connect(&socket, &Address(port)).map_err(|error| match error {
        // Without the transport a connect is answered by nobody, or by another machine.
        Errno::TIMEDOUT | Errno::NODEV | Errno::NETUNREACH | Errno::OPNOTSUPP => no_transport(),
        other => failed(format!("connect port {port}"))(other),
    })?;
    meeting::introduce(&socket, nonce)?;
    Ok(socket)
}

/// Connects a socket to a listener of this machine, without a word.
pub(crate) fn connect_raw(socket: &OwnedFd, port: u32) -> Result<(), Errno> {
    net::connect(socket, &Address(port))
}

/// Whether both ends of a connection find each other; tried, not guessed.
///
/// # Errors
/// As [`listen`].
pub fn probe(kind: Kind, buffer: Option<u64>) -> Result<(), SetupError> {
    let (_listener, port) = listen(kind, buffer)?;
    connect(kind, buffer, port, 0).map(drop)
}

fn no_transport() -> SetupError {
    Missing::new(
        "VM sockets have no loopback transport here",
        "modprobe vsock_loopback (Linux 5.6 or newer, CONFIG_VSOCKETS_LOOPBACK)",
    )
    .into()
}
