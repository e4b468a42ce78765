//! Neighbours: a load of a known dose that runs at a known place while a cell is measured.

use crate::load_value::Offered;
use crate::names::nearest;
use crate::seat::Seat;
use crate::shell_words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What runs next to a cell, and where. As a word `cpu:2@other`, `memory:2GB/s@free`, `fork:100/s@lead`,
/// `timer:1000/s@follow`, `exec=COMMAND@free`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
pub struct Neighbour {
    /// What it does, and how much of it.
    pub work: NeighbourWork,
    /// Where it runs.
    pub place: NeighbourPlace,
}

/// What a neighbour does, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourWork {
    /// Threads that compute without a pause.
    Cpu(u64),
    /// Bytes copied per second, those read and those written together, between two halves of 64 MiB.
    Memory(u64),
    /// Processes started per second; it waits for the end of each.
    Fork(u64),
    /// Wake-ups by a timer per second.
    Timer(u64),
    /// Runs this program, as typed.
    Exec(String),
}

crate::names! {
    /// The CPUs that a neighbour may use.
    #[derive(Default)]
    "place" NeighbourPlace {
        /// The CPU of the lead.
        Lead = "lead",
        /// The CPU of the follow.
        Follow = "follow",
        /// All but those of the ends.
        Other = "other",
        /// All.
        #[default]
        Free = "free",
    }
}

/// The kinds of work, each with an example.
const KINDS: [(&str, &str); 5] = [
    ("cpu", "cpu:2"),
    ("memory", "memory:2GB/s"),
    ("fork", "fork:100/s"),
    ("timer", "timer:1000/s"),
    ("exec", "exec='CMD'"),
];

/// What begins the command of a program.
const EXEC: &str = "exec=";

/// Bytes of a command at the most: it travels in messages, and some of its signs take six bytes there.
const LONGEST: usize = 4096;

/// Units of bytes per second, the largest first.
const BYTES: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];

impl Neighbour {
    /// What was typed; `None` where nothing is asked for.
    pub(crate) fn parsed(text: &str) -> Result<Option<Self>, String> {
        if text == "none" { Ok(None) } else { text.parse().map(Some) }
    }

    /// The command that it runs, as typed.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        match &self.work {
            NeighbourWork::Exec(command) => Some(command),
            _ => None,
        }
    }

    /// Whether it may use the CPU of this end, which has one CPU with its peer or not.
    #[must_use]
    pub fn reaches(&self, end: Seat, is_one_cpu: bool) -> bool {
        match self.place {
            NeighbourPlace::Lead => end == Seat::Lead || is_one_cpu,
            NeighbourPlace::Follow => end == Seat::Follow || is_one_cpu,
            NeighbourPlace::Other => false,
            NeighbourPlace::Free => true,
        }
    }

    /// The values of a list in which neighbours stand between commas, which a command may contain, too.
    pub fn listed(list: &str) -> impl Iterator<Item = String> {
        let mut values: Vec<String> = Vec::new();
        for part in list.split(',') {
            match values.last_mut().filter(|last| last.starts_with(EXEC)) {
                Some(command) if Self::parsed(part.trim()).is_err() => {
                    command.push(',');
                    command.push_str(part);
                }
                _ => values.push(part.trim().to_owned()),
            }
        }
        values.into_iter()
    }

    /// A number by which cells are sorted.
    pub(crate) fn order(&self) -> u64 {
        let (rank, number) = match &self.work {
            NeighbourWork::Cpu(threads) => (1, *threads),
            NeighbourWork::Memory(rate) => (2, *rate),
            NeighbourWork::Fork(rate) => (3, *rate),
            NeighbourWork::Timer(rate) => (4, *rate),
            NeighbourWork::Exec(_) => (5, 0),
        };
        rank << 48 | number << 2 | self.place as u64
    }
}

impl NeighbourWork {
    /// How many units of its work it is to do per second; `None` where nothing says how much is enough.
    #[must_use]
    pub const fn dose(&self) -> Option<u64> {
        match self {
            Self::Memory(rate) | Self::Fork(rate) | Self::Timer(rate) => Some(*rate),
            Self::Cpu(_) | Self::Exec(_) => None,
        }
    }

    /// What one unit of its work is.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "steps",
            Self::Memory(_) => "bytes",
            Self::Fork(_) => "processes",
            Self::Timer(_) => "wake-ups",
            Self::Exec(_) => "CPU ns",
        }
    }
}

impl fmt::Display for NeighbourWork {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(threads) => write!(out, "cpu:{threads}"),
            Self::Memory(rate) => {
                let whole = BYTES.iter().find(|(_, bytes)| rate.is_multiple_of(*bytes));
                let (unit, bytes) = whole.copied().unwrap_or(("B", 1));
                write!(out, "memory:{}{unit}/s", rate / bytes)
            }
            Self::Fork(rate) => write!(out, "fork:{rate}/s"),
            Self::Timer(rate) => write!(out, "timer:{rate}/s"),
            Self::Exec(command) => write!(out, "{EXEC}{command}"),
        }
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.work, self.place)
    }
}

impl From<Neighbour> for String {
    fn from(neighbour: Neighbour) -> Self {
        neighbour.to_string()
    }
}

impl TryFrom<String> for Neighbour {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A whole number within limits, both included.
fn within(
    text: &str,
    found: Option<u64>,
    [least, most]: [u64; 2],
    what: &str,
) -> Result<u64, String> {
    let found = found.filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| format!("'{text}' is not {what}"))
}

fn per_second(text: &str) -> Option<u64> {
    match text.parse() {
        Ok(Offered::PerSecond(rate)) if rate.fract() == 0.0 => Some(rate as u64),
        _ => None,
    }
}

fn bytes_per_second(text: &str) -> Option<u64> {
    let amount = text.strip_suffix("/s")?;
    let all = BYTES.iter().chain(&[("B", 1)]);
    let (digits, bytes) =
        all.filter_map(|(unit, bytes)| Some((amount.strip_suffix(unit)?, bytes))).next()?;
    digits.parse::<u64>().ok()?.checked_mul(*bytes)
}

impl FromStr for NeighbourWork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(command) = text.strip_prefix(EXEC) {
            let words = shell_words::split(command).map_err(|why| format!("'{text}': {why}"))?;
            return match words.is_empty() {
                true => Err(format!("'{text}' names no program")),
                false if command.len() > LONGEST => {
                    Err(format!("its command is longer than {LONGEST} bytes; put it into a script"))
                }
                false if command.contains(char::is_control) => {
                    Err("its command contains a control character; put it into a script".to_owned())
                }
                false => Ok(Self::Exec(command.to_owned())),
            };
        }
        let (kind, amount) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "cpu" => {
                let what = "cpu:THREADS with 1 to 64 threads (like cpu:2)";
                within(text, amount.parse().ok(), [1, 64], what).map(Self::Cpu)
            }
            "memory" => {
                let what =
                    "memory:RATE of 1MB/s to 1TB/s in B, kB, MB, GB or TB (like memory:2GB/s)";
                let limits = [1_000_000, 1_000_000_000_000];
                within(text, bytes_per_second(amount), limits, what).map(Self::Memory)
            }
            "fork" => {
                let what = "fork:RATE of 1/s to 10000/s (like fork:100/s)";
                within(text, per_second(amount), [1, 10_000], what).map(Self::Fork)
            }
            "timer" => {
                let what = "timer:RATE of 1/s to 100000/s (like timer:1000/s)";
                within(text, per_second(amount), [1, 100_000], what).map(Self::Timer)
            }
            other => {
                let right = nearest(other, KINDS.map(|(kind, _)| kind));
                let example = KINDS.iter().find(|(kind, _)| Some(*kind) == right);
                Err(match example {
                    Some((_, example)) => {
                        format!("'{text}' is not a neighbour; did you mean '{example}'?")
                    }
                    None => format!(
                        "'{text}' is not a neighbour ({})",
                        KINDS.map(|(_, example)| example).join(", ")
                    ),
                })
            }
        }
    }
}

impl FromStr for Neighbour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (work, place) = match text.rsplit_once('@') {
            None => (text, NeighbourPlace::default()),
            Some((work, place)) => match place.parse() {
                Ok(place) => (work, place),
                // A command may contain the sign.
                Err(_) if text.starts_with(EXEC) => (text, NeighbourPlace::default()),
                Err(unknown) => return Err(format!("'{text}': {unknown}")),
            },
        };
        Ok(Self { work: work.parse()?, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (typed, written) in [
            ("cpu:2@other", "cpu:2@other"),
            ("cpu:1", "cpu:1@free"),
            ("memory:2GB/s", "memory:2GB/s@free"),
            ("memory:1500MB/s@lead", "memory:1500MB/s@lead"),
            ("memory:2000000kB/s", "memory:2GB/s@free"),
            ("fork:1k/s@follow", "fork:1000/s@follow"),
            ("timer:1000/s", "timer:1000/s@free"),
            ("timer:1000", "timer:1000/s@free"),
            ("exec=stress-ng --cpu 2@other", "exec=stress-ng --cpu 2@other"),
            ("exec=ssh me@host", "exec=ssh me@host@free"),
        ] {
            let neighbour: Neighbour = typed.parse().expect(typed);
            assert_eq!(neighbour.to_string(), written);
            assert_eq!(written.parse(), Ok(neighbour));
        }
        assert_eq!(Neighbour::parsed("none"), Ok(None));
    }

    #[test]
    fn a_wrong_word_says_what_would_be_right() {
        for (text, part) in [
            ("cpu", "cpu:THREADS"),
            ("cpu:0", "1 to 64 threads"),
            ("cpu:65", "like cpu:2"),
            ("cpv:2", "did you mean 'cpu:2'?"),
            ("memory:2GB", "like memory:2GB/s"),
            ("memory:1kB/s", "1MB/s to 1TB/s"),
            ("memory:99999999999TB/s", "1MB/s to 1TB/s"),
            ("fork:0/s", "1/s to 10000/s"),
            ("fork:1.5/s", "like fork:100/s"),
            ("timer:25%", "like timer:1000/s"),
            ("cpu:2@others", "unknown place 'others'"),
            ("exec=", "names no program"),
            ("exec='a", "the quote ' is not closed"),
            ("exec=a\nb", "control character"),
            ("", "is not a neighbour (cpu:2, memory:2GB/s"),
        ] {
            let told = text.parse::<Neighbour>().expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
    }

    #[test]
    fn a_command_in_a_list_keeps_its_commas() {
        let of = |list| Neighbour::listed(list).collect::<Vec<_>>();
        assert_eq!(of("none, cpu:2@other"), ["none", "cpu:2@other"]);
        assert_eq!(of("exec=a 'b, c',d,cpu:1,none"), ["exec=a 'b, c',d", "cpu:1", "none"]);
        assert_eq!(of("exec=a,exec=b"), ["exec=a", "exec=b"]);
    }

    #[test]
    fn a_neighbour_reaches_the_end_whose_cpu_it_may_use() {
        let of = |place: &str, is_one_cpu| {
            let neighbour: Neighbour = format!("cpu:1@{place}").parse().expect(place);
            Seat::BOTH.map(|end| neighbour.reaches(end, is_one_cpu))
        };
        assert_eq!(of("lead", false), [true, false]);
        assert_eq!(of("lead", true), [true, true]);
        assert_eq!(of("follow", false), [false, true]);
        assert_eq!(of("other", true), [false, false]);
        assert_eq!(of("free", false), [true, true]);
    }
}
