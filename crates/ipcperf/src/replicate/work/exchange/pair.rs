//! Both ends of exchanges, as the coordinator sees them.

use super::ends::{Params, Side, View};
use super::{GONE, Keys, Mode, RECEIVE, Readings, SEND, Turn};
use ipcperf_engine::supervisor::Supervisor;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::file::file_lock::RecordLock;
use ipcperf_sys::io::file::place::{self, Scratch};
use ipcperf_sys::io::file::{file_queue, store};
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::{datagram, ready, socket, sysctl};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The numbers of both ends.
const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// Two workers, ready to exchange.
pub(super) struct Pair<'a> {
    ends: Supervisor<'a>,
    exchanges: u64,
    readings: Readings,
    // In this order: the queue lies in the directory.
    _queue: Option<Unlink>,
    _place: Option<Scratch>,
}

fn failed(error: impl std::fmt::Display) -> TaskError {
    TaskError::Failed(error.to_string())
}

impl<'a> Pair<'a> {
    /// Starts both ends and waits until they are set up.
    pub(super) fn open(turn: &Turn<'a>, keys: &Keys, view: View) -> Result<Self, TaskError> {
        let mut params = keys.params(view, turn.nonce);
        params.slots = slots(keys.mode)?;
        let mut facts = BTreeMap::new();
        let place = if keys.mode.has_place() {
            let base = keys.dir.find().map_err(failed)?;
            let kind = place::file_system(&base).unwrap_or_else(|| "unknown".into());
            facts.insert("directory".into(), format!("{} ({kind})", base.display()));
            let name = format!("ipcperf-exchange-{:016x}", turn.nonce);
            Some(Scratch::create(Some(turn.directory), &base, &name).map_err(failed)?)
        } else {
            None
        };
        let mut queue = None;
        if let Some(place) = &place {
            let path = match keys.mode {
                Mode::OTmpfile => place.path().to_owned(),
                _ => place.path().join("object"),
            };
            if matches!(keys.mode, Mode::Queue | Mode::QueueAmortised) {
                let made = file_queue::create::<RecordLock>(path.clone(), params.layout());
                queue = Some(made.map_err(failed)?);
            }
            params.path = Some(path);
        }
        if params.slots > 0 {
            facts.insert("room for objects".into(), params.slots.to_string());
        }
        let ends = ends(turn, &params, &mut facts)?;
        let exchanges = params.warmup + params.iterations;
        let readings = Readings { facts, ..Readings::default() };
        Ok(Self { ends, exchanges, readings, _queue: queue, _place: place })
    }

    /// Sender, then receiver.
    pub(super) fn pids(&self) -> [u32; 2] {
        [SENDER, RECEIVER].map(|who| self.ends.worker(who).pid())
    }

    /// Gives both the word.
    pub(super) fn go(&self) -> Result<(), TaskError> {
        self.ends.go(RECEIVER, &())?;
        Ok(self.ends.go(SENDER, &())?)
    }

    /// What an end that has failed says of it. Neither is waited for: a process that is traced may be stopped.
    pub(super) fn reason(&mut self) -> Option<TaskError> {
        [RECEIVER, SENDER].into_iter().find_map(|who| {
            let channel = self.ends.worker(who).control().fd();
            let has_said = wait_any(&[channel], Instant::now()).ok()?;
            if has_said.contains(&true) {
                Some(self.ends.done::<Side>(who).err()?.into())
            } else {
                None
            }
        })
    }

    /// Waits for both, and compares what they counted.
    pub(super) fn done(mut self) -> Result<([Side; 2], Readings), TaskError> {
        let sender: Side = match self.ends.done(SENDER).map_err(TaskError::from) {
            Ok(side) => side,
            // Then only the receiver knows why.
            Err(TaskError::Failed(reason)) if reason == GONE => {
                self.ends.done::<Side>(RECEIVER)?;
                return Err(TaskError::Failed(reason));
            }
            Err(error) => return Err(error),
        };
        let receiver: Side = self.ends.done(RECEIVER)?;
        let counts = [sender.exchanges, receiver.exchanges];
        if counts != [self.exchanges; 2] {
            let text = format!(
                "{} exchanges wanted, {} sent, {} received",
                self.exchanges, counts[0], counts[1]
            );
            return Err(TaskError::Failed(text));
        }
        self.readings.facts.insert("control data".into(), format!("{} B", sender.control));
        Ok(([sender, receiver], self.readings))
    }
}

/// The send buffer of modes that keep several objects: it lets a handful of empty datagrams be under way.
const FEW: u64 = 8 << 10;

fn send_buffer(mode: Mode) -> Option<u64> {
    matches!(mode, Mode::ReusedMemfd | Mode::Queue | Mode::QueueAmortised).then_some(FEW)
}

/// Objects for which room must be made, so that the sender never meets one that the receiver has not done with.
fn slots(mode: Mode) -> Result<usize, TaskError> {
    let Some(buffer) = send_buffer(mode) else { return Ok(0) };
    // One that the receiver has, and one that the sender prepares.
    let under_way = under_way(buffer)? + 2;
    // Whoever takes all that he knows of at once gives them back when as many more may have come.
    Ok(if mode == Mode::ReusedMemfd { under_way } else { (2 * under_way).next_power_of_two() })
}

/// Empty datagrams that a sender has sent before it must wait to send one more. Tried, because it is the kernel that
/// knows what it charges for one; the limit of waiting datagrams (`max_dgram_qlen`) is none for two sockets that are
/// connected to each other.
fn under_way(buffer: u64) -> Result<usize, TaskError> {
    const MOST: usize = 256;
    let (one, _two) = socket::pair(socket::Kind::Datagram).map_err(failed)?;
    socket::set_buffers(&one, Some(buffer), None).map_err(failed)?;
    for count in 0..MOST {
        let mut is_ready = false;
        let watched = [(one.as_fd(), Interest::Writable)];
        let look = ready::wait(&watched, Some(Duration::ZERO), |_| is_ready = true);
        look.and_then(|()| if is_ready { datagram::send(one.as_fd(), &[]) } else { Ok(0) })
            .map_err(|code| TaskError::Failed(ipcperf_core::errno::text(code)))?;
        if !is_ready {
            return Ok(count);
        }
    }
    Err(TaskError::Failed(format!("more than {MOST} datagrams fit into {buffer} B")))
}

fn ends<'a>(
    turn: &Turn<'a>,
    params: &Params,
    facts: &mut BTreeMap<String, String>,
) -> Result<Supervisor<'a>, TaskError> {
    let (one, two) = socket::pair(socket::Kind::Datagram).map_err(failed)?;
    let buffers = socket::set_buffers(&one, send_buffer(params.mode), None).map_err(failed)?;
    facts.insert("SO_SNDBUF".into(), format!("{} B", buffers.send));
    facts.insert("SO_RCVBUF".into(), format!("{} B", buffers.receive));
    let waiting = sysctl::number("net/unix/max_dgram_qlen");
    let waiting = waiting.map_or_else(|| "unknown".into(), |count| count.to_string());
    let what = format!("{waiting} (no limit for two sockets that are connected to each other)");
    facts.insert("net.unix.max_dgram_qlen".into(), what);
    facts.insert("descriptors".into(), {
        let more = if params.mode.has_file() { " and the file" } else { "" };
        format!("{} UDP sockets{more}", super::mode::CLIENTS)
    });
    // No two rounds have the same stack, as nobody promises one that is good.
    let pad = (turn.nonce % 4096) as usize;
    let mut ends = Supervisor::new(turn.deadline, turn.interrupts);
    for (name, socket) in [(SEND.name, &one), (RECEIVE.name, &two)] {
        let who = ends.start(name, pad)?;
        ends.assign(who, name, params, &[socket.as_fd()])?;
    }
    // Each end is in one process only, so that each notices when the other has gone.
    drop((one, two));
    for who in [SENDER, RECEIVER] {
        ends.ready::<()>(who)?;
    }
    Ok(ends)
}

/// Whether files without a name can be made in a directory.
pub(super) fn try_unnamed(directory: &Path) -> Result<(), String> {
    let path = CString::new(directory.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let tried = store::create_unnamed(&path);
    tried.map(drop).map_err(|code| {
        format!("O_TMPFILE in {}: {}", directory.display(), ipcperf_core::errno::text(code))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_few_empty_datagrams_are_under_way_where_objects_are_kept() {
        let few = under_way(FEW).expect("a pair");
        assert!((2..64).contains(&few), "{few}");
        assert_eq!(slots(Mode::ReusedMemfd).expect("a pair"), few + 2);
        assert!(slots(Mode::Queue).expect("a pair").is_power_of_two());
        assert_eq!(slots(Mode::File).expect("nothing to try"), 0);
    }
}
