//! Charts as SVG: lines over numbers or words, and groups of bars, each with what was published beside it; in pages also
//! planes of two numbers, strips of rounds and matrices.
//!
//! A picture is one file that needs nothing else, or a part of a page, which then has the theme once for all. Its colours
//! are those of Okabe and Ito (2008), which all kinds of colour vision tell apart, and every series has its own shape and
//! its name beside it, so that nothing depends on colour. It follows the reader's choice of a light or a dark page. All
//! texts are taken as hostile.

use crate::text;
use std::fmt::Write;

mod chart;
mod flow;
mod matrix;
mod plane;
mod ranges;
mod strip;

pub use chart::{Chart, ChartKind, Point, Series};
pub use flow::{Flow, FlowLink};
pub use matrix::Matrix;
pub use plane::{Axis, Mark, Plane, Spot, Trace};
pub use ranges::{Range, RangeRow, Ranges};
pub use strip::{Strip, StripRow, spark};

pub(crate) const WIDTH: f64 = 760.0;
/// Of what a telephone shows without cutting or shrinking its letters, and a wider screen next to others of its kind.
pub(crate) const NARROW: f64 = 340.0;

/// Of a letter beside its size: what sans-serif fonts need on average.
const LETTER: f64 = 0.56;
/// Of fonts that are wider than most.
const SLACK: f64 = 1.1;
/// Between two names.
const LINE: f64 = 15.0;
/// The longest name, in letters.
const NAME: usize = 36;

/// On a light page, and on a dark one.
const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#4aa8e8"),
    ("#d55e00", "#f08039"),
    ("#008a64", "#1fc296"),
    ("#b3568b", "#e29bc4"),
    ("#a87400", "#e9b030"),
    ("#1a1a1a", "#e6e6e6"),
    ("#3f8fc0", "#9ad4f5"),
];

/// A text of an SVG file or a page: nothing of it is markup, and nothing a terminal obeys.
pub fn escape(words: &str) -> String {
    let mut escaped = String::new();
    for sign in text::clean(words, true).chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Not characters, and so not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            sign => escaped.push(sign),
        }
    }
    escaped
}

/// An axis: values to places.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    /// Over all values; from 0, where it is not logarithmic.
    fn over(values: &[f64], is_log: bool, from: f64, to: f64) -> Self {
        let usable = values.iter().copied().filter(|value| value.is_finite());
        let usable: Vec<f64> = usable.filter(|value| !is_log || *value > 0.0).collect();
        let least = usable.iter().copied().fold(f64::INFINITY, f64::min);
        let most = usable.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (usable.is_empty(), is_log) {
            (true, _) => (1.0, 10.0),
            (false, true) => (least / 1.3, most * 1.3),
            (false, false) => {
                let (low, high) = (least.min(0.0), most.max(0.0));
                let spare = (high - low) * 0.05;
                (if low < 0.0 { low - spare } else { low }, high + spare)
            }
        };
        // Figures of a hostile file may be as large as a number can be, or all the same.
        let (low, high) = (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300));
        let low = if is_log { low.max(1e-300) } else { low };
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        Self { low, high, is_log, from, to }
    }

    /// Where a value is; `None` where it has no place.
    fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.is_log && value <= 0.0) {
            return None;
        }
        let value = value.clamp(self.low, self.high);
        let share = if self.is_log {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            // Halved, so that the difference of two huge numbers is a number.
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        };
        Some(self.from + share * (self.to - self.from))
    }

    /// Round values along the axis, ten at most.
    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
            if last - first < 2 {
                let all = (first - 1..=last)
                    .flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| factor * power(decade)));
                let all: Vec<f64> =
                    all.filter(|value| (self.low..=self.high).contains(value)).collect();
                // Within less than a factor of five there is nothing to see of a logarithm.
                return if all.len() < 3 { Self { is_log: false, ..*self }.ticks() } else { all };
            }
            let step = (last - first) / 9 + 1;
            let decades = (0..10).map(|at| first + at * step).take_while(|decade| *decade <= last);
            return decades.map(power).collect();
        }
        let rough = (self.high / 2.0 - self.low / 2.0) / 2.5;
        let decade = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= rough * 0.999);
        let step = step.unwrap_or(10.0) * decade;
        let first = (self.low / step).ceil();
        let all = (0..10).map(|at| (first + f64::from(at)) * step);
        all.take_while(|value| *value <= self.high).collect()
    }
}

/// A power of ten, to the last digit, which `powi` does not give.
fn power(decade: i32) -> f64 {
    format!("1e{decade}").parse().unwrap_or(f64::NAN)
}

/// A number at an axis.
fn tick(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        format!("{value:e}")
    } else if size >= 1000.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", text::grouped(size.round() as u64))
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// How wide a text is at a size of its letters.
fn wide(words: &str, size: f64) -> f64 {
    text::width(words) as f64 * size * LETTER
}

/// The picture as it is drawn.
struct Canvas {
    text: String,
    x: Scale,
    y: Scale,
}

impl Canvas {
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // A string takes whatever it is given.
        let _ = self.text.write_fmt(element);
        self.text.push('\n');
    }

    /// The head of a picture, with what it shows for those who do not see it. One with links in it is a group.
    fn begin(&mut self, label: &str, role: &str, [width, height]: [f64; 2]) {
        let label = escape(label);
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="{role}" aria-label="{label}"><title>{label}</title>"#
        ));
    }

    fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.put(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    fn words(&mut self, class: &str, [x, y]: [f64; 2], more: &str, words: &str) {
        let words = escape(words);
        self.put(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}"{more}>{words}</text>"#
        ));
    }

    /// What leads to a place in the page, where it leads anywhere.
    fn linked(&mut self, link: Option<&str>, draw: impl FnOnce(&mut Self)) {
        if let Some(link) = link {
            self.put(format_args!(r##"<a href="#{}">"##, escape(link)));
        }
        draw(self);
        if link.is_some() {
            self.put(format_args!("</a>"));
        }
    }

    /// The shape of a series: filled for ours, hollow for what was published.
    fn mark(&mut self, series: usize, [x, y]: [f64; 2], is_ours: bool) {
        let colour = series % COLOURS.len();
        let fill = if is_ours { format!("f{colour}") } else { "hollow".to_owned() };
        let class = format!("k{colour} {fill}");
        let r = if is_ours { 3.6 } else { 4.6 };
        match series % 4 {
            0 => self
                .put(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{r}"/>"#)),
            1 => {
                let side = 2.0 * r - 1.0;
                let (left, top) = (x - side / 2.0, y - side / 2.0);
                self.put(format_args!(
                    r#"<rect class="{class}" x="{left:.1}" y="{top:.1}" width="{side:.1}" height="{side:.1}"/>"#
                ));
            }
            2 => self.put(format_args!(
                r#"<path class="{class}" d="M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z"/>"#,
                y - r - 0.6,
                r + 0.6,
                2.0 * r,
                -2.0 * r - 1.2,
            )),
            _ => {
                let r = r + 0.8;
                self.put(format_args!(
                    r#"<path class="{class}" d="M{x:.1} {:.1}l{r:.1} {r:.1}l-{r:.1} {r:.1}l-{r:.1} -{r:.1}z"/>"#,
                    y - r
                ));
            }
        }
    }

    /// The interval of a figure.
    fn interval(&mut self, series: usize, x: f64, [low, high]: [f64; 2]) {
        if let (Some(low), Some(high)) = (self.y.at(low), self.y.at(high)) {
            let class = format!("k{}", series % COLOURS.len());
            self.line(&class, [x, low], [x, high]);
            for end in [low, high] {
                self.line(&class, [x - 3.0, end], [x + 3.0, end]);
            }
        }
    }
}

/// The grounds and inks beside the colours: name, on a light page, on a dark one.
const PAINTS: [(&str, &str, &str); 4] = [
    ("ground", "#ffffff", "#0d1117"),
    ("ink", "#1a1a1a", "#e6e6e6"),
    ("quiet", "#5c5c5c", "#a0a0a0"),
    ("grid", "#dddddd", "#30363d"),
];

/// All names of the theme with their values.
fn paints(is_dark: bool) -> impl Iterator<Item = (String, &'static str)> {
    let pick = move |light: &'static str, dark: &'static str| if is_dark { dark } else { light };
    let named =
        PAINTS.into_iter().map(move |(name, light, dark)| (name.to_owned(), pick(light, dark)));
    let numbered = COLOURS.into_iter().enumerate();
    named.chain(numbered.map(move |(at, (light, dark))| (format!("c{at}"), pick(light, dark))))
}

/// What does not depend on the theme.
const SHAPES: &str = "text{font:12px system-ui,'DejaVu Sans',sans-serif}.title{font-size:15px;font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}.none{fill:none}.ours{stroke-width:2}.theirs{stroke-dasharray:3 3}.lead{stroke-width:.6}";

/// The rules that paint, with what stands for each name of the theme.
fn rules(paint: impl Fn(&str) -> String) -> String {
    let [ground, ink, quiet, grid] = PAINTS.map(|(name, ..)| paint(name));
    let mut rules = format!(
        ".ground,.hollow{{fill:{ground}}}.ink{{fill:{ink}}}.quiet{{fill:{quiet}}}.grid{{stroke:{grid}}}.lead{{stroke:{quiet}}}"
    );
    for at in 0..COLOURS.len() {
        let colour = paint(&format!("c{at}"));
        rules += &format!(".k{at}{{stroke:{colour}}}.f{at}{{fill:{colour}}}");
    }
    rules
}

/// The style of a picture that is a file of its own: as values, since not every viewer knows custom properties.
fn style() -> String {
    let of = |is_dark: bool| {
        rules(|name| {
            let value = paints(is_dark).find(|(known, _)| known == name);
            value.map_or_else(String::new, |(_, value)| value.to_owned())
        })
    };
    format!("<style>{SHAPES}{}@media(prefers-color-scheme:dark){{{}}}</style>", of(false), of(true))
}

/// The theme of a page: custom properties, and the rules of its charts over them.
pub fn theme() -> String {
    let of = |is_dark: bool| {
        paints(is_dark).map(|(name, value)| format!("--{name}:{value};")).collect::<String>()
    };
    format!(
        ":root{{color-scheme:light dark;{}}}@media(prefers-color-scheme:dark){{:root{{{}}}}}{SHAPES}{}",
        of(false),
        of(true),
        rules(|name| format!("var(--{name})"))
    )
}

#[cfg(test)]
mod tests;
