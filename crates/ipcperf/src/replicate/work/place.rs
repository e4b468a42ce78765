//! Where the two processes of an experiment run that pinned them to two cores, and what a tick of their clock is.

use ipcperf_core::Placement;
use ipcperf_sys::affinity;
use ipcperf_sys::topology::Topology;

/// Two CPUs, as close as separate cores are. On a machine with one it is that one twice, unless both ends spin.
///
/// # Errors
/// There are no two, or none can be read.
pub(super) fn pair(spins: bool) -> Result<[usize; 2], String> {
    let allowed = affinity::allowed_cpus().map_err(|error| format!("affinity: {error}"))?;
    choose(&Topology::read(&allowed), spins)
}

fn choose(topology: &Topology, spins: bool) -> Result<[usize; 2], String> {
    let placement = topology.two_cpus().unwrap_or(Placement::SameCpu);
    if spins && placement == Placement::SameCpu {
        return Err("two ends that spin need two CPUs, and one is allowed here".into());
    }
    topology
        .pair(placement)
        .and_then(|pair| pair.try_into().ok())
        .ok_or_else(|| topology.objection(placement))
}

/// Nanoseconds per tick, from two readings of ticks and nanoseconds.
pub(super) fn rate(before: (u64, u64), after: (u64, u64)) -> f64 {
    let (ticks, nanos) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    nanos as f64 / ticks.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::topology::Cpu;

    #[test]
    fn one_cpu_will_do_for_ends_that_sleep() {
        let cpu = |id| Cpu { id, core: id, llc: 0, node: 0 };
        let one = Topology { cpus: vec![cpu(3)] };
        assert_eq!(choose(&one, false), Ok([3, 3]));
        assert!(choose(&one, true).expect_err("a reason").contains("two CPUs"));
        let two = Topology { cpus: vec![cpu(0), cpu(1)] };
        assert_eq!(choose(&two, true), Ok([0, 1]));
        assert!(choose(&Topology::default(), false).is_err());
    }

    #[test]
    fn a_tick_is_as_long_as_both_readings_say() {
        assert!((rate((1000, 500), (4000, 1500)) - 1.0 / 3.0).abs() < 1e-12);
    }
}
