//! A survey on one screen: what to use, the mechanisms that people choose between, and where the rest is.

use crate::Style;
use crate::advice::{caution, has_places, without_p99};
use crate::answers::{Choice, choices};
use crate::chapters::{self, Row, label, unmeasured};
use crate::columns::Column;
use crate::figures::{self, NONE};
use crate::fittest::FAMILIAR;
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::rank::Yardstick;
use crate::table::{grade_words, masthead};
use crate::{Specs, text, words};
use ipcperf_core::result::{Cell, CellKey, ResultSet, Status};
use ipcperf_core::{OnClose, PatternKind, Placement};
use std::io;

#[cfg(test)]
mod tests;

/// Most rows of the table: with all that stands around it a screen of 40 lines.
const ROWS: usize = 12;

/// Left edge of what stands under a heading.
const EDGE: &str = "  ";

/// Whether a set is shown this way: a survey, unless all of it was asked for.
pub(crate) fn is_one_screen(set: &ResultSet, style: &Style) -> bool {
    let is_survey = set.invocation.plan.command == "survey" && set.pipelines.is_empty();
    is_survey && !style.is_whole()
}

/// The first lines of one screen: what ran where, and how quiet it was.
pub(crate) fn head(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    for line in masthead(set) {
        page.paragraph(Tone::Quiet, "", &line)?;
    }
    // At D and F the caution names the grade and its causes.
    match set.noise.grade.as_str() {
        "D" | "F" => Ok(()),
        _ => page.paragraph(Tone::Plain, "", &grade_words(&set.noise)),
    }
}

pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(out, style);
    head(&mut page, set)?;
    let choices = choices(set, specs);
    what_to_use(&mut page, set, &choices)?;
    let shown = table(&mut page, set, specs, &choices)?;
    absent(&mut page, set)?;
    rest(&mut page, set, &choices, shown)
}

fn what_to_use(page: &mut Page, set: &ResultSet, choices: &[Choice]) -> io::Result<()> {
    page.blank()?;
    let usual = choices.iter().find(|choice| choice.size > 0);
    let title = usual.map(|usual| {
        let size = figures::size(usual.size);
        format!(": {size} there and back {}, unless said", usual.basis)
    });
    page.paragraph(Tone::Title, "", &format!("WHAT TO USE{}", title.unwrap_or_default()))?;
    if let Some(caution) = caution(set) {
        page.paragraph(Tone::Doubt, EDGE, &caution)?;
    }
    let column = |of: &dyn Fn(&Choice) -> usize| choices.iter().map(of).max().unwrap_or(0);
    let names: Vec<String> = choices.iter().map(|choice| label(choice.cell)).collect();
    let widest = names.iter().map(|name| text::width(name)).max().unwrap_or(0).min(24);
    let purposes = column(&|choice| choice.purpose.len());
    let figures = column(&|choice| choice.figure.len());
    for (choice, name) in choices.iter().zip(&names) {
        let name = text::clean(name, page.style.unicode);
        let gap = " ".repeat(widest.saturating_sub(text::width(&name)));
        let (purpose, figure) = (choice.purpose, &choice.figure);
        let first = format!("{EDGE}{purpose:purposes$}  {name}{gap}  {figure:>figures$}  ");
        page.paragraph(Tone::Plain, &first, &notes(choice, usual).join("; "))?;
    }
    Ok(())
}

/// What differs from what the heading says, then what whoever takes it should know.
pub(crate) fn notes(choice: &Choice, usual: Option<&Choice>) -> Vec<String> {
    let is_said = |is_usual: &dyn Fn(&Choice) -> bool| usual.is_some_and(is_usual);
    let size = (choice.size > 0 && !is_said(&|usual| usual.size == choice.size))
        .then(|| figures::size(choice.size));
    let basis = (!is_said(&|usual| usual.basis == choice.basis)).then(|| choice.basis.clone());
    size.into_iter().chain(basis).chain(choice.notes.iter().cloned()).collect()
}

/// The mechanisms that people choose between.
pub(crate) struct Familiar<'a> {
    /// Where and how they ran.
    pub(crate) way: String,
    pub(crate) grid: Grid,
    /// The cell of each row.
    pub(crate) cells: Vec<&'a Cell>,
    /// Which rows nothing is certainly better than.
    pub(crate) is_best: Vec<bool>,
}

/// The rows of the first ranking of round trips: those that are chosen, those that everybody knows, then the best of the
/// others, in the order of that ranking.
pub(crate) fn familiar<'a>(
    set: &'a ResultSet,
    specs: &Specs,
    choices: &[Choice],
    unicode: bool,
) -> Option<Familiar<'a>> {
    let (way, rows) = chapters::first(set, specs)?;
    let is_chosen = |row: &&Row| choices.iter().any(|one| label(one.cell) == label(row.cell));
    let is_familiar = |row: &&Row| FAMILIAR.contains(&row.cell.key.mechanism.as_str());
    let all: Vec<&Row> = rows.iter().filter(|row| !row.is_floor).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| (!is_chosen(&all[*at]), !is_familiar(&all[*at])));
    order.truncate(ROWS);
    order.sort_unstable();
    let rows: Vec<&Row> = order.into_iter().map(|at| all[at]).collect();
    let views = views(set, &rows.first()?.cell.key);
    let mut grid = Grid {
        heads: views.iter().map(|view| view.head.clone()).collect(),
        right: views.iter().map(|view| view.is_number).collect(),
        rows: Vec::new(),
    };
    for row in &rows {
        let words = |view: &View| text::clean(&view.of(set, specs, row), unicode);
        grid.rows.push(views.iter().map(words).collect());
    }
    Some(Familiar {
        way: way.words(),
        grid,
        cells: rows.iter().map(|row| row.cell).collect(),
        is_best: rows.iter().map(|row| row.rank.is_some_and(|rank| rank.place == 1)).collect(),
    })
}

impl Familiar<'_> {
    /// The columns beside mechanism and figure that say something, the most wanted first.
    pub(crate) fn wanted(&self) -> Vec<usize> {
        let has_figures = |at: &usize| self.grid.rows.iter().any(|row| row[*at] != NONE);
        (3..self.grid.heads.len()).filter(has_figures).collect()
    }
}

/// Writes the table and returns how many mechanisms it shows.
fn table(page: &mut Page, set: &ResultSet, specs: &Specs, choices: &[Choice]) -> io::Result<usize> {
    let Some(mut shown) = familiar(set, specs, choices, page.style.unicode) else {
        return Ok(0);
    };
    let room = page.style.width.saturating_sub(EDGE.len());
    let wanted = shown.wanted();
    let columns = shown.grid.fit(&[0, 1, 2], &wanted, 1, room, page.style.unicode);
    let (head, lines) = shown.grid.lines(&columns);
    page.blank()?;
    page.paragraph(Tone::Title, "", &format!("BLOCKING MECHANISMS, {}", shown.way))?;
    page.row(Tone::Quiet, EDGE, &head)?;
    for (is_best, line) in shown.is_best.iter().zip(lines) {
        page.row(if *is_best { Tone::Best } else { Tone::Plain }, EDGE, &line)?;
    }
    legend(page, &shown.grid, &columns)?;
    if let Some(why) = without_p99(set, shown.cells.iter().copied()) {
        page.paragraph(Tone::Quiet, EDGE, &why)?;
    }
    Ok(shown.cells.len())
}

/// One column: what it shows of a mechanism.
struct View<'a> {
    head: String,
    is_number: bool,
    shows: Shows<'a>,
}

enum Shows<'a> {
    /// Of the row itself.
    Own(Column),
    /// The figure of the cell that has pattern, size and place of this one, and all else of the row.
    Other(&'a CellKey),
    /// Whether an end is told if the other one dies.
    Death,
}

/// The columns, the most wanted first.
fn views<'a>(set: &'a ResultSet, base: &CellKey) -> Vec<View<'a>> {
    let own = |head: &str, column: Column| View {
        head: head.to_owned(),
        is_number: column.is_number(),
        shows: Shows::Own(column),
    };
    let other = |head, key: &'a CellKey| View { head, is_number: true, shows: Shows::Other(key) };
    let measured =
        move || set.cells.iter().filter(|cell| cell.status == Status::Ok).map(|cell| &cell.key);
    let is_alike =
        |key: &&CellKey| key.load.is_plain() && (key.touch, key.idle) == (base.touch, base.idle);
    let is_here = |key: &&CellKey| is_alike(key) && key.placement == base.placement;
    let size = figures::size(base.size_bytes);
    let mut views = vec![
        own("#", Column::Rank),
        own("mechanism", Column::Mechanism),
        own(&format!("{size} p50"), Column::Figure),
        own("p99", Column::Quantile("p99")),
    ];
    let one = measured().filter(is_alike).find(|key| {
        key.placement == Placement::SameCpu
            && base.placement != Placement::SameCpu
            && (key.pattern, key.size_bytes) == (base.pattern, base.size_bytes)
    });
    let larger = measured()
        .filter(is_here)
        .filter(|key| key.pattern == base.pattern && key.size_bytes > base.size_bytes);
    let streams = measured().filter(is_here).filter(|key| key.pattern == PatternKind::Stream);
    views.extend(one.map(|key| other("one CPU".to_owned(), key)));
    views.extend(
        streams
            .max_by_key(|key| key.size_bytes)
            .map(|key| other(format!("{} rate", figures::size(key.size_bytes)), key)),
    );
    views.push(own("CPU/msg", Column::Cpu));
    views.push(View { head: "death".to_owned(), is_number: false, shows: Shows::Death });
    views.extend(
        larger
            .max_by_key(|key| key.size_bytes)
            .map(|key| other(format!("{} p50", figures::size(key.size_bytes)), key)),
    );
    views
}

impl View<'_> {
    fn of(&self, set: &ResultSet, specs: &Specs, row: &Row) -> String {
        match &self.shows {
            Shows::Own(column) => column.cell(row, true),
            Shows::Death => match specs(&row.cell.key.mechanism).map(|spec| spec.on_death) {
                Some(OnClose::Told) => "told",
                Some(OnClose::Late) => "late",
                Some(OnClose::Undetected) => "no",
                None => NONE,
            }
            .to_owned(),
            Shows::Other(like) => {
                let key = CellKey {
                    pattern: like.pattern,
                    size_bytes: like.size_bytes,
                    placement: like.placement,
                    cpus: like.cpus.clone(),
                    ..row.cell.key.clone()
                };
                let is_it = |cell: &&Cell| {
                    cell.key == key
                        && cell.status == Status::Ok
                        && cell.requested() == row.cell.requested()
                };
                let Some(cell) = set.cells.iter().find(is_it) else { return NONE.to_owned() };
                let yardstick = Yardstick::of(cell.key.pattern);
                Column::Figure.cell(&Row::alone(cell, yardstick), true)
            }
        }
    }
}

/// What the marks that are shown mean.
pub(crate) fn marks(grid: &Grid, columns: &[usize]) -> Vec<String> {
    let shows =
        |mark: char| grid.rows.iter().any(|row| columns.iter().any(|at| row[*at].contains(mark)));
    let ranks = grid.rows.iter().any(|row| row[0] != NONE);
    let placeless = grid.rows.iter().any(|row| row[0] == NONE);
    let marks = [
        (ranks, "# is 1 and the number of those that are certainly better"),
        (ranks && shows('='), "= ties with another"),
        (ranks && placeless, "- in #: too many messages lost or rounds rejected for a place"),
        (shows('~'), "~ spins before it sleeps"),
        (shows('*'), words::ONE_OF_TWO),
        (shows('^'), "^ timed in batches"),
    ];
    marks.iter().filter(|(is_shown, _)| *is_shown).map(|(_, text)| (*text).to_owned()).collect()
}

fn legend(page: &mut Page, grid: &Grid, columns: &[usize]) -> io::Result<()> {
    let hidden: Vec<&str> = (0..grid.heads.len())
        .filter(|at| !columns.contains(at) && grid.rows.iter().any(|row| row[*at] != NONE))
        .map(|at| grid.heads[at].as_str())
        .collect();
    let mut words = marks(grid, columns).join("; ");
    if !hidden.is_empty() {
        words.push_str(&format!("; no room here for {}", hidden.join(", ")));
    }
    match words.trim_start_matches("; ") {
        "" => Ok(()),
        words => page.paragraph(Tone::Quiet, EDGE, words),
    }
}

/// What was not measured.
fn absent(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    let mut lacking: Vec<String> = Vec::new();
    let mut failed = 0;
    for group in unmeasured(set) {
        match group.status {
            Status::Unavailable => lacking.extend(group.mechanisms),
            Status::Skipped => {}
            _ => failed += group.cells,
        }
    }
    // One that was only not reached may be here.
    let is_lacking = |name: &String| {
        let mut cells = set.cells.iter().filter(|cell| cell.key.mechanism == *name);
        cells.all(|cell| cell.status == Status::Unavailable)
    };
    lacking.retain(is_lacking);
    lacking.sort();
    lacking.dedup();
    page.blank()?;
    if failed > 0 {
        let cells = text::counted(failed as u64, "cell");
        page.paragraph(Tone::Bad, "", &format!("{cells} failed or gave no accepted figure."))?;
    }
    if !lacking.is_empty() {
        page.paragraph(Tone::Quiet, "", &format!("Not here: {}.", lacking.join(", ")))?;
    }
    Ok(())
}

/// Where everything else is, and what to type next.
fn rest(page: &mut Page, set: &ResultSet, choices: &[Choice], shown: usize) -> io::Result<()> {
    let mut measured: Vec<&str> = set
        .cells
        .iter()
        .filter(|cell| cell.status == Status::Ok)
        .map(|cell| cell.key.mechanism.as_str())
        .collect();
    measured.sort_unstable();
    measured.dedup();
    let more = measured.len().saturating_sub(shown);
    let findings = text::counted(set.noise.findings.len() as u64, "finding");
    let more = match more {
        0 => "All figures".to_owned(),
        1 => "1 more mechanism, all figures".to_owned(),
        more => format!("{more} more mechanisms, all figures"),
    };
    let words = format!("{more}, {findings}: ipcperf report FILE --full");
    page.paragraph(Tone::Plain, "", &words)?;
    let sized = choices.iter().filter(|choice| choice.size > 0).take(2);
    let names = text::each_once(sized.map(|choice| choice.cell.key.mechanism.as_str()));
    match names.as_slice() {
        [] if has_places(set) => Ok(()),
        [] => page.paragraph(Tone::Plain, "", "Next, what disturbs this machine: ipcperf doctor"),
        names => {
            let next =
                format!("Next, at a size of your own: ipcperf run -m {} -s 4K", names.join(","));
            page.paragraph(Tone::Plain, "", &next)
        }
    }
}
