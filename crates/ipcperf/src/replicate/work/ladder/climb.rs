//! The two ends of a ladder: one load after the other, timed by the lead.

use super::channel::{ACK, Channel};
use super::load::{Kind, Load};
use ipcperf_core::{Fault, Seat};
use ipcperf_stats::support;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::gate::Gate;
use ipcperf_sys::shm::SharedMemory;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Attempts at a load of which something was lost.
const ATTEMPTS: u32 = 3;

/// Bytes of the memory that both ends share beside the channel.
pub(super) const PAGE: usize = 256;

/// What the lead found out about one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure {
    /// Shortest round trip, or time for each chunk.
    pub(super) least_ns: f64,
    /// Median round trip, where there were enough of them.
    pub(super) p50_ns: Option<f64>,
    /// 99th percentile, the same.
    pub(super) p99_ns: Option<f64>,
    /// How often the load was begun again because something was lost.
    pub(super) losses: u32,
}

/// Where the ends meet between loads.
pub(super) struct Meeting<'a> {
    page: &'a SharedMemory,
    seen: u32,
}

impl<'a> Meeting<'a> {
    pub(super) fn new(page: &'a SharedMemory) -> Self {
        Self { page, seen: 0 }
    }

    fn gate(&self) {
        Gate::new(self.page.word(0), self.page.word(64)).meet();
    }

    /// Waits for the peer; whether either end has lost something since the last time.
    fn has_lost(&mut self, lost: bool) -> bool {
        let losses = self.page.word(128);
        losses.fetch_add(u32::from(lost), Ordering::AcqRel);
        self.gate();
        let now = losses.load(Ordering::Acquire);
        // Nobody counts again before both have read.
        self.gate();
        std::mem::replace(&mut self.seen, now) != now
    }
}

/// Climbs; the lead's figures are in ticks.
pub(super) fn climb<C: Channel>(
    channel: &mut C,
    seat: Seat,
    clock: Clock,
    loads: &[Load],
    meeting: &mut Meeting<'_>,
) -> Result<Vec<Figure>, String> {
    let most = loads.iter().filter(|load| load.kind == Kind::Trip).map(|load| load.count).max();
    let most = usize::try_from(most.unwrap_or(0)).map_err(|error| error.to_string())?;
    // Written before the first load, so that no page of it is new to a timed region.
    let mut samples = vec![u64::MAX; most];
    loads.iter().map(|load| rung(channel, seat, clock, *load, meeting, &mut samples)).collect()
}

/// One load, again after a loss.
fn rung<C: Channel>(
    channel: &mut C,
    seat: Seat,
    clock: Clock,
    load: Load,
    meeting: &mut Meeting<'_>,
    samples: &mut [u64],
) -> Result<Figure, String> {
    for losses in 0..ATTEMPTS {
        meeting.gate();
        let done = match (seat, load.kind) {
            (Seat::Follow, kind) => follow(channel, load, kind).map(|()| Figure::default()),
            (Seat::Lead, Kind::Trip) => {
                let samples = samples.get_mut(..load.count as usize).unwrap_or_default();
                trips(channel, clock, load, samples).map(|()| of_trips(samples))
            }
            (Seat::Lead, Kind::Final) => row(channel, clock, load),
            (Seat::Lead, Kind::Each) => answered(channel, clock, load),
        };
        let told = |fault: Fault| format!("{load}: {fault}");
        let (figure, lost) = match done {
            Ok(figure) => (figure, false),
            Err(Fault::Timeout | Fault::Corrupt | Fault::Truncated) if C::LOSSY => {
                (Figure::default(), true)
            }
            Err(fault) => return Err(told(fault)),
        };
        if !C::LOSSY || !meeting.has_lost(lost) {
            return Ok(Figure { losses, ..figure });
        }
        channel.drain();
    }
    Err(format!("{load}: something was lost in each of {ATTEMPTS} attempts"))
}

#[inline(never)]
fn trips<C: Channel>(
    channel: &mut C,
    clock: Clock,
    load: Load,
    samples: &mut [u64],
) -> Result<(), Fault> {
    for (stamp, sample) in (0..).zip(samples) {
        channel.outgoing(1, load.size);
        channel.incoming(1, load.size);
        let begin = clock.start();
        channel.send(load.size, stamp)?;
        channel.receive(load.size, !stamp)?;
        *sample = clock.stop() - begin;
    }
    Ok(())
}

#[inline(never)]
fn row<C: Channel>(channel: &mut C, clock: Clock, load: Load) -> Result<Figure, Fault> {
    channel.outgoing(load.count, load.size);
    channel.incoming(1, ACK);
    let begin = clock.start();
    for chunk in 0..load.count {
        channel.send(load.size, chunk as u32)?;
    }
    channel.receive(ACK, !(load.count as u32))?;
    Ok(of_chunks(clock.stop() - begin, load))
}

#[inline(never)]
fn answered<C: Channel>(channel: &mut C, clock: Clock, load: Load) -> Result<Figure, Fault> {
    let begin = clock.start();
    for chunk in 0..load.count {
        channel.outgoing(1, load.size);
        channel.incoming(1, ACK);
        channel.send(load.size, chunk as u32)?;
        channel.receive(ACK, !(chunk as u32))?;
    }
    Ok(of_chunks(clock.stop() - begin, load))
}

#[inline(never)]
fn follow<C: Channel>(channel: &mut C, load: Load, kind: Kind) -> Result<(), Fault> {
    if kind == Kind::Final {
        channel.incoming(load.count, load.size);
        channel.outgoing(1, ACK);
        for chunk in 0..load.count {
            channel.receive(load.size, chunk as u32)?;
        }
        return channel.send(ACK, !(load.count as u32));
    }
    let answer = if kind == Kind::Trip { load.size } else { ACK };
    for message in 0..load.count {
        channel.incoming(1, load.size);
        channel.outgoing(1, answer);
        channel.receive(load.size, message as u32)?;
        channel.send(answer, !(message as u32))?;
    }
    Ok(())
}

fn of_trips(samples: &mut [u64]) -> Figure {
    samples.sort_unstable();
    let count = samples.len() as u64;
    let quantile = |q: f64| {
        support(count, q).ok()?;
        // The nearest rank: the smallest sample that so large a share does not exceed.
        let rank = (q * count as f64).ceil() as usize;
        samples.get(rank.saturating_sub(1)).map(|ticks| *ticks as f64)
    };
    Figure {
        least_ns: samples.first().map_or(f64::NAN, |ticks| *ticks as f64),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        losses: 0,
    }
}

fn of_chunks(ticks: u64, load: Load) -> Figure {
    Figure { least_ns: ticks as f64 / load.count as f64, ..Figure::default() }
}

impl Figure {
    /// From ticks to nanoseconds.
    pub(super) fn scaled(self, ns_per_tick: f64) -> Self {
        let scale = |ticks: f64| ticks * ns_per_tick;
        Self {
            least_ns: scale(self.least_ns),
            p50_ns: self.p50_ns.map(scale),
            p99_ns: self.p99_ns.map(scale),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// Messages between threads; the one with this number of all that this end sends is lost.
    struct Posted {
        to: Sender<(usize, u32)>,
        from: Receiver<(usize, u32)>,
        sent: u64,
        lost: u64,
        patience: Duration,
    }

    impl Channel for Posted {
        const LOSSY: bool = true;

        fn send(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
            self.sent += 1;
            if self.sent != self.lost {
                let _ = self.to.send((len, stamp));
            }
            Ok(())
        }

        fn receive(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
            match self.from.recv_timeout(self.patience) {
                Ok(message) if message == (len, stamp) => Ok(()),
                Ok(_) => Err(Fault::Corrupt),
                Err(_) => Err(Fault::Timeout),
            }
        }

        fn drain(&mut self) {
            while self.from.recv_timeout(Duration::from_millis(100)).is_ok() {}
        }
    }

    fn both_ends(loads: &[Load], lost: u64) -> [Result<Vec<Figure>, String>; 2] {
        let page = SharedMemory::create("ipcperf-test", PAGE).expect("memory");
        let (ping, pong) = (channel(), channel());
        // Where nothing is lost nobody gives up, however busy the machine is.
        let patience = Duration::from_secs(if lost == 0 { 60 } else { 1 });
        let mut lead = Posted { to: ping.0, from: pong.1, sent: 0, lost, patience };
        let mut follow = Posted { to: pong.0, from: ping.1, sent: 0, lost: 0, patience };
        let clock = Clock::monotonic();
        std::thread::scope(|scope| {
            let peer = scope
                .spawn(|| climb(&mut follow, Seat::Follow, clock, loads, &mut Meeting::new(&page)));
            let own = climb(&mut lead, Seat::Lead, clock, loads, &mut Meeting::new(&page));
            [own, peer.join().expect("no panic")]
        })
    }

    const LOADS: [Load; 3] = [
        Load { size: 64, count: 50, kind: Kind::Trip },
        Load { size: 64, count: 20, kind: Kind::Final },
        Load { size: 64, count: 20, kind: Kind::Each },
    ];

    #[test]
    fn every_load_ends_with_a_figure() {
        let [lead, follow] = both_ends(&LOADS, 0);
        let figures = lead.expect("figures");
        assert_eq!(figures.len(), follow.expect("as many").len());
        assert!(figures.iter().all(|figure| figure.least_ns > 0.0 && figure.losses == 0));
        assert!(figures[0].p50_ns >= Some(figures[0].least_ns) && figures[0].p99_ns.is_none());
    }

    #[test]
    fn a_loss_is_counted_and_its_load_begun_again() {
        // In the round trips, in the middle of the row, in its last chunk, and in the last chunk of all.
        for (lost, load) in [(10, 0), (60, 1), (70, 1), (90, 2)] {
            let [lead, follow] = both_ends(&LOADS, lost);
            let losses: Vec<u32> =
                lead.expect("figures").iter().map(|figure| figure.losses).collect();
            let expected: Vec<u32> = (0..3).map(|index| u32::from(index == load)).collect();
            assert_eq!(losses, expected, "message {lost}");
            assert!(follow.is_ok());
        }
    }

    #[test]
    fn the_median_is_the_middle_of_the_sorted_round_trips() {
        let mut samples: Vec<u64> = (1..=2000).rev().collect();
        let figure = of_trips(&mut samples);
        assert_eq!(
            (figure.least_ns, figure.p50_ns, figure.p99_ns),
            (1.0, Some(1000.0), Some(1980.0))
        );
        assert_eq!(of_trips(&mut [5, 4, 9]).p50_ns, None);
    }
}
