//! A load next to a slice: a process of its own does it from before the ends start until they are done, and the lead reads how
//! far it came.

mod work;

pub(crate) use work::{Duty, serve};

use crate::job::{Failure, Job};
use crate::page::Page;
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::result::{CellKey, NeighbourRound};
use ipcperf_core::{Missing, Neighbour, NeighbourPlace, NeighbourWork, Seat};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::process_tree::Account;
use ipcperf_sys::{affinity, limits};
use std::time::{Duration, Instant};

/// The name of its work as a task.
pub(crate) const TASK: &str = "neighbour";

/// How long it may take to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How many times as long as usual a slice may take whose ends share their CPUs with it.
const PATIENCE: u32 = 5;

/// The CPUs that it may use among those that are allowed, where the ends have these; none where all are.
fn cpus(neighbour: &Neighbour, ends: [Option<usize>; 2], allowed: &[usize]) -> Option<Vec<usize>> {
    match neighbour.place {
        NeighbourPlace::Lead => ends[0].map(|cpu| vec![cpu]),
        NeighbourPlace::Follow => ends[1].map(|cpu| vec![cpu]),
        NeighbourPlace::Free => Some(Vec::new()),
        NeighbourPlace::Other => {
            let [Some(lead), Some(follow)] = ends else { return None };
            let is_other = |cpu: &usize| ![lead, follow].contains(cpu);
            let left: Vec<usize> = allowed.iter().copied().filter(is_other).collect();
            (!left.is_empty()).then_some(left)
        }
    }
}

/// Why the neighbour of a cell cannot be where it is to be, on a machine with these CPUs.
pub(crate) fn objection(key: &CellKey, allowed: &[usize]) -> Option<Missing> {
    let neighbour = key.load.neighbour.as_ref()?;
    let cpu = |end: Seat| key.cpus.get(end.index()).copied().or_else(|| key.placement.alone(end));
    let ends = Seat::BOTH.map(cpu);
    if cpus(neighbour, ends, allowed).is_some() {
        return None;
    }
    let place = neighbour.place;
    Some(match ends {
        [Some(_), Some(_)] => Missing::new(
            format!(
                "no CPU is left for a neighbour @{place}: the two sides use all that are allowed"
            ),
            "@free, @lead or @follow, or --place same-cpu",
        ),
        _ => Missing::new(
            format!("a neighbour @{place} needs sides that are pinned to CPUs"),
            "@free, or a --place with CPUs",
        ),
    })
}

/// How many times as long as usual a slice may take.
pub(crate) fn patience(key: &CellKey) -> u32 {
    let shares = |one: &Neighbour| Seat::BOTH.into_iter().any(|end| one.reaches(end, false));
    if key.load.neighbour.as_ref().is_some_and(shares) { PATIENCE } else { 1 }
}

/// A neighbour at work, as the coordinator sees it. Dropping it ends it; what a program has left behind is an orphan of the
/// coordinator then.
#[derive(Debug)]
pub(crate) struct Running(Supervisor<'static>);

impl Running {
    /// Starts that of a slice, if it has one, and waits until it works.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(job: &Job, page: &Page, time: Duration) -> Result<Option<Self>, Stop> {
        let Some(neighbour) = &job.key.load.neighbour else { return Ok(None) };
        let ends = Seat::BOTH.map(|end| job.cpu_of(end));
        let cpus = cpus(neighbour, ends, &affinity::allowed_cpus()?).unwrap_or_default();
        let mut worker = Supervisor::new(Instant::now() + time, None);
        let who = worker.start(format!("neighbour {neighbour}"), 0)?;
        let time = time + LAST_WORDS;
        let duty = Duty { work: neighbour.clone(), cpus, time, files: limits::of_programs() };
        worker.assign(who, TASK, &duty, &[page.fd()])?;
        worker.ready::<()>(who)?;
        Ok(Some(Self(worker)))
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.0.worker(0).pid()
    }

    /// Ends it after its slice.
    ///
    /// # Errors
    /// It had ended before.
    pub(crate) fn finish(mut self) -> Result<(), Stop> {
        self.0.allow(Instant::now() + LAST_WORDS);
        self.0.go(0, &())?;
        self.0.done::<()>(0)
    }
}

/// What it did in a slice, if the slice has one.
///
/// # Errors
/// It did nothing.
pub(crate) fn proved(job: &Job, did: Option<NeighbourRound>) -> Result<(), Failure> {
    let Some(neighbour) = &job.key.load.neighbour else { return Ok(()) };
    match did {
        Some(did) if did.units > 0 => Ok(()),
        _ => Err(format!(
            "neighbour {neighbour}: it did nothing while the slice was timed; use longer slices (--slice), or a larger load"
        )
        .into()),
    }
}

/// In the lead: how far the neighbour comes in the timed segments. Nothing is read between their begin and their end.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    page: &'a Page,
    account: Account,
    is_program: bool,
    units: u64,
    cpu_ns: u64,
    began_ns: u64,
}

impl<'a> Progress<'a> {
    /// Of the neighbour of this slice, if it has one.
    pub(crate) fn of(job: &Job, page: &'a Page) -> Option<Self> {
        let (pid, neighbour) = job.neighbour.zip(job.key.load.neighbour.as_ref())?;
        Some(Self {
            page,
            account: Account::of(pid),
            is_program: matches!(neighbour.work, NeighbourWork::Exec(_)),
            units: 0,
            cpu_ns: 0,
            began_ns: 0,
        })
    }

    /// Before the gate: reading what it has consumed takes its time.
    pub(crate) fn open(&mut self) {
        self.cpu_ns = self.account.read().cpu_ns;
    }

    /// Behind the gate.
    pub(crate) fn begin(&mut self) {
        self.began_ns = monotonic_ns();
        self.units = self.page.neighbour_units();
    }

    /// After the last of the segments.
    pub(crate) fn close(&mut self) -> NeighbourRound {
        let units = self.page.neighbour_units().saturating_sub(self.units);
        let window_ns = monotonic_ns().saturating_sub(self.began_ns);
        let cpu_ns = self.account.read().cpu_ns.saturating_sub(self.cpu_ns);
        NeighbourRound { units: if self.is_program { cpu_ns } else { units }, cpu_ns, window_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ipcperf_core::{LoadKey, Placement};

    fn key(placement: Placement, cpus: &[usize], neighbour: &str) -> CellKey {
        let mut key = CellKey { placement, cpus: cpus.to_vec(), ..CellKey::default() };
        key.load.set(LoadKey::Neighbour, neighbour).expect("a neighbour");
        key
    }

    #[test]
    fn a_neighbour_is_where_it_was_asked_for_or_refused_with_a_way_out() {
        let refusal = |placement, cpus: &[usize], place: &str, allowed: &[usize]| {
            let key = key(placement, cpus, &format!("cpu:1@{place}"));
            objection(&key, allowed).map(|missing| missing.to_string()).unwrap_or_default()
        };
        for place in ["lead", "follow", "free"] {
            assert_eq!(refusal(Placement::SameLlc, &[0, 1], place, &[0, 1]), "", "{place}");
        }
        assert_eq!(refusal(Placement::SameLlc, &[0, 1], "other", &[0, 1, 5]), "");
        assert_eq!(refusal(Placement::SameCpu, &[1, 1], "other", &[0, 1]), "");
        let full = refusal(Placement::SameLlc, &[0, 1], "other", &[0, 1]);
        assert!(full.starts_with("no CPU is left for a neighbour @other"), "{full}");
        let unpinned = refusal(Placement::Free, &[], "lead", &[0, 1]);
        assert!(unpinned.contains("@lead needs sides that are pinned"), "{unpinned}");
        let alone = Placement::OneEnd { seat: Seat::Lead, cpu: 1 };
        assert_eq!(refusal(alone, &[], "lead", &[0, 1]), "");
        assert!(!refusal(alone, &[], "follow", &[0, 1]).is_empty());
        let free = "cpu:1@other".parse().expect("a neighbour");
        assert_eq!(cpus(&free, [Some(1), Some(2)], &[0, 1, 2, 3]), Some(vec![0, 3]));
    }

    #[test]
    fn only_a_neighbour_on_the_cpu_of_an_end_takes_patience() {
        let of =
            |place: &str| patience(&key(Placement::SameCpu, &[0, 0], &format!("cpu:1@{place}")));
        assert_eq!(["lead", "follow", "free", "other"].map(of), [PATIENCE, PATIENCE, PATIENCE, 1]);
        assert_eq!(patience(&CellKey::default()), 1);
    }

    #[test]
    fn a_slice_whose_neighbour_stood_still_proves_nothing() {
        let job = testing::job(key(Placement::SameCpu, &[0, 0], "timer:10/s"));
        let did = |units| Some(NeighbourRound { units, ..NeighbourRound::default() });
        assert!(proved(&job, did(1)).is_ok());
        for none in [did(0), None] {
            let told = proved(&job, none).expect_err("no proof").reason;
            assert!(told.contains("neighbour timer:10/s@free: it did nothing"), "{told}");
        }
        assert!(proved(&testing::job(CellKey::default()), None).is_ok());
    }

    #[test]
    fn the_lead_counts_what_was_done_between_begin_and_end() {
        let page = Page::create(0).expect("memory");
        let mut job = testing::job(key(Placement::SameCpu, &[0, 0], "cpu:1"));
        assert!(Progress::of(&job, &page).is_none());
        job.neighbour = Some(std::process::id());
        let mut progress = Progress::of(&job, &page).expect("it has one");
        page.add_neighbour_units(5);
        progress.open();
        page.add_neighbour_units(6);
        progress.begin();
        page.add_neighbour_units(7);
        assert_eq!(progress.close().units, 7);
    }
}
