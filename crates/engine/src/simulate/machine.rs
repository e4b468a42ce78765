//! The machine that is simulated: two CPUs that share a cache.

use crate::assemble::Machine;
use crate::run::BoundReadings;
use ipcperf_core::result::{Host, Kernel};
use ipcperf_core::{
    BackPressure, Direction, Family, Idle, Limit, OnClose, Payload, Placement, Spec, Syscalls,
};
use std::collections::BTreeMap;

/// How many CPUs it has.
pub(super) const CPUS: usize = 2;

/// What a cache line takes there and back, between two cores and on one, ns.
pub(super) const CACHE_LINE_NS: f64 = 65.0;
pub(super) const ONE_CORE_NS: f64 = 27.0;

/// A step of a calculation, ns.
pub(super) const STEP_NS: f64 = 2.0;

/// A system call that does nothing, ns.
const SYSTEM_CALL_NS: f64 = 100.0;

/// Facts of what is simulated.
pub(super) const SPEC: Spec = Spec {
    name: "simulated",
    family: Family::Queue,
    summary: "Times that are drawn from a seed.",
    payload: Payload::Message {
        max: Some(Limit { bytes: 1 << 20, set_by: "the simulation", raise: "nothing" }),
    },
    direction: Direction::TwoWay,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    copies: 2,
    syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
    ..Spec::NOTHING
};

/// What its documents say of it.
pub(super) fn machine() -> Machine {
    let cpus: Vec<usize> = (0..CPUS).collect();
    Machine {
        host: Host {
            arch: "simulated".to_owned(),
            cpu_model: "simulated".to_owned(),
            cpus_online: cpus.clone(),
            cpus_allowed: cpus,
            cores: CPUS as u64,
            last_level_caches: 1,
            nodes: 1,
            memory_bytes: 1 << 32,
            ..Host::default()
        },
        kernel: Kernel { release: "simulated".to_owned(), ..Kernel::default() },
        findings: Vec::new(),
        caches_described: true,
        no_energy: Some("a simulated machine has no energy counters".to_owned()),
        tick_ns: 10_000_000,
    }
}

/// The same for each CPU.
pub(super) fn on_each_cpu<T>(mut of: impl FnMut() -> T) -> BTreeMap<usize, T> {
    (0..CPUS).map(|cpu| (cpu, of())).collect()
}

/// Its limits, by how many ticks so many nanoseconds are.
pub(super) fn bounds(ticks: impl Fn(f64) -> f64) -> BoundReadings {
    let mut bounds = BoundReadings::default();
    for name in ["syscall", "syscall:least"] {
        bounds.alone.insert(name.to_owned(), ticks(SYSTEM_CALL_NS));
    }
    for size in crate::bounds::COPY_SIZES {
        // Ten bytes in a nanosecond, and twelve of which one side stays in the cache.
        bounds.alone.insert(format!("copy:{size}"), ticks(size as f64 / 10.0));
        bounds.alone.insert(format!("half:{size}"), ticks(size as f64 / 12.0));
    }
    let placement = Placement::SameLlc;
    bounds.cacheline.insert(placement, vec![ticks(CACHE_LINE_NS)]);
    bounds.futex.insert((placement, Idle::AsIs), vec![ticks(2000.0); 3]);
    bounds.cpus.insert(placement, (0..CPUS).collect());
    bounds
}
