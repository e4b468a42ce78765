//! Realtime signals with a value, `signal(7)`: sent and taken in four ways.

use crate::wake_up::WAKE_UP;
use crate::wake_up::signal_port::{Read, Receive, Send, Signals, Wait as SigWait};
use crate::wake_up::word_port::WordPort;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::wake::queued_signal::{self, Blocked, ByDescriptor, ByPid, Handler, WINDOW};
use ipcperf_sys::process;
use std::marker::PhantomData;

/// A realtime signal for each direction.
#[derive(Debug)]
pub struct Signal<W>(PhantomData<W>);

/// How a signal is sent and taken.
pub trait Delivery: 'static {
    /// The variant's name.
    const VARIANT: Option<&'static str>;
    /// One sentence.
    const SUMMARY: &'static str;
    /// Manual pages.
    const MANUAL: &'static [&'static str];
    /// What is easily got wrong.
    const PITFALLS: &'static [&'static str];
    /// What it needs.
    const NEEDS: &'static [&'static str] = &[];
    /// How it is taken.
    type Receive: Receive;
    /// How it is sent.
    type Send: Send;

    /// Whether it works here, beyond queued signals as such.
    ///
    /// # Errors
    /// The call that failed.
    fn probe() -> Result<(), SetupError> {
        queued_signal::probe::by_number()
    }
}

const MERGING: &str = "Standard signals such as SIGUSR1 merge and carry nothing; only realtime ones are queued with eight bytes.";
const QUEUE: &str = "At RLIMIT_SIGPENDING, which counts all processes of a user, a sender gets EAGAIN, and here asks again; a window of 64 stays far below.";
const DEATH: &str = "A sender gets ESRCH once its peer has been reaped; until then signals to the zombie are lost, and a receiver never notices.";
const BLOCKED: &str =
    "The signal must be blocked before the peer may send, or it ends the process or is lost.";
const REUSE: &str = "A process number may belong to another process by the time the signal is sent; a pidfd cannot.";

/// Sent by `rt_sigqueueinfo`, taken by `rt_sigtimedwait`.
#[derive(Debug)]
pub struct Waiting;

impl Delivery for Waiting {
    const VARIANT: Option<&'static str> = None;
    const SUMMARY: &'static str =
        "A realtime signal with a value, queued by sigqueue; a receiver sleeps in sigwaitinfo.";
    const MANUAL: &'static [&'static str] =
        &["signal(7)", "sigqueue(3)", "rt_sigqueueinfo(2)", "sigwaitinfo(2)"];
    const PITFALLS: &'static [&'static str] = &[MERGING, QUEUE, DEATH, BLOCKED, REUSE];
    type Receive = SigWait;
    type Send = ByPid;
}

/// Sent by `rt_sigqueueinfo`, taken by a handler that runs inside `rt_sigsuspend`.
#[derive(Debug)]
pub struct Handling;

impl Delivery for Handling {
    const VARIANT: Option<&'static str> = Some("handler");
    const SUMMARY: &'static str = "A realtime signal with a value, queued by sigqueue; a receiver sleeps in sigsuspend, where its handler stores the value.";
    const MANUAL: &'static [&'static str] =
        &["signal(7)", "sigaction(2)", "sigsuspend(2)", "sigreturn(2)", "rt_sigqueueinfo(2)"];
    const PITFALLS: &'static [&'static str] = &[
        "A handler costs a second system call: it comes back by rt_sigreturn.",
        "Checking a flag and then calling pause loses a signal that arrives in between; here the signal is blocked except inside sigsuspend.",
        "A handler may interrupt anything, so it may do next to nothing; this one writes two atomics.",
        MERGING,
        QUEUE,
        DEATH,
        REUSE,
    ];
    type Receive = Handler;
    type Send = ByPid;
}

/// Sent by `rt_sigqueueinfo`, read from a signalfd.
#[derive(Debug)]
pub struct Reading;

impl Delivery for Reading {
    const VARIANT: Option<&'static str> = Some("signalfd");
    const SUMMARY: &'static str = "A realtime signal with a value, queued by sigqueue; a receiver sleeps in read of a signalfd.";
    const MANUAL: &'static [&'static str] = &["signal(7)", "signalfd(2)", "rt_sigqueueinfo(2)"];
    const PITFALLS: &'static [&'static str] = &[
        "A signalfd reads the signals of the process that reads it, not of the one that made it, so it cannot be passed to another process.",
        "A read copies 128 bytes for eight of value.",
        MERGING,
        QUEUE,
        DEATH,
        BLOCKED,
        REUSE,
    ];
    const NEEDS: &'static [&'static str] = &["CONFIG_SIGNALFD"];
    type Receive = Read;
    type Send = ByPid;

    fn probe() -> Result<(), SetupError> {
        queued_signal::probe::by_number()?;
        queued_signal::probe::descriptor()
    }
}

/// Sent by `pidfd_send_signal`, taken by `rt_sigtimedwait`.
#[derive(Debug)]
pub struct Pointing;

impl Delivery for Pointing {
    const VARIANT: Option<&'static str> = Some("pidfd");
    const SUMMARY: &'static str = "A realtime signal with a value, sent by pidfd_send_signal; a receiver sleeps in sigwaitinfo.";
    const MANUAL: &'static [&'static str] =
        &["signal(7)", "pidfd_send_signal(2)", "pidfd_open(2)", "sigwaitinfo(2)"];
    const PITFALLS: &'static [&'static str] = &[
        "The receiver opens the pidfd and hands it over, so that it can be of no other process; one opened by number can.",
        MERGING,
        QUEUE,
        DEATH,
        BLOCKED,
    ];
    const NEEDS: &'static [&'static str] = &["pidfd_open (Linux 5.3)"];
    type Receive = SigWait;
    type Send = ByDescriptor;

    fn probe() -> Result<(), SetupError> {
        queued_signal::own_descriptor().map(drop)
    }
}

impl<W: Delivery> Mechanism for Signal<W> {
    const SPEC: &'static Spec = &Spec {
        name: "signal",
        variant: W::VARIANT,
        wait: Wait::Block,
        default: W::VARIANT.is_none(),
        summary: W::SUMMARY,
        manual: W::MANUAL,
        pitfalls: W::PITFALLS,
        direction: Direction::TwoWay,
        reach: Reach::SameUser,
        shares: Namespaces::PID,
        shares_by_name: Namespaces::PID,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        syscalls: Syscalls { send: Some(1.0), recv: Some(W::Receive::CALLS) },
        window: Some(WINDOW),
        needs: W::NEEDS,
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Signals<W::Receive, W::Send>>;
    const MEETS: bool = true;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        queued_signal::probe::queue()?;
        W::probe().map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        // There is no object: the ends know each other by their processes.
        Ok(Link::default())
    }

    fn attach(end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        // Before the peer learns whom to send to.
        let blocked = Blocked::new()?;
        let own = process::own_pid();
        let mine = Wiring { words: vec![own.into()], ..Wiring::of_fds(W::Send::address()?) };
        let theirs = end.meet.swap(mine)?;
        let peer = match theirs.words[..] {
            [peer] => i32::try_from(peer).ok(),
            _ => None,
        };
        let Some(peer) = peer.filter(|peer| peer.cast_unsigned() != own) else {
            // A signal is sent to a process: two ends in one could not tell whose it is.
            return Err(SetupError::Protocol("the number of another process was expected".into()));
        };
        Ok(WordPort::new(Signals::new(blocked, peer, theirs.fds)?))
    }
}
