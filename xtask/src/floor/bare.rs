//! One bare measurement: this process is the lead and forks the follow. They are pinned, warmed up and timed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::case::{Carrier, Job, Pattern};
use super::loops::{
    self, Bytes, End, Flag, Futex, Line, Ring, Rings, elapsed, pin, start_ticks, stop_ticks,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seat {
    Lead,
    Follow,
}

/// A pair that has not answered by then is killed.
const DEADLINE_S: u32 = 10;
/// Long enough for caches, branch predictors and the clock frequency to settle.
const WARM_UP_NS: u64 = 20_000_000;
/// No round trip between two CPUs takes less than 25 ns, and those of one CPU take more.
const SAMPLES_PER_MS: usize = 40_000;
/// Below this a median means little; a slow pair overruns its slice instead.
const FEWEST: usize = 16;

/// Measures and prints nanoseconds or bytes per second.
pub(crate) fn print(job: &Job) -> Result<bool> {
    // SAFETY: plain arithmetic in the kernel; the signal ends this process, and the follow with it.
    unsafe { libc::alarm(DEADLINE_S) };
    println!("{}", measure(job)?);
    Ok(true)
}

/// Nanoseconds or bytes per second.
fn measure(job: &Job) -> Result<f64> {
    let is_one_cpu = job.lead == job.follow;
    ensure!(!(is_one_cpu && job.carrier.spins()), "two spinning ends need two CPUs");
    let exact = match job.carrier {
        Carrier::Eventfd | Carrier::Flag => Some(8),
        Carrier::Futex => Some(4),
        _ => None,
    };
    if let Some(exact) = exact {
        ensure!(job.bytes == exact, "this carrier moves {exact} bytes");
        ensure!(job.pattern == Pattern::PingPong, "this carrier makes round trips only");
    }
    ensure!(job.bytes > 0 && job.milliseconds > 0, "no bytes or no time");
    if job.pattern == Pattern::Serve {
        return super::served::measure(job);
    }
    let [ours, theirs] = files(job.carrier)?;
    let memory = pages((2 * Ring::size(job.bytes)).max(4096), libc::MAP_SHARED)?.as_mut_ptr();
    let (control, far) = UnixStream::pair()?;
    // The follow is born where it belongs.
    pin(job.follow)?;
    // SAFETY: the child leaves through `_exit`, never through the caller's frames.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: of this process alone. Should the parent be gone already, the control socket is closed.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        drop((ours, control));
        let outcome = run(job, Seat::Follow, theirs, memory, far);
        if let Err(error) = &outcome {
            eprintln!("the follow: {error}");
        }
        // SAFETY: ends the process without the parent's destructors.
        unsafe { libc::_exit(outcome.is_err().into()) };
    }
    if child < 0 {
        bail!("fork: {}", io::Error::last_os_error());
    }
    drop((theirs, far));
    let figure = pin(job.lead).and_then(|()| run(job, Seat::Lead, ours, memory, control));
    // SAFETY: an unreaped child, so the number is nobody else's. The lead has what it wants of it.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    figure.context("the lead")
}

/// Reader and writer of the lead, then of the follow, of a carrier that has descriptors.
fn files(carrier: Carrier) -> io::Result<[Vec<File>; 2]> {
    let duplex = |end: OwnedFd| io::Result::Ok(vec![end.try_clone()?.into(), end.into()]);
    Ok(match carrier {
        Carrier::Pipe => {
            let (ping, pong) = (io::pipe()?, io::pipe()?);
            let file = |end: OwnedFd| File::from(end);
            [
                vec![file(pong.0.into()), file(ping.1.into())],
                vec![file(ping.0.into()), file(pong.1.into())],
            ]
        }
        Carrier::UnixStream => {
            let (lead, follow) = UnixStream::pair()?;
            [duplex(lead.into())?, duplex(follow.into())?]
        }
        Carrier::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let mut lead = TcpStream::connect(listener.local_addr()?)?;
            let (mut follow, _) = listener.accept()?;
            // As ipcperf's ends know each other: where the first bytes lie shifts all that follow in the kernel's pages.
            lead.write_all(&[0; 8])?;
            follow.read_exact(&mut [0; 8])?;
            lead.set_nodelay(true)?;
            follow.set_nodelay(true)?;
            [duplex(lead.into())?, duplex(follow.into())?]
        }
        Carrier::Eventfd => {
            let (ping, pong) = (eventfd()?, eventfd()?);
            [vec![pong.try_clone()?, ping.try_clone()?], vec![ping, pong]]
        }
        Carrier::Futex | Carrier::Ring | Carrier::Flag => [vec![], vec![]],
    })
}

fn eventfd() -> io::Result<File> {
    // SAFETY: takes two integers.
    match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: a descriptor that is ours alone.
        fd => Ok(unsafe { File::from_raw_fd(fd) }),
    }
}

/// Zeroed memory, every page present, to the end of the process.
fn pages(bytes: usize, sharing: i32) -> io::Result<&'static mut [u8]> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: of that size, and never unmapped.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) })
}

/// One end, in its own process; the figure is the lead's.
fn run(
    job: &Job,
    seat: Seat,
    mut files: Vec<File>,
    memory: *mut u8,
    control: UnixStream,
) -> io::Result<f64> {
    let buffer = || {
        let all = pages(job.offset + job.bytes, libc::MAP_PRIVATE)?;
        io::Result::Ok(all.split_at_mut(job.offset).1)
    };
    let (sent, received) = (0, 0);
    // SAFETY: shared memory of a page at least, zeroed before the fork, alive until the end.
    let lines: &'static [Line; 2] = unsafe { &*memory.cast() };
    let (out, into) = match seat {
        Seat::Lead => (0, 1),
        Seat::Follow => (1, 0),
    };
    match job.carrier {
        Carrier::Futex => {
            let (out, into) = (&lines[out], &lines[into]);
            drive(job, seat, Futex { out, into, sent, received }, control)
        }
        Carrier::Flag => {
            let (out, into) = (&lines[out], &lines[into]);
            drive(job, seat, Flag { out, into, sent, received }, control)
        }
        Carrier::Ring => {
            let size = Ring::size(job.bytes);
            // SAFETY: the memory has two rings of this size.
            let ring = |index: usize| unsafe { Ring::new(memory.add(index * size), job.bytes) };
            drive(job, seat, Rings { out: ring(out), into: ring(into), own: buffer()? }, control)
        }
        _ => {
            let (reader, writer) = (files.remove(0), files.remove(0));
            let (incoming, outgoing) = (buffer()?, buffer()?);
            drive(job, seat, Bytes { reader, writer, incoming, outgoing, seq: 0 }, control)
        }
    }
}

fn drive(job: &Job, seat: Seat, mut end: impl End, mut control: UnixStream) -> io::Result<f64> {
    if seat == Seat::Lead {
        return drive_lead(job, end, control);
    }
    // Until the lead hangs up or kills.
    while let Ok(count) = hear(&mut control) {
        tell(&mut control, 0)?;
        let start = Instant::now();
        loops::follow(&mut end, job.pattern, count as usize)?;
        tell(&mut control, start.elapsed().as_nanos() as u64)?;
    }
    Ok(0.0)
}

/// Doubles the count until the warm-up time has passed, then runs what fills the slice.
fn drive_lead(job: &Job, mut end: impl End, mut control: UnixStream) -> io::Result<f64> {
    let is_timed = job.pattern == Pattern::PingPong;
    // Written now, so that no page of it is missing later.
    let mut samples = vec![1; if is_timed { job.milliseconds * SAMPLES_PER_MS } else { 0 }];
    let most = if is_timed { samples.len() } else { usize::MAX };
    // Nanoseconds, as the follow saw them: for a stream, to the last message.
    let mut phase = |count: usize, batch: usize, samples: &mut [u32]| -> io::Result<u64> {
        tell(&mut control, count as u64)?;
        hear(&mut control)?;
        loops::lead(&mut end, job.pattern, count, batch, samples)?;
        hear(&mut control)
    };
    let (mut count, mut warm) = (1, 0);
    let per_message = loop {
        let elapsed = phase(count, 1, &mut samples)?.max(1);
        warm += elapsed;
        if warm >= WARM_UP_NS {
            break elapsed as f64 / count as f64;
        }
        count = (count * 2).min(most);
    };
    // As ipcperf does: operations below 20 times the cost of the clock are timed in batches of at least 100 times it.
    let single = if is_timed { median(&mut samples[..count]).max(1) } else { u32::MAX };
    let cost = clock_cost();
    let batch = if single >= 20 * cost { 1 } else { (100 * cost).div_ceil(single) as usize };
    let count = ((job.milliseconds as f64 * 1e6 / per_message) as usize).max(FEWEST).min(most);
    let (ticks, clock) = (stop_ticks(), Instant::now());
    let nanos = phase(count, batch, &mut samples)?;
    let ticks_per_nano = (stop_ticks() - ticks) as f64 / clock.elapsed().as_nanos() as f64;
    Ok(match job.pattern {
        Pattern::PingPong => f64::from(median(&mut samples[..count])) / ticks_per_nano,
        Pattern::Stream => (job.bytes * count) as f64 * 1e9 / nanos.max(1) as f64,
        Pattern::Serve => unreachable!("measured elsewhere"),
    })
}

/// Nearest rank: the smallest sample that half of all samples do not exceed.
fn median(samples: &mut [u32]) -> u32 {
    let middle = (samples.len() - 1) / 2;
    *samples.select_nth_unstable(middle).1
}

/// Median cost of one pair of clock readings, ticks.
fn clock_cost() -> u32 {
    let mut pairs = [0; 1001].map(|_: u32| elapsed(start_ticks(), stop_ticks()));
    median(&mut pairs).max(1)
}

fn tell(control: &mut UnixStream, number: u64) -> io::Result<()> {
    control.write_all(&number.to_ne_bytes())
}

fn hear(control: &mut UnixStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    control.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first CPUs that this process may use.
    fn cpus() -> Vec<usize> {
        // SAFETY: a zeroed set is an empty one; CPU_ISSET checks its bounds.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            (0..1024).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
        }
    }

    fn job(carrier: Carrier, pattern: Pattern, bytes: usize, lead: usize, follow: usize) -> Job {
        Job { carrier, pattern, bytes, lead, follow, milliseconds: 2, offset: 64, conns: 5 }
    }

    #[test]
    fn every_blocking_pair_delivers() {
        let cpu = cpus()[0];
        for (carrier, pattern, bytes) in [
            (Carrier::Pipe, Pattern::PingPong, 1),
            (Carrier::UnixStream, Pattern::PingPong, 4096),
            (Carrier::Tcp, Pattern::PingPong, 65),
            (Carrier::Eventfd, Pattern::PingPong, 8),
            (Carrier::Futex, Pattern::PingPong, 4),
            (Carrier::Pipe, Pattern::Stream, 256 << 10),
            (Carrier::UnixStream, Pattern::Stream, 256 << 10),
            (Carrier::Tcp, Pattern::Stream, 256 << 10),
            (Carrier::UnixStream, Pattern::Serve, 64),
            (Carrier::Tcp, Pattern::Serve, 64),
        ] {
            let figure = measure(&job(carrier, pattern, bytes, cpu, cpu)).unwrap();
            assert!(figure > 0.0 && figure.is_finite(), "{carrier:?} {pattern:?}: {figure}");
        }
    }

    #[test]
    fn every_spinning_pair_delivers_where_there_are_two_cpus() {
        let [lead, follow, ..] = cpus()[..] else {
            return ipcperf_sys::skipped::skipped("two CPUs", "there is one");
        };
        for (carrier, pattern, bytes) in [
            (Carrier::Flag, Pattern::PingPong, 8),
            (Carrier::Ring, Pattern::PingPong, 1),
            (Carrier::Ring, Pattern::PingPong, 4096),
            (Carrier::Ring, Pattern::Stream, 4096),
        ] {
            let figure = measure(&job(carrier, pattern, bytes, lead, follow)).unwrap();
            assert!(figure > 0.0 && figure.is_finite(), "{carrier:?} {pattern:?}: {figure}");
        }
    }

    #[test]
    fn what_cannot_be_measured_is_an_error_not_a_hang() {
        let cpu = cpus()[0];
        for (job, what) in [
            (job(Carrier::Flag, Pattern::PingPong, 8, cpu, cpu), "two CPUs"),
            (job(Carrier::Eventfd, Pattern::PingPong, 9, cpu, cpu), "8 bytes"),
            (job(Carrier::Futex, Pattern::Stream, 4, cpu, cpu), "round trips only"),
            (job(Carrier::Pipe, Pattern::PingPong, 0, cpu, cpu), "no bytes"),
            (job(Carrier::Pipe, Pattern::Serve, 64, cpu, cpu), "unix-stream and tcp only"),
            (job(Carrier::Pipe, Pattern::PingPong, 1, cpu, 1023), "Invalid argument"),
            (job(Carrier::Pipe, Pattern::PingPong, 1, 4096, cpu), "Invalid argument"),
        ] {
            let error = format!("{:#}", measure(&job).unwrap_err());
            assert!(error.contains(what), "{error}");
        }
    }
}
