//! A bare server and a bare client, each one epoll loop over all connections: what `serve` is held against.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::case::{Carrier, Job};
use super::loops::{self, elapsed, pin, start_ticks, stop_ticks};

/// Events of one wait, as ipcperf takes them.
const MOST_EVENTS: usize = 64;

/// Nanoseconds for each request that was answered, over all connections. The server is a child that ends with the client.
pub(super) fn measure(job: &Job) -> Result<f64> {
    ensure!(job.bytes >= 8, "a request has 8 bytes at least");
    let ends = (0..job.conns).map(|_| pair(job.carrier)).collect::<Result<Vec<_>>>()?;
    let (ours, theirs): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    pin(job.follow)?;
    // SAFETY: the child leaves through `_exit`, never through the caller's frames.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: of this process alone.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        drop(ours);
        let outcome = serve(&theirs, job.bytes);
        if let Err(error) = &outcome {
            eprintln!("the server: {error}");
        }
        // SAFETY: ends the process without the parent's destructors.
        unsafe { libc::_exit(outcome.is_err().into()) };
    }
    if child < 0 {
        bail!("fork: {}", io::Error::last_os_error());
    }
    drop(theirs);
    let figure = pin(job.lead).and_then(|()| ask(&ours, job));
    // SAFETY: an unreaped child, so the number is nobody else's.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    Ok(figure?)
}

/// Both ends of a connection, neither of which blocks.
fn pair(carrier: Carrier) -> Result<(OwnedFd, OwnedFd)> {
    Ok(match carrier {
        Carrier::UnixStream => {
            let (one, other) = UnixStream::pair()?;
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            (one.into(), other.into())
        }
        Carrier::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let one = TcpStream::connect(listener.local_addr()?)?;
            let (other, _) = listener.accept()?;
            for end in [&one, &other] {
                end.set_nodelay(true)?;
                end.set_nonblocking(true)?;
            }
            (one.into(), other.into())
        }
        _ => bail!("a server has connections over unix-stream and tcp only"),
    })
}

struct Epoll {
    fd: i32,
    events: [libc::epoll_event; MOST_EVENTS],
}

impl Epoll {
    fn over(ends: &[OwnedFd]) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        // SAFETY: takes an integer; the descriptor lives to the end of the process.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        for (number, end) in ends.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
            // SAFETY: the event is only read.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, end.as_raw_fd(), &mut event) } < 0
            {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { fd, events: [libc::epoll_event { events: 0, u64: 0 }; MOST_EVENTS] })
    }

    fn wait(&mut self) -> io::Result<usize> {
        // SAFETY: the events have room for so many.
        unsafe { loops::wait(self.fd, self.events.as_mut_ptr(), MOST_EVENTS) }
    }
}

/// Until the client hangs up.
fn serve(ends: &[OwnedFd], bytes: usize) -> io::Result<()> {
    let mut epoll = Epoll::over(ends)?;
    let mut buffer = vec![0; bytes];
    loop {
        for at in 0..epoll.wait()? {
            let number = epoll.events[at].u64 as usize;
            match loops::whole(&ends[number], &mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            let word = loops::read_lines(&buffer);
            loops::write_lines(&mut buffer, !word);
            loops::all(&ends[number], &buffer)?;
        }
    }
}

/// Each connection has one request under way.
fn ask(ends: &[OwnedFd], job: &Job) -> io::Result<f64> {
    let mut epoll = Epoll::over(ends)?;
    let mut buffer = vec![0; job.bytes];
    let mut sent = vec![0; ends.len()];
    // As a client that times each request has it.
    let mut samples = vec![1_u32; 1 << 16];
    for (end, sent) in ends.iter().zip(&mut sent) {
        *sent = start_ticks();
        loops::write_lines(&mut buffer, 1);
        loops::all(end, &buffer)?;
    }
    let (mut count, mut warm, begin) = (0_usize, None, std::time::Instant::now());
    let warm_up = Duration::from_millis(20);
    let slice = Duration::from_millis(job.milliseconds as u64);
    loop {
        let now = begin.elapsed();
        match warm {
            None if now >= warm_up => warm = Some((now, count)),
            Some((then, before)) if now >= then + slice => {
                return Ok((now - then).as_nanos() as f64 / (count - before).max(1) as f64);
            }
            _ => {}
        }
        for at in 0..epoll.wait()? {
            let number = epoll.events[at].u64 as usize;
            loops::whole(&ends[number], &mut buffer)?;
            samples[count % (1 << 16)] = elapsed(sent[number], stop_ticks());
            std::hint::black_box(loops::read_lines(&buffer));
            count += 1;
            sent[number] = start_ticks();
            loops::write_lines(&mut buffer, count as u64);
            loops::all(&ends[number], &buffer)?;
        }
    }
}
