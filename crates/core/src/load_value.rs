//! The values of load options: as types, and parsed from what was typed.

use crate::names;
use crate::names::{UnknownName, nearest};
use crate::units::{MAX_SIZE, bytes, duration, format_bytes, format_duration, format_size, sizes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

names! {
    /// When the messages of an open loop are due.
    #[derive(Default)]
    "arrivals" Arrivals {
        /// At random, independent of each other: exponential gaps. Never in step with a timer.
        #[default]
        Poisson = "poisson",
        /// At equal distances.
        Constant = "constant",
    }
}

names! {
    /// What is done to every message before it is sent, and undone when it has arrived.
    #[derive(Default)]
    "transform" Transform {
        /// Nothing.
        #[default]
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

/// Where a message begins in the private buffers of both ends: so many bytes behind the start of a page, below
/// 4096. As a word `page`, `malloc`, or the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Align(u16);

impl Align {
    /// The start of a page.
    const PAGE: Self = Self(0);
    /// What malloc(3) of glibc gives for buffers that it maps, from 128 KiB on (`M_MMAP_THRESHOLD`): a page, of which the
    /// length of the piece takes the first 16 bytes (`malloc/malloc.c`, "An allocated chunk").
    const MALLOC: Self = Self(16);
    /// Bytes of a page.
    const END: u16 = 4096;
    /// How the default is written, which is no alignment: a multiple of 64 bytes that is another one in each slice.
    const DEFAULT: &'static str = "cacheline";

    /// What was typed; `None` for the default.
    pub(crate) fn parsed(text: &str) -> Result<Option<Self>, String> {
        if text == Self::DEFAULT { Ok(None) } else { text.parse().map(Some) }
    }

    /// Bytes behind the start of a page.
    #[must_use]
    pub fn offset(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Align {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PAGE => out.write_str("page"),
            Self::MALLOC => out.write_str("malloc"),
            Self(bytes) => write!(out, "{bytes}"),
        }
    }
}

impl From<Align> for String {
    fn from(align: Align) -> Self {
        align.to_string()
    }
}

impl TryFrom<String> for Align {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Align {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("page", _) => Ok(Self::PAGE),
            ("malloc", _) => Ok(Self::MALLOC),
            (_, Ok(bytes)) if bytes < Self::END => Ok(Self(bytes)),
            _ => {
                let words = [Self::DEFAULT, "page", "malloc"];
                let nearest = nearest(text, words).map(|word| format!("; did you mean '{word}'?"));
                let all = "cacheline, page, malloc, or 0 to 4095 bytes behind the start of a page";
                Err(format!("'{text}' is not an alignment ({all}){}", nearest.unwrap_or_default()))
            }
        }
    }
}

/// Where an end listens that is running already: `unix:PATH` or `tcp:127.0.0.1:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
pub enum Address {
    /// A path of a UNIX socket, as it was typed.
    Unix(String),
    /// A port of 127.0.0.1.
    Tcp(u16),
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(out, "unix:{path}"),
            Self::Tcp(port) => write!(out, "tcp:127.0.0.1:{port}"),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |text: &str| text.parse().ok().filter(|port| *port > 0);
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.to_owned())),
            Some(("tcp", rest)) => match rest.rsplit_once(':') {
                Some(("127.0.0.1" | "localhost", number)) => port(number)
                    .map(Self::Tcp)
                    .ok_or_else(|| format!("'{number}' is not a port (1 to 65535)")),
                _ => Err(format!(
                    "'{text}' is not on this host's 127.0.0.1, like tcp:127.0.0.1:7000"
                )),
            },
            _ => Err(format!("'{text}' is not unix:PATH or tcp:127.0.0.1:PORT")),
        }
    }
}

/// A file whose bytes messages consist of. As a word `FILE`, or `FILE#DIGEST` with the first signs of its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayloadFile {
    /// Its path as it was typed, the home directory shortened.
    pub file: String,
    /// How many of its bytes are used: all, or the first 4 MiB.
    pub bytes: u64,
    /// Bytes of the whole file; absent where all are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_bytes: Option<u64>,
    /// SHA-256 of the bytes that are used, in hexadecimal signs. The identity of a cell has the first 12 of them.
    pub sha256: String,
}

/// Signs of a digest that tell contents apart in words.
const SIGNS: usize = 12;

impl PayloadFile {
    /// The first signs of its digest.
    #[must_use]
    pub fn short_digest(&self) -> &str {
        self.sha256.get(..SIGNS).unwrap_or(&self.sha256)
    }

    /// What is cut from what, for readers of figures.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (bytes, digest) = (format_size(self.bytes), self.short_digest());
        let what = match self.of_bytes {
            None => format!("{}, {bytes}", self.file),
            Some(all) => format!("the first {bytes} of {}, {}", self.file, format_size(all)),
        };
        format!("Messages are cut in turn from {what} (SHA-256 {digest}...).")
    }

    /// It in the identity of a cell: wherever the file lies, its name and what is in it.
    pub(crate) fn word(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or_default();
        Self { file: name.to_owned(), ..self.clone() }.to_string()
    }
}

impl fmt::Display for PayloadFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.short_digest() {
            "" => out.write_str(&self.file),
            digest => write!(out, "{}#{digest}", self.file),
        }
    }
}

impl FromStr for PayloadFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digest = |word: &&str| {
            word.len() == SIGNS
                && word.bytes().all(|sign| matches!(sign, b'0'..=b'9' | b'a'..=b'f'))
        };
        let digest = text.rsplit('#').next().filter(is_digest).unwrap_or_default();
        let file = text.strip_suffix(digest).filter(|_| !digest.is_empty());
        let file = file.and_then(|file| file.strip_suffix('#')).unwrap_or(text);
        if file.is_empty() {
            return Err(format!("'{text}' is not a file name"));
        }
        let sha256 = if file == text { String::new() } else { digest.to_owned() };
        Ok(Self { file: file.to_owned(), bytes: 0, of_bytes: None, sha256 })
    }
}

/// Most messages per second that can be asked for: two that are due less than 1 ns apart are due at once for any clock.
const MOST_PER_SECOND: f64 = 1e9;

/// How long a server works on each request. As a word `20us`, or `exp:20us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Service {
    mean_ns: u64,
    is_exponential: bool,
}

/// What stands before the mean of times that are random.
const EXPONENTIAL: &str = "exp:";

impl Service {
    /// The mean, ns: at least 1, at most 10 s.
    #[must_use]
    pub const fn mean_ns(self) -> u64 {
        self.mean_ns
    }

    /// Whether the times are exponentially distributed; else all are the mean.
    #[must_use]
    pub const fn is_exponential(self) -> bool {
        self.is_exponential
    }

    /// What was typed; `None` for no time at all.
    pub(crate) fn parsed(text: &str) -> Result<Option<Self>, String> {
        let (mean, is_exponential) = match text.strip_prefix(EXPONENTIAL) {
            Some(mean) => (mean, true),
            None => (text, false),
        };
        let mean_ns = nanos(mean)?;
        Ok((mean_ns > 0).then_some(Self { mean_ns, is_exponential }))
    }
}

impl fmt::Display for Service {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_exponential { EXPONENTIAL } else { "" };
        write!(out, "{prefix}{}", format_duration(self.mean_ns))
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.to_string()
    }
}

impl TryFrom<String> for Service {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parsed(&text)?.ok_or_else(|| format!("'{text}' is not a time to work on a request"))
    }
}

/// Requests of several sizes, each with its answer and its share. As a word `36:5@90%,120:4K@10%`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Mix(Vec<MixPart>);

/// One kind of request in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MixPart {
    /// Bytes of the request, at least [`Mix::SHORTEST`]: the first says which kind it is.
    pub request: u64,
    /// Bytes of its answer, at least 1.
    pub reply: u64,
    /// Its share of all requests, in hundredths of a percent: 1 to 10,000.
    pub share: u64,
}

impl Mix {
    /// The shortest request of a mix: which kind it is, and a stamp.
    pub const SHORTEST: u64 = 2;
    /// Most kinds of requests.
    const MOST: usize = 16;
    /// All shares together.
    pub const WHOLE: u64 = 10_000;

    /// The kinds, as they were asked for.
    #[must_use]
    pub fn parts(&self) -> &[MixPart] {
        &self.0
    }

    /// Bytes of the longest request.
    #[must_use]
    pub fn longest_request(&self) -> u64 {
        self.0.iter().map(|part| part.request).max().unwrap_or(0)
    }

    /// Bytes of the longest answer.
    #[must_use]
    pub fn longest_reply(&self) -> u64 {
        self.0.iter().map(|part| part.reply).max().unwrap_or(0)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, MixPart { request, reply, share }) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let share = *share as f64 / 100.0;
            write!(out, "{comma}{}:{}@{share}%", format_bytes(*request), format_bytes(*reply))?;
        }
        Ok(())
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| -> Option<MixPart> {
            let (sizes, share) = part.trim().split_once('@')?;
            let (request, reply) = sizes.split_once(':')?;
            let share: f64 = share.strip_suffix('%')?.trim().parse().ok()?;
            let hundredths = (share * 100.0).round();
            let is_whole = (share * 100.0 - hundredths).abs() < 1e-6;
            let is_share = is_whole && (1.0..=Self::WHOLE as f64).contains(&hundredths);
            let size = |text: &str| bytes(text).ok().filter(|size| *size <= MAX_SIZE as u64);
            let (request, reply) = (size(request.trim())?, size(reply.trim())?);
            let part = MixPart { request, reply, share: hundredths as u64 };
            (is_share && request >= Self::SHORTEST && reply > 0).then_some(part)
        };
        let mut parts = Vec::new();
        for one in text.split(',') {
            parts.push(part(one).ok_or_else(|| {
                format!(
                    "'{one}' is not a part of a mix (like 36:5@90%: bytes of a request, at least {}, of its answer, and its \
                     share, 0.01% to 100%)",
                    Self::SHORTEST
                )
            })?);
        }
        if parts.len() > Self::MOST {
            return Err(format!("a mix has at most {} parts", Self::MOST));
        }
        if parts.iter().map(|part| part.share).sum::<u64>() != Self::WHOLE {
            return Err(format!("the shares of '{text}' do not add up to 100%"));
        }
        Ok(Self(parts))
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
        let wrong = || {
            format!(
                "'{text}' is not a rate (like 50k, 1000/s, or 25% of the peak; at most 1000M/s)"
            )
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        // What it is shown as must be read as the same: a number, and more than nothing.
        let checked = |offered: Self, shown: f64, most: f64| match shown > 0.0 && shown <= most {
            true => Ok(offered),
            false => Err(wrong()),
        };
        if let Some(share) = text.strip_suffix('%') {
            let share = number(share)? / 100.0;
            // A double has sixteen digits, and four stand behind the point.
            return checked(Self::OfPeak(share), (share * 1e6).round(), 1e15);
        }
        let plain = text.strip_suffix("/s").unwrap_or(text);
        let (digits, factor) = match plain.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1e3),
            None => plain.strip_suffix('M').map_or((plain, 1.0), |digits| (digits, 1e6)),
        };
        let rate = number(digits)? * factor;
        checked(Self::PerSecond(rate), rate, MOST_PER_SECOND)
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

/// Most producers of a fan-in and consumers of a fan-out.
pub const MOST_PEERS: u64 = 256;

/// The longest pause and stall: a slice must hold some of them.
const LONGEST: Duration = Duration::from_secs(10);

/// Below one message per second most slices would have none.
const LEAST_PER_SECOND: f64 = 1.0;

/// Shares of the peak that make sense: a thousandth, and far beyond what can be had.
const SHARES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// A rate within reason.
pub(crate) fn rate(text: &str) -> Result<Option<Offered>, String> {
    match text.parse()? {
        Offered::PerSecond(rate) if rate < LEAST_PER_SECOND => {
            Err(format!("{text} is less than one message per second"))
        }
        Offered::OfPeak(share) if !SHARES.contains(&share) => {
            Err(format!("{text} is not between 0.1% and 10000%"))
        }
        rate => Ok(Some(rate)),
    }
}

/// A time in nanoseconds, 0 included.
pub(crate) fn nanos(text: &str) -> Result<u64, String> {
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
pub(crate) fn packet(text: &str) -> Result<u64, String> {
    match sizes(text).map_err(|error| error.to_string())?.as_slice() {
        [size] if *size > PACKET_HEAD => Ok(*size as u64),
        _ => Err(format!("'{text}' is not a size above {PACKET_HEAD}")),
    }
}

/// The most bytes of a channel that has carried nothing before.
const MOST_FRESH: u64 = 1 << 30;

/// Bytes that a channel carries.
pub(crate) fn carried(text: &str) -> Result<u64, String> {
    let size = bytes(text).ok().filter(|size| *size <= MOST_FRESH);
    size.ok_or_else(|| format!("'{text}' is not a size of up to 1 GiB (like 64M)"))
}

/// Bytes of an answer.
pub(crate) fn reply(text: &str) -> Result<u64, String> {
    match sizes(text).map_err(|error| error.to_string())?.as_slice() {
        [size] if *size > 0 => Ok(*size as u64),
        _ => Err(format!("'{text}' is not a size of at least 1")),
    }
}

/// A count from 1 to `MOST`.
pub(crate) fn count<const MOST: u64>(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' is not a number between 1 and {MOST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_and_a_service_time_are_shown_as_they_can_be_asked_for() {
        let mix: Mix = " 36:5@90%, 120:4096@9.99%,2:1@0.01%".parse().expect("a mix");
        assert_eq!(mix.to_string(), "36:5@90%,120:4K@9.99%,2:1@0.01%");
        assert_eq!(mix.to_string().parse(), Ok(mix.clone()));
        assert_eq!((mix.longest_request(), mix.longest_reply()), (120, 4096));
        for wrong in ["", "36:5", "36@100%", "1:5@100%", "36:0@100%", "36:5@0.001%", "36:5@50%,"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
        for (text, shown) in [("20us", "20us"), ("exp:1000us", "exp:1ms")] {
            let service = Service::parsed(text).expect("a time").expect("not none");
            assert_eq!(service.to_string(), shown);
        }
        assert_eq!(Service::parsed("0"), Ok(None));
        assert!(Service::parsed("exp:").is_err() && Service::parsed("uniform:1us").is_err());
    }

    /// A document with one of these was written and could not be read.
    #[test]
    fn an_address_is_a_path_or_a_port_of_this_host() {
        for text in ["unix:/run/end", "unix:a:b", "tcp:127.0.0.1:7000"] {
            assert_eq!(text.parse::<Address>().map(|one| one.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("tcp:localhost:1".parse(), Ok(Address::Tcp(1)));
        for (text, part) in [
            ("unix:", "is not unix:PATH"),
            ("/run/end", "is not unix:PATH"),
            ("tcp:10.0.0.1:7", "is not on this host"),
            ("tcp:127.0.0.1", "is not on this host"),
            ("tcp:127.0.0.1:0", "'0' is not a port"),
            ("tcp:127.0.0.1:70000", "'70000' is not a port"),
        ] {
            let told = text.parse::<Address>().expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
    }

    #[test]
    fn a_rate_that_is_shown_as_no_number_or_as_nothing_is_refused() {
        for text in
            ["1e308k", "1001M/s", "0.00004%", "1e-300%", "1e308%", "8e301%", "inf", "0/s", "-1"]
        {
            let error = text.parse::<Offered>().expect_err(text);
            assert!(error.contains("is not a rate"), "{error}");
        }
        for text in ["1000M/s", "0.0001%", "1e11%", "2.5k"] {
            let offered: Offered = text.parse().expect(text);
            let shown = offered.to_string();
            assert_eq!(
                shown.parse::<Offered>().map(|again| again.to_string()),
                Ok(shown),
                "{text}"
            );
        }
    }

    #[test]
    fn a_payload_is_known_by_its_name_and_its_digest() {
        for (text, file, sha256) in [
            ("a.json", "a.json", ""),
            ("../x/a.json#0123456789ab", "../x/a.json", "0123456789ab"),
            ("a#0123456789AB", "a#0123456789AB", ""),
            ("a#b", "a#b", ""),
            ("0123456789ab", "0123456789ab", ""),
        ] {
            let payload: PayloadFile = text.parse().expect(text);
            assert_eq!((payload.file.as_str(), payload.sha256.as_str()), (file, sha256), "{text}");
            assert_eq!(payload.to_string(), text);
        }
        let whole = PayloadFile {
            file: "/home/me/a.json".to_owned(),
            bytes: 5,
            of_bytes: None,
            sha256: "0123456789ab".repeat(5) + "0123",
        };
        assert_eq!(whole.word(), "a.json#0123456789ab");
        let told = "Messages are cut in turn from /home/me/a.json, 5 B (SHA-256 0123456789ab...).";
        assert_eq!(whole.sentence(), told);
        let part = PayloadFile { bytes: 4 << 20, of_bytes: Some(3 << 30), ..whole };
        assert!(part.sentence().contains(" the first 4 MiB of /home/me/a.json, 3 GiB ("));
        for text in ["", "#0123456789ab"] {
            assert!(text.parse::<PayloadFile>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_alignment_has_one_name_whatever_was_typed() {
        for (text, shown, offset) in
            [("page", "page", 0), ("0", "page", 0), ("16", "malloc", 16), ("4095", "4095", 4095)]
        {
            let align: Align = text.parse().expect(text);
            assert_eq!((align.to_string().as_str(), align.offset()), (shown, offset));
            assert_eq!(shown.parse(), Ok(align));
        }
        for (text, part) in [
            ("pages", "did you mean 'page'?"),
            ("4096", "0 to 4095"),
            ("-1", "not an alignment"),
            ("", "''"),
        ] {
            let error = text.parse::<Align>().expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

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
}
