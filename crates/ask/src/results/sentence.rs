//! What a run or a comparison says in one sentence, which people copy.

use crate::results::chapters::is_comparable;
use crate::results::fittest::{Fitness, fitness};
use ipcperf_core::result::{
    Cell, CellComparison, Comparison, Difference, ExchangedPrograms, ResultSet, Status,
};
use ipcperf_core::units::format_size;
use ipcperf_core::{Load, Offered, OptionSet, PatternKind, Placement};
use ipcperf_judge::figures;
use ipcperf_judge::{
    MetricKind, Reading, Relation, Relations, lost_its_rounds, margin, percent, short_name,
};
use ipcperf_kit::document::Specs;
use ipcperf_render::text;
use ipcperf_render::text::{in_groups, join};
use ipcperf_stats::{FEWEST_ROUNDS, Factor, Interval, Relative};

/// More sentences than this are no summary.
const MOST_SENTENCES: usize = 4;

type Frame<'a> = (String, bool, Option<&'a str>);

/// What cells must have in common to stand in one sentence: all but the mechanism and its knobs, or all but the sides of a
/// grid. What burns CPUs is not set beside what sleeps, nor what was timed in batches beside single operations.
fn frame(cell: &Cell, compares_sides: bool) -> Frame<'_> {
    let mut key = cell.key.clone();
    if compares_sides {
        key.load = of_no_sides(&key.load);
    }
    let burns = key.wait.burns_cpu();
    key.mechanism = String::new();
    let mode = cell.timing.as_ref().map(|timing| timing.mode.as_str());
    (key.words(&OptionSet::default()), burns, mode)
}

/// A load without the numbers of writers and readers.
fn of_no_sides(load: &Load) -> Load {
    let Load { writers, readers, .. } = Load::default();
    Load { writers, readers, ..load.clone() }
}

/// Whether all are grids of one mechanism, which differ by their writers and readers.
fn differ_by_sides(cells: &[&Cell]) -> bool {
    let Some(first) = cells.first() else { return false };
    let is_like = |cell: &&Cell| {
        cell.key.pattern == PatternKind::Grid && short_name(cell) == short_name(first)
    };
    cells.iter().all(is_like)
}

/// `3x1`, writers and readers.
fn writers_and_readers(cell: &Cell) -> String {
    let Load { writers, readers, .. } = cell.key.load;
    format!("{writers}x{readers}")
}

/// ` (64 B, two CPUs)`.
fn place(cell: &Cell, load: &Load) -> String {
    let size = Some(cell.key.size_bytes).filter(|size| *size > 0).map(format_size);
    let cpus = match cell.key.placement {
        place if place.is_one_cpu() => "one CPU",
        Placement::Free => "any CPUs",
        Placement::OneEnd { .. } => "one end pinned",
        _ => "two CPUs",
    };
    let words = size.into_iter().chain([cpus.to_owned()]).chain(load.words());
    format!(" ({})", words.collect::<Vec<_>>().join(", "))
}

/// The cells of a run that sentences can compare, by what they have in common.
fn frames(set: &ResultSet) -> Vec<(Frame<'_>, Vec<&Cell>)> {
    if set.invocation.plan.command != "run" {
        return Vec::new();
    }
    // Shares of what each mechanism does at most are no common load.
    let is_common = |cell: &&Cell| !matches!(cell.key.load.rate, Some(Offered::OfPeak(_)));
    // The table says why a cell has no figure, or no place.
    let has_figure = |cell: &&Cell| cell.figure().is_some_and(|figure| figure.value.is_some());
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok && cell.verified);
    let measured = measured.filter(is_common).filter(has_figure).filter(|one| is_comparable(one));
    let measured: Vec<&Cell> = measured.filter(|cell| !lost_its_rounds(cell)).collect();
    let compares_sides = differ_by_sides(&measured);
    in_groups(measured.into_iter().map(|cell| (frame(cell, compares_sides), cell)))
}

/// The sentences of a run: how the cells of each question compare with its reference. Empty if there is nothing to compare.
#[must_use]
pub(crate) fn sentences(set: &ResultSet, specs: &Specs) -> Vec<String> {
    let mut frames = frames(set);
    let alone: Vec<&Cell> = frames.iter().map(|(_, cells)| cells[0]).collect();
    frames.retain(|(_, cells)| cells.len() > 1);
    match frames.as_slice() {
        [] if alone.len() <= MOST_SENTENCES => of_one_mechanism(&alone, set).into_iter().collect(),
        [] => Vec::new(),
        few if few.len() <= MOST_SENTENCES => {
            few.iter().map(|(_, cells)| sentence(cells, set, specs)).collect()
        }
        many => {
            let key = &many[0].1[0].key;
            vec![format!(
                "{} groups of cells were compared, too many for sentences; of one: ipcperf report FILE -p {} -s {} \
                 --place {}",
                many.len(),
                key.pattern,
                key.size_bytes,
                key.placement
            )]
        }
    }
}

/// The same for a page, whose heading is the first sentence: if there are too many, only the sentence about the cells that are
/// compared with `first`, and the number of the others.
pub(crate) fn sentences_of_page(
    set: &ResultSet,
    specs: &Specs,
    first: Option<&Cell>,
) -> Vec<String> {
    let mut frames = frames(set);
    frames.retain(|(_, cells)| cells.len() > 1);
    let is_first = |cell: &&Cell| first.is_some_and(|first| std::ptr::eq(*cell, first));
    let of_first = frames.iter().position(|(_, cells)| cells.iter().any(is_first));
    let mut words = match of_first {
        Some(at) if frames.len() > MOST_SENTENCES => {
            let more = text::counted(frames.len() as u64 - 1, "more group");
            let compared = sentence(&frames[at].1, set, specs);
            vec![compared, format!("The tables compare {more} of cells.")]
        }
        Some(at) => {
            // The page shows those in its picture.
            frames[..=at].rotate_right(1);
            frames.iter().map(|(_, cells)| sentence(cells, set, specs)).collect()
        }
        None => sentences(set, specs),
    };
    let pipelines = set.pipelines.iter().filter(|one| one.status == Status::Ok);
    words.extend(pipelines.map(|one| {
        let took = figures::or_none(one.elapsed_ns.value, figures::nanos);
        format!("'{}' takes {took}.", one.id)
    }));
    if words.is_empty() {
        let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok).count() as u64;
        words.push(match measured {
            0 => "No cell was measured.".to_owned(),
            count => format!("{}, with nothing to compare.", text::counted(count, "measured cell")),
        });
    }
    words
}

/// `pipe: 5.7 us (64 B, one CPU) and 9.1 us (64 B, two CPUs).`: the figures of the only mechanism of a run.
fn of_one_mechanism(cells: &[&Cell], set: &ResultSet) -> Option<String> {
    let name = short_name(cells.first()?);
    if set.cells.iter().any(|cell| short_name(cell) != name) {
        return None;
    }
    let figure = |cell: &&Cell| {
        let kind = MetricKind::of(cell.key.pattern);
        let value = kind.reading(cell, &set.clock)?.value;
        Some(format!("{}{}", kind.words(value, cell.key.size_bytes), place(cell, &cell.key.load)))
    };
    let figures: Vec<String> = cells.iter().filter_map(figure).collect();
    (!figures.is_empty()).then(|| format!("{name}: {}.", join(&figures)))
}

/// `tcp is 1.5x slower [1.4, 1.6] than unix-stream (64 B, two CPUs); pipe is as fast (within 10 %); splice is undecided
/// (0.90x to 1.15x)`: how each cell compares with the reference, or why that is open.
fn sentence(cells: &[&Cell], set: &ResultSet, specs: &Specs) -> String {
    let by_sides = differ_by_sides(cells);
    let (mechanism, load) = (short_name(cells[0]), &cells[0].key.load);
    let place = match by_sides {
        true => place(cells[0], &of_no_sides(load)),
        false => place(cells[0], load),
    };
    let name_of = |cell: &Cell| if by_sides { writers_and_readers(cell) } else { short_name(cell) };
    let kind = MetricKind::of(cells[0].key.pattern);
    let mut cells: Vec<(&Cell, Reading)> =
        cells.iter().filter_map(|cell| Some((*cell, kind.reading(cell, &set.clock)?))).collect();
    // Cells without a ratio stay in this order, whichever cell was asked for first.
    cells.sort_by(|(a, own), (b, other)| {
        kind.order(own.value, other.value).then_with(|| name_of(a).cmp(&name_of(b)))
    });
    let fit = |cell: &Cell| fitness(specs(&cell.key.mechanism));
    let margin = margin(&set.invocation.plan);
    let Some(relations) = Relations::of(kind, &cells, fit, margin) else {
        return "Nothing to compare: no cell has a figure.".to_owned();
    };
    let relations = relations.at_grade(&set.noise.grade);
    let reference = name_of(cells[relations.reference()].0);
    let order = relations.order().into_iter().filter(|at| *at != relations.reference());
    let other = |at: usize| Other {
        name: name_of(cells[at].0),
        relation: relations.relation(at),
        fitness: fit(cells[at].0),
    };
    let others: Vec<Other> = order.map(other).collect();
    if others.iter().all(|one| matches!(one.relation, Relation::TooFewPairs(_))) {
        let pairs = others.iter().filter_map(|one| match one.relation {
            Relation::TooFewPairs(pairs) => Some(pairs),
            _ => None,
        });
        let most = pairs.max().unwrap_or(0);
        return format!(
            "Too few rounds to compare{place}: it takes {FEWEST_ROUNDS}, and {most} count (--rounds)."
        );
    }
    if others.iter().any(|one| matches!(one.relation, Relation::ControlFails(_))) {
        return format!("Undecided{place}: {reference} measured twice differs from itself.");
    }
    let clauses = clauses(&others, &reference, &place, margin);
    match clauses.is_empty() {
        true => format!("Nothing was confirmed{place}: the screen alone measured these cells."),
        false if by_sides => format!("{mechanism}, writers x readers: {}.", clauses.join("; ")),
        false => format!("{}.", clauses.join("; ")),
    }
}

/// A cell and its relation to the reference.
struct Other {
    name: String,
    relation: Relation,
    fitness: Fitness,
}

/// More names than this in one clause are counted.
const MOST_NAMES: usize = 3;

/// Those that a clause names: the fittest, which people choose between, in the order of their ratios.
fn named<'a>(found: &[&'a Other]) -> Vec<&'a Other> {
    let mut fittest: Vec<usize> = (0..found.len()).collect();
    fittest.sort_by_key(|at| found[*at].fitness);
    fittest.truncate(MOST_NAMES);
    fittest.sort_unstable();
    fittest.into_iter().map(|at| found[at]).collect()
}

/// How the others compare with the reference, the differences first. The first clause names the reference and the place.
fn clauses(others: &[Other], reference: &str, place: &str, margin: f64) -> Vec<String> {
    let of = |is: &dyn Fn(Relation) -> bool| -> Vec<&Other> {
        others.iter().filter(|other| is(other.relation)).collect()
    };
    let faster = of(&Relation::is_faster);
    let slower = of(&Relation::is_slower);
    let as_fast = of(&Relation::is_as_fast);
    let screened = of(&|one| one == Relation::Unconfirmed);
    let undecided = of(&|one| one.word() == "undecided");
    let mut clauses = Vec::new();
    for (way, found) in [("faster", &faster), ("slower", &slower)] {
        let than = |is_first| match is_first {
            true => format!(" than {reference}{place}"),
            false => String::new(),
        };
        let words = |at: usize, Other { name, relation, .. }: &Other| {
            let words = relation.words(margin);
            match at {
                0 => format!("{name} is {words}{}", than(clauses.is_empty())),
                _ => format!("{name} {}", words.replacen(&format!(" {way}"), "", 1)),
            }
        };
        let named = named(found).into_iter().enumerate();
        let named: Vec<String> = named.map(|(at, one)| words(at, one)).collect();
        let clause = match found.len().saturating_sub(MOST_NAMES) {
            0 => join(&named),
            more => format!("{}, and {more} more {} {way}", named.join(", "), are(more)),
        };
        clauses.extend((!named.is_empty()).then_some(clause));
    }
    if !as_fast.is_empty() {
        let (who, within) = (counted(&as_fast), percent(margin));
        clauses.push(match clauses.is_empty() {
            true => format!("{who} as fast as {reference} within {within}{place}"),
            false => format!("{who} as fast (within {within})"),
        });
    }
    if !undecided.is_empty() {
        let why = |Other { name, relation, .. }: &Other| {
            let words = relation.words(margin);
            let why = match relation {
                // A table has no room to say what is wrong with this number.
                Relation::Stated(_, Relative { joint: None, pairs, .. }) => {
                    format!("{pairs} rounds are too few")
                }
                _ => words.trim_start_matches("undecided: ").to_owned(),
            };
            format!("{name} ({why})")
        };
        let named: Vec<String> = named(&undecided).into_iter().map(why).collect();
        let named = match undecided.len().saturating_sub(MOST_NAMES) {
            0 => join(&named),
            more => format!("{} and {more} more", named.join(", ")),
        };
        clauses.push(match (clauses.is_empty(), undecided.as_slice()) {
            (true, _) => format!("Undecided against {reference}{place}: {named}"),
            (false, [Other { name, .. }]) => {
                named.replacen(name, &format!("{name} is undecided"), 1)
            }
            (false, _) => format!("undecided are {named}"),
        });
    }
    if !screened.is_empty() && !clauses.is_empty() {
        let more = screened.len();
        clauses.push(format!(
            "{more} more {} only in the screen",
            if more == 1 { "was" } else { "were" }
        ));
    }
    clauses
}

/// `fifo is`, `fifo and tcp are`, `9 others are`.
fn counted(some: &[&Other]) -> String {
    let names: Vec<String> = some.iter().map(|other| other.name.clone()).collect();
    match names.len() {
        count if count > MOST_NAMES => format!("{count} others are"),
        count => format!("{} {}", join(&names), are(count)),
    }
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// A kind of sockets, as a subject.
fn sockets(kind: &str) -> String {
    let (name, knobs) = kind.split_once(' ').unwrap_or((kind, ""));
    let name = match name {
        "unix-stream" => "A UNIX socket",
        "unix-seqpacket" => "A UNIX socket that keeps messages apart (seqpacket)",
        "vsock" => "A VM socket",
        "tcp" => "TCP on the loopback interface",
        other => other,
    };
    if knobs.is_empty() { name.to_owned() } else { format!("{name} with {knobs}") }
}

/// What other sockets, or another configuration, would change for a client: `A UNIX socket would make this redis-benchmark run
/// 1.5x [1.3, 1.7] faster`. If there is no verdict, the second text is the reason.
fn of_programs(programs: &ExchangedPrograms, cell: &CellComparison) -> (String, Option<String>) {
    let one = &cell.primary;
    // `unix-stream backlog=4096 redis-benchmark on redis-server`
    let before = cell.b.split(" on ").next().unwrap_or(&cell.b);
    let (kind, client) = before.rsplit_once(' ').unwrap_or((before, ""));
    let run = format!("this {client} run").replace("  ", " ");
    let is_configured = !programs.is_exchanged();
    let (subject, than) = match is_configured {
        true => ("Configuration B".to_owned(), " than configuration A does"),
        false => (sockets(kind), ""),
    };
    let makes = if is_configured { "makes" } else { "would make" };
    let words = match one.verdict {
        Difference::Faster | Difference::Slower => {
            let (Some(ratio), Some([low, high])) = (one.ratio.value, one.ratio.ci95) else {
                return (format!("{subject}: there is no ratio"), None);
            };
            let times = |ratio: f64| ratio.max(1.0 / ratio);
            let interval =
                Interval { low: times(low).min(times(high)), high: times(low).max(times(high)) };
            let factor = figures::factor(Factor { ratio: times(ratio), interval });
            let way = if one.verdict == Difference::Faster { "faster" } else { "slower" };
            format!("{subject} {makes} {run} {factor} {way}{than}")
        }
        Difference::None => {
            format!("{subject} {makes} no difference to {run} (within {})", percent(one.margin))
        }
        Difference::CannotTell => {
            let subject = subject.replacen("A ", "a ", 1);
            let words = format!("Cannot tell whether {subject} {makes} {run} faster{than}");
            return (words, Some(one.reason.trim_end_matches('.').to_owned()));
        }
    };
    (words, None)
}

/// In what A and B differ, and what both have in common: `unix-stream` and `tcp`, `ping-pong 64B same-llc`.
pub(crate) fn sides(document: &Comparison, cell: &CellComparison) -> ([String; 2], String) {
    let [a, b] = [&cell.a, &cell.b].map(|id| id.split(' ').collect::<Vec<&str>>());
    let common = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    // Of two documents or programs it is the sides that differ.
    let side = |own: &[&str], names: &[String]| match own.len() - common {
        0 => join(names),
        count => own[..count].join(" "),
    };
    let place = a[a.len() - common..].join(" ");
    ([side(&a, &document.a.names), side(&b, &document.b.names)], place)
}

/// The sentence of a comparison: the faster side beside the slower one, of the cell that differs most; and why that cannot
/// be told. Both without a full stop.
#[must_use]
pub(crate) fn comparison(document: &Comparison) -> Option<(String, Option<String>)> {
    let least = |one: &&CellComparison| one.primary.at_least.unwrap_or(0.0);
    let cells = &document.comparisons;
    let most = cells.iter().max_by(|a, b| least(a).total_cmp(&least(b)))?;
    let one = &most.primary;
    if cells.len() > 1 && one.at_least.is_none() {
        return Some((format!("No certain difference in any of {} cells", cells.len()), None));
    }
    if let Some(programs) = &document.programs {
        return Some(of_programs(programs, most));
    }
    let ([a, b], place) = sides(document, most);
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    let (faster, slower) = if one.verdict == Difference::Faster { (&b, &a) } else { (&a, &b) };
    let confounded = match document.confounded_by.as_slice() {
        [] => String::new(),
        names => format!("; they also differ in {}", join(names)),
    };
    let words = match one.verdict {
        Difference::Faster | Difference::Slower => {
            let (ratio, [low, high]) = (one.ratio.value?, one.ratio.ci95?);
            let times = |ratio: f64| ratio.max(1.0 / ratio);
            let interval =
                Interval { low: times(low).min(times(high)), high: times(low).max(times(high)) };
            let factor = figures::factor(Factor { ratio: times(ratio), interval });
            format!("{faster} is {factor} faster than {slower}{place}")
        }
        Difference::None => {
            format!("{b} is as fast as {a} to within {}{place}", percent(one.margin))
        }
        Difference::CannotTell => {
            let words = format!("Cannot tell whether {b} or {a} is faster{place}");
            let why = format!("{}{confounded}", one.reason.trim_end_matches('.'));
            return Some((words, Some(why)));
        }
    };
    let most = if cells.len() > 1 { "Largest difference: " } else { "" };
    Some((format!("{most}{words}{confounded}"), None))
}
