//! Lines and points over two numbers: tails, sizes, loads, costs.

use super::{COLOURS, Canvas, NAME, Scale, apart, escape, wide};
use crate::text;

/// What the numbers of one direction are.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// How a number at it is written.
    pub(crate) words: fn(f64) -> String,
    /// Numbers of its own with their words; none: round numbers.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Large numbers come first.
    pub(crate) is_reversed: bool,
}

/// One place of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<[f64; 2]>,
}

/// What belongs to one name.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) label: String,
    /// Where in the page it leads.
    pub(crate) link: Option<String>,
    /// It has a colour and its name beside it; the others are context.
    pub(crate) is_named: bool,
    /// Its places are marked: they are what was measured, and the line only leads the eye. A point by itself stands out.
    pub(crate) is_marked: bool,
    pub(crate) spots: Vec<Spot>,
}

/// A place that has words of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) words: String,
}

/// Two logarithmic axes and what lies between them.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    /// What it shows, in words.
    pub(crate) label: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) traces: Vec<Trace>,
    /// Corners of the line below and left of which nothing lies.
    pub(crate) front: Vec<[f64; 2]>,
    pub(crate) marks: Vec<Mark>,
}

const WIDTH: f64 = super::NARROW;
const HEIGHT: f64 = 380.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 50.0;

/// An area that a name takes: left, top, right, bottom.
type Area = [f64; 4];

fn meet(a: &Area, b: &Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

impl Axis {
    /// Round numbers along it.
    pub(crate) fn plain(name: impl Into<String>, words: fn(f64) -> String) -> Self {
        Self { name: name.into(), words, ticks: Vec::new(), is_reversed: false }
    }

    pub(super) fn ticks(&self, scale: &Scale) -> Vec<(f64, String)> {
        let words = |value: f64| (value, (self.words)(value));
        match self.ticks.as_slice() {
            [] => scale.ticks().into_iter().map(words).collect(),
            own => own.to_vec(),
        }
    }
}

impl Plane {
    /// A part of a page.
    pub(crate) fn inline(&self) -> String {
        let spots = || self.traces.iter().flat_map(|trace| &trace.spots);
        let ends = spots().flat_map(|spot| spot.interval.into_iter().flatten());
        let ys: Vec<f64> = spots().map(|spot| spot.y).chain(ends).collect();
        let xs: Vec<f64> = spots().map(|spot| spot.x).collect();
        let y = Scale::over(&ys, true, BOTTOM, TOP);
        let is_cloud = self.traces.iter().all(|trace| trace.spots.len() < 2);
        let names = self.traces.iter().filter(|trace| trace.is_named && !is_cloud);
        let names = names.map(|trace| wide(&text::clip(&trace.label, NAME, true), 12.0));
        let right = WIDTH - names.fold(0.0, f64::max) - if is_cloud { 16.0 } else { 34.0 };
        let numbers = self.y.ticks(&y).into_iter().map(|(_, words)| wide(&words, 12.0));
        let left = numbers.fold(24.0, f64::max) + 12.0;
        let x = Scale::over(&xs, true, left, right);
        let x = if self.x.is_reversed { Scale { from: right, to: left, ..x } } else { x };
        let mut canvas = Canvas { text: String::new(), x, y };
        canvas.begin(&self.label, "group", [WIDTH, HEIGHT]);
        self.axes(&mut canvas, left, right);
        for trace in self.traces.iter().filter(|trace| !trace.is_named) {
            trace.draw(&mut canvas, None);
        }
        let named = || self.traces.iter().filter(|trace| trace.is_named).enumerate();
        for (at, trace) in named() {
            trace.band(&mut canvas, at);
        }
        self.front(&mut canvas);
        let ends: Vec<Option<[f64; 2]>> =
            named().map(|(at, trace)| trace.draw(&mut canvas, Some(at))).collect();
        let named: Vec<&Trace> = named().map(|(_, trace)| trace).collect();
        if is_cloud {
            names_beside(&mut canvas, &named, &ends, [left, right]);
        } else {
            names_at_edge(&mut canvas, &named, &ends, right);
        }
        for mark in &self.marks {
            self.mark(&mut canvas, mark);
        }
        canvas.text + "</svg>\n"
    }

    fn axes(&self, canvas: &mut Canvas, left: f64, right: f64) {
        for (value, words) in self.y.ticks(&canvas.y) {
            if let Some(y) = canvas.y.at(value) {
                canvas.line("grid", [left, y], [right, y]);
                canvas.words("quiet end", [left - 7.0, y + 4.0], "", &words);
            }
        }
        canvas.line("lead", [left, BOTTOM], [right, BOTTOM]);
        let mut free = f64::NEG_INFINITY;
        let mut ticks = self.x.ticks(&canvas.x);
        ticks.retain(|(value, _)| (canvas.x.low..=canvas.x.high).contains(value));
        ticks.sort_by(|a, b| {
            canvas.x.at(a.0).partial_cmp(&canvas.x.at(b.0)).unwrap_or(std::cmp::Ordering::Equal)
        });
        for (value, words) in ticks {
            let Some(x) = canvas.x.at(value) else { continue };
            canvas.line("grid", [x, TOP], [x, BOTTOM]);
            let half = wide(&words, 12.0) / 2.0;
            if x - half > free {
                canvas.words("quiet middle", [x, BOTTOM + 18.0], "", &words);
                free = x + half + 6.0;
            }
        }
        let middle = f64::midpoint(left, right);
        canvas.words("quiet middle", [middle, HEIGHT - 10.0], "", &self.x.name);
        canvas.words("quiet", [4.0, 14.0], "", &self.y.name);
    }

    /// A staircase: what lies above and right of it is beaten in both.
    fn front(&self, canvas: &mut Canvas) {
        let mut path = String::new();
        let corners =
            self.front.iter().filter_map(|[x, y]| Some([canvas.x.at(*x)?, canvas.y.at(*y)?]));
        for [x, y] in corners {
            path += &match path.is_empty() {
                true => format!("M{x:.1} {y:.1}"),
                false => format!("H{x:.1}V{y:.1}"),
            };
        }
        if self.front.len() > 1 {
            canvas.put(format_args!(r#"<path class="none front" d="{path}"/>"#));
        }
    }

    fn mark(&self, canvas: &mut Canvas, mark: &Mark) {
        if let (Some(x), Some(y)) = (canvas.x.at(mark.x), canvas.y.at(mark.y)) {
            canvas
                .put(format_args!(r#"<circle class="none ring" cx="{x:.1}" cy="{y:.1}" r="7"/>"#));
            canvas.words("ink middle halo", [x, y - 12.0], "", &mark.words);
        }
    }
}

impl Trace {
    fn places(&self, canvas: &Canvas) -> Vec<[f64; 2]> {
        let place = |spot: &Spot| Some([canvas.x.at(spot.x)?, canvas.y.at(spot.y)?]);
        self.spots.iter().filter_map(place).collect()
    }

    /// The interval of each place, joined.
    fn band(&self, canvas: &mut Canvas, at: usize) {
        let edge = |end: usize| -> Vec<String> {
            let spots = self.spots.iter().filter_map(|spot| {
                let (x, y) = (canvas.x.at(spot.x)?, canvas.y.at(spot.interval?[end])?);
                Some(format!("{x:.1} {y:.1}"))
            });
            spots.collect()
        };
        let (low, mut high) = (edge(0), edge(1));
        high.reverse();
        if low.len() > 1 {
            let path = [low, high].concat().join("L");
            let colour = at % COLOURS.len();
            canvas.put(format_args!(r#"<path class="band f{colour}" d="M{path}z"/>"#));
        }
    }

    /// Draws it and says where it ends; without a number it is context.
    fn draw(&self, canvas: &mut Canvas, number: Option<usize>) -> Option<[f64; 2]> {
        let places = self.places(canvas);
        let title = escape(&self.label);
        canvas.put(format_args!("<g><title>{title}</title>"));
        let line: Vec<String> = places.iter().map(|[x, y]| format!("{x:.1} {y:.1}")).collect();
        let class = match number {
            Some(number) => format!("none ours k{}", number % COLOURS.len()),
            None => "none context".to_owned(),
        };
        if line.len() > 1 {
            canvas.put(format_args!(r#"<path class="{class}" d="M{}"/>"#, line.join("L")));
        }
        match (places.as_slice(), number) {
            ([[x, y]], _) => {
                let class = match (number, self.is_marked) {
                    (Some(_), true) => "f0",
                    (Some(_), false) => "known",
                    (None, _) => "none dot",
                };
                canvas.put(format_args!(
                    r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.6"/>"#
                ));
            }
            (all, Some(number)) if self.is_marked => {
                all.iter().for_each(|place| canvas.mark(number, *place, true));
            }
            _ => {}
        }
        canvas.put(format_args!("</g>"));
        places.last().copied()
    }

    fn name(&self, canvas: &mut Canvas, place: [f64; 2], class: &str) {
        let words = text::clip(&self.label, NAME, true);
        match &self.link {
            Some(link) => {
                canvas.put(format_args!(r##"<a href="#{}">"##, escape(link)));
                canvas.words(class, place, "", &words);
                canvas.put(format_args!("</a>"));
            }
            None => canvas.words(class, place, "", &words),
        }
    }
}

/// Names of lines: right of all of them.
fn names_at_edge(canvas: &mut Canvas, named: &[&Trace], ends: &[Option<[f64; 2]>], right: f64) {
    let mut beside: Vec<(usize, f64)> =
        ends.iter().enumerate().filter_map(|(at, end)| end.map(|[_, y]| (at, y))).collect();
    apart(&mut beside, BOTTOM);
    for (at, y) in beside {
        let Some([x, from]) = ends[at] else { continue };
        canvas.line("lead", [x + 5.0, from], [right + 8.0, y]);
        canvas.mark(at, [right + 15.0, y], true);
        named[at].name(canvas, [right + 23.0, y + 4.0], "ink");
    }
}

/// Names of points: beside each where there is room, and nowhere where there is none.
fn names_beside(
    canvas: &mut Canvas,
    named: &[&Trace],
    ends: &[Option<[f64; 2]>],
    [left, right]: [f64; 2],
) {
    let dots = ends.iter().flatten().map(|[x, y]| [x - 4.0, y - 4.0, x + 4.0, y + 4.0]);
    let mut taken: Vec<Area> = dots.collect();
    for (trace, end) in named.iter().zip(ends) {
        let Some([x, y]) = *end else { continue };
        let width = wide(&text::clip(&trace.label, NAME, true), 12.0);
        let starts = [
            [x + 9.0, y + 4.0],
            [x - width - 9.0, y + 4.0],
            [x + 5.0, y - 9.0],
            [x + 5.0, y + 18.0],
            [x - width - 5.0, y - 9.0],
            [x - width - 5.0, y + 18.0],
        ];
        let area = |[x, y]: &[f64; 2]| [*x, y - 11.0, x + width, y + 4.0];
        let is_free = |start: &&[f64; 2]| {
            let area = area(start);
            let is_inside = area[0] >= left && area[2] <= right + 14.0 && area[1] >= 0.0;
            is_inside && area[3] <= BOTTOM && !taken.iter().any(|other| meet(&area, other))
        };
        let Some(start) = starts.iter().find(is_free) else { continue };
        taken.push(area(start));
        trace.name(canvas, *start, "ink halo");
    }
}
