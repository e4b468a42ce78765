//! How the kernel is asked to schedule the ends: scheduling class, nice value, weight of a control group.

use crate::names::nearest;
use crate::seat::Seat;
use crate::units::{duration, format_duration};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A scheduling class with its parameters, `sched(7)`. As a word `other`, `other:slice=100us`, `batch`, `idle`, `fifo:10`,
/// `rr:10`, `deadline:RUNTIME/DEADLINE/PERIOD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedClass {
    /// `SCHED_OTHER`, where asked for with a slice, ns: 0 is the kernel's own.
    Other {
        /// The time that the process may run before another one gets its turn, ns.
        slice_ns: u64,
    },
    /// `SCHED_BATCH`: a process that wakes does not preempt others.
    Batch,
    /// `SCHED_IDLE`: runs almost only where no process of another class wants the CPU.
    Idle,
    /// `SCHED_FIFO` with this priority, 1 to 99: runs until it waits.
    Fifo(u8),
    /// `SCHED_RR` with this priority: the same in turn with others of its priority.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: so much CPU time in each period, before the deadline in it.
    Deadline {
        /// CPU time, ns.
        runtime_ns: u64,
        /// From the start of a period, ns.
        deadline_ns: u64,
        /// Length of a period, ns.
        period_ns: u64,
    },
}

impl SchedClass {
    /// Slices that the kernel grants, ns; others it would silently replace by the nearest of these.
    const SLICES: [u64; 2] = [100_000, 100_000_000];
    /// Priorities of real-time classes.
    const PRIORITIES: [u8; 2] = [1, 99];
    /// The least runtime of a deadline class, ns: the kernel counts in units of this size.
    const LEAST_RUNTIME: u64 = 1024;

    /// Whether it is one of the classes that share a CPU by weight: then a nice value and a control group count.
    #[must_use]
    pub const fn is_fair(self) -> bool {
        matches!(self, Self::Other { .. } | Self::Batch | Self::Idle)
    }

    /// Whether it is a real-time class, which may keep a CPU from all others: `RLIMIT_RTTIME` is for these.
    #[must_use]
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_))
    }

    /// A number by which cells are sorted.
    fn order(self) -> u64 {
        let (rank, number) = match self {
            Self::Idle => (1, 0),
            Self::Batch => (2, 0),
            Self::Other { slice_ns } => (3, slice_ns),
            Self::RoundRobin(priority) => (4, u64::from(priority)),
            Self::Fifo(priority) => (5, u64::from(priority)),
            Self::Deadline { runtime_ns, .. } => (6, runtime_ns),
        };
        rank << 48 | number
    }
}

impl fmt::Display for SchedClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Other { slice_ns: 0 } => out.write_str("other"),
            Self::Other { slice_ns } => write!(out, "other:slice={}", format_duration(slice_ns)),
            Self::Batch => out.write_str("batch"),
            Self::Idle => out.write_str("idle"),
            Self::Fifo(priority) => write!(out, "fifo:{priority}"),
            Self::RoundRobin(priority) => write!(out, "rr:{priority}"),
            Self::Deadline { runtime_ns, deadline_ns, period_ns } => {
                let [runtime, deadline, period] =
                    [runtime_ns, deadline_ns, period_ns].map(format_duration);
                write!(out, "deadline:{runtime}/{deadline}/{period}")
            }
        }
    }
}

impl FromStr for SchedClass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let [least, most] = Self::SLICES;
        match Self::written(text)? {
            Self::Other { slice_ns } if text != "other" && !(least..=most).contains(&slice_ns) => {
                Err(format!(
                    "'{text}': the kernel grants slices from {} to {}",
                    format_duration(least),
                    format_duration(most)
                ))
            }
            class => Ok(class),
        }
    }
}

impl SchedClass {
    /// A class as a document has it: the slice that a process has by itself may be one that the kernel does not grant.
    fn written(text: &str) -> Result<Self, String> {
        let (class, rest) = match text.split_once(':') {
            Some((class, rest)) => (class, Some(rest)),
            None => (text, None),
        };
        let ns = |text: &str| {
            let time = duration(text).map_err(|error| error.to_string())?;
            u64::try_from(time.as_nanos()).map_err(|_| format!("{text} is too long"))
        };
        let priority = || {
            let [least, most] = Self::PRIORITIES;
            let given = rest.and_then(|text| text.parse().ok());
            given.filter(|priority| (least..=most).contains(priority)).ok_or_else(|| {
                format!("'{text}' needs a priority from {least} to {most}, like {class}:10")
            })
        };
        match (class, rest) {
            ("other", None) => Ok(Self::Other { slice_ns: 0 }),
            ("other", Some(rest)) => {
                let given = rest
                    .strip_prefix("slice=")
                    .ok_or_else(|| format!("'{text}' is not other or other:slice=TIME"))?;
                ns(given).map(|slice_ns| Self::Other { slice_ns })
            }
            ("batch", None) => Ok(Self::Batch),
            ("idle", None) => Ok(Self::Idle),
            ("fifo", _) => priority().map(Self::Fifo),
            ("rr", _) => priority().map(Self::RoundRobin),
            ("deadline", Some(rest)) => {
                let times: Vec<u64> = rest.split('/').map(ns).collect::<Result<_, _>>()?;
                match times.as_slice() {
                    &[runtime_ns, deadline_ns, period_ns]
                        if Self::LEAST_RUNTIME <= runtime_ns
                            && runtime_ns <= deadline_ns
                            && deadline_ns <= period_ns =>
                    {
                        Ok(Self::Deadline { runtime_ns, deadline_ns, period_ns })
                    }
                    _ => Err(format!(
                        "'{text}' is not deadline:RUNTIME/DEADLINE/PERIOD with a runtime of at least {} ns, in ascending order, \
                         like deadline:1ms/5ms/10ms",
                        Self::LEAST_RUNTIME
                    )),
                }
            }
            _ => {
                let all = "other, other:slice=TIME, batch, idle, fifo:PRIORITY, rr:PRIORITY, deadline:RUNTIME/DEADLINE/PERIOD";
                let words = ["other", "batch", "idle", "fifo", "rr", "deadline", "none"];
                let near = nearest(class, words).filter(|near| *near != class);
                let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                Err(format!("'{text}' is not a scheduling class ({all}){near}"))
            }
        }
    }
}

/// A nice value: -20, which gets the most CPU time, to 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nice(i8);

impl Nice {
    /// The value.
    #[must_use]
    pub const fn value(self) -> i8 {
        self.0
    }
}

impl fmt::Display for Nice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Nice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.parse().ok().filter(|value| (-20..=19).contains(value));
        value.map(Self).ok_or_else(|| format!("'{text}' is not a nice value (-20 to 19)"))
    }
}

/// A weight of a control group, `cpu.weight`: 1 to 10000, where every group has 100 if nothing else was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuWeight(u16);

impl CpuWeight {
    /// The value.
    #[must_use]
    pub const fn value(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CpuWeight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for CpuWeight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.parse().ok().filter(|value| (1..=10_000).contains(value));
        value.map(Self).ok_or_else(|| format!("'{text}' is not a weight from 1 to 10000"))
    }
}

/// What is asked for the lead and for the follow, at least for one of them. As a word `VALUE` for both, `lead=VALUE`,
/// `follow=VALUE`, or `lead=VALUE+follow=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EachEnd<T>([Option<T>; 2]);

impl<T: Copy> EachEnd<T> {
    /// What is asked for this end.
    #[must_use]
    pub fn of(&self, end: Seat) -> Option<T> {
        self.0[end.index()]
    }

    /// Numbers by which cells are sorted, 0 for an end for which nothing is asked.
    pub(crate) fn orders(all: Option<Self>, order: impl Fn(T) -> u64) -> [u64; 2] {
        let Some(Self(ends)) = all else { return [0; 2] };
        ends.map(|end| end.map_or(0, &order))
    }
}

impl EachEnd<SchedClass> {
    pub(crate) fn order(all: Option<Self>) -> [u64; 2] {
        Self::orders(all, SchedClass::order)
    }
}

/// How it is written that nothing is asked for.
const NOTHING: &str = "none";

impl<T: FromStr<Err = String>> EachEnd<T> {
    /// What was typed; `None` where nothing is asked for.
    pub(crate) fn parsed(text: &str) -> Result<Option<Self>, String> {
        if text == NOTHING { Ok(None) } else { text.parse().map(Some) }
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for EachEnd<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            [Some(lead), Some(follow)] if lead == follow => lead.fmt(out),
            [Some(lead), Some(follow)] => write!(out, "lead={lead}+follow={follow}"),
            [Some(lead), None] => write!(out, "lead={lead}"),
            [None, Some(follow)] => write!(out, "follow={follow}"),
            [None, None] => out.write_str(NOTHING),
        }
    }
}

impl<T: FromStr<Err = String>> FromStr for EachEnd<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ends = [None, None];
        for part in text.split('+') {
            let named = [("lead=", Seat::Lead), ("follow=", Seat::Follow)];
            let own = named.iter().find_map(|(name, end)| Some((part.strip_prefix(name)?, *end)));
            match own {
                Some((_, end)) if ends[end.index()].is_some() => {
                    return Err(format!("'{text}' names an end twice"));
                }
                Some((value, end)) => ends[end.index()] = Some(value.parse()?),
                None if part == text => ends = [Some(part.parse()?), Some(part.parse()?)],
                None => {
                    return Err(format!(
                        "'{text}' is not one value for both ends, or lead=VALUE+follow=VALUE"
                    ));
                }
            }
        }
        Ok(Self(ends))
    }
}

/// Makes what documents have of a type that is written as a word.
macro_rules! as_word {
    ($([$($generic:ident)?] $name:ty, $read:path;)*) => {
        $(
            impl$(<$generic: fmt::Display + PartialEq>)? Serialize for $name {
                fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                    out.collect_str(self)
                }
            }

            impl<'de$(, $generic: FromStr<Err = String>)?> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    $read(&String::deserialize(from)?).map_err(de::Error::custom)
                }
            }

            #[cfg(feature = "schema")]
            impl$(<$generic>)? schemars::JsonSchema for $name {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    "Word".into()
                }

                fn inline_schema() -> bool {
                    true
                }

                fn json_schema(of: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    String::json_schema(of)
                }
            }
        )*
    };
}

as_word! {
    [] SchedClass, SchedClass::written;
    [T] EachEnd<T>, str::parse;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in [
            "other",
            "other:slice=100us",
            "batch",
            "idle",
            "fifo:10",
            "rr:99",
            "deadline:1ms/5ms/10ms",
            "lead=fifo:1",
            "follow=other:slice=100ms",
            "lead=idle+follow=rr:3",
        ] {
            let ends: EachEnd<SchedClass> = text.parse().expect(text);
            assert_eq!(ends.to_string(), text);
        }
        let both: EachEnd<Nice> = "lead=-5+follow=-5".parse().expect("two ends");
        assert_eq!(both.to_string(), "-5");
        let one: EachEnd<CpuWeight> = "follow=10000".parse().expect("a weight");
        let of = |end| one.of(end).map(CpuWeight::value);
        assert_eq!((of(Seat::Lead), of(Seat::Follow)), (None, Some(10_000)));
        assert_eq!(EachEnd::<Nice>::parsed("none"), Ok(None));
    }

    #[test]
    fn a_slice_that_the_kernel_has_by_itself_is_read_from_a_document_and_cannot_be_asked_for() {
        for slice_ns in [50_000, 700_000, 200_000_000] {
            let class = SchedClass::Other { slice_ns };
            let text = serde_json::to_string(&class).expect("a word");
            assert_eq!(serde_json::from_str::<SchedClass>(&text).expect("a class"), class);
            let is_granted = slice_ns == 700_000;
            assert_eq!(class.to_string().parse::<SchedClass>().is_ok(), is_granted, "{class}");
        }
        assert!(serde_json::from_str::<SchedClass>("\"fifo:0\"").is_err());
    }

    #[test]
    fn a_wrong_word_says_what_would_be_right() {
        for (text, part) in [
            ("ilde", "did you mean 'idle'?"),
            ("fifo", "needs a priority from 1 to 99, like fifo:10"),
            ("fifo:0", "from 1 to 99"),
            ("rr:100", "like rr:10"),
            ("batch:1", "is not a scheduling class"),
            ("other:100us", "other:slice=TIME"),
            ("other:slice=10us", "from 100us to 100ms"),
            ("other:slice=0us", "from 100us to 100ms"),
            ("other:slice=1", "is not a time"),
            ("deadline:5ms/1ms/10ms", "in ascending order"),
            ("deadline:1ms/5ms", "RUNTIME/DEADLINE/PERIOD"),
            ("deadline:1us/5ms/10ms", "at least 1024 ns"),
            ("deadline", "is not a scheduling class"),
            ("lead=idle+lead=batch", "names an end twice"),
            ("idle+follow=batch", "lead=VALUE+follow=VALUE"),
            ("", "is not a scheduling class"),
        ] {
            let told = text.parse::<EachEnd<SchedClass>>().expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
        assert!("20".parse::<Nice>().is_err() && "-21".parse::<Nice>().is_err());
        assert!("0".parse::<CpuWeight>().is_err() && "10001".parse::<CpuWeight>().is_err());
    }
}
