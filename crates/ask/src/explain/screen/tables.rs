//! The screen that explains a round trip, or the difference of two.

use super::parts::{Rounds, Trip, TripPart as PartOf, beyond, figure};
use crate::results::advice::has_places;
use crate::results::chapters::label;
use crate::results::table::grade_words;
use ipcperf_core::result::{CallTime, Cell, Metric, ResultSet, Status};
use ipcperf_core::{PatternKind, Placement, Wait};
use ipcperf_judge::figures::NONE;
use ipcperf_judge::{MetricKind, figures, short_name};
use ipcperf_kit::document::Specs;
use ipcperf_render::doc::{Block, Chart, Column, Doc, Line, Picture, Row, Section, Table, Tone};
use ipcperf_render::{Style, svg, text};
use ipcperf_stats::FEWEST_ROUNDS;
use std::collections::BTreeMap;

/// Rows of what one change at a time brings, unless all are asked for.
const CHANGES: usize = 8;

/// Where the time of these round trips goes; every change at a time where the style is verbose.
pub(crate) fn doc(set: &ResultSet, specs: &Specs, style: &Style) -> Doc {
    let names = text::each_once(explained(set).map(|cell| cell.key.mechanism.clone()));
    let of = |name: &String| {
        let cells = explained(set).filter(|cell| cell.key.mechanism == *name);
        let measured = cells.filter(|cell| cell.status == Status::Ok);
        measured.map(|cell| Trip::of(set, specs, cell)).collect::<Vec<_>>()
    };
    let columns: Vec<Vec<Trip>> = names.iter().map(of).collect();
    let mut doc = head(set, &names, &columns);
    let body = &mut doc.body;
    let parts = match columns.as_slice() {
        [one] => single(set, names.first().map_or("", String::as_str), one).into_iter().collect(),
        [a, b, ..] => double(&names, a, b, has_places(set)),
        [] => Vec::new(),
    };
    let mut parts = parts.into_iter();
    if let Some(first) = parts.next() {
        // A page begins with what takes most, and its picture.
        if style.pictures {
            let whole = std::mem::replace(&mut doc.headline, first.answer);
            body.0.insert(0, Block::Say(Line::from(format!("{whole}."))));
            doc.picture = Some(first.drawn);
            body.add(first.section);
        } else {
            body.add(first.with_picture());
        }
    }
    parts.for_each(|part| body.add(part.with_picture()));
    body.add(calls(columns.iter().filter_map(|all| all.first())));
    if let [one] = columns.as_slice() {
        body.add(changes(set, one, style.verbose));
    }
    doc
}

/// What round trips at one place are made of.
struct Taken {
    /// What takes most, as a heading.
    answer: String,
    drawn: Chart,
    /// The figures.
    section: Section,
}

impl Taken {
    fn with_picture(self) -> Section {
        let mut section = self.section;
        section.body.0.insert(0, Block::Chart(self.drawn));
        section
    }
}

/// The round trips that are to be explained: they stand before all arms.
fn explained(set: &ResultSet) -> impl Iterator<Item = &Cell> {
    set.cells.iter().take_while(|cell| cell.key.pattern == PatternKind::PingPong)
}

fn head(set: &ResultSet, names: &[String], columns: &[Vec<Trip>]) -> Doc {
    let took = |trips: &Vec<Trip>| {
        let each = trips.iter().map(|trip| {
            let time = shown(&figure(&trip.whole));
            format!("{time} on {}", place(trip.cell.key.placement))
        });
        let each: Vec<String> = each.collect();
        let size = trips.first().map_or(0, |trip| trip.cell.key.size_bytes);
        match each.as_slice() {
            [] => "no round trip was measured".to_owned(),
            all => format!("{} round trips take {}", figures::size(size), text::join(all)),
        }
    };
    let headline = match (names, columns) {
        ([name], [trips]) => {
            format!("Where the time of a round trip over {name} goes: {}", took(trips))
        }
        _ => format!("Where the difference of {} comes from", text::join(names)),
    };
    let mut doc = Doc::new(headline);
    let body = &mut doc.body;
    if names.len() > 1 {
        let both = names.iter().zip(columns);
        body.list(both.map(|(name, trips)| format!("{name}: {}", took(trips))));
    }
    for cell in explained(set).filter(|cell| cell.status != Status::Ok) {
        let reason = cell.reason.as_deref().unwrap_or("not measured");
        body.say(Tone::Doubt, format!("{}: {reason}", cell.id));
    }
    let rounds = columns.iter().flatten().map(|trip| trip.whole.len()).max().unwrap_or(0);
    let few = match rounds < FEWEST_ROUNDS {
        true => format!(" No interval below {FEWEST_ROUNDS} rounds."),
        false => String::new(),
    };
    let words = format!(
        "{}, all arms in each, in random order.{few} {}",
        text::counted(rounds as u64, "round"),
        grade_words(&set.noise)
    );
    body.say(Tone::Plain, words);
    doc
}

fn place(place: Placement) -> String {
    match place {
        place if place.is_one_cpu() => "one CPU".to_owned(),
        place if place.is_two_cpus() => format!("two CPUs ({place})"),
        place => format!("{place:#}"),
    }
}

fn shown(metric: &Metric) -> String {
    figures::or_none(metric.value, figures::nanos)
}

fn share(part: &Metric, whole: &Metric) -> String {
    let share = part.value.zip(whole.value).filter(|(_, whole)| *whole != 0.0);
    // Adding 0 takes the sign from what rounds to none.
    let percent = |(part, whole): (f64, f64)| (100.0 * part / whole).round() + 0.0;
    share.map_or_else(|| NONE.to_owned(), |both| format!("{:.0} %", percent(both)))
}

/// The unit of a table: that of the longest of the round trips that it takes apart, with as many digits as leave the
/// shortest three.
#[derive(Clone, Copy)]
struct Scale {
    nanos: f64,
    name: &'static str,
    digits: usize,
}

impl Scale {
    fn of<'a>(trips: impl IntoIterator<Item = &'a Trip<'a>>) -> Self {
        let wholes = trips.into_iter().filter_map(|trip| figure(&trip.whole).value);
        let ends = wholes.fold(None, |ends: Option<[f64; 2]>, one| {
            let [least, most] = ends.unwrap_or([one; 2]);
            Some([least.min(one), most.max(one)])
        });
        let [least, most] = ends.unwrap_or_default();
        let (nanos, name) = figures::suited(most, figures::NANOS);
        let digits = [1.0, 10.0].into_iter().filter(|one| least / nanos < *one).count();
        Self { nanos, name, digits: 1 + digits }
    }

    fn words(self, nanos: f64) -> String {
        let steps = 10_f64.powi(self.digits as i32);
        // Adding 0 takes the sign from what rounds to none.
        let value = (nanos / self.nanos * steps).round() / steps + 0.0;
        figures::bounded(value, |value| format!("{value:.*}", self.digits))
    }

    fn shown(self, metric: &Metric) -> String {
        metric.value.map_or_else(|| NONE.to_owned(), |value| self.words(value))
    }

    fn interval(self, metric: &Metric) -> String {
        // A part that is not there takes nothing in every round.
        match metric.ci95.filter(|[low, high]| *low != 0.0 || *high != 0.0) {
            Some([low, high]) => format!("{}..{}", self.words(low), self.words(high)),
            None => NONE.to_owned(),
        }
    }
}

/// Time, interval and share.
fn cells(rounds: Option<&Rounds>, whole: &Metric, scale: Scale) -> [String; 3] {
    let Some(metric) = rounds.map(figure) else { return [NONE, NONE, NONE].map(str::to_owned) };
    [scale.shown(&metric), scale.interval(&metric), share(&metric, whole)]
}

/// A table whose first column is a text and all others numbers, of which the first three never give way.
fn table(heads: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    let columns = heads.into_iter().enumerate().map(|(at, head)| match at {
        0 => Column::text(head),
        _ => Column::number(head).rank(at.saturating_sub(3)),
    });
    Table::new(columns, rows.into_iter().map(Row::new))
}

/// Bars of what the parts take, a series for each round trip.
fn chart(title: &str, parts: &[&str], series: Vec<(String, Vec<Option<Metric>>)>) -> Chart {
    let values =
        series.iter().flat_map(|(_, all)| all.iter().flatten()).filter_map(|one| one.value);
    let (scale, unit) = figures::suited(values.fold(0.0, f64::max), figures::NANOS);
    let point = |metric: &Option<Metric>| svg::Point {
        here: metric.as_ref().and_then(|metric| metric.value).map(|value| value / scale),
        interval: metric
            .as_ref()
            .and_then(|metric| metric.ci95)
            .map(|ends| ends.map(|end| end / scale)),
        ..svg::Point::default()
    };
    let series = series
        .into_iter()
        .map(|(label, all)| svg::Series { label, points: all.iter().map(point).collect() });
    let drawn = svg::Chart {
        kind: svg::ChartKind::Bars,
        title: title.to_owned(),
        unit: unit.to_owned(),
        heads: parts.iter().map(|part| (*part).to_owned()).collect(),
        series: series.collect(),
        ..svg::Chart::default()
    };
    Chart {
        title: title.to_owned(),
        note: "Medians over rounds with their 95 % intervals; what has none is not drawn."
            .to_owned(),
        picture: Some(Picture::Chart(drawn)),
        ..Chart::default()
    }
}

/// What no arm has, what several arms have, and all of it.
const REST: &str = "unexplained";
const OVERLAP: &str = "overlap, counted twice above";
const WHOLE: &str = "round trip";

#[cfg(test)]
pub(super) const PARTS: [&str; 8] = {
    let [a, b, c, d, e, f] = PartOf::ALL;
    [a.name(), b.name(), c.name(), d.name(), e.name(), f.name(), REST, WHOLE]
};

/// The part of a round trip on one CPU that is first returns after its switches of tasks.
fn returns(set: &ResultSet, trips: &[Trip]) -> Option<String> {
    let each = set.bounds.return_after_switch_ns.as_ref().filter(|each| each.median > 0.0)?.median;
    let trip = trips.iter().find(|trip| trip.cell.key.placement.is_one_cpu())?;
    let whole = figure(&trip.whole).value?;
    // A round trip is two messages.
    let switches = 2.0 * figure(&super::parts::switches(trip.cell)).value?;
    let share = 100.0 * each * switches / whole;
    (share >= 1.0).then(|| {
        format!(
            "On one CPU the first return of a program after a switch of tasks takes {}, measured by itself: with {switches:.1} \
             switches that is {share:.0} % of the round trip, inside {}.",
            figures::nanos(each),
            PartOf::WakeUp.name()
        )
    })
}

/// Round trips over one mechanism.
fn single(set: &ResultSet, name: &str, trips: &[Trip]) -> Option<Taken> {
    let first = trips.first()?;
    let is_sound = has_places(set);
    let scale = Scale::of(trips);
    let mut heads = vec![String::new()];
    for trip in trips {
        heads.extend([short(trip), "95 %".to_owned(), "share".to_owned()]);
    }
    // The cache line is a part of its own only where nobody sleeps.
    let has =
        |part: &PartOf| *part != PartOf::CacheLine || trips.iter().any(|trip| !trip.lacks(*part));
    let own: Vec<PartOf> = PartOf::ALL.into_iter().filter(has).collect();
    let taken = |trip: &Trip| {
        let of = |part: &PartOf| trip.parts.iter().find(|(other, _)| other == part)?.1.clone().ok();
        let parts: Vec<Option<Rounds>> = own.iter().map(of).collect();
        [parts, vec![Some(trip.rest_and_overlap().0)]].concat()
    };
    let names: Vec<&str> = own.iter().map(|part| part.name()).chain([REST]).collect();
    let taken: Vec<Vec<Option<Rounds>>> = trips.iter().map(taken).collect();
    let whole: Vec<Metric> = trips.iter().map(|trip| figure(&trip.whole)).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let each = taken.iter().zip(&whole);
        let each = each.flat_map(|(parts, whole)| cells(parts[at].as_ref(), whole, scale));
        rows.push(std::iter::once((*name).to_owned()).chain(each).collect());
    }
    let overlaps: Vec<Option<Rounds>> =
        trips.iter().map(|trip| trip.rest_and_overlap().1).collect();
    if overlaps.iter().any(Option::is_some) {
        let each = overlaps.iter().zip(&whole);
        let each = each.flat_map(|(overlap, all)| cells(overlap.as_ref(), all, scale));
        rows.push(std::iter::once(OVERLAP.to_owned()).chain(each).collect());
    }
    let each =
        trips.iter().zip(&whole).flat_map(|(trip, all)| cells(Some(&trip.whole), all, scale));
    rows.push(std::iter::once(WHOLE.to_owned()).chain(each).collect());
    let series = trips.iter().zip(&taken).map(|(trip, parts)| {
        (short(trip), parts.iter().map(|part| part.as_ref().map(figure)).collect())
    });
    let said: Vec<String> = match is_sound {
        true => trips.iter().map(dominant).collect(),
        false => vec!["Too noisy to say what takes most: noise grade F.".to_owned()],
    };
    let answer = match is_sound {
        true => most_of(name, first),
        false => format!("Too noisy to say what takes most {}: noise grade F", of(name, first)),
    };
    let drawn = chart("What each part takes", &names, series.collect());
    let section = Section::new(format!("Where the time goes ({})", scale.name), |body| {
        body.table(table(heads, rows));
        let said = said.into_iter().chain(returns(set, trips));
        body.list(said.map(Line::from).chain(missing(trips.iter())));
    });
    Some(Taken { answer, drawn, section })
}

/// `of a 64 B round trip over pipe on one CPU`.
fn of(name: &str, trip: &Trip) -> String {
    let (size, place) = (figures::size(trip.cell.key.size_bytes), place(trip.cell.key.placement));
    format!("of a {size} round trip over {name} on {place}")
}

/// What takes most, as a heading.
fn most_of(name: &str, trip: &Trip) -> String {
    let (of, whole) = (of(name, trip), shown(&figure(&trip.whole)));
    let Some((part, share)) = trip.largest() else {
        return format!("Nothing can be said of the parts {of}, which takes {whole}");
    };
    let most = part.map_or("what no arm explains", PartOf::name);
    let mut words = format!("{most} takes most {of}: {:.0} % of {whole}", 100.0 * share);
    words.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    words
}

/// Where a round trip was measured, for the head of a column.
fn short(trip: &Trip) -> String {
    match trip.cell.key.placement {
        place if place.is_one_cpu() => "one CPU".to_owned(),
        place => place.to_string(),
    }
}

/// What takes most, and how much arms of their own have.
fn dominant(trip: &Trip) -> String {
    let place = place(trip.cell.key.placement);
    let (Some((part, share)), Some(covered)) = (trip.largest(), trip.covered()) else {
        return format!("On {place} nothing can be said.");
    };
    let most = part.map_or("what no arm explains", PartOf::name);
    let mut words = format!(
        "On {place} {most} takes most ({:.0} %); the parts measured by themselves add up to {:.0} %",
        100.0 * share,
        100.0 * covered
    );
    if covered > 1.0 {
        words.push_str(", more than the whole: they overlap, or took longer in their arms");
    }
    if trip.cell.key.wait == Wait::SpinThenBlock && !trip.lacks(PartOf::WakeUp) {
        words.push_str("; it spins before it sleeps, which is in no arm");
    }
    words + "."
}

/// Why parts have no figures, each reason once.
fn missing<'a>(trips: impl Iterator<Item = &'a Trip<'a>>) -> Option<Line> {
    let mut said: Vec<String> = Vec::new();
    for trip in trips {
        for (part, taken) in &trip.parts {
            let Err(why) = taken else { continue };
            let is_shown = *part != PartOf::CacheLine;
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
    (!said.is_empty()).then(|| Line::new(Tone::Quiet, said.join("; ") + "."))
}

fn double(names: &[String], a: &[Trip], b: &[Trip], is_sound: bool) -> Vec<Taken> {
    let pairs: Vec<(&Trip, &Trip)> = a
        .iter()
        .filter_map(|a| {
            let same = |b: &&Trip| b.cell.key.placement == a.cell.key.placement;
            Some((a, b.iter().find(same)?))
        })
        .collect();
    let mut parts: Vec<Taken> = pairs.iter().map(|(a, b)| beside(names, a, b, is_sound)).collect();
    if let Some(last) = parts.last_mut() {
        last.section.body.list(missing(pairs.into_iter().flat_map(|(a, b)| [a, b])));
    }
    parts
}

/// Two round trips at one place; `is_sound`: the noise permits a claim.
fn beside(names: &[String], a: &Trip, b: &Trip, is_sound: bool) -> Taken {
    let place = place(a.cell.key.placement);
    let all = figure(&beyond(&a.whole, &b.whole));
    // There are no shares of a difference that is not shown.
    let is_shown = is_sound && all.ci95.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
    let columns = if is_shown { 3 } else { 2 };
    let scale = Scale::of([a, b]);
    let mut heads = vec![String::new()];
    heads.extend(names.iter().take(2).cloned());
    heads.extend(["second - first", "95 %", "share"].map(str::to_owned).into_iter().take(columns));
    let has = |part: &PartOf| [a, b].iter().any(|trip| !trip.lacks(*part));
    let own: Vec<PartOf> = PartOf::ALL.into_iter().filter(has).collect();
    let overlaps = [a, b].iter().any(|trip| trip.rest_and_overlap().1.is_some());
    let taken = |trip: &Trip| -> Vec<Option<Rounds>> {
        let parts = own.iter().map(|part| trip.taken(*part));
        let (rest, overlap) = trip.rest_and_overlap();
        let ends = [Some(rest), overlap, Some(trip.whole.clone())].into_iter();
        parts
            .chain(ends.enumerate().filter(|(at, _)| *at != 1 || overlaps).map(|(_, one)| one))
            .collect()
    };
    let [of_a, of_b] = [a, b].map(taken);
    let ends = [Some(REST), overlaps.then_some(OVERLAP), Some(WHOLE)];
    let names_of = own.iter().map(|part| part.name()).chain(ends.into_iter().flatten());
    let mut parts: Vec<&str> = names_of.collect();
    let row = |((name, a), b): ((&&str, &Option<Rounds>), &Option<Rounds>)| {
        let each = [a, b]
            .map(|one| one.as_ref().map_or(NONE.to_owned(), |rounds| scale.shown(&figure(rounds))));
        let beyond = a.as_ref().zip(b.as_ref()).map(|(a, b)| beyond(a, b));
        let words = std::iter::once((*name).to_owned()).chain(each);
        let beyond = cells(beyond.as_ref(), &all, scale).into_iter().take(columns);
        words.chain(beyond).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = parts.iter().zip(&of_a).zip(&of_b).map(row).collect();
    // A bar of the whole would make those of its parts small.
    parts.truncate(own.len() + 1);
    let series = names.iter().zip([&of_a, &of_b]).map(|(name, taken)| {
        let taken = taken.iter().take(parts.len());
        (name.clone(), taken.map(|part| part.as_ref().map(figure)).collect())
    });
    let drawn = chart(&format!("What each part takes on {place}"), &parts, series.collect());
    // The sum of the parts does not make a heading.
    let (answer, sum) = match is_sound {
        true => from_where(names, &place, &all, a, b),
        false => {
            (format!("On {place} no difference is claimed: noise grade F supports none"), None)
        }
    };
    let sum = sum.map_or_else(String::new, |sum| format!("; {sum}"));
    let words = format!("{answer}{sum}.");
    let section = Section::new(format!("On {place} ({})", scale.name), |body| {
        body.table(table(heads, rows));
        body.say(Tone::Plain, words);
    });
    Taken { answer, drawn, section }
}

/// Where the difference of two round trips comes from, and what its parts add up to. Both without a full stop.
fn from_where(
    names: &[String],
    place: &str,
    all: &Metric,
    a: &Trip,
    b: &Trip,
) -> (String, Option<String>) {
    let [Some(first), Some(second)] = [names.first(), names.get(1)] else { return <_>::default() };
    let (Some(value), Some([low, high])) = (all.value, all.ci95) else {
        let words = format!(
            "On {place} no difference can be told, so that it has no shares: an interval takes {FEWEST_ROUNDS} rounds"
        );
        return (words, None);
    };
    if low <= 0.0 && high >= 0.0 {
        let words = format!(
            "On {place} no difference of {first} and {second} is shown (its interval has 0 in it), so that it has no shares"
        );
        return (words, None);
    }
    let parts = PartOf::ALL.into_iter().filter_map(|part| {
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
        let words =
            format!("{beyond}, and the arms do not explain it: their sum differs the other way");
        return (words, None);
    }
    let sum = format!("the parts measured by themselves add up to {:.0} %", 100.0 * covered);
    (format!("{beyond}: most of it is {part} ({:.0} %)", 100.0 * share), Some(sum))
}

/// The system calls of a round trip at both ends.
fn calls<'a>(trips: impl Iterator<Item = &'a Trip<'a>>) -> Section {
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
    if !rows.is_empty() {
        said.push(format!(
            "On {where_at}, timed in a separate slice: a call that waits includes the work of the other end."
        ));
    }
    let heads = ["end", "call", "per message", "median", "share of its end"];
    Section::new("System calls", |body| {
        body.table(table(heads.map(str::to_owned).to_vec(), rows));
        if !said.is_empty() {
            body.say(Tone::Quiet, said.join(" "));
        }
    })
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
fn changes(set: &ResultSet, trips: &[Trip], is_verbose: bool) -> Section {
    let Some(first) = trips.first() else { return Section::default() };
    let base = |cell: &Cell| cell.key.mechanism.split('/').next().map(str::to_owned);
    let arms = set.cells.iter().skip(explained(set).count());
    let others = arms.filter(|cell| {
        cell.key.pattern == PatternKind::PingPong
            && cell.key.size_bytes == first.cell.key.size_bytes
            && base(cell) == base(first.cell)
    });
    let mut rows: Vec<(bool, f64, Vec<String>)> = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    let mode = |cell: &Cell| cell.timing.as_ref().map(|timing| timing.mode.clone());
    for cell in others {
        let same = trips.iter().find(|trip| trip.cell.key.placement == cell.key.placement);
        let beside = same.unwrap_or(first).cell;
        let words = changed(cell, beside);
        let ratio = MetricKind::of(PatternKind::PingPong).ratio(cell, beside);
        let time = cell.figure().and_then(|figure| figure.value);
        let is_one_mode = mode(cell) == mode(beside);
        let Some((ratio, time)) = ratio.zip(time).filter(|_| is_one_mode) else {
            let why = if is_one_mode { "no rounds in common" } else { "timed in another way" };
            let reason = cell.reason.as_deref().unwrap_or(why);
            refused.push(format!("{words} on {}: {reason}", place(cell.key.placement)));
            continue;
        };
        let interval = ratio.ci95.map_or_else(
            || NONE.to_owned(),
            |[low, high]| format!("{}..{}", figures::plain(low), figures::plain(high)),
        );
        let effect = match ratio.ci95 {
            _ if !has_places(set) => NONE,
            Some([low, _]) if low > 1.0 => "slower",
            Some([_, high]) if high < 1.0 => "faster",
            _ => NONE,
        };
        let place = cell.key.placement.to_string();
        let figures = [figures::nanos(time), figures::times(ratio.value), interval];
        let row = [words, place].into_iter().chain(figures).chain([effect.to_owned()]).collect();
        rows.push((effect == NONE, -ratio.value.ln().abs(), row));
    }
    if rows.is_empty() && refused.is_empty() {
        let mechanism = &first.cell.key.mechanism;
        let next = format!("One change at a time: ipcperf explain {mechanism} --what-if");
        return Section::new("What if", |body| body.say(Tone::Quiet, next));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let most = if is_verbose { rows.len() } else { CHANGES };
    let hidden = rows.len().saturating_sub(most);
    let rows: Vec<Vec<String>> = rows.into_iter().take(most).map(|(.., row)| row).collect();
    Section::new("What if", |body| {
        if !rows.is_empty() {
            let size = figures::size(first.cell.key.size_bytes);
            let is_short = rows.iter().any(|row| row[4] == NONE);
            let heads = ["change", "where", "round trip", "times", "95 %", "effect"];
            body.table(table(heads.map(str::to_owned).to_vec(), rows));
            body.say(
                Tone::Plain,
                format!(
                    "One change at a time, all else as in {} with {size}; times is the ratio within rounds.",
                    short_name(first.cell)
                ),
            );
            if is_short {
                let words = format!(
                    "- under 95 %: no interval below {FEWEST_ROUNDS} rounds that both have."
                );
                body.say(Tone::Quiet, words);
            }
        }
        if hidden + refused.len() > 0 && !is_verbose {
            let rest =
                [(hidden, "with less effect or none"), (refused.len(), "that cannot be had here")];
            let rest = rest.iter().filter(|(count, _)| *count > 0);
            let rest: Vec<String> = rest.map(|(count, what)| format!("{count} {what}")).collect();
            body.say(Tone::Quiet, format!("And {}: -v.", text::join(&rest)));
        } else {
            body.list(refused.into_iter().map(|words| Line::new(Tone::Quiet, words)));
        }
    })
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
    if cell.key.load != from.key.load {
        words.extend(cell.key.load.words());
    }
    let before = from.requested();
    let knobs =
        cell.requested().0.into_iter().filter(|(knob, value)| before.0.get(knob) != Some(value));
    words.extend(knobs.map(|(knob, value)| format!("{knob}={value}")));
    words.join(" ")
}
