//! Lines over numbers or words, and groups of bars, each next to its published value.

use super::{COLOURS, Canvas, LETTER, LINE, NAME, SLACK, Scale, WIDTH, style, tick, wide};
use crate::text;

/// How figures are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartKind {
    /// A line for each series.
    #[default]
    Lines,
    /// A group of bars for each head.
    Bars,
}

/// One figure of a series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// What was measured here.
    pub here: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// What was published.
    pub published: Option<f64>,
}

/// What has one name, one colour and one shape.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub label: String,
    /// One for each head.
    pub points: Vec<Point>,
}

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Lines or bars.
    pub kind: ChartKind,
    /// What it shows.
    pub title: String,
    /// Lines under the title, smaller.
    pub notes: Vec<String>,
    /// At the horizontal axis.
    pub x: String,
    /// At the vertical axis.
    pub unit: String,
    /// Along the horizontal axis.
    pub heads: Vec<String>,
    /// Where each head is along it, in any unit, such as seconds; evenly spaced where this is empty.
    pub places: Vec<f64>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Rules before a head, with words: what is another from there on.
    pub rules: Vec<(usize, String)>,
    /// The horizontal axis is logarithmic, where all heads are numbers.
    pub log_x: bool,
    /// The vertical axis is logarithmic.
    pub log_y: bool,
}

pub(super) const HEIGHT: f64 = 440.0;
/// How far left a turned head begins, as a share of its length.
const TURNED: f64 = 0.95;
/// Around a name below the axis: its shape, and room for fonts that are wider than most.
const NAMES: f64 = 30.0;
/// Lines over each other that the words of rules take.
const RULES: usize = 5;

/// A number at an axis where each has its own: sizes in their usual units.
pub(super) fn size(value: f64) -> String {
    let units = [(1024.0 * 1024.0, "M"), (1024.0, "K")];
    match units.into_iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, name)) => format!("{}{name}", tick(value / unit)),
        None => tick(value),
    }
}

/// Moves places apart that are nearer than a line, and keeps them above the end of the axis.
pub(super) fn apart(places: &mut [(usize, f64)], bottom: f64) {
    places.sort_by(|a, b| a.1.total_cmp(&b.1));
    for at in 1..places.len() {
        places[at].1 = places[at].1.max(places[at - 1].1 + LINE);
    }
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        place.1 = place.1.min(limit);
        limit = place.1 - LINE;
    }
}

/// Names as they are written: numbers as sizes, where all are numbers.
fn in_short(names: Vec<String>) -> Vec<String> {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    let words = numbers.map_or(names, |numbers| numbers.into_iter().map(size).collect());
    words.iter().map(|name| text::clip(&text::clean(name, true), NAME, true)).collect()
}

impl Chart {
    /// The file.
    pub fn svg(&self) -> String {
        self.drawn(true, WIDTH)
    }

    /// A part of a page, so wide, which has the theme and says above it what the title and the notes do.
    pub fn inline(&self, width: f64) -> String {
        self.drawn(false, width)
    }

    fn drawn(&self, is_file: bool, width: f64) -> String {
        let names = in_short(self.series.iter().map(|series| series.label.clone()).collect());
        let widest = names.iter().map(|name| wide(name, 12.0)).fold(0.0, f64::max);
        // Next to the ends of their lines where there is room, and otherwise below the axis.
        let is_beside = width >= WIDTH;
        let right = if is_beside { widest + 34.0 } else { 12.0 };
        let titles = text::wrap("", &text::clean(&self.title, true), 80);
        let above = 19.0 * titles.len() as f64 + 16.0 * self.notes.len() as f64;
        let top = if is_file { 40.0 + above } else { 30.0 };
        let values: Vec<f64> =
            self.series.iter().flat_map(|one| &one.points).flat_map(all).collect();
        let y = Scale::over(&values, self.log_y, 0.0, 0.0);
        let numbers_wide = y.ticks().into_iter().map(|value| wide(&tick(value), 12.0));
        let left = numbers_wide.fold(24.0, f64::max) + 24.0;
        let slot_from = |left: f64| (width - left - right) / self.heads.len().max(1) as f64;
        let slot = slot_from(left);
        let heads = in_short(self.heads.clone());
        let longest = heads.iter().map(|head| wide(head, 12.0)).fold(0.0, f64::max);
        let has_places = !self.heads.is_empty() && self.places.len() == self.heads.len();
        let is_turned = longest > slot - 6.0 && !self.log_x && !has_places;
        // A turned head ends at its place and begins left of it, but not left of the picture.
        let turned = heads.iter().enumerate().filter(|_| is_turned);
        let begins = turned.map(|(at, head)| TURNED * wide(head, 12.0) - slot * (at as f64 + 0.5));
        let left = begins.fold(left, f64::max);
        let slot = slot_from(left);
        let lines_of_heads = if self.log_x { 2 } else { 1 };
        let below = match is_turned {
            true => 50.0 + (longest * 0.5).min(90.0),
            false => 39.0 + LINE * lines_of_heads as f64,
        };
        let bottom = HEIGHT - below;
        let numbers: Vec<f64> = self.heads.iter().filter_map(|head| head.parse().ok()).collect();
        let is_numeric = self.log_x && numbers.len() == self.heads.len();
        let x = if has_places {
            let least = self.places.iter().copied().fold(f64::INFINITY, f64::min);
            let most = self.places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // One head alone is in the middle, and those at the ends have room for half of their words.
            let spare = if most > least { 0.0 } else { 1.0 };
            let half = longest.min((width - left - right) / 3.0) / 2.0;
            let (from, to) = (left + half, width - right - half);
            Scale { low: least - spare, high: most + spare, is_log: false, from, to }
        } else if is_numeric {
            Scale::over(&numbers, true, left, width - right)
        } else {
            let count = self.heads.len().max(1) as f64;
            Scale { low: 0.0, high: count, is_log: false, from: left, to: width - right }
        };
        let y = Scale { from: bottom, to: top, ..y };
        let mut canvas = Canvas { text: String::new(), x, y };
        let columns = if widest + NAMES < width / 2.0 { 2 } else { 1 };
        let lines = if is_beside { 0 } else { names.len().div_ceil(columns) };
        let room = ((width / SLACK) / (12.0 * LETTER)) as usize;
        let what = text::wrap("", &text::clean(&self.x, true), room);
        let height = HEIGHT + LINE * what.len().saturating_sub(1) as f64;
        canvas.begin(&self.title, "img", [width, height + LINE * lines as f64]);
        if is_file {
            canvas.put(format_args!("{}", style()));
            canvas.put(format_args!(r#"<rect class="ground" width="{width}" height="{height}"/>"#));
            for (at, line) in titles.iter().enumerate() {
                canvas.words("ink title", [16.0, 24.0 + 19.0 * at as f64], "", line);
            }
            for (at, line) in self.notes.iter().enumerate() {
                let y = 24.0 + 19.0 * titles.len() as f64 + 16.0 * at as f64;
                canvas.words("quiet", [16.0, y], "", &text::clip(line, 118, true));
            }
        }
        let places: Vec<f64> = (0..self.heads.len())
            .map(|at| match numbers.get(at).filter(|_| is_numeric) {
                Some(number) => canvas.x.at(*number).unwrap_or(left),
                None if has_places => canvas.x.at(self.places[at]).unwrap_or(left),
                None => left + slot * (at as f64 + 0.5),
            })
            .collect();
        let ends_at = [left, width - right];
        let heads: Vec<(&str, f64)> =
            heads.iter().map(String::as_str).zip(places.clone()).collect();
        let lines = (!is_turned).then_some(lines_of_heads);
        self.axes(&mut canvas, &heads, lines, [top, bottom], ends_at);
        let middle = f64::midpoint(ends_at[0], ends_at[1]);
        for (at, words) in what.iter().enumerate() {
            // A long one is in the middle of the picture, where it has room.
            let half = wide(words, 12.0) * SLACK / 2.0;
            let x = middle.min(width - half).max(half);
            let y = HEIGHT - 12.0 + LINE * at as f64;
            canvas.words("quiet middle", [x, y], "", words);
        }
        self.rules(&mut canvas, &places, [top, bottom], width);
        let ends = match self.kind {
            ChartKind::Lines => self.lines(&mut canvas, &places),
            ChartKind::Bars => self.bars(&mut canvas, &places, slot),
        };
        if !is_beside {
            for (at, name) in names.iter().enumerate() {
                let x = 6.0 + width / columns as f64 * (at % columns) as f64;
                let y = height + LINE * (at / columns) as f64;
                canvas.mark(at, [x, y + 4.0], true);
                canvas.words("ink", [x + 10.0, y + 8.0], "", name);
            }
            return canvas.text + "</svg>\n";
        }
        let mut beside: Vec<(usize, f64)> =
            ends.iter().enumerate().filter_map(|(at, end)| end.map(|[_, y]| (at, y))).collect();
        apart(&mut beside, bottom);
        let edge = width - right + 22.0;
        for (at, y) in beside {
            let Some([x, from]) = ends[at] else { continue };
            canvas.line("lead", [x + 7.0, from], [edge - 12.0, y]);
            canvas.mark(at, [edge - 5.0, y], true);
            canvas.words("ink", [edge + 3.0, y + 4.0], "", &names[at]);
        }
        canvas.text + "</svg>\n"
    }

    /// The axes, with heads over this number of lines, or turned.
    fn axes(
        &self,
        canvas: &mut Canvas,
        heads: &[(&str, f64)],
        lines: Option<usize>,
        [top, bottom]: [f64; 2],
        [left, right]: [f64; 2],
    ) {
        for value in canvas.y.ticks() {
            if let Some(y) = canvas.y.at(value) {
                canvas.line("grid", [left, y], [right, y]);
                canvas.words("quiet end", [left - 7.0, y + 4.0], "", &tick(value));
            }
        }
        canvas.line("lead", [left, bottom], [right, bottom]);
        // Where not all fit, the last one does: it says how far the axis goes.
        let last = heads.last().map_or(f64::INFINITY, |(head, x)| x - wide(head, 12.0) / 2.0);
        let mut free = vec![f64::NEG_INFINITY; lines.unwrap_or(1)];
        for (at, (head, x)) in (1..).zip(heads) {
            let half = wide(head, 12.0) / 2.0;
            let is_last = at == heads.len();
            canvas.line("lead", [*x, bottom], [*x, bottom + 4.0]);
            if lines.is_none() {
                if *x >= free[0] {
                    free[0] = x + LINE;
                    let more = format!(r#" transform="rotate(-28 {x:.1} {:.1})""#, bottom + 16.0);
                    canvas.words("quiet end", [*x, bottom + 16.0], &more, head);
                }
                continue;
            }
            let fits = |line: &usize| {
                let is_free = x - half > free[*line];
                is_last || is_free && (*line > 0 || x + half + 4.0 < last)
            };
            if let Some(line) = (0..free.len()).find(fits) {
                let y = bottom + 18.0 + LINE * line as f64;
                canvas.words("quiet middle", [*x, y], "", head);
                free[line] = x + half + 4.0;
            }
        }
        let unit = text::clip(&self.unit, NAME, true);
        let end = (left - 7.0).max(wide(&unit, 12.0) * SLACK);
        canvas.words("quiet end", [end, top - 13.0], "", &unit);
    }

    /// Draws the rules. Where no line is free for its words a rule has none.
    fn rules(&self, canvas: &mut Canvas, places: &[f64], [top, bottom]: [f64; 2], width: f64) {
        let mut free = [f64::NEG_INFINITY; RULES];
        for (before, words) in &self.rules {
            let Some([left, right]) = before.checked_sub(1).and_then(|at| places.get(at..at + 2))
            else {
                continue;
            };
            let x = f64::midpoint(*left, *right);
            canvas.line("front", [x, top], [x, bottom]);
            let words = text::clip(&text::clean(words, true), NAME, true);
            let long = wide(&words, 12.0);
            // Left of the rule where it would leave the picture.
            let from = if x + 5.0 + long < width { x + 5.0 } else { x - 5.0 - long };
            let Some(line) = free.iter().position(|end| *end < from) else { continue };
            free[line] = from + long + 6.0;
            canvas.words("ink halo", [from, top + LINE * (line as f64 + 0.8)], "", &words);
        }
    }

    /// Draws the lines and says where each ends.
    fn lines(&self, canvas: &mut Canvas, places: &[f64]) -> Vec<Option<[f64; 2]>> {
        let mut ends = Vec::new();
        for (at, series) in self.series.iter().enumerate() {
            let colour = at % COLOURS.len();
            let path = |canvas: &Canvas, of: &dyn Fn(&Point) -> Option<f64>| -> Vec<[f64; 2]> {
                let points = places.iter().zip(&series.points);
                points.filter_map(|(x, point)| Some([*x, canvas.y.at(of(point)?)?])).collect()
            };
            let ours = path(canvas, &|point| point.here);
            let theirs = path(canvas, &|point| point.published);
            for (points, class) in [(&theirs, "theirs"), (&ours, "ours")] {
                let line: Vec<String> =
                    points.iter().map(|[x, y]| format!("{x:.1} {y:.1}")).collect();
                if line.len() > 1 {
                    canvas.put(format_args!(
                        r#"<path class="none k{colour} {class}" d="M{}"/>"#,
                        line.join("L")
                    ));
                }
            }
            for (x, point) in places.iter().zip(&series.points) {
                if let (Some(_), Some(interval)) = (point.here, point.interval) {
                    canvas.interval(at, *x, interval);
                }
            }
            theirs.iter().for_each(|place| canvas.mark(at, *place, false));
            ours.iter().for_each(|place| canvas.mark(at, *place, true));
            ends.push(ours.last().or(theirs.last()).copied());
        }
        ends
    }

    /// Draws the bars and says where the last one of each series ends.
    fn bars(&self, canvas: &mut Canvas, places: &[f64], slot: f64) -> Vec<Option<[f64; 2]>> {
        let wide = slot * 0.8 / self.series.len().max(1) as f64;
        let nought = canvas.y.at(0.0).unwrap_or(canvas.y.from);
        let mut ends = Vec::new();
        for (at, series) in self.series.iter().enumerate() {
            let colour = at % COLOURS.len();
            let mut end = None;
            for (middle, point) in places.iter().zip(&series.points) {
                let left = middle - slot * 0.4 + wide * at as f64;
                let x = left + wide / 2.0;
                if let Some(y) = point.here.and_then(|value| canvas.y.at(value)) {
                    let (from, to) = (y.min(nought), y.max(nought));
                    let (width, height) = ((wide * 0.86).max(1.0), (to - from).max(0.5));
                    canvas.put(format_args!(
                        r#"<rect class="f{colour}" fill-opacity=".75" x="{left:.1}" y="{from:.1}" width="{width:.1}" height="{height:.1}"/>"#
                    ));
                    if let Some(interval) = point.interval {
                        canvas.interval(at, x - wide * 0.07, interval);
                    }
                    end = Some([x, y]);
                }
                if let Some(y) = point.published.and_then(|value| canvas.y.at(value)) {
                    canvas.mark(at, [x - wide * 0.07, y], false);
                    end = end.or(Some([x, y]));
                }
            }
            ends.push(end);
        }
        ends
    }
}

/// All values of a figure.
fn all(point: &Point) -> Vec<f64> {
    let ends = point.interval.filter(|_| point.here.is_some());
    let ends = ends.into_iter().flatten();
    point.here.into_iter().chain(point.published).chain(ends).collect()
}
