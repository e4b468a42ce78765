//! Is this machine fit for measuring? Reads settings and measures for about two seconds; changes nothing.

mod moving;
mod standing;

use crate::noise::{BUSY, STEAL};
use crate::{host, needs, task};
use ipcperf_core::Missing;
use ipcperf_core::findings::{self, Row};
use ipcperf_core::result::{
    Check, DOCTOR_SCHEMA, Examination, Finding, Fitness, Host, Kernel, Origin, Tool,
};
use ipcperf_core::units::percent;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::Interrupts;
use moving::{INTERRUPTED, Moving};
use std::io;

/// Looks at this machine; `None` if the user interrupted.
///
/// # Errors
/// No worker can be had.
pub fn examine(
    origin: Origin,
    tool: Tool,
    interrupts: Option<&Interrupts>,
) -> io::Result<Option<Examination>> {
    let (host, kernel) = (host::host(), host::kernel());
    let (mut checks, moving) = match needs::probe() {
        Ok(()) => {
            let Some(moving) = moving::measure(&host, interrupts)? else { return Ok(None) };
            (moving.checks(&host), moving)
        }
        Err(missing) => {
            (vec![lacking(&findings::NEEDS, "impossible", &missing)], Moving::default())
        }
    };
    let pinning = task::pinning_objection();
    checks.extend(pinning.map(|missing| lacking(&findings::PINNING, "refused", &missing)));
    let directory = RunDirectory::create().err();
    checks.extend(directory.map(|missing| lacking(&findings::DIRECTORY, "none", &missing)));
    checks.extend(standing::checks(&standing::Files::here(), &host, &kernel));
    let (centre, tail) = fitness(&moving, &host);
    Ok(Some(Examination {
        schema: DOCTOR_SCHEMA,
        origin,
        tool,
        host,
        kernel,
        checks,
        centre,
        tail,
    }))
}

/// A check of something that every measurement needs and this machine lacks.
fn lacking(row: &Row, found: &str, missing: &Missing) -> Check {
    row.noted(found, &[&format!(": {}", missing.what), &missing.how])
}

/// What disturbs measurements on this machine, for the document of a run.
pub(crate) fn findings(host: &Host, kernel: &Kernel) -> Vec<Finding> {
    let checks = standing::checks(&standing::Files::here(), host, kernel);
    checks.iter().filter_map(Check::finding).collect()
}

/// What may be claimed about centres and tails: each by the worst of its measures.
fn fitness(moving: &moving::Moving, host: &Host) -> (Fitness, Fitness) {
    let cpus = host.cpus_online.len().max(1) as f64;
    let stolen = moving.stolen.map(|share| (STEAL.grade(share), (STEAL.words)(share)));
    let busy = moving.busy_cpus.map(|busy| {
        let share = busy / cpus;
        (BUSY.grade(share), format!("other programs used {} of all CPUs", percent(share)))
    });
    let limited = host.cpu_limit.as_ref().map(|_| ('D', "a CPU limit".to_owned()));
    let worst = moving.gaps.iter().map(|gap| gap.share).reduce(f64::max);
    let interrupted = worst.map(|share| (INTERRUPTED.grade(share), (INTERRUPTED.words)(share)));
    let centre: Vec<_> = [stolen, busy, limited].into_iter().flatten().collect();
    let tail: Vec<_> = centre.iter().cloned().chain(interrupted).collect();
    let worst = |rows: Vec<(char, String)>, allows: fn(char) -> &'static str| {
        let because = |(grade, why): &(char, String)| Fitness {
            grade: grade.to_string(),
            because: why.clone(),
            allows: allows(*grade).to_owned(),
        };
        rows.iter().max_by_key(|(grade, _)| *grade).map_or_else(
            || Fitness {
                grade: "unknown".to_owned(),
                because: "neither /proc/stat nor a CPU to itself is available".to_owned(),
                allows: "unknown: look at the spread of the rounds".to_owned(),
            },
            because,
        )
    };
    (worst(centre, of_centres), worst(tail, of_tails))
}

fn of_centres(grade: char) -> &'static str {
    match grade {
        'A' | 'B' => "all claims on medians and rates",
        'C' => "claims on medians and rates; small differences need more rounds",
        'D' => "only differences of 10 % and more",
        _ => "figures only: no ranking, no advice",
    }
}

fn of_tails(grade: char) -> &'static str {
    match grade {
        'A' | 'B' => "all quantiles with enough samples",
        'C' => "quantiles up to p99",
        'D' => "no tails: p99 and above measure the machine",
        _ => "no tails: they measure the machine",
    }
}

#[cfg(test)]
mod tests;
