//! What a pattern is asked to do beyond moving messages of one size: part of a cell's identity.

use crate::load_key::LoadKey;
use crate::names::{UnknownName, names};
use crate::units::{duration, format_duration, sizes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

names! {
    /// When the messages of an open loop are due.
    "arrivals" Arrivals {
        /// At random, independent of each other: exponential gaps. Never in step with a timer.
        Poisson = "poisson",
        /// At equal distances.
        Constant = "constant",
    }
}

names! {
    /// What is done to every message before it is sent, and undone when it has arrived.
    "transform" Transform {
        /// Nothing.
        None = "none",
        /// Compressed by DEFLATE in a gzip frame, level 6.
        Gzip = "gzip",
        /// Compressed by LZ4, block format.
        Lz4 = "lz4",
        /// Compressed by Zstandard.
        Zstd = "zstd",
        /// Sent as it is, with a CRC-32 that the receiver computes again.
        Crc32 = "crc32",
    }
}

/// How much is asked of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub enum Offered {
    /// Messages per second.
    PerSecond(f64),
    /// A share of what the mechanism does in a closed loop on the same CPUs in the same run, 0.1 for a tenth.
    OfPeak(f64),
}

impl fmt::Display for Offered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(out, "{rate}/s"),
            Self::OfPeak(share) => write!(out, "{}%", (share * 1e6).round() / 1e4),
        }
    }
}

impl From<Offered> for String {
    fn from(offered: Offered) -> Self {
        offered.to_string()
    }
}

impl TryFrom<String> for Offered {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Offered {
    type Err = String;

    /// `50k`, `2M`, `1000`, `1000/s`, `25%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a rate (like 50k, 1000/s, or 25% of the peak)");
        let positive = |number: &str| -> Result<f64, String> {
            let number: f64 = number.trim().parse().map_err(|_| wrong())?;
            if number.is_finite() && number > 0.0 { Ok(number) } else { Err(wrong()) }
        };
        if let Some(share) = text.strip_suffix('%') {
            return Ok(Self::OfPeak(positive(share)? / 100.0));
        }
        let plain = text.strip_suffix("/s").unwrap_or(text);
        let (number, factor) = match plain.strip_suffix(['k', 'K']) {
            Some(number) => (number, 1e3),
            None => plain.strip_suffix('M').map_or((plain, 1.0), |number| (number, 1e6)),
        };
        Ok(Self::PerSecond(positive(number)? * factor))
    }
}

/// Why a value cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// A word that is not in its list.
    Unknown(UnknownName),
    /// Not a number, or one without reason.
    Value(String),
}

impl From<UnknownName> for LoadError {
    fn from(unknown: UnknownName) -> Self {
        Self::Unknown(unknown)
    }
}

impl From<String> for LoadError {
    fn from(value: String) -> Self {
        Self::Value(value)
    }
}

/// Producers of a fan-in and consumers of a fan-out unless asked otherwise.
pub(crate) const PEERS: u64 = 4;

/// Most of them.
pub const MOST_PEERS: u64 = 64;

/// The longest pause and stall: a slice must hold some of them.
const LONGEST: Duration = Duration::from_secs(10);

/// Below one message per second most slices would have none.
const LEAST_PER_SECOND: f64 = 1.0;

/// Shares of the peak that make sense: a thousandth, and far beyond what can be had.
const SHARES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// A rate within reason.
fn rate(text: &str) -> Result<Offered, String> {
    match text.parse()? {
        Offered::PerSecond(rate) if rate < LEAST_PER_SECOND => {
            Err(format!("{text} is less than one message per second"))
        }
        Offered::OfPeak(share) if !SHARES.contains(&share) => {
            Err(format!("{text} is not between 0.1% and 10000%"))
        }
        rate => Ok(rate),
    }
}

/// A time in nanoseconds, 0 included.
fn nanos(text: &str) -> Result<u64, String> {
    let time = match text {
        "0" => Duration::ZERO,
        text => duration(text).map_err(|error| error.to_string())?,
    };
    if time > LONGEST {
        return Err(format!("{text} is not between {:?} and {LONGEST:?}", Duration::ZERO));
    }
    Ok(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Bytes of a packet that are no payload.
pub const PACKET_HEAD: usize = 8;

/// Bytes of a packet.
fn packet(text: &str) -> Result<u64, String> {
    match sizes(text).map_err(|error| error.to_string())?.as_slice() {
        [size] if *size > PACKET_HEAD => Ok(*size as u64),
        _ => Err(format!("'{text}' is not a size above {PACKET_HEAD}")),
    }
}

/// A count from 1 on.
fn count(text: &str, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' is not a number between 1 and {most}")),
    }
}

/// What a pattern is asked to do. A field that its pattern does not use has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Ping-pong: how long the lead sleeps before each round trip, ns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub think_ns: u64,
    /// Rate: how much is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Offered>,
    /// Rate: when messages are due; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Rate and ping-pong: the follow is stopped (SIGSTOP) for so long once in each slice, ns: in its middle, early where
    /// no message has a time. To show what a load model hides.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stall_ns: u64,
    /// Burst: messages sent back to back before the lead waits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub burst: u64,
    /// Stream: messages under way before the sender waits for a credit; 0: as the mechanism itself stops it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub window: u64,
    /// Ping-pong, stream and burst: messages go in packets of so many bytes; 0: as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub packet: u64,
    /// Connect: clients at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conns: u64,
    /// Fan-in, fan-out: producers or consumers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peers: u64,
    /// Ping-pong and stream: what is done to each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Ping-pong: the way from lead to follow is timed by itself, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Load {
    /// Whether nothing is asked for beyond the pattern itself.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn changes(&self) -> Option<Transform> {
        self.transform.filter(|transform| *transform != Transform::None)
    }

    /// Asks for this value of `key`.
    ///
    /// # Errors
    /// It is no such value, or one out of range.
    pub fn set(&mut self, key: LoadKey, text: &str) -> Result<(), LoadError> {
        match key {
            LoadKey::Think => self.think_ns = nanos(text)?,
            LoadKey::Rate => self.rate = Some(rate(text)?),
            LoadKey::Arrivals => self.arrivals = Some(text.parse()?),
            LoadKey::Stall => self.stall_ns = nanos(text)?,
            LoadKey::Burst => self.burst = count(text, 1 << 16)?,
            LoadKey::Window => self.window = count(text, 1 << 20)?,
            LoadKey::Packet => self.packet = packet(text)?,
            LoadKey::Conns => self.conns = count(text, 1000)?,
            LoadKey::Peers => self.peers = count(text, MOST_PEERS)?,
            LoadKey::Transform => {
                self.transform = Some(text.parse()?).filter(|name| *name != Transform::None);
            }
            LoadKey::OneWay => self.one_way = true,
        }
        Ok(())
    }

    /// What is asked of `key`, as it is written; `None` where nothing is.
    #[must_use]
    pub fn value(&self, key: LoadKey) -> Option<String> {
        let time = |nanos: u64| (nanos > 0).then(|| format_duration(nanos));
        let count = |number: u64| (number > 0).then(|| number.to_string());
        match key {
            LoadKey::Think => time(self.think_ns),
            LoadKey::Rate => self.rate.map(|rate| rate.to_string()),
            LoadKey::Arrivals => {
                self.arrivals.filter(|one| *one != Arrivals::Poisson).map(|one| one.to_string())
            }
            LoadKey::Stall => time(self.stall_ns),
            LoadKey::Burst => count(self.burst),
            LoadKey::Window => count(self.window),
            LoadKey::Packet => count(self.packet),
            LoadKey::Conns => count(self.conns),
            LoadKey::Peers => count(self.peers),
            LoadKey::Transform => self.changes().map(|transform| transform.to_string()),
            LoadKey::OneWay => self.one_way.then(String::new),
        }
    }

    /// How it reads in a cell's identity: `think=1ms`, `rate=50000/s`. Empty for a plain load.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let set = |key: &LoadKey| Some((*key, self.value(*key)?));
        let word = |(key, value): (LoadKey, String)| match value.as_str() {
            "" => key.to_string(),
            value => format!("{key}={value}"),
        };
        LoadKey::ALL.iter().filter_map(set).map(word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::PatternKind;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (text, rate) in [
            ("50k", Offered::PerSecond(50_000.0)),
            ("1000", Offered::PerSecond(1000.0)),
            ("2.5M", Offered::PerSecond(2.5e6)),
            ("100/s", Offered::PerSecond(100.0)),
            ("12.5%", Offered::OfPeak(0.125)),
        ] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
            assert_eq!(rate.to_string().parse(), Ok(rate), "{text}");
        }
        for text in ["", "0", "-1", "nan", "inf", "5x", "%"] {
            assert!(text.parse::<Offered>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_load_keeps_what_concerns_its_pattern_and_reads_as_words() {
        let all = Load {
            think_ns: 1_000_000,
            window: 8,
            packet: 6500,
            transform: Some(Transform::Gzip),
            one_way: true,
            ..Load::default()
        };
        assert_eq!(
            all.of(PatternKind::PingPong).words(),
            ["think=1ms", "packet=6500", "transform=gzip", "one-way"]
        );
        assert_eq!(
            all.of(PatternKind::Stream).words(),
            ["window=8", "packet=6500", "transform=gzip"]
        );
        assert_eq!(all.of(PatternKind::FanIn).words(), ["peers=4"]);
        assert_eq!(Load { peers: 9, ..all }.of(PatternKind::FanOut).words(), ["peers=9"]);
        let open = Load {
            rate: Some(Offered::OfPeak(0.1)),
            arrivals: Some(Arrivals::Poisson),
            stall_ns: 20_000_000,
            burst: 8,
            ..all
        };
        assert_eq!(open.of(PatternKind::Rate).words(), ["rate=10%", "stall=20ms"]);
        assert_eq!(open.of(PatternKind::Burst).words(), ["burst=8", "packet=6500"]);
        assert!(Load::default().is_plain() && Load::default().words().is_empty());
    }

    #[test]
    fn a_load_of_a_pattern_has_what_its_row_says_and_nothing_else() {
        let mut all = Load::default();
        for (key, text) in [
            (LoadKey::Think, "1ms"),
            (LoadKey::Rate, "10%"),
            (LoadKey::Arrivals, "constant"),
            (LoadKey::Stall, "2ms"),
            (LoadKey::Burst, "8"),
            (LoadKey::Window, "4"),
            (LoadKey::Packet, "6500"),
            (LoadKey::Conns, "5"),
            (LoadKey::Peers, "2"),
            (LoadKey::Transform, "lz4"),
            (LoadKey::OneWay, "on"),
        ] {
            all.set(key, text).expect("a value");
            assert!(all.value(key).is_some(), "{key}");
        }
        for key in LoadKey::ALL {
            let takers: Vec<_> =
                PatternKind::ALL.iter().filter(|one| all.of(**one).value(*key).is_some()).collect();
            let rows: Vec<_> = PatternKind::ALL.iter().filter(|one| one.takes(*key)).collect();
            assert!(takers == rows && !rows.is_empty(), "{key}: {takers:?}, but {rows:?}");
            for value in key.default().iter().flat_map(|default| default.split("..")) {
                assert_eq!(Load::default().set(*key, value), Ok(()), "{key}");
            }
        }
    }

    #[test]
    fn a_value_out_of_range_or_unknown_is_refused() {
        for (key, text, part) in [
            (LoadKey::Think, "11s", "11s is not between 0ns and 10s"),
            (LoadKey::Rate, "0.5", "less than one message per second"),
            (LoadKey::Rate, "0.01%", "not between 0.1% and 10000%"),
            (LoadKey::Burst, "0", "'0' is not a number between 1 and 65536"),
            (LoadKey::Peers, "65", "between 1 and 64"),
            (LoadKey::Packet, "8", "'8' is not a size above 8"),
            (LoadKey::Transform, "zip", "UnknownName"),
        ] {
            let error = Load::default().set(key, text).expect_err(text);
            assert!(format!("{error:?}").contains(part), "{key} {text}: {error:?}");
        }
    }
}
