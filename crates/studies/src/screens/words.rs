//! What is said of a study, its figures and its claims, whatever the format.

use crate::replication::{
    ClaimKind, ClaimResult, Published, Replication, RowResult, StudyResult, TableResult,
    TestResult, Verdict,
};
use ipcperf_ask::results::table;
use ipcperf_core::findings::MULTIMODAL;
use ipcperf_core::result::{Metric, Mode};
use ipcperf_render::text;

/// The method of a figure that counts rounds by what they answered.
const ANSWERS: &str = "answers";

/// A figure with as many digits as are read: four at most, and no more than the original would have printed.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        1e9.. => format!("{value:.2e}"),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.01.. => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// Of a figure that is yes or no in each round, in how many it was yes: "11 of 12" says more than 0.917.
fn answers(metric: &Metric) -> Option<String> {
    if metric.method.as_deref() != Some(ANSWERS) {
        return None;
    }
    let count = |least: f64| {
        let counted = metric.modes.iter().filter(|mode| mode.value > least);
        counted.map(|mode| mode.rounds).fold(0, u64::saturating_add)
    };
    match count(f64::NEG_INFINITY) {
        0 => None,
        all => Some(format!("{} of {all}", count(0.5))),
    }
}

/// A figure without its interval.
pub(super) fn bare(metric: &Metric) -> String {
    let one = || metric.value.map(|value| same(metric).unwrap_or_else(|| figure(value)));
    answers(metric).or_else(one).unwrap_or_else(|| "-".into())
}

/// A figure that was the same in all rounds: a whole number then counts something, and has neither decimals nor an interval.
fn same(metric: &Metric) -> Option<String> {
    let value = metric.value.filter(|value| metric.ci95 == Some([*value; 2]))?;
    let is_count = value.fract() == 0.0 && value.abs() < 1e9;
    Some(if is_count { format!("{value:.0}") } else { figure(value) })
}

pub(super) fn with_interval(metric: &Metric) -> String {
    if let Some(counted) = answers(metric) {
        return counted;
    }
    if let Some(one) = same(metric) {
        return one;
    }
    match (metric.value, metric.ci95) {
        (Some(value), Some([low, high])) => {
            format!("{} [{}, {}]", figure(value), figure(low), figure(high))
        }
        (Some(value), None) => figure(value),
        (None, _) => "-".into(),
    }
}

/// How figures of a table were formed, in words.
pub(super) fn statistic(table: &TableResult) -> &str {
    match table.statistic.as_str() {
        "median" => "median over rounds",
        "mean" => "mean over rounds",
        "least" => "smallest of all rounds",
        "merged" => "all rounds together",
        "runs" => "single rounds",
        other => other,
    }
}

pub(super) fn table_title(table: &TableResult) -> String {
    let figures = table.rows.iter().flat_map(|row| &row.measured);
    let mut found = figures.filter(|metric| metric.value.is_some()).peekable();
    if found.peek().is_some() && found.all(|metric| answers(metric).is_some()) {
        return format!("{}, rounds in which it is so", table.title.trim());
    }
    let unit = match table.unit.trim() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    format!("{}{unit} ({})", table.title.trim(), statistic(table))
}

pub(super) fn heading(study: &StudyResult) -> String {
    let date = if study.date.is_empty() { String::new() } else { format!(", {}", study.date) };
    format!("{}: {}{date}", study.name, study.title)
}

/// The machine of this run, and how quiet it was.
pub(super) fn here(document: &Replication, study: &StudyResult) -> String {
    let machine = table::machine(&document.host, &document.kernel);
    match &study.noise {
        None => format!("Here: {machine}."),
        Some(noise) => format!("Here: {machine}. {}", table::grade_words(noise)),
    }
}

/// Rounds that were measured.
pub(super) fn done(study: &StudyResult) -> u64 {
    let rounds = study.arms.iter().flat_map(|arm| &arm.rounds).map(|round| round.round);
    rounds.max().map_or(0, |last| last.saturating_add(1))
}

/// What was run, and what was not.
pub(super) fn how_measured(study: &StudyResult) -> Vec<String> {
    let missing = study.arms.iter().filter(|arm| arm.reason.is_some()).count();
    let arms = text::counted(study.arms.len() as u64, "arm");
    let lacking = match missing {
        0 => String::new(),
        1 => "; 1 has no figures".to_owned(),
        count => format!("; {count} have no figures"),
    };
    let rounds = text::counted(study.rounds, "round");
    let first = format!(
        "At scale {}, {arms} ran in {rounds} and {:.0} s{lacking}.",
        study.scale, study.duration_s
    );
    [first].into_iter().chain(study.cuts.iter().cloned()).collect()
}

/// Arms that differ by their value alone as one: "pipe[4, 16], tcp".
pub(super) fn together(arms: &[&str]) -> String {
    let parts =
        arms.iter().map(|arm| match arm.strip_suffix(']').and_then(|arm| arm.split_once('[')) {
            Some((base, value)) => (base, Some(value)),
            None => (*arm, None),
        });
    let told = text::in_groups(parts).into_iter().map(|(base, values)| {
        let values: Vec<&str> = values.into_iter().flatten().collect();
        if values.is_empty() { base.to_owned() } else { format!("{base}[{}]", values.join(", ")) }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Why arms have no figures, each reason once with the arms it holds for.
pub(super) fn failures(study: &StudyResult) -> Vec<String> {
    let arms = study.arms.iter();
    let lacking = arms.filter_map(|arm| Some((arm.reason.as_deref()?, arm.id.as_str())));
    let told = |(why, arms): (&str, Vec<&str>)| format!("{why} ({})", together(&arms));
    text::in_groups(lacking).into_iter().map(told).collect()
}

/// Whose claims of a kind are.
fn group(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Claim => "The author's claims",
        ClaimKind::Reading => "Readings of the author's tables",
        ClaimKind::Extension => "Our extensions",
        ClaimKind::Check => "Self-checks",
    }
}

/// How many claims of a kind got which verdict: "4 REPRODUCED, 1 DIRECTION"; empty where there are none.
fn tally(claims: &[&ClaimResult], kind: ClaimKind) -> String {
    let count = |verdict: Verdict| {
        claims.iter().filter(|claim| claim.kind == kind && claim.verdict == verdict).count()
    };
    let counts = Verdict::ALL.iter().map(|verdict| (count(*verdict), verdict));
    let words = counts.filter(|(count, _)| *count > 0);
    words.map(|(count, verdict)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
}

/// The claims of a study by their kinds, under whose they are and how many got which verdict.
pub(super) fn groups(study: &StudyResult) -> Vec<(String, Vec<&ClaimResult>)> {
    let all: Vec<&ClaimResult> = study.claims.iter().collect();
    let mut groups = Vec::new();
    for kind in ClaimKind::ALL {
        let mut claims = all.clone();
        claims.retain(|claim| claim.kind == *kind);
        if !claims.is_empty() {
            groups.push((format!("{}: {}", group(*kind), tally(&all, *kind)), claims));
        }
    }
    groups
}

/// The verdicts on all studies together.
pub(super) fn total(document: &Replication) -> String {
    let all: Vec<&ClaimResult> = document.studies.iter().flat_map(|study| &study.claims).collect();
    let count = all.iter().filter(|claim| claim.kind == ClaimKind::Claim).count();
    let kinds = ClaimKind::ALL.iter().map(|kind| (kind, tally(&all, *kind)));
    let kinds = kinds.filter(|(_, tally)| !tally.is_empty());
    let parts: Vec<String> = kinds
        .map(|(kind, tally)| match kind {
            ClaimKind::Claim if count == 1 => format!("One claim: {tally}"),
            ClaimKind::Claim => format!("All {count} claims: {tally}"),
            other if count == 0 => format!("{}: {tally}", group(*other)),
            other => format!("{}: {tally}", group(*other).to_lowercase()),
        })
        .collect();
    parts.join("; ")
}

/// Reasons of figures that are missing in a table, each once; what an arm remarks of readings that it lacks stands for
/// them.
pub(super) fn lacks(table: &TableResult) -> Vec<String> {
    let metrics = table.rows.iter().flat_map(|row| &row.measured);
    let missing = metrics.filter(|metric| metric.value.is_none()).filter_map(|metric| {
        let reason = metric.reason.as_deref()?;
        let remark = reason.split_once(": no reading ").and_then(|(_, rest)| rest.split_once(" ("));
        let remark = remark.and_then(|(_, rest)| rest.strip_suffix(')'));
        Some((remark.unwrap_or(reason), metric))
    });
    let told = |(reason, all): (&str, Vec<&Metric>)| match all.len() {
        1 => reason.to_owned(),
        count => format!("{reason} ({count} figures)"),
    };
    text::in_groups(missing).into_iter().map(told).collect()
}

/// Rows of a table whose rounds fall into two modes, with those of its first figure.
pub(super) fn modes(table: &TableResult) -> Vec<String> {
    let told = |row: &RowResult| {
        let figures = table.columns.iter().zip(&row.measured);
        let (column, modes) = figures
            .filter(|(_, metric)| answers(metric).is_none())
            .map(|(column, metric)| (column, &metric.modes))
            .find(|(_, modes)| modes.len() == 2)?;
        let shown = |mode: &Mode| format!("{} in {} rounds", figure(mode.value), mode.rounds);
        let both: Vec<String> = modes.iter().map(shown).collect();
        let both = text::join(&both);
        Some(format!("{}: two modes, {column} {both}; one of them is shown", row.label))
    };
    table.rows.iter().filter_map(told).collect()
}

/// What the mark behind a verdict means, in one line of 80 columns.
pub(super) const MARKED: &str =
    "* Rounds of an arm fall into two modes: the interval of the claim covers both.";

/// What the signs of a claim mean, in one line of 80 columns each.
const ONE_OF: &str = "(2 of 6): the second of six figures decided. [low, high]: 95 % interval.";
const INTERVAL: &str = "[low, high]: 95 % interval.";

/// The mark behind the verdict of a claim with a figure of an arm whose rounds fall into two modes; of others none.
/// A formula has an arm as `metric(arm)`, and no id has parentheses.
pub(super) fn mark(claim: &ClaimResult, study: &StudyResult) -> &'static str {
    let findings = study.noise.iter().flat_map(|noise| &noise.findings);
    let split = findings.filter(|one| MULTIMODAL.is_of(one)).flat_map(|one| &one.cells);
    let arms: Vec<String> = split.map(|id| format!("({id})")).collect();
    let reads = |test: &TestResult| arms.iter().any(|arm| test.test.contains(arm.as_str()));
    let is_split = claim.tests.iter().any(|test| test.measured.value.is_some() && reads(test));
    if is_split { ipcperf_ask::results::marks::TWO_MODES } else { "" }
}

/// What needs an explanation below the claims of a study.
pub(super) fn legend(study: &StudyResult) -> Vec<&'static str> {
    let any = |is: &dyn Fn(&ClaimResult) -> bool| study.claims.iter().any(is);
    let is_one_of = |claim: &ClaimResult| {
        let words = ClaimWords::with_few(claim, study);
        claim.kind.is_published() && claim.tests.len() > 1 && words.here.len() == 1
    };
    let has_interval =
        |claim: &ClaimResult| claim.tests.iter().any(|test| test.measured.ci95.is_some());
    let has_one_of = any(&is_one_of);
    let lines = [
        (has_one_of, ONE_OF),
        (!has_one_of && any(&has_interval), INTERVAL),
        (any(&|claim| !mark(claim, study).is_empty()), MARKED),
    ];
    lines.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, line)| line).collect()
}

/// Which claims are tested on which rows of a table, rows with the same claims together.
pub(super) fn tested_rows(table: &TableResult) -> Vec<String> {
    let rows = table.rows.iter().filter(|row| !row.claims.is_empty());
    let tested = rows.map(|row| (row.claims.as_slice(), row.label.as_str()));
    let told = |(claims, rows): (&[String], Vec<&str>)| {
        format!("{}: see {}", rows.join("; "), claims.join(", "))
    };
    text::in_groups(tested).into_iter().map(told).collect()
}

/// What is said of a table under it.
pub(super) fn table_notes(table: &TableResult) -> Vec<String> {
    let missing = lacks(table).into_iter().map(|reason| format!("Missing: {reason}"));
    modes(table).into_iter().chain(missing).chain(tested_rows(table)).collect()
}

/// The rows of tables that show what a claim is tested on.
pub(super) fn rows_of(claim: &ClaimResult, study: &StudyResult) -> String {
    let mut parts = Vec::new();
    for table in &study.tables {
        let rows = table.rows.iter().filter(|row| row.claims.contains(&claim.id));
        let rows: Vec<&str> = rows.map(|row| row.label.as_str()).collect();
        match rows.len() {
            0 => {}
            many if many == table.rows.len() => parts.push(format!("'{}'", table.title.trim())),
            _ => parts.push(format!("'{}': {}", table.title.trim(), rows.join(", "))),
        }
    }
    parts.join("; ")
}

/// Numbers of the errata that concern a claim, from 1.
pub(super) fn errata(claim: &ClaimResult, study: &StudyResult) -> Vec<usize> {
    let all = study.errata.iter().zip(1..);
    all.filter(|(one, _)| one.claims.contains(&claim.id)).map(|(_, number)| number).collect()
}

/// "erratum 1", "errata 1 and 3"; empty without any.
pub(super) fn errata_words(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match list.len() {
        0 => String::new(),
        1 => format!("erratum {}", list[0]),
        _ => format!("errata {}", text::join(&list)),
    }
}

/// The text of a claim without a remark in parentheses at its end, and without a capital at its beginning.
pub(super) fn brief(claim: &ClaimResult) -> String {
    let text = claim.text.trim();
    let bare = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(text, _)| text);
    let bare = bare.unwrap_or(text);
    let mut signs = bare.chars();
    match (signs.next(), signs.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(signs).collect()
        }
        _ => bare.to_owned(),
    }
}

/// Whether a claim came out as published because of something that is known to be no property of the mechanisms.
pub(super) fn is_artefact(claim: &ClaimResult) -> bool {
    claim.artefact.is_some() && matches!(claim.verdict, Verdict::Reproduced | Verdict::Direction)
}

/// The test that gave a claim its verdict; of several without a figure the one whose reason is that of the claim.
pub(super) fn deciding(claim: &ClaimResult) -> Option<&TestResult> {
    let decides = |test: &&TestResult| test.verdict == claim.verdict;
    let is_told = |test: &&TestResult| {
        let reason = test.measured.reason.as_deref().filter(|_| test.measured.value.is_none());
        decides(test) && reason.is_some_and(|reason| claim.reason.contains(reason))
    };
    let tests = claim.tests.iter();
    tests.clone().find(is_told).or_else(|| tests.clone().find(decides)).or(claim.tests.first())
}

/// The expression of a test without the parentheses around all of it.
pub(super) fn formula(test: &TestResult) -> &str {
    let inner = test.test.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| is_whole(inner)).unwrap_or(&test.test)
}

/// Whether all parentheses in a text are closed in it.
fn is_whole(text: &str) -> bool {
    let depth = |depth: i32, sign| match sign {
        _ if depth < 0 => depth,
        '(' => depth + 1,
        ')' => depth - 1,
        _ => depth,
    };
    text.chars().fold(0, depth) == 0
}

/// What would be accepted; documents of older builds have a word of the study's file for the side that was published.
pub(super) fn accepted(test: &TestResult) -> &str {
    if test.accept == "report" { "the published side" } else { &test.accept }
}

/// What a table of the author's claims has of each.
pub(super) const TOLD: [&str; 4] = ["claim", "author", "here", "why different"];

/// A claim of an author beside what became of it.
pub(super) struct ClaimWords {
    pub(super) claim: String,
    /// What the figures are that are shown; empty where there is nothing to say.
    pub(super) figure: String,
    /// What was published of them: a number for each figure, or the author's words.
    pub(super) author: Vec<String>,
    /// What was measured, for each figure.
    pub(super) here: Vec<String>,
    pub(super) verdict: String,
    pub(super) cause: String,
    /// Those of the original that concern it.
    pub(super) errata: String,
}

impl ClaimWords {
    /// With the figure that decided.
    pub(super) fn of(claim: &ClaimResult, study: &StudyResult) -> Self {
        let test = deciding(claim);
        let author = match (test.and_then(|test| test.published), &claim.published) {
            (Some(published), _) => published.to_string(),
            (None, Published::Text(words)) => format!("'{}'", words.trim()),
            (None, _) => String::new(),
        };
        Self {
            claim: claim.text.trim().to_owned(),
            figure: test.map(|test| which(claim, test)).unwrap_or_default(),
            author: vec![author],
            here: vec![test.map_or_else(|| "-".into(), |test| with_interval(&test.measured))],
            verdict: format!("{}{}", claim.verdict, mark(claim, study)),
            cause: cause(claim, study),
            errata: match claim.verdict {
                Verdict::Reproduced if !is_artefact(claim) => String::new(),
                _ => errata_words(&errata(claim, study)),
            },
        }
    }

    /// With all figures, where there are few enough of them to be read.
    pub(super) fn with_few(claim: &ClaimResult, study: &StudyResult) -> Self {
        let words = Self::of(claim, study);
        let tests = claim.tests.as_slice();
        let is_whole = tests.iter().all(|test| test.measured.value.is_some());
        if !is_whole || !(2..=FIGURES).contains(&tests.len()) {
            return words;
        }
        let labels: Vec<&str> = tests.iter().map(|test| test.label.trim()).collect();
        let Some(figure) = names(&labels) else { return words };
        let published = tests.iter().map(|test| test.published);
        let author = match published.clone().any(|number| number.is_some()) {
            true => published
                .map(|number| number.map_or_else(|| "-".into(), |number| number.to_string()))
                .collect(),
            false => words.author,
        };
        let here = tests.iter().map(|test| with_interval(&test.measured)).collect();
        Self { figure, author, here, ..words }
    }

    /// What the author says, in one line.
    pub(super) fn published(&self) -> String {
        self.author.join(", ")
    }

    /// What was measured, in one line.
    pub(super) fn measured(&self) -> String {
        self.here.join(", ")
    }

    /// Why it is different here, of an artefact without its cause, which the conclusion has.
    pub(super) fn why_briefly(&self) -> String {
        let is_artefact = self.cause.starts_with(ARTEFACT);
        all_of([if is_artefact { ARTEFACT } else { &self.cause }, &self.errata])
    }

    /// Why it is different here.
    pub(super) fn why(&self) -> String {
        all_of([&self.cause, &self.errata])
    }
}

/// The names of several figures as one, with the parts with which all begin or end only once: "tcp / unix, time, 1; 5; 10",
/// "pipes; eventfd / sockets, p50". None where one of them has no name.
fn names(labels: &[&str]) -> Option<String> {
    if labels.iter().any(|label| label.is_empty()) {
        return None;
    }
    Some(shared_names(labels).unwrap_or_else(|| labels.join("; ")))
}

/// The same, where what is left of each name says what it is.
fn shared_names(labels: &[&str]) -> Option<String> {
    let parts: Vec<Vec<&str>> = labels.iter().map(|label| name_parts(label)).collect();
    let first = parts.first()?;
    let least = parts.iter().map(Vec::len).min()?;
    let begins = |count: usize| parts.iter().all(|parts| parts.get(..count) == first.get(..count));
    let begin = (0..=least).rev().find(|count| begins(*count))?;
    let ending = |parts: &Vec<&str>, count: usize| parts.split_at(parts.len() - count).1.concat();
    let ends =
        |count: usize| parts.iter().all(|parts| ending(parts, count) == ending(first, count));
    let end = (0..=least - begin).rev().find(|count| ends(*count))?;
    let rests = parts.iter().map(|parts| parts.get(begin..parts.len() - end).unwrap_or_default());
    let rests: Vec<String> = rests.map(<[&str]>::concat).collect();
    let rest = match begin {
        0 => rests.join("; "),
        _ => {
            let short = rests.iter().map(|rest| rest.strip_prefix(", "));
            format!(", {}", short.collect::<Option<Vec<_>>>()?.join("; "))
        }
    };
    let is_whole = rests.iter().all(|rest| !rest.is_empty());
    is_whole.then(|| format!("{}{rest}{}", first.split_at(begin).0.concat(), ending(first, end)))
}

/// The parts of a name, each with the sign before it: "tcp", " / unix", ", 64".
fn name_parts(label: &str) -> Vec<&str> {
    let signs = label.match_indices(", ").chain(label.match_indices(" / "));
    let mut at: Vec<usize> = signs.map(|(at, _)| at).chain([0, label.len()]).collect();
    at.sort_unstable();
    at.dedup();
    at.windows(2).filter_map(|pair| label.get(*pair.first()?..*pair.last()?)).collect()
}

/// What a figure of a claim is, and which of several: "UDP / TCP, 64 (2 of 9)".
pub(super) fn which(claim: &ClaimResult, test: &TestResult) -> String {
    let place = claim.tests.iter().position(|one| std::ptr::eq(one, test));
    match (place.filter(|_| claim.tests.len() > 1), test.label.trim()) {
        (None, label) => label.to_owned(),
        (Some(at), label) => {
            let number = format!("{} of {}", at + 1, claim.tests.len());
            if label.is_empty() {
                format!("figure {number}")
            } else {
                format!("{label} ({number})")
            }
        }
    }
}

/// What the cause of an artefact follows.
const ARTEFACT: &str = "an artefact";

/// In a few words, why a claim came out otherwise than its author found it: an artefact, what is known of it, or a limit of
/// this run. Nothing of what is reproduced.
fn cause(claim: &ClaimResult, study: &StudyResult) -> String {
    match claim.verdict {
        _ if is_artefact(claim) => {
            format!("{ARTEFACT}: {}", claim.artefact.as_deref().unwrap_or_default().trim())
        }
        Verdict::Reproduced => String::new(),
        Verdict::Untestable => match deciding(claim) {
            Some(test) if test.measured.value.is_none() => lack(&test.measured),
            _ => claim.reason.clone(),
        },
        Verdict::Inconclusive => undecided(claim, study),
        _ => claim.why.clone().unwrap_or_default(),
    }
}

/// One after the other, without those that say nothing.
fn all_of<const COUNT: usize>(parts: [&str; COUNT]) -> String {
    let parts = parts.map(str::trim).into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// Why a claim is left open, without the name of its figure and without what else is said of its arms.
fn undecided(claim: &ClaimResult, study: &StudyResult) -> String {
    // The conclusion says it once for all of them.
    if study.noise.as_ref().is_some_and(|noise| noise.grade == "F") {
        return String::new();
    }
    let reason = claim.reason.split("; in two modes: ").next().unwrap_or_default();
    let named =
        deciding(claim).map(|test| if test.label.is_empty() { &test.test } else { &test.label });
    let rest = named.and_then(|name| reason.strip_prefix(name.as_str())?.strip_prefix(": "));
    let reason = rest.unwrap_or(reason);
    match reason.strip_prefix("the interval does not decide ") {
        Some(range) => format!("too wide for {range}"),
        None => reason.to_owned(),
    }
}

/// Letters of a claim in a sentence: with the head of the page the sentence fits into twelve lines of 80 columns.
const ROOM: usize = 130;

/// What became of one claim, in a sentence.
pub(super) fn outcome(claim: &ClaimResult, study: &StudyResult) -> String {
    let told = ClaimWords::of(claim, study);
    let text = text::clip(told.claim.trim_end_matches('.'), ROOM, false);
    let figure = match told.figure.as_str() {
        "" => told.measured(),
        figure => format!("{figure}: {}", told.measured()),
    };
    let has_figure = deciding(claim).is_some_and(|test| test.published.is_some());
    let published =
        if has_figure { format!(", published {}", told.published()) } else { String::new() };
    let figure = figure + &published;
    let (cause, errata) = (told.cause.as_str(), told.errata.as_str());
    let in_all = all_of([&figure, cause, errata]);
    match claim.verdict {
        _ if is_artefact(claim) => {
            format!("{text}: as published, but by {cause} ({}).", all_of([&figure, errata]))
        }
        Verdict::Reproduced => format!("{text}: so it is here ({in_all})."),
        Verdict::Direction => format!("{text}: its direction holds here, not its size ({in_all})."),
        Verdict::NotReproduced => format!("{text}: not so here ({in_all})."),
        Verdict::Untestable => format!("{text}: not tested here ({}).", all_of([cause, errata])),
        _ => format!("{text}: left open here ({in_all})."),
    }
}

/// What a table of our own claims has of each.
pub(super) const FOUND: [&str; 3] = ["verdict", "claim", "what was found"];

/// A claim of ours in these columns.
pub(super) fn found(claim: &ClaimResult, study: &StudyResult) -> [String; 3] {
    [format!("{}{}", claim.verdict, mark(claim, study)), claim.id.clone(), finding(claim)]
}

/// Columns of the tests of a claim, and which of them are numbers.
pub(super) const TESTED: [(&str, bool); 6] = [
    ("figure", false),
    ("formula", false),
    ("here", true),
    ("published", true),
    ("accepted", false),
    ("verdict", false),
];

/// One test of a claim, in these columns.
pub(super) fn tested(test: &TestResult) -> [String; 6] {
    [
        test.label.clone(),
        formula(test).to_owned(),
        with_interval(&test.measured),
        test.published.map(|number| number.to_string()).unwrap_or_default(),
        accepted(test).to_owned(),
        test.verdict.to_string(),
    ]
}

/// Figures of a claim that are all shown. Of more, an extension has how far they go, and a claim the one that decided.
const FIGURES: usize = 3;

/// What was found for a claim of ours, in one line.
pub(super) fn finding(claim: &ClaimResult) -> String {
    let text = brief(claim);
    match (deciding(claim), claim.kind) {
        (Some(_), ClaimKind::Check) if claim.verdict == Verdict::Holds => text,
        (Some(test), ClaimKind::Extension) => format!("{text}: {}", measured(claim, test)),
        _ => format!("{text}: {}", claim.reason),
    }
}

/// The figures of an extension, and why the first of those that are missing is.
fn measured(claim: &ClaimResult, test: &TestResult) -> String {
    let found = claim.tests.iter().map(|test| &test.measured);
    let found: Vec<&Metric> = found.filter(|metric| metric.value.is_some()).collect();
    let figures = match found.as_slice() {
        [] => return lack(&test.measured),
        [one] => with_interval(one),
        few if few.len() <= FIGURES => {
            few.iter().map(|metric| bare(metric)).collect::<Vec<_>>().join(", ")
        }
        many => {
            let values = many.iter().filter_map(|metric| metric.value);
            let least = values.clone().fold(f64::INFINITY, f64::min);
            let most = values.fold(f64::NEG_INFINITY, f64::max);
            format!("{} figures, {} to {}", many.len(), figure(least), figure(most))
        }
    };
    match claim.tests.len() - found.len() {
        0 => figures,
        missing => format!("{figures}; {missing} missing: {}", lack(&test.measured)),
    }
}

/// Why there is no figure: the first reason, without the arm, which the figure's name has.
fn lack(metric: &Metric) -> String {
    let reason = metric.reason.as_deref().unwrap_or("no figure");
    let first = reason.split("; ").next().unwrap_or_default();
    first.split_once(": ").map_or(first, |(_, why)| why).to_owned()
}
