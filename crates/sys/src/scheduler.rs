//! Scheduling classes and nice values of threads: asked for, read back, and why one cannot be had.
//!
//! # Safety
//! The call takes numbers.

use crate::affinity;
use crate::io::raw;
use crate::io::sched_attr::Attributes;
use crate::limits;
use crate::procfs;
use ipcperf_core::result::SchedGroup;
use ipcperf_core::{Missing, Nice, SchedClass, errno};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is asked of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedRequest {
    /// Its class; `None` for the one that it has.
    pub class: Option<SchedClass>,
    /// Its nice value; `None` for the one that it has.
    pub nice: Option<Nice>,
}

/// How a thread is scheduled, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Its class. Of `SCHED_OTHER` with the slice that it has, where the kernel says it (Linux 6.12).
    pub class: SchedClass,
    /// Its nice value.
    pub nice: i8,
}

/// How the calling thread is scheduled.
///
/// # Errors
/// The kernel's; or the class is none of [`SchedClass`].
pub fn own() -> Result<Granted, Missing> {
    of(0)
}

fn of(thread: u32) -> Result<Granted, Missing> {
    let found = Attributes::of(thread).map_err(|code| {
        let what =
            format!("the scheduling class cannot be read (sched_getattr: {})", errno::text(code));
        Missing::new(what, "a sandbox that allows it")
    })?;
    let class = found.class().ok_or_else(|| {
        let what = format!("the scheduling policy {} has no name here", found.policy);
        Missing::new(what, "start ipcperf in another class (chrt --other 0 ipcperf ...)")
    })?;
    Ok(Granted { class, nice: i8::try_from(found.nice).unwrap_or_default() })
}

/// Has the calling thread scheduled so; threads that it starts are scheduled alike. Returns what the kernel granted.
///
/// # Errors
/// A right is missing, or the kernel granted something else.
pub fn apply(wanted: SchedRequest) -> Result<Granted, Missing> {
    set(0, wanted)
}

fn set(thread: u32, wanted: SchedRequest) -> Result<Granted, Missing> {
    let before = of(thread)?;
    if let Some(class) = wanted.class {
        let flags = Attributes::of(thread).map_or(0, |found| found.flags);
        let nice = wanted.nice.map_or(before.nice, Nice::value);
        let attributes = Attributes::with(class, nice.into(), flags);
        admitted(class, || attributes.set(thread))
            .map_err(|code| refused(thread, class, nice, before, code))?;
    } else if let Some(nice) = wanted.nice {
        let (which, value) = (libc::PRIO_PROCESS as usize, nice.value() as isize);
        let (thread_number, value) = (thread as usize, value.cast_unsigned());
        // SAFETY: the call takes three numbers.
        unsafe { raw::call3(libc::SYS_setpriority, which, thread_number, value) }
            .map_err(|code| no_nice(nice.value(), before, code))?;
    }
    let after = of(thread)?;
    granted(wanted, after).map_or(Ok(after), Err)
}

/// Tries again for a while what the kernel refuses as too much: the share of a thread that has just ended is given back at the
/// end of its period only.
fn admitted(class: SchedClass, mut set: impl FnMut() -> Result<(), i32>) -> Result<(), i32> {
    let SchedClass::Deadline { period_ns, .. } = class else { return set() };
    let end = Instant::now() + Duration::from_millis(100) + 2 * Duration::from_nanos(period_ns);
    loop {
        match set() {
            Err(libc::EBUSY) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Why what was read back is not what was asked for; `None` where it is.
fn granted(wanted: SchedRequest, after: Granted) -> Option<Missing> {
    let is_class = |class| match (class, after.class) {
        // Without a slice that was asked for any one will do.
        (SchedClass::Other { slice_ns: 0 }, SchedClass::Other { .. }) => true,
        (class, after) => class == after,
    };
    let class = wanted.class.filter(|class| !is_class(*class));
    match (class, wanted.nice.filter(|nice| nice.value() != after.nice)) {
        (Some(SchedClass::Other { .. }), _) if matches!(after.class, SchedClass::Other { .. }) => {
            let what = match after.class {
                SchedClass::Other { slice_ns } if slice_ns > 0 => {
                    format!("the kernel granted {} instead", after.class)
                }
                _ => "this kernel has no slices of single processes".to_owned(),
            };
            Some(Missing::new(what, "Linux 6.12 or newer, or --sched without slice="))
        }
        (Some(class), _) => {
            let what = format!("the kernel granted {} instead of {class}", after.class);
            Some(Missing::new(what, "a kernel without a scheduler of its own (sched_ext)"))
        }
        (None, Some(nice)) if after.class.is_fair() => {
            let what =
                format!("the kernel granted the nice value {} instead of {nice}", after.nice);
            Some(Missing::new(what, "leave out --nice"))
        }
        _ => None,
    }
}

/// Why a class is refused, with the right that is missing.
fn refused(thread: u32, class: SchedClass, nice: i8, before: Granted, code: i32) -> Missing {
    let why = format!("sched_setattr: {}", errno::text(code));
    let is_right = limits::may_schedule();
    match (class, code) {
        (SchedClass::Fifo(priority) | SchedClass::RoundRobin(priority), libc::EPERM) => {
            let limit = limits::realtime_priority();
            if !is_right && limit < u64::from(priority) {
                let what = format!(
                    "{class} needs CAP_SYS_NICE, or RLIMIT_RTPRIO of {priority} where it is {limit}"
                );
                return Missing::new(what, limits::more_realtime_priority(priority.into()));
            }
            match no_realtime(&procfs::cpu_group()) {
                Some(file) => Missing::new(
                    format!(
                        "{class} needs realtime CPU time in its control group, and cpu.rt_runtime_us = 0 in {}",
                        place(&file)
                    ),
                    format!(
                        "echo 950000 > {}, the limits of the groups around it permitting",
                        file.display()
                    ),
                ),
                None => Missing::new(
                    format!("{class} is refused ({why})"),
                    "a sandbox or security module that allows it",
                ),
            }
        }
        (SchedClass::Deadline { .. }, libc::EPERM) if !is_right => {
            let what = format!("{class} needs CAP_SYS_NICE");
            Missing::new(what, "run as root, or setcap cap_sys_nice+ep on the program")
        }
        (SchedClass::Deadline { .. }, libc::EPERM) => {
            let own = affinity::cpus_of(thread).unwrap_or_default();
            let cpus = match own.as_slice() {
                [one] => format!("CPU {one}"),
                more => format!(
                    "CPUs {}",
                    more.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
                ),
            };
            let what = format!(
                "{class} needs a process that may use all CPUs of its scheduling domain, and it may use {cpus} only"
            );
            Missing::new(
                what,
                "--place free, or an exclusive cpuset of these CPUs (cpuset.cpus.partition = root, or cpuset.cpu_exclusive = 1)",
            )
        }
        (SchedClass::Deadline { .. }, libc::EBUSY) => Missing::new(
            format!(
                "{class} is more than what the kernel admits to deadline classes next to those that run (kernel.sched_rt_runtime_us \
                 of each period)"
            ),
            "a smaller runtime, or a longer period",
        ),
        (SchedClass::Deadline { .. }, libc::EINVAL) => Missing::new(
            format!("{class} has a period that the kernel does not allow ({why})"),
            "a period between kernel.sched_deadline_period_min_us and kernel.sched_deadline_period_max_us",
        ),
        (_, libc::EPERM) if !is_right && nice < before.nice => no_nice(nice, before, code),
        (_, libc::EPERM) if !is_right && before.class == SchedClass::Idle => {
            let what = format!("{class} needs CAP_SYS_NICE in a process that was started as idle");
            Missing::new(what, "start ipcperf in another class")
        }
        _ => Missing::new(
            format!("{class} is refused ({why})"),
            "a kernel or a sandbox that allows it",
        ),
    }
}

/// Why a nice value is refused.
fn no_nice(nice: i8, before: Granted, code: i32) -> Missing {
    let needed = u64::try_from(20 - i32::from(nice)).unwrap_or_default();
    let limit = limits::niceness();
    if limits::may_schedule() || nice >= before.nice || limit >= needed {
        let what = format!("the nice value {nice} is refused ({})", errno::text(code));
        return Missing::new(what, "a sandbox or security module that allows it");
    }
    let what = format!(
        "a nice value of {nice}, below {}, needs CAP_SYS_NICE, or RLIMIT_NICE of {needed} where it is {limit}",
        before.nice
    );
    Missing::new(what, limits::more_niceness(needed))
}

/// The file of the innermost control group that has no realtime CPU time.
fn no_realtime(groups: &[PathBuf]) -> Option<PathBuf> {
    let files = groups.iter().map(|folder| folder.join("cpu.rt_runtime_us"));
    files.into_iter().find(|file| procfs::text(&file.to_string_lossy()).as_deref() == Some("0"))
}

/// The group that a file belongs to, as `/proc/self/cgroup` names it.
fn place(file: &Path) -> std::path::Display<'_> {
    file.parent().unwrap_or(file).display()
}

/// Whether all of these may be had at the same time, each with the CPU that its thread is pinned to: they are tried on threads
/// that wait meanwhile, and given back.
///
/// # Errors
/// Why not, with the right that is missing.
pub fn probe(ends: &[(SchedRequest, Option<usize>)]) -> Result<(), Missing> {
    // All are held until the last has been tried: the kernel admits deadline classes by their sum.
    let mut held = Vec::new();
    for (wanted, cpu) in ends {
        held.push(SchedProbe::start(*wanted, *cpu)?);
    }
    Ok(())
}

/// The number of the calling thread.
fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// A thread that has a class, and gives it back when this is dropped.
struct SchedProbe {
    /// Its end is what the thread waits for.
    release: Option<mpsc::Sender<()>>,
    /// `None` where its end is not waited for: one of the class idle may take long on a busy CPU.
    thread: Option<JoinHandle<()>>,
}

impl SchedProbe {
    fn start(wanted: SchedRequest, cpu: Option<usize>) -> Result<Self, Missing> {
        let is_deadline = matches!(wanted.class, Some(SchedClass::Deadline { .. }));
        let (say, told) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let body = move || {
            if let Some(cpu) = cpu {
                // What cannot be pinned is refused elsewhere. This thread alone is: the process is not.
                let _ = affinity::allow(thread_number(), &[cpu]);
            }
            // The kernel forgets to give back the share of a thread that slept when it got a deadline, so that this one asks
            // itself; that of the class idle would take long to answer on a busy CPU.
            let own = if is_deadline { apply(wanted).map(drop) } else { Ok(()) };
            let _ = say.send((thread_number(), own));
            let _ = released.recv();
            if is_deadline {
                let _ = Attributes::with(SchedClass::Other { slice_ns: 0 }, 0, 0).set(0);
            }
        };
        let started = std::thread::Builder::new().stack_size(64 << 10).spawn(body);
        let thread = started.map_err(|error| limits::not_started(&error))?;
        let trial = Self { release: Some(release), thread: is_deadline.then_some(thread) };
        let gone = |_| Missing::new("a thread ended at once", "");
        let (number, own) = told.recv().map_err(gone)?;
        own?;
        if !is_deadline {
            set(number, wanted)?;
        }
        Ok(trial)
    }
}

impl Drop for SchedProbe {
    fn drop(&mut self) {
        drop(self.release.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The control group or the session within which the fair classes of this process share its CPUs with others; `None` where it
/// shares them with all processes.
#[must_use]
pub fn group() -> Option<SchedGroup> {
    if let Some(folder) = innermost(&procfs::cpu_group()) {
        return Some(SchedGroup::ControlGroup(folder.display().to_string()));
    }
    let is_on = procfs::text("/proc/sys/kernel/sched_autogroup_enabled").as_deref() == Some("1");
    let session = procfs::text("/proc/self/autogroup").filter(|text| is_on && !text.is_empty())?;
    let name = session.split(' ').next()?.trim_start_matches('/').to_owned();
    Some(SchedGroup::Session(name))
}

/// The first of these folders that has a weight of CPU time. The group of all processes has none in version 2. That of version
/// 1 has one without effect, and is the only one with a `release_agent`: the outermost folder of a container is another group.
fn innermost(groups: &[PathBuf]) -> Option<&PathBuf> {
    groups.iter().find(|folder| {
        let has = |file: &str| folder.join(file).exists();
        has("cpu.weight") || has("cpu.shares") && !has("release_agent")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sched_attr::with_slice;
    use crate::skipped::skipped;

    /// Does it in a thread of its own: what is set is per thread, and other tests share this process.
    fn apart<T: Send + 'static>(done: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(done).join().expect("the thread ends")
    }

    fn class(class: SchedClass) -> SchedRequest {
        SchedRequest { class: Some(class), nice: None }
    }

    #[test]
    fn what_needs_no_right_is_granted_and_read_back() {
        for asked in [SchedClass::Batch, SchedClass::Other { slice_ns: 0 }] {
            let found = apart(move || apply(class(asked))).expect("no right is needed");
            let is_other = matches!(found.class, SchedClass::Other { .. });
            assert!(found.class == asked || is_other && asked != SchedClass::Batch, "{found:?}");
        }
        assert_eq!(
            apart(|| apply(class(SchedClass::Idle))).expect("no right").class,
            SchedClass::Idle
        );
        let (higher, found) = apart(|| {
            let higher = (own().expect("a class").nice + 1).min(19);
            let nice = Some(higher.to_string().parse().expect("a nice value"));
            (higher, apply(SchedRequest { class: None, nice }).expect("no right is needed"))
        });
        assert_eq!(found.nice, higher);
    }

    #[test]
    fn a_slice_is_granted_as_it_was_asked_for_or_the_kernel_has_none() {
        let asked = SchedClass::Other { slice_ns: 300_000 };
        match apart(move || apply(class(asked))) {
            Ok(found) => assert_eq!(found.class, asked),
            Err(missing) => {
                assert!(missing.to_string().contains("Linux 6.12"), "{missing}");
                skipped("sched-slice", missing);
            }
        }
    }

    #[test]
    fn a_slice_for_a_while_leaves_the_one_that_was_granted() {
        for asked in [SchedClass::Other { slice_ns: 300_000 }, SchedClass::Batch] {
            let found = apart(move || {
                apply(class(asked))?;
                let slice = || Attributes::of(0).expect("attributes").runtime;
                let before = slice();
                Ok::<_, Missing>((before, with_slice(100_000, slice), slice()))
            });
            match found {
                Ok((before, during, after)) => {
                    assert_eq!(after, before, "{asked}");
                    // A kernel without slices has none before, either.
                    assert_eq!(during, if before > 0 { 100_000 } else { 0 }, "{asked}");
                }
                Err(missing) => skipped("sched-slice", missing),
            }
        }
    }

    #[test]
    fn a_thread_of_another_class_keeps_all_that_it_has_where_slices_are_asked_for() {
        let deadline = "deadline:1ms/10ms/10ms".parse().expect("a class");
        for asked in [SchedClass::Idle, SchedClass::Fifo(3), deadline] {
            let found = apart(move || {
                let before = apply(class(asked))?;
                Ok::<_, Missing>((before, with_slice(100_000, own)?, own()?))
            });
            match found {
                Ok((before, during, after)) => assert_eq!((during, after), (before, before)),
                Err(missing) => skipped("sched-fifo", missing),
            }
        }
    }

    #[test]
    fn a_class_that_needs_a_right_is_had_or_the_right_is_named() {
        let asked = SchedClass::Fifo(10);
        match apart(move || apply(class(asked))) {
            Ok(found) => assert_eq!(found.class, asked),
            Err(missing) => {
                let names = ["CAP_SYS_NICE", "cpu.rt_runtime_us", "refused"];
                let text = missing.to_string();
                assert!(names.iter().any(|name| text.contains(name)), "{text}");
                skipped("sched-fifo", missing);
            }
        }
    }

    #[test]
    fn what_is_tried_changes_nothing_and_is_given_back() {
        let before = own().expect("a class");
        let idle = (class(SchedClass::Idle), Some(affinity::allowed_cpus().expect("readable")[0]));
        probe(&[idle, idle]).expect("no right is needed");
        assert_eq!(own().expect("a class"), before);
    }

    #[test]
    fn a_pinned_thread_has_no_deadline_and_the_reason_is_named() {
        let asked: SchedClass = "deadline:1ms/5ms/10ms".parse().expect("a class");
        let cpus = affinity::allowed_cpus().expect("readable");
        if cpus.len() < 2 {
            return skipped("two CPUs", "one CPU is a whole scheduling domain");
        }
        let told = probe(&[(class(asked), Some(cpus[0]))]).map_err(|missing| missing.to_string());
        if limits::may_schedule() {
            let told = told.expect_err("it is pinned");
            let only = format!("may use CPU {} only; --place free", cpus[0]);
            assert!(told.contains(&only), "{told}");
        } else {
            assert!(told.expect_err("no right").contains("needs CAP_SYS_NICE"));
        }
    }

    #[test]
    fn both_ends_of_a_deadline_are_admitted_again_and_again() {
        let asked: SchedClass = "deadline:1ms/10ms/10ms".parse().expect("a class");
        let both = [(class(asked), None), (class(asked), None)];
        match probe(&both) {
            Ok(()) => assert_eq!((0..9).filter(|_| probe(&both).is_err()).count(), 0),
            Err(missing) => skipped("sched-deadline", missing),
        }
    }

    #[test]
    fn what_was_read_back_is_compared_with_what_was_asked_for() {
        let after = |class| Granted { class, nice: 0 };
        let other = |slice_ns| SchedClass::Other { slice_ns };
        let told = |asked, found| granted(class(asked), after(found)).map(|missing| missing.what);
        assert_eq!(told(other(0), other(2_800_000)), None);
        assert_eq!(told(other(100_000), other(100_000)), None);
        let none = "this kernel has no slices of single processes";
        assert_eq!(told(other(100_000), other(0)).as_deref(), Some(none));
        assert_eq!(
            told(other(100_000), other(700_000)).as_deref(),
            Some("the kernel granted other:slice=700us instead")
        );
        assert_eq!(
            told(SchedClass::Fifo(1), SchedClass::Batch).as_deref(),
            Some("the kernel granted batch instead of fifo:1")
        );
        let nice = SchedRequest { class: None, nice: Some("5".parse().expect("a nice value")) };
        assert!(granted(nice, after(SchedClass::Batch)).is_some());
        assert!(granted(nice, after(SchedClass::Fifo(1))).is_none(), "it counts for nothing there");
    }

    #[test]
    fn the_group_without_realtime_is_found_by_its_file() {
        let home = tempfile::tempdir().expect("a directory");
        let [with, without] = ["with", "without"].map(|name| home.path().join(name));
        for (folder, value) in [(&with, "950000\n"), (&without, "0\n")] {
            std::fs::create_dir(folder).expect("a directory");
            std::fs::write(folder.join("cpu.rt_runtime_us"), value).expect("a file");
        }
        assert_eq!(no_realtime(std::slice::from_ref(&with)), None);
        let found = no_realtime(&[with, without.clone()]).expect("one has none");
        assert_eq!(found, without.join("cpu.rt_runtime_us"));
    }

    #[test]
    fn the_group_of_all_processes_is_no_group_and_the_outermost_of_a_container_is_one() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = |name: &str, files: &[&str]| {
            let folder = home.path().join(name);
            std::fs::create_dir(&folder).expect("a directory");
            for file in files {
                std::fs::write(folder.join(file), "").expect("a file");
            }
            folder
        };
        let all = folder("all-of-2", &["cpu.stat"]);
        let all_of_1 = folder("all-of-1", &["cpu.shares", "release_agent"]);
        let inner = folder("inner-of-2", &["cpu.weight"]);
        let inner_of_1 = folder("inner-of-1", &["cpu.shares"]);
        for (groups, expected) in [
            (vec![&all], None),
            (vec![&all_of_1], None),
            (vec![&inner], Some(&inner)),
            (vec![&inner_of_1], Some(&inner_of_1)),
            (vec![&inner, &all], Some(&inner)),
            (vec![&inner_of_1, &all_of_1], Some(&inner_of_1)),
        ] {
            let groups: Vec<PathBuf> = groups.into_iter().cloned().collect();
            assert_eq!(innermost(&groups), expected, "{groups:?}");
        }
    }
}
