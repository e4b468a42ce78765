//! Loads that keep a machine busy while something is measured on it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo::cargo;
use crate::floor::use_fifo;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Four threads that never wait.
    Busy,
    /// A compilation from the beginning, again and again.
    Compilation,
    /// A thread under `SCHED_FIFO` that takes 30 % of a CPU, 30 ms at a time.
    Fifo,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Busy, Kind::Compilation, Kind::Fifo];

/// The burst of a thread under `SCHED_FIFO`, and how long it then waits.
const BURST: Duration = Duration::from_millis(30);
const REST: Duration = Duration::from_millis(70);

/// How often a compilation is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A running load; it ends when this is dropped.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins; an error says why this machine does not allow it.
    pub(super) fn begin(kind: Kind) -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut load = Self { is_over, threads: Vec::new() };
        match kind {
            Kind::Busy => {
                for _ in 0..4 {
                    load.add(|is_over| {
                        while !is_over() {
                            std::hint::spin_loop()
                        }
                    });
                }
            }
            Kind::Compilation => {
                // A missing tool shows here and not after minutes.
                let directory = directory()?;
                load.add(move |is_over| compile(&directory, is_over));
            }
            Kind::Fifo => {
                let (sender, answer) = std::sync::mpsc::channel();
                load.add(move |is_over| {
                    let is_fifo = use_fifo();
                    let may_go_on = is_fifo.is_ok();
                    let is_awaited = sender.send(is_fifo).is_ok();
                    while may_go_on && is_awaited && !is_over() {
                        let began = Instant::now();
                        while began.elapsed() < BURST {
                            std::hint::spin_loop();
                        }
                        sleep(REST);
                    }
                });
                answer
                    .recv()
                    .context("the thread ended")?
                    .context("SCHED_FIFO is not permitted")?;
            }
        }
        Ok(load)
    }

    fn add(&mut self, work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static) {
        let is_over = Arc::clone(&self.is_over);
        self.threads.push(spawn(move || work(&|| is_over.load(Ordering::Relaxed))));
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A load that broke is no reason to lose what was measured.
            drop(thread.join());
        }
    }
}

/// Where the compilation writes.
fn directory() -> Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("ipcperf-loaded-{}", std::process::id()));
    match std::fs::create_dir(&directory) {
        Ok(()) => Ok(directory),
        Err(error) => bail!("{}: {error}", directory.display()),
    }
}

fn compile(directory: &PathBuf, is_over: &dyn Fn() -> bool) {
    while !is_over() {
        let mut command = cargo();
        command.args([
            "check",
            "--quiet",
            "--offline",
            "--package",
            "ipcperf-core",
            "--target-dir",
        ]);
        command.arg(directory).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        match command.spawn() {
            Ok(child) => wait(child, is_over),
            Err(_) => break,
        }
        clear(directory);
    }
    drop(std::fs::remove_dir_all(directory));
}

/// The next compilation begins with nothing.
fn clear(directory: &Path) {
    drop(std::fs::remove_dir_all(directory.join("debug")));
}

fn wait(mut child: Child, is_over: &dyn Fn() -> bool) {
    while matches!(child.try_wait(), Ok(None)) {
        if is_over() {
            // cargo's compilers are in its group.
            // SAFETY: the child was not waited for, so its number still stands for it and its group.
            unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
            drop(child.wait());
            return;
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_time_of_cpus_until_it_is_dropped() {
        let spent = || {
            let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
            // SAFETY: the place is one for this structure, which may be all zero.
            let usage = unsafe {
                libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
                usage.assume_init()
            };
            1e6 * usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64
        };
        let before = spent();
        let load = Load::begin(Kind::Busy).unwrap();
        while spent() - before < 20_000.0 {
            sleep(Duration::from_millis(1));
        }
        let is_over = Arc::clone(&load.is_over);
        drop(load);
        assert_eq!(Arc::strong_count(&is_over), 1, "its threads have ended");
    }
}
