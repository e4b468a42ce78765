//! The library as a mechanism of ipcperf.

use framed::{Framed, LONGEST};
use ipcperf::prelude::*;
use std::os::unix::net::UnixStream;

/// [`Framed`] over a pair of sockets.
pub struct FramedMessages;

impl Mechanism for FramedMessages {
    const SPEC: &'static Spec = &Spec::message("framed")
        .summary("Messages behind their length over a UNIX stream socket; an end sleeps in read.")
        .manual(&["unix(7)"])
        .over("unix-stream")
        .limit(LONGEST, "LONGEST")
        .direction(Direction::TwoWay)
        .notices_close()
        .notices_death()
        .copies(2)
        .syscalls(1.0, 1.0);
    type Options = NoOptions;
    type Port = FramedPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Ok(())
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        // The library has buffers of its own.
        [Lends::Place; 2]
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (lead, follow) = UnixStream::pair()?;
        Ok(Link::of_fds([lead.into()], [follow.into()]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<FramedPort, SetupError> {
        let [own] = end.descriptors()?;
        let longest = end.shape.size;
        Ok(FramedPort { end: Framed::new(own.into(), longest), longest })
    }
}

/// One end.
pub struct FramedPort {
    end: Framed,
    longest: usize,
}

impl Port for FramedPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        // The channel was made for messages up to this; the library would take longer ones.
        if len > self.longest {
            return Err(Fault::TooLong);
        }
        Ok(self.end.send(len, fill)?)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self.end.recv()? {
            Some(message) if message.len() == len => take(message),
            Some(_) => Err(Fault::Truncated),
            None => Err(Fault::Closed),
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.end.close()?)
    }
}
