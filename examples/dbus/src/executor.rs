//! What runs a D-Bus connection: its tasks and its socket, on the thread that sends or receives, in `poll(2)`. Without
//! it zbus would bring an executor with a second thread.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use zbus::runtime::traits::{PollIo, Runtime, TaskHandle};
use zbus::runtime::{Interest, IoSource};

/// Tasks and what they wait for. Copies are the same executor.
#[derive(Clone, Default)]
pub(super) struct Executor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tasks: Mutex<Vec<Arc<Task>>>,
    watched: Mutex<Vec<Watched>>,
    timers: Mutex<Vec<(Instant, Waker)>>,
    registrations: AtomicU64,
}

struct Watched {
    registration: u64,
    source: IoSource,
    interest: Interest,
    waker: Waker,
}

/// Also after a panic: nothing guarded here is ever left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Executor {
    /// Runs a future to its end, and meanwhile every task.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let signal = Arc::new(Signal(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&signal));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if signal.0.swap(false, Ordering::Relaxed)
                && let Poll::Ready(output) = future.as_mut().poll(&mut context)
            {
                return output;
            }
            let has_run = self.run_tasks();
            if !has_run && !signal.0.load(Ordering::Relaxed) {
                self.0.sleep();
            }
        }
    }

    /// Polls every task that was woken; whether there was one.
    fn run_tasks(&self) -> bool {
        let mut has_run = false;
        let mut index = 0;
        loop {
            // Not held while a task runs, which may start others.
            let task = lock(&self.0.tasks).get(index).cloned();
            let Some(task) = task else { break };
            if task.is_woken.swap(false, Ordering::Relaxed) {
                has_run = true;
                task.run();
            }
            index += 1;
        }
        if has_run {
            lock(&self.0.tasks).retain(|task| !task.is_over.load(Ordering::Relaxed));
        }
        has_run
    }
}

impl Shared {
    /// Sleeps until something that is waited for has happened.
    fn sleep(&self) {
        let mut woken = Vec::new();
        {
            let mut watched = lock(&self.watched);
            let mut fds: Vec<_> = watched
                .iter()
                .map(|watched| {
                    let flags = match watched.interest {
                        Interest::Writable => PollFlags::OUT,
                        _ => PollFlags::IN,
                    };
                    PollFd::from_borrowed_fd(watched.source.as_fd(), flags)
                })
                .collect();
            let first = lock(&self.timers).iter().map(|(due, _)| *due).min();
            let limit = first.map(|due| due.saturating_duration_since(Instant::now()));
            let limit = limit.map(|limit| Timespec::try_from(limit).unwrap_or_default());
            let found: Vec<_> = match poll(&mut fds, limit.as_ref()) {
                Ok(_) => (0..fds.len()).filter(|at| !fds[*at].revents().is_empty()).collect(),
                // A signal ends the sleep early.
                Err(Errno::INTR) => Vec::new(),
                // An error here comes again in the call on the descriptor, which reports it.
                Err(_) => (0..fds.len()).collect(),
            };
            for index in found.into_iter().rev() {
                woken.push(watched.swap_remove(index).waker);
            }
        }
        let now = Instant::now();
        lock(&self.timers).retain(|(due, waker)| {
            if *due <= now {
                woken.push(waker.clone());
            }
            *due > now
        });
        woken.into_iter().for_each(Waker::wake);
    }
}

struct Signal(AtomicBool);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    job: Mutex<Option<Job>>,
    is_woken: AtomicBool,
    is_over: AtomicBool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
    }
}

impl Task {
    fn run(self: &Arc<Self>) {
        // Taken out meanwhile, so that a task that cancels itself finds nothing to drop.
        let Some(mut job) = lock(&self.job).take() else { return };
        let waker = Waker::from(Arc::clone(self));
        if job.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.is_over.store(true, Ordering::Relaxed);
        } else if !self.is_over.load(Ordering::Relaxed) {
            *lock(&self.job) = Some(job);
        }
    }

    fn cancel(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Its end may start or cancel others, so nothing is locked then.
        let job = lock(&self.job).take();
        drop(job);
    }
}

/// Where a task leaves its result, and who waits for it.
struct Slot<T> {
    output: Option<T>,
    waiting: Option<Waker>,
}

/// Cancels its task when dropped.
pub(super) struct Handle<T> {
    task: Option<Arc<Task>>,
    slot: Arc<Mutex<Slot<T>>>,
}

impl<T: Send + 'static> Future for Handle<T> {
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let mut slot = lock(&self.slot);
        match slot.output.take() {
            Some(output) => Poll::Ready(Ok(output)),
            None => {
                slot.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: Send + 'static> TaskHandle<T> for Handle<T> {
    fn detach(mut self) {
        self.task = None;
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.cancel();
        }
    }
}

/// A socket of a connection.
pub(super) struct Registered {
    number: u64,
    source: IoSource,
    shared: Arc<Shared>,
}

impl Registered {
    fn forget(&self, which: impl Fn(Interest) -> bool) {
        let is_mine = |watched: &Watched| watched.registration == self.number;
        lock(&self.shared.watched).retain(|watched| !(is_mine(watched) && which(watched.interest)));
    }
}

impl PollIo for Registered {
    fn poll_io<T>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                done => return Poll::Ready(done),
            }
        }
        // One waiter for each direction.
        self.forget(|other| other == interest);
        lock(&self.shared.watched).push(Watched {
            registration: self.number,
            source: self.source.clone(),
            interest,
            waker: context.waker().clone(),
        });
        Poll::Pending
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.forget(|_| true);
    }
}

pub(super) struct Sleep {
    due: Instant,
    shared: Arc<Shared>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.due {
            return Poll::Ready(());
        }
        lock(&self.shared.timers).push((self.due, context.waker().clone()));
        Poll::Pending
    }
}

/// zbus gets connected sockets and never an address.
fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Runtime for Executor {
    type RegisteredIoSource = Registered;
    type Sleep = Sleep;
    type Task<T>
        = Handle<T>
    where
        T: Send + 'static;

    fn register_io_source(&self, source: IoSource) -> io::Result<Registered> {
        let number = self.0.registrations.fetch_add(1, Ordering::Relaxed);
        Ok(Registered { number, source, shared: Arc::clone(&self.0) })
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { due: Instant::now() + duration, shared: Arc::clone(&self.0) }
    }

    fn spawn<T>(&self, _: &str, future: impl Future<Output = T> + Send + 'static) -> Handle<T>
    where
        T: Send + 'static,
    {
        let slot = Arc::new(Mutex::new(Slot { output: None, waiting: None }));
        let results = Arc::clone(&slot);
        let job: Job = Box::pin(async move {
            let output = future.await;
            let waiting = {
                let mut slot = lock(&results);
                slot.output = Some(output);
                slot.waiting.take()
            };
            if let Some(waker) = waiting {
                waker.wake();
            }
        });
        let task = Arc::new(Task {
            job: Mutex::new(Some(job)),
            is_woken: AtomicBool::new(true),
            is_over: AtomicBool::new(false),
        });
        lock(&self.0.tasks).push(Arc::clone(&task));
        Handle { task: Some(task), slot }
    }

    async fn connect_tcp(&self, _: SocketAddr) -> io::Result<IoSource> {
        unsupported()
    }

    async fn connect_unix(&self, _: &Path) -> io::Result<IoSource> {
        unsupported()
    }

    fn spawn_process(
        &self,
        _: Command,
        _: Stdio,
        _: Stdio,
        _: Stdio,
    ) -> io::Result<Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send + 'static>>> {
        unsupported()
    }

    /// On this thread: zbus only looks up the peer's user, and a second thread would stay.
    fn spawn_blocking<T>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = T> + Send + 'static>>
    where
        T: Send + 'static,
    {
        Box::pin(std::future::ready(work()))
    }
}
