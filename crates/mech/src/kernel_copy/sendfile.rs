//! Pages of a file sent over a socket, `sendfile(2)`.

use crate::budget;
use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::carried::FromFile;
use crate::kernel_copy::relay_port::{FromSocket, RelayPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::duplicate;
use ipcperf_sys::io::file::fresh;
use ipcperf_sys::io::pipe::splice;
use ipcperf_sys::io::socket::{self, Kind};
use std::os::fd::AsFd;

/// A UNIX stream socket that is sent pages of a file in memory.
#[derive(Debug)]
pub struct Sendfile;

impl Mechanism for Sendfile {
    const SPEC: &'static Spec = &Spec {
        name: "sendfile",
        wait: Wait::Block,
        summary: "The sender writes to an anonymous file it has mapped and sends that file's pages over a UNIX stream socket; the receiver reads.",
        manual: &["sendfile(2)", "memfd_create(2)", "unix(7)"],
        pitfalls: &[
            "The socket holds references to the file's pages until they are read. A page written too early arrives changed, so the sender cycles through more of the file than the socket can hold.",
            "The payload must be in a file to begin with; bytes that are made in private memory have to be copied there first.",
            "Before Linux 6.5 sendfile to a UNIX socket took another path through the kernel, a page at a time.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        copies: 1,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        needs: &["memfd_create (Linux 3.17)"],
        ..KERNEL_COPY
    };
    type Options = NoOptions;
    type Port = RelayPort<FromSocket, FromFile>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        let tried = || {
            let (one, _two) = socket::pair(Kind::Stream)?;
            splice::try_sendfile(one.as_fd())
        };
        tried().map_err(crate::missing)
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        // The file's pages, which the socket refers to.
        [Lends::Shared, Lends::Buffer]
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::Stream)?;
        let bytes = FromFile::bytes(buffered(&lead)?, shape).saturating_mul(2);
        budget::memory(bytes, "two files", "smaller messages")?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [own] = end.descriptors()?;
        let file = fresh::memfd(0).map_err(|code| SetupError::sys("memfd_create", code))?;
        let (tx, buffered) = (duplicate(&own)?, buffered(&own)?);
        let outlet = FromFile::new(tx, file.into_owned(), buffered, end.shape)?;
        RelayPort::new(FromSocket::new(own), outlet, end.shape)
    }
}

/// Bytes that a socket accounts for before a sender waits.
fn buffered(socket: impl AsFd) -> Result<usize, SetupError> {
    let send = socket::set_buffers(socket, None, None)?.send;
    Ok(usize::try_from(send).unwrap_or(usize::MAX))
}
