//! What a table as it is printed states of cells: those that are equal to the reference are not called slower or faster,
//! and those that differ from it are.

use crate::common::{percent, run, tell, trials, usual, usual_times};
use ipcperf_ask::results::document::render;
use ipcperf_core::result::ResultSet;
use ipcperf_engine::simulate::{Level, Simulated, Simulation};
use ipcperf_kit::command::screens;
use ipcperf_kit::document::Show;
use ipcperf_render::{Format, Style};
use std::collections::BTreeMap;

/// Cells of a table, of which so many are equal, and better than the rest; each of the others takes 1.2 times as long as
/// the one before. A question has at most eleven.
const CELLS: usize = 11;
const EQUAL: usize = 6;
const ROUNDS: u64 = 40;

fn name(cell: usize) -> String {
    format!("m{cell:02}")
}

fn truth(cell: usize) -> f64 {
    1.2_f64.powi(cell.saturating_sub(EQUAL - 1) as i32)
}

/// What the first table that users see states of each cell: `reference`, `slower`, `faster`, `as fast` or `undecided`.
fn statements(set: &ResultSet) -> BTreeMap<String, String> {
    let mut bytes = Vec::new();
    let (style, screens) = (Style::default(), screens(ipcperf_ask::COMMANDS));
    let show = Show { screens: &screens, ..Show::new(Format::Markdown, &style) };
    render(set, &show, &mut bytes).expect("memory");
    let text = String::from_utf8(bytes).expect("text");
    let mut heads: Vec<String> = Vec::new();
    let mut statements = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let words: Vec<String> = line.split('|').map(|word| word.trim().to_owned()).collect();
        let versus = heads.iter().position(|head| head.starts_with("vs "));
        let mechanism = heads.iter().position(|head| head == "mechanism");
        match (versus, mechanism) {
            (Some(versus), Some(mechanism)) if words.len() == heads.len() => {
                let said = &words[versus];
                let known = ["reference", "slower", "faster", "as fast", "undecided"];
                let Some(word) = known.into_iter().find(|word| said.contains(word)) else {
                    continue;
                };
                // The first table is by time.
                statements.entry(words[mechanism].clone()).or_insert(word.to_owned());
            }
            _ => heads = words,
        }
    }
    statements
}

/// In how many tables a cell that is equal to the reference is called slower or faster; how many cells that are equal are
/// called as fast; how many that are slower by a fifth or more are not called so, and how many are called as fast.
struct Outcome {
    is_false: usize,
    as_fast: usize,
    missed: usize,
    is_false_equal: usize,
}

fn simulate(levels: &[Level], two_modes: usize, tables: usize) -> Outcome {
    let mut outcome = Outcome { is_false: 0, as_fast: 0, missed: 0, is_false_equal: 0 };
    for seed in 0..tables {
        let mut cells: Vec<Simulated> = (0..CELLS)
            .map(|at| Simulated {
                levels: levels.to_vec(),
                ..Simulated::new(&name(at), 64, usual_times(truth(at)))
            })
            .collect();
        for at in 0..two_modes {
            let mut cell = Simulated::new(&format!("z{at}"), 64, usual());
            cell.levels = vec![Level::Modes { factor: 50.0, share: 0.45 }];
            cells.push(cell);
        }
        let drift = vec![Level::Drift { total: 0.1 }];
        let mut set = Simulation { levels: drift, ..run(seed, ROUNDS, cells) }.document();
        // A run that chooses its reference before it counts.
        set.cells[0].is_reference = true;
        let statements = statements(&set);
        let said = |cell: usize| statements.get(&name(cell)).map(String::as_str).expect("a row");
        assert_eq!(said(0), "reference");
        let is_apart = |cell: usize| ["slower", "faster"].contains(&said(cell));
        outcome.is_false += usize::from((1..EQUAL).any(is_apart));
        outcome.as_fast += (1..EQUAL).filter(|cell| said(*cell) == "as fast").count();
        outcome.missed += (EQUAL..CELLS).filter(|cell| said(*cell) != "slower").count();
        outcome.is_false_equal += (EQUAL..CELLS).filter(|cell| said(*cell) == "as fast").count();
    }
    outcome
}

/// 5 % between two cells of a round: 2 % of each are those of the median of 40 operations, and 2.9 % those of its processes.
const PROCESS: Level = Level::Process { spread: 0.029 };

fn check(what: &str, levels: &[Level], two_modes: usize, found: Option<f64>) {
    let tables = trials(6);
    let Outcome { is_false, as_fast, missed, is_false_equal } = simulate(levels, two_modes, tables);
    let is_false = percent(is_false, tables);
    let as_fast = percent(as_fast, tables * (EQUAL - 1));
    let differ = tables * (CELLS - EQUAL);
    let seen = 100.0 - percent(missed, differ);
    let is_false_equal = percent(is_false_equal, differ);
    tell(&format!(
        "{what}: an equal cell is called slower or faster in {is_false:.1} % of tables, {as_fast:.1} % are called as fast; \
         of those 1.2x apart or more {seen:.1} % are called slower, {is_false_equal:.1} % as fast"
    ));
    let within =
        |share: f64| 100.0 * share + 300.0 * (share * (1.0 - share) / tables as f64).sqrt();
    assert!(is_false <= within(0.05), "{what}: {is_false} %");
    assert!(is_false_equal <= within(0.02), "{what}: {is_false_equal} %");
    assert!(found.is_none_or(|found| seen >= found), "{what}: {seen} %");
}

#[test]
fn equal_cells_are_not_called_apart_and_a_fifth_is_found() {
    check("lognormal", &[PROCESS], 0, Some(80.0));
}

#[test]
fn cells_in_two_modes_take_no_ratio_from_the_others() {
    check("three cells in two modes", &[PROCESS], 3, Some(80.0));
}

#[test]
fn slices_that_stray_make_no_difference_of_what_is_equal() {
    let strays = Level::Strays { share: 0.1, mean: 0.5 };
    check("one slice in ten strays", &[PROCESS, strays], 0, None);
}
