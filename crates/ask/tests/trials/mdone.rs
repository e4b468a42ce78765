//! Open loops beside the theory of queues: messages at random times before a server that always takes the same time.

use crate::common::{run, tell, trials};
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_engine::simulate::{Service, Shape, Simulated, Simulation, VirtualClock};

/// What a message takes, ns.
const SERVICE: f64 = 10_000.0;

/// The share of messages that wait for at most `time` service times (Erlang 1909).
fn waiting(load: f64, time: f64) -> f64 {
    let mut sum = 0.0;
    for done in 0..=time as u32 {
        let x = load * (time - f64::from(done));
        let factors: f64 = (1..=done).map(|k| -x / f64::from(k)).product();
        sum += factors * x.exp();
    }
    (1.0 - load) * sum
}

/// The response time below which the share `q` of messages is, in service times.
fn in_theory(load: f64, q: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waiting(load, middle) < q { low = middle } else { high = middle }
    }
    low + 1.0
}

/// Open loops that ask for this share of what the server can do.
fn loaded(load: f64, rounds: u64, operations: u64, seed: usize) -> ResultSet {
    let service = Service::of(Shape::Constant(SERVICE));
    let cell = Simulated::open("m", service, SERVICE / load);
    let clock = VirtualClock { cost_ns: 0.0, ..VirtualClock::default() };
    Simulation { operations, clock, ..run(seed, rounds, vec![cell]) }.document()
}

fn response(cell: &Cell, name: &str) -> Option<f64> {
    cell.rtt_ns.as_ref().expect("responses")[name].value
}

fn is_saturated(set: &ResultSet) -> bool {
    let told = set.noise.findings.iter().any(|finding| finding.code == "W-SATURATED");
    assert_eq!(told, response(&set.cells[0], "p50").is_none());
    told
}

#[test]
fn response_times_are_those_of_the_theory_of_queues() {
    let rounds = trials(9) as u64;
    // At nine tenths of the load a queue remembers hundreds of messages: what few of them show scatters by 3 %.
    let (operations, allowed) = if rounds > 9 { (1_000_000, 0.03) } else { (100_000, 0.1) };
    for load in [0.5, 0.9] {
        let set = loaded(load, rounds, operations, 7);
        for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
            let seen = response(&set.cells[0], name).expect("not saturated") / SERVICE;
            let off = seen / in_theory(load, q) - 1.0;
            tell(&format!(
                "load {load}, {name}: {seen:.3} service times, {:+.2} % off",
                off * 100.0
            ));
            assert!(off.abs() < allowed, "{load} {name}: {off}");
            // From when a message was sent every one takes the same: the same check sees nothing of the queue.
            if q < 0.9 {
                continue;
            }
            let service = set.cells[0].service_ns.as_ref().expect("service times")[name].value;
            let hidden = service.expect("a value") / SERVICE / in_theory(load, q) - 1.0;
            assert!(hidden < -0.03, "{load} {name}: {hidden}");
        }
    }
}

#[test]
fn what_cannot_be_served_is_saturated_and_what_can_be_is_not() {
    let count = trials(10);
    for (load, expected) in [(1.05, count), (0.5, 0), (0.75, 0)] {
        let found = (0..count).filter(|seed| is_saturated(&loaded(load, 6, 5000, *seed))).count();
        tell(&format!("load {load}: {found} of {count} saturated"));
        assert_eq!(found, expected, "{load}");
    }
}
