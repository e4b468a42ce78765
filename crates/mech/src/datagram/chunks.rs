//! What SCTP needs beside other sockets that keep boundaries.

use crate::port::message::Carrier;
use ipcperf_sys::io::socket::sctp;
use ipcperf_sys::io::{datagram, errno, socket};
use std::os::fd::{BorrowedFd, OwnedFd};

/// One-to-one SCTP sockets.
#[derive(Debug)]
pub struct Chunks;

impl Carrier for Chunks {
    const ENDS: bool = true;
    const LOSSY: bool = false;

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        match datagram::send(tx, message) {
            // The association went away with the peer.
            Err(errno::ESRCH) => Err(errno::EPIPE),
            done => done,
        }
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        sctp::receive(rx, into)
    }

    fn finish(_: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        socket::shutdown_send(tx)
    }
}
