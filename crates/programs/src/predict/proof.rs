//! That A and B do the same work: one recorded run of each, and more where they differ.

use super::rounds::{self as predict, ClientWork, PredictSettings};
use super::work::{self, Traffic, Unrecorded, WorkDifference};
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
        // One that was cut off by the deadline is not known to end.
        settings.a_works = a.is_whole;
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
        let mut amount = work::amount(&a, None, &b);
        let (mut a, mut b) = (a, b);
        if matches!(amount, WorkDifference::Different(_) | WorkDifference::Other(_)) {
            let before = a.between.clone();
            let again = recorded(job_a, 0, words, Some(&before), settings, interrupts)?.ok();
            amount = match (again, amount) {
                // A busy machine can lose the begin or the end of one recording.
                (Some(again), _) if work::amount(&again, None, &b) == WorkDifference::Same => {
                    a = again;
                    WorkDifference::Same
                }
                (Some(again), WorkDifference::Other(what))
                    if work::amount(&a, None, &again) == WorkDifference::Same =>
                {
                    // The client counts its requests, so that those of B have to be as many.
                    let b_again =
                        recorded(job_b, 2, words_b, Some(&b.between), settings, interrupts)?;
                    match b_again.ok().filter(|b| work::amount(&a, None, b) == WorkDifference::Same)
                    {
                        Some(b_again) => {
                            b = b_again;
                            WorkDifference::Same
                        }
                        None => WorkDifference::Different(what),
                    }
                }
                (Some(again), WorkDifference::Different(_)) => work::amount(&a, Some(&again), &b),
                (_, amount) => amount,
            };
        }
        Ok(Self { a: Some(a), b: Some(b), amount: Some(amount), unseen: None })
    }

    /// Why the work of both cannot be called the same.
    pub(crate) fn objection(&self) -> Option<String> {
        if let Some(why) = &self.unseen {
            return Some(format!("whether A and B do the same work could not be seen ({why})"));
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

/// The words of both commands of a recorded run, and of one whose client waits first because it has failed before.
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
    let record = |is_second| {
        let words = words(is_second)?;
        Ok::<_, Stop>(work::traffic(words, settings.deadline, before, interrupts))
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
        Err(failure) => return Err(failure.of(arm, settings).into()),
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
    let own = own.map_err(|path| Stop::internal(format!("{} is no text", path.display())))?;
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
        || "the server bound no socket of the kind that is exchanged".to_owned(),
        Clone::clone,
    );
    format!("nothing was exchanged: {why}")
}
