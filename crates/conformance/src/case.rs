//! The cases, when each applies, and the process that conducts one.

use crate::cases::{
    self, boundaries, calls, data, death, ending, facts, faults, hygiene, leaks, limits, links,
    names, namespaces, pressure, refusal, smoke, stops,
};
use crate::entry::Entry;
use crate::scene::{Scene, Trouble};
use crate::script::{Script, Step};
use crate::task::Task;
use ipcperf_core::{
    BackPressure, Family, Lends, Memory, OnClose, OptionSet, Payload, Syscalls, Transfers,
};
use ipcperf_engine::job::Failure;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::WorkerContext;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;

/// One thing that must hold for every mechanism whose facts say so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Column of the matrix; several cases may share one.
    pub(crate) id: &'static str,
    /// What it is about, as it stands in the name of a trial.
    pub(crate) title: &'static str,
    /// What may run beside it.
    pub(crate) beside: Concurrency,
    /// The reason why it does not apply, naming the fact that says so.
    objection: fn(&Entry) -> Option<String>,
    /// Of other mechanisms it is seen in their code.
    pub(crate) is_of_plugins: bool,
    run: fn(&Scene<'_>) -> Result<(), Trouble>,
}

/// What may run beside a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// Anything: ends that spin hardly wait for each other in it, and it takes less than twice as long beside three others.
    Any,
    /// Anything, unless its own ends spin: they take the CPUs from all others, and it would take up to 24 times as long.
    UnlessItSpins,
    /// Nothing: it looks at the whole host, or takes much of it.
    None,
}

/// All cases, by number.
pub(crate) const CASES: &[Case] = &[
    case("C01", "open_attach_exchange_finish", |_| None, smoke::open_attach_exchange_finish),
    case("C02", "sizes", payload, data::sizes),
    case("C03", "ordering", floor, data::ordering),
    case("C04", "no_loss_no_duplicate_no_invention", floor, data::no_loss),
    case("C05", "boundaries", unasked_payload, boundaries::boundaries),
    case("C06", "smallest_buffers", knobs, data::smallest_buffers),
    case("C06", "short_transfers", short, calls::short_transfers),
    case("C07", "back_pressure", back_pressure, pressure::back_pressure),
    case("C08", "end_of_stream", on_close, ending::end_of_stream),
    case("C09", "peer_death_while_receiving", floor, death::while_receiving),
    case("C09", "peer_death_while_sending", floor, death::while_sending),
    case("C10", "oversized", limit, limits::oversized),
    case("C11", "interrupted_calls", floor, stops::interrupted_calls),
    case("C12", "stopped_peer", floor, stops::stopped_peer),
    case("C12", "no_death_by_a_dead_peer", floor, stops::no_death_by_a_dead_peer)
        .beside(Concurrency::Any),
    case("C13", "descriptor_and_mapping_leaks", |_| None, leaks::descriptors_and_mappings),
    case("C14", "name_leaks", |_| None, names::name_leaks).beside(Concurrency::None),
    case("C15", "hygiene", floor, hygiene::hygiene),
    case("C16", "isolation", floor, links::isolation).beside(Concurrency::Any),
    case("C17", "reuse", floor, links::reuse),
    case("C18", "no_allocation", reused, calls::no_allocation),
    case("C19", "no_panic_on_errors", own_calls, faults::no_panic_on_errors),
    case("C20", "declared_copies", payload, facts::declared_copies),
    case("C20", "declared_memory", payload, facts::declared_memory),
    case("C20", "declared_descriptors", descriptors, facts::declared_descriptors),
    case("C20", "declared_silence", silence, facts::declared_silence).beside(Concurrency::Any),
    case("C21", "declared_system_calls", counted, calls::declared_system_calls)
        .beside(Concurrency::Any),
    case("C22", "unavailable_is_polite", own_calls, refusal::unavailable_is_polite),
    // Largest values take much memory at once.
    case("C23", "options", any_knob, cases::knobs::options).beside(Concurrency::None),
    case("C24", "declared_namespaces", own_namespaces, namespaces::declared_namespaces),
    case("C25", "returned_memory", lent, data::returned_memory).of_plugins(),
];

const fn case(
    id: &'static str,
    title: &'static str,
    objection: fn(&Entry) -> Option<String>,
    run: fn(&Scene<'_>) -> Result<(), Trouble>,
) -> Case {
    let beside = Concurrency::UnlessItSpins;
    Case { id, title, beside, objection, is_of_plugins: false, run }
}

impl Case {
    /// The same with something else beside it.
    const fn beside(self, beside: Concurrency) -> Self {
        Self { beside, ..self }
    }

    /// The same for plug-ins alone.
    const fn of_plugins(self) -> Self {
        Self { is_of_plugins: true, ..self }
    }

    /// Its name in a trial: `C08_end_of_stream`.
    pub(crate) fn name(&self) -> String {
        format!("{}_{}", self.id, self.title)
    }

    /// Why it does not apply; `None` if it does.
    pub(crate) fn objection(&self, entry: &Entry) -> Option<String> {
        (self.objection)(entry)
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name() == name)
    }
}

fn floor(entry: &Entry) -> Option<String> {
    entry.spec().is_floor().then(|| "family: floor, moves nothing".into())
}

fn own_namespaces(entry: &Entry) -> Option<String> {
    let text = "plug-in: it is measured where both ends share all namespaces";
    floor(entry).or_else(|| entry.base.is_plugin.then(|| text.into()))
}

fn lent(entry: &Entry) -> Option<String> {
    let is_lent =
        matches!(entry.base.lends(&OptionSet::default()), Ok([Lends::Shared | Lends::Place, _]));
    is_lent.then(|| "reserve: it writes no buffer of the caller's".into())
}

fn own_calls(entry: &Entry) -> Option<String> {
    let is_library = entry.spec().family == Family::Library;
    let text = "family: library, what it makes of a call that is meddled with is its own affair";
    floor(entry).or_else(|| is_library.then(|| text.into()))
}

fn counted(entry: &Entry) -> Option<String> {
    let spec = entry.spec();
    let is_open =
        spec.family == Family::Library && spec.syscalls == Syscalls { send: None, recv: None };
    is_open.then(|| "family: library, no number of calls is declared".into())
}

fn payload(entry: &Entry) -> Option<String> {
    let is_wake = matches!(entry.spec().payload, Payload::Wake { .. });
    floor(entry).or_else(|| is_wake.then(|| "payload: wake, one size only".into()))
}

/// Cases in which one end sends, and the other merely receives.
fn unasked(entry: &Entry) -> Option<String> {
    let is_call = entry.spec().exchange == Transfers::Calls;
    is_call.then(|| "exchange: calls, nothing goes without an answer".into())
}

fn unasked_payload(entry: &Entry) -> Option<String> {
    payload(entry).or_else(|| unasked(entry))
}

fn knobs(entry: &Entry) -> Option<String> {
    floor(entry).or_else(|| entry.smallest().is_none().then(|| "knobs: none is a number".into()))
}

fn reused(entry: &Entry) -> Option<String> {
    (entry.spec().memory == Memory::Fresh).then(|| "memory: fresh, made for each message".into())
}

fn descriptors(entry: &Entry) -> Option<String> {
    let spec = entry.spec();
    match (spec.descriptors, spec.family) {
        (false, _) => Some("descriptors: false".into()),
        (true, Family::Bus) => {
            Some("family: bus, descriptors travel inside its own protocol".into())
        }
        (true, _) => None,
    }
}

fn silence(entry: &Entry) -> Option<String> {
    let spec = entry.spec();
    let is_silent = [spec.on_close, spec.on_death].contains(&OnClose::Undetected);
    floor(entry).or_else(|| (!is_silent).then(|| "on_close, on_death: told".into()))
}

fn short(entry: &Entry) -> Option<String> {
    let is_stream = entry.spec().payload == Payload::Stream;
    own_calls(entry).or_else(|| (!is_stream).then(|| "payload: not a stream".into()))
}

fn any_knob(entry: &Entry) -> Option<String> {
    entry.base.knobs.is_empty().then(|| "knobs: none".into())
}

fn back_pressure(entry: &Entry) -> Option<String> {
    let none = entry.spec().back_pressure == BackPressure::None;
    floor(entry).or_else(|| none.then(|| "back_pressure: none".into())).or_else(|| unasked(entry))
}

fn on_close(entry: &Entry) -> Option<String> {
    let undetected = entry.spec().on_close == OnClose::Undetected;
    floor(entry)
        .or_else(|| undetected.then(|| "on_close: undetected".into()))
        .or_else(|| unasked(entry))
}

fn limit(entry: &Entry) -> Option<String> {
    let is_message = matches!(entry.spec().payload, Payload::Message { .. });
    let unlimited = entry.limit(&OptionSet::default()).is_none();
    payload(entry)
        .or_else(|| (!is_message).then(|| "payload: stream, messages have no limit".into()))
        .or_else(|| unlimited.then(|| "limit: none".into()))
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not hold: how that showed.
    Failed(String),
    /// It could not be tried on this host: what is missing.
    Unavailable(String),
    /// The mechanism does not claim it: the fact that says so.
    NotApplicable(String),
}

/// Conducts one case.
pub(crate) fn serve(list: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    Ok(serde_json::to_value(conduct(list, &context.params()?))?)
}

fn conduct(list: &Registry, task: &Task) -> Outcome {
    let entry = Entry::find(list, &task.mechanism);
    let (Some(entry), Some(case)) = (entry, Case::find(&task.case)) else {
        return Outcome::Failed("the suite itself: no such mechanism or case".into());
    };
    let deadline = Instant::now() + task.deadline;
    let played = Scene::new(&entry, &task.base, task.seed, deadline, task.is_long)
        .and_then(|scene| (case.run)(&scene));
    match played {
        Ok(()) => Outcome::Passed,
        Err(Trouble::Failed(text)) => Outcome::Failed(text),
        Err(Trouble::Unavailable(text)) => Outcome::Unavailable(text),
        Err(Trouble::NotApplicable(text)) => Outcome::NotApplicable(text),
    }
}

/// Opens a channel, lets both workers attach, says so, and waits to be killed.
pub(crate) fn victim(list: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let task: Task = context.params()?;
    let mut held = || -> Result<Value, Trouble> {
        let entry = Entry::find(list, &task.mechanism);
        let entry = entry.ok_or_else(|| Trouble::failed("unknown"))?;
        let deadline = Instant::now() + task.deadline;
        let scene = Scene::new(&entry, &task.base, task.seed, deadline, task.is_long)?;
        let mut pair = scene.pair(&task.options)?;
        pair.open(scene.size(64, &task.options), Script::default().both(Step::Hold))?;
        pair.attached()?;
        context.ready(&pair.pids()).map_err(Trouble::Failed)
    };
    Ok(held().map_err(|trouble| trouble.to_string())?)
}
