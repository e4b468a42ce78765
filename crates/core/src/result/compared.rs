//! What of a cell's document is read for a comparison. What else it has is passed over, which takes less time.

use super::{
    Buckets, Cell, CellKey, HistogramData, KnobReading, Proof, Round, SideCpu, Status, Timing,
    columns,
};
use crate::{Idle, Load, PatternKind, Placement, Touch, Wait};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::{fmt, vec};

/// A cell.
#[derive(Deserialize)]
pub(super) struct Compared {
    id: String,
    mechanism: String,
    wait: Wait,
    pattern: PatternKind,
    size_bytes: u64,
    placement: Placement,
    cpus: Vec<usize>,
    idle: Idle,
    touch: Touch,
    #[serde(default)]
    load: Load,
    knobs: BTreeMap<String, KnobReading>,
    status: Status,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    timing: Option<Timing>,
    #[serde(deserialize_with = "rounds")]
    rounds: Vec<Round>,
    #[serde(default)]
    messages: u64,
    #[serde(default)]
    lost: u64,
}

/// Under each key a value of each round, `null` where it has none; empty where no round has one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Columns {
    round: Column<u64>,
    rejected: Column<String>,
    messages: Column<u64>,
    moved: Column<u64>,
    unanswered: Column<u64>,
    p50_ns: Column<f64>,
    messages_per_second: Column<f64>,
    saturated: Column<bool>,
    histogram: OfHistogram,
    cpu_ns: OfCpu,
    proof: OfProof,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfHistogram {
    min: Column<u64>,
    max: Column<u64>,
    buckets: Column<Buckets>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfCpu {
    lead: Column<u64>,
    follow: Column<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfProof {
    holds: Column<bool>,
}

#[derive(Deserialize)]
#[serde(from = "Vec<Option<T>>")]
struct Column<T>(vec::IntoIter<Option<T>>);

impl<T> From<Vec<Option<T>>> for Column<T> {
    fn from(values: Vec<Option<T>>) -> Self {
        Self(values.into_iter())
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Column<T> {
    /// That of the next round, if it has one.
    fn next(&mut self) -> Option<T> {
        self.0.next().flatten()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Columns {
    /// # Errors
    /// Not each column has a value of each round, or a round lacks what every round has.
    fn rounds(mut self) -> Result<Vec<Round>, &'static str> {
        let rounds = self.round.len();
        let lengths = [
            self.rejected.len(),
            self.messages.len(),
            self.moved.len(),
            self.unanswered.len(),
            self.p50_ns.len(),
            self.messages_per_second.len(),
            self.saturated.len(),
            self.histogram.min.len(),
            self.histogram.max.len(),
            self.histogram.buckets.len(),
            self.cpu_ns.lead.len(),
            self.cpu_ns.follow.len(),
            self.proof.holds.len(),
        ];
        if lengths.iter().any(|length| ![0, rounds].contains(length)) {
            return Err("the columns of `rounds` have not all one value for each round");
        }
        (0..rounds).map(|_| self.next()).collect()
    }

    fn next(&mut self) -> Result<Round, &'static str> {
        let Self { histogram, cpu_ns, proof, .. } = self;
        let histogram = match (histogram.min.next(), histogram.max.next(), histogram.buckets.next())
        {
            (Some(min), Some(max), Some(buckets)) => {
                Some(HistogramData { min, max, buckets, ..HistogramData::default() })
            }
            (None, None, None) => None,
            _ => return Err("a round has part of a histogram"),
        };
        let cpu_ns = SideCpu {
            lead: cpu_ns.lead.next().ok_or("a round has no `cpu_ns.lead`")?,
            follow: cpu_ns.follow.next().ok_or("a round has no `cpu_ns.follow`")?,
            ..SideCpu::default()
        };
        let holds = proof.holds.next().ok_or("a round has no `proof.holds`")?;
        Ok(Round {
            round: self.round.next().ok_or("a round has no number")?,
            rejected: self.rejected.next(),
            messages: self.messages.next().ok_or("a round has no `messages`")?,
            moved: self.moved.next(),
            unanswered: self.unanswered.next().unwrap_or_default(),
            p50_ns: self.p50_ns.next(),
            messages_per_second: self.messages_per_second.next(),
            saturated: self.saturated.next().unwrap_or_default(),
            histogram,
            cpu_ns,
            proof: Proof { holds, ..Proof::default() },
            ..Round::default()
        })
    }
}

/// From columns, or the list that version 1 has.
fn rounds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Round>, D::Error> {
    struct Either;
    impl<'de> Visitor<'de> for Either {
        type Value = Vec<Round>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("the columns of rounds, or a list of them")
        }

        fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<Vec<Round>, A::Error> {
            let columns = Columns::deserialize(MapAccessDeserializer::new(keys))?;
            columns.rounds().map_err(de::Error::custom)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<Round>, A::Error> {
            columns::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(Either)
}

impl From<Compared> for Cell {
    fn from(read: Compared) -> Self {
        let key = CellKey {
            mechanism: read.mechanism,
            wait: read.wait,
            pattern: read.pattern,
            size_bytes: read.size_bytes,
            placement: read.placement,
            cpus: read.cpus,
            idle: read.idle,
            touch: read.touch,
            load: read.load,
        };
        Self {
            id: read.id,
            key,
            knobs: read.knobs,
            status: read.status,
            reason: read.reason,
            timing: read.timing,
            rounds: read.rounds,
            messages: read.messages,
            lost: read.lost,
            ..Self::default()
        }
    }
}
