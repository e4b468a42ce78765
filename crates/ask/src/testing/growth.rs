//! What is done with a document takes twice as long for twice as many cells, and not four times. It is CPU time that counts:
//! nobody else has a part in it.

use crate::compare::screen::comparison;
use crate::results::csv::Rows;
use crate::testing::render;
use crate::testing::sample;
use crate::testing::sample::{Build, TWO};
use ipcperf_core::result::{Cell, ResultSet, Round};
use ipcperf_judge::{Terms, compare_files, load};
use ipcperf_render::{Format, Style};
use rustix::time::{ClockId, clock_gettime};
use std::io;

const FEW: u64 = 100;
/// How many times as much there is of the larger one.
pub(crate) const TIMES: u64 = 8;
/// Eight times as many cells take eight times as long; what grew with their square would take 64 times.
pub(crate) const MOST: f64 = 3.0 * TIMES as f64;

/// So many cells of four mechanisms at sizes of their own, of eight rounds each.
fn document(cells: u64) -> ResultSet {
    let cell = |at: u64| {
        let mechanism = ["pipe", "fifo", "unix-stream", "tcp"][at as usize % 4];
        let nanos = 5000.0 + 100.0 * (at % 7) as f64;
        let cell = sample::cell(mechanism, 64 + at / 4, TWO).rtt(nanos, 100.0).with_round();
        let own = cell.rounds[0].clone();
        let round = |round: u64| Round {
            round,
            rejected: None,
            p50_ns: Some(nanos + 30.0 * (round * 5 % 8) as f64),
            ..own.clone()
        };
        Cell { rounds: (0..8).map(round).collect(), ..cell }
    };
    sample::set((0..cells).map(cell).collect())
}

/// CPU time of this thread, s.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How many times as long it takes for many cells as for few: the least of two, one beside the other, and of ten where a
/// busy machine, whose caches are full of other things, makes it too many.
pub(crate) fn ratio<T>(few: &T, many: &T, job: impl Fn(&T)) -> f64 {
    let time = |of: &T| {
        let begin = spent();
        job(of);
        spent() - begin
    };
    let mut least = [f64::INFINITY; 2];
    let mut ratio = f64::INFINITY;
    for tried in 1..=10 {
        least = [least[0].min(time(few)), least[1].min(time(many))];
        ratio = least[1] / least[0];
        if tried > 1 && ratio < MOST {
            break;
        }
    }
    ratio
}

#[test]
fn documents_of_many_cells_take_as_long_as_they_have_cells() {
    let [few, many] = [FEW, TIMES * FEW].map(document);
    let texts = [&few, &many].map(|set| serde_json::to_string(set).unwrap());
    let [few_recorded, many_recorded] =
        [&few, &many].map(|set| [sample::recorded("run.json", set)]);
    let drawn = |format: Format, full: bool| {
        let style = Style { full, ..Style::default() };
        ratio(&few, &many, |one| {
            render(one, &sample::spec, format, &style, &mut io::sink()).unwrap();
        })
    };
    let compared = ratio(&few_recorded, &many_recorded, |side| {
        let terms = Terms { margin: 0.01, ..Terms::default() };
        let document = compare_files(side, side, &terms).unwrap();
        comparison(&document, Format::Table, &Style::default(), &mut io::sink()).unwrap();
    });
    let ratios = [
        ("load", ratio(&texts[0], &texts[1], |text| drop(load(text).unwrap()))),
        ("table", drawn(Format::Table, true)),
        ("screen", drawn(Format::Table, false)),
        ("markdown", drawn(Format::Markdown, true)),
        ("json", drawn(Format::Json, true)),
        ("page", drawn(Format::Html, true)),
        (
            "rows",
            ratio(&few, &many, |one| {
                Rows::Rounds.write(one, &sample::spec, &mut io::sink()).unwrap();
            }),
        ),
        ("compare", compared),
    ];
    for (what, ratio) in ratios {
        assert!(ratio < MOST, "{what}: {ratio:.1} times as long");
    }
}

#[test]
fn a_long_word_takes_time_in_proportion_to_its_length() {
    let of = |signs: u64| "x".repeat(signs as usize);
    let ratio = ratio(&of(80_000), &of(80_000 * TIMES), |word| {
        assert_eq!(ipcperf_render::text::wrap("", word, 80).len(), word.len() / 80);
    });
    assert!(ratio < MOST, "{ratio:.1} times as long");
}
