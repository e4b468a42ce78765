//! What a pattern is asked to do beyond moving messages of one size: part of a cell's identity.

use crate::names::{PatternKind, UnknownName, names};
use crate::units::format_duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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

/// Producers of a fan-in and consumers of a fan-out unless asked otherwise.
const PEERS: u64 = 4;

/// What a pattern is asked to do. A field that its pattern does not use has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Ping-pong: how long the lead sleeps before each round trip, ns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub think_ns: u64,
    /// Rate: how much is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Offered>,
    /// Rate: when messages are due; `None` elsewhere.
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

    /// The part that concerns `pattern`.
    #[must_use]
    pub fn of(&self, pattern: PatternKind) -> Self {
        let none = Self::default();
        match pattern {
            PatternKind::PingPong => Self {
                think_ns: self.think_ns,
                stall_ns: self.stall_ns,
                transform: self.changes(),
                one_way: self.one_way,
                packet: self.packet,
                ..none
            },
            PatternKind::Stream => {
                Self { window: self.window, transform: self.changes(), packet: self.packet, ..none }
            }
            PatternKind::FanIn | PatternKind::FanOut => {
                Self { peers: if self.peers == 0 { PEERS } else { self.peers }, ..none }
            }
            PatternKind::Connect => Self { conns: self.conns.max(1), ..none },
            PatternKind::Rate => {
                Self { rate: self.rate, arrivals: self.arrivals, stall_ns: self.stall_ns, ..none }
            }
            PatternKind::Burst => Self { burst: self.burst, packet: self.packet, ..none },
        }
    }

    fn changes(&self) -> Option<Transform> {
        self.transform.filter(|transform| *transform != Transform::None)
    }

    /// How it reads in a cell's identity: `think=1ms`, `rate=50000/s`. Empty for a plain load.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let count = |number: u64| number.to_string();
        let mut add = |name: &str, is_set: bool, value: String| {
            if is_set {
                words.push(format!("{name}={value}"));
            }
        };
        add("think", self.think_ns > 0, format_duration(self.think_ns));
        if let Some(rate) = self.rate {
            add("rate", true, rate.to_string());
        }
        let constant = self.arrivals == Some(Arrivals::Constant);
        add("arrivals", constant, Arrivals::Constant.to_string());
        add("stall", self.stall_ns > 0, format_duration(self.stall_ns));
        add("burst", self.burst > 0, count(self.burst));
        add("window", self.window > 0, count(self.window));
        add("packet", self.packet > 0, count(self.packet));
        add("conns", self.conns > 0, count(self.conns));
        add("peers", self.peers > 0, count(self.peers));
        if let Some(transform) = self.changes() {
            add("transform", true, transform.to_string());
        }
        if self.one_way {
            words.push("one-way".to_owned());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
