//! `run --from`: the plan of a result, carried out again.

use crate::args::{GateArgs, OutputArgs};
use crate::error::Stop;
use crate::measure::Undertaking;
use crate::{job_file, loads, output, report, request};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Id};
use ipcperf_core::result::{Cell, CellKey};
use ipcperf_core::{Load, LoadKey, PayloadFile};
use ipcperf_engine::plan::{self, CellPlan, Host, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::Settings;
use std::path::Path;
use std::time::Duration;

/// The plan of this result: the same cells in the same order, rounds, times and seed.
///
/// # Errors
/// It is no result of a run of mechanisms, or this build or host plans other cells; or flags say otherwise.
pub(crate) fn plan(
    registry: &Registry,
    path: &Path,
    typed: &ArgMatches,
) -> Result<Undertaking, Stop> {
    let is_typed = |name: &str| typed.value_source(name) == Some(ValueSource::CommandLine);
    // What says how a result is shown is no part of its plan, and groups of flags have ids, too.
    let beside = GateArgs::augment_args(OutputArgs::augment_args(Command::new("beside")));
    let has = |command: &Command, id: &Id| command.get_arguments().any(|flag| flag.get_id() == id);
    let flags = job_file::command();
    let planned = typed.ids().filter(|id| has(&flags, id) && !has(&beside, id));
    let mut names = planned.map(Id::as_str).filter(|name| !["from", "dry_run"].contains(name));
    if let Some(name) = names.find(|name| is_typed(name)) {
        return Err(Stop::usage(format!(
            "--from repeats the plan of a result as it is; it leaves no room for '{}'",
            name.replace('_', "-")
        )));
    }
    let set = report::read_result(path)?;
    let shown = path.display();
    let refused = |why: String| Stop::usage(format!("'{shown}': {why}"));
    if let Some(pipeline) = set.pipelines.first() {
        let why = format!(
            "programs are not run again from a result; type them: --exec '{}'",
            pipeline.id
        );
        return Err(refused(why));
    }
    if set.cells.is_empty() {
        return Err(refused("it has no cells".into()));
    }
    let host = request::host()?;
    let cell = |cell: &Cell| {
        again(registry, &host, cell).map_err(|why| refused(format!("cell '{}': {why}", cell.id)))
    };
    let cells = set.cells.iter().map(cell).collect::<Result<Vec<_>, _>>()?;
    let as_planned = &set.invocation.plan;
    let time = |name: &str, ms: f64, least: Duration, most: Duration| {
        let text = format!("{}us", (ms * 1e3).round().clamp(0.0, 1e12));
        request::time(name, &text, least, most).map_err(|stop| refused(stop.to_string()))
    };
    let (ms, s) = (Duration::from_millis(1), Duration::from_secs(1));
    if !(1..=10_000).contains(&as_planned.rounds) {
        return Err(refused(format!("{} rounds are not between 1 and 10000", as_planned.rounds)));
    }
    let settings = Settings {
        rounds: as_planned.rounds,
        slice: time("slice", as_planned.slice_ms, ms, 600 * s)?,
        warmup: time("warm-up", as_planned.warmup_ms, ms, 60 * s)?,
        seed: set.invocation.seed,
        budget: None,
        time_calls: set.cells.iter().any(|cell| cell.calls.is_some()),
    };
    let mut known = ["survey", "choose", "explain"].into_iter();
    let command = known.find(|known| *known == as_planned.command).unwrap_or("run");
    Ok(Undertaking { command, cells, settings, requirements: as_planned.requirements.clone() })
}

/// The file that its messages were cut from, which has to have the same content.
fn payload(before: &PayloadFile) -> Result<PayloadFile, String> {
    let home = before.file.strip_prefix("~/").zip(output::home());
    let file = home.map_or_else(|| before.file.clone(), |(rest, home)| format!("{home}/{rest}"));
    loads::payload(&PayloadFile { file, ..before.clone() }).map_err(|stop| stop.to_string())
}

/// Refuses a size or a load that nobody could have typed: the file may be anybody's.
fn check(key: &CellKey) -> Result<(), Stop> {
    request::sizes(&key.size_bytes.to_string())?;
    let mut load = Load::default();
    for asked in LoadKey::ALL {
        if let Some(value) = key.load.value(*asked) {
            load.set(*asked, &value).map_err(|error| loads::refused(*asked, error))?;
        }
    }
    Ok(())
}

/// The cell as it is planned here.
fn again(registry: &Registry, host: &Host, cell: &Cell) -> Result<CellPlan, String> {
    let (key, told) = (&cell.key, |stop: Stop| stop.to_string());
    check(key).map_err(told)?;
    let mut load = key.load.clone();
    load.payload = load.payload.as_ref().map(payload).transpose()?;
    let mechanisms = request::mechanisms(registry, &key.mechanism).map_err(told)?;
    let request = Request {
        touch: key.touch,
        loads: vec![load],
        options: cell.requested(),
        ..request::usual(&mechanisms, key.pattern, &[key.size_bytes], key.placement, key.idle)
    };
    let mut cells = plan::cells(&request, host).map_err(|error| error.to_string())?;
    match (cells.pop(), cells.is_empty()) {
        (Some(one), true) if one.id == cell.id => Ok(one),
        (Some(other), _) => Err(format!("this build plans '{}' in its place", other.id)),
        (None, _) => Err("this build plans nothing in its place".into()),
    }
}
