//! Exchanges between two processes over a pair of UNIX datagram sockets: an object and a few descriptors go from a
//! sender to a receiver, the object in the datagram itself or in something whose descriptor goes along. Both ends wait
//! with `select` before each message.

mod ends;
mod mode;
mod object;
mod pair;
mod probe;
mod strace;
mod traced;
mod watch;

use super::{Maker, Readings, Turn, Work};
use ends::{Params, Side, View};
use ipcperf_core::Missing;
use ipcperf_engine::task::{NamedTask, TaskError};
use ipcperf_sys::io::file::{fresh, place};
use mode::Mode;
use object::Content;
use pair::Pair;
use serde::Deserialize;
use std::path::PathBuf;

/// The two ends.
pub(super) const SEND: NamedTask<'_> =
    NamedTask { name: "exchange-send", run: &|context| Ok(ends::send(context)?) };
pub(super) const RECEIVE: NamedTask<'_> =
    NamedTask { name: "exchange-receive", run: &|context| Ok(ends::receive(context)?) };

/// CPU and wall-clock time of exchanges as a whole.
pub(super) const WHOLE: (&str, Maker) = ("exchange", whole);
/// The same under names of their own, so that a scale can let fewer of them run.
pub(super) const MORE: (&str, Maker) = ("exchange-more", whole);
pub(super) const SLOW: (&str, Maker) = ("exchange-slow", whole);
/// The time of each call, by a clock in the process.
pub(super) const CALLS: (&str, Maker) = ("exchange-calls", calls);
/// Which system calls are made, by `ptrace`.
pub(super) const COUNT: (&str, Maker) = ("exchange-count", traced::count);
/// The time of each call, by strace.
pub(super) const STRACE: (&str, Maker) = ("exchange-strace", traced::strace);
/// What becomes of a datagram that is larger than the buffer of its socket.
pub(super) const EMSGSIZE: (&str, Maker) = ("probe-emsgsize", probe::make);

/// What an end says when the other one has gone.
const GONE: &str = "the receiver is gone";

/// Most exchanges of one turn whose calls are timed, because each time is kept.
const MOST_TIMED: u64 = 1_000_000;

/// Bytes of the published object.
const PUBLISHED: usize = 112_192;

/// Where files are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    #[default]
    Tmpfs,
    Disk,
}

impl Place {
    fn find(self) -> Result<PathBuf, Missing> {
        match self {
            Self::Tmpfs => place::in_memory(),
            Self::Disk => place::on_disk(),
        }
    }
}

/// The keys of an arm.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    mode: Mode,
    iterations: u64,
    /// A tenth of the iterations, at most 1000, if not said.
    warmup: Option<u64>,
    #[serde(default = "published")]
    size: usize,
    #[serde(default)]
    dir: Place,
    #[serde(default)]
    content: Content,
}

fn published() -> usize {
    PUBLISHED
}

impl Keys {
    fn read(table: &toml::Table) -> Result<Self, String> {
        let keys: Self = table
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| error.message().to_owned())?;
        let sizes = object::LEAST..=1 << 24;
        if !sizes.contains(&keys.size) {
            return Err(format!(
                "size: {} is not in {} to {}",
                keys.size,
                sizes.start(),
                sizes.end()
            ));
        }
        let counts = 1..=1_000_000_000;
        if !counts.contains(&keys.iterations)
            || keys.warmup.is_some_and(|count| !(0..=*counts.end()).contains(&count))
        {
            return Err(format!(
                "iterations, warmup: at most {}, and one iteration at least",
                counts.end()
            ));
        }
        Ok(keys)
    }

    fn params(&self, view: View, nonce: u64) -> Params {
        let warmup = self.warmup.unwrap_or((self.iterations / 10).min(1000));
        Params {
            mode: self.mode,
            view,
            size: self.size,
            content: self.content,
            nonce,
            warmup,
            iterations: self.iterations,
            path: None,
            slots: 0,
        }
    }

    /// What is missing here for the mode.
    fn missing(&self) -> Option<String> {
        let words = |missing: Missing| missing.to_string();
        let found = match self.mode {
            mode if mode.has_place() => self.dir.find().map_err(words).and_then(|directory| {
                if mode == Mode::OTmpfile { pair::try_unnamed(&directory) } else { Ok(()) }
            }),
            Mode::Memfd | Mode::SealedMemfd | Mode::MappedMemfd | Mode::ReusedMemfd => {
                fresh::try_memfd().map_err(|error| error.to_string())
            }
            _ => Ok(()),
        };
        found.err()
    }
}

fn whole(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    Ok(Box::new(Whole(Keys::read(table)?)))
}

fn calls(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys = Keys::read(table)?;
    if keys.iterations > MOST_TIMED {
        return Err(format!("iterations: at most {MOST_TIMED} where each call is timed"));
    }
    Ok(Box::new(Calls(keys)))
}

struct Whole(Keys);

impl Work for Whole {
    fn missing(&self) -> Option<String> {
        self.0.missing()
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let pair = Pair::open(turn, &self.0, View::Whole)?;
        pair.go()?;
        let (sides, mut readings) = pair.done()?;
        costs(&sides, self.0.iterations as f64, &mut readings);
        Ok(readings)
    }
}

/// Time for each exchange, and how many there were in a second.
fn costs([sender, receiver]: &[Side; 2], exchanges: f64, readings: &mut Readings) {
    let each_us = |ns: u64| ns as f64 / 1e3 / exchanges;
    let wall_ns = receiver.end_ns.max(sender.end_ns).saturating_sub(sender.begin_ns);
    readings.set("user_us", each_us(sender.user_ns + receiver.user_ns));
    readings.set("system_us", each_us(sender.system_ns + receiver.system_ns));
    readings.set("cpu_us", each_us(sender.cpu_ns + receiver.cpu_ns));
    readings.set("sender_cpu_us", each_us(sender.cpu_ns));
    readings.set("receiver_cpu_us", each_us(receiver.cpu_ns));
    readings.set("wall_us", each_us(wall_ns));
    readings.set("rate", exchanges * 1e9 / wall_ns.max(1) as f64);
    readings.set("switches", (sender.switches + receiver.switches) as f64 / exchanges);
    readings.set("datagram_bytes", receiver.datagram as f64);
}

struct Calls(Keys);

impl Work for Calls {
    fn missing(&self) -> Option<String> {
        self.0.missing()
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let pair = Pair::open(turn, &self.0, View::Clock)?;
        pair.go()?;
        let (sides, mut readings) = pair.done()?;
        for (side, name) in sides.iter().zip(["send", "recv"]) {
            for (call, timing) in &side.calls {
                readings.set(format!("call.{name}.{call}_median_us"), timing.median_us);
                readings.set(format!("call.{name}.{call}_mean_us"), timing.mean_us);
            }
            readings.set(format!("call.{name}.clock_us"), side.clock_us);
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Keys, String> {
        Keys::read(&text.parse().expect("TOML"))
    }

    #[test]
    fn an_arm_says_what_it_is_and_nothing_else() {
        let read = keys("mode = 'file'\niterations = 100\ndir = 'disk'").expect("a good arm");
        assert_eq!((read.mode, read.size, read.dir), (Mode::File, PUBLISHED, Place::Disk));
        assert_eq!(read.params(View::Whole, 1).warmup, 10);
        for (text, reason) in [
            ("mode = 'file'", "iterations"),
            ("mode = 'fail'\niterations = 1", "fail"),
            ("mode = 'file'\niterations = 0", "one iteration"),
            ("mode = 'file'\niterations = 1\nsize = 23", "size"),
            ("mode = 'file'\niterations = 1\nwarmup = -1", "warmup"),
            ("mode = 'file'\niterations = 1\ndirectory = 'x'", "directory"),
        ] {
            let refused = keys(text).expect_err(text);
            assert!(refused.contains(reason) || refused.contains("invalid value"), "{refused}");
        }
        let many = "mode = 'file'\niterations = 2000000".parse().expect("TOML");
        assert!(calls(&many).is_err_and(|reason| reason.contains("at most 1000000")));
        assert!(whole(&many).is_ok());
    }

    #[test]
    fn costs_are_those_of_both_ends_for_each_exchange() {
        let sender =
            Side { begin_ns: 1000, end_ns: 9000, cpu_ns: 4000, user_ns: 1000, ..Side::default() };
        let receiver = Side {
            begin_ns: 500,
            end_ns: 11_000,
            cpu_ns: 6000,
            system_ns: 2000,
            ..Side::default()
        };
        let mut readings = Readings::default();
        costs(&[sender, receiver], 10.0, &mut readings);
        for (name, value) in [
            ("cpu_us", 1.0),
            ("sender_cpu_us", 0.4),
            ("receiver_cpu_us", 0.6),
            ("user_us", 0.1),
            ("system_us", 0.2),
            ("wall_us", 1.0),
            ("rate", 1e6),
        ] {
            assert!((readings.values[name] - value).abs() < 1e-9 * value, "{name}");
        }
    }
}
