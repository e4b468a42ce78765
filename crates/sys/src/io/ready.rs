//! Sleeping until one of several descriptors is ready.

use super::epoll::Interest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Sleeps until one of `watched` is ready, has ended, or `limit` is over, and calls `found` with the index of each that
/// is. A signal ends the sleep early.
///
/// # Errors
/// The `errno`.
pub fn wait(
    watched: &[(BorrowedFd<'_>, Interest)],
    limit: Option<Duration>,
    mut found: impl FnMut(usize),
) -> Result<(), i32> {
    let mut fds: Vec<_> = watched
        .iter()
        .map(|(fd, interest)| {
            let flags = match interest {
                Interest::Readable => PollFlags::IN,
                Interest::Writable => PollFlags::OUT,
            };
            PollFd::from_borrowed_fd(*fd, flags)
        })
        .collect();
    let limit = limit.map(|limit| Timespec::try_from(limit).unwrap_or_default());
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) => {
            let ready = fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
            ready.for_each(|(index, _)| found(index));
            Ok(())
        }
        Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.raw_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::pipe;
    use std::os::fd::AsFd;

    #[test]
    fn only_what_is_ready_is_found() {
        let pipe = pipe::pair().expect("a pipe");
        let watched =
            [(pipe.read.as_fd(), Interest::Readable), (pipe.write.as_fd(), Interest::Writable)];
        let mut seen = Vec::new();
        wait(&watched, None, |index| seen.push(index)).expect("it can be watched");
        assert_eq!(seen, [1]);
        wait(&watched[..1], Some(Duration::from_millis(1)), |_| panic!("it is empty"))
            .expect("none");
    }
}
