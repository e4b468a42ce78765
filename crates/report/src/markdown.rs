//! All tables of a result set, for an issue or a wiki.

use crate::Style;
use crate::advice::{caution, has_places};
use crate::answers::answers;
use crate::chapters::{chapters, keep_top};
use crate::columns::{self, Column};
use crate::judge::MetricKind;
use crate::{Specs, calls, pipelines, table};
use ipcperf_core::result::ResultSet;
use ipcperf_render::doc::{self, Blocks, Line, Row, Table, Tone};
pub(crate) use ipcperf_render::markdown::escape;

/// What a reader of a wiki wants by default; all others with `verbose`.
const USUAL: &[Column] = &[
    Column::Size,
    Column::Rank,
    Column::Mechanism,
    Column::Load,
    Column::Offered,
    Column::Achieved,
    Column::Figure,
    Column::Spread,
    Column::Mean,
    Column::Bound,
    Column::OneWay,
    Column::Transform,
    Column::Messages,
    Column::Quantile("p99"),
    Column::Quantile("p99.9"),
    Column::Service("p50"),
    Column::Service("p99.9"),
    Column::Cpu,
    Column::CpuSpread,
    Column::User,
    Column::System,
    Column::Machine,
    Column::Switches,
];

/// All tables of a result set, with what is said of them.
pub(crate) fn blocks(set: &ResultSet, specs: &Specs, style: &Style) -> Blocks {
    let mut blocks = Blocks::default();
    blocks.lines(table::masthead(set).into_iter().map(Line::from));
    let mut chapters = chapters(set, specs);
    keep_top(&mut chapters, style.top);
    let mut shown = Vec::new();
    for chapter in &chapters {
        let mut columns = columns::all(&[chapter], style);
        columns.retain(|column| style.verbose || USUAL.contains(column));
        shown.extend_from_slice(&columns);
        let of = |column: &Column| doc::Column {
            head: column.head(chapter.pattern, style),
            is_number: column.is_number(),
            ..doc::Column::default()
        };
        blocks.section(table::title(chapter), |body| {
            for section in &chapter.sections {
                body.say(Tone::Plain, section.way.words());
                let rows = || section.blocks.iter().flat_map(|block| &block.rows);
                let lines = rows().flat_map(|row| table::lines_of(row, &columns, true));
                body.table(Table::new(columns.iter().map(of), lines.map(Row::new)));
                let remarks = rows().filter(|_| chapter.kind != MetricKind::Cpu);
                let remarks = remarks.filter_map(|row| row.remark(style.verbose));
                body.lines(remarks.map(|remark| Line::from(format!("{remark}."))));
            }
        });
    }
    let is_empty = chapters.iter().all(|chapter| chapter.sections.is_empty());
    if is_empty && set.pipelines.is_empty() {
        blocks.say(Tone::Plain, "No cell was measured.");
    }
    blocks.lines(table::legend_lines(set, &chapters, &shown, style).into_iter().map(Line::from));
    blocks.section(calls::TITLE, |body| body.list(calls::lines(set)));
    blocks.append(pipelines::blocks(set, style.verbose));
    let reasons = table::reasons(set).into_iter().map(|(_, words)| words);
    blocks.section("Not measured", |body| body.list(reasons));
    let findings = table::counted_findings(&set.noise, style.verbose);
    let findings = findings.iter().map(|(finding, count)| table::finding_words(finding, *count));
    let grade = table::grade_words(&set.noise);
    blocks.section("Findings", |body| body.list(std::iter::once(grade).chain(findings)));
    if set.invocation.plan.command == "survey" {
        let mut sentences: Vec<String> =
            answers(set, specs).into_iter().map(|answer| answer.sentence).collect();
        if !sentences.is_empty() || !has_places(set) {
            sentences.splice(0..0, caution(set));
        }
        blocks.section("What to use", |body| body.list(sentences));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::testing::rendered;
    use crate::testing::sample::{self, Build};

    fn markdown(set: &ResultSet) -> String {
        rendered(set, Format::Markdown, &Style::default())
    }

    #[test]
    fn a_name_cannot_leave_its_cell() {
        let cell = sample::cell("a|b</td>*c*`\nd", 64, sample::TWO).rtt(1000.0, 10.0);
        let text = markdown(&sample::set(vec![cell]));
        assert!(text.contains(r"| a\|b&lt;/td>\*c\*\` d |"), "{text}");
    }

    #[test]
    fn every_line_of_a_table_has_as_many_cells_as_its_head() {
        let mut heads = 0;
        for line in markdown(&sample::survey()).lines() {
            let cells = line.replace(r"\|", "").matches('|').count();
            match (heads, cells) {
                (_, 0) => heads = 0,
                (0, _) => heads = cells,
                _ => assert_eq!(cells, heads, "{line}"),
            }
        }
    }

    #[test]
    fn a_set_with_a_tie_and_a_missing_mechanism() {
        insta::assert_snapshot!(markdown(&sample::small()), @r"
        ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 3 of 4 cells measured, 9 rounds of 100 ms, 58.1 s

        Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm

        ## Round trip, blocking mechanisms

        CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

        | size | # | mechanism | p50 | +/- | mean | p99 | p99.9 | CPU/msg | switches |
        | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
        | 64 B | 1= | pipe | 71.5 us | 1.7% | 75.1 us | 107 us | - | 17.9 us | 1 |
        | 64 B | 1= | fifo | 72.1 us | 2.1% | 75.7 us | 108 us | - | 18.0 us | 1 |
        | 64 B | 3 | tcp | 95.0 us | 0.9% | 100 us | 142 us | - | 23.8 us | 1 |

        ## CPU per message of a round trip, blocking mechanisms

        CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

        | size | # | mechanism | CPU/msg | +/- | user | system | machine | switches | p50 |
        | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
        | 64 B | 1= | pipe | 17.9 us | 1.0% | 3.57 us | 14.3 us | 21.4 us | 1 | 71.5 us |
        | 64 B | 1= | fifo | 18.0 us | 1.0% | 3.60 us | 14.4 us | 21.6 us | 1 | 72.1 us |
        | 64 B | 3 | tcp | 23.8 us | 1.0% | 4.75 us | 19.0 us | 28.5 us | 1 | 95.0 us |

        A round trip is there and back, never halved. +/- is half of the 95 % interval over rounds. CPU/msg is the CPU time of both ends for one message in one direction.

        mean far from p50 means two kinds of round trips: see the findings.

        user and system are the parts of CPU/msg (an estimate: this kernel divides CPU time by ticks). machine is the busy time of all CPUs for one message, less what they are busy anyway; it needs longer slices than the rest. Hypervisor CPU time is not included.

        # is the rank: 1 + how many rows are certainly better, by one test of all pairs within rounds. = is as good as some other row, as far as this run can tell; so are all less than 3 % apart.

        ## Not measured

        - unavailable: posix-mq: no POSIX message queues in this kernel

        ## Findings

        - Noise grade B: steal 0.4 % (A is quiet, F is too noisy to compare).
        - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.

        ## What to use

        - Small messages, blocking: fifo and pipe (equally good), 72.1 us and 71.5 us for a round trip of 64 B on two CPUs (same-llc); runner-up tcp, 95.0 us.
        - Cheapest in CPU: fifo and pipe (equally good), 18.0 us and 17.9 us of CPU time for a message of 64 B (both ends together, blocking) on two CPUs (same-llc); runner-up tcp, 23.8 us.
        - A socket that unrelated processes can connect to: tcp, 95.0 us for a round trip of 64 B on two CPUs (same-llc), 1.33x the best of any kind (pipe, 71.5 us); nothing else of its kind was measured. Without a socket, by name: fifo, 72.1 us.
        - What idle polling would make of the blocking rows on two CPUs was not measured: this user may not hold /dev/cpu_dma_latency.
        ");
    }
}
