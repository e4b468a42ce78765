//! Sleeping until one of several descriptors is ready.

use crate::io::epoll::Interest;
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

/// Sleeps until `from` can be read and `to` can be written: one `poll` if both can be at once, as relays do it that
/// remember what was ready. No allocation: it is called once for each block.
///
/// # Errors
/// The `errno`.
pub fn both(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), i32> {
    let mut fds = [
        PollFd::from_borrowed_fd(from, PollFlags::IN),
        PollFd::from_borrowed_fd(to, PollFlags::OUT),
    ];
    poll_again(&mut fds)?;
    // Whichever was not ready is waited for alone: the other one would end every sleep at once.
    for fd in &mut fds {
        if fd.revents().is_empty() {
            poll_again(std::slice::from_mut(fd))?;
        }
    }
    Ok(())
}

fn poll_again(fds: &mut [PollFd<'_>]) -> Result<(), i32> {
    crate::control::retry(|| poll(fds, None)).map(drop).map_err(|error| error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::pipe;
    use std::os::fd::AsFd;

    #[test]
    fn both_must_be_ready() {
        let (one, two) = (pipe::pair().expect("a pipe"), pipe::pair().expect("a pipe"));
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            crate::io::stream::write(one.write.as_fd(), b"x").expect("written");
            one.write
        });
        both(one.read.as_fd(), two.write.as_fd()).expect("they can be watched");
        let mut got = [0];
        assert_eq!(crate::io::stream::read(one.read.as_fd(), &mut got), Ok(1));
        writer.join().expect("it wrote");
    }

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
