//! A slice of the pattern whose clients stay connected: server and clients in the place of two ends and a channel.

use super::super::connect::has_path;
use super::super::slice::{around, raw};
use super::{ServePlan, Way};
use crate::registry::Entry;
use crate::slice::{Compact, CrowdSlice, Paced, RawSlice, Surroundings, Terms};
use crate::supervisor::Stop;
use ipcperf_core::{KnobValue, ListenerKind, Missing, Offered, OptionSet, Placement, SetupError};
use ipcperf_stats::Histogram;
use ipcperf_sys::affinity;
use std::time::Duration;

/// How much longer a slice may take for each process or thread that it may have.
const EACH: Duration = Duration::from_millis(200);

/// Requests that may be due in one slice: a client remembers each.
const MOST_DUE: f64 = 10e6;

/// Client processes unless asked otherwise: one, where a placement names its CPU, else one for each CPU but the server's.
fn usual_clients(placement: Placement) -> u64 {
    match placement {
        Placement::Free => {
            let cpus = affinity::allowed_cpus().map_or(1, |cpus| cpus.len() as u64);
            cpus.saturating_sub(1).max(1)
        }
        _ => 1,
    }
}

/// Runs one in fresh processes.
pub(crate) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    given: Surroundings<'_>,
) -> Result<RawSlice, Stop> {
    let Terms { job, deadline, .. } = terms;
    let way = super::way(entry, &job.key, options).map_err(|error| error.to_string())?;
    let clients = usual_clients(job.key.placement);
    let plan = ServePlan::of(job, clients, entry, way);
    // So many processes and threads take a while to come and to go.
    let mut patience =
        *deadline + EACH * u32::try_from(plan.conns() + plan.clients).unwrap_or(u32::MAX);
    if let Some(Offered::PerSecond(rate)) = job.key.load.rate {
        let seconds = (job.warmup + job.slice) as f64 * job.ns_per_tick / 1e9;
        if rate * seconds > MOST_DUE {
            let what = format!("{:.0} requests would be due in one slice", rate * seconds);
            let missing = Missing::new(what, "a lower --rate, or shorter slices (--slice)");
            return Err(SetupError::from(missing).into());
        }
        // A client may have one request in so long.
        patience += Duration::from_secs_f64(3.0 * plan.clients as f64 / rate);
    }
    let listener = match way {
        Way::Listener(listener) => Some(listener),
        Way::Lines | Way::Threads => None,
    };
    let needs_directory = listener.is_some_and(has_path);
    let around = around(terms, needs_directory, patience, given)?;
    let (mut after, times) = super::run(&plan, entry, way, &around)?;
    let mut effective = std::mem::take(&mut after.effective);
    if listener.is_some() && entry.knobs.iter().any(|knob| knob.name == "bind") {
        let is_abstract = listener == Some(ListenerKind::UnixAbstract);
        let bind = if is_abstract { "abstract" } else { "path" };
        effective.push(("bind".to_owned(), KnobValue::Word(bind.to_owned())));
    }
    let joint = |at: usize| {
        let mut all = Histogram::new();
        times.iter().for_each(|one| all.merge(&one[at]));
        all
    };
    let [responses, services, lateness] = [0, 1, 2].map(joint);
    let load = &job.key.load;
    let crowd = CrowdSlice {
        times: vec![Compact::from(&responses)],
        by_client: times.iter().map(|one| Compact::from(&one[0])).collect(),
        paced: load.rate.is_some().then(|| Paced {
            service: Compact::from(&services),
            lateness: Compact::from(&lateness),
            due: after.due[1],
            messages: after.due[0],
            saturated: after.saturated,
        }),
        backlog: 0,
        after,
    };
    // Nothing is under way for a while where requests are due at times of their own.
    let shows_gaps = load.rate.is_none() && load.think_ns == 0;
    Ok(RawSlice { effective, ..raw(crowd, &responses, shows_gaps) })
}
