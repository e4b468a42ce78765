//! Work "self-loop": one process writes into one end of a socket pair and reads its own byte from the other, while its
//! child waits for ever. It is what a published program does by mistake; the proof that every measurement of this
//! program must carry refuses it.

use super::{Readings, Turn, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_engine::errand::{Crew, Errand, Hand, Mishap};
use ipcperf_engine::hot::{Closed, Pattern, Plan, Recorder, Spill, Stamp};
use ipcperf_stats::Histogram;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The process that talks to itself.
pub(crate) const LOOP: Errand = Errand { name: "self-loop", run: talk };
/// The child that is never spoken to.
pub(crate) const CHILD: Errand = Errand { name: "self-loop-child", run: wait };

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Single round trips in a round.
    samples: u64,
    /// Round trips before them.
    #[serde(default)]
    warmup: u64,
}

/// The most round trips of one round: each leaves four bytes.
const MOST: u64 = 1 << 24;

struct SelfLoop(Keys);

pub(crate) fn make(keys: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys: Keys =
        keys.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if !(1..=MOST).contains(&keys.samples) {
        return Err(format!("samples: {} is not between 1 and {MOST}", keys.samples));
    }
    Ok(Box::new(SelfLoop(keys)))
}

/// What the process found; times in picoseconds.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    /// What the proof says of it.
    verdict: String,
    refused: bool,
    min: u64,
    max: u64,
    sum: u64,
    /// Lower edges and counts, coarse enough for one control message.
    buckets: Vec<(u64, u64)>,
}

impl Work for SelfLoop {
    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap> {
        let failed = |error: &dyn std::fmt::Display| Mishap::Failed(format!("socketpair: {error}"));
        let (zero, one) = socket::pair(Kind::Stream).map_err(|error| failed(&error))?;
        let start = |name: &str, fds: &[_]| {
            Hand::start(name, &self.0, fds, 0, turn.deadline, turn.interrupts)
        };
        let mut child = start(CHILD.name, &[zero.as_fd()])?;
        child.ready::<Value>()?;
        child.go(&Value::Null, &[])?;
        let mut parent = start(LOOP.name, &[zero.as_fd(), one.as_fd()])?;
        parent.ready::<Value>()?;
        parent.go(&turn.nonce, &[])?;
        let found: Found = parent.done()?;
        let mut readings = Readings::default();
        readings.set("refused", f64::from(u8::from(found.refused)));
        readings.facts.insert("proof".into(), found.verdict);
        let count: u64 = found.buckets.iter().map(|(_, count)| count).sum();
        readings.set("mean_ns", found.sum as f64 / count.max(1) as f64 / 1e3);
        readings.set("least_ns", found.min as f64 / 1e3);
        let histogram =
            Histogram::from_parts(found.min, found.max, found.sum.into(), &found.buckets)
                .map_err(|error| Mishap::Failed(format!("{error:?}")))?;
        readings.quantiles(&histogram);
        readings.histogram = Some(histogram);
        Ok(readings)
    }
}

/// Both ends in one hand.
struct Both {
    writer: OwnedFd,
    reader: OwnedFd,
    byte: [u8; 1],
}

impl Both {
    #[inline(always)]
    fn write(&self) -> Result<(), Fault> {
        stream::write(self.writer.as_fd(), &self.byte).map(drop).map_err(Fault::Sys)
    }

    #[inline(always)]
    fn read(&mut self) -> Result<(), Fault> {
        match stream::read(self.reader.as_fd(), &mut self.byte) {
            Ok(0) => Err(Fault::Closed),
            Ok(_) => Ok(()),
            Err(code) => Err(Fault::Sys(code)),
        }
    }
}

impl Port for Both {
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(&mut self.byte);
        self.write()
    }

    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.read()?;
        take(&self.byte)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

fn talk(crew: &mut Crew<'_>) -> Result<Value, String> {
    let keys: Keys = crew.params()?;
    let mut fds = std::mem::take(&mut crew.fds).into_iter();
    let (Some(writer), Some(reader)) = (fds.next(), fds.next()) else {
        return Err("two descriptors are needed".into());
    };
    let nonce = crew.ready(&Value::Null)?.as_u64().unwrap_or(1);
    let mut port = Both { writer, reader, byte: [0] };
    let (clock, _) = Clock::choose();
    let slots: Vec<AtomicU32> = (0..keys.samples).map(|_| AtomicU32::new(0)).collect();
    let mut recorder = Recorder::new(&slots);
    let plan = Plan { len: 1, answer: 1, samples: 1, batch: 1, first: 1, ..Plan::default() };
    let proof = Closed::lead(&mut port, clock, plan, Stamp::new(nonce), &mut recorder);
    let verdict = match proof {
        Ok(_) => "accepted".to_owned(),
        Err(fault) => format!("refused: {fault}"),
    };
    recorder.rewind();
    let told = |fault: Fault| fault.to_string();
    for _ in 0..keys.warmup {
        port.write().and_then(|()| port.read()).map_err(told)?;
    }
    let (began, first) = (Instant::now(), clock.start());
    for _ in 0..keys.samples {
        let start = clock.start();
        port.write().and_then(|()| port.read()).map_err(told)?;
        recorder.record(clock.stop() - start);
    }
    let picos_per_tick =
        began.elapsed().as_nanos() as f64 * 1e3 / (clock.stop() - first).max(1) as f64;
    let mut histogram = Histogram::new();
    let mut ticks: Vec<u64> =
        slots.iter().map(|slot| slot.load(Ordering::Relaxed).into()).collect();
    for Spill { index, ticks: long } in recorder.spills() {
        if let Some(one) = usize::try_from(*index).ok().and_then(|index| ticks.get_mut(index)) {
            *one = *long;
        }
    }
    for one in ticks {
        histogram.record((one as f64 * picos_per_tick) as u64);
    }
    let found = Found {
        refused: proof.is_err(),
        verdict,
        min: histogram.min().unwrap_or(0),
        max: histogram.max().unwrap_or(0),
        sum: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
        buckets: coarse(&histogram),
    };
    serde_json::to_value(found).map_err(|error| error.to_string())
}

/// Buckets, neighbours put together until they fit into one control message.
fn coarse(histogram: &Histogram) -> Vec<(u64, u64)> {
    const FIT: usize = 2000;
    let all: Vec<(u64, u64)> = histogram.buckets().map(|(low, _, count)| (low, count)).collect();
    let step = all.len().div_ceil(FIT).max(1);
    all.chunks(step)
        .filter_map(|part| {
            Some((part.first()?.0, part.iter().map(|(_, count)| count).sum::<u64>()))
        })
        .collect()
}

/// Waits for a message that nobody sends.
fn wait(crew: &mut Crew<'_>) -> Result<Value, String> {
    let own = crew.fds.pop().ok_or("a descriptor is needed")?;
    crew.ready(&Value::Null)?;
    let mut byte = [0];
    match stream::read(own.as_fd(), &mut byte) {
        Ok(0) => Ok(json!("the end")),
        Ok(_) => Err("a message came, which cannot be".into()),
        Err(code) => Err(ipcperf_core::errno::text(code)),
    }
}
