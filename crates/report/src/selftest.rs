//! What a self-test found, in words.

use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::{Format, Style};
use crate::{csv, json, markdown};
use ipcperf_core::result::{SelfTest, Trial, TrialOutcome};
use std::io;

/// Writes a self-test in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn selftest(
    test: &SelfTest,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Table | Format::Html => table(test, style, out),
        Format::Markdown => {
            let heads = ["", "check", "found"].map(str::to_owned).to_vec();
            let row = |Trial { name, outcome, found, .. }: &Trial| {
                vec![words(*outcome).1.to_owned(), name.clone(), found.clone()]
            };
            let rows = test.checks.iter().map(row).collect();
            markdown::grid(&Grid { heads, right: vec![false; 3], rows }, style, out)?;
            writeln!(out, "\n{}", markdown::escape(&test.conclusion, style.unicode))
        }
        Format::Json => json::document(test, out),
        Format::Ndjson => test.checks.iter().try_for_each(|check| json::object(check, out)),
        Format::Csv => {
            let columns = ["/name", "/about", "/outcome", "/found"].map(|path| (&path[1..], path));
            csv::render_values(&test.checks, &columns, out)
        }
    }
}

fn words(outcome: TrialOutcome) -> (Tone, &'static str) {
    match outcome {
        TrialOutcome::Passed => (Tone::Plain, "passed"),
        TrialOutcome::CannotTell => (Tone::Doubt, "cannot tell"),
        TrialOutcome::Failed => (Tone::Bad, "FAILED"),
    }
}

fn table(test: &SelfTest, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(out, style);
    let widest = test.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for Trial { name, outcome, found, .. } in &test.checks {
        let (tone, word) = words(*outcome);
        page.paragraph(tone, &format!("{word:11}  {name:widest$}  "), found)?;
    }
    page.blank()?;
    page.paragraph(Tone::Title, "", &test.conclusion)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::to_text;
    use ipcperf_core::result::{About, Host, Kernel, SELFTEST_SCHEMA, Tool, Trust};

    pub(crate) fn test() -> SelfTest {
        let check = |name: &str, outcome, found: &str| Trial {
            name: name.into(),
            about: About::All,
            outcome,
            found: found.into(),
        };
        SelfTest {
            schema: SELFTEST_SCHEMA,
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
        passed       timer-linear  1.5 % more work took 1.4 % longer
        FAILED       payload       a ?[31mchanged byte was | not told
        cannot tell  recovery-p99  the machine is too disturbed to decide this now: the
                                   grade is F, and p99 differs by 40 %

        Do not believe the numbers of this machine.
        ");
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
        let schema = serde_json::from_str(crate::SELFTEST_SCHEMA).expect("the schema is JSON");
        let document = serde_json::from_str(&shown(Format::Json)).expect("JSON");
        assert_eq!(crate::testing::schema::errors(&schema, &document), Vec::<String>::new());
        assert!(shown(Format::Markdown).contains("was \\| not told"));
    }
}
