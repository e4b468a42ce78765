//! What a self-test found, in words.

use super::document::{SelfTest, Trial, TrialOutcome};
use ipcperf_render::doc::{Column, Doc, Row, Table, Tone};
use ipcperf_render::{Format, Output, Style, csv};
use std::io;

const COLUMNS: &[csv::Column] =
    &[("name", "/name"), ("about", "/about"), ("outcome", "/outcome"), ("found", "/found")];

/// Writes a self-test in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub(super) fn selftest(
    test: &SelfTest,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    Output { document: test, rows: &test.checks, columns: COLUMNS }.write(
        format,
        style,
        out,
        |_| doc(test),
    )
}

fn words(outcome: TrialOutcome) -> (Tone, &'static str) {
    match outcome {
        TrialOutcome::Passed => (Tone::Plain, "passed"),
        TrialOutcome::CannotTell => (Tone::Doubt, "cannot tell"),
        TrialOutcome::Failed => (Tone::Bad, "FAILED"),
    }
}

fn doc(test: &SelfTest) -> Doc {
    let mut doc = Doc::new(&test.conclusion);
    let rows = test.checks.iter().map(|Trial { name, outcome, found, .. }| {
        let (tone, word) = words(*outcome);
        Row::new([word, name, found]).tone(tone)
    });
    let columns = ["", "check", "found"].map(Column::text);
    doc.body.table(Table { flexible: 2, ..Table::new(columns, rows) });
    doc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selftest::document::{About, SELFTEST_SCHEMA, Trust};
    use ipcperf_core::result::{Host, Kernel, Tool};
    use ipcperf_testing::screens::fits;
    use ipcperf_testing::to_text;

    fn test() -> SelfTest {
        let check = |name: &str, outcome, found: &str| Trial {
            name: name.into(),
            about: About::All,
            outcome,
            found: found.into(),
        };
        SelfTest {
            schema: SELFTEST_SCHEMA,
            origin: ipcperf_core::result::Origin::default(),
            tool: Tool::default(),
            host: Host::default(),
            kernel: Kernel::default(),
            duration_s: 1.0,
            checks: vec![
                check("timer-linear", TrialOutcome::Passed, "1.5 % more work took 1.4 % longer"),
                check("payload", TrialOutcome::Failed, "a \u{1b}[31mchanged byte was | not told"),
                check(
                    "recovery-p99",
                    TrialOutcome::CannotTell,
                    "the machine is too disturbed to decide this now: the grade is F, and p99 differs by 40 %",
                ),
            ],
            centre: Trust::Refuted,
            tail: Trust::Refuted,
            conclusion: "Do not believe the numbers of this machine.".into(),
        }
    }

    fn shown(format: Format) -> String {
        to_text(|out| selftest(&test(), format, &Style::default(), out))
    }

    #[test]
    fn a_check_is_a_line_and_one_sentence_closes() {
        insta::assert_snapshot!(shown(Format::Table), @r"
        Do not believe the numbers of this machine.
                     check         found
        passed       timer-linear  1.5 % more work took 1.4 % longer
        FAILED       payload       a ?[31mchanged byte was | not told
        cannot tell  recovery-p99  the machine is too disturbed to decide this now: the
                                   grade is F, and p99 differs by 40 %
        ");
    }

    #[test]
    fn no_text_is_lost_at_forty_columns_or_more() {
        for width in [40, 48, 56, 72, 80] {
            let style = Style { width, ..Style::default() };
            fits("selftest", &to_text(|out| selftest(&test(), Format::Table, &style, out)), width);
        }
    }

    #[test]
    fn every_format_has_every_check() {
        for format in Format::ALL {
            let text = shown(*format);
            assert!(!text.contains('\u{1b}'), "{format}");
            for found in ["timer-linear", "payload", "recovery-p99"] {
                assert!(text.contains(found), "{format}: {text}");
            }
        }
        let schema = ipcperf_testing::schema::schema("selftest");
        let document = serde_json::from_str(&shown(Format::Json)).expect("JSON");
        assert_eq!(ipcperf_testing::schema::errors(&schema, &document), Vec::<String>::new());
        assert!(shown(Format::Markdown).contains("was \\| not told"));
    }
}
