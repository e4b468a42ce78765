//! Figures with their intervals: a row for each name, in it a lane for each series, over one logarithmic axis.

use super::{Axis, COLOURS, Canvas, LETTER, LINE, SLACK, Scale, wide};
use crate::text;

/// One figure.
#[derive(Clone, Debug)]
pub struct Range {
    /// Where its mark is.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The figure as it is written.
    pub words: String,
}

/// The ranges under one name.
#[derive(Clone, Debug)]
pub struct RangeRow {
    /// Its name.
    pub label: String,
    /// Where in the page it leads.
    pub link: Option<String>,
    /// The others are compared with it: its figures are led through all rows.
    pub is_reference: bool,
    /// One for each series.
    pub ranges: Vec<Option<Range>>,
}

/// Rows under each other over one axis.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// What it shows, in words.
    pub label: String,
    /// Along which all rows are drawn.
    pub axis: Axis,
    /// What each lane of a row is.
    pub series: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<RangeRow>,
}

/// Before and behind the axis.
const EDGE: f64 = 8.0;
/// Where the rows begin, below the names of the series and the numbers of the axis.
const TOP: f64 = 44.0;
/// Of a row: its name, and each lane below it.
const NAME: f64 = 17.0;
const LANE: f64 = 12.0;
/// Behind the lanes.
const GAP: f64 = 5.0;

impl Ranges {
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let ranges = self.rows.iter().flat_map(|row| row.ranges.iter().flatten());
        let values = ranges.flat_map(|one| one.interval.into_iter().flatten().chain([one.value]));
        let x = Scale::over(&values.collect::<Vec<_>>(), true, EDGE, width - EDGE);
        let row = NAME + LANE * self.series.len() as f64 + GAP;
        let bottom = TOP + row * self.rows.len() as f64;
        let mut canvas = Canvas { text: String::new(), x, y: x };
        canvas.begin(&self.label, "group", [width, bottom + 2.0]);
        let mut from = EDGE;
        for (at, name) in self.series.iter().enumerate() {
            canvas.mark(at, [from, 8.0], true);
            canvas.words("ink", [from + 8.0, 12.0], "", name);
            from += 26.0 + wide(name, 12.0) * SLACK;
        }
        let mut free = 0.0;
        for (value, words) in self.axis.ticks(&x) {
            let Some(x) = canvas.x.at(value) else { continue };
            canvas.line("grid", [x, TOP - 8.0], [x, bottom]);
            let half = wide(&words, 12.0) / 2.0;
            if x - half > free && x + half < width {
                canvas.words("quiet middle", [x, TOP - 13.0], "", &words);
                free = x + half + 6.0;
            }
        }
        for reference in self.rows.iter().filter(|row| row.is_reference) {
            for (at, range) in reference.ranges.iter().enumerate() {
                let Some(x) = range.as_ref().and_then(|range| canvas.x.at(range.value)) else {
                    continue;
                };
                let colour = at % COLOURS.len();
                canvas.line(&format!("k{colour} theirs"), [x, TOP - 8.0], [x, bottom]);
            }
        }
        for (at, one) in self.rows.iter().enumerate() {
            one.draw(&mut canvas, TOP + row * at as f64, width);
        }
        canvas.text + "</svg>\n"
    }
}

impl RangeRow {
    fn draw(&self, canvas: &mut Canvas, top: f64, width: f64) {
        let figures: Vec<&str> =
            self.ranges.iter().flatten().map(|range| range.words.as_str()).collect();
        let figures = figures.join(", ");
        let mark = if self.is_reference { " (reference)" } else { "" };
        let room =
            (width / SLACK - wide(&figures, 12.0) - wide(mark, 12.0)) / (12.0 * LETTER) - 2.0;
        let name = text::clip(&self.label, room.max(1.0) as usize, true) + mark;
        let put = |canvas: &mut Canvas| canvas.words("ink halo", [2.0, top + 12.0], "", &name);
        canvas.linked(self.link.as_deref(), put);
        canvas.words("ink end halo", [width - 2.0, top + 12.0], "", &figures);
        for (at, range) in self.ranges.iter().enumerate() {
            let Some(range) = range else { continue };
            let y = top + NAME + LANE * (at as f64 + 0.5);
            let class = format!("k{} ours", at % COLOURS.len());
            if let Some([low, high]) = range.interval
                && let (Some(low), Some(high)) = (canvas.x.at(low), canvas.x.at(high))
            {
                canvas.line(&class, [low, y], [high, y]);
                for end in [low, high] {
                    canvas.line(&class, [end, y - LINE / 4.0], [end, y + LINE / 4.0]);
                }
            }
            if let Some(x) = canvas.x.at(range.value) {
                canvas.mark(at, [x, y], true);
            }
        }
    }
}
