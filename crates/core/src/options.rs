//! Knobs: choices that only change a number, declared as data and parsed by one macro.

use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One knob of a mechanism, as data: the same row feeds `describe`, parsing and the error texts.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knob {
    /// Its name under the mechanism: `size` of `pipe.size`.
    pub name: &'static str,
    /// What it does, one sentence.
    pub help: &'static str,
    /// What values it takes: `bytes` and `count` have a range, `choice` has words, `place` is a word or an absolute path.
    pub kind: KnobKind,
    /// What holds when it is not set, in words: "kernel default (64K)".
    pub default: &'static str,
}

/// What values a knob takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum KnobKind {
    /// Bytes, inclusive range.
    Bytes {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A count, inclusive range.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// `on` or `off`.
    Flag,
    /// One of a list of words.
    Choice {
        /// The words.
        words: &'static [&'static str],
    },
    /// A place in the file system: one of a list of words, or an absolute path, which may begin with `~/`.
    Place {
        /// The words.
        words: &'static [&'static str],
    },
    /// Any text of at least one byte without control characters.
    Text {
        /// Bytes of the longest.
        max: u64,
    },
}

impl KnobKind {
    /// Whether the value of a place is a path and no word.
    #[must_use]
    pub fn is_path(value: &str) -> bool {
        value.starts_with('/') || value.starts_with("~/")
    }
}

impl fmt::Display for KnobKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { min, max } => {
                write!(out, "{}..{} bytes", units::format_bytes(*min), units::format_bytes(*max))
            }
            Self::Count { min, max } => write!(out, "{min}..{max}"),
            Self::Flag => out.write_str("on, off"),
            Self::Choice { words } => out.write_str(&words.join(", ")),
            Self::Place { words } => write!(out, "{}, or an absolute path", words.join(", ")),
            Self::Text { max } => write!(out, "a text of 1..{max} bytes"),
        }
    }
}

/// The value of a knob, asked for or granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum KnobValue {
    /// `on` or `off`.
    Flag(bool),
    /// A count or bytes.
    Number(u64),
    /// A word or a text.
    Word(String),
}

impl From<bool> for KnobValue {
    fn from(is_on: bool) -> Self {
        Self::Flag(is_on)
    }
}

impl From<u64> for KnobValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&String> for KnobValue {
    fn from(word: &String) -> Self {
        Self::Word(word.clone())
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(on) => out.write_str(if *on { "on" } else { "off" }),
            Self::Number(number) => out.write_str(&units::format_bytes(*number)),
            Self::Word(word) => out.write_str(word),
        }
    }
}

/// Knobs as the user set them: `mechanism.knob` to text. Checked against the declared knobs by [`Options::parse`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionSet(pub BTreeMap<String, String>);

impl OptionSet {
    /// Takes one `mechanism.knob=value`; a later one replaces an earlier one.
    ///
    /// # Errors
    /// The text has no dot or no equals sign.
    pub fn set(&mut self, text: &str) -> Result<(), OptionError> {
        let parts = text.split_once('=').filter(|(key, _)| key.contains('.'));
        let Some((key, value)) = parts else {
            return Err(OptionError::Shape { given: text.to_owned() });
        };
        self.0.insert(key.trim().to_owned(), value.trim().to_owned());
        Ok(())
    }

    /// The settings of one mechanism (`pipe` also serves `pipe/spin`), without its prefix.
    pub fn of<'a>(&'a self, mechanism: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(key, value)| {
            let (owner, knob) = key.split_once('.')?;
            (owner == mechanism).then_some((knob, value.as_str()))
        })
    }
}

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// Not of the form `mechanism.knob=value`.
    Shape {
        /// What was given.
        given: String,
    },
    /// The mechanism has no such knob.
    Unknown {
        /// The mechanism.
        mechanism: String,
        /// The knob as given.
        knob: String,
        /// The knobs it has.
        known: Vec<&'static str>,
    },
    /// The value is not one the knob takes.
    Value {
        /// `mechanism.knob`.
        knob: String,
        /// What was given.
        given: String,
        /// What it takes.
        takes: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { given } => {
                write!(out, "'{given}' is not of the form mechanism.knob=value")
            }
            Self::Unknown { mechanism, knob, known } if known.is_empty() => {
                write!(out, "'{mechanism}' has no knob '{knob}'; it has none at all")
            }
            Self::Unknown { mechanism, knob, known } => {
                write!(out, "'{mechanism}' has no knob '{knob}' (it has: {})", known.join(", "))
            }
            Self::Value { knob, given, takes } => {
                write!(out, "{knob} takes {takes}, not '{given}'")
            }
        }
    }
}

impl std::error::Error for OptionError {}

/// The knobs of one mechanism, typed. Made by the [`options!`](crate::options!) macro.
pub trait Options: Default + 'static {
    /// The declared knobs.
    const KNOBS: &'static [Knob];

    /// Reads the settings of `mechanism`.
    ///
    /// # Errors
    /// An unknown knob, or a value out of range.
    fn parse(mechanism: &str, set: &OptionSet) -> Result<Self, OptionError>;
}

/// Finds a knob and reads its value; the one place where ranges are checked. Called by the macro.
///
/// # Errors
/// An unknown knob, or a value out of range.
pub fn check(
    mechanism: &str,
    knobs: &'static [Knob],
    name: &str,
    text: &str,
) -> Result<KnobValue, OptionError> {
    let Some(knob) = knobs.iter().find(|knob| knob.name == name) else {
        return Err(OptionError::Unknown {
            mechanism: mechanism.to_owned(),
            knob: name.to_owned(),
            known: knobs.iter().map(|knob| knob.name).collect(),
        });
    };
    let value = match knob.kind {
        KnobKind::Bytes { min, max } => units::bytes(text)
            .ok()
            .filter(|value| (min..=max).contains(value))
            .map(KnobValue::Number),
        KnobKind::Count { min, max } => {
            text.parse().ok().filter(|value| (min..=max).contains(value)).map(KnobValue::Number)
        }
        KnobKind::Flag => match text {
            "on" | "true" | "1" => Some(KnobValue::Flag(true)),
            "off" | "false" | "0" => Some(KnobValue::Flag(false)),
            _ => None,
        },
        KnobKind::Choice { words } => {
            words.contains(&text).then(|| KnobValue::Word(text.to_owned()))
        }
        KnobKind::Place { words } => {
            let is_path = KnobKind::is_path(text) && !text.contains('\0');
            (is_path || words.contains(&text)).then(|| KnobValue::Word(text.to_owned()))
        }
        KnobKind::Text { max } => {
            let fits = (1..=max).contains(&(text.len() as u64)) && !text.contains(char::is_control);
            fits.then(|| KnobValue::Word(text.to_owned()))
        }
    };
    value.ok_or_else(|| OptionError::Value {
        knob: format!("{mechanism}.{name}"),
        given: text.to_owned(),
        takes: knob.kind.to_string(),
    })
}

/// What a field of an options struct can be read from.
pub trait FromKnob: Sized {
    /// Takes a value that [`check`] has accepted.
    fn from_knob(value: KnobValue) -> Option<Self>;
}

impl FromKnob for bool {
    fn from_knob(value: KnobValue) -> Option<Self> {
        if let KnobValue::Flag(on) = value { Some(on) } else { None }
    }
}

impl FromKnob for u64 {
    fn from_knob(value: KnobValue) -> Option<Self> {
        if let KnobValue::Number(number) = value { Some(number) } else { None }
    }
}

impl FromKnob for Option<u64> {
    fn from_knob(value: KnobValue) -> Option<Self> {
        u64::from_knob(value).map(Some)
    }
}

impl FromKnob for String {
    fn from_knob(value: KnobValue) -> Option<Self> {
        if let KnobValue::Word(word) = value { Some(word) } else { None }
    }
}

/// Declares an options struct: the doc comment of a field is its help text, one row is the whole knob.
///
/// ```
/// ipcperf_core::options! {
///     /// Knobs of pipes.
///     pub struct PipeOptions {
///         /// Capacity of each pipe.
///         pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 30 }),
///     }
/// }
/// use ipcperf_core::{OptionSet, Options};
/// let mut set = OptionSet::default();
/// set.set("pipe.size=1M").unwrap();
/// assert_eq!(PipeOptions::parse("pipe", &set).unwrap().size, Some(1 << 20));
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[$doc:meta])* $vis:vis struct $name:ident {
            $(#[doc = $help:literal] $(#[doc = $more:literal])* $field_vis:vis $field:ident : $type:ty =
                ($default:expr, $words:literal, $kind:ident $({ $($range:tt)* })?)),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        $vis struct $name { $(#[doc = $help] $(#[doc = $more])* $field_vis $field: $type,)* }

        impl ::std::default::Default for $name {
            fn default() -> Self { Self { $($field: $default,)* } }
        }

        impl $crate::Options for $name {
            const KNOBS: &'static [$crate::Knob] = &[$($crate::Knob {
                name: stringify!($field),
                help: concat!($help $(, $more)*).trim_ascii(),
                kind: $crate::KnobKind::$kind $({ $($range)* })?,
                default: $words,
            },)*];

            fn parse(mechanism: &str, set: &$crate::OptionSet) -> Result<Self, $crate::OptionError> {
                #[allow(unused_mut, reason = "a struct without knobs sets nothing")]
                let mut options = Self::default();
                for (name, text) in set.of(mechanism) {
                    let value = $crate::options::check(mechanism, Self::KNOBS, name, text)?;
                    match name {
                        $(stringify!($field) => {
                            options.$field = $crate::options::FromKnob::from_knob(value)
                                .expect("the declared kind matches the field's type");
                        })*
                        _ => { let _ = value; }
                    }
                }
                Ok(options)
            }
        }
    };
}

options! {
    /// For mechanisms without knobs.
    pub struct NoOptions {}
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::options! {
        struct Sample {
            /// Capacity.
            size: Option<u64> = (None, "kernel default", Bytes { min: 4096, max: 1 << 20 }),
            /// Send at once.
            nodelay: bool = (true, "on", Flag),
            /// How ends meet.
            bind: String = ("socketpair".into(), "socketpair", Choice { words: &["socketpair", "path"] }),
            /// Slots.
            depth: u64 = (10, "10", Count { min: 1, max: 10 }),
            /// Where files lie.
            dir: String = ("memory".into(), "memory", Place { words: &["memory", "disk"] }),
            /// What others call it.
            title: String = ("plain".into(), "plain", Text { max: 12 }),
        }
    }

    fn parse(texts: &[&str]) -> Result<Sample, OptionError> {
        let mut set = OptionSet::default();
        for text in texts {
            set.set(text)?;
        }
        Sample::parse("sample", &set)
    }

    #[test]
    fn values_in_range_are_taken_and_the_last_one_wins() {
        let sample =
            parse(&["sample.size=8K", "sample.size=64K", "sample.nodelay=off", "sample.bind=path"])
                .expect("all in range");
        assert_eq!(
            (sample.size, sample.nodelay, sample.bind.as_str(), sample.depth),
            (Some(65536), false, "path", 10)
        );
    }

    #[test]
    fn a_place_is_a_word_or_an_absolute_path() {
        for place in ["disk", "/", "/some where/else", "~/at home"] {
            let sample = parse(&[&format!("sample.dir={place}")]).expect("a place");
            assert_eq!(sample.dir, place);
        }
    }

    #[test]
    fn a_text_is_taken_as_it_is_up_to_its_length() {
        for text in ["a", "two words", "=.,", "twelve bytes"] {
            let sample = parse(&[&format!("sample.title={text}")]).expect("a text");
            assert_eq!(sample.title, text);
        }
        for text in ["", "thirteen byte", "a\u{1b}[2J", "six \u{fc}ml\u{fc}t\u{fc}\u{fc}"] {
            let error = parse(&[&format!("sample.title={text}")]).expect_err(text).to_string();
            assert!(error.contains("sample.title takes a text of 1..12 bytes"), "{error}");
        }
    }

    #[test]
    fn a_setting_of_another_mechanism_is_not_mine() {
        assert!(parse(&["pipe.size=1"]).is_ok());
    }

    #[test]
    fn errors_name_the_knob_and_what_it_takes() {
        for (text, part) in [
            ("sample.size=1", "4K..1M bytes"),
            ("sample.depth=11", "1..10"),
            ("sample.bind=tcp", "socketpair, path"),
            ("sample.nodelay=maybe", "on, off"),
            ("sample.sise=1", "it has: size, nodelay, bind, depth, dir, title"),
            ("sample.dir=here", "memory, disk, or an absolute path"),
            ("size=1", "mechanism.knob=value"),
        ] {
            let error = parse(&[text]).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
