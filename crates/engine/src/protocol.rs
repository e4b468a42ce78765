//! Messages between a coordinator and its workers before and after a timed region: JSON, one message each, over the
//! control channel.

use crate::job::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// From worker to coordinator.
#[derive(Debug, Serialize, Deserialize)]
pub enum Word {
    /// A wiring for the peer, whose own comes back; the descriptors come with the message.
    Swap(Names),
    /// It has come so far, tells this, and waits for [`Order::Go`].
    Ready(Value),
    /// The coordinator shall be called after so many ns; nothing is waited for.
    Alarm(u64),
    /// The task is done: what it found out.
    Done(Value),
    /// It went wrong.
    Failed(Failure),
    /// It has panicked, where and why, and will end.
    Panicked(String),
}

impl Word {
    /// What a worker tells that is ready.
    ///
    /// # Errors
    /// It said something else.
    pub fn ready<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self {
            Self::Ready(value) => Ok(serde_json::from_value(value)?),
            _ => Err("a worker is done before it was ready".to_owned().into()),
        }
    }

    /// What a worker has found out.
    ///
    /// # Errors
    /// It said something else.
    pub fn done<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self {
            Self::Done(value) => Ok(serde_json::from_value(value)?),
            _ => Err("a worker waits that should be done".to_owned().into()),
        }
    }
}

/// From coordinator to worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// What to do, first of all. Descriptors may come with it.
    Task {
        /// By which it is found.
        name: String,
        /// What it must know.
        params: Value,
        /// What the plug-ins of this run declare.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        plugins: Vec<Value>,
    },
    /// A wiring: its own, or its peer's in answer to [`Word::Swap`]; the descriptors come with the message.
    Wiring(Names),
    /// Go on after [`Word::Ready`], with what must be known by now.
    Go(Value),
}

/// The part of a wiring that is text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Names {
    /// Names and paths.
    pub names: Vec<String>,
    /// Numbers.
    pub words: Vec<u64>,
}

/// A kind of what a message holds, for tests of the protocol: what is understood is said again so that it is understood as
/// the same.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What it is called here; it does not travel.
    pub name: &'static str,
    /// Understands it and says it again.
    pub again: fn(Value) -> serde_json::Result<Value>,
}

impl Kind {
    /// What has this type.
    #[must_use]
    pub const fn of<T: Serialize + DeserializeOwned>(name: &'static str) -> Self {
        Self { name, again: |told| serde_json::to_value(serde_json::from_value::<T>(told)?) }
    }
}
