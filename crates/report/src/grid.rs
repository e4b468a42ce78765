//! A table that fits: columns are dropped, never wrapped.

use crate::text;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Between two columns.
const GAP: usize = 2;

/// Heads and rows of text.
#[derive(Clone)]
pub(crate) struct Grid {
    pub(crate) heads: Vec<String>,
    /// Which columns stand at the right edge.
    pub(crate) right: Vec<bool>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Of columns with their heads, and which of them stand at the right edge.
    pub(crate) fn of(columns: &[(&str, bool)], rows: Vec<Vec<String>>) -> Self {
        let columns = columns.iter().map(|(head, right)| ((*head).to_owned(), *right));
        let (heads, right) = columns.unzip();
        Self { heads, right, rows }
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| text::width(&row[column]));
        cells.max().unwrap_or(0).max(text::width(&self.heads[column]))
    }

    fn width(&self, columns: &[usize]) -> usize {
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

    /// Where a column begins in a line of these columns.
    pub(crate) fn left_edge(&self, columns: &[usize], column: usize) -> usize {
        let before = columns.iter().take_while(|other| **other != column);
        before.map(|other| self.column_width(*other) + GAP).sum()
    }

    /// What [`choose`](Self::choose) chooses. Where even `always` is too wide, the texts of column `flexible` are
    /// clipped.
    pub(crate) fn fit(
        &mut self,
        always: &[usize],
        wanted: &[usize],
        flexible: usize,
        limit: usize,
        unicode: bool,
    ) -> Vec<usize> {
        let columns = self.choose(always, wanted, limit);
        let excess = self.width(&columns).saturating_sub(limit);
        if excess > 0 {
            let room = self.column_width(flexible).saturating_sub(excess).max(4);
            let head = &mut self.heads[flexible];
            *head = text::clip(head, room, unicode);
            for row in &mut self.rows {
                row[flexible] = text::clip(&row[flexible], room, unicode);
            }
        }
        columns
    }

    /// The head line, then one line for each row.
    pub(crate) fn lines(&self, columns: &[usize]) -> (String, Vec<String>) {
        let pick = |row: &[String]| columns.iter().map(|at| row[*at].clone()).collect::<Vec<_>>();
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(pick(&self.heads));
        table.add_rows(self.rows.iter().map(|row| pick(row)));
        let last = columns.len().saturating_sub(1);
        for (at, column) in table.column_iter_mut().enumerate() {
            let gap = if at == last { 0 } else { u16::try_from(GAP).expect("a small constant") };
            column.set_padding((0, gap));
            if self.right[columns[at]] {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut lines = table.lines();
        (lines.next().unwrap_or_default(), lines.collect())
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
    fn columns_are_dropped_and_names_clipped_but_no_line_is_broken() {
        for (limit, head) in [
            (40, "mechanism          p50      p99"),
            (31, "mechanism          p50      p99"),
            (30, "mechanism          p50"),
            (15, "mecha~      p50"),
        ] {
            let mut grid = grid();
            let columns = grid.fit(&[0, 1], &[2], 0, limit, false);
            let (heads, rows) = grid.lines(&columns);
            assert_eq!(heads, head);
            assert_eq!(grid.left_edge(&columns, 1), grid.column_width(0) + GAP);
            assert_eq!(rows.len(), 2, "one line for each row");
            for row in &rows {
                assert!(text::width(row) <= limit, "{limit}: {row}");
            }
        }
    }
}
