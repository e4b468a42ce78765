//! A table that fits: columns that may be missing are dropped, and those that may not are wrapped.

use crate::text;

/// Between two columns.
const GAP: usize = 2;

/// A column that gives way first is narrowed down to this before others are, and no column further than to this.
const FLEXIBLE: usize = 10;
const NARROWEST: usize = 4;

/// What the lines of a first cell have before them but for the first one, so that one sees where a row begins.
const HANG: &str = "  ";

/// Heads and rows of text.
#[derive(Clone)]
pub(crate) struct Grid {
    /// The names of the columns.
    pub(crate) heads: Vec<String>,
    /// Which columns stand at the right edge.
    pub(crate) right: Vec<bool>,
    /// A text for each column.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]).chain([&self.heads[column]]);
        cells.flat_map(|cell| cell.split('\n')).map(text::width).max().unwrap_or(0)
    }

    /// Columns of a line of these columns.
    pub(crate) fn width(&self, columns: &[usize]) -> usize {
        let content: usize = columns.iter().map(|column| self.column_width(*column)).sum();
        content + GAP * columns.len().saturating_sub(1)
    }

    /// The columns that fit into `limit`: all of `always`, then those of `wanted` in turn until one does not fit.
    /// Left to right.
    pub(crate) fn choose(&self, always: &[usize], wanted: &[usize], limit: usize) -> Vec<usize> {
        let mut columns = always.to_vec();
        for column in wanted {
            columns.push(*column);
            if self.width(&columns) > limit {
                columns.pop();
                break;
            }
        }
        columns.sort_unstable();
        columns
    }

    /// All columns from `first` on, in as many blocks as the limit takes, each behind column 0: none is left out.
    pub(crate) fn blocks(&self, first: usize, limit: usize) -> Vec<Vec<usize>> {
        let mut blocks = Vec::new();
        let mut next = first;
        while next < self.heads.len() {
            let wanted: Vec<usize> = (next..self.heads.len()).collect();
            let mut columns = self.choose(&[0], &wanted, limit);
            if columns.len() < 2 {
                columns = vec![0, next];
            }
            next = columns.last().copied().unwrap_or(next) + 1;
            blocks.push(columns);
        }
        blocks
    }

    /// What [`choose`](Self::choose) chooses. Where even `always` is too wide, texts go on in the next line, those of
    /// column `flexible` first: nothing is cut off. Texts are clean, and a newline is one of ours.
    pub(crate) fn narrow(
        &mut self,
        always: &[usize],
        wanted: &[usize],
        flexible: usize,
        limit: usize,
    ) -> Vec<usize> {
        let columns = self.choose(always, wanted, limit);
        let mut widths: Vec<usize> = columns.iter().map(|at| self.column_width(*at)).collect();
        let gaps = GAP * columns.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > limit {
            // A number in two lines is the last thing to do.
            let order = |at: &usize| {
                let is_first = columns[*at] == flexible && widths[*at] > FLEXIBLE;
                (is_first, !self.right[columns[*at]], widths[*at])
            };
            let wide = (0..widths.len()).filter(|at| widths[*at] > NARROWEST);
            let Some(at) = wide.max_by_key(order) else { break };
            widths[at] -= 1;
        }
        for (column, width) in columns.iter().zip(widths) {
            let cells = self.rows.iter_mut().map(|row| &mut row[*column]);
            for cell in cells.chain([&mut self.heads[*column]]) {
                if cell.split('\n').any(|line| text::width(line) > width) {
                    let wrapped = cell.split('\n').flat_map(|line| {
                        let edge = &line[..line.len() - line.trim_start().len()];
                        text::wrap(edge, line, width)
                    });
                    *cell = wrapped.collect::<Vec<_>>().join("\n");
                }
            }
        }
        columns
    }

    /// All columns, each at least as wide as `least` says, in as few lines as that takes: of those that are too wide
    /// together the one gives way by which the rows grow least, and among these the widest. Newlines in cells are ours.
    /// Whether they fit; if not, nothing is changed.
    pub(crate) fn flow(&mut self, least: &[usize], limit: usize) -> bool {
        let count = self.heads.len();
        let limit = limit.saturating_sub(GAP * count.saturating_sub(1));
        if least.iter().sum::<usize>() > limit {
            return false;
        }
        let broken = |column: usize, cell: &str, width: usize| -> Vec<String> {
            let edge = if column == 0 { HANG } else { "" };
            let lines = cell.split('\n').flat_map(|line| text::wrap(edge, line, width));
            let mut lines: Vec<String> = lines.collect();
            if let Some(rest) = lines.first().and_then(|first| first.strip_prefix(edge)) {
                lines[0] = rest.to_owned();
            }
            lines
        };
        let heights = |grid: &Self, column: usize, width: usize| -> Vec<usize> {
            grid.rows.iter().map(|row| broken(column, &row[column], width).len()).collect()
        };
        let least = |at: usize| least[at].max(1);
        // Where the other lines hang, the first one takes as much.
        let natural = (0..count).map(|at| {
            let hang = if at == 0 { HANG.len() } else { 0 };
            (self.column_width(at) + hang).clamp(least(at), limit.max(least(at)))
        });
        let mut widths: Vec<usize> = natural.collect();
        let mut now: Vec<Vec<usize>> = (0..count).map(|at| heights(self, at, widths[at])).collect();
        loop {
            let excess = widths.iter().sum::<usize>().saturating_sub(limit);
            if excess == 0 {
                break;
            }
            // In large steps while much is too wide: texts may be long, and rows many.
            let step = (excess / 8).max(1);
            let narrower = (0..count).filter(|at| widths[*at] > least(*at)).map(|at| {
                let width = widths[at].saturating_sub(step).max(least(at));
                let then = heights(self, at, width);
                let of_row = |row: usize| {
                    let others = (0..count).filter(|other| *other != at);
                    others.map(|other| now[other][row]).max().unwrap_or(0).max(then[row])
                };
                let lines: usize = (0..self.rows.len()).map(of_row).sum();
                (lines, usize::MAX - widths[at], at, width, then)
            });
            let Some((_, _, at, width, then)) = narrower.min() else { return false };
            (widths[at], now[at]) = (width, then);
        }
        for (at, width) in widths.into_iter().enumerate() {
            let cells = self.rows.iter_mut().map(|row| &mut row[at]);
            cells
                .chain([&mut self.heads[at]])
                .for_each(|cell| *cell = broken(at, cell, width).join("\n"));
        }
        true
    }

    /// The lines of the head, then those of each row.
    pub(crate) fn lines(&self, columns: &[usize]) -> (Vec<String>, Vec<Vec<String>>) {
        let widths: Vec<usize> = columns.iter().map(|at| self.column_width(*at)).collect();
        let lines = |row: &Vec<String>| {
            let cells: Vec<Vec<&str>> =
                columns.iter().map(|at| row[*at].split('\n').collect()).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let line = |number: usize| {
                let mut line = String::new();
                for ((at, cell), width) in columns.iter().zip(&cells).zip(&widths) {
                    if !line.is_empty() {
                        line.push_str(&" ".repeat(GAP));
                    }
                    let words = cell.get(number).copied().unwrap_or_default();
                    let gap = " ".repeat(width.saturating_sub(text::width(words)));
                    let [first, second] =
                        if self.right[*at] { [&gap, words] } else { [words, &gap] };
                    line.extend([first, second]);
                }
                line
            };
            (0..height).map(line).collect::<Vec<String>>()
        };
        (lines(&self.heads), self.rows.iter().map(lines).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Grid {
            heads: text(&["mechanism", "p50", "p99"]),
            right: vec![false, true, true],
            rows: vec![text(&["pipe", "71.5 us", "90.1 us"]), text(&["shm-ring/spin", "", "-"])],
        }
    }

    #[test]
    fn columns_are_dropped_and_texts_go_on_in_the_next_line() {
        for (limit, head, last) in [
            (40, "mechanism          p50      p99", "shm-ring/spin                 -"),
            (31, "mechanism          p50      p99", "shm-ring/spin                 -"),
            (30, "mechanism          p50", "shm-ring/spin"),
            (15, "mechan      p50|ism", "shm-ri|ng/spi|n"),
            (10, "mech   p50|anis|m", "shm-|ring|/spi|n"),
        ] {
            let mut grid = grid();
            let columns = grid.narrow(&[0, 1], &[2], 0, limit);
            let (heads, rows) = grid.lines(&columns);
            let shown = |lines: &[String]| {
                lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("|")
            };
            assert_eq!((shown(&heads).as_str(), shown(&rows[1]).as_str()), (head, last));
            assert_eq!(rows.len(), 2);
            for line in rows.iter().flatten() {
                assert!(text::width(line) <= limit, "{limit}: {line}");
            }
        }
    }

    #[test]
    fn texts_flow_into_as_few_lines_as_their_widths_allow_and_figures_stay_whole() {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let grid = || Grid {
            heads: text(&["claim", "here", "why"]),
            right: vec![false; 3],
            rows: vec![
                text(&[
                    "c1 a pipe is faster than any socket\nsocket / pipe",
                    "1.90 [1.71, 2.09]\nDIRECTION",
                    "",
                ]),
                text(&["c2 short", "-", "no core has two threads"]),
            ],
        };
        for limit in [44, 60, 80, 200] {
            let mut grid = grid();
            assert!(grid.flow(&[8, 17, 6], limit), "{limit}");
            let (head, rows) = grid.lines(&[0, 1, 2]);
            for line in head.iter().chain(rows.iter().flatten()) {
                assert!(text::width(line) <= limit, "{limit}: {line}");
            }
            let lines: Vec<&String> = rows.iter().flatten().collect();
            assert!(
                lines[0].contains("1.90 [1.71, 2.09]") && lines[1].contains("DIRECTION"),
                "{lines:?}"
            );
            // Only where a row begins nothing stands before its first cell.
            let begins = |line: &&&String| !line.starts_with(' ');
            assert_eq!(lines.iter().filter(begins).count(), 2, "{lines:?}");
        }
        let mut wide = grid();
        wide.flow(&[8, 17, 6], 200);
        assert_eq!(wide.lines(&[0, 1, 2]).1.iter().map(Vec::len).sum::<usize>(), 3);
        let mut narrow = grid();
        assert!(!narrow.flow(&[8, 17, 6], 30) && narrow.rows == grid().rows);
    }
}
