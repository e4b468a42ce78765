//! An arm in words: `pipe 64 same-cpu`, `unix-stream stream 4K same-llc bind=path`.

use ipcperf_core::{Idle, LoadKey, PatternKind, Placement, Touch};
use ipcperf_engine::plan::{self, CellPlan, Host, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::loads::{LoadArgs, loads};
use ipcperf_kit::request;

/// The cells of an arm: more than one where its words are lists.
pub(crate) fn cells(
    registry: &Registry,
    host: &Host,
    text: &str,
    pattern: Option<&str>,
) -> Result<Vec<CellPlan>, Stop> {
    let wrong = |what: String| Stop::usage(format!("cell '{text}': {what}"));
    let mut words = text.split_whitespace();
    let name = words.next().ok_or_else(|| Stop::usage("a cell begins with a mechanism"))?;
    let (mut sizes, mut placements, mut patterns) = (None, None, None);
    let (mut idle, mut touch) = (vec![Idle::AsIs], Touch::CacheLine);
    let (mut load, mut settings) = (LoadArgs::default(), Vec::new());
    for word in words {
        let first = word.split(',').next().unwrap_or(word);
        let is_twice = if let Some((key, value)) = word.split_once('=') {
            match (key, key.parse::<LoadKey>()) {
                ("idle", _) => idle = request::idle(value)?,
                ("touch", _) => touch = request::touch(value)?,
                ("place", _) => placements = Some(request::placements(value)?),
                (_, Ok(key)) => drop(load.0.insert(key, value.to_owned())),
                _ => settings.push(word.to_owned()),
            }
            false
        } else if word.starts_with(|sign: char| sign.is_ascii_digit()) {
            sizes.replace(request::sizes(word)?).is_some()
        } else if first.parse::<Placement>().is_ok() {
            placements.replace(request::placements(word)?).is_some()
        } else if first.parse::<PatternKind>().is_ok() {
            patterns.replace(request::patterns(word)?).is_some()
        } else if let Some(key) = switch(word) {
            load.switch_on(key);
            false
        } else {
            return Err(strange(word));
        };
        if is_twice {
            return Err(wrong(format!("'{word}' is said twice")));
        }
    }
    let patterns = match (patterns, pattern) {
        (Some(patterns), _) => patterns,
        (None, Some(list)) => request::patterns(list)?,
        (None, None) => vec![PatternKind::default()],
    };
    let (mechanisms, options) =
        request::block(request::asked(registry, &[name.to_owned()], &settings)?)?;
    let request = Request {
        mechanisms,
        loads: loads(&load, &patterns, touch)?,
        patterns,
        sizes: sizes.unwrap_or_else(|| vec![64]),
        placements: placements
            .unwrap_or_else(|| vec![host.topology.two_cpus().unwrap_or(Placement::SameCpu)]),
        idle,
        touch,
        options,
    };
    plan::cells(&request, host).map_err(request::refused)
}

/// What can be asked for by its name alone.
fn switch(word: &str) -> Option<LoadKey> {
    word.parse::<LoadKey>().ok().filter(|key| key.facts().values.is_empty())
}

/// A word that is no part of a cell, with the nearest that is.
fn strange(word: &str) -> Stop {
    let placements = Placement::known().into_iter();
    let patterns = PatternKind::ALL.iter().map(|one| one.name());
    let list = "a cell is a mechanism, then size, placement, pattern and key=value in any order";
    unknown("word of a cell", word, placements.chain(patterns), list)
}

/// The words of a command line that measures this one cell, from `-m` on.
pub(crate) fn command(cell: &CellPlan) -> Vec<String> {
    let key = &cell.key;
    let mut words = vec![
        format!("--mechanism={}", key.mechanism),
        format!("--pattern={}", key.pattern),
        format!("--place={}", key.placement),
        format!("--idle={}", key.idle),
        format!("--touch={}", key.touch),
    ];
    if key.size_bytes > 0 {
        words.push(format!("--size={}", key.size_bytes));
    }
    words.extend(cell.options.0.iter().map(|(knob, value)| format!("--set={knob}={value}")));
    words.extend(LoadKey::ALL.iter().filter_map(|load| {
        let value = key.load.value(*load)?;
        Some(if value.is_empty() { format!("--{load}") } else { format!("--{load}={value}") })
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::topology::{Cpu, Topology};

    fn host() -> Host {
        let cpus = (0..2).map(|id| Cpu { id, core: id, llc: 0, node: 0 }).collect();
        Host {
            topology: Topology { cpus, ..Topology::default() },
            pinning_objection: None,
            idle_objection: None,
            memory: None,
        }
    }

    fn ids(text: &str, pattern: Option<&str>) -> Result<Vec<String>, String> {
        let found = cells(&ipcperf_builtin::builtin(), &host(), text, pattern);
        found
            .map(|all| all.into_iter().map(|one| one.id).collect())
            .map_err(|stop| stop.to_string())
    }

    #[test]
    fn the_words_of_a_cell_stand_in_any_order_and_have_defaults() {
        for (text, id) in [
            ("pipe", "pipe ping-pong 64B same-llc"),
            ("pipe 4K same-cpu", "pipe ping-pong 4K same-cpu"),
            ("pipe same-cpu stream 4K size=1M", "pipe stream 4K same-cpu pipe.size=1M"),
            ("pipe pipe.size=1M 1", "pipe ping-pong 1B same-llc pipe.size=1M"),
            (
                "unix-stream think=10us touch=full",
                "unix-stream ping-pong 64B same-llc touch=full think=10us",
            ),
            ("unix bind=path", "unix-stream ping-pong 64B same-llc unix-stream.bind=path"),
            ("uds unix.bind=path 4K", "unix-stream ping-pong 4K same-llc unix-stream.bind=path"),
            ("pipe one-way", "pipe ping-pong 64B same-llc one-way"),
            ("pipe place=1,0 4K", "pipe ping-pong 4K place=1,0"),
            ("pipe place=0,0", "pipe ping-pong 64B place=0,0"),
            ("pipe place=1,free", "pipe ping-pong 64B place=1,free"),
            ("pipe free,1", "pipe ping-pong 64B place=free,1"),
            ("eventfd", "eventfd ping-pong 0B same-llc"),
        ] {
            assert_eq!(ids(text, None), Ok(vec![id.to_owned()]), "{text}");
            // What it is called is one of the ways to ask for it.
            assert_eq!(ids(id, None), Ok(vec![id.to_owned()]), "{id}");
        }
        assert_eq!(ids("pipe", Some("stream")).unwrap(), ["pipe stream 64B same-llc"]);
        assert_eq!(ids("pipe 1,64", None).unwrap().len(), 2);
    }

    #[test]
    fn a_wrong_word_is_named_with_the_nearest_right_one() {
        for (text, said) in [
            ("", "a cell begins with a mechanism"),
            ("pip 64", "unknown mechanism 'pip'; did you mean 'pipe'?"),
            ("pipe smae-cpu", "unknown word of a cell 'smae-cpu'; did you mean 'same-cpu'?"),
            ("pipe pingpong", "unknown word of a cell 'pingpong'; did you mean 'ping-pong'?"),
            ("pipe 64 4K", "cell 'pipe 64 4K': '4K' is said twice"),
            ("pipe siez=1M", "unknown knob 'pipe.siez'; did you mean 'pipe.size'?"),
            ("pipe 4Q", "'4Q' is not a size (like 64, 4K, 1M)"),
            (
                "pipe place=0",
                "CPU 0 has no partner; a pair has the CPUs of lead and follow, 0,0 for both ends on one, 0,free to pin \
                 the lead alone",
            ),
            ("pipe idle=pol", "unknown idle policy 'pol'; did you mean 'poll'?"),
        ] {
            assert_eq!(ids(text, None), Err(said.to_owned()), "{text}");
        }
    }

    #[test]
    fn slices_are_short_where_operations_follow_each_other_and_nothing_is_filled_or_started() {
        use super::super::plan::{pilot_rounds, slice};
        for (text, ms, rounds) in [
            ("pipe", 20, 20),
            ("pipe 1,64 same-cpu", 20, 20),
            ("pipe burst", 20, 20),
            ("pipe think=1ms", 100, 8),
            ("pipe stall=1ms", 100, 8),
            ("pipe rate rate=1k", 100, 8),
            ("pipe stream", 100, 8),
        ] {
            let cells = cells(&ipcperf_builtin::builtin(), &host(), text, None).unwrap();
            let found = slice(&cells, false);
            assert_eq!((found.as_millis(), pilot_rounds(found)), (ms, rounds), "{text}");
            assert_eq!(slice(&cells, true).as_millis(), 100, "{text} by two builds");
        }
    }

    #[test]
    fn a_cell_says_the_command_line_that_measures_it() {
        let all = cells(
            &ipcperf_builtin::builtin(),
            &host(),
            "pipe rate 4K size=1M rate=1k stall=1ms",
            None,
        );
        let words = command(&all.unwrap()[0]);
        for word in [
            "--mechanism=pipe",
            "--pattern=rate",
            "--size=4096",
            "--place=same-llc",
            "--set=pipe.size=1M",
            "--rate=1000/s",
            "--stall=1ms",
        ] {
            assert!(words.iter().any(|one| one == word), "{word}: {words:?}");
        }
    }
}
