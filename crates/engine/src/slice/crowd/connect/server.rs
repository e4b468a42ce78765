//! The server of a connect slice: lets callers in, one after the other, tells each a number, and hangs up.

use super::super::report::{ServerReport, add};
use super::answer::Answers;
use super::plan::Ask;
use crate::job::Failure;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{Closes, Serving};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::listener::{self, Site};
use ipcperf_sys::procfs::consumption;
use ipcperf_sys::{process, procfs};
use serde_json::Value;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Its name as a task.
pub(crate) const NAME: &str = "connect-server";

/// The task. It is over when the word that travels is no longer 0.
pub(crate) fn serve(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let ask: Ask = context.params()?;
    let page = context.page(0)?;
    pin(ask.cpu)?;
    let plan = &ask.plan;
    let opened = listener::Listener::open(&ask.site(), plan.backlog, plan.clients);
    let (mut listener, site) = opened.map_err(|error| {
        let Failure { kind, reason } = error.into();
        Failure { kind, reason: format!("{}: {reason}", plan.listener.name()) }
    })?;
    if plan.serving == Serving::Epoll {
        listener.watch().map_err(|error| format!("{}: {error}", plan.listener.name()))?;
    }
    let port = match &site {
        Site::Inet(_, at) => at.port().into(),
        Site::Vsock(port) => *port,
        Site::Unix(..) | Site::Fifo(_) => 0,
    };
    context.ready(&port)?;
    let clock = ask.clock();
    let mut desk = Desk { site, answers: ask.answers(), waits: plan.closes == Closes::Client };
    let before = consumption();
    let told = match plan.serving {
        Serving::Accept => one_by_one(&listener, &mut desk, page.line()),
        Serving::Epoll => in_turns(&listener, &mut desk, page.line(), clock),
    };
    Ok(serde_json::to_value(ServerReport {
        pid: process::own_pid(),
        spent: consumption().since(&before),
        cpu: ask.cpu.unwrap_or(0),
        tracer: procfs::tracer(),
        ..told
    })?)
}

/// What the server does for each caller.
struct Desk {
    site: Site,
    answers: Answers,
    /// Whether it hangs up only when the caller has.
    waits: bool,
}

impl Desk {
    #[inline]
    fn serve(&mut self, inside: OwnedFd, told: &mut ServerReport) {
        let done = listener::answer(&inside, &self.site, self.answers.write(told.served));
        if self.waits && done.is_ok() {
            // A stranger may stay for ever, whom the server then leaves behind.
            if let Err(code) = listener::await_end(&inside) {
                add(&mut told.errors, code);
            }
        }
        drop(inside);
        count(told, done);
    }
}

/// Sleeps in `accept`.
fn one_by_one(listener: &listener::Listener, desk: &mut Desk, stop: &AtomicU32) -> ServerReport {
    let mut told = ServerReport::default();
    while stop.load(Ordering::Acquire) == 0 {
        match listener.accept() {
            // A client that comes once it is over only wakes the server.
            Ok(Some(inside)) if stop.load(Ordering::Acquire) == 0 => {
                desk.serve(inside, &mut told);
            }
            Ok(_) => {}
            Err(code) => count(&mut told, Err(code)),
        }
    }
    told
}

/// Sleeps in `epoll_wait`, and accepts all clients that have come by then.
fn in_turns(
    listener: &listener::Listener,
    desk: &mut Desk,
    stop: &AtomicU32,
    clock: Clock,
) -> ServerReport {
    let mut told = ServerReport::default();
    let mut accept = 0;
    while stop.load(Ordering::Acquire) == 0 {
        if let Err(code) = listener.await_caller() {
            count(&mut told, Err(code));
            continue;
        }
        loop {
            let begin = clock.start();
            match listener.accept() {
                Ok(Some(inside)) if stop.load(Ordering::Acquire) == 0 => {
                    accept += clock.stop() - begin;
                    desk.serve(inside, &mut told);
                }
                Ok(_) | Err(errno::EAGAIN) => break,
                Err(code) => {
                    count(&mut told, Err(code));
                    break;
                }
            }
        }
    }
    ServerReport { accept: Some(accept), ..told }
}

#[inline]
fn count(told: &mut ServerReport, done: Result<(), i32>) {
    match done {
        Ok(()) => {
            told.sum = told.sum.wrapping_add(told.served);
            told.served += 1;
        }
        Err(code) => add(&mut told.errors, code),
    }
}
