//! Documents: what is read is shown in every format, soundly, and written again as it was.

use crate::edits::{self, COMPARISON, PROFILE, REPLICATION, RESULTS};
use crate::soundness::{self, check, written};
use ipcperf::{Registry, read_document};
use ipcperf_ask::ComparisonDocument;
use ipcperf_ask::results::csv::Rows;
use ipcperf_core::result::{Comparison, ResultSet};
use ipcperf_judge::{LoadError, Recorded, Terms};
use ipcperf_kit::command::screens;
use ipcperf_kit::document::{Document, Show};
use ipcperf_programs::profile::Profile;
use ipcperf_render::{Format, Style};
use ipcperf_studies::across;
use ipcperf_studies::replication::Replication;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::io::Write;
use std::sync::LazyLock;

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcperf::builtin);
/// Results of at most four cells, and the whole of those that answer a question from all of their cells.
static BASES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let bases = |text: &&str| {
        let whole = edits::document(text);
        let mut bases = edits::parts(&whole, "/cells");
        if bases.is_empty() || whole["invocation"]["plan"]["command"] != "run" {
            bases.push(whole);
        }
        bases
    };
    RESULTS.iter().flat_map(bases).collect()
});
/// A replication with all of its claims, from which a conclusion is made, and with at most four.
static OLD_REPLICATIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let whole = edits::document(REPLICATION);
    let mut bases = edits::parts(&whole, "/studies/0/claims");
    bases.push(whole);
    bases
});
static OLD_COMPARISON: LazyLock<Value> = LazyLock::new(|| edits::document(COMPARISON));
static OLD_PROFILE: LazyLock<Value> = LazyLock::new(|| edits::document(PROFILE));

fn spec(name: &str) -> Option<&'static ipcperf_core::Spec> {
    REGISTRY.find(name).map(|entry| entry.spec)
}

/// Which format and style the first bytes mean, and the others.
fn choice(bytes: &[u8]) -> Option<(Format, Style, &[u8])> {
    let (head, rest) = bytes.split_at_checked(2)?;
    let format = Format::ALL[usize::from(head[0]) % Format::ALL.len()];
    let styles = soundness::styles();
    Some((format, styles[usize::from(head[1]) % styles.len()], rest))
}

/// What is refused is refused in one line that a terminal may see.
fn loaded<T>(read: Result<T, LoadError>) -> Option<T> {
    read.map_err(|error| {
        soundness::one_line(&error.to_string());
        soundness::printable(&error.to_string());
    })
    .ok()
}

/// A changed document or any text, as what it says it is. It is read or refused; how it is shown is what the other targets
/// try.
pub fn text(bytes: &[u8]) {
    let bases =
        BASES.iter().chain(OLD_REPLICATIONS.iter()).chain([&*OLD_COMPARISON, &*OLD_PROFILE]);
    let changed = edits::broken(bases, bytes);
    let text = changed.map_or_else(|| String::from_utf8_lossy(bytes), Cow::from);
    let Some(document) = loaded(read_document(&text)) else { return };
    assert!(ipcperf_judge::is_document(&text), "what is read is a document");
    let style = Style::default();
    let show = Show::new(Format::Json, &style);
    let json = |document: &dyn Document| written(|out| document.show(&show, out));
    let once = json(&*document);
    let again =
        read_document(&once).unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(once, json(&*again));
}

/// A changed result.
pub fn result(bytes: &[u8]) {
    let Some((format, style, rest)) = choice(bytes) else { return };
    let Some((base, changes)) = rest.split_first() else { return };
    let base = &BASES[usize::from(*base) % BASES.len()];
    let Some(set) = loaded(ipcperf_judge::load(&edits::edited(base, changes).to_string())) else {
        return;
    };
    show_result(&set, format, &style);
}

/// A changed replication. What the first byte has beyond a format means which.
pub fn replication(bytes: &[u8]) {
    let Some((format, style, changes)) = choice(bytes) else { return };
    let base = usize::from(bytes[0]) / Format::ALL.len() % OLD_REPLICATIONS.len();
    let text = edits::edited(&OLD_REPLICATIONS[base], changes).to_string();
    if let Some(document) = loaded(Replication::load(&text)) {
        show_replication(&document, format, &[style]);
    }
}

/// A changed profile.
pub fn profile(bytes: &[u8]) {
    let Some((format, style, changes)) = choice(bytes) else { return };
    let text = edits::edited(&OLD_PROFILE, changes).to_string();
    let Some(document) = loaded(Profile::load(&text)) else { return };
    comes_back(&document, Profile::load);
    let shown = written(|out| document.show(&Show::new(format, &style), out));
    check(&shown, format, &style);
}

/// A changed comparison, or that of two changed results.
pub fn comparison(bytes: &[u8]) {
    let Some((format, style, rest)) = choice(bytes) else { return };
    let Some((base, changes)) = rest.split_first() else { return };
    let base = usize::from(*base) % (BASES.len() + 1);
    let Some(base) = BASES.get(base) else {
        let text = edits::edited(&OLD_COMPARISON, changes).to_string();
        if let Some(ComparisonDocument(document)) = loaded(ComparisonDocument::load(&text)) {
            show_comparison(&document, format, &style);
        }
        return;
    };
    let (one, two) = changes.split_at(changes.len() / 8 * 4);
    let [one, two] = [one, two].map(|changes| edits::edited(base, changes).to_string());
    let named = |name: &str, text: &str| loaded(Recorded::read(name, text));
    let (Some(first), Some(second)) = (named("a", &one), named("b", &two)) else { return };
    let terms = Terms { margin: ipcperf_stats::MARGIN, ..Terms::default() };
    let Ok(document) = ipcperf_judge::compare_files(&[first], &[second], &terms) else { return };
    show_comparison(&document, format, &style);
    if format == Format::Html {
        let Some(after) = loaded(ipcperf_judge::load(&two)) else { return };
        let (style, screens) = (Style::default(), screens(ipcperf_ask::COMMANDS));
        let show = Show { specs: &spec, screens: &screens, ..Show::new(Format::Html, &style) };
        let page = written(|out| ipcperf_ask::before_and_after(&document, &after, &show, out));
        check(&page, format, &style);
    }
}

/// What is written is read as the same.
fn comes_back<T: Serialize>(document: &T, read: impl Fn(&str) -> Result<T, LoadError>) {
    let once = serde_json::to_string(document).expect("a document is JSON");
    let again = read(&once).unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(once, serde_json::to_string(&again).expect("a document is JSON"));
}

fn show_result(set: &ResultSet, format: Format, style: &Style) {
    comes_back(set, ipcperf_judge::load);
    let screens = screens(ipcperf_ask::COMMANDS);
    let show = Show { specs: &spec, screens: &screens, ..Show::new(format, style) };
    let text = written(|out| ipcperf_ask::results::document::render(set, &show, out));
    check(&text, format, style);
    match format {
        Format::Csv => {
            let sets = std::slice::from_ref(set);
            let rounds = |out: &mut dyn Write| {
                Rows::Rounds.head(out)?;
                sets.iter().try_for_each(|set| Rows::Rounds.write(set, &spec, out))
            };
            check(&written(rounds), format, style);
        }
        Format::Json => drop(ipcperf_ask::results::answers::answers(set, &spec)),
        _ => {}
    }
    let (result, cells) = ipcperf_ask::figures_of("a.json".to_owned(), set);
    let trends: Vec<_> = cells
        .into_iter()
        .take(2)
        .map(|(cell, figure)| {
            let twice = [(result.clone(), figure.clone()), (result.clone(), figure)];
            ipcperf_ask::trend(&cell, twice.to_vec(), &result.started_utc)
        })
        .collect();
    check(&written(|out| ipcperf_ask::trends(&trends, format, style, out)), format, style);
}

pub fn show_replication(document: &Replication, format: Format, styles: &[Style]) {
    comes_back(document, Replication::load);
    for style in styles {
        let pictures = style.full.then_some("pictures");
        let text =
            written(|out| document.show(&Show { pictures, ..Show::new(format, style) }, out));
        check(&text, format, style);
        if matches!(format, Format::Table | Format::Markdown | Format::Csv) {
            let both = [document.clone(), document.clone()];
            check(&written(|out| across(&both, format, style, out)), format, style);
        }
    }
    if format == Format::Html {
        for (name, picture) in document.pictures().unwrap_or_default() {
            let is_fit = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
            assert!(name.chars().all(is_fit) && name.ends_with(".svg"), "{name}");
            soundness::printable(&picture);
            soundness::markup(&picture);
        }
    }
}

fn show_comparison(document: &Comparison, format: Format, style: &Style) {
    comes_back(document, |text| ComparisonDocument::load(text).map(|read| read.0));
    let text = written(|out| ipcperf_ask::comparison(document, format, style, out));
    check(&text, format, style);
    for gate in ["slower:5%", "p99:slower:10%"] {
        let _ = gate.parse::<ipcperf_judge::Slower>().expect("a gate").check(document);
    }
}
