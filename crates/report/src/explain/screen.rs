//! The screen that explains a round trip, or the difference of two.

use super::parts::{Part, Rounds, Trip, beyond, figure};
use crate::Specs;
use crate::chapters::label;
use crate::figures::{self, NONE};
use crate::format::Style;
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::rank::Yardstick;
use crate::table::grade_words;
use crate::text;
use ipcperf_core::result::{CallTime, Cell, Metric, ResultSet, Status};
use ipcperf_core::{PatternKind, Placement, Wait};
use std::collections::BTreeMap;
use std::io;

/// Rows of what one change at a time brings, unless all are asked for.
const CHANGES: usize = 8;

/// Writes where the time of the round trips goes that a document was made to explain.
pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(out, style);
    let mut names: Vec<String> = Vec::new();
    for cell in explained(set) {
        if !names.contains(&cell.key.mechanism) {
            names.push(cell.key.mechanism.clone());
        }
    }
    let of = |name: &String| {
        let cells = explained(set).filter(|cell| cell.key.mechanism == *name);
        let measured = cells.filter(|cell| cell.status == Status::Ok);
        measured.map(|cell| Trip::of(set, specs, cell)).collect::<Vec<_>>()
    };
    let columns: Vec<Vec<Trip>> = names.iter().map(of).collect();
    head(&mut page, set, &names, &columns)?;
    match columns.as_slice() {
        [one] => single(&mut page, one)?,
        [a, b, ..] => double(&mut page, &names, a, b)?,
        [] => {}
    }
    calls(&mut page, columns.iter().filter_map(|all| all.first()))?;
    match columns.as_slice() {
        [one] => changes(&mut page, set, one),
        _ => Ok(()),
    }
}

/// The round trips that are to be explained: they stand before all arms.
fn explained(set: &ResultSet) -> impl Iterator<Item = &Cell> {
    set.cells.iter().take_while(|cell| cell.key.pattern == PatternKind::PingPong)
}

fn head(
    page: &mut Page,
    set: &ResultSet,
    names: &[String],
    columns: &[Vec<Trip>],
) -> io::Result<()> {
    for (name, trips) in names.iter().zip(columns) {
        let each = trips.iter().map(|trip| {
            let time = shown(&figure(&trip.whole));
            format!("{time} on {}", place(trip.cell.key.placement))
        });
        let each: Vec<String> = each.collect();
        let size = trips.first().map_or(0, |trip| trip.cell.key.size_bytes);
        let words = match each.as_slice() {
            [] => "no round trip was measured".to_owned(),
            all => format!("{} there and back in {}", figures::size(size), text::join(all)),
        };
        page.paragraph(Tone::Title, "", &format!("{name}: {words}"))?;
    }
    for cell in explained(set).filter(|cell| cell.status != Status::Ok) {
        let reason = cell.reason.as_deref().unwrap_or("not measured");
        page.paragraph(Tone::Doubt, "", &format!("{}: {reason}", cell.id))?;
    }
    let rounds = columns.iter().flatten().map(|trip| trip.whole.len()).max().unwrap_or(0);
    let words = format!(
        "{}, all arms in each, in random order. {}",
        text::counted(rounds as u64, "round"),
        grade_words(&set.noise)
    );
    page.paragraph(Tone::Plain, "", &words)
}

fn place(place: Placement) -> String {
    match place {
        place if place.is_one_cpu() => "one CPU".to_owned(),
        place if place.is_two_cpus() => format!("two CPUs ({place})"),
        place => place.to_string(),
    }
}

fn shown(metric: &Metric) -> String {
    metric.value.map_or_else(|| NONE.to_owned(), figures::nanos)
}

fn share(part: &Metric, whole: &Metric) -> String {
    let share = part.value.zip(whole.value).filter(|(_, whole)| *whole != 0.0);
    // Adding 0 takes the sign from what rounds to none.
    let percent = |(part, whole): (f64, f64)| (100.0 * part / whole).round() + 0.0;
    share.map_or_else(|| NONE.to_owned(), |both| format!("{:.0} %", percent(both)))
}

/// Time, interval and share.
fn cells(rounds: Option<&Rounds>, whole: &Metric) -> [String; 3] {
    let Some(metric) = rounds.map(figure) else { return [NONE, NONE, NONE].map(str::to_owned) };
    [shown(&metric), interval(&metric), share(&metric, whole)]
}

/// From here on three digits of a figure are those of the next unit (`999.6 ns` is `1.00 us`).
const ROUNDS_UP: f64 = 0.9995;

/// Both ends of the interval in the unit of the figure: differences may be negative.
fn interval(metric: &Metric) -> String {
    // A part that is not there takes nothing in every round.
    let Some([low, high]) = metric.ci95.filter(|[low, high]| *low != 0.0 || *high != 0.0) else {
        return NONE.to_owned();
    };
    let most = low.abs().max(high.abs());
    let value = metric.value.unwrap_or(most).abs();
    let (scale, _) = figures::NANOS
        .iter()
        .rev()
        .find(|(scale, _)| value >= ROUNDS_UP * scale)
        .unwrap_or(&figures::NANOS[0]);
    let digits = usize::from(most / scale < 100.0) + usize::from(most / scale < 10.0);
    format!("{:.digits$}..{:.digits$}", low / scale, high / scale)
}

/// A table whose first column stands left and all others right.
fn table(
    page: &mut Page,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    always: usize,
) -> io::Result<()> {
    let right: Vec<bool> = (0..heads.len()).map(|at| at > 0).collect();
    let all: Vec<usize> = (0..heads.len()).collect();
    let mut grid = Grid { heads, right, rows };
    let width = page.style.width;
    let columns = grid.fit(&all[..always], &all[always..], 0, width, page.style.unicode);
    let (head, lines) = grid.lines(&columns);
    page.line(Tone::Quiet, &head)?;
    lines.iter().try_for_each(|line| page.line(Tone::Plain, line))?;
    match heads_hidden(&grid, &columns).as_slice() {
        [] => Ok(()),
        hidden => page.line(Tone::Quiet, &format!("(no room here for {})", hidden.join(", "))),
    }
}

fn heads_hidden(grid: &Grid, columns: &[usize]) -> Vec<String> {
    let hidden = (0..grid.heads.len()).filter(|at| !columns.contains(at));
    hidden.map(|at| grid.heads[at].clone()).collect()
}

fn single(page: &mut Page, trips: &[Trip]) -> io::Result<()> {
    if trips.is_empty() {
        return Ok(());
    }
    page.blank()?;
    let mut heads = vec!["WHERE THE TIME GOES".to_owned()];
    for trip in trips {
        let place = match trip.cell.key.placement {
            place if place.is_one_cpu() => "one CPU".to_owned(),
            place => place.to_string(),
        };
        heads.extend([place, "95 %".to_owned(), "share".to_owned()]);
    }
    let row = |name: &str, of: &dyn Fn(&Trip) -> Option<Rounds>| {
        let each = trips.iter().flat_map(|trip| cells(of(trip).as_ref(), &figure(&trip.whole)));
        std::iter::once(name.to_owned()).chain(each).collect::<Vec<_>>()
    };
    // The cache line is a part of its own only where nobody sleeps.
    let has = |part: &Part| *part != Part::CacheLine || trips.iter().any(|trip| !trip.lacks(*part));
    let mut rows: Vec<Vec<String>> = Part::ALL
        .into_iter()
        .filter(has)
        .map(|part| {
            row(part.name(), &|trip| {
                trip.parts.iter().find(|(other, _)| *other == part)?.1.clone().ok()
            })
        })
        .collect();
    rows.push(row("unexplained", &|trip| Some(trip.rest.clone())));
    rows.push(row("round trip", &|trip| Some(trip.whole.clone())));
    table(page, heads, rows, 4)?;
    for trip in trips {
        page.paragraph(Tone::Plain, "", &dominant(trip))?;
    }
    missing(page, trips.iter())
}

/// What takes most, and how much arms of their own have.
fn dominant(trip: &Trip) -> String {
    let place = place(trip.cell.key.placement);
    let (Some((part, share)), Some(covered)) = (trip.largest(), trip.covered()) else {
        return format!("On {place} nothing can be said.");
    };
    let most = part.map_or("what no arm explains", Part::name);
    let mut words = format!(
        "On {place} {most} takes most ({:.0} %); the parts measured by themselves add up to {:.0} %",
        100.0 * share,
        100.0 * covered
    );
    if covered > 1.0 {
        words.push_str(", more than the whole: they overlap, or took longer in their arms");
    }
    if trip.cell.key.wait == Wait::SpinThenBlock && !trip.lacks(Part::WakeUp) {
        words.push_str("; it spins before it sleeps, which is in no arm");
    }
    words + "."
}

/// Why parts have no figures, each reason once.
fn missing<'a>(page: &mut Page, trips: impl Iterator<Item = &'a Trip<'a>>) -> io::Result<()> {
    let mut said: Vec<String> = Vec::new();
    for trip in trips {
        for (part, taken) in &trip.parts {
            let Err(why) = taken else { continue };
            let is_shown = *part != Part::CacheLine;
            let verb = if why.is_nothing {
                "none"
            } else {
                "not measured by itself, so part of what is unexplained"
            };
            // Without what to do about it, which would be another arm.
            let reason = why.text.split("; ").next().unwrap_or_default();
            let words = format!("{}: {verb}, {reason}", part.name());
            if is_shown && !said.contains(&words) {
                said.push(words);
            }
        }
    }
    match said.is_empty() {
        true => Ok(()),
        false => page.paragraph(Tone::Quiet, "- ", &(said.join("; ") + ".")),
    }
}

fn double(page: &mut Page, names: &[String], a: &[Trip], b: &[Trip]) -> io::Result<()> {
    let pairs: Vec<(&Trip, &Trip)> = a
        .iter()
        .filter_map(|a| {
            let same = |b: &&Trip| b.cell.key.placement == a.cell.key.placement;
            Some((a, b.iter().find(same)?))
        })
        .collect();
    for (a, b) in &pairs {
        page.blank()?;
        let place = place(a.cell.key.placement);
        let whole = beyond(&a.whole, &b.whole);
        let all = figure(&whole);
        let mut heads = vec![place.clone()];
        heads.extend(names.iter().take(2).cloned());
        heads.extend(["second - first", "95 %", "share"].map(str::to_owned));
        let row = |name: &str, of: &dyn Fn(&Trip) -> Option<Rounds>| {
            let (a, b) = (of(a), of(b));
            let each = [&a, &b]
                .map(|one| one.as_ref().map(figure).as_ref().map_or(NONE.to_owned(), shown));
            let beyond = a.zip(b).map(|(a, b)| beyond(&a, &b));
            let words = std::iter::once(name.to_owned()).chain(each);
            words.chain(cells(beyond.as_ref(), &all)).collect::<Vec<_>>()
        };
        let has = |part: &Part| [a, b].iter().any(|trip| !trip.lacks(*part));
        let mut rows: Vec<Vec<String>> = Part::ALL
            .into_iter()
            .filter(has)
            .map(|part| row(part.name(), &|trip| trip.taken(part)))
            .collect();
        rows.push(row("unexplained", &|trip| Some(trip.rest.clone())));
        rows.push(row("round trip", &|trip| Some(trip.whole.clone())));
        table(page, heads, rows, 4)?;
        page.paragraph(Tone::Plain, "", &from_where(names, &place, &all, a, b))?;
    }
    missing(page, pairs.into_iter().flat_map(|(a, b)| [a, b]))
}

/// Where the difference of two round trips comes from.
fn from_where(names: &[String], place: &str, all: &Metric, a: &Trip, b: &Trip) -> String {
    let [Some(first), Some(second)] = [names.first(), names.get(1)] else { return String::new() };
    let (Some(value), Some([low, high])) = (all.value, all.ci95) else {
        return format!("On {place} no difference can be told: too few rounds.");
    };
    if low <= 0.0 && high >= 0.0 {
        return format!(
            "On {place} no difference of {first} and {second} is shown, so there is none to explain."
        );
    }
    let parts = Part::ALL.into_iter().filter_map(|part| {
        let beyond = beyond(&a.taken(part)?, &b.taken(part)?);
        Some((part.name(), figure(&beyond).value? / value))
    });
    let rest = figure(&beyond(&a.rest, &b.rest)).value.map(|rest| rest / value);
    let most = parts
        .chain(rest.map(|rest| ("what no arm explains", rest)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let (part, share) = most.unwrap_or(("nothing", 0.0));
    let side = if value > 0.0 { "more" } else { "less" };
    let beyond =
        format!("On {place} {second} takes {} {side} than {first}", figures::nanos(value.abs()));
    let covered = 1.0 - rest.unwrap_or(0.0);
    if covered < 0.0 {
        return format!(
            "{beyond}, and the arms do not explain it: their sum differs the other way."
        );
    }
    format!(
        "{beyond}: most of it is {part} ({:.0} %); the parts measured by themselves add up to {:.0} %.",
        100.0 * share,
        100.0 * covered
    )
}

/// The system calls of a round trip at both ends.
fn calls<'a>(page: &mut Page, trips: impl Iterator<Item = &'a Trip<'a>>) -> io::Result<()> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut said, mut where_at) = (Vec::new(), String::new());
    for trip in trips {
        let name = label(trip.cell);
        where_at = place(trip.cell.key.placement);
        let Some(timed) = &trip.cell.calls else {
            said.push(format!("The system calls of {name} were not timed."));
            continue;
        };
        match &timed.reason {
            Some(reason) => {
                said.push(format!("The system calls of {name} have no times: {reason}."))
            }
            None if timed.lead.is_empty() && timed.follow.is_empty() => {
                said.push(format!("{name} makes no system call on {where_at}."));
            }
            None => {
                for (end, calls) in [("lead", &timed.lead), ("follow", &timed.follow)] {
                    rows.extend(listed(&format!("{name}, {end}"), calls));
                }
            }
        }
    }
    if rows.is_empty() && said.is_empty() {
        return Ok(());
    }
    page.blank()?;
    if !rows.is_empty() {
        let heads = ["SYSTEM CALLS", "call", "per message", "median", "share of its end"];
        table(page, heads.map(str::to_owned).to_vec(), rows, 4)?;
        said.push(format!(
            "On {where_at}, each timed by itself in a slice of their own: a call that waits contains what the other end does."
        ));
    }
    page.paragraph(Tone::Quiet, "", &said.join(" "))
}

fn listed(end: &str, calls: &BTreeMap<String, CallTime>) -> Vec<Vec<String>> {
    let time = |call: &CallTime| call.per_message * call.median_ns;
    let all: f64 = calls.values().map(time).sum();
    let row = |(name, call): (&String, &CallTime)| {
        vec![
            end.to_owned(),
            name.clone(),
            figures::count(call.per_message),
            figures::nanos(call.median_ns),
            format!("{:.0} %", 100.0 * time(call) / all.max(f64::MIN_POSITIVE)),
        ]
    };
    calls.iter().map(row).collect()
}

/// What one change at a time does to a round trip: what does most first, and last what is not shown to do anything.
fn changes(page: &mut Page, set: &ResultSet, trips: &[Trip]) -> io::Result<()> {
    let Some(first) = trips.first() else { return Ok(()) };
    let base = |cell: &Cell| cell.key.mechanism.split('/').next().map(str::to_owned);
    let arms = set.cells.iter().skip(explained(set).count());
    let others = arms.filter(|cell| {
        cell.key.pattern == PatternKind::PingPong
            && cell.key.size_bytes == first.cell.key.size_bytes
            && base(cell) == base(first.cell)
    });
    let mut rows: Vec<(bool, f64, Vec<String>)> = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    for cell in others {
        let same = trips.iter().find(|trip| trip.cell.key.placement == cell.key.placement);
        let beside = same.unwrap_or(first).cell;
        let words = changed(cell, beside);
        let ratio = Yardstick::of(PatternKind::PingPong).ratio(cell, beside);
        let Some((ratio, time)) = ratio.zip(cell.figure().and_then(|figure| figure.value)) else {
            let reason = cell.reason.as_deref().unwrap_or("no rounds in common");
            refused.push(format!("{words} on {}: {reason}", place(cell.key.placement)));
            continue;
        };
        let interval = ratio.ci95.map_or_else(
            || NONE.to_owned(),
            |[low, high]| format!("{}..{}", figures::plain(low), figures::plain(high)),
        );
        let effect = match ratio.ci95 {
            Some([low, _]) if low > 1.0 => "slower",
            Some([_, high]) if high < 1.0 => "faster",
            _ => NONE,
        };
        let place = cell.key.placement.to_string();
        let figures = [figures::nanos(time), figures::times(ratio.value), interval];
        let row = [words, place].into_iter().chain(figures).chain([effect.to_owned()]).collect();
        rows.push((effect == NONE, -ratio.value.ln().abs(), row));
    }
    page.blank()?;
    if rows.is_empty() && refused.is_empty() {
        let name = &first.cell.key.mechanism;
        let next = format!("One change at a time: ipcperf explain {name} --what-if");
        return page.paragraph(Tone::Quiet, "", &next);
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let most = if page.style.verbose { rows.len() } else { CHANGES };
    let hidden = rows.len().saturating_sub(most);
    let rows: Vec<Vec<String>> = rows.into_iter().take(most).map(|(.., row)| row).collect();
    if !rows.is_empty() {
        let heads = ["WHAT IF", "where", "round trip", "times", "95 %", "effect"];
        table(page, heads.map(str::to_owned).to_vec(), rows, 4)?;
    }
    if hidden + refused.len() > 0 && !page.style.verbose {
        let rest =
            [(hidden, "with less effect or none"), (refused.len(), "that cannot be had here")];
        let rest = rest.iter().filter(|(count, _)| *count > 0);
        let rest: Vec<String> = rest.map(|(count, what)| format!("{count} {what}")).collect();
        return page.paragraph(Tone::Quiet, "", &format!("And {}: -v.", text::join(&rest)));
    }
    refused.iter().try_for_each(|words| page.paragraph(Tone::Quiet, "- ", words))
}

/// In what a cell differs from another.
fn changed(cell: &Cell, from: &Cell) -> String {
    let mut words = Vec::new();
    if cell.key.mechanism != from.key.mechanism {
        words.push(cell.key.mechanism.clone());
    }
    if cell.key.placement != from.key.placement {
        words.push(format!("place={}", cell.key.placement));
    }
    if cell.key.idle != from.key.idle {
        words.push(format!("idle={}", cell.key.idle));
    }
    let before = from.requested();
    let knobs =
        cell.requested().0.into_iter().filter(|(knob, value)| before.0.get(knob) != Some(value));
    words.extend(knobs.map(|(knob, value)| format!("{knob}={value}")));
    words.join(" ")
}
