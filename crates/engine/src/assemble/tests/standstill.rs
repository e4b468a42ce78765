//! Ends that stood still: what is reported, and what is not.

use super::*;
use crate::slice::Gaps;
use crate::supervisor::Stopped;
use ipcperf_core::result::Finding;

/// Three rounds of a thousand round trips of 5 ms; `change` is given the slice of the second one.
fn told(load: ipcperf_core::Load, change: impl Fn(&mut SliceRun)) -> Option<Finding> {
    let slices = (0..3).map(|round| {
        let mut slice = round_trips(round, 5_000_000, 1000);
        slice.raw.gaps = Gaps { longest: 6_000_000, sum: 5_000_000_000, count: 1000 };
        slice.raw.sides.iter_mut().for_each(|side| side.run_delay_ns = Some(0));
        if round == 1 {
            change(&mut slice);
        }
        slice
    });
    let mut plan = plan(PatternKind::PingPong);
    plan.key.load = load;
    let set = set_of(plan, slices.collect());
    let count = set.cells[0].rounds.iter().filter(|round| round.standstill.is_some()).count();
    let found = set.noise.findings.into_iter().find(|finding| finding.code == "W-STOPPED");
    assert_eq!(count, usize::from(found.is_some()));
    found
}

/// The longest round trip takes so many ms.
fn longest(slice: &mut SliceRun, ms: u64) {
    let gaps = &mut slice.raw.gaps;
    gaps.sum += ms * 1_000_000 - gaps.longest;
    gaps.longest = ms * 1_000_000;
}

#[test]
fn a_gap_that_nothing_explains_is_told_with_its_size() {
    let load = ipcperf_core::Load::default();
    let found = told(load.clone(), |slice| {
        longest(slice, 1505);
        slice.raw.elapsed += 1_500_000_000;
    });
    let found = found.expect("a finding");
    assert!((found.value.expect("a size") / 1.5e9 - 1.0).abs() < 1e-3, "{found:?}");
    let text = &found.text;
    assert!(
        text.contains("a process was stopped in 1 slice (longest: ")
            && text.contains(": nothing moved for 1.50 s"),
        "{text}"
    );
    assert!(text.contains("6.50 s elapsed where 5.00 s were planned"), "{text}");
    assert_eq!((found.cells.len(), found.limit), (1, Some(2e8)));
    assert!(told(load.clone(), |_| ()).is_none());
    assert!(told(load.clone(), |slice| longest(slice, 180)).is_none());
    // Where all take long, one may take longer.
    assert!(
        told(load, |slice| slice.raw.gaps = Gaps { longest: 900, sum: 3000, count: 10 }.ms())
            .is_none()
    );
}

impl Gaps {
    fn ms(self) -> Self {
        let [longest, sum] = [self.longest, self.sum].map(|ms| ms * 1_000_000);
        Self { longest, sum, ..self }
    }
}

#[test]
fn what_the_host_or_other_work_or_a_request_explains_is_no_surprise() {
    let load = ipcperf_core::Load::default();
    let explained: [fn(&mut SliceRun); 4] = [
        |slice| slice.steal_ns = Some(1_400_000_000),
        |slice| slice.raw.sides[1].run_delay_ns = Some(1_400_000_000),
        |slice| slice.raw.counts[0].lost = 1,
        // Nobody knows how long it waited for a CPU.
        |slice| slice.raw.sides[0].run_delay_ns = None,
    ];
    for explain in explained {
        let found = told(load.clone(), |slice| {
            longest(slice, 1500);
            explain(slice);
        });
        assert!(found.is_none(), "{found:?}");
    }
    let asked = ipcperf_core::Load { stall_ns: 1_500_000_000, ..load };
    assert!(told(asked, |slice| longest(slice, 1500)).is_none());
}

#[test]
fn an_end_that_a_signal_stopped_is_named_however_short_that_was() {
    let stop = |least_ns, gap| {
        let found = told(ipcperf_core::Load::default(), |slice| {
            longest(slice, gap);
            slice.raw.stopped = Some(Stopped { who: "follow".into(), least_ns });
            slice.raw.sides[0].run_delay_ns = None;
        });
        found.expect("a finding").text
    };
    assert!(
        stop(0, 1505).contains("a signal stopped follow for at least 1.50 s"),
        "{}",
        stop(0, 1505)
    );
    assert!(
        stop(700_000_000, 6).contains("follow for at least 700 ms"),
        "{}",
        stop(700_000_000, 6)
    );
    assert!(stop(0, 6).contains("a signal stopped follow for a moment"), "{}", stop(0, 6));
}

#[test]
fn a_coordinator_that_was_stopped_and_a_machine_that_was_suspended_are_told() {
    let slices = (0..3).map(|round| round_trips(round, 5000, 1000)).collect();
    let run = CellRun { slices, ..CellRun::new(plan(PatternKind::PingPong)) };
    let (stood, suspended) = (Duration::from_millis(1300), Duration::from_secs(3600));
    let set = result_set(Findings { stood, suspended, ..findings(vec![run]) }, RunFacts::default());
    let told = set.noise.findings.iter().filter(|finding| finding.code == "W-STOPPED");
    let texts: Vec<&str> = told.map(|finding| finding.text.as_str()).collect();
    let [own, all] = texts.as_slice() else { panic!("{texts:?}") };
    assert!(own.starts_with("ipcperf itself was stopped for 1.30 s: "), "{own}");
    assert!(all.starts_with("the machine was suspended for "), "{all}");
}
