//! That A and B do the same work: one recorded run of each, and more where they differ.

use super::names;
use super::rounds::{self as predict, ClientWork, PredictSettings};
use super::work::{self, ExpectedPrograms, Traffic, Unrecorded, WorkDifference};
use crate::server::joined;
use crate::swap::watch::Job;
use ipcperf_kit::error::Stop;
use ipcperf_sys::signals::Interrupts;

/// One recorded run of each arm.
pub(crate) struct Proof {
    pub(crate) a: Option<Traffic>,
    pub(crate) b: Option<Traffic>,
    pub(crate) amount: Option<WorkDifference>,
    /// Why one of them could not be recorded.
    unseen: Option<String>,
}

impl Proof {
    /// Records both, and A again where they differ.
    pub(crate) fn of(
        to: &str,
        jobs: &[Job; 2],
        settings: &mut PredictSettings,
        interrupts: &Interrupts,
    ) -> Result<Self, Stop> {
        let [job_a, job_b] = jobs;
        let as_it_is =
            |job: &Job, is_second: bool| Ok([job.program.clone(), when_ready(job, is_second)]);
        let words: Words<'_> = &|is_second| as_it_is(job_a, is_second);
        let mut found = Self { a: None, b: None, amount: None, unseen: None };
        let a = match recorded(job_a, 0, words, None, settings, interrupts)? {
            Ok(a) => a,
            Err(why) => {
                found.unseen = Some(format!("{}: {why}", settings.arms[0]));
                return Ok(found);
            }
        };
        // One that was cut off by the deadline is not known to end: it takes longer than one that is not recorded.
        settings.a_works = a.is_whole || predict::once(job_a, settings, interrupts).is_ok();
        let words_b: Words<'_> = &|is_second| match job_b.is_bare {
            true => as_it_is(job_b, is_second),
            false => Ok([exchanged(to, job_b, is_second)?, Vec::new()]),
        };
        let before = Some(&a.between).filter(|_| !job_b.is_bare);
        let b = recorded(job_b, 2, words_b, before, settings, interrupts)?;
        let b = match b {
            Ok(b) => b,
            Err(why) => {
                found.unseen = Some(format!("{}: {why}", settings.arms[2]));
                found.a = Some(a);
                return Ok(found);
            }
        };
        let (between_a, between_b) = (a.between.clone(), b.between.clone());
        let mut again_a =
            || Ok(recorded(job_a, 0, words, Some(&between_a), settings, interrupts)?.ok());
        let mut again_b =
            || Ok(recorded(job_b, 2, words_b, Some(&between_b), settings, interrupts)?.ok());
        let (a, b, amount) = decided(a, b, &mut again_a, &mut again_b)?;
        Ok(Self { a: Some(a), b: Some(b), amount: Some(amount), unseen: None })
    }

    /// Why the work of both cannot be called the same.
    pub(crate) fn objection(&self) -> Option<String> {
        if let Some(why) = &self.unseen {
            return Some(format!("ipcperf could not check that A and B do the same work ({why})"));
        }
        match &self.amount {
            Some(WorkDifference::Different(what)) => {
                Some(format!("A and B do not do the same work ({})", what.join("; ")))
            }
            _ => None,
        }
    }

    pub(crate) fn same_connections(&self) -> bool {
        matches!(
            self.amount,
            Some(WorkDifference::Same | WorkDifference::Other(_) | WorkDifference::Cut)
        )
    }
}

/// Another recorded run, if it can be had.
type Again<'a> = &'a mut dyn FnMut() -> Result<Option<Traffic>, Stop>;

/// A recorded run, or another one if this one lost events.
fn unlost(one: Traffic, again: Again<'_>) -> Result<Traffic, Stop> {
    let is_lossy = one.is_whole && one.lost > 0.0;
    let other = if is_lossy { again()? } else { None };
    Ok(other.unwrap_or(one))
}

/// How the work of A and of B compares, with the recorded runs that show it.
///
/// # Errors
/// Those of the recorded runs.
fn decided(
    a: Traffic,
    b: Traffic,
    again_a: Again<'_>,
    again_b: Again<'_>,
) -> Result<(Traffic, Traffic, WorkDifference), Stop> {
    let is_same =
        |one: &Traffic, other: &Traffic| work::amount(one, None, other) == WorkDifference::Same;
    let (mut a, mut b) = (a, b);
    if work::amount(&a, None, &b) == WorkDifference::Cut {
        a = unlost(a, again_a)?;
        b = unlost(b, again_b)?;
    }
    let amount = work::amount(&a, None, &b);
    let is_certain = match &amount {
        WorkDifference::Same => !work::are_as_long(&a, &b),
        WorkDifference::Cut => true,
        WorkDifference::Different(_) | WorkDifference::Other(_) => false,
    };
    if is_certain {
        return Ok((a, b, amount));
    }
    // Two runs of a client that works for a fixed time may agree by chance, and a busy machine can lose the begin or the end of a
    // recording, so that two runs of A out of three decide.
    let mut all = vec![a];
    all.extend(again_a()?);
    if all.iter().filter(|one| is_same(one, &b)).count() == 1 && all.len() == 2 {
        all.extend(again_a()?);
    }
    let count = all.len();
    let (mut same, other): (Vec<Traffic>, Vec<Traffic>) =
        all.into_iter().partition(|one| is_same(one, &b));
    let mut other = other.into_iter();
    if same.len() >= count.min(2)
        && let Some(a) = same.pop()
    {
        return Ok((a, b, WorkDifference::Same));
    }
    let Some(a) = other.next().or_else(|| same.pop()) else {
        return Err(Stop::internal("no run of A was recorded"));
    };
    Ok(match (other.next(), work::amount(&a, None, &b)) {
        (Some(again), WorkDifference::Other(what)) if is_same(&a, &again) => {
            // The client counts its requests, so that those of B have to be as many.
            match again_b()?.filter(|b| is_same(&a, b)) {
                Some(b) => (a, b, WorkDifference::Same),
                None => (a, b, WorkDifference::Different(what)),
            }
        }
        (Some(again), WorkDifference::Different(_)) => {
            let amount = work::amount(&a, Some(&again), &b);
            (a, b, amount)
        }
        (_, amount) => (a, b, amount),
    })
}

/// The commands of the server and the client of a recorded run. With `true` the client first waits a second, because it failed
/// before.
type Words<'a> = &'a dyn Fn(bool) -> Result<[Vec<String>; 2], Stop>;

/// A recorded run of an arm. Programs that fail are run again without being recorded, which shows whether that is the reason.
fn recorded(
    job: &Job,
    arm: usize,
    words: Words<'_>,
    before: Option<&work::Between>,
    settings: &PredictSettings,
    interrupts: &Interrupts,
) -> Result<Result<Traffic, String>, Stop> {
    let client = names::program(&job.client);
    let expected = ExpectedPrograms { client: &client, before };
    let record = |is_second| {
        let words = words(is_second)?;
        Ok::<_, Stop>(work::traffic(words, settings.deadline, expected, interrupts))
    };
    let interrupted = || Stop::interrupted("interrupted before the first round was complete");
    let why = match record(false)? {
        Ok(traffic) => return Ok(Ok(traffic)),
        Err(Unrecorded::Interrupted) => return Err(interrupted()),
        Err(Unrecorded::Failed(why)) => format!("the recorded client failed {why}"),
        Err(Unrecorded::Unseen(why)) => why,
    };
    match predict::once(job, settings, interrupts) {
        Ok(work) if arm == 2 && !job.is_bare && work.exchanged.bound.is_empty() => {
            return Err(Stop::nothing_ran(nothing(&work)));
        }
        Ok(_) => {}
        Err(failure) => return Err(failure.of(arm, settings.a_works, settings).into()),
    }
    // A server may refuse work for a moment after it listens.
    match record(true)? {
        Ok(traffic) => Ok(Ok(traffic)),
        Err(Unrecorded::Interrupted) => Err(interrupted()),
        Err(_) => Ok(Err(why)),
    }
}

/// The client of a recorded run, behind what waits until its server is ready.
fn when_ready(job: &Job, is_second: bool) -> Vec<String> {
    let wait = match (job.ready.is_empty(), is_second) {
        (true, false) => return job.client.clone(),
        (true, true) => "sleep 1".to_owned(),
        (false, _) => {
            let ready = joined(&job.ready);
            format!("until {ready} > /dev/null 2>&1; do sleep 0.05; done")
        }
    };
    let script = format!("{wait}; exec \"$@\"");
    let shell = ["sh", "-c", &script, "sh"].map(str::to_owned);
    shell.into_iter().chain(job.client.iter().cloned()).collect()
}

/// The command that runs both programs with exchanged sockets.
fn exchanged(to: &str, job: &Job, is_second: bool) -> Result<Vec<String>, Stop> {
    let own = std::env::current_exe().map_err(Stop::internal)?;
    let own = own.into_os_string().into_string();
    let own =
        own.map_err(|path| Stop::internal(format!("the path {} is not UTF-8", path.display())))?;
    let mut words = vec![own, "swap".to_owned(), "--to".to_owned(), to.to_owned()];
    words.extend(job.port.into_iter().flat_map(|port| ["--port".to_owned(), port.to_string()]));
    words.extend(["--client".to_owned(), joined(&when_ready(job, is_second)), "--".to_owned()]);
    words.extend(job.program.iter().cloned());
    Ok(words)
}

/// Why nothing was exchanged.
pub(crate) fn nothing(work: &ClientWork) -> String {
    let left = work.exchanged.left.keys().next();
    let why = left.map_or_else(
        || "the server bound no socket of the kind that --to exchanges".to_owned(),
        Clone::clone,
    );
    format!("nothing was exchanged: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of a second in which each request has a question and an answer of 36 bytes.
    fn run(requests: u64) -> Traffic {
        Traffic {
            connections: 1,
            requests: Some(requests),
            asked: 36 * requests,
            answered: 36 * requests,
            is_whole: true,
            span_ns: 1_000_000_000,
            ..Traffic::default()
        }
    }

    /// What is decided of A and B if further runs make so many requests.
    fn decision(a: u64, b: u64, more_a: &[u64], more_b: &[u64]) -> WorkDifference {
        let mut more = [more_a, more_b].map(|more| more.iter().map(|one| run(*one)));
        let [again_a, again_b] = &mut more;
        let found = decided(run(a), run(b), &mut || Ok(again_a.next()), &mut || Ok(again_b.next()));
        let (_, _, amount) = found.expect("runs that end well");
        assert!(more.iter().all(|more| more.len() == 0), "no run is made that decides nothing");
        amount
    }

    #[test]
    fn a_client_of_a_fixed_time_is_one_even_if_two_runs_agree_by_chance() {
        let is_timed = |amount| matches!(amount, WorkDifference::Other(_));
        assert!(is_timed(decision(10_000, 11_000, &[10_700], &[])));
        assert!(is_timed(decision(10_000, 10_000, &[10_700, 9_100], &[])));
        assert!(is_timed(decision(10_700, 10_000, &[10_000, 9_100], &[])));
    }

    #[test]
    fn a_recording_that_lost_its_begin_does_not_decide() {
        assert_eq!(decision(10_000, 10_000, &[10_000], &[]), WorkDifference::Same);
        assert_eq!(decision(9_800, 10_000, &[10_000, 10_000], &[]), WorkDifference::Same);
        assert_eq!(decision(10_000, 10_000, &[9_800, 10_000], &[]), WorkDifference::Same);
        assert_eq!(decision(10_000, 9_800, &[10_000], &[10_000]), WorkDifference::Same);
        // Twice as many.
        let found = decision(10_000, 9_800, &[10_000], &[9_800]);
        assert!(matches!(found, WorkDifference::Different(_)), "{found:?}");
    }

    #[test]
    fn recordings_that_lost_events_are_made_again() {
        let lossy = |requests| Traffic { lost: 0.02, ..run(requests) };
        let mut more = [run(10_000), run(10_000)].into_iter();
        let found = decided(lossy(9_900), run(10_000), &mut || Ok(more.next()), &mut || Ok(None));
        assert_eq!(found.expect("runs that end well").2, WorkDifference::Same);
        let mut more = [run(10_000)].into_iter();
        let found = decided(run(10_000), lossy(9_900), &mut || Ok(None), &mut || Ok(more.next()));
        assert_eq!(found.expect("runs that end well").2, WorkDifference::Same);
        assert_eq!(more.len(), 0);
        let found = decided(lossy(9_900), run(10_000), &mut || Ok(None), &mut || Ok(None));
        assert_eq!(found.expect("runs that end well").2, WorkDifference::Cut);
    }

    #[test]
    fn where_no_further_run_can_be_recorded_the_first_decides() {
        assert_eq!(decision(10_000, 10_000, &[], &[]), WorkDifference::Same);
        assert!(matches!(decision(10_000, 9_800, &[], &[]), WorkDifference::Other(_)));
    }
}
