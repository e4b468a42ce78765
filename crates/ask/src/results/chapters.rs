//! Cells in the order in which they are read: by pattern and waiting class, then by where and how they ran, then by
//! size, then by their ratio to the reference. Spinning and blocking mechanisms are never compared.

use crate::results::fittest::fitness;
use crate::results::{advice, marks};
use ipcperf_core::result::{Cell, Metric, ResultSet, Status};
use ipcperf_core::{Ends, Idle, Load, PatternKind, Placement, Seat, Touch, Wait};
pub(crate) use ipcperf_judge::label::{curve, label, name};
use ipcperf_judge::{
    Choice, MetricKind, Reading, Relation, Relations, lost_its_rounds, lost_too_much, margin,
};
use ipcperf_kit::document::Specs;
use ipcperf_render::text;
use std::collections::{BTreeMap, HashMap};

/// All measured cells of one pattern and waiting class.
pub(crate) struct Chapter<'a> {
    pub(crate) pattern: PatternKind,
    /// Each end keeps a CPU busy.
    pub(crate) is_spinning: bool,
    /// What its rows are compared by.
    pub(crate) kind: MetricKind,
    pub(crate) sections: Vec<Section<'a>>,
}

impl<'a> Chapter<'a> {
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }

    /// Whether this is so of one of its cells.
    pub(crate) fn has(&self, is_so: impl Fn(&Cell) -> bool) -> bool {
        self.blocks().flat_map(|block| &block.rows).any(|row| is_so(row.cell))
    }

    /// The heading of a self. Where it matters it says whether replies hold back what is sent next.
    pub(crate) fn title(&self) -> String {
        let is_loaded = self.has(|cell| !cell.key.load.is_plain());
        let facts = self.pattern.facts();
        let what = match self.kind {
            MetricKind::Cpu => format!("CPU per {}", facts.cost_of),
            MetricKind::Primary(_) if is_loaded => format!("{}{}", facts.title, facts.when_loaded),
            MetricKind::Primary(_) | MetricKind::P99 | MetricKind::P999 | MetricKind::Above(_) => {
                facts.title.to_owned()
            }
        };
        let who = match self.is_spinning {
            false => "blocking mechanisms",
            true => "busy-waiting mechanisms (a CPU for each end)",
        };
        format!("{what}, {who}")
    }
}

/// Cells of a chapter that ran in the same place and way.
pub(crate) struct Section<'a> {
    pub(crate) way: Conditions,
    /// By message size, smallest first.
    pub(crate) blocks: Vec<Block<'a>>,
}

/// Where and how cells ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Conditions {
    place_order: usize,
    pub(crate) placement: Placement,
    pub(crate) cpus: Vec<usize>,
    pub(crate) idle: Idle,
    pub(crate) touch: Touch,
    /// Several processes on one side.
    is_fan: bool,
    /// What the pattern is asked to do beyond that: as numbers, so that 10 comes after 5, and in words.
    load_order: Vec<u64>,
    load: Vec<String>,
}

/// Cells that are compared: of one size and load, and of a fan of one number of peers. Of an open loop one curve: loads
/// of one mechanism, not compared.
pub(crate) struct Block<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    /// The cell that the others are compared with; `None` where fewer than two cells can be compared.
    pub(crate) reference: Option<&'a Cell>,
    /// The reference was chosen by the rounds that the ratios come from.
    pub(crate) is_chosen_by_same_rounds: bool,
}

/// A cell and its relation to the reference.
pub(crate) struct Row<'a> {
    pub(crate) cell: &'a Cell,
    /// `None`: the floor, an untouched payload, a cell that lost too much or has no figure to be compared by, and one with
    /// nothing to be compared with.
    pub(crate) relation: Option<Relation>,
    /// Ratios within this do not matter.
    pub(crate) margin: f64,
    /// It is the one to use, as far as its figures decide.
    pub(crate) is_best: bool,
    pub(crate) is_floor: bool,
    /// What it is compared by.
    pub(crate) kind: MetricKind,
}

impl Conditions {
    pub(crate) fn of(cell: &Cell) -> Self {
        // Peers, channels, connections that stay and rates have a column of their own, and a curve is one table.
        let facts = cell.key.pattern.facts();
        let is_connected = facts.ends == Ends::Connected;
        let load = Load {
            peers: 0,
            conns: if is_connected { 0 } else { cell.key.load.conns },
            rate: cell.key.load.rate.filter(|_| !facts.is_open),
            think_ns: 0,
            burst: 0,
            window: 0,
            channels: 0,
            writers: 0,
            readers: 0,
            // Other ends stand beside our own.
            ..cell.key.load.with_ours()
        };
        Self {
            place_order: place_order(cell.key.placement),
            placement: cell.key.placement,
            cpus: cell.key.cpus.clone(),
            idle: cell.key.idle,
            touch: cell.key.touch,
            is_fan: cell.key.pattern.is_shared(),
            load_order: load.order(),
            load: load.words(),
        }
    }

    /// Whether nothing but the CPUs, which were named for both, tells it from another.
    pub(crate) fn differs_in_named_cpus(&self, other: &Self) -> bool {
        let named = |way: &Self| way.placement.named().is_some() && !way.is_fan;
        named(self) && named(other) && self.conditions() == other.conditions()
    }

    /// `CPUs 0 and 1 (same-llc), idle as-is, touch cacheline`.
    pub(crate) fn words(&self) -> String {
        let cpus: Vec<String> = self.cpus.iter().take(8).map(ToString::to_string).collect();
        let one = self.placement.is_one_cpu() || cpus.len() == 1;
        let place = match (self.placement, cpus.is_empty()) {
            (Placement::Free, _) => "not pinned (free)".to_owned(),
            (Placement::OneEnd { seat, cpu }, _) => {
                let (pinned, other) = match seat {
                    Seat::Lead => ("lead", "follow"),
                    Seat::Follow => ("follow", "lead"),
                };
                format!("{pinned} on CPU {cpu}, {other} not pinned")
            }
            (Placement::Cpus { lead, follow }, _) if !self.is_fan && !one => {
                format!("lead on CPU {lead}, follow on CPU {follow}")
            }
            (place, true) => place.to_string(),
            (place, false) if one && self.is_fan => format!("all on CPU {} ({place})", cpus[0]),
            (place, false) if self.is_fan => {
                format!("all peers on one of CPUs {} ({place})", text::join(&cpus))
            }
            (place, false) if one => format!("both ends on CPU {} ({place})", cpus[0]),
            (place, false) => format!("CPUs {} ({place})", text::join(&cpus)),
        };
        format!("{place}, {}", self.conditions())
    }

    /// All but where: `idle as-is, touch cacheline`.
    pub(crate) fn conditions(&self) -> String {
        let load: String = self.load.iter().map(|word| format!(", {word}")).collect();
        format!("idle {}, touch {}{load}", self.idle, self.touch)
    }
}

/// Counts that only say that an end did what it does by nature.
const ROUTINE: [&str; 3] = ["sleeps", "wake-ups", "EINPROGRESS"];

impl<'a> Row<'a> {
    /// A row that is compared with nothing.
    pub(crate) const fn alone(cell: &'a Cell, kind: MetricKind) -> Self {
        Self { cell, relation: None, margin: 0.0, is_best: false, is_floor: false, kind }
    }

    /// The metric that it is compared by.
    pub(crate) fn metric(&self) -> Option<&Metric> {
        self.kind.of_cell(self.cell)
    }

    /// `udp lost 12 of 30,000 messages`, `seqlock counted 7 torn reads`; `None` where every message arrived and
    /// nothing else was counted. What is routine is left to a `verbose` reader.
    pub(crate) fn remark(&self, verbose: bool) -> Option<String> {
        let Cell { lost, messages, ref events, .. } = *self.cell;
        let mut remarks = Vec::new();
        if let Some(connect) = self.cell.connect.as_ref().filter(|_| lost > 0) {
            let classes: Vec<_> = connect
                .errors
                .iter()
                .map(|(class, count)| format!("{} {class}", text::grouped(*count)))
                .collect();
            let all = text::counted(connect.asked, "request");
            remarks.push(format!(
                "failed {} of {all}: {}",
                text::grouped(lost),
                text::join(&classes)
            ));
        } else if let Some(serve) = self.cell.serve.as_ref().filter(|_| lost > 0) {
            let classes: Vec<_> = serve
                .errors
                .iter()
                .map(|(class, count)| format!("{} {class}", text::grouped(*count)))
                .collect();
            let all = text::counted(serve.asked, "request");
            let failed = text::grouped(lost);
            remarks.push(format!("failed {failed} of {all}: {}", text::join(&classes)));
        } else if lost > 0 {
            // Messages are those that arrived; sent were these and the lost ones.
            let all = text::counted(messages.saturating_add(lost), "message");
            remarks.push(format!("lost {} of {all}", text::grouped(lost)));
        }
        if lost_too_much(self.cell) && is_ranked(self.cell) {
            remarks.iter_mut().for_each(|lost| lost.push_str(" (too many to compare)"));
        }
        if lost_its_rounds(self.cell) && is_ranked(self.cell) {
            remarks.push("had too many rounds rejected to compare".to_owned());
        }
        let not_at_once = self.cell.connect.iter().flat_map(|connect| &connect.not_at_once);
        let counted: Vec<_> = events
            .iter()
            .chain(not_at_once)
            .filter(|(name, _)| verbose || !ROUTINE.contains(&name.as_str()))
            .filter(|(_, count)| **count > 0)
            .map(|(name, count)| format!("{} {name}", text::grouped(*count)))
            .collect();
        if !counted.is_empty() {
            remarks.push(format!("counted {}", text::join(&counted)));
        }
        (!remarks.is_empty()).then(|| format!("{} {}", label(self.cell), remarks.join(" and ")))
    }

    /// Whether its rounds fell into two modes.
    pub(crate) fn is_two_mode(&self) -> bool {
        self.metric().is_some_and(|metric| metric.modes.len() > 1)
    }
}

/// Two CPUs first (the nearest pair first), since that is what two processes normally get.
pub(crate) fn place_order(placement: Placement) -> usize {
    match placement {
        Placement::SameLlc => 0,
        Placement::Smt => 1,
        Placement::CrossLlc => 2,
        Placement::CrossNode => 3,
        Placement::PCores => 4,
        Placement::ECores => 5,
        Placement::CrossKind => 6,
        Placement::Cpus { lead, follow } if lead != follow => 7,
        Placement::SameCpu | Placement::Cpus { .. } => 8,
        Placement::Free | Placement::OneEnd { .. } => 9,
    }
}

/// Whether a mechanism only measures the harness, so that it must not win anything.
pub(crate) fn is_floor(mechanism: &str, specs: &Specs) -> bool {
    match specs(mechanism) {
        Some(spec) => spec.is_floor(),
        None => mechanism.split('/').next() == Some("null"),
    }
}

/// Whether the policy makes both sides read or write all of the payload's cache lines. Where it does not, a message
/// that moves by reference costs the same at any size, so that no order among mechanisms means anything.
pub(crate) const fn is_touched(touch: Touch) -> bool {
    match touch {
        Touch::None | Touch::Header => false,
        Touch::CacheLine | Touch::Full | Touch::Copy => true,
    }
}

/// Whether the figure of a cell says something beside those of others.
pub(crate) fn is_comparable(cell: &Cell) -> bool {
    is_touched(cell.key.touch) && !lost_too_much(cell)
}

/// The label as it stands in a table, with the mark of what spins for a moment before it sleeps: where the peer is quick
/// it is as fast as a spinning one, and costs as much CPU.
pub(crate) fn marked_label(cell: &Cell) -> String {
    marked(cell, label(cell))
}

/// The name with that mark.
pub(crate) fn marked_name(cell: &Cell) -> String {
    marked(cell, name(cell))
}

fn marked(cell: &Cell, words: String) -> String {
    match cell.key.wait {
        Wait::SpinThenBlock => format!("{words} {}", marks::BRIEFLY),
        _ => words,
    }
}

/// Sorts the measured cells of a result set: by what their pattern is about, then by what they cost.
pub(crate) fn chapters<'a>(set: &'a ResultSet, specs: &Specs) -> Vec<Chapter<'a>> {
    let mut chapters = by(set, specs, &MetricKind::of, &|sections| sections.collect());
    chapters.extend(costs(set, specs));
    chapters
}

/// Leaves the first rows of each block; a curve of loads is whole.
pub(crate) fn keep_top(chapters: &mut [Chapter], rows: Option<usize>) {
    let Some(rows) = rows else { return };
    let ranked = chapters.iter_mut().filter(|chapter| !chapter.pattern.facts().is_open);
    let sections = ranked.flat_map(|chapter| &mut chapter.sections);
    sections.flat_map(|section| &mut section.blocks).for_each(|block| block.rows.truncate(rows));
}

/// The tables of CPU time, where there are rivals: every figure stands in the other tables already. A survey shows
/// those of the first place alone, which is what most programs get.
fn costs<'a>(set: &'a ResultSet, specs: &Specs) -> Vec<Chapter<'a>> {
    let most = if set.invocation.plan.command == "survey" { 1 } else { usize::MAX };
    let with_rivals = |mut section: Section<'a>| {
        let rivals = |block: &Block| block.rows.iter().filter(|row| row.relation.is_some()).count();
        section.blocks.retain(|block| rivals(block) > 1);
        (!section.blocks.is_empty()).then_some(section)
    };
    let shown = |sections: &mut dyn Iterator<Item = Section<'a>>| {
        sections.filter_map(with_rivals).take(most).collect()
    };
    by(set, specs, &|_| MetricKind::Cpu, &shown)
}

/// Which of the sections of a chapter are shown; those that are not taken are not made.
type Shown<'f, 'a> = &'f dyn Fn(&mut dyn Iterator<Item = Section<'a>>) -> Vec<Section<'a>>;

fn by<'a>(
    set: &'a ResultSet,
    specs: &Specs,
    kind: &dyn Fn(PatternKind) -> MetricKind,
    shown: Shown<'_, 'a>,
) -> Vec<Chapter<'a>> {
    let mut chapters = Vec::new();
    for pattern in PatternKind::ALL {
        let kind = kind(*pattern);
        for is_spinning in [false, true] {
            let ways = ways(&measured(set, *pattern, is_spinning)).into_iter();
            let blocks = |here: &[&'a Cell]| blocks(set, here, specs, kind);
            let sections =
                shown(&mut ways.map(|(way, here)| Section { blocks: blocks(&here), way }));
            if !sections.is_empty() {
                chapters.push(Chapter { pattern: *pattern, is_spinning, kind, sections });
            }
        }
    }
    chapters
}

fn measured(set: &ResultSet, pattern: PatternKind, is_spinning: bool) -> Vec<&Cell> {
    set.cells
        .iter()
        .filter(|cell| cell.status == Status::Ok && cell.key.pattern == pattern)
        .filter(|cell| cell.key.wait.burns_cpu() == is_spinning)
        .collect()
}

fn ways<'a>(cells: &[&'a Cell]) -> BTreeMap<Conditions, Vec<&'a Cell>> {
    let mut ways: BTreeMap<Conditions, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        ways.entry(Conditions::of(cell)).or_default().push(cell);
    }
    ways
}

fn blocks<'a>(
    set: &'a ResultSet,
    cells: &[&'a Cell],
    specs: &Specs,
    kind: MetricKind,
) -> Vec<Block<'a>> {
    kinds(cells).into_iter().map(|(_, here)| block(set, here.into_iter(), specs, kind)).collect()
}

/// How many stand on the other side, and what they are: peers of a fan, or connections that stay.
fn many(cell: &Cell) -> (u64, &'static str) {
    match cell.key.pattern.facts().ends {
        // In this order, and no other number of producers and consumers is the same.
        Ends::Grid => (cell.key.load.writers << 32 | cell.key.load.readers, "process"),
        Ends::Connected => (cell.key.load.conns, "connection"),
        Ends::Pair => (cell.key.load.channels, "channel"),
        _ => (cell.key.load.peers, "peer"),
    }
}

/// The same in words, where there are any.
pub(crate) fn many_words(cell: &Cell) -> Option<String> {
    if cell.key.pattern.facts().ends == Ends::Grid {
        let load = &cell.key.load;
        let [producers, consumers] = [(load.writers, "producer"), (load.readers, "consumer")]
            .map(|(count, what)| text::counted(count, what));
        return Some(format!("{producers}, {consumers}"));
    }
    let (count, what) = many(cell);
    (count > 0).then(|| text::counted(count, what))
}

/// Size, peers or connections that stay, and what else makes two cells no rivals: eight peers of one object are none of two,
/// nor is one that pauses of one that does not.
type Kind = (u64, u64, String);

/// Cells that are rivals, the smallest first.
fn kinds<'a>(cells: &[&'a Cell]) -> Vec<(Kind, Vec<&'a Cell>)> {
    let of = |cell: &Cell| match cell.key.pattern.facts().is_open {
        true => (cell.key.size_bytes, 0, label(cell)),
        false => {
            let (many, _) = many(cell);
            (cell.key.size_bytes, many, curve(&cell.key.load).words().join(" "))
        }
    };
    // Loads and mechanisms stay in the order in which they were asked for.
    let mut places: HashMap<Kind, usize> = HashMap::new();
    let mut kinds: Vec<(Kind, Vec<&Cell>)> = Vec::new();
    for cell in cells {
        let kind = of(cell);
        let at = *places.entry(kind.clone()).or_insert(kinds.len());
        if at == kinds.len() {
            kinds.push((kind, Vec::new()));
        }
        kinds[at].1.push(cell);
    }
    kinds.sort_by_key(|((size, peers, _), _)| (*size, *peers));
    kinds
}

fn block<'a>(
    set: &'a ResultSet,
    cells: impl Iterator<Item = &'a Cell>,
    specs: &Specs,
    kind: MetricKind,
) -> Block<'a> {
    let mut listed: Vec<(&Cell, Reading)> = Vec::new();
    let mut others = Vec::new();
    for cell in cells {
        let is_floor = is_floor(&cell.key.mechanism, specs);
        let is_listed = !is_floor && is_ranked(cell) && is_comparable(cell);
        match kind.reading(cell, &set.clock).filter(|_| is_listed) {
            Some(reading) => listed.push((cell, reading)),
            None => others.push(Row { is_floor, ..Row::alone(cell, kind) }),
        }
    }
    // Cells without a ratio stay in this order.
    listed.sort_by(|(a, own), (b, other)| {
        let by_value = kind.order(own.value, other.value);
        by_value.then_with(|| a.key.mechanism.cmp(&b.key.mechanism))
    });
    let fit = |cell: &Cell| fitness(specs(&cell.key.mechanism));
    let margin = margin(&set.invocation.plan);
    let Some(relations) = Relations::of(kind, &listed, fit, margin) else {
        return Block { rows: others, reference: None, is_chosen_by_same_rounds: false };
    };
    let relations = relations.at_grade(&set.noise.grade);
    let best = match relations.choice() {
        Choice::Use { cell, .. } if advice::has_places(set) => Some(cell),
        _ => None,
    };
    let has_rivals = listed.len() > 1;
    let row = |at: usize| Row {
        relation: has_rivals.then(|| relations.relation(at)),
        margin,
        is_best: best == Some(at),
        ..Row::alone(listed[at].0, kind)
    };
    Block {
        rows: relations.order().into_iter().map(row).chain(others).collect(),
        reference: has_rivals.then(|| listed[relations.reference()].0),
        is_chosen_by_same_rounds: relations.is_chosen_by_same_rounds(),
    }
}

/// An open loop asks for a load; what is best at another load says nothing.
fn is_ranked(cell: &Cell) -> bool {
    !cell.key.is_open()
}

/// Cells without a number, grouped by why.
pub(crate) struct Unmeasured {
    pub(crate) status: Status,
    pub(crate) reason: String,
    pub(crate) placements: Vec<Placement>,
    pub(crate) mechanisms: Vec<String>,
    pub(crate) cells: usize,
}

/// Groups the cells that have no number by status and reason, in the order of the document.
pub(crate) fn unmeasured(set: &ResultSet) -> Vec<Unmeasured> {
    let mut groups: Vec<Unmeasured> = Vec::new();
    for cell in set.cells.iter().filter(|cell| cell.status != Status::Ok) {
        let reason = cell.reason.as_deref().unwrap_or("no reason given");
        let known = groups
            .iter_mut()
            .position(|group| group.status == cell.status && group.reason == reason);
        let at = known.unwrap_or(groups.len());
        if known.is_none() {
            groups.push(Unmeasured {
                status: cell.status,
                reason: reason.to_owned(),
                placements: Vec::new(),
                mechanisms: Vec::new(),
                cells: 0,
            });
        }
        let group = &mut groups[at];
        group.cells += 1;
        if !group.placements.contains(&cell.key.placement) {
            group.placements.push(cell.key.placement);
        }
        if !group.mechanisms.contains(&cell.key.mechanism) {
            group.mechanisms.push(cell.key.mechanism.clone());
        }
    }
    groups
}

impl Unmeasured {
    /// `unavailable: posix-mq and posix-mq/epoll (4 cells)`. The placement is named where the set has others.
    pub(crate) fn who(&self, set: &ResultSet) -> String {
        let everywhere = set.cells.iter().all(|cell| self.placements.contains(&cell.key.placement));
        let place = match self.placements.as_slice() {
            [only] if !everywhere => format!(" on {only:#}"),
            _ => String::new(),
        };
        let cells = match self.cells {
            count if count > self.mechanisms.len() => {
                format!(" ({})", text::counted(count as u64, "cell"))
            }
            _ => String::new(),
        };
        let who = text::join(&self.mechanisms);
        format!("{}: {who}{place}{cells}", self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::growth::{MOST, TIMES, ratio};
    use crate::testing::sample;
    use crate::testing::sample::{Build, TWO, cell, set};

    #[test]
    fn many_sizes_take_time_in_proportion_to_their_number() {
        let of = |cells: u64| {
            let row = |size| cell("pipe", size, TWO).rtt(71_000.0, 500.0);
            set((1..=cells).map(row).collect())
        };
        let ratio = ratio(&of(500), &of(500 * TIMES), |set| {
            let blocks = chapters(set, &sample::spec)[0].sections[0].blocks.len();
            assert_eq!(blocks, set.cells.len());
        });
        assert!(ratio < MOST, "{ratio:.1} times as long");
    }
}
