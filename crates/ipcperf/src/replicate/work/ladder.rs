//! A ladder of message sizes, climbed by one pair of pinned processes over one channel: round trips of every size, or
//! rows of chunks of every size, of which either the last or each is acknowledged.
//!
//! Readings end in the size: `least_ns.4096`. Of round trips these are `half_least_ns` (the shortest, halved, as some
//! print it), `p50_ns` and `p99_ns`; of rows `final_ns` and `each_ns` for each chunk, and `final_mb`, `each_mb` in
//! 10^6 bytes per second. `losses` says how many loads were begun again because a packet was lost.

mod channel;
mod climb;
mod load;
mod packets;
mod ways;

use super::place;
use super::{Readings, Turn, Work};
use climb::{Figure, Meeting};
use ipcperf_core::{PatternKind, Seat, Shape, Wiring};
use ipcperf_engine::errand::{Crew, Errand, Hand, Mishap};
use ipcperf_sys::affinity;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::shm::SharedMemory;
use ipcperf_sys::signals::Interrupts;
use load::{Keys, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::os::fd::AsFd;
use ways::Walk;

/// One end.
pub(crate) const ERRAND: Errand = Errand { name: "ladder", run: one_end };

/// Makes the work.
///
/// # Errors
/// What the study says makes no sense.
pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let keys: Keys = table.clone().try_into().map_err(|error| error.to_string())?;
    keys.check()?;
    Ok(Box::new(Ladder { keys }))
}

struct Ladder {
    keys: Keys,
}

/// What an end must know.
#[derive(Debug, Serialize, Deserialize)]
struct Brief {
    keys: Keys,
    seat: Seat,
    cpu: usize,
    counter: bool,
    shape: Shape,
    names: Vec<String>,
    words: Vec<u64>,
}

impl Work for Ladder {
    fn missing(&self) -> Option<String> {
        let way = self.keys.mechanism;
        place::pair(way.spins()).err().or_else(|| way.missing())
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap> {
        let failed = |error: &dyn std::fmt::Display| Mishap::Failed(error.to_string());
        let way = self.keys.mechanism;
        let [mut lead_cpu, mut follow_cpu] =
            place::pair(way.spins()).map_err(|error| failed(&error))?;
        // What is special about one CPU must not stick to one end.
        if turn.round % 2 == 1 {
            std::mem::swap(&mut lead_cpu, &mut follow_cpu);
        }
        let shape = Shape {
            size: self.keys.largest(),
            pattern: PatternKind::PingPong,
            nonce: turn.nonce,
            buffer_offset: (turn.nonce % 64) as usize * 64,
            directory: turn.directory.to_owned(),
        };
        let link = way.open(&shape).map_err(|error| failed(&error))?;
        // Kept until both ends are gone: whatever has a name is removed even if they were killed.
        let _guards = link.guards;
        let page = SharedMemory::create("ipcperf-ladder", climb::PAGE)?;
        let counter = Clock::choose().0.is_counter();
        let hand = |seat: Seat, cpu: usize, wiring: Wiring| {
            let Wiring { fds, names, words } = wiring;
            let keys = self.keys.clone();
            let brief = Brief { keys, seat, cpu, counter, shape: shape.clone(), names, words };
            let mut lent = vec![page.fd()];
            lent.extend(fds.iter().map(AsFd::as_fd));
            let pad = (turn.nonce >> (8 * seat.index())) as usize % 4096;
            // The descriptors are closed here once they were handed over, so that an end sees the end of the other.
            Hand::start(ERRAND.name, &brief, &lent, pad, turn.deadline, turn.interrupts)
        };
        let mut follow = hand(Seat::Follow, follow_cpu, link.follow)?;
        let mut lead = hand(Seat::Lead, lead_cpu, link.lead)?;
        let figures = both(&mut lead, &mut follow, turn)?;
        let mut readings = self.readings(&figures);
        let [one, other] = [lead_cpu.min(follow_cpu), lead_cpu.max(follow_cpu)];
        let pair = format!("{one} and {other}, changing places from round to round");
        readings.facts.insert("CPUs".into(), pair);
        if let Some(packet) = self.keys.packet {
            let window = ways::window(packet).map_err(|error| failed(&error))?;
            let fact = format!("{window} packets of {packet} bytes");
            readings.facts.insert("window".into(), fact);
        }
        Ok(readings)
    }
}

/// The lead's figures once both are done. An end that fails is heard at once, and need not wait for the other, which
/// may never notice.
fn both(
    lead: &mut Hand<'_>,
    follow: &mut Hand<'_>,
    turn: &Turn<'_>,
) -> Result<Vec<Figure>, Mishap> {
    let mut fds = vec![follow.worker().control().fd(), lead.worker().control().fd()];
    fds.extend(turn.interrupts.map(Interrupts::fd));
    let ready = wait_any(&fds, turn.deadline)?;
    if ready.first() == Some(&true) {
        let _: Vec<Figure> = follow.done()?;
        return lead.done();
    }
    let figures = lead.done()?;
    let _: Vec<Figure> = follow.done()?;
    Ok(figures)
}

impl Ladder {
    fn readings(&self, figures: &[Figure]) -> Readings {
        let mut readings = Readings::default();
        let mut losses = 0;
        for (load, figure) in self.keys.loads().iter().zip(figures) {
            losses += figure.losses;
            let size = load.size;
            match load.kind {
                Kind::Trip => {
                    readings.set(format!("half_least_ns.{size}"), figure.least_ns / 2.0);
                    for (name, value) in [("p50_ns", figure.p50_ns), ("p99_ns", figure.p99_ns)] {
                        match value {
                            Some(value) => readings.set(format!("{name}.{size}"), value),
                            None => {
                                let why = "20 round trips of a round must lie beyond it";
                                readings.facts.insert(name.into(), why.into());
                            }
                        }
                    }
                }
                Kind::Final | Kind::Each => {
                    let name = if load.kind == Kind::Final { "final" } else { "each" };
                    readings.set(format!("{name}_ns.{size}"), figure.least_ns);
                    // Bytes per nanosecond are 1000 times 10^6 bytes per second.
                    readings.set(format!("{name}_mb.{size}"), size as f64 / figure.least_ns * 1e3);
                }
            }
        }
        readings.set("losses", f64::from(losses));
        readings
    }
}

/// Whichever end, over whichever channel.
struct Climb<'a> {
    brief: &'a Brief,
    page: &'a SharedMemory,
    clock: Clock,
}

impl Walk for Climb<'_> {
    type Result = Result<Vec<Figure>, String>;

    fn walk<C: channel::Channel>(self, mut channel: C) -> Self::Result {
        let loads = self.brief.keys.loads();
        let meeting = &mut Meeting::new(self.page);
        climb::climb(&mut channel, self.brief.seat, self.clock, &loads, meeting)
    }
}

fn one_end(crew: &mut Crew<'_>) -> Result<Value, String> {
    let mut brief: Brief = crew.params()?;
    affinity::pin(brief.cpu).map_err(|error| format!("CPU {}: {error}", brief.cpu))?;
    let mut fds = std::mem::take(&mut crew.fds).into_iter();
    let page = fds.next().ok_or("no shared page arrived")?;
    let page = SharedMemory::from_fd(page).map_err(|error| error.to_string())?;
    let (names, words) = (std::mem::take(&mut brief.names), std::mem::take(&mut brief.words));
    let wiring = Wiring { fds: fds.collect(), names, words };
    let clock = if brief.counter { Clock::counter() } else { Clock::monotonic() };
    let before = clock.pair();
    let climb = Climb { brief: &brief, page: &page, clock };
    let way = brief.keys.mechanism;
    let figures = way
        .attach(wiring, brief.seat, &brief.shape, &brief.keys, climb)
        .map_err(|error| error.to_string())??;
    let ns_per_tick = place::rate(before, clock.pair());
    let figures: Vec<_> = figures.into_iter().map(|figure| figure.scaled(ns_per_tick)).collect();
    serde_json::to_value(figures).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "measure = ['trip', 'final', 'each']\nsizes = [4, 64, 70000]\ntrips = 50\ntrip_bytes = 100000\n\
                        bytes = 200000\nmost_chunks = 30\nmost_acks = 20\n";

    #[test]
    fn both_ends_climb_over_every_way_and_every_load_has_its_readings() {
        for way in ["pipe", "shm-sem", "shm-spin", "tcp", "udp"] {
            let packet = if way == "udp" { "packet = 6500\n" } else { "" };
            let table: toml::Table =
                format!("mechanism = '{way}'\n{packet}{KEYS}").parse().expect("TOML");
            let keys: Keys = table.try_into().expect("keys");
            keys.check().expect("a ladder");
            if keys.mechanism.missing().is_some() {
                continue;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let shape = Shape {
                size: keys.largest(),
                pattern: PatternKind::PingPong,
                nonce: u64::from(std::process::id()) << 8,
                buffer_offset: 64,
                directory: folder.path().to_owned(),
            };
            let link = keys.mechanism.open(&shape).expect("a channel");
            let page = SharedMemory::create("ipcperf-test", climb::PAGE).expect("memory");
            let end = |seat, wiring| {
                let brief = Brief {
                    keys: keys.clone(),
                    seat,
                    cpu: 0,
                    counter: false,
                    shape: shape.clone(),
                    names: Vec::new(),
                    words: Vec::new(),
                };
                let climb = Climb { brief: &brief, page: &page, clock: Clock::monotonic() };
                let done = keys.mechanism.attach(wiring, seat, &shape, &keys, climb);
                done.map_err(|error| error.to_string()).and_then(|figures| figures).expect(way)
            };
            let figures = std::thread::scope(|scope| {
                let peer = scope.spawn(|| end(Seat::Follow, link.follow));
                let figures = end(Seat::Lead, link.lead);
                assert_eq!(peer.join().expect("no panic").len(), figures.len());
                figures
            });
            let readings = Ladder { keys }.readings(&figures);
            // Half the shortest and the median; time and rate of two kinds of rows; losses.
            assert_eq!(readings.values.len(), 3 * 2 + 3 * 4 + 1, "{way}: {readings:?}");
            assert!(readings.values.iter().all(|(name, value)| name == "losses" || *value > 0.0));
            assert_eq!(readings.values.get("losses"), Some(&0.0), "{way}");
        }
    }

    #[test]
    fn rates_are_in_millions_of_bytes() {
        let table: toml::Table =
            format!("mechanism = 'pipe'\n{KEYS}").replace("'trip', ", "").parse().expect("TOML");
        let keys: Keys = table.try_into().expect("keys");
        let figures = [Figure { least_ns: 32.0, ..Figure::default() }; 6];
        let readings = Ladder { keys }.readings(&figures);
        assert_eq!(readings.values.get("final_mb.64"), Some(&2000.0));
        assert_eq!(readings.values.get("each_ns.64"), Some(&32.0));
    }
}
