//! What a run is asked to measure, and what a result says of it: `--if-done` compares the two.

use ipcperf_core::result::{Plan, Requirements, ResultSet};
use ipcperf_core::units::format_duration;
use ipcperf_kit::work::MeasuredWork;
use ipcperf_render::text::counted;
use ipcperf_stats::PRACTICAL_MARGIN;

/// The work of a plan with these cells or pipelines. Of stages the budget counts, because the rounds of each question follow
/// from it; what fits into it may differ from one run to the next.
pub(crate) fn work(
    plan: &Plan,
    subjects: impl IntoIterator<Item = String>,
    has_stages: bool,
) -> MeasuredWork {
    let amount = match has_stages {
        true => vec![format!("a budget of {} s", plan.expected_s)],
        false => amount(plan),
    };
    let margin = plan.margin.unwrap_or(PRACTICAL_MARGIN);
    let search = plan.crossover.as_ref().map_or_else(
        || "no search".to_owned(),
        |one| format!("a search over {} for {} and {}", one.over, one.a, one.b),
    );
    let requirements = plan.requirements.iter().flat_map(requirements);
    MeasuredWork {
        command: plan.command.clone(),
        subjects: subjects.into_iter().collect(),
        grows: plan.crossover.is_some(),
        terms: amount
            .into_iter()
            .chain([format!("a margin of {} %", margin * 100.0), search])
            .chain(requirements)
            .collect(),
    }
}

/// The work of a result.
pub(crate) fn of_result(set: &ResultSet) -> MeasuredWork {
    let cells = set.cells.iter().map(|cell| cell.id.clone());
    let pipelines = set.pipelines.iter().map(|one| one.id.clone());
    work(&set.invocation.plan, cells.chain(pipelines), !set.questions.is_empty())
}

/// How much of each cell or pipeline is measured.
fn amount(plan: &Plan) -> Vec<String> {
    vec![
        counted(plan.rounds, "round"),
        match plan.samples {
            Some(samples) => format!("slices of {}", counted(samples, "sample")),
            None => format!("slices of {} ms", plan.slice_ms),
        },
        match plan.warmup_operations {
            Some(operations) => format!("a warm-up of {}", counted(operations, "operation")),
            None => format!("a warm-up of {} ms", plan.warmup_ms),
        },
        match plan.batch {
            Some(batch) => format!("samples of {}", counted(batch, "operation")),
            None => "samples as long as the warm-up decides".to_owned(),
        },
    ]
}

/// What `choose` requires beyond what its cells say. What was left out for its facts follows from the machine.
fn requirements(asked: &Requirements) -> Vec<String> {
    let list = |names: Vec<String>| names.join(", ");
    let capabilities = list(asked.can.iter().map(ToString::to_string).collect());
    let limit = |(name, limit)| format!("a {name} of at most {}", format_duration(limit as u64));
    let limits: Vec<String> = asked.limits().map(limit).collect();
    let namespaces = list(asked.across.iter().map(ToString::to_string).collect());
    vec![
        format!("the goal {}", asked.by),
        match limits.is_empty() {
            true => "any tail".to_owned(),
            false => list(limits),
        },
        match asked.no_spin {
            true => "ends that never spin".to_owned(),
            false => "ends that may spin".to_owned(),
        },
        format!("the capabilities [{capabilities}]"),
        format!("ends in different namespaces [{namespaces}]"),
        format!("a choice among [{}]", list(asked.among.clone())),
    ]
}
