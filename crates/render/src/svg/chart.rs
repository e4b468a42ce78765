//! Lines over numbers or words, and groups of bars, each with what was published beside it.

use super::{COLOURS, Canvas, LINE, NAME, SLACK, Scale, WIDTH, style, tick, wide};
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
        let names: Vec<String> =
            self.series.iter().map(|one| text::clip(&one.label, NAME, true)).collect();
        let right = names.iter().map(|name| wide(name, 12.0)).fold(0.0, f64::max) + 34.0;
        let titles = text::wrap("", &text::clean(&self.title, true), 80);
        let above = 19.0 * titles.len() as f64 + 16.0 * self.notes.len() as f64;
        let top = if is_file { 40.0 + above } else { 30.0 };
        let values: Vec<f64> =
            self.series.iter().flat_map(|one| &one.points).flat_map(all).collect();
        let y = Scale::over(&values, self.log_y, 0.0, 0.0);
        let numbers_wide = y.ticks().into_iter().map(|value| wide(&tick(value), 12.0));
        let left = numbers_wide.fold(24.0, f64::max) + 24.0;
        let slot = (width - left - right) / self.heads.len().max(1) as f64;
        let longest = self.heads.iter().map(|head| wide(head, 12.0)).fold(0.0, f64::max);
        let is_turned = longest > slot - 6.0 && !self.log_x;
        let bottom = HEIGHT - if is_turned { 50.0 + (longest * 0.5).min(90.0) } else { 54.0 };
        let numbers: Vec<f64> = self.heads.iter().filter_map(|head| head.parse().ok()).collect();
        let is_numeric = self.log_x && numbers.len() == self.heads.len();
        let x = if is_numeric {
            Scale::over(&numbers, true, left, width - right)
        } else {
            let count = self.heads.len().max(1) as f64;
            Scale { low: 0.0, high: count, is_log: false, from: left, to: width - right }
        };
        let y = Scale { from: bottom, to: top, ..y };
        let mut canvas = Canvas { text: String::new(), x, y };
        canvas.begin(&self.title, "img", [width, HEIGHT]);
        if is_file {
            canvas.put(format_args!("{}", style()));
            canvas.put(format_args!(r#"<rect class="ground" width="{width}" height="{HEIGHT}"/>"#));
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
                None => left + slot * (at as f64 + 0.5),
            })
            .collect();
        self.axes(&mut canvas, &places, (is_numeric, is_turned), [top, bottom]);
        self.rules(&mut canvas, &places, [top, bottom], width);
        let ends = match self.kind {
            ChartKind::Lines => self.lines(&mut canvas, &places),
            ChartKind::Bars => self.bars(&mut canvas, &places, slot),
        };
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

    fn axes(
        &self,
        canvas: &mut Canvas,
        places: &[f64],
        (is_numeric, is_turned): (bool, bool),
        [top, bottom]: [f64; 2],
    ) {
        let (left, right) = (canvas.x.from, canvas.x.to);
        for value in canvas.y.ticks() {
            if let Some(y) = canvas.y.at(value) {
                canvas.line("grid", [left, y], [right, y]);
                canvas.words("quiet end", [left - 7.0, y + 4.0], "", &tick(value));
            }
        }
        canvas.line("lead", [left, bottom], [right, bottom]);
        let shown = |head: &String| {
            let number = head.parse().ok().filter(|_| is_numeric);
            text::clip(&number.map_or_else(|| text::clean(head, true), size), NAME, true)
        };
        // Where not all fit, the last one does: it says how far the axis goes.
        let last = self.heads.last().zip(places.last());
        let last = last.map_or(f64::INFINITY, |(head, x)| x - wide(&shown(head), 12.0) / 2.0);
        let mut free = f64::NEG_INFINITY;
        for (at, (head, x)) in (1..).zip(self.heads.iter().zip(places)) {
            let head = shown(head);
            let half = wide(&head, 12.0) / 2.0;
            let is_last = at == self.heads.len();
            canvas.line("lead", [*x, bottom], [*x, bottom + 4.0]);
            if is_turned && *x < free {
                continue;
            }
            if is_turned {
                free = x + LINE;
                let more = format!(r#" transform="rotate(-28 {x:.1} {:.1})""#, bottom + 16.0);
                canvas.words("quiet end", [*x, bottom + 16.0], &more, &head);
            } else if is_last || x - half > free && x + half + 4.0 < last {
                canvas.words("quiet middle", [*x, bottom + 18.0], "", &head);
                free = x + half + 4.0;
            }
        }
        canvas.words("quiet middle", [(left + right) / 2.0, HEIGHT - 12.0], "", &self.x);
        let unit = text::clip(&self.unit, NAME, true);
        let end = (left - 7.0).max(wide(&unit, 12.0) * SLACK);
        canvas.words("quiet end", [end, top - 9.0], "", &unit);
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
