//! A survey on one screen: what to use and why, what the obvious others cost, and the mechanisms that people choose between.

use crate::advice::{caution, has_places, without_p99};
use crate::answers::{Contest, Survey, caveats};
use crate::chapters::{Conditions, Row as Alone, label, marked_label, unmeasured};
use crate::columns::{Column as Figures, mark, other_mode_of};
use crate::figures::{self, NONE, or_none};
use crate::fittest::FACTS;
use crate::judge::{MetricKind, ROUND_TRIP, lost_its_rounds};
use crate::pictures::Anchors;
use crate::table::{grade_words, masthead};
use crate::{Specs, Style, text, words};
use ipcperf_core::result::{Cell, CellKey, ResultSet, Status};
use ipcperf_core::{Capability, OnClose, PatternKind, Placement, Spec, Wait};
use ipcperf_render::doc::{Cell as Words, Column, Doc, Layout, Line, Row, Table, Tone};
use ipcperf_stats::FEWEST_ROUNDS;
use rows::{Shown, Standing, base, custom, is_two_mode, one_of_each, rows_of};

mod rows;
#[cfg(test)]
mod tests;

/// How many of those that are as fast as the first have their names in a sentence.
const NAMED: usize = 3;

/// Whether a set is shown this way.
pub(crate) fn is_survey(set: &ResultSet) -> bool {
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

/// The screen.
pub(crate) fn doc(set: &ResultSet, specs: &Specs, style: &Style, anchors: &Anchors) -> Doc {
    let overview = Overview::of(set, specs);
    let mut doc = Doc::new(overview.headline());
    doc.body.lines(overview.reason());
    if let Some(caution) = caution(set).filter(|_| has_places(set)) {
        doc.body.say(Tone::Doubt, caution);
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
    doc
}

impl<'a> Overview<'a> {
    fn of(set: &'a ResultSet, specs: &'a Specs<'a>) -> Self {
        let survey = Survey::of(set, specs);
        let (mut contest, mut rows) = (None, Vec::new());
        if let Some(all) = survey.small_contest(|_| true) {
            let each = one_of_each(set, specs, &all.basis, all.size);
            let is_in = |cell: &Cell| each.iter().any(|(_, one)| std::ptr::eq(*one, cell));
            contest = survey.small_contest(|entry| is_in(entry.cell));
            rows = contest
                .as_ref()
                .map_or_else(Vec::new, |contest| rows_of(contest, &each, specs, has_places(set)));
        }
        Self { set, specs, survey, contest, rows }
    }

    fn spec(&self, cell: &Cell) -> Option<&'static Spec> {
        (self.specs)(&cell.key.mechanism)
    }

    /// The one to use.
    fn first(&self) -> Option<&Shown<'a>> {
        self.rows.iter().find(|row| row.standing == Standing::First && has_places(self.set))
    }

    fn headline(&self) -> String {
        if !has_places(self.set) {
            return caution(self.set).unwrap_or_default();
        }
        let Some((first, cell)) = self.first().and_then(|row| Some((row, row.cell?))) else {
            return "No round trip of a message was measured.".to_owned();
        };
        let cpu = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.figure().value);
        let cpu = cpu.map(|cpu| format!(", {} CPU per message", figures::nanos(cpu)));
        let gloss = if first.base.starts_with("unix-") { " (a UNIX socket)" } else { "" };
        let name = label(cell);
        format!("USE {name}{gloss}: {} round trip{}", value(cell), cpu.unwrap_or_default())
    }

    /// Why this one.
    fn reason(&self) -> Option<Line> {
        let first = self.first()?;
        let contest = self.contest.as_ref()?;
        let (behind, as_fast): (Vec<_>, Vec<_>) =
            contest.ordered()[1..].iter().partition(|one| contest.is_behind(one));
        let words = match (as_fast.as_slice(), behind.first()) {
            ([], None) => "Nothing else of its kind was measured.".to_owned(),
            ([], Some(next)) => {
                let factor = ROUND_TRIP.factors(first.cell?, &[next.cell]).pop().flatten();
                let how = factor.map_or_else(
                    || format!("{} takes {}", next.name, contest.figure(next)),
                    |factor| format!("{} is {} slower", next.name, figures::factor(factor)),
                );
                format!("Certainly faster than all others here: {how}.")
            }
            (as_fast, _) => {
                let mut known: Vec<_> = as_fast.iter().collect();
                known.sort_by_key(|one| custom(base(&one.cell.key.mechanism)));
                let names: Vec<&str> =
                    known.iter().map(|one| base(&one.cell.key.mechanism)).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                let others = as_fast.iter().map(|one| one.cell);
                let why = self.merits(first, others).unwrap_or_else(|| "is the usual one".into());
                format!("{} {verb} as fast here; {} {why}.", some(&names), first.base)
            }
        };
        Some(Line::new(Tone::Plain, words).after("    "))
    }

    /// What the first has that some of these lack.
    fn merits(&self, first: &Shown, others: impl Iterator<Item = &'a Cell>) -> Option<String> {
        let others: Vec<Option<&Spec>> = others.map(|cell| self.spec(cell)).collect();
        let lacks =
            |fact: &Capability| others.iter().any(|spec| !spec.is_some_and(|one| one.can(*fact)));
        let facts = FACTS.iter().filter(|fact| first.spec.is_some_and(|spec| spec.can(**fact)));
        let facts = facts.filter(|fact| lacks(fact)).map(|fact| match fact {
            Capability::TwoWay => "is two-way".to_owned(),
            Capability::NoticesDeath => "notices a dead peer".to_owned(),
            Capability::Listener => "has a listener".to_owned(),
            Capability::Reconnect => "reconnects after a restart".to_owned(),
            other => format!("has {other}"),
        });
        Some(text::join(&facts.collect::<Vec<_>>())).filter(|words| !words.is_empty())
    }

    /// What else people ask for: one line each.
    fn others(&self) -> Table {
        let mut lines: Vec<[String; 3]> = Vec::new();
        if has_places(self.set) {
            lines.extend(self.instead("TCP instead", "tcp", "to reach another host"));
            lines.extend(self.instead("UNIX socket instead", "unix-stream", ""));
            lines.extend(self.unrelated());
            lines.extend(self.choice(
                "busy-wait, 2 CPUs",
                self.survey.spinning_contest(),
                ROUND_TRIP,
            ));
            lines.extend(self.large());
            lines.extend(self.choice("signal, no data", self.survey.wake_up_contest(), ROUND_TRIP));
        }
        let columns = [Column::text(""), Column::number(""), Column::text("")];
        let table = Table::new(columns, lines.into_iter().map(Row::new));
        Table { label: "Instead".to_owned(), ..table.layout(Layout::Flow) }
    }

    fn instead(&self, purpose: &str, base: &str, when: &str) -> Option<[String; 3]> {
        let row = self.rows.iter().find(|row| row.base == base)?;
        let (figure, note) = match (row.standing, row.cell) {
            (Standing::First, _) => return None,
            (_, None) => (NONE.to_owned(), row.why.clone()),
            (Standing::AsFast, _) => ("as fast".to_owned(), String::new()),
            (Standing::Slower(Some(factor)), _) => {
                let words = figures::factor(factor);
                let (ratio, interval) = words.split_once(' ')?;
                (format!("{ratio} slower"), interval.to_owned())
            }
            (Standing::Slower(None), Some(cell)) => {
                let why = match is_two_mode(cell) || self.first()?.cell.is_some_and(is_two_mode) {
                    true => "two modes".to_owned(),
                    false => format!("fewer than {FEWEST_ROUNDS} common rounds"),
                };
                (value(cell), format!("slower; no factor: {why}"))
            }
            (Standing::Unranked, Some(cell)) => {
                (value(cell), "too many rounds rejected to rank it".to_owned())
            }
        };
        let when = Some(when.to_owned()).filter(|when| !when.is_empty() && row.cell.is_some());
        let notes: Vec<String> =
            Some(note).filter(|note| !note.is_empty()).into_iter().chain(when).collect();
        Some([purpose.to_owned(), figure, notes.join("; ")])
    }

    /// For processes that have no parent in common, where the first is not for them.
    fn unrelated(&self) -> Option<[String; 3]> {
        let first = self.first()?.cell?;
        let contest = self.survey.small_contest(Survey::is_for_unrelated)?;
        let is_first = contest.ordered().iter().any(|one| std::ptr::eq(one.cell, first));
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
        let cell = contest.winner().cell;
        let mut notes = vec![label(cell)];
        // That a peer's death is noticed is what one expects.
        let spec = self.spec(cell);
        notes.extend(caveats(cell, spec.filter(|spec| spec.on_death != OnClose::Told)));
        if self.contest.as_ref().is_some_and(|usual| usual.basis != contest.basis) {
            notes.push(contest.basis.words());
        }
        Some([purpose.to_owned(), value_of(cell, kind), notes.join(", ")])
    }

    /// The fastest stream, beside that of a UNIX socket.
    fn large(&self) -> Option<[String; 3]> {
        let contest = self.survey.large_contest()?;
        let kind = MetricKind::of(PatternKind::Stream);
        let (size, winner) = (figures::size(contest.size), contest.winner().cell);
        let socket =
            contest.ordered()[1..].iter().find(|one| one.cell.key.mechanism == "unix-stream");
        let beside = socket.and_then(|socket| {
            if !contest.is_behind(socket) {
                return Some(", as fast as a UNIX socket".to_owned());
            }
            let factor = kind.factors(winner, &[socket.cell]).pop()??;
            let words = figures::factor(factor);
            Some(format!(", {} a UNIX socket", words.split(' ').next()?))
        });
        let mut line = self.choice("big messages", Some(contest), kind)?;
        line[2].push_str(&format!(" ({size}{})", beside.unwrap_or_default()));
        Some(line)
    }

    fn table(&self, anchors: &Anchors) -> Table {
        let Some(contest) = &self.contest else { return Table::default() };
        let is_ranked = has_places(self.set);
        let of = |name| Figures::Quantile(name);
        let has_p99 = self.rows.iter().any(|row| row.own(of("p99")) != NONE);
        let larger = self.elsewhere(contest, |key, base| {
            key.pattern == PatternKind::PingPong && key.size_bytes > contest.size && base
        });
        let one_cpu = self.elsewhere(contest, |key, _| {
            (key.pattern, key.size_bytes) == (PatternKind::PingPong, contest.size)
                && key.placement == Placement::SameCpu
                && !contest.basis.placement.is_one_cpu()
        });
        let stream =
            self.elsewhere(contest, |key, base| key.pattern == PatternKind::Stream && base);
        let p50 = |key: Option<&CellKey>| format!("{} p50", size_of(key));
        let mut columns: Vec<(Column, Vec<String>)> = Vec::new();
        let mut add = |column: Column, words: &dyn Fn(&Shown<'a>) -> String| {
            let words: Vec<String> = self.rows.iter().map(words).collect();
            // A column without any figure gives its room to the next.
            if column.rank == 0 || words.iter().any(|words| words != NONE && !words.is_empty()) {
                columns.push((column, words));
            }
        };
        add(Column::text(format!("{} round trip", in_words(contest.size))), &|row| {
            row.cell.map_or_else(|| row.base.to_owned(), marked_label)
        });
        add(Column::number("p50"), &|row| row.own(Figures::Figure).replace(words::TWO_MODES, ""));
        if has_p99 {
            add(Column::number("p99").rank(1), &|row| row.own(of("p99")));
        } else {
            add(Column::number(p50(larger)).rank(1), &|row| self.at(row, larger));
        }
        add(Column::number("one CPU").rank(2), &|row| self.at(row, one_cpu));
        add(Column::number(size_of(stream)).rank(3), &|row| self.at(row, stream));
        add(Column::number("CPU/msg").rank(4), &|row| row.own(Figures::Cpu));
        add(Column::text("dead peer").rank(5), &|row| {
            or_none(row.spec, |spec| {
                match spec.on_death {
                    OnClose::Told => "noticed",
                    OnClose::Late => "late",
                    OnClose::Undetected => "unnoticed",
                }
                .to_owned()
            })
        });
        if is_ranked {
            add(Column::number("times slower").rank(6), &|row| match row.standing {
                Standing::Slower(Some(factor)) => figures::factor(factor),
                _ => NONE.to_owned(),
            });
        }
        if has_p99 {
            add(Column::number(p50(larger)).rank(7), &|row| self.at(row, larger));
        }
        add(Column::text("can").rank(if is_ranked { 8 } else { 1 }), &|row| or_none(row.spec, can));
        if is_ranked {
            add(Column::text(""), &|row| {
                (if row.standing == Standing::AsFast { "=" } else { "" }).to_owned()
            });
        }
        let (columns, words): (Vec<Column>, Vec<Vec<String>>) = columns.into_iter().unzip();
        let rows = self.rows.iter().enumerate().map(|(at, row)| {
            let mut cells: Vec<Words> =
                words.iter().map(|column| Words::from(column[at].as_str())).collect();
            if let (Some(cell), Some(name)) = (row.cell, cells[0].0.first_mut()) {
                name.link = anchors.link(cell);
            }
            // Of two modes both figures are shown.
            let own = row.cell.map(|cell| Alone::alone(cell, ROUND_TRIP));
            if let Some(own) = own.filter(Alone::is_two_mode) {
                let mode = Figures::Figure.second(&own).replace(words::TWO_MODES, "");
                let rounds = format!("or {}", Figures::Mechanism.second(&own).trim());
                for (cell, words) in cells.iter_mut().zip([rounds, mode]) {
                    *cell = std::mem::take(cell).below(Tone::Plain, words);
                }
            }
            let tone = match row.standing {
                Standing::First | Standing::AsFast if is_ranked => Tone::Best,
                Standing::Unranked if is_ranked => Tone::Quiet,
                _ => Tone::Plain,
            };
            let family = row.spec.filter(|_| !is_ranked).map(|spec| spec.family.to_string());
            Row { tone, group: family.unwrap_or_default(), cells, ..Row::default() }
        });
        Table {
            label: "What people choose between".to_owned(),
            groups: "family".to_owned(),
            ..Table::new(columns, rows)
        }
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
        let figure = || {
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
            let cell = self.set.cells.iter().find(is_it)?;
            Some(value_of(cell, MetricKind::of(cell.key.pattern)))
        };
        figure().unwrap_or_else(|| NONE.to_owned())
    }

    /// What stands below the table: its marks, and what is missing in it.
    fn notes(&self) -> Vec<String> {
        let set = self.set;
        let cells = || self.rows.iter().filter_map(|row| row.cell);
        let is_ranked = has_places(set);
        let mut notes = Vec::new();
        if is_ranked && self.rows.iter().any(|row| row.standing == Standing::AsFast) {
            notes.push("= as fast as the first row, as far as this run can tell".to_owned());
        }
        if cells().any(|cell| cell.key.wait == Wait::SpinThenBlock) {
            notes.push(format!(
                "{} spins before it sleeps: fast only if the peer answers at once",
                words::BRIEFLY
            ));
        }
        if cells().any(is_two_mode) {
            notes.push("or in: the other of two modes".to_owned());
        }
        if cells().any(|cell| mark(cell) == words::BATCH) {
            notes.push(format!("{} timed in batches", words::BATCH));
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
                .filter(|cell| lost_its_rounds(cell) && is_ranked)
                .map(|cell| format!("{}: too many rounds rejected to rank it", label(cell))),
        );
        lines.extend(without_p99(set, cells()));
        lines.extend(cells().next().map(|cell| Conditions::of(cell).words()));
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// What to type next, and what is not on this screen.
    fn next(&self, style: &Style) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let mut say = |name, words: String| lines.push((name, words));
        match self.first() {
            Some(first) => {
                say("Your case", "ipcperf choose -s 4K --rate 20k".to_owned());
                let others = || self.rows.iter().filter(|row| row.standing != Standing::First);
                let tcp = others().find(|row| row.base == "tcp" && row.cell.is_some());
                let other = tcp.or_else(|| others().find(|row| row.cell.is_some()));
                let name = |row: &Shown| Some(row.cell?.key.mechanism.clone());
                if let Some((a, b)) = name(first).zip(other.and_then(name)) {
                    say("A or B", format!("ipcperf compare {a} {b}"));
                }
            }
            None if has_places(self.set) => {}
            None => say("Fix first", "ipcperf doctor".to_owned()),
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

/// `pipe, fifo, posix-mq and 4 more`.
fn some(names: &[&str]) -> String {
    let mut named: Vec<String> = names.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
    if names.len() > NAMED {
        named.push(format!("{} more", names.len() - NAMED));
    }
    text::join(&named)
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
