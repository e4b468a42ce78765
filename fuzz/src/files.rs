//! Job files, study files, and the expressions in these.

use crate::documents;
use crate::edits::REPLICATION;
use crate::soundness;
use ipcperf::{Registry, read_job};
use ipcperf_core::Knob;
use ipcperf_core::result::Noise;
use ipcperf_render::Format;
use ipcperf_stats::Histogram;
use ipcperf_studies::claims::{Arm, Findings, Measured, Readings, Study, csv_files};
use ipcperf_studies::replication::{Replication, Scale};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use toml::{Table, Value};

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcperf::builtin);
/// A replication of no study.
static NOTHING: LazyLock<Replication> = LazyLock::new(|| {
    let document = <Replication as ipcperf_kit::document::Document>::load(REPLICATION)
        .expect("a document of ours");
    Replication { studies: vec![], ..document }
});

/// The words of job files: their keys, and what may stand behind one.
static WORDS: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
    // Some are escaped, for libFuzzer.
    let lines = include_str!("../words/job").lines().filter(|line| !line.contains('\\'));
    let words = lines.map(|line| line.trim_matches('"').to_owned());
    let (mut keys, mut values): (Vec<_>, Vec<_>) = words.partition(|word| word.ends_with(" = "));
    for entry in ipcperf::builtin().entries() {
        let knob = |knob: &Knob| format!("set.'{}'.{} = ", entry.spec.name, knob.name);
        keys.extend(entry.knobs.iter().map(knob));
        values.push(entry.spec.full_name());
    }
    // Variants share their knobs, and a byte says which.
    keys.sort();
    keys.dedup();
    assert!(keys.len() <= 256 && values.len() <= 256);
    [keys, values]
});

/// A job file of keys that there are: for each four bytes a key, two words, and how these are its value.
fn job_of_words(bytes: &[u8]) -> String {
    let [keys, values] = &*WORDS;
    let line = |line: &[u8]| {
        let key = &keys[usize::from(line[0]) % keys.len()];
        let [one, two] = [1, 2].map(|at| &values[usize::from(line[at]) % values.len()]);
        match line[3] % 4 {
            0 => format!("{key}'{one}'\n"),
            1 => format!("{key}['{one}', '{two}']\n"),
            2 => format!("{key}{one}\n"),
            _ => format!("{key}'{one}{two}'\n"),
        }
    };
    bytes.chunks_exact(4).map(line).collect()
}

/// A job file is the flags that it stands for: written as a job file again, they are the same. After a byte of zero it is
/// made of words.
pub fn job(bytes: &[u8]) {
    let text = match bytes.split_first() {
        Some((0, words)) => job_of_words(words).into(),
        _ => String::from_utf8_lossy(bytes),
    };
    let flags = match read_job(&REGISTRY, &text) {
        Ok(flags) => flags,
        Err(error) => return assert!(!error.trim().is_empty()),
    };
    let again = read_job(&REGISTRY, &job_of(&flags));
    assert_eq!(again.as_ref(), Ok(&flags), "{}", job_of(&flags));
}

/// The job file of these flags.
fn job_of(flags: &[String]) -> String {
    let mut job = Table::new();
    for flag in flags {
        // What is no flag is a program.
        let (key, value) =
            match flag.strip_prefix("--").map(|flag| flag.split_once('=').ok_or(flag)) {
                None => ("exec", flag.as_str()),
                Some(Ok(pair)) => pair,
                Some(Err(flag)) => {
                    job.insert(flag.to_owned(), true.into());
                    continue;
                }
            };
        match key {
            "set" => {
                let (knob, value) = value.split_once('=').expect("a knob has a value");
                let table = job.entry(key).or_insert_with(|| Table::new().into());
                table.as_table_mut().expect("a table").insert(knob.to_owned(), value.into());
            }
            // A path is one text; everything else may be a list.
            "output" | "raw" => drop(job.insert(key.to_owned(), value.into())),
            _ => {
                let list = job.entry(key).or_insert_with(|| Value::Array(vec![]));
                list.as_array_mut().expect("a list").push(value.into());
            }
        }
    }
    job.to_string()
}

/// Rounds that are made up.
const ROUNDS: u64 = 8;

/// A study with rounds that are made up is a replication that can be shown.
pub fn study(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match ipcperf::read_study(&text) {
        Ok(study) if study.arms.len() <= 40 => show(&study, &text),
        Ok(_) => {}
        Err(error) => assert!(!error.trim().is_empty()),
    }
}

fn show(study: &Study, text: &str) {
    let document = measured(study, text);
    for (name, rows) in csv_files(study, &document.studies[0]) {
        let is_fit = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
        assert!(name.chars().all(is_fit) && !name.starts_with('.'), "{name}");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    }
    let format = Format::ALL[text.len() % Format::ALL.len()];
    documents::show_replication(&document, format, &soundness::styles());
}

/// The document of a study whose arms have readings that depend on their names alone.
fn measured(study: &Study, text: &str) -> Replication {
    let named = |part: &str| {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_.".contains(sign);
        part.chars().rev().take_while(|sign| is_part(*sign)).collect::<Vec<_>>()
    };
    let names: BTreeSet<String> =
        text.split('(').map(|part| named(part.trim_end()).into_iter().rev().collect()).collect();
    let arm = |arm: &Arm| {
        let mut measured = Measured::new(arm);
        for round in 0..ROUNDS {
            let mut readings = Readings::default();
            let number = |name: &str| {
                let mut hasher = DefaultHasher::new();
                (&arm.id, name, round).hash(&mut hasher);
                hasher.finish()
            };
            for name in &names {
                let number = number(name);
                let value = match number % 16 {
                    0 => 0.0,
                    1 => -1.0,
                    2 => 1e300,
                    3 => 1e-300,
                    _ => 100.0 + (number >> 32) as f64 / 1e8,
                };
                readings.set(name.as_str(), value);
            }
            if number("") % 3 > 0 {
                let mut histogram = Histogram::new();
                for step in (0..40).step_by(5) {
                    histogram.record_n(1 << step, number("times") >> 58);
                }
                readings.singles(histogram);
            }
            measured.keep(round, 0, readings);
        }
        measured
    };
    let arms: Vec<Measured> = study.arms.iter().map(arm).collect();
    let found = Findings::new(&arms, ROUNDS, Noise::default());
    Replication { studies: vec![found.result(study, Scale::Smoke, 1.0, false)], ..NOTHING.clone() }
}

/// A study that is nothing but a claim with one test.
fn claim(test: &str, accept: &str) -> String {
    let [test, accept] = [test, accept].map(|text| Value::from(text).to_string());
    format!(
        "name = 'x'\ntitle = 'x'\nscale.smoke.rounds = 8\nscale.quick.rounds = 8\nscale.full.rounds = 8\n\
         [[arm]]\nid = 'a'\nwork = 'self-loop'\nsamples = 10\n[[arm]]\nid = 'b'\nwork = 'self-loop'\nsamples = 10\n\
         [[claim]]\nid = 'x'\ntext = 'x'\npublished = 2.0\ntest = {test}\naccept = {accept}\n"
    )
}

/// An expression and, in the next line, what is accepted: what is shown of both is read as the same, and comes to the same.
pub fn expression(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (test, accept) = text.split_once('\n').unwrap_or((&text, "report"));
    let judged = |test: &str, accept: &str| {
        let study = ipcperf::read_study(&claim(test, accept))?;
        let claims = measured(&study, test).studies.remove(0).claims;
        Ok::<_, String>(claims.into_iter().next().expect("one claim").tests.remove(0))
    };
    let once = match judged(test, accept) {
        Ok(test) => test,
        Err(error) => return assert!(!error.trim().is_empty()),
    };
    let again = judged(&once.test, &once.accept);
    let again = again.unwrap_or_else(|error| panic!("'{}': {error}", once.test));
    let written = |test| serde_json::to_string(test).expect("a test is JSON");
    assert_eq!(written(&once), written(&again));
}
