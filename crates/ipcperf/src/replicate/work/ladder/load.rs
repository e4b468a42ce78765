//! What is done at each size: round trips, or a row of chunks with one of two kinds of acknowledgement.

use ipcperf_core::units::format_size;
use serde::{Deserialize, Serialize};

/// What a study says about a ladder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    /// What carries the messages.
    pub(super) mechanism: super::ways::Way,
    /// Which loads.
    pub(super) measure: Vec<Kind>,
    /// Bytes of a message, one size after the other.
    pub(super) sizes: Vec<usize>,
    /// Bytes of a packet; for UDP alone.
    pub(super) packet: Option<usize>,
    /// Round trips of each size.
    pub(super) trips: u64,
    /// Fewer where they would move more bytes than this one way, but never fewer than 40.
    pub(super) trip_bytes: u64,
    /// Bytes of a row of chunks.
    pub(super) bytes: u64,
    /// Most chunks of a row that is acknowledged as a whole.
    pub(super) most_chunks: Option<u64>,
    /// Most chunks of a row in which each is acknowledged.
    pub(super) most_acks: Option<u64>,
}

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The message there and back, one after the other.
    Trip,
    /// Chunks one way as fast as they go, then one acknowledgement.
    Final,
    /// Chunks one way, each acknowledged before the next.
    Each,
}

/// One rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) size: usize,
    pub(super) count: u64,
    pub(super) kind: Kind,
}

impl std::fmt::Display for Load {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            Kind::Trip => "round trips",
            Kind::Final => "chunks",
            Kind::Each => "acknowledged chunks",
        };
        write!(out, "{} {what} of {}", self.count, format_size(self.size as u64))
    }
}

/// Fewer round trips have no median.
const LEAST_TRIPS: u64 = 40;

/// Both ends stamp messages with 32 bits, and keep a sample of each round trip in memory.
const MOST: u64 = 1 << 31;
const MOST_TRIPS: u64 = 1 << 24;

/// Larger messages than a study has a use for would take memory for several buffers.
const LARGEST: usize = 1 << 26;

impl Keys {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.sizes.is_empty() || self.measure.is_empty() {
            return Err("'sizes' and 'measure' must not be empty".into());
        }
        // A stamp takes four bytes.
        if let Some(size) = self.sizes.iter().find(|size| !(4..=LARGEST).contains(*size)) {
            return Err(format!("a size of {size} bytes: 4 to {LARGEST} are possible"));
        }
        if !(1..=MOST_TRIPS).contains(&self.trips) {
            return Err(format!("'trips' must be 1 to {MOST_TRIPS}"));
        }
        if self.bytes == 0 || self.most_chunks == Some(0) || self.most_acks == Some(0) {
            return Err("'bytes', 'most_chunks' and 'most_acks' must not be 0".into());
        }
        match (self.mechanism.cuts(), self.packet) {
            (true, None) => Err("UDP needs 'packet', the bytes of a packet".into()),
            (false, Some(_)) => Err("'packet' is for UDP alone".into()),
            (true, Some(packet)) if !(64..=65_507).contains(&packet) => {
                Err(format!("a packet of {packet} bytes: 64 to 65507 are possible"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// All rungs: kind by kind, each from the first size to the last.
    pub(super) fn loads(&self) -> Vec<Load> {
        let count = |kind, size: usize| {
            let size = size as u64;
            let row = self.bytes.div_ceil(size);
            match kind {
                Kind::Trip => {
                    self.trips.min((self.trip_bytes / size).max(LEAST_TRIPS.min(self.trips)))
                }
                Kind::Final => row.min(self.most_chunks.unwrap_or(MOST)).min(MOST),
                Kind::Each => row.min(self.most_acks.unwrap_or(MOST)).min(MOST),
            }
        };
        let rungs = |kind: &Kind| {
            let kind = *kind;
            self.sizes.iter().map(move |size| Load { size: *size, count: count(kind, *size), kind })
        };
        self.measure.iter().flat_map(rungs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Keys, String> {
        let table: toml::Table = text.parse().expect("TOML");
        let keys: Keys = table.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        keys.check().map(|()| keys)
    }

    const PIPE: &str = "mechanism = 'pipe'\nmeasure = ['trip', 'final', 'each']\nsizes = [4, 524288]\ntrips = 1000\n\
                        trip_bytes = 33554432\nbytes = 134217728\nmost_acks = 5000\n";

    #[test]
    fn counts_come_from_the_bytes_and_are_bounded() {
        let loads = keys(PIPE).expect("a ladder").loads();
        let counts: Vec<_> = loads.iter().map(|load| (load.size, load.count, load.kind)).collect();
        assert_eq!(
            counts,
            [
                (4, 1000, Kind::Trip),
                (524_288, 64, Kind::Trip),
                (4, 33_554_432, Kind::Final),
                (524_288, 256, Kind::Final),
                (4, 5000, Kind::Each),
                (524_288, 256, Kind::Each),
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |text: &str| keys(text).expect_err(text);
        assert!(refused(&PIPE.replace("[4,", "[3,")).contains("3 bytes"));
        assert!(refused(&PIPE.replace("'pipe'", "'udp'")).contains("'packet'"));
        assert!(refused(&format!("{PIPE}packet = 6500")).contains("UDP alone"));
        assert!(refused(&format!("{PIPE}pakcet = 6500")).contains("pakcet"));
        assert!(refused(&PIPE.replace("1000", "0")).contains("'trips'"));
    }
}
