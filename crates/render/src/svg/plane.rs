//! Lines and points over two numbers: tails, sizes, loads, costs.

use super::{COLOURS, Canvas, LINE, NAME, SLACK, Scale, escape, wide};
use crate::text;

/// What the numbers of one direction are.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it is of.
    pub name: String,
    /// How a number at it is written.
    pub words: fn(f64) -> String,
    /// Numbers of its own with their words; none: round numbers.
    pub ticks: Vec<(f64, String)>,
    /// Large numbers come first.
    pub is_reversed: bool,
}

/// One place of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// The 95 % interval of `y`.
    pub interval: Option<[f64; 2]>,
}

/// What belongs to one name.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name.
    pub label: String,
    /// Where in the page it leads.
    pub link: Option<String>,
    /// It has a colour, a shape and its name below the axis; the others are context.
    pub is_named: bool,
    /// All its places are marked, not its end alone: they are what was measured, and the line only leads the eye.
    pub is_marked: bool,
    /// From left to right.
    pub spots: Vec<Spot>,
}

/// A place that has words of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// Above it.
    pub words: String,
}

/// Two logarithmic axes and what lies between them.
#[derive(Clone, Debug)]
pub struct Plane {
    /// What it shows, in words.
    pub label: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub traces: Vec<Trace>,
    /// Corners of the line below and left of which nothing lies.
    pub front: Vec<[f64; 2]>,
    /// Places with words.
    pub marks: Vec<Mark>,
}

const TOP: f64 = 26.0;
/// Where the horizontal axis is in a narrow picture, and in a wider one.
const BOTTOM: [f64; 2] = [240.0, 330.0];
/// Where the names begin below that: below the numbers of the axis and what they are.
const NAMES: f64 = 46.0;
/// Columns of names.
const MOST_COLUMNS: usize = 4;
/// Room of a name beside its letters.
const SHAPE: f64 = 16.0;

impl Axis {
    /// Round numbers along it.
    pub fn plain(name: impl Into<String>, words: fn(f64) -> String) -> Self {
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
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let bottom = BOTTOM[usize::from(width > super::NARROW)];
        let spots = || self.traces.iter().flat_map(|trace| &trace.spots);
        // Context has no intervals that one sees.
        let seen = self.traces.iter().filter(|trace| trace.is_named);
        let ends = seen.flat_map(|trace| &trace.spots).flat_map(|spot| spot.interval);
        let ys: Vec<f64> = spots().map(|spot| spot.y).chain(ends.flatten()).collect();
        let xs: Vec<f64> = spots().map(|spot| spot.x).collect();
        let y = Scale::over(&ys, true, bottom, TOP);
        let numbers = self.y.ticks(&y).into_iter().map(|(_, words)| wide(&words, 12.0));
        let left = numbers.fold(24.0, f64::max) + 12.0;
        let right = width - 12.0;
        let x = Scale::over(&xs, true, left, right);
        let x = if self.x.is_reversed { Scale { from: right, to: left, ..x } } else { x };
        let mut canvas = Canvas { text: String::new(), x, y };
        let named: Vec<&Trace> = self.traces.iter().filter(|trace| trace.is_named).collect();
        let names = named.iter().map(|trace| wide(&text::clip(&trace.label, NAME, true), 12.0));
        let widest = names.fold(0.0, f64::max) * SLACK + SHAPE;
        let columns = ((width / widest) as usize).clamp(1, MOST_COLUMNS);
        let lines = named.len().div_ceil(columns) as f64;
        let below = bottom + NAMES;
        canvas.begin(&self.label, "group", [width, below + LINE * lines]);
        self.axes(&mut canvas, bottom, [left, right, width]);
        for trace in self.traces.iter().filter(|trace| !trace.is_named) {
            trace.draw(&mut canvas, None);
        }
        for (at, trace) in named.iter().enumerate() {
            trace.intervals(&mut canvas, at);
        }
        self.front(&mut canvas);
        for (at, trace) in named.iter().enumerate() {
            trace.draw(&mut canvas, Some(at));
            let x = 6.0 + width / columns as f64 * (at % columns) as f64;
            let y = below + LINE * (at / columns) as f64;
            canvas.mark(at, [x, y + 6.0], true);
            trace.name(&mut canvas, [x + SHAPE - 6.0, y + 10.0]);
        }
        for mark in &self.marks {
            self.mark(&mut canvas, mark, width);
        }
        canvas.text + "</svg>\n"
    }

    fn axes(&self, canvas: &mut Canvas, bottom: f64, [left, right, width]: [f64; 3]) {
        for (value, words) in self.y.ticks(&canvas.y) {
            if let Some(y) = canvas.y.at(value) {
                canvas.line("grid", [left, y], [right, y]);
                canvas.words("quiet end", [left - 7.0, y + 4.0], "", &words);
            }
        }
        canvas.line("lead", [left, bottom], [right, bottom]);
        let mut free = f64::NEG_INFINITY;
        let mut ticks = self.x.ticks(&canvas.x);
        ticks.retain(|(value, _)| (canvas.x.low..=canvas.x.high).contains(value));
        ticks.sort_by(|a, b| {
            canvas.x.at(a.0).partial_cmp(&canvas.x.at(b.0)).unwrap_or(std::cmp::Ordering::Equal)
        });
        for (value, words) in ticks {
            let Some(x) = canvas.x.at(value) else { continue };
            canvas.line("grid", [x, TOP], [x, bottom]);
            let half = wide(&words, 12.0) / 2.0;
            if x - half > free && x + half < width {
                canvas.words("quiet middle", [x, bottom + 18.0], "", &words);
                free = x + half + 6.0;
            }
        }
        let middle = f64::midpoint(left, right);
        canvas.words("quiet middle", [middle, bottom + 34.0], "", &self.x.name);
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

    fn mark(&self, canvas: &mut Canvas, mark: &Mark, width: f64) {
        if let (Some(x), Some(y)) = (canvas.x.at(mark.x), canvas.y.at(mark.y)) {
            canvas
                .put(format_args!(r#"<circle class="none ring" cx="{x:.1}" cy="{y:.1}" r="7"/>"#));
            let half = wide(&mark.words, 12.0) / 2.0;
            let x = x.clamp(half, (width - half).max(half));
            canvas.words("ink middle halo", [x, y - 12.0], "", &mark.words);
        }
    }
}

impl Trace {
    fn places(&self, canvas: &Canvas) -> Vec<[f64; 2]> {
        let place = |spot: &Spot| Some([canvas.x.at(spot.x)?, canvas.y.at(spot.y)?]);
        self.spots.iter().filter_map(place).collect()
    }

    /// The interval of each place.
    fn intervals(&self, canvas: &mut Canvas, at: usize) {
        for spot in &self.spots {
            if let (Some(x), Some(interval)) = (canvas.x.at(spot.x), spot.interval) {
                canvas.interval(at, x, interval);
            }
        }
    }

    /// Draws it; without a number it is context.
    fn draw(&self, canvas: &mut Canvas, number: Option<usize>) {
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
        match (number, places.as_slice()) {
            (Some(number), [ends @ .., end]) => {
                ends.iter().filter(|_| self.is_marked).for_each(|place| {
                    canvas.mark(number, *place, true);
                });
                canvas.mark(number, *end, true);
            }
            (None, [[x, y]]) => canvas
                .put(format_args!(r#"<circle class="none dot" cx="{x:.1}" cy="{y:.1}" r="3.6"/>"#)),
            _ => {}
        }
        canvas.put(format_args!("</g>"));
    }

    fn name(&self, canvas: &mut Canvas, place: [f64; 2]) {
        let words = text::clip(&self.label, NAME, true);
        canvas.linked(self.link.as_deref(), |canvas| canvas.words("ink", place, "", &words));
    }
}
