//! Which cells are planned, and why others are not.

use super::*;
use ipcperf_core::Seat;
use ipcperf_sys::topology::Cpu;

fn host(cpus: usize) -> Host {
    let cpus = (0..cpus).map(|id| Cpu { id, core: id, llc: 0, node: 0 }).collect();
    Host {
        topology: Topology { cpus, ..Topology::default() },
        pinning_objection: None,
        idle_objection: Some("a key".into()),
        memory: Some(1 << 30),
    }
}

fn request() -> Request {
    Request {
        mechanisms: crate::testing::entries().to_vec(),
        patterns: vec![PatternKind::PingPong],
        sizes: vec![64],
        placements: vec![Placement::SameCpu, Placement::SameLlc],
        idle: vec![Idle::AsIs],
        touch: Touch::CacheLine,
        loads: vec![Load::default()],
        options: OptionSet::default(),
    }
}

fn objections(request: &Request, host: &Host) -> Vec<(String, String)> {
    cells(request, host)
        .expect("good knobs")
        .into_iter()
        .map(|cell| {
            (cell.id, cell.objection.map(|missing| missing.to_string()).unwrap_or_default())
        })
        .collect()
}

#[test]
fn a_spinning_pair_on_one_cpu_is_refused_with_the_reason() {
    let found = objections(&request(), &host(2));
    assert_eq!(found.len(), 4);
    assert_eq!(found[0], ("sample ping-pong 64B same-cpu".into(), String::new()));
    assert!(found[2].1.contains("cannot share one CPU"), "{found:?}");
    assert_eq!(found[3].1, "");
    // Not pinned, but there is only one place to be.
    let free = Request { placements: vec![Placement::Free], ..request() };
    assert!(objections(&free, &host(1))[1].1.contains("cannot share one CPU"));
    assert_eq!(objections(&free, &host(2))[1].1, "");
    let named =
        |lead, follow| Request { placements: vec![Placement::Cpus { lead, follow }], ..request() };
    assert!(objections(&named(1, 1), &host(2))[1].1.contains("cannot share one CPU"));
    assert_eq!(objections(&named(1, 0), &host(2))[1].1, "");
}

#[test]
fn where_one_end_alone_is_pinned_nothing_spins() {
    for seat in Seat::BOTH {
        let alone = Request { placements: vec![Placement::OneEnd { seat, cpu: 1 }], ..request() };
        let found = objections(&alone, &host(2));
        assert_eq!(found[0].1, "", "{found:?}");
        let why = "the scheduler may put both processes on one CPU";
        assert!(found[1].1.contains(why) && found[1].1.contains("as 0,1"), "{found:?}");
        let planned = cells(&alone, &host(2)).expect("good knobs");
        assert!(planned.iter().all(|cell| cell.key.cpus.is_empty()));
        assert!(objections(&alone, &host(1))[0].1.contains("CPU 1 is not allowed"));
    }
}

#[test]
fn where_nobody_can_be_pinned_only_free_ends_are_measured() {
    let refused = Host {
        pinning_objection: Some(Missing::new("no process can be pinned", "--place free")),
        ..host(2)
    };
    let placements = vec![Placement::SameCpu, Placement::SameLlc, Placement::Free];
    let found = objections(&Request { placements, ..request() }, &refused);
    let told: Vec<bool> = found.iter().take(3).map(|(_, why)| why.contains("pinned")).collect();
    assert_eq!(told, [true, true, false], "{found:?}");
}

#[test]
fn cpus_that_were_named_are_those_of_the_key_and_a_missing_one_is_told() {
    let place = |lead, follow| Placement::Cpus { lead, follow };
    let placements = vec![place(1, 0), place(0, 1), place(0, 5)];
    let planned = cells(&Request { placements, ..request() }, &host(2)).expect("good knobs");
    let found: Vec<_> = planned.iter().take(3).map(|cell| cell.key.cpus.clone()).collect();
    assert_eq!(found, [vec![1, 0], vec![0, 1], vec![]]);
    assert_eq!(planned[0].id, "sample ping-pong 64B place=1,0");
    let missing = planned[2].objection.as_ref().expect("there are two CPUs").to_string();
    assert!(missing.contains("CPU 5 is not allowed here"), "{missing}");
}

#[test]
fn what_cannot_be_carried_is_refused_and_never_clamped() {
    let large =
        Request { sizes: vec![8192, 8193], placements: vec![Placement::SameCpu], ..request() };
    let found = objections(&large, &host(2));
    assert_eq!(found[0].1, "");
    assert!(
        found[1].1.contains("at most 8 KiB per message (the test); a larger test"),
        "{found:?}"
    );
}

#[test]
fn calls_are_planned_only_where_each_message_has_its_answer() {
    let told = |pattern, load| {
        let request = Request {
            mechanisms: vec![crate::testing::calling()],
            patterns: vec![pattern],
            loads: vec![load],
            ..request()
        };
        objections(&request, &host(2))[0].1.clone()
    };
    use PatternKind::{Burst, FanIn, FanOut, PingPong, Rate, Request as Ask, Stream};
    for pattern in [PingPong, Rate, Ask] {
        assert_eq!(told(pattern, Load::default()), "", "{pattern}");
    }
    for pattern in [Stream, Burst, FanIn, FanOut] {
        let why = told(pattern, Load { peers: 2, ..Load::default() });
        assert!(why.contains("moves calls") && why.contains("-p ping-pong"), "{pattern}: {why}");
    }
    assert!(told(Ask, Load { inflight: 2, ..Load::default() }).contains("moves calls"));
    assert!(told(PingPong, Load { packet: 16, ..Load::default() }).contains("moves calls"));
}

#[test]
fn what_goes_in_packets_may_be_larger_than_the_mechanism_carries() {
    let of = |packet| Request {
        sizes: vec![8193],
        placements: vec![Placement::SameCpu],
        loads: vec![Load { packet, ..Load::default() }],
        ..request()
    };
    let told = |packet| objections(&of(packet), &host(2))[0].1.clone();
    assert!(!told(1000).contains("at most 8 KiB"), "{}", told(1000));
    assert!(told(9000).contains("at most 8 KiB"), "{}", told(9000));
}

#[test]
fn more_under_way_than_a_mechanism_keeps_is_refused() {
    let load = |window, burst| Load { window, burst, ..Load::default() };
    let under_way = |load: Load, own| load.objection(crate::testing::entries()[0].spec, own);
    assert!(under_way(load(16, 0), 16).is_none() && under_way(load(0, 16), 16).is_none());
    assert!(under_way(load(1 << 20, 0), 0).is_none(), "it stops the sender itself");
    assert!(under_way(load(0, 0), 1).is_none());
    let told = under_way(load(17, 0), 16).expect("refused").to_string();
    assert!(
        told.contains("only 16 messages are sure to arrive at a time, --window 17 asks"),
        "{told}"
    );
    let told = under_way(load(0, 2), 1).expect("refused").to_string();
    assert!(
        told.contains("only one message is sure to arrive at a time, --burst 2 asks"),
        "{told}"
    );
}

#[test]
fn an_alignment_that_makes_no_difference_is_refused() {
    let mut load = Load::default();
    load.set(ipcperf_core::LoadKey::Align, "malloc").expect("a place");
    let planned = cells(&Request { loads: vec![load], ..request() }, &host(2)).expect("knobs");
    let CellPlan { id, key, entry, objection, .. } = &planned[0];
    assert_eq!((id.as_str(), objection), ("sample ping-pong 64B same-cpu align=malloc", &None));
    let told =
        |key: &CellKey, lends| alignment_objection(entry, key, lends).map_or("", |told| told.0);
    let copied = CellKey { touch: Touch::Copy, ..key.clone() };
    let (shared, place) = ([Lends::Shared; 2], [Lends::Place; 2]);
    assert!(told(key, shared).contains("memory that they share"));
    assert_eq!(told(&copied, shared), "", "both have a buffer of their own");
    assert!(told(key, place).contains("the mechanism itself says"));
    assert!(told(&copied, place).contains("the mechanism itself says"));
    for lends in [[Lends::Shared, Lends::Buffer], [Lends::Buffer, Lends::Place]] {
        assert_eq!(told(key, lends), "");
    }
    let mut cut = key.clone();
    cut.load.packet = 100;
    assert!(told(&cut, [Lends::Buffer; 2]).contains("messages in packets"));
    // The default is no part of what a cell is.
    let mut usual = Load::default();
    usual.set(ipcperf_core::LoadKey::Align, "cacheline").expect("a place");
    assert!(usual.is_plain());
}

#[test]
fn open_loops_that_differ_in_their_load_alone_share_a_peak() {
    let rate = |text: &str| {
        let mut load = Load::default();
        load.set(ipcperf_core::LoadKey::Rate, text).expect("a rate");
        load
    };
    let request = Request {
        sizes: vec![64, 4096],
        patterns: vec![PatternKind::PingPong, PatternKind::Rate],
        loads: vec![rate("10%"), rate("95%"), rate("1k")],
        ..request()
    };
    let cells = cells(&request, &host(2)).expect("good knobs");
    let is_rated =
        |cell: &&CellPlan| cell.key.pattern == PatternKind::Rate && cell.objection.is_none();
    let rated: Vec<_> = cells.iter().filter(is_rated).collect();
    let families = Family::all(cells.iter());
    // Sizes and mechanisms have peaks of their own; what is no open loop has none.
    assert_eq!(rated.len(), 3 * families.len(), "{families:?}");
    assert!(families.len() >= 2);
    for cell in rated {
        let family = Family::of(cell).expect("an open loop");
        let plan = family.plan(cell);
        assert!(families.contains(&family) && Family::of(&plan) == Some(family), "{}", cell.id);
        assert!(plan.key.load.is_plain() && plan.key.size_bytes == cell.key.size_bytes);
    }
}

#[test]
fn the_closed_loop_of_a_peak_is_scheduled_as_its_open_loops() {
    let load = |sched: &str| {
        let mut load = Load::default();
        load.set(ipcperf_core::LoadKey::Rate, "50%").expect("a rate");
        load.set(ipcperf_core::LoadKey::Sched, sched).expect("a class");
        load
    };
    let loads = vec![load("none"), load("batch"), load("lead=batch")];
    let patterns = vec![PatternKind::Rate];
    let placements = vec![Placement::SameCpu];
    let request = Request { loads, patterns, placements, ..request() };
    let cells = cells(&request, &host(2)).expect("good knobs");
    let open = cells.iter().filter(|cell| cell.objection.is_none());
    assert_eq!(Family::all(open.clone()).len(), open.clone().count());
    for cell in open {
        let plan = Family::of(cell).expect("an open loop").plan(cell);
        assert_eq!(plan.key.load.sched, cell.key.load.sched, "{}", cell.id);
    }
}

#[test]
fn a_deadline_is_refused_where_an_end_has_to_start_another_process() {
    let mut load = Load::default();
    load.set(ipcperf_core::LoadKey::Sched, "follow=deadline:1ms/5ms/10ms").expect("a class");
    load.set(ipcperf_core::LoadKey::FollowIn, "net+pid").expect("namespaces");
    let CellPlan { entry, key, .. } =
        cells(&request(), &host(2)).expect("good knobs").swap_remove(0);
    let told = scheduled::objection(&entry, &CellKey { load, ..key }).expect("refused");
    assert!(told.what.contains("can start no other process"), "{told}");
}

#[test]
fn what_the_machine_lacks_is_named() {
    let lonely = objections(&request(), &host(1));
    assert!(lonely[1].1.contains("only 1 CPU is allowed"));
    let polling = Request { idle: vec![Idle::Poll], ..request() };
    assert!(objections(&polling, &host(2))[0].1.contains("idle polling needs a key"));
    let mut absent = request();
    absent.options.set("sample.present=off").expect("well formed");
    let found = objections(&absent, &host(2));
    assert!(
        found
            .iter()
            .all(|(id, why)| why == "it is absent; switch it on"
                && id.ends_with("sample.present=off"))
    );
    let poor = Host { memory: Some(100), ..host(2) };
    assert!(objections(&request(), &poor)[0].1.contains("of memory"));
}
