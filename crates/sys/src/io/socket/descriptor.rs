//! Open descriptors that travel beside bytes (`SCM_RIGHTS`, `unix(7)`), without waiting: for tests of what a
//! descriptor can do.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

/// Sends one byte with `descriptor` over a socket.
///
/// # Errors
/// It is no connected socket, or it is full.
pub fn send(over: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> Result<(), rustix::io::Errno> {
    let fds = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(over, &[IoSlice::new(b"d")], &mut control, flags).map(drop)
}

/// Whether a message waits at this socket that brings a descriptor. It is taken out.
#[must_use]
pub fn arrives(at: BorrowedFd<'_>) -> bool {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(at, &mut [IoSliceMut::new(&mut byte)], &mut control, flags);
    received.is_ok()
        && control.drain().any(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => fds.count() > 0,
            _ => false,
        })
}
