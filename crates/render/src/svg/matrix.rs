//! A figure for each pair: of the CPUs of lead and follow.

use super::{Canvas, Scale, escape, wide};

/// Figures by row and column, stronger where there is more.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// What it shows, in words.
    pub label: String,
    /// What rows and columns are.
    pub axes: [String; 2],
    /// The names of rows and columns.
    pub heads: Vec<String>,
    /// A row for each head, with a figure and its words for each.
    pub rows: Vec<Vec<Option<(f64, String)>>>,
}

const LEFT: f64 = 48.0;
const TOP: f64 = 44.0;

/// More columns than this have no room for words in them.
const WORDED: usize = 5;

impl Matrix {
    /// A part of a page, so wide.
    pub fn inline(&self, width: f64) -> String {
        let count = self.heads.len().max(1) as f64;
        let side = ((width - LEFT - 8.0) / count).min(84.0);
        let tall = side.min(44.0);
        let figures = self.rows.iter().flatten().flatten().map(|(value, _)| *value);
        let scale = Scale::over(&figures.collect::<Vec<_>>(), true, 0.08, 0.62);
        let mut canvas = Canvas { text: String::new(), x: scale, y: scale };
        canvas.begin(&self.label, "img", [width, TOP + tall * count + 8.0]);
        let [row, column] = &self.axes;
        canvas.words("quiet", [LEFT, 14.0], "", column);
        canvas.words("quiet end", [LEFT - 8.0, TOP - 10.0], "", row);
        let widest = self.heads.iter().map(|head| wide(head, 12.0)).fold(12.0, f64::max);
        let step = ((widest + 6.0) / side).ceil() as usize;
        for (at, head) in self.heads.iter().enumerate().step_by(step) {
            let middle = at as f64 + 0.5;
            canvas.words("quiet middle", [LEFT + side * middle, TOP - 10.0], "", head);
            canvas.words("quiet end", [LEFT - 8.0, TOP + tall * middle + 4.0], "", head);
        }
        for (down, row) in self.rows.iter().enumerate() {
            for (across, figure) in row.iter().enumerate() {
                let Some((value, words)) = figure else { continue };
                let (x, y) = (LEFT + side * across as f64, TOP + tall * down as f64);
                let shade = scale.at(*value).unwrap_or(0.0);
                let pair = format!("{} to {}: {words}", self.heads[down], self.heads[across]);
                canvas.put(format_args!(
                    r#"<rect class="f0" fill-opacity="{shade:.2}" x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}"><title>{}</title></rect>"#,
                    side * 0.96,
                    tall * 0.96,
                    escape(&pair)
                ));
                if self.heads.len() <= WORDED {
                    let place = [x + side / 2.0, y + tall / 2.0 + 4.0];
                    canvas.words("ink middle", place, "", words);
                }
            }
        }
        canvas.text + "</svg>\n"
    }
}
