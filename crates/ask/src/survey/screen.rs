//! A survey on one screen: what to use and why, what the obvious others cost, and the mechanisms that people choose between.

use crate::results::advice::{limits, without_p99};
use crate::results::answers::answers;
use crate::results::answers::{Contest, Contestant, MOST_ARMS, Survey, caveats};
use crate::results::chapters::{Conditions, Row as Alone, label, unmeasured};
use crate::results::columns::{mark, other_mode_of};
use crate::results::fittest::FACTS;
use crate::results::pictures::{Anchors, Mechanism, mechanisms};
use crate::results::table::{grade_words, masthead};
use crate::results::{columns, marks};
use ipcperf_core::result::{Cell, CellKey, ResultSet, Status};
use ipcperf_core::units::format_bytes;
use ipcperf_core::{Capability, OnClose, PatternKind, Placement, Spec, Wait};
use ipcperf_judge::figures::{NONE, or_none};
use ipcperf_judge::{
    Comparative, MetricKind, ROUND_TRIP, Relation, figures, lost_its_rounds, percent,
};
use ipcperf_kit::document::Screen;
use ipcperf_kit::document::Specs;
use ipcperf_render::doc::{Cell as Words, Chart, Column, Doc, Layout, Line, Row, Table, Tone};
use ipcperf_render::{Style, text};
use rows::{Shown, base, is_two_mode, one_of_each, rows_of, shown};

mod conclusion;
mod rows;
#[cfg(test)]
mod tests;

/// How many of several have their names in a sentence.
const NAMED: usize = 3;

/// Letters of the reference's name at the head of a column.
const LONGEST_HEAD: usize = 20;

/// More time than this is not named as a remedy, s.
const LONGEST_S: f64 = 3600.0;

/// Whether a set is shown this way.
fn is_survey(set: &ResultSet) -> bool {
    set.invocation.plan.command == "survey" && set.pipelines.is_empty()
}

/// What the screen is made of.
struct Overview<'a> {
    set: &'a ResultSet,
    specs: &'a Specs<'a>,
    survey: Survey<'a>,
    /// Round trips of those that sleep while they wait.
    contest: Option<Contest<'a>>,
    rows: Vec<Shown<'a>>,
}

/// The screen of a survey.
pub(crate) const SCREEN: Screen =
    Screen::new(|set, specs, style| is_survey(set).then(|| doc(set, specs, style)));

fn doc(set: &ResultSet, specs: &Specs, style: &Style) -> Doc {
    let anchors = &Anchors::of(set, style);
    let overview = Overview::of(set, specs);
    let mut doc = match style.pictures {
        true => Doc::new(overview.sentence()),
        false => Doc::new(overview.headline()),
    };
    doc.picture = overview.chart(anchors).filter(|_| style.pictures);
    for line in overview.reasons() {
        doc.body.lines([Line::new(Tone::Plain, line).after("    ")]);
    }
    if let Some(limits) = limits(set) {
        doc.body.say(Tone::Doubt, limits);
    }
    doc.body.space();
    doc.body.table(overview.others());
    doc.body.space();
    doc.body.table(overview.table(anchors));
    for note in overview.notes() {
        doc.body.say(Tone::Quiet, note);
    }
    doc.body.space();
    doc.body.facts(overview.next(style));
    doc.body.space();
    for line in masthead(set) {
        doc.body.say(Tone::Quiet, line);
    }
    // At D and F the caution names the grade and its causes.
    if !matches!(set.noise.grade.as_str(), "D" | "F") {
        doc.body.say(Tone::Quiet, grade_words(&set.noise));
    }
    if style.is_whole() {
        let answers = answers(set, specs).into_iter().map(|answer| answer.sentence);
        doc.body.fold("The same in sentences", |body| body.list(answers));
    }
    doc
}

impl<'a> Overview<'a> {
    fn of(set: &'a ResultSet, specs: &'a Specs<'a>) -> Self {
        let survey = Survey::of(set, specs).brief();
        let (mut contest, mut rows) = (None, Vec::new());
        if let Some(all) = survey.small_contest(|_| true) {
            let each = one_of_each(set, specs, &all);
            let is_in = |some: &[(&str, &Cell)], cell: &Cell| {
                some.iter().any(|(_, one)| std::ptr::eq(*one, cell))
            };
            let of_each = survey.small_contest(|entry| is_in(&each, entry.cell));
            // What a run with stages has confirmed is one family; otherwise the rows of the screen are.
            let is_staged = survey.is_staged();
            let all = if is_staged { all } else { of_each.unwrap_or(all) };
            let shown = shown(&all, &each, specs);
            let is_few = each.len() <= MOST_ARMS;
            let judged = survey.small_contest_with_spinning(|entry| {
                is_staged || is_in(if is_few { &each } else { &shown }, entry.cell)
            });
            let judged = judged.unwrap_or(all);
            rows = rows_of(&judged, shown, &each, specs);
            contest = Some(judged);
        }
        Self { set, specs, survey, contest, rows }
    }

    fn spec(&self, cell: &Cell) -> Option<&'static Spec> {
        (self.specs)(&cell.key.mechanism)
    }

    /// Each row with its interval, on two CPUs and on one.
    fn chart(&self, anchors: &Anchors) -> Option<Chart> {
        let contest = self.contest.as_ref()?;
        let one_cpu = self.one_cpu(contest);
        let rows = self.rows.iter().filter_map(|row| {
            Some(Mechanism {
                cell: row.cell?,
                elsewhere: self.cell_at(row, one_cpu),
                is_reference: row.relation == Some(Relation::Reference),
            })
        });
        let places = match contest.basis.placement.is_one_cpu() {
            true => ["one CPU", ""],
            false => ["two CPUs", "one CPU"],
        };
        let title = format!("{} round trip", in_words(contest.size));
        mechanisms((title, ROUND_TRIP), places, &rows.collect::<Vec<_>>(), anchors)
    }

    /// What else people ask for: one line each.
    fn others(&self) -> Table {
        let mut lines: Vec<[String; 3]> = Vec::new();
        lines.extend(self.instead("TCP instead", "tcp", "to reach another host"));
        lines.extend(self.instead("UNIX socket instead", "unix-stream", ""));
        lines.extend(self.unrelated());
        lines.extend(self.choice("busy-wait, 2 CPUs", self.survey.spinning_contest(), ROUND_TRIP));
        lines.extend(self.large());
        lines.extend(self.choice("signal, no data", self.survey.wake_up_contest(), ROUND_TRIP));
        let columns = [Column::text(""), Column::number(""), Column::text("")];
        let table = Table::new(columns, lines.into_iter().map(Row::new));
        Table { label: "Instead".to_owned(), ..table.layout(Layout::Flow) }
    }

    fn instead(&self, purpose: &str, base: &str, when: &str) -> Option<[String; 3]> {
        let row = self.rows.iter().find(|row| row.base == base)?;
        let contest = self.contest.as_ref()?;
        let is_first = self.first().zip(row.cell).is_some_and(|(a, b)| std::ptr::eq(a.cell, b));
        let (figure, note) = match row.cell {
            _ if is_first => return None,
            None => (NONE.to_owned(), row.why.clone()),
            Some(cell) => {
                let one = contest.of_cell(cell);
                let compared = one.map(|one| contest.compared(one));
                let relation = compared.map(|(relation, _)| relation).or(row.relation)?;
                let than = compared.map(|(_, than)| than.cell);
                // What it is compared with is not what stands in the first line.
                let other = than.filter(|than| {
                    self.first().is_none_or(|first| !std::ptr::eq(first.cell, *than))
                });
                let other = other.filter(|than| !std::ptr::eq(*than, cell));
                let other =
                    other.map(|than| format!("against {}", rows::base(&than.key.mechanism)));
                let [figure, note] = self.figure_and_note(relation, contest.margin);
                let notes = [Some(note).filter(|note| !note.is_empty()), other];
                (figure, notes.into_iter().flatten().collect::<Vec<_>>().join(" "))
            }
        };
        let when = Some(when.to_owned()).filter(|when| !when.is_empty() && row.cell.is_some());
        let notes: Vec<String> =
            Some(note).filter(|note| !note.is_empty()).into_iter().chain(when).collect();
        Some([purpose.to_owned(), figure, notes.join(" ")])
    }

    fn words(&self, relation: Relation, margin: f64) -> String {
        self.figure_and_note(relation, margin).join(" ").trim_end().to_owned()
    }

    /// A relation in a line of its own.
    fn figure_and_note(&self, relation: Relation, margin: f64) -> [String; 2] {
        match relation {
            Relation::Unconfirmed => {
                [format!("not confirmed: {}", self.why_unconfirmed()), String::new()]
            }
            relation => relation.figure_and_note(margin, Comparative::Speed),
        }
    }

    /// For processes that have no parent in common, where the first is not for them.
    fn unrelated(&self) -> Option<[String; 3]> {
        let first = self.contest.as_ref()?.first().cell;
        let contest = self.survey.small_contest(Survey::is_for_unrelated)?;
        let is_first = contest.of_cell(first).is_some();
        let line = || self.choice("unrelated processes", Some(contest), ROUND_TRIP);
        (!is_first).then(line).flatten()
    }

    /// The winner of a contest: figure, name and what one should know.
    fn choice(
        &self,
        purpose: &str,
        contest: Option<Contest<'a>>,
        kind: MetricKind,
    ) -> Option<[String; 3]> {
        let contest = contest?;
        let cell = contest.first().cell;
        let mut notes = vec![label(cell)];
        // That a peer's death is noticed is what one expects.
        let spec = self.spec(cell);
        notes.extend(caveats(cell, spec.filter(|spec| spec.on_death != OnClose::Told)));
        if self.contest.as_ref().is_some_and(|usual| usual.basis != contest.basis) {
            notes.push(contest.basis.words());
        }
        if contest.is_overtaken() && purpose != BIG {
            let words = contest.first().relation.brief(contest.margin);
            notes.push(format!("{words} than {}", base(&contest.reference().cell.key.mechanism)));
        }
        if !contest.is_confirmed() {
            notes.push(format!("not confirmed: {}", self.why_unconfirmed()));
        } else if contest.winner().is_none() && contest.ordered().len() > 1 {
            notes.push("undecided".to_owned());
        }
        Some([purpose.to_owned(), value_of(cell, kind), notes.join(", ")])
    }

    /// The stream to use, and how a UNIX socket compares with it.
    fn large(&self) -> Option<[String; 3]> {
        let contest = self.survey.large_contest()?;
        let kind = MetricKind::of(PatternKind::Stream);
        let size = figures::size(contest.size);
        let is_socket = |one: &&Contestant| one.cell.key.mechanism == "unix-stream";
        let socket = contest.ordered().iter().find(is_socket);
        let comparison = socket.and_then(|socket| {
            let (first, margin) = (contest.first(), contest.margin);
            if std::ptr::eq(socket, first) || !contest.is_confirmed() {
                return None;
            }
            let words = match contest.is_overtaken() {
                // The socket is the reference, or each of both is compared with a third.
                true if socket.relation == Relation::Reference => {
                    format!("{} than a UNIX socket", first.relation.brief(margin))
                }
                true => {
                    let third = base(&contest.reference().cell.key.mechanism);
                    format!("{} than {third}", first.relation.brief(margin))
                }
                false if socket.relation.is_slower() || socket.relation.is_faster() => {
                    format!("{} than a UNIX socket", socket.relation.mirrored().brief(margin))
                }
                false => format!("a UNIX socket: {}", self.words(socket.relation, margin)),
            };
            Some(format!(", {words}"))
        });
        let mut line = self.choice(BIG, Some(contest), kind)?;
        line[2].push_str(&format!(" ({size}{})", comparison.unwrap_or_default()));
        Some(line)
    }

    fn table(&self, anchors: &Anchors) -> Table {
        let Some(contest) = &self.contest else { return Table::default() };
        let p99 = |row: &Shown<'_>| row.own(|cell| columns::quantile(cell, "p99"));
        let margin = contest.margin;
        let has_p99 = self.rows.iter().any(|row| p99(row) != NONE);
        let [(one_cpu_head, one_cpu), (stream_head, stream), (larger_head, larger)] =
            self.places(contest);
        let mut columns: Vec<(Column, Vec<String>)> = Vec::new();
        let mut add = |column: Column, words: &dyn Fn(&Shown<'a>) -> String| {
            let words: Vec<String> = self.rows.iter().map(words).collect();
            // A column without any figure gives its room to the next.
            if column.rank == 0 || words.iter().any(|words| words != NONE && !words.is_empty()) {
                columns.push((column, words));
            }
        };
        add(Column::text(format!("{} round trip", in_words(contest.size))), &|row| {
            row.cell.map_or_else(|| row.base.to_owned(), label)
        });
        add(Column::number("p50").drawn(), &|row| unmarked(&row.own(columns::figure)));
        if contest.ordered().len() > 1 {
            let reference = base(&contest.reference().cell.key.mechanism);
            let reference = text::clip(reference, LONGEST_HEAD, false);
            add(Column::text(format!("vs {reference}")), &|row| {
                or_none(row.relation, |relation| relation.brief(margin))
            });
        }
        if has_p99 {
            add(Column::number("p99").rank(1), &p99);
        } else {
            add(Column::number(larger_head.clone()).rank(1), &|row| self.at(row, larger));
        }
        add(Column::number(one_cpu_head).rank(2), &|row| self.at(row, one_cpu));
        add(Column::number(stream_head).rank(3), &|row| self.at(row, stream));
        add(Column::number("CPU/msg").rank(4), &|row| {
            row.own(|own| or_none(columns::cost(own.cell), figures::nanos))
        });
        add(Column::text("dead peer").rank(5), &|row| {
            or_none(row.spec, |spec| {
                match spec.on_death {
                    OnClose::Told => "noticed",
                    OnClose::Late => "late",
                    _ => "unnoticed",
                }
                .to_owned()
            })
        });
        if has_p99 {
            add(Column::number(larger_head).rank(7), &|row| self.at(row, larger));
        }
        add(Column::text(format!("within {}", percent(margin))).rank(8), &|row| {
            let is_within = row.relation.is_some_and(Relation::is_within);
            (if is_within { "yes" } else { NONE }).to_owned()
        });
        add(Column::text("can").rank(9), &|row| or_none(row.spec, can));
        let (columns, words): (Vec<Column>, Vec<Vec<String>>) = columns.into_iter().unzip();
        let rows = self.rows.iter().enumerate().map(|(at, row)| {
            let mut cells: Vec<Words> =
                words.iter().map(|column| Words::from(column[at].as_str())).collect();
            if let (Some(cell), Some(name)) = (row.cell, cells[0].0.first_mut()) {
                name.link = anchors.link(cell);
            }
            if let (Some(cell), Some(figure)) = (row.cell, cells[1].0.first_mut()) {
                figure.value = cell.figure().and_then(|metric| metric.value);
            }
            // Of two modes both figures are shown.
            let own = row.cell.map(|cell| Alone::alone(cell, ROUND_TRIP));
            if let Some(own) = own.filter(Alone::is_two_mode) {
                let mode = unmarked(&columns::figure_of_other_mode(&own));
                let rounds = format!("or {}", columns::rounds_of_other_mode(&own).trim());
                let both = cells.iter_mut().zip([rounds, mode]);
                for (cell, words) in both {
                    *cell = std::mem::take(cell).below(Tone::Plain, words);
                }
            }
            let tone = match row.cell {
                _ if row.is_first => Tone::Best,
                Some(cell) if contest.of_cell(cell).is_some() => Tone::Plain,
                _ => Tone::Quiet,
            };
            Row { tone, cells, ..Row::default() }
        });
        Table { label: "What people choose between".to_owned(), ..Table::new(columns, rows) }
    }

    /// What else the rows have a figure of, with the head of its column: one CPU, a stream, a larger message.
    fn places(&self, contest: &Contest) -> [(String, Option<&'a CellKey>); 3] {
        let larger = self.elsewhere(contest, |key, base| {
            key.pattern == PatternKind::PingPong && key.size_bytes > contest.size && base
        });
        let stream =
            self.elsewhere(contest, |key, base| key.pattern == PatternKind::Stream && base);
        [
            ("one CPU".to_owned(), self.one_cpu(contest)),
            (size_of(stream), stream),
            (format!("{} p50", size_of(larger)), larger),
        ]
    }

    /// Which of these figures were measured only in the screen, so that they have no interval.
    fn screened(&self, contest: &Contest) -> Option<String> {
        let columns = self.places(contest).into_iter().filter_map(|(head, key)| {
            let cells = self.rows.iter().filter_map(|row| Some((row, self.cell_at(row, key)?)));
            let (screened, confirmed): (Vec<_>, Vec<_>) =
                cells.partition(|(_, cell)| cell.is_unconfirmed());
            let names: Vec<&str> = screened.iter().map(|(row, _)| row.base).collect();
            match (names.is_empty(), confirmed.is_empty()) {
                (true, _) => None,
                (false, true) => Some(format!("all {head}")),
                (false, false) => Some(format!("{head} of {}", some(&names))),
            }
        });
        let columns: Vec<String> = columns.collect();
        (!columns.is_empty())
            .then(|| format!("measured only in the screen: {}", columns.join("; ")))
    }

    /// Where rows were measured with both ends on one CPU, if the table is not about that.
    fn one_cpu(&self, contest: &Contest) -> Option<&'a CellKey> {
        self.elsewhere(contest, |key, _| {
            (key.pattern, key.size_bytes) == (PatternKind::PingPong, contest.size)
                && key.placement == Placement::SameCpu
                && !contest.basis.placement.is_one_cpu()
        })
    }

    /// The largest of the keys at which rows have another figure; `is_it` is told whether it ran as those of the table.
    fn elsewhere(
        &self,
        contest: &Contest,
        is_it: impl Fn(&CellKey, bool) -> bool,
    ) -> Option<&'a CellKey> {
        let basis = &contest.basis;
        let cells = self.set.cells.iter().filter(|cell| cell.status == Status::Ok);
        let alike = cells.filter(|cell| {
            let key = &cell.key;
            key.load.is_plain() && (key.touch, key.idle) == (basis.touch, basis.idle)
        });
        let fit = alike.filter(|cell| is_it(&cell.key, basis.has(cell)));
        fit.map(|cell| &cell.key).max_by_key(|key| key.size_bytes)
    }

    /// The figure of the cell with pattern, size and place of this key, and all else of the row.
    fn at(&self, row: &Shown, like: Option<&CellKey>) -> String {
        or_none(self.cell_at(row, like), |cell| value_of(cell, MetricKind::of(cell.key.pattern)))
    }

    /// That cell.
    fn cell_at(&self, row: &Shown, like: Option<&CellKey>) -> Option<&'a Cell> {
        let (own, like) = (row.cell?, like?);
        let key = CellKey {
            pattern: like.pattern,
            size_bytes: like.size_bytes,
            placement: like.placement,
            cpus: like.cpus.clone(),
            ..own.key.clone()
        };
        let is_it = |cell: &&Cell| {
            cell.key == key && cell.status == Status::Ok && cell.requested() == own.requested()
        };
        self.set.cells.iter().find(is_it)
    }

    /// What stands below the table: what one should know of its figures, and what is missing in it.
    fn notes(&self) -> Vec<String> {
        let set = self.set;
        let cells = || self.rows.iter().filter_map(|row| row.cell);
        let bases = |is_it: &dyn Fn(&Cell) -> bool| {
            let rows = self.rows.iter().filter(|row| row.cell.is_some_and(is_it));
            rows.map(|row| row.base).collect::<Vec<_>>()
        };
        let mut notes = Vec::new();
        let brief = bases(&|cell| cell.key.wait == Wait::SpinThenBlock);
        if !brief.is_empty() {
            notes.push(format!(
                "{} spins before it sleeps: fast only if the peer answers at once",
                some(&brief)
            ));
        }
        let split = bases(&is_two_mode);
        if !split.is_empty() {
            let ratio = if split.len() == 1 { "its ratio" } else { "each ratio" };
            notes.push(format!(
                "{} in two modes: {ratio} comes from the rounds, not from the figures",
                some(&split)
            ));
        }
        let batched = bases(&|cell| mark(cell) == marks::BATCH);
        if !batched.is_empty() {
            notes.push(format!("{} timed in batches", some(&batched)));
        }
        let compared = self.contest.as_ref().filter(|contest| contest.ordered().len() > 1);
        if let Some(contest) = compared.filter(|one| one.is_chosen_by_same_rounds) {
            let reference = base(&contest.reference().cell.key.mechanism);
            notes.push(format!("{reference} was chosen as reference by the same rounds"));
        }
        let mut lines = vec![notes.join("; ")];
        lines.extend(
            self.rows
                .iter()
                .filter(|row| row.cell.is_none())
                .map(|row| format!("{}: {}", row.base, row.why.trim_end_matches('.'))),
        );
        lines.extend(
            cells()
                .filter(|cell| lost_its_rounds(cell))
                .map(|cell| format!("{}: too many rounds rejected to compare it", label(cell))),
        );
        lines.extend(without_p99(set, cells()));
        lines.extend(self.contest.as_ref().and_then(|contest| self.screened(contest)));
        lines.extend(cells().next().map(|cell| Conditions::of(cell).words()));
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// A command whose requirements a measured mechanism meets on this machine: 4 KiB if that was measured under the conditions
    /// of the ranking, of its first mechanism or else of the fastest, otherwise the size of its cell. The rate takes at most
    /// half of the time of that cell.
    fn case(&self, first: &Cell) -> Option<String> {
        let is_larger = |cell: &&Cell| {
            let CellKey { pattern, placement, idle, touch, load, .. } = &first.key;
            let key = &cell.key;
            (&key.pattern, &key.placement, &key.idle, &key.touch, &key.load)
                == (pattern, placement, idle, touch, load)
                && key.size_bytes == LARGER
                && !key.wait.burns_cpu()
                && cell.status == Status::Ok
        };
        let larger = self.set.cells.iter().filter(is_larger);
        let larger = larger.filter_map(|cell| Some((cell, longest(cell)?)));
        let larger = larger.min_by(|(a, a_longest), (b, b_longest)| {
            let is_other = |cell: &Cell| cell.key.mechanism != first.key.mechanism;
            is_other(a).cmp(&is_other(b)).then(a_longest.total_cmp(b_longest))
        });
        let (cell, longest) = larger.or_else(|| Some((first, longest(first)?)))?;
        let rate = round_down(MOST_RATE.min(0.5e9 / longest.max(1.0)));
        let size = cell.key.size_bytes;
        (size > 0).then(|| format!("ipcperf choose -s {} --rate {rate}", format_bytes(size)))
    }

    /// What to type next, and what is not on this screen.
    fn next(&self, style: &Style) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let mut say = |name, words: String| lines.push((name, words));
        if let Some(contest) = &self.contest {
            let first = contest.first();
            if let Some(words) = self.case(first.cell) {
                say("Your case", words);
            }
            let others = || {
                let measured = self.rows.iter().filter_map(|row| row.cell);
                measured.filter(|cell| !std::ptr::eq(*cell, first.cell))
            };
            let tcp = |cell: &Cell| base(&cell.key.mechanism) == "tcp";
            let is_rival =
                |cell: &Cell| contest.ordered().iter().any(|one| std::ptr::eq(one.cell, cell));
            if let Some(other) = others().min_by_key(|cell| (!tcp(cell), !is_rival(cell))) {
                let (a, b) = (&first.cell.key.mechanism, &other.key.mechanism);
                say("A or B", format!("ipcperf compare {a} {b}"));
            }
        }
        if self.set.noise.grade == "F" {
            say("Fix first", "ipcperf doctor".to_owned());
        }
        let mut measured: Vec<&str> = self
            .set
            .cells
            .iter()
            .filter(|cell| cell.status == Status::Ok)
            .map(|cell| base(&cell.key.mechanism))
            .collect();
        measured.sort_unstable();
        measured.dedup();
        let shown = self.rows.iter().filter(|row| row.cell.is_some()).count();
        let more = match measured.len().saturating_sub(shown) {
            0 => String::new(),
            more => format!("{}, ", text::counted(more as u64, "more mechanism")),
        };
        let findings = text::counted(self.set.noise.findings.len() as u64, "finding");
        if !style.is_whole() {
            say("Everything", format!("ipcperf report FILE --full ({more}{findings})"));
        }
        let (missing, failed) = absent(self.set);
        if failed > 0 {
            let cells = text::counted(failed as u64, "cell");
            say("Failed", format!("{cells} gave no accepted figure"));
        }
        if !missing.is_empty() {
            say("Missing", missing.join(", "));
        }
        lines
    }
}

/// What big messages are asked for by.
const BIG: &str = "big messages";

/// A figure without marks that a legend would have to explain.
fn unmarked(figure: &str) -> String {
    figure.replace(marks::TWO_MODES, "").replace(marks::BATCH, "")
}

/// Whether a relation says that the control failed.
fn fails(relation: Relation) -> Option<()> {
    matches!(relation, Relation::ControlFails(_)).then_some(())
}

/// The names of a few, and how many there are besides.
fn names(some: &[&Contestant]) -> Vec<String> {
    let mut names: Vec<String> = some.iter().take(NAMED).map(|one| label(one.cell)).collect();
    if some.len() > NAMED {
        names.push(format!("{} more", some.len() - NAMED));
    }
    names
}

/// `pipe, fifo, posix-mq and 4 more`.
fn some(names: &[&str]) -> String {
    let mut named: Vec<String> = names.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
    if names.len() > NAMED {
        named.push(format!("{} more", names.len() - NAMED));
    }
    text::join(&named)
}

/// The size of the case that is suggested where it was measured, bytes, and the highest rate of it, per second.
const LARGER: u64 = 4096;
const MOST_RATE: f64 = 20_000.0;

/// The longest of median, mean and modes of a round trip, ns.
fn longest(cell: &Cell) -> Option<f64> {
    let times = cell.rtt_ns.as_ref()?;
    let known = ["p50", "mean"].iter().filter_map(|name| times.get(*name)?.value);
    let modes = ROUND_TRIP.of_cell(cell).into_iter().flat_map(|metric| &metric.modes);
    known.chain(modes.map(|mode| mode.value)).reduce(f64::max)
}

/// 1, 2 or 5 times a power of ten, as it is typed: `5k`.
fn round_down(rate: f64) -> String {
    let power = 10_f64.powf(rate.max(1.0).log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= rate).unwrap_or(1.0);
    match digit * power {
        rate if rate >= 1000.0 => format!("{:.0}k", rate / 1000.0),
        rate => format!("{rate:.0}"),
    }
}

/// `two-way, listener`: what a mechanism can do of what programs come to need.
fn can(spec: &Spec) -> String {
    let facts = FACTS.iter().filter(|fact| **fact != Capability::NoticesDeath && spec.can(**fact));
    let words: Vec<String> = facts.map(ToString::to_string).collect();
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

/// `64-byte`, `4 KiB`.
fn in_words(size: u64) -> String {
    if size < 1024 { format!("{size}-byte") } else { figures::size(size) }
}

fn size_of(key: Option<&CellKey>) -> String {
    key.map(|key| figures::size(key.size_bytes)).unwrap_or_default()
}

/// The round trip of a cell.
fn value(cell: &Cell) -> String {
    value_of(cell, ROUND_TRIP)
}

/// The figure of a cell, `16.2 us`; of two modes both, `58.0 us or 1.90 us`.
fn value_of(cell: &Cell, kind: MetricKind) -> String {
    let words = |value| kind.words(value, cell.key.size_bytes);
    let Some(metric) = kind.of_cell(cell) else { return NONE.to_owned() };
    match (metric.value, other_mode_of(metric)) {
        (Some(value), Some((other, _))) => format!("{} or {}", words(value), words(other)),
        (Some(value), None) => words(value),
        (None, _) => NONE.to_owned(),
    }
}

/// The mechanisms that this machine lacks, and how many cells failed.
fn absent(set: &ResultSet) -> (Vec<String>, usize) {
    let mut missing: Vec<String> = Vec::new();
    let mut failed = 0;
    for group in unmeasured(set) {
        match group.status {
            Status::Unavailable => missing.extend(group.mechanisms),
            Status::Skipped => {}
            _ => failed += group.cells,
        }
    }
    // One that was only not reached may be here.
    let is_missing = |name: &String| {
        let mut cells = set.cells.iter().filter(|cell| cell.key.mechanism == *name);
        cells.all(|cell| cell.status == Status::Unavailable)
    };
    missing.retain(is_missing);
    missing.sort();
    missing.dedup();
    (missing, failed)
}
