//! What a survey or a choice asks: which cells are compared with each other, and how they are measured in stages.

use ipcperf_core::result::{CellKey, ResultSet, Status};
use ipcperf_core::{Ends, Load, OptionSet, PatternKind, Wait};
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{
    FOCUSED, MOST_CONFIRMED, QuestionPlan, SCREENED, Staging, Tail, conditions,
};
use ipcperf_kit::request;
use ipcperf_render::text::counted;
use ipcperf_stats::{FEWEST_CONFIRMED, FIRST_CONFIRMED, PRACTICAL_MARGIN};
use std::time::Duration;

/// What a slice costs in addition to warm-up and timed region: two processes, verification, counters. Measured: 3 to 12 ms.
pub(crate) const SLICE_OVERHEAD: Duration = Duration::from_millis(8);

/// The timed region of round trips that follow each other: enough for a median, and more slices say more than longer ones
/// (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013: with 5 ms for what is not timed, a spread of 16 %
/// between processes and 30 % within one, 2 to 3 ms).
pub(crate) const SHORT: Duration = Duration::from_millis(3);

/// Of streams, which need several large messages, and of round trips with pauses.
const LONG: Duration = Duration::from_millis(10);

/// Of what has more than two ends.
const OF_MANY: Duration = Duration::from_millis(50);

/// Cells of a question that are named because people choose between them.
const USUAL: usize = 7;

/// How many questions a first screen shows.
pub(crate) const SHOWN: usize = 8;

/// With so many cells in each question all are confirmed, and nothing has to be selected.
const FEW: usize = 12;

/// The cells of a plan by what they have in common. The question of the first cell is the most important and comes
/// first. `is_named` says which cells are confirmed whatever their figures are; without one of them the usual mechanisms are.
pub(crate) fn of(
    registry: &Registry,
    cells: &[CellPlan],
    is_named: impl Fn(&CellPlan) -> bool,
) -> Vec<QuestionPlan> {
    let mut questions: Vec<((CellKey, bool), Vec<usize>)> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if cell.objection.is_some() || cell.entry.spec.is_floor() {
            continue;
        }
        // Mechanisms that busy-wait are never compared with mechanisms that sleep.
        let key = (conditions(&cell.key), cell.key.wait.burns_cpu());
        match questions.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cells)) => cells.push(at),
            None => questions.push((key, vec![at])),
        }
    }
    let specs = request::specs(registry);
    let question = |((key, burns), of): ((CellKey, bool), Vec<usize>)| {
        let names: Vec<String> = of.iter().map(|at| cells[*at].entry.spec.full_name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut named: Vec<usize> =
            of.iter().copied().filter(|at| is_named(&cells[*at])).take(MOST_CONFIRMED).collect();
        if named.is_empty() {
            let is_plain = |at: &usize| cells[of[*at]].options.0.is_empty();
            let usual = crate::results::fittest::by_custom(&names, &specs);
            named = usual.into_iter().filter(is_plain).take(USUAL).map(|at| of[at]).collect();
        }
        // It is as fast as what only spins while the peer answers at once; in a stream that is always so.
        let may_be_reference = |at: &usize| {
            key.pattern == PatternKind::Stream || cells[*at].key.wait != Wait::SpinThenBlock
        };
        let by_fitness = crate::results::fittest::by_fitness(&names, &specs);
        let words = key.words(&OptionSet::default());
        QuestionPlan {
            name: format!("{}{}", words.trim(), if burns { " busy-waiting" } else { "" }),
            named,
            by_fitness: by_fitness.into_iter().map(|at| of[at]).filter(may_be_reference).collect(),
            cells: of,
            tail: Tail::None,
            decides: Tail::None,
        }
    };
    questions.into_iter().map(question).collect()
}

/// How these questions are measured: with a screen and a focus unless each has few cells.
pub(crate) fn staging(
    questions: Vec<QuestionPlan>,
    cells: &[CellPlan],
    focused: usize,
    margin: f64,
) -> Staging {
    Staging {
        is_screened: questions.iter().any(|question| question.cells.len() > FEW),
        focused,
        is_united: false,
        margin,
        slices: cells.iter().map(|cell| length(&cell.key)).collect(),
        overhead: SLICE_OVERHEAD,
        questions,
    }
}

/// The timed region of a slice.
fn length(key: &CellKey) -> Duration {
    match key.pattern {
        PatternKind::PingPong if key.load == Load::default() => SHORT,
        pattern if pattern.facts().ends == Ends::Pair => LONG,
        _ => OF_MANY,
    }
}

/// The plan in words, one line for each stage.
pub(crate) fn plan_words(staging: &Staging, cells: u64) -> Vec<String> {
    let Staging { questions, is_screened, focused, .. } = staging;
    let cells = counted(cells, "cell");
    let first = FIRST_CONFIRMED;
    let mut lines = Vec::new();
    if *is_screened {
        let focused = counted((*focused).min(questions.len()) as u64, "question");
        lines.push(format!("  screen: {cells} x {SCREENED} rounds, a first value of each"));
        lines.push(format!(
            "  focus: {FOCUSED} more rounds of the cells that may be best or are named, in {focused}"
        ));
        lines.push(format!(
            "  confirm: fresh rounds of at most {MOST_CONFIRMED} cells of a question: {first} or more of the first, \
             {FEWEST_CONFIRMED} or more of each other while the budget lasts"
        ));
    } else {
        lines.push(format!(
            "  confirm: {cells}, as many rounds as the budget has room for, {first} of the first question before others"
        ));
    }
    lines
}

/// Marks the reference of each question of a run: the fittest of its cells, whatever their figures are.
pub(crate) fn mark_references(registry: &Registry, cells: &[CellPlan], set: &mut ResultSet) {
    for question in of(registry, cells, |_| true).iter().filter(|one| one.cells.len() > 1) {
        let reference = question.by_fitness.iter().find(|at| {
            set.cells.iter().any(|cell| cell.id == cells[**at].id && cell.status == Status::Ok)
        });
        let id = reference.map(|at| &cells[*at].id);
        let found = set.cells.iter_mut().find(|cell| Some(&cell.id) == id);
        found.into_iter().for_each(|cell| cell.is_reference = true);
    }
}

/// The stages that repeat a document; `None` if it was not measured in stages.
pub(crate) fn again(registry: &Registry, set: &ResultSet, cells: &[CellPlan]) -> Option<Staging> {
    if set.questions.is_empty() {
        return None;
    }
    let is_screened =
        set.cells.iter().any(|cell| cell.is_unconfirmed() || !cell.selection.is_empty());
    let confirmed: Vec<&String> = set.questions.iter().flat_map(|one| &one.confirmed).collect();
    let is_named = |cell: &CellPlan| !is_screened && confirmed.contains(&&cell.id);
    let plan = &set.invocation.plan;
    let margin = plan.margin.unwrap_or(PRACTICAL_MARGIN);
    let questions = of(registry, cells, is_named);
    let is_united = plan.command == "choose";
    let focused = if is_united { questions.len() } else { SHOWN };
    Some(Staging { is_united, ..staging(questions, cells, focused, margin) })
}
