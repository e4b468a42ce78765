//! Whether a machine is fit to measure, in words.

use crate::results::csv;
use ipcperf_core::result::{Check, Examination, Fitness, Rating};
use ipcperf_render::doc::{Column, Doc, Layout, Line, Row, Table, Tone};
use ipcperf_render::{Format, Output, Style, text};
use std::io;

/// Writes an examination in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub(crate) fn doctor(
    examination: &Examination,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    Output { document: examination, rows: &examination.checks, columns: COLUMNS }.write(
        format,
        style,
        out,
        |_| doc(examination),
    )
}

const COLUMNS: &[csv::Column] = &[
    ("code", "/code"),
    ("subject", "/subject"),
    ("rating", "/rating"),
    ("found", "/found"),
    ("consequence", "/consequence"),
    ("remedy", "/remedy"),
];

/// How a rating looks, and the heading of the checks that have it.
const fn heading(rating: Rating) -> (Tone, &'static str) {
    match rating {
        Rating::Warning => (Tone::Doubt, "Fix these"),
        Rating::Note => (Tone::Plain, "Good to know"),
        Rating::Fine => (Tone::Quiet, "OK"),
    }
}

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

fn doc(examination: &Examination) -> Doc {
    let mut doc = Doc::new(machine(examination));
    doc.body.list(grades(examination));
    let mut checks: Vec<&Check> = examination.checks.iter().collect();
    checks.sort_by_key(|check| check.rating);
    let rows = checks.into_iter().map(|check| {
        let (tone, title) = heading(check.rating);
        let Check { subject, found, consequence, remedy, .. } = check;
        Row::new([*subject, found, consequence, remedy]).tone(tone).group(title).card([Line::new(
            tone,
            words(check),
        )
        .after("- ")])
    });
    let columns = ["subject", "found", "consequence", "remedy"].map(Column::text);
    doc.body.table(Table::new(columns, rows).layout(Layout::Cards));
    doc
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipcperf_core::result::{DOCTOR_SCHEMA, Host, Kernel, Tool};
    use ipcperf_testing::to_text;

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
            origin: ipcperf_core::result::Origin::default(),
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
        - Medians and rates: C (stolen: 2.0 %): claims on medians.
        - Tails: D (stolen: 2.0 %): claims on medians.

        Fix these
          - frequency: powersave. Slow at first. Remedy: do | this.

        Good to know
          - frequency: KVM. The host decides.

        OK
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
        let schema = ipcperf_testing::schema::schema("doctor");
        let document = serde_json::from_str(&shown(Format::Json)).expect("JSON");
        assert_eq!(ipcperf_testing::schema::errors(&schema, &document), Vec::<String>::new());
        assert!(shown(Format::Markdown).contains("do \\| this"));
    }
}
