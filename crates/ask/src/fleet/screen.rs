//! The page of many hosts.

use super::groups::{DEVIATIONS, FEWEST, HostGroup, LEAST, OWN_SPREAD, Placed, groups};
use super::host::{HostFigure, HostResult};
use ipcperf_judge::figures::{NONE, moment, or_none};
use ipcperf_judge::percent;
use ipcperf_render::doc::{
    Blocks, Cell, Chart, Column, Doc, Layout, Line, Picture, Row, Table, Tone,
};
use ipcperf_render::svg::{Axis, Strip, StripRow};
use ipcperf_render::text::{counted, join};
use std::collections::BTreeMap;

/// Slow hosts that the heading names.
const NAMED: usize = 3;
/// Groups that are drawn, and that have a column of medians.
const DRAWN: usize = 24;
const COLUMNS: usize = 8;
/// Rows of the table of medians.
const MEDIANS: usize = 60;
/// Facts and findings that a slow host is listed with.
const FACTS: usize = 4;

/// All of it.
pub(crate) fn fleet_doc(results: Vec<HostResult>) -> Doc {
    let (groups, older) = groups(results);
    let count = hosts(&groups, |_| true);
    let mut slow: Vec<(&HostGroup, &Placed)> =
        groups.iter().flat_map(|group| group.slow().map(move |host| (group, host))).collect();
    slow.sort_by(|(_, a), (_, b)| {
        b.score.partial_cmp(&a.score).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut doc = Doc::new(headline(&groups, &slow));
    doc.title = format!("ipcperf report: {}", counted(count, "host"));
    doc.picture = picture(&groups);
    let body = &mut doc.body;
    body.table(by_kind(&groups));
    body.section("Slow hosts", |body| body.table(of_slow(&slow)));
    body.section("Medians", |body| medians(&groups, body));
    body.section("All hosts", |body| body.table(all(&groups)));
    body.section("How slow hosts are found", |body| body.list(method(&groups, older)));
    doc
}

/// How many hosts such groups have.
fn hosts(groups: &[HostGroup], is_such: impl Fn(&HostGroup) -> bool) -> u64 {
    groups.iter().filter(|group| is_such(group)).map(|group| group.hosts.len() as u64).sum()
}

/// `25 %`: how much slower a factor is.
fn slower(factor: f64) -> String {
    percent(((factor - 1.0) * 1000.0).round() / 1000.0)
}

fn of_score(host: &Placed) -> f64 {
    host.score.map_or(1.0, f64::exp)
}

fn headline(groups: &[HostGroup], slow: &[(&HostGroup, &Placed)]) -> String {
    let [judged, others] = [true, false].map(|is| hosts(groups, |group| group.is_judged == is));
    if judged == 0 {
        let (hosts, kinds) = (counted(others, "host"), counted(groups.len() as u64, "group"));
        return format!("{hosts} in {kinds} by CPU and kernel: too few to call one of them slow");
    }
    let hosts = counted(judged, "host");
    let by = |(_, host): &(&HostGroup, &Placed)| {
        let share = ((of_score(host) - 1.0) * 100.0).round() / 100.0;
        format!("{} by {}", host.result.host, percent(share))
    };
    let mut names: Vec<String> = slow.iter().take(NAMED).map(by).collect();
    let more = slow.len().saturating_sub(NAMED);
    names.extend((more > 0).then(|| format!("{more} more")));
    let words = match slow.len() {
        0 => format!("None of {hosts} is slow for its CPU and kernel"),
        1 => format!("1 of {hosts} is slow: {}", join(&names)),
        some => format!("{some} of {hosts} are slow: {}", join(&names)),
    };
    match others {
        0 => words,
        others => format!("{words}; {others} more in groups too small to judge"),
    }
}

/// A CPU by its name without what all names have.
fn short(cpu: &str) -> String {
    let words = cpu.split(' ').filter(|word| !["Processor", "CPU", "@"].contains(word));
    let words: Vec<&str> = words.filter(|word| !word.ends_with("GHz")).collect();
    words.join(" ").replace("(R)", "").replace("(TM)", "")
}

/// Every host as a point, by groups.
fn picture(groups: &[HostGroup]) -> Option<Chart> {
    let base = groups.first()?;
    let row = |group: &HostGroup| {
        let rounds = group.behind(base);
        let known: Vec<f64> = rounds.iter().copied().filter(|one| one.is_finite()).collect();
        let slow = group.slow().count();
        let named = group.hosts.iter().enumerate().filter(|(_, host)| host.is_slow);
        Some(StripRow {
            label: format!("{}: {}, {}", group.letter, short(&group.cpu), group.kernel),
            value: ipcperf_stats::median(&known)?,
            named: named.map(|(at, host)| (at, host.result.host.clone())).collect(),
            words: match slow {
                0 => counted(group.hosts.len() as u64, "host"),
                slow => format!("{}, {slow} slow", counted(group.hosts.len() as u64, "host")),
            },
            rounds,
            ..StripRow::default()
        })
    };
    let rows: Vec<StripRow> = groups.iter().take(DRAWN).filter_map(row).collect();
    let more = groups.len().saturating_sub(DRAWN);
    let title = format!("Times of each host relative to the median of group {}", base.letter);
    let label = format!("{title}: {}.", counted(rows.len() as u64, "group"));
    let more = match more {
        0 => String::new(),
        more => format!(" {} more are in the table.", counted(more as u64, "group")),
    };
    (!rows.is_empty()).then(|| Chart {
        title,
        note: format!(
            "A point is a host: the median over its cells. Further right is slower. The line is the median of the group; a \
             ring is a slow host.{more}"
        ),
        picture: Some(Picture::Strip(Strip { label, axis: Axis::plain("", factor), rows })),
        ..Chart::default()
    })
}

/// A factor at an axis.
fn factor(value: f64) -> String {
    let digits = format!("{value:.3}");
    format!("{}x", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn by_kind(groups: &[HostGroup]) -> Table {
    let columns = [
        Column::text("group"),
        Column::text("CPU"),
        Column::text("kernel"),
        Column::number("hosts"),
        Column::number("slow"),
        Column::number("at grade F"),
    ];
    let row = |group: &HostGroup| {
        let slow = if group.is_judged { group.slow().count().to_string() } else { NONE.to_owned() };
        let noisy = group.hosts.iter().filter(|host| host.result.grade == "F").count();
        Row::new([
            group.letter.clone(),
            group.cpu.clone(),
            group.kernel.clone(),
            group.hosts.len().to_string(),
            slow,
            noisy.to_string(),
        ])
    };
    let table = Table::new(columns, groups.iter().map(row));
    Table { label: "Hosts by CPU and kernel".to_owned(), ..table }
}

fn of_slow(slow: &[(&HostGroup, &Placed)]) -> Table {
    let columns = [
        Column::text("host"),
        Column::text("group"),
        Column::text("slower by"),
        Column::text("furthest behind in"),
        Column::text("other than most of its group"),
        Column::text("findings"),
    ];
    let row = |(group, host): &(&HostGroup, &Placed)| {
        let worst = host.worst.as_ref();
        let worst = or_none(worst, |(name, factor)| format!("{name}, {}", slower(*factor)));
        let mut unusual = group.unusual(host);
        let more = unusual.len().saturating_sub(FACTS);
        unusual.truncate(FACTS);
        unusual.extend((more > 0).then(|| counted(more as u64, "more fact")));
        let lines: Vec<Line> = unusual.into_iter().map(Line::from).collect();
        Row::new([
            Cell::from(Line::from(host.result.host.as_str()).to(address(host))),
            Cell::from(group.letter.as_str()),
            Cell::from(slower(of_score(host))),
            Cell::from(worst),
            if lines.is_empty() { Cell::from(NONE) } else { Cell(lines) },
            Cell::from(findings(host)),
        ])
    };
    let table = Table::new(columns, slow.iter().map(row));
    Table { label: "Slow hosts".to_owned(), ..table.layout(Layout::Flow) }
}

fn findings(host: &Placed) -> String {
    match host.result.findings.as_slice() {
        [] => NONE.to_owned(),
        all if all.len() <= FACTS => all.join(" "),
        all => format!("{} and {} more", all[..FACTS].join(" "), all.len() - FACTS),
    }
}

fn address(host: &Placed) -> String {
    format!("host-{}", host.result.host)
}

/// The median over hosts of each cell, by groups.
fn medians(groups: &[HostGroup], body: &mut Blocks) {
    let shown = &groups[..groups.len().min(COLUMNS)];
    // What most hosts have comes first.
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for host in groups.iter().flat_map(|group| &group.hosts) {
        host.result.cells.keys().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    let mut names: Vec<(&String, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = names.len().saturating_sub(MEDIANS);
    names.truncate(MEDIANS);
    let columns = std::iter::once(Column::text("cell"))
        .chain(shown.iter().map(|group| Column::number(group.letter.clone())));
    let words = |one: &HostFigure| one.kind.words(one.value, one.size);
    let row = |(name, _): &(&String, usize)| {
        let figures = shown.iter().map(|group| or_none(group.medians.get(*name), words));
        Row::new(std::iter::once((*name).clone()).chain(figures))
    };
    let table = Table::new(columns, names.iter().map(row));
    body.table(Table { label: "Medians over hosts".to_owned(), ..table });
    let groups = groups.len() - shown.len();
    let hidden = [(groups, "more group"), (more, "more cell")];
    let hidden = hidden.into_iter().filter(|(count, _)| *count > 0);
    let hidden: Vec<String> = hidden.map(|(count, what)| counted(count as u64, what)).collect();
    if !hidden.is_empty() {
        let words = format!("Not shown: {} (--format csv has all).", join(&hidden));
        body.say(Tone::Quiet, words);
    }
}

fn all(groups: &[HostGroup]) -> Table {
    let columns = [
        Column::whole("host"),
        Column::whole("group"),
        Column::number("of its group"),
        Column::whole("kernel"),
        Column::whole("noise"),
        Column::whole("measured (UTC)"),
        Column::text("findings"),
    ];
    let row = |group: &HostGroup, host: &Placed| {
        let of_group = Line::from(or_none(host.score, |score| format!("{:.3}x", score.exp())));
        let cells = [
            Cell::from(Line::from(host.result.host.as_str())),
            Cell::from(group.letter.as_str()),
            Cell::from(of_group.worth(host.score.map(f64::exp))),
            Cell::from(host.result.kernel.as_str()),
            Cell::from(host.result.grade.as_str()),
            Cell::from(moment(&host.result.started_utc)),
            Cell::from(findings(host)),
        ];
        Row { anchor: address(host), ..Row::new(cells) }
    };
    let hosts =
        groups.iter().flat_map(|group| group.hosts.iter().map(move |host| row(group, host)));
    let table = Table::new(columns, hosts);
    Table { label: "All hosts".to_owned(), is_searched: true, ..table }
}

fn method(groups: &[HostGroup], older: usize) -> Vec<String> {
    let mut lines = vec![
        "A host is compared with hosts of its CPU and kernel. Its figure is the median over its cells of its time relative \
         to the median of the group; a rate counts as its inverse."
            .to_owned(),
        format!(
            "A host is slow if that is more than {DEVIATIONS} robust standard deviations (from the median absolute deviation) \
             above the middle of the group, and at least {}.",
            percent(LEAST)
        ),
        format!(
            "A group of {OWN_SPREAD} hosts has a spread of its own. Smaller groups of at least {FEWEST} hosts share one, if \
             they have {OWN_SPREAD} hosts together."
        ),
    ];
    let unjudged = groups.iter().filter(|group| !group.is_judged);
    let unjudged: Vec<String> = unjudged.map(|group| group.letter.clone()).collect();
    if !unjudged.is_empty() {
        lines.push(format!("Too few hosts to find a slow one: group {}.", join(&unjudged)));
    }
    let all = || groups.iter().flat_map(|group| &group.hosts);
    let unnamed = all().filter(|host| !host.result.is_named).count();
    if unnamed > 0 {
        let results = counted(unnamed as u64, "result");
        lines.push(format!("Without the label host a host has the name of its file: {results}."));
    }
    if older > 0 {
        let results = counted(older as u64, "older result");
        lines.push(format!("Of each host only the latest result is shown: {results} left out."));
    }
    lines
}
