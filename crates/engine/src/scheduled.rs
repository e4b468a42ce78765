//! Ends that are scheduled as was asked for: what this machine refuses, and what a worker applies to itself before it attaches.

use crate::job::{Failure, Job};
use crate::registry::Entry;
use ipcperf_core::result::{CellKey, ScheduledEnd};
use ipcperf_core::{FollowIn, Load, Missing, Namespace, SchedClass, Seat, SetupError};
use ipcperf_sys::io::cgroup::{self, WeightedGroup};
use ipcperf_sys::limits;
use ipcperf_sys::random;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::scheduler::{self, SchedRequest};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What is asked of one end.
fn wanted(load: &Load, end: Seat) -> SchedRequest {
    SchedRequest {
        class: load.sched.and_then(|all| all.of(end)),
        nice: load.nice.and_then(|all| all.of(end)),
    }
}

/// Why the ends of a cell cannot be scheduled so here: all of it is tried, on threads of this process.
pub(crate) fn objection(entry: &Entry, key: &CellKey) -> Option<Missing> {
    let load = &key.load;
    if !load.is_scheduled() {
        return None;
    }
    for end in Seat::BOTH {
        if matches!(wanted(load, end).class, Some(SchedClass::Deadline { .. })) {
            let enters = |which| match which {
                FollowIn::New(which) => which.has(Namespace::Pid),
                FollowIn::Of(_) => true,
            };
            if entry.spec.threads {
                let what = "a process of a deadline class can start no threads, and an end of this mechanism has some";
                return Some(Missing::new(
                    what,
                    "--sched fifo:PRIORITY, which its threads have, too",
                ));
            }
            if end == Seat::Follow && load.follow_in.is_some_and(enters) {
                let what = "a process of a deadline class can start no other process, which entering a PID namespace takes";
                return Some(Missing::new(what, "leave out pid of --follow-in, or the deadline"));
            }
        }
    }
    let cpu = |end: Seat| key.cpus.get(end.index()).copied().or_else(|| key.placement.alone(end));
    let ends = Seat::BOTH.map(|end| (wanted(load, end), cpu(end)));
    if let Some(missing) = refused(&ends) {
        return Some(missing);
    }
    static GROUPS: OnceLock<Result<(), Missing>> = OnceLock::new();
    let groups = || GROUPS.get_or_init(groups).clone().err();
    load.cgroup_weight.and_then(|_| groups())
}

/// What is asked of an end, and the CPU that it is pinned to.
type AskedEnd = (SchedRequest, Option<usize>);

/// Why ends cannot be scheduled so. Each is tried once: what this process may do does not change, and cells differ in much
/// else.
fn refused(ends: &[AskedEnd; 2]) -> Option<Missing> {
    static KNOWN: Mutex<Vec<([AskedEnd; 2], Option<Missing>)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, answer)) = known.iter().find(|(asked, _)| asked == ends) {
        return answer.clone();
    }
    let answer = scheduler::probe(ends).err();
    known.push((*ends, answer.clone()));
    answer
}

/// Whether control groups with weights can be had: one is made and removed.
fn groups() -> Result<(), Missing> {
    let directory = RunDirectory::of_trials()?;
    let name = format!("trial-{:016x}", random::number());
    let weight = "100".parse().map_err(|error: String| Missing::new(error, ""))?;
    WeightedGroup::create(directory.path(), &[(name, weight)]).map(drop)
}

/// In the coordinator: the control groups of both ends, which stay until these guards are dropped, and the jobs of the ends.
///
/// # Errors
/// A group cannot be made.
pub(crate) fn jobs(job: &Job) -> Result<([Job; 2], Vec<WeightedGroup>), SetupError> {
    let mut jobs = Seat::BOTH.map(|seat| Job { seat, cpu: job.cpu_of(seat), ..job.clone() });
    let Some(weights) = job.key.load.cgroup_weight else { return Ok((jobs, Vec::new())) };
    let directory = job.shape.directory.as_deref().ok_or_else(|| {
        Missing::new(
            "a control group is noted in the run directory, and there is none",
            "TMPDIR=DIRECTORY",
        )
    })?;
    let name = |seat: Seat| format!("{:016x}-{}", job.shape.nonce, seat.index());
    let asked: Vec<_> = Seat::BOTH
        .into_iter()
        .filter_map(|seat| Some((seat, (name(seat), weights.of(seat)?))))
        .collect();
    let named: Vec<_> = asked.iter().map(|(_, named)| named.clone()).collect();
    let groups = WeightedGroup::create(directory, &named)?;
    for ((seat, _), group) in asked.iter().zip(&groups) {
        jobs[seat.index()].group = Some(group.folder().to_owned());
    }
    Ok((jobs, groups))
}

/// How many times as long as usual a slice may take: an end of the class idle gets a three-hundredth of a CPU that another
/// process wants, and what it does before it measures takes milliseconds of CPU time. An end with a nice value above 0 or a
/// weight below 100 gets less than its share, too.
pub(crate) fn patience(load: &Load) -> u32 {
    let is_slow = |end: Seat| {
        wanted(load, end).class == Some(SchedClass::Idle)
            || wanted(load, end).nice.is_some_and(|nice| nice.value() > 0)
            || load
                .cgroup_weight
                .and_then(|all| all.of(end))
                .is_some_and(|weight| weight.value() < USUAL_WEIGHT)
    };
    if Seat::BOTH.into_iter().any(is_slow) { 5 } else { 1 }
}

/// The weight of a control group for which nothing was set.
const USUAL_WEIGHT: u16 = 100;

/// How long an end of a real-time class may use its CPU without waiting, where one of them is: as long as the whole slice may
/// take.
pub(crate) fn realtime_for(load: &Load, deadline: Duration) -> Option<Duration> {
    let is_realtime = |end| wanted(load, end).class.is_some_and(SchedClass::is_realtime);
    Seat::BOTH.into_iter().any(is_realtime).then_some(deadline)
}

/// In a worker: applies what is asked of its end, and says what the kernel granted; `None` where nothing is asked of any.
///
/// # Errors
/// A right is missing.
pub(crate) fn enter(job: &Job) -> Result<Option<ScheduledEnd>, Failure> {
    let load = &job.key.load;
    if !load.is_scheduled() {
        return Ok(None);
    }
    let cgroup_weight = job.group.as_deref().map(cgroup::enter).transpose();
    let cgroup_weight =
        cgroup_weight.map_err(|error| format!("its control group cannot be entered: {error}"))?;
    let wanted = wanted(load, job.seat);
    if wanted.class.is_some_and(SchedClass::is_realtime)
        && let Some(time) = job.realtime_for
    {
        limits::limit_realtime(time)?;
    }
    let granted = scheduler::apply(wanted).map_err(SetupError::from)?;
    let within = granted.class.is_fair().then(scheduler::group).flatten();
    let (class, nice) = (granted.class, granted.nice);
    Ok(Some(ScheduledEnd { class, nice, cgroup_weight, within, run_delay_per_wakeup_ns: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::LoadKey;

    fn load(key: LoadKey, value: &str) -> Load {
        let mut load = Load::default();
        load.set(key, value).expect("a value");
        load
    }

    #[test]
    fn an_end_that_gets_little_of_a_busy_cpu_is_waited_for_longer() {
        for (key, value, times) in [
            (LoadKey::Sched, "follow=idle", 5),
            (LoadKey::Nice, "lead=1", 5),
            (LoadKey::CpuWeight, "99", 5),
            (LoadKey::Sched, "batch", 1),
            (LoadKey::Nice, "-5", 1),
            (LoadKey::CpuWeight, "100", 1),
        ] {
            assert_eq!(patience(&load(key, value)), times, "{key}={value}");
        }
        assert_eq!(patience(&Load::default()), 1);
    }

    #[test]
    fn a_realtime_end_is_limited_to_the_time_of_its_slice_and_others_are_not() {
        let slice = Duration::from_secs(20);
        for (value, limited) in [
            ("fifo:1", true),
            ("follow=rr:1", true),
            ("idle", false),
            ("deadline:1ms/5ms/10ms", false),
        ] {
            let found = realtime_for(&load(LoadKey::Sched, value), slice);
            assert_eq!(found, limited.then_some(slice), "{value}");
        }
    }
}
