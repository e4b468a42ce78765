//! From the runs of a pipeline to the result document.

use super::metric::{modal, over_rounds, spread};
use crate::keeper::Seen;
use crate::measured::{PipelineRun, Ran, RoundRun};
use ipcperf_core::map_of;
use ipcperf_core::result::{
    ByteProof, Counted, Metric, Pipeline, PipelineRound, ProgramResult, ProgramRound, ProofKind,
    Spread, Status,
};
use ipcperf_sys::trace;
use std::collections::{BTreeMap, BTreeSet};

/// Makes the document's part of one pipeline.
pub(crate) fn assemble(run: PipelineRun, is_precise: bool, interrupted: bool) -> Pipeline {
    let commands = run.plan.commands.clone();
    let (status, reason) = match (&run.ended, run.rounds.is_empty()) {
        (Some((status, reason)), _) => (*status, Some(reason.clone())),
        (None, true) if interrupted => {
            (Status::Skipped, Some("interrupted before its turn".into()))
        }
        (None, true) => (Status::Skipped, Some("the run ended before its turn".into())),
        (None, false) => (Status::Ok, None),
    };
    let rounds = run.rounds.iter().map(|round| of_round(round, &commands)).collect::<Vec<_>>();
    let proof = match rounds.iter().find(|round| round.proof.kind == ProofKind::None) {
        Some(round) => round.proof.clone(),
        None if rounds.is_empty() => {
            ByteProof { kind: ProofKind::None, reason: Some("it was not measured".into()) }
        }
        None => ByteProof { kind: ProofKind::Bytes, reason: None },
    };
    // No figure of a pipeline that failed once: its other rounds may have done something else.
    let measured: Vec<&Ran> = match status {
        Status::Ok => run.rounds.iter().map(|round| &round.ran).collect(),
        _ => Vec::new(),
    };
    let counted = measured.first().map(|ran| counted(ran));
    let times: Vec<f64> = measured.iter().map(|ran| ran.elapsed_ns as f64).collect();
    let (elapsed_ns, kept) = modal(&times, true);
    let kept: Vec<&Ran> = kept.iter().filter_map(|at| measured.get(*at).copied()).collect();
    let bytes = |ran: &Ran| bytes(ran, counted).map(|bytes| bytes as f64);
    let rate = |ran: &Ran| Some(bytes(ran)? / (ran.elapsed_ns.max(1) as f64 / 1e9));
    let calls = |at: usize| {
        let traced = run.calls.iter().filter_map(|round| round.get(at));
        calls(&traced.collect::<Vec<_>>())
    };
    let programs = commands.iter().enumerate();
    Pipeline {
        id: run.plan.id(),
        status,
        reason,
        counted,
        bytes: over(&kept, bytes),
        elapsed_ns,
        bytes_per_second: over(&kept, rate),
        cpu_ns: over(&kept, |ran| Some(ran.programs.iter().map(cpu_ns).sum())),
        split_is_approximate: !is_precise,
        programs: programs.map(|(at, command)| program(command, &kept, at, calls(at))).collect(),
        traced_rounds: run.calls.len() as u64,
        rounds,
        proof,
    }
}

/// Whichever is more: a sink like `wc -c` takes much and says little.
fn counted(ran: &Ran) -> Counted {
    match ran.taken_bytes() {
        Some(taken) if taken > ran.arrived_bytes => Counted::Taken,
        _ => Counted::Arrived,
    }
}

fn bytes(ran: &Ran, counted: Option<Counted>) -> Option<u64> {
    match counted? {
        Counted::Arrived => Some(ran.arrived_bytes),
        Counted::Taken => ran.taken_bytes(),
    }
}

fn over(kept: &[&Ran], value: impl Fn(&Ran) -> Option<f64>) -> Metric {
    over_rounds(&kept.iter().filter_map(|ran| value(ran)).collect::<Vec<_>>())
}

fn cpu_ns(seen: &Seen) -> f64 {
    (seen.ended.user_ns + seen.ended.system_ns) as f64
}

fn program(
    command: &str,
    kept: &[&Ran],
    at: usize,
    calls: BTreeMap<String, Spread>,
) -> ProgramResult {
    let over = |value: fn(&Seen) -> Option<f64>| over(kept, |ran| value(ran.programs.get(at)?));
    ProgramResult {
        command: command.to_owned(),
        cpu_ns: over(|seen| Some(cpu_ns(seen))),
        user_ns: over(|seen| Some(seen.ended.user_ns as f64)),
        system_ns: over(|seen| Some(seen.ended.system_ns as f64)),
        voluntary_switches: over(|seen| Some(seen.ended.voluntary_switches as f64)),
        involuntary_switches: over(|seen| Some(seen.ended.involuntary_switches as f64)),
        read_bytes: over(|seen| Some(seen.ended.moved?.read as f64)),
        written_bytes: over(|seen| Some(seen.written_bytes()? as f64)),
        calls,
    }
}

fn calls(traced: &[&BTreeMap<i64, u64>]) -> BTreeMap<String, Spread> {
    let numbers: BTreeSet<i64> = traced.iter().flat_map(|calls| calls.keys().copied()).collect();
    let of = |number: &i64| {
        let counts = traced.iter().map(|calls| calls.get(number).copied().unwrap_or(0) as f64);
        spread(&counts.collect::<Vec<f64>>(), 1.0)
    };
    map_of(numbers.iter().filter_map(|number| Some((trace::name(*number), of(number)?))))
}

fn of_round(run: &RoundRun, commands: &[String]) -> PipelineRound {
    let program = |seen: &Seen| ProgramRound {
        pid: seen.pid,
        user_ns: seen.ended.user_ns,
        system_ns: seen.ended.system_ns,
        voluntary_switches: seen.ended.voluntary_switches,
        involuntary_switches: seen.ended.involuntary_switches,
        read_bytes: seen.ended.moved.map(|moved| moved.read),
        written_bytes: seen.written_bytes(),
        unread_bytes: seen.unread_bytes,
    };
    PipelineRound {
        round: run.round,
        order: run.order,
        elapsed_ns: run.ran.elapsed_ns,
        arrived_bytes: run.ran.arrived_bytes,
        programs: run.ran.programs.iter().map(program).collect(),
        proof: run.ran.proof(commands),
    }
}
