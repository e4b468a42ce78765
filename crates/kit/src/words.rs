//! The words that a value of the command line may have.

use clap::Arg;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use std::ffi::OsStr;

/// The words of a value: help lists them and shells complete them. Other texts are accepted as well, since a value may be a
/// list, and the code that reads it names the nearest word.
#[derive(Clone)]
pub struct Words(pub Vec<&'static str>);

impl Words {
    /// The names of all of a closed list.
    pub fn of<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Self {
        Self(all.iter().copied().map(name).collect())
    }
}

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|word| PossibleValue::new(*word))))
    }
}
