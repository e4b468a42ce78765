//! Where the two ends of a cell run: a class of CPUs, or CPUs by their numbers.

use crate::names::UnknownName;
use crate::seat::Seat;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Where the two ends of a cell run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename_all = "kebab-case"))]
pub enum Placement {
    /// Both ends pinned to one CPU: every message is a context switch.
    #[default]
    SameCpu,
    /// Two hardware threads of one core.
    Smt,
    /// Two cores that share their last-level cache.
    SameLlc,
    /// Two cores of one NUMA node with different last-level caches.
    CrossLlc,
    /// Two NUMA nodes.
    CrossNode,
    /// Two cores of the fastest kind, in a machine that has several kinds.
    PCores,
    /// Two cores of its slowest kind.
    ECores,
    /// A core of its fastest kind and one of its slowest.
    CrossKind,
    /// Not pinned: the scheduler decides, so repeats may differ by a large factor.
    Free,
    /// The CPUs of lead and follow by their numbers, `0,1`. They keep their seats in every round: who names CPUs means them.
    #[cfg_attr(feature = "schema", schemars(untagged, with = "schema::Pair"))]
    Cpus {
        /// Of the lead.
        lead: u16,
        /// Of the follow.
        follow: u16,
    },
    /// One end alone is pinned, `0,free` the lead and `free,0` the follow; the scheduler places the other one. The seats are
    /// never swapped.
    #[cfg_attr(feature = "schema", schemars(untagged, with = "schema::OneEnd"))]
    OneEnd {
        /// The end that is pinned.
        seat: Seat,
        /// Its CPU.
        cpu: u16,
    },
}

/// What stands in place of a number for an end that is not pinned.
const FREE: &str = "free";

impl Placement {
    /// All classes with the words for them, in their natural order.
    const CLASSES: [(Self, &'static str); 9] = [
        (Self::SameCpu, "same-cpu"),
        (Self::Smt, "smt"),
        (Self::SameLlc, "same-llc"),
        (Self::CrossLlc, "cross-llc"),
        (Self::CrossNode, "cross-node"),
        (Self::PCores, "p-cores"),
        (Self::ECores, "e-cores"),
        (Self::CrossKind, "cross-kind"),
        (Self::Free, FREE),
    ];

    /// The words of all classes.
    pub fn words() -> impl Iterator<Item = &'static str> {
        Self::CLASSES.iter().map(|(_, word)| *word)
    }

    /// What can be written for it: the words of all classes, and what CPUs look like.
    #[must_use]
    pub fn known() -> Vec<&'static str> {
        Self::words().chain(["two CPUs like 0,1", "one pinned end like 0,free"]).collect()
    }

    /// Whether the two ends are pinned to two different CPUs.
    #[must_use]
    pub const fn is_two_cpus(self) -> bool {
        match self {
            Self::Smt
            | Self::SameLlc
            | Self::CrossLlc
            | Self::CrossNode
            | Self::PCores
            | Self::ECores
            | Self::CrossKind => true,
            Self::Cpus { lead, follow } => lead != follow,
            Self::SameCpu | Self::Free | Self::OneEnd { .. } => false,
        }
    }

    /// Whether both ends are pinned to one and the same CPU.
    #[must_use]
    pub const fn is_one_cpu(self) -> bool {
        match self {
            Self::Cpus { lead, follow } => lead == follow,
            other => matches!(other, Self::SameCpu),
        }
    }

    /// Whether the scheduler places an end or both.
    #[must_use]
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::OneEnd { .. })
    }

    /// The CPU of this end, where it alone is pinned.
    #[must_use]
    pub fn alone(self, end: Seat) -> Option<usize> {
        match self {
            Self::OneEnd { seat, cpu } if seat == end => Some(cpu.into()),
            _ => None,
        }
    }

    /// The CPUs that were named for both ends.
    #[must_use]
    pub fn named(self) -> Option<[usize; 2]> {
        match self {
            Self::Cpus { lead, follow } => Some([lead, follow].map(usize::from)),
            _ => None,
        }
    }
}

/// As it is written everywhere; in a sentence (`{:#}`) numbers are called CPUs.
impl fmt::Display for Placement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, Self::CLASSES.iter().find(|(class, _)| class == self)) {
            (_, Some((_, word))) => out.pad(word),
            (Self::Cpus { lead, follow }, None) if out.alternate() => {
                out.pad(&format!("CPUs {lead},{follow}"))
            }
            (Self::Cpus { lead, follow }, None) => out.pad(&format!("{lead},{follow}")),
            (Self::OneEnd { seat, cpu }, None) if out.alternate() => {
                let end = if seat == Seat::Lead { "lead" } else { "follow" };
                out.pad(&format!("CPU {cpu} for the {end} alone"))
            }
            (Self::OneEnd { seat: Seat::Lead, cpu }, None) => out.pad(&format!("{cpu},{FREE}")),
            (Self::OneEnd { seat: Seat::Follow, cpu }, None) => out.pad(&format!("{FREE},{cpu}")),
            (other, None) => unreachable!("{other:?} has a word"),
        }
    }
}

impl FromStr for Placement {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let class = Self::CLASSES.iter().find(|(_, word)| *word == text).map(|(class, _)| *class);
        let pair = || {
            let (lead, follow) = text.split_once(',')?;
            Some(match (lead, follow) {
                (cpu, FREE) => Self::OneEnd { seat: Seat::Lead, cpu: cpu.parse().ok()? },
                (FREE, cpu) => Self::OneEnd { seat: Seat::Follow, cpu: cpu.parse().ok()? },
                _ => Self::Cpus { lead: lead.parse().ok()?, follow: follow.parse().ok()? },
            })
        };
        class.or_else(pair).ok_or_else(|| UnknownName {
            kind: "placement",
            given: text.to_owned(),
            known: Self::known(),
        })
    }
}

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
mod schema {
    /// The CPUs of lead and follow by their numbers.
    #[derive(schemars::JsonSchema)]
    pub(super) struct Pair(
        #[schemars(regex(pattern = r"^[0-9]+,[0-9]+$"))]
        #[expect(dead_code, reason = "it only describes a text")]
        String,
    );

    /// The CPU of the one end that is pinned, and `free` for the other one.
    #[derive(schemars::JsonSchema)]
    pub(super) struct OneEnd(
        #[schemars(regex(pattern = r"^([0-9]+,free|free,[0-9]+)$"))]
        #[expect(dead_code, reason = "it only describes a text")]
        String,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Placement = Placement::Cpus { lead: 3, follow: 0 };
    const LEAD: Placement = Placement::OneEnd { seat: Seat::Lead, cpu: 3 };
    const FOLLOW: Placement = Placement::OneEnd { seat: Seat::Follow, cpu: 0 };

    #[test]
    fn every_placement_is_written_as_it_is_read_in_words_and_documents() {
        let all = Placement::CLASSES.iter().map(|(class, _)| *class).chain([PAIR, LEAD, FOLLOW]);
        for place in all {
            assert_eq!(place.to_string().parse(), Ok(place));
            let written = serde_json::to_string(&place).expect("a text");
            assert_eq!(written, format!("\"{place}\""));
            assert_eq!(serde_json::from_str::<Placement>(&written).expect("a placement"), place);
        }
        assert_eq!((PAIR.to_string(), format!("{PAIR:#}")), ("3,0".into(), "CPUs 3,0".into()));
        assert_eq!(format!("{:#}", Placement::Smt), "smt");
        assert_eq!((LEAD.to_string(), FOLLOW.to_string()), ("3,free".into(), "free,0".into()));
        assert_eq!(
            format!("{LEAD:#}, {FOLLOW:#}"),
            "CPU 3 for the lead alone, CPU 0 for the follow alone"
        );
    }

    #[test]
    fn what_is_no_placement_is_told_with_what_there_is() {
        for text in [
            "same_cpu",
            "0",
            "0,",
            ",1",
            "0,1,2",
            "0, 1",
            "-1,0",
            "65536,0",
            "",
            "free,free",
            "0,free,1",
            "free,",
            ",free",
            "free, 0",
            "65536,free",
            "0,fre",
        ] {
            let error = text.parse::<Placement>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("unknown placement '{text}' (known: same-cpu")));
            assert!(error.contains("two CPUs like 0,1, one pinned end like 0,free"), "{error}");
        }
        let error = serde_json::from_str::<Placement>("\"moon\"").expect_err("no placement");
        assert!(error.to_string().contains("unknown placement 'moon'"), "{error}");
    }

    #[test]
    fn two_numbers_are_one_cpu_or_two() {
        let one = Placement::Cpus { lead: 1, follow: 1 };
        assert_eq!([PAIR, one].map(Placement::is_two_cpus), [true, false]);
        assert_eq!([PAIR, one].map(Placement::is_one_cpu), [false, true]);
        assert_eq!((PAIR.named(), Placement::Free.named()), (Some([3, 0]), None));
        for (class, is_one, is_two) in [
            (Placement::SameCpu, true, false),
            (Placement::Smt, false, true),
            (Placement::CrossNode, false, true),
            (Placement::ECores, false, true),
            (Placement::Free, false, false),
            (LEAD, false, false),
        ] {
            assert_eq!((class.is_one_cpu(), class.is_two_cpus()), (is_one, is_two), "{class}");
        }
        let free = [PAIR, Placement::Smt, Placement::Free, LEAD, FOLLOW].map(Placement::is_free);
        assert_eq!(free, [false, false, true, true, true]);
        for (place, ends) in [
            (LEAD, [Some(3), None]),
            (FOLLOW, [None, Some(0)]),
            (PAIR, [None; 2]),
            (Placement::Free, [None; 2]),
        ] {
            assert_eq!(
                (Seat::BOTH.map(|end| place.alone(end)), place.named().is_some()),
                (ends, place == PAIR)
            );
        }
    }
}
