//! A port that does something wrong on purpose, around the port of any mechanism. It is used through a table, as
//! messages in packets are, so that no loop is compiled for it.

use crate::chain;
use crate::hot::{AnyWork, Work};
use crate::inject::{BURNT, Effect, Injection};
use crate::job::Job;
use ipcperf_core::{DynPort, Fault, Fill, Part, Seat, Take, Touch};
use ipcperf_sys::clock::{Clock, process_cpu_ns};
use ipcperf_sys::{pause, process};
use std::hint::black_box;

/// Memory that [`Effect::Allocate`] asks for and never gives back, so that it was never used before; and how often at
/// most, so that a long slice leaves some.
const FRESH: usize = 8 << 10;
const MOST_FRESH: u64 = 4096;

/// The name under which a result tells how often something went wrong on purpose.
const STRUCK: &str = "faults on purpose";

/// One end that does something wrong.
struct Faulty {
    port: Box<dyn DynPort>,
    injections: Vec<Injection>,
    clock: Clock,
    ns_per_step: f64,
    /// Ticks of one cycle of service times.
    times: Vec<u64>,
    sent: u64,
    received: u64,
    /// When the last message was to be sent, ticks.
    begun: u64,
    /// The message under way, the one before it, and one that is held back; only where one may be changed.
    copies: bool,
    message: Vec<u8>,
    before: Vec<u8>,
    held: Option<Vec<u8>>,
    /// What is made up, if no message is moved: for the first `verified` messages, and for the others.
    pretence: Option<[AnyWork<'static>; 2]>,
    verified: u64,
    struck: u64,
    /// CPU time used on purpose, ns.
    burnt: u64,
}

/// This end's port, with what is to go wrong there.
pub(crate) fn around(port: Box<dyn DynPort>, job: &Job) -> Box<dyn DynPort> {
    let here = job.injections.iter().filter(|injection| injection.seat == job.seat);
    let injections: Vec<Injection> = here.copied().collect();
    if injections.is_empty() {
        return port;
    }
    let has = |effect| injections.iter().any(|one| one.effect == effect);
    let served = injections.iter().find_map(|one| match one.effect {
        Effect::Serve(service) => Some((service.times(), one.amount as f64 / job.ns_per_tick)),
        _ => None,
    });
    let made_up = |touch| {
        let work = AnyWork::touching(touch, job.shape.nonce);
        if job.seat == Seat::Lead { work.reversed() } else { work }
    };
    Box::new(Faulty {
        port,
        clock: job.clock(),
        ns_per_step: if has(Effect::Delay) { chain::ns_per_step() } else { 1.0 },
        times: served.map_or_else(Vec::new, |(times, unit)| {
            times.iter().map(|time| (time * unit) as u64).collect()
        }),
        sent: 0,
        received: 0,
        begun: 0,
        copies: injections.iter().any(|one| one.effect.changes()),
        message: Vec::new(),
        before: Vec::new(),
        held: None,
        pretence: has(Effect::Pretend).then(|| [made_up(Touch::Full), made_up(job.key.touch)]),
        // A stream begins with one message more.
        verified: job.verify + 1,
        struck: 0,
        burnt: 0,
        injections,
    })
}

impl Effect {
    /// Whether it is the message that it happens to.
    fn changes(self) -> bool {
        matches!(
            self,
            Self::Corrupt
                | Self::Drop
                | Self::Duplicate
                | Self::Reorder
                | Self::Stale
                | Self::Truncate
        )
    }
}

impl Faulty {
    /// What happens beside a message.
    fn suffer(&mut self, Injection { effect, amount: ns, .. }: Injection) {
        match effect {
            Effect::Die => std::process::exit(1),
            Effect::Stall => pause::sleep_ns(ns),
            Effect::Delay => {
                // Readings wait for what is under way: nothing else is done beside the work and hides a part of it.
                black_box(self.clock.start());
                chain::run((ns as f64 / self.ns_per_step).round() as u64);
                black_box(self.clock.start());
            }
            Effect::Burn => {
                // Whatever comes between two readings makes it more.
                let begin = process_cpu_ns();
                let mut used = 0;
                while used < ns {
                    used = process_cpu_ns() - begin;
                }
                self.burnt += used;
            }
            Effect::Call => process::null_syscall(),
            Effect::Allocate if self.struck <= MOST_FRESH => {
                black_box(vec![1_u8; FRESH].leak());
            }
            Effect::Serve(_) => {
                let at = self.sent % self.times.len().max(1) as u64;
                let time = usize::try_from(at).ok().and_then(|at| self.times.get(at));
                // From now on: what else goes wrong with the message comes on top.
                self.spin_until(self.clock.start() + time.copied().unwrap_or(0));
            }
            Effect::Allocate
            | Effect::Corrupt
            | Effect::Drop
            | Effect::Duplicate
            | Effect::Reorder
            | Effect::Stale
            | Effect::Truncate
            | Effect::DelayShare
            | Effect::Pretend => {}
        }
    }

    fn spin_until(&self, end: u64) {
        while self.clock.stop() < end {}
    }

    /// Sends the message under way, as it is to be.
    fn send_changed(&mut self, change: Option<Injection>) -> Result<(), Fault> {
        let Self { port, message, before, held, .. } = self;
        let mut put = |bytes: &[u8]| {
            port.send(bytes.len(), &mut |out| out.copy_from_slice(&bytes[..out.len()]))
        };
        match change.map(|one| (one.effect, one.amount)) {
            Some((Effect::Corrupt, byte)) => {
                let last = message.len().saturating_sub(1);
                let at = usize::try_from(byte).unwrap_or(last).min(last);
                if let Some(byte) = message.get_mut(at) {
                    *byte = !*byte;
                }
                put(message)?;
            }
            Some((Effect::Drop, _)) => {}
            Some((Effect::Duplicate, _)) => {
                put(message)?;
                put(message)?;
            }
            Some((Effect::Reorder, _)) => *held = Some(message.clone()),
            Some((Effect::Stale, _)) => put(before)?,
            Some((Effect::Truncate, _)) => put(&message[..message.len().saturating_sub(1)])?,
            _ => {
                put(message)?;
                if let Some(late) = held.take() {
                    put(&late)?;
                }
            }
        }
        std::mem::swap(message, before);
        Ok(())
    }
}

impl DynPort for Faulty {
    fn send(&mut self, len: usize, fill: Fill<'_>) -> Result<(), Fault> {
        self.begun = self.clock.start();
        self.sent += 1;
        let mut change = None;
        for at in 0..self.injections.len() {
            let injection = self.injections[at];
            if injection.strikes(self.sent) {
                self.struck += 1;
                self.suffer(injection);
                change = if injection.effect.changes() { Some(injection) } else { change };
            }
        }
        if self.pretence.is_some() {
            return Ok(());
        }
        if !self.copies {
            return self.port.send(len, fill);
        }
        self.message.resize(len, 0);
        fill(&mut self.message);
        self.send_changed(change)
    }

    fn recv(&mut self, len: usize, take: Take<'_>) -> Result<(), Fault> {
        self.received += 1;
        if let Some([verifying, usual]) = self.pretence {
            let work = if self.received <= self.verified { verifying } else { usual };
            self.message.resize(len, 0);
            work.fill(&mut self.message, self.received);
            return take(&self.message);
        }
        self.port.recv(len, take)?;
        for at in 0..self.injections.len() {
            if let Injection { effect: Effect::DelayShare, amount, .. } = self.injections[at] {
                let now = self.clock.stop();
                self.spin_until(now + now.saturating_sub(self.begun) * amount / 100);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.port.flush()
    }

    fn expect(&mut self, part: Part) {
        self.port.expect(part);
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.port.events(report);
        report(STRUCK, self.struck);
        report(BURNT, self.burnt);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.port.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::result::CellKey;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Keeps what was sent; nothing comes back.
    #[derive(Clone, Default)]
    struct Kept(Rc<RefCell<Vec<Vec<u8>>>>);

    impl DynPort for Kept {
        fn send(&mut self, len: usize, fill: Fill<'_>) -> Result<(), Fault> {
            let mut message = vec![0; len];
            fill(&mut message);
            self.0.borrow_mut().push(message);
            Ok(())
        }

        fn recv(&mut self, _: usize, _: Take<'_>) -> Result<(), Fault> {
            Err(Fault::Closed)
        }

        fn flush(&mut self) -> Result<(), Fault> {
            Ok(())
        }

        fn expect(&mut self, _: Part) {}

        fn events(&self, _: &mut dyn FnMut(&'static str, u64)) {}

        fn finish(&mut self) -> Result<(), Fault> {
            Ok(())
        }
    }

    fn job(injection: Injection) -> Job {
        let key = CellKey { size_bytes: 8, ..CellKey::default() };
        Job { injections: vec![injection], ..crate::testing::job(key) }
    }

    /// What leaves of the messages 1 to 4, eight bytes of their number each, where this happens to the second.
    fn sent(effect: Effect, amount: u64) -> Vec<Vec<u8>> {
        let kept = Kept::default();
        let job = job(Injection::once(Seat::Lead, effect, amount, 2));
        let mut port = around(Box::new(kept.clone()), &job);
        for number in 1..=4 {
            port.send(8, &mut |out| out.fill(number)).expect("sent");
        }
        kept.0.take()
    }

    #[test]
    fn each_fault_does_what_it_says_to_its_message_and_leaves_the_others() {
        let all =
            |numbers: &[u8]| numbers.iter().map(|number| vec![*number; 8]).collect::<Vec<_>>();
        for (effect, wanted) in [
            (Effect::Drop, all(&[1, 3, 4])),
            (Effect::Duplicate, all(&[1, 2, 2, 3, 4])),
            (Effect::Reorder, all(&[1, 3, 2, 4])),
            (Effect::Stale, all(&[1, 1, 3, 4])),
            (Effect::Delay, all(&[1, 2, 3, 4])),
            (Effect::Call, all(&[1, 2, 3, 4])),
        ] {
            assert_eq!(sent(effect, 1), wanted, "{effect:?}");
        }
        let mut changed = all(&[1, 2, 3, 4]);
        changed[1][7] = !2;
        assert_eq!(sent(Effect::Corrupt, 100), changed);
        let mut cut = all(&[1, 2, 3, 4]);
        cut[1].truncate(7);
        assert_eq!(sent(Effect::Truncate, 0), cut);
    }

    #[test]
    fn an_end_without_a_fault_of_its_own_has_the_port_of_the_mechanism() {
        let kept = Kept::default();
        let job = job(Injection::always(Seat::Follow, Effect::Drop, 0));
        let mut port = around(Box::new(kept.clone()), &job);
        port.send(8, &mut |out| out.fill(1)).expect("sent");
        assert_eq!(kept.0.take(), [vec![1; 8]]);
        let mut events = 0;
        port.events(&mut |_, _| events += 1);
        assert_eq!(events, 0);
    }

    #[test]
    fn who_pretends_makes_up_what_the_loop_expects() {
        let mut port = around(
            Box::new(Kept::default()),
            &job(Injection::always(Seat::Lead, Effect::Pretend, 0)),
        );
        let answer = AnyWork::touching(Touch::Full, 7).reversed();
        for seq in 1..=2 {
            port.send(8, &mut |_| panic!("nothing is sent")).expect("nothing went wrong");
            port.recv(8, &mut |message| answer.check(message, seq)).expect("the right answer");
        }
    }
}
