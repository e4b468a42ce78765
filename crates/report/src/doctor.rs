//! Whether a machine is fit to measure, in words.

use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::{Format, Style};
use crate::{csv, json, markdown, text};
use ipcperf_core::result::{Check, Examination, Fitness, Rating};
use std::io;

/// Writes an examination in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn doctor(
    examination: &Examination,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let checks = &examination.checks;
    match format {
        Format::Table | Format::Html => table(examination, style, out),
        Format::Markdown => in_markdown(examination, style, out),
        Format::Json => json::document(examination, out),
        Format::Ndjson => checks.iter().try_for_each(|check| json::object(check, out)),
        Format::Csv => csv::render_values(checks, COLUMNS, out),
    }
}

const COLUMNS: &[csv::Column] = &[
    ("code", "/code"),
    ("subject", "/subject"),
    ("rating", "/rating"),
    ("found", "/found"),
    ("consequence", "/consequence"),
    ("remedy", "/remedy"),
];

/// The checks by what they mean, the worst first.
const CHAPTERS: [(Rating, Tone, &str); 3] = [
    (Rating::Warning, Tone::Doubt, "TO MEND"),
    (Rating::Note, Tone::Plain, "TO KNOW"),
    (Rating::Fine, Tone::Quiet, "AS IT SHOULD BE"),
];

/// The machine in one line.
fn machine(examination: &Examination) -> String {
    let host = &examination.host;
    let cpus = text::counted(host.cpus_online.len() as u64, "CPU");
    let under = host.hypervisor.as_ref().map_or_else(String::new, |name| format!(", {name}"));
    format!("{}, {cpus}{under}, Linux {}", host.cpu_model, examination.kernel.release)
}

fn grades(examination: &Examination) -> [String; 2] {
    let line = |what: &str, fitness: &Fitness| {
        let Fitness { grade, because, allows } = fitness;
        format!("{what}: {grade} ({because}): {allows}.")
    };
    [line("Medians and rates", &examination.centre), line("Tails", &examination.tail)]
}

/// `frequency: not visible. What follows. Remedy: what to do.`
fn words(check: &Check) -> String {
    let mut words = format!("{}: {}.", check.subject, check.found);
    if let Some(first) = check.consequence.chars().next() {
        let rest = &check.consequence[first.len_utf8()..];
        words.push_str(&format!(" {}{rest}.", first.to_uppercase()));
    }
    if !check.remedy.is_empty() {
        words.push_str(&format!(" Remedy: {}.", check.remedy));
    }
    words
}

fn table(examination: &Examination, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(out, style);
    page.paragraph(Tone::Title, "", &machine(examination))?;
    for line in grades(examination) {
        page.paragraph(Tone::Plain, "", &line)?;
    }
    for (rating, tone, title) in CHAPTERS {
        let mut checks =
            examination.checks.iter().filter(|check| check.rating == rating).peekable();
        if checks.peek().is_none() {
            continue;
        }
        page.blank()?;
        page.line(Tone::Title, title)?;
        for check in checks {
            page.paragraph(tone, "- ", &words(check))?;
        }
    }
    Ok(())
}

fn in_markdown(
    examination: &Examination,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    writeln!(out, "{}\n", markdown::escape(&machine(examination), style.unicode))?;
    for line in grades(examination) {
        writeln!(out, "- {}", markdown::escape(&line, style.unicode))?;
    }
    writeln!(out)?;
    let heads = ["", "subject", "found", "consequence", "remedy"].map(str::to_owned).to_vec();
    let mut checks: Vec<&Check> = examination.checks.iter().collect();
    checks.sort_by_key(|check| check.rating);
    let row = |check: &Check| {
        let rating = match check.rating {
            Rating::Warning => "to mend",
            Rating::Note => "to know",
            Rating::Fine => "fine",
        };
        let cells = [rating, check.subject, &check.found, &check.consequence, &check.remedy];
        cells.map(str::to_owned).to_vec()
    };
    let rows = checks.into_iter().map(row).collect();
    markdown::grid(&Grid { heads, right: vec![false; 5], rows }, style, out)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::to_text;
    use ipcperf_core::result::{DOCTOR_SCHEMA, Host, Kernel, Tool};

    pub(crate) fn examination() -> Examination {
        let check = |code, rating, found: &str, consequence: &str, remedy: &str| Check {
            code,
            subject: "frequency",
            found: found.into(),
            rating,
            consequence: consequence.into(),
            remedy: remedy.into(),
        };
        let fitness = |grade: &str| Fitness {
            grade: grade.into(),
            because: "stolen: 2.0 %".into(),
            allows: "claims on medians".into(),
        };
        Examination {
            schema: DOCTOR_SCHEMA,
            tool: Tool::default(),
            host: Host {
                cpu_model: "A\u{1b}[31mCPU".into(),
                cpus_online: vec![0, 1],
                hypervisor: Some("KVM".into()),
                ..Host::default()
            },
            kernel: Kernel { release: "6.1".into(), ..Kernel::default() },
            checks: vec![
                check("CLOCK", Rating::Fine, "tsc", "", ""),
                check("FREQUENCY", Rating::Warning, "powersave", "slow at first", "do | this"),
                check("VM", Rating::Note, "KVM", "the host decides", ""),
            ],
            centre: fitness("C"),
            tail: fitness("D"),
        }
    }

    fn shown(format: Format) -> String {
        to_text(|out| doctor(&examination(), format, &Style::default(), out))
    }

    #[test]
    fn the_worst_stands_first_with_its_remedy_and_nothing_hostile_gets_out() {
        insta::assert_snapshot!(shown(Format::Table), @r"
        A?[31mCPU, 2 CPUs, KVM, Linux 6.1
        Medians and rates: C (stolen: 2.0 %): claims on medians.
        Tails: D (stolen: 2.0 %): claims on medians.

        TO MEND
        - frequency: powersave. Slow at first. Remedy: do | this.

        TO KNOW
        - frequency: KVM. The host decides.

        AS IT SHOULD BE
        - frequency: tsc.
        ");
    }

    #[test]
    fn every_format_has_every_check() {
        for format in Format::ALL {
            let text = shown(*format);
            assert!(!text.contains('\u{1b}'), "{format}");
            for found in ["tsc", "powersave", "KVM"] {
                assert!(text.contains(found), "{format}: {text}");
            }
        }
        let schema = serde_json::from_str(crate::DOCTOR_SCHEMA).expect("the schema is JSON");
        let document = serde_json::from_str(&shown(Format::Json)).expect("JSON");
        assert_eq!(crate::testing::schema::errors(&schema, &document), Vec::<String>::new());
        assert!(shown(Format::Markdown).contains("do \\| this"));
    }
}
