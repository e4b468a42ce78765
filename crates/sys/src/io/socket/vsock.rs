//! VM sockets over the loopback transport: `AF_VSOCK` with the context identifier of this very machine.

use crate::io::failed;
use crate::io::socket::{Kind, get_option, meeting, set_option};
use ipcperf_core::{Missing, SetupError};
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags};
use std::ffi::c_int;
use std::os::fd::OwnedFd;

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
    set_up(&socket, buffer).map_err(failed("setsockopt AF_VSOCK"))?;
    Ok(socket)
}

/// Sets how long a connect may take, and the size of the buffer, bytes.
///
/// # Errors
/// `setsockopt` failed.
pub fn set_up(socket: &OwnedFd, buffer: Option<u64>) -> Result<(), Errno> {
    set_option(socket, libc::AF_VSOCK, CONNECT_TIMEOUT, PATIENCE)?;
    if let Some(bytes) = buffer {
        set_option(socket, libc::AF_VSOCK, BUFFER_MAX_SIZE, bytes)?;
        set_option(socket, libc::AF_VSOCK, BUFFER_SIZE, bytes)?;
    }
    Ok(())
}

/// The port of a name of this family; `None` of any other.
#[must_use]
pub fn port(name: &SocketAddrAny) -> Option<u32> {
    let is_whole = name.addr_len() as usize >= size_of::<libc::sockaddr_vm>();
    (is_whole && name.address_family() == AddressFamily::VSOCK).then(|| {
        // SAFETY: a name of this family is a `sockaddr_vm`, all of which is there.
        unsafe { name.as_ptr().cast::<libc::sockaddr_vm>().read_unaligned().svm_port }
    })
}

/// Binds a socket to this machine and a port, or any (`VMADDR_PORT_ANY`).
///
/// # Errors
/// `bind` failed.
pub fn bind_raw(socket: &OwnedFd, port: u32) -> Result<(), Errno> {
    net::bind(socket, &Address(port))
}

/// The port that a socket is bound to.
///
/// # Errors
/// `getsockname` failed, or it is no VM socket.
pub fn bound_port(socket: &OwnedFd) -> Result<u32, Errno> {
    port(&net::getsockname(socket)?).ok_or(Errno::AFNOSUPPORT)
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
    bind_raw(&listener, libc::VMADDR_PORT_ANY).map_err(|error| match error {
        Errno::ADDRNOTAVAIL => no_transport(),
        other => failed("bind")(other),
    })?;
    let backlog = c_int::try_from(meeting::backlog()).unwrap_or(c_int::MAX);
    net::listen(&listener, backlog).map_err(failed("listen"))?;
    let port = bound_port(&listener).map_err(failed("getsockname"))?;
    Ok((listener, port))
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
///
/// # Errors
/// `connect` failed.
pub fn connect_raw(socket: &OwnedFd, port: u32) -> Result<(), Errno> {
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
