//! Kinds of cores: fast ones and thrifty ones in one machine, as the kernel tells them apart.

use super::list::cpu_list;
use ipcperf_core::result::CoreKind;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Event sources of x86 machines with several kinds of cores, the fastest kind first. Each lists the CPUs that it counts
/// events of; a machine of one kind has none of them (arch/x86/events/intel/core.c).
const SOURCES: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// Whether a CPU is of a faster kind than another one, by their capacities. Cores of one kind may differ in their highest
/// frequency; the scheduler does not count less than 5 % either (`capacity_greater` in kernel/sched/fair.c).
const fn is_faster(one: u64, other: u64) -> bool {
    one.saturating_mul(1024) > other.saturating_mul(1078)
}

/// The kinds of a machine with these CPUs, the fastest first, from a tree of `/sys/devices`; empty where it is one.
pub(super) fn read(root: &Path, cpus: &BTreeSet<usize>) -> Vec<CoreKind> {
    let capacity = |cpu: &usize| -> Option<u64> {
        let path = root.join(format!("system/cpu/cpu{cpu}/cpu_capacity"));
        fs::read_to_string(path).ok()?.trim().parse().ok().filter(|capacity| *capacity > 0)
    };
    let named = SOURCES.iter().filter_map(|name| {
        let list = fs::read_to_string(root.join(name).join("cpus")).ok()?;
        let own: BTreeSet<usize> = cpu_list(&list).into_iter().collect();
        let own: Vec<usize> = cpus.intersection(&own).copied().collect();
        let capacity = own.iter().filter_map(capacity).max();
        (!own.is_empty()).then(|| CoreKind { name: (*name).to_owned(), capacity, cpus: own })
    });
    let mut kinds: Vec<CoreKind> = named.collect();
    if kinds.is_empty() {
        kinds = by_capacity(cpus.iter().filter_map(|cpu| Some((capacity(cpu)?, *cpu))).collect());
    }
    if kinds.len() < 2 { Vec::new() } else { kinds }
}

fn by_capacity(mut cpus: Vec<(u64, usize)>) -> Vec<CoreKind> {
    cpus.sort_by_key(|(capacity, cpu)| (std::cmp::Reverse(*capacity), *cpu));
    let mut kinds: Vec<CoreKind> = Vec::new();
    for (capacity, cpu) in cpus {
        match kinds.last_mut() {
            Some(kind) if !is_faster(kind.capacity.unwrap_or(0), capacity) => kind.cpus.push(cpu),
            _ => kinds.push(CoreKind {
                name: format!("capacity {capacity}"),
                capacity: Some(capacity),
                cpus: vec![cpu],
            }),
        }
    }
    for kind in &mut kinds {
        kind.cpus.sort_unstable();
    }
    kinds
}

#[cfg(test)]
mod tests {
    use crate::topology::Topology;
    use ipcperf_core::Placement;
    use std::fs;

    /// `/sys/devices` of a machine with four cores of two threads (CPUs 0 to 7) and two clusters of four small cores (8 to
    /// 15), all of which share the last-level cache.
    const HYBRID: &str = include_str!("fixtures/intel-hybrid.txt");
    /// Of one with four small cores (CPUs 0 to 3) and two large ones (4 and 5), whose clusters share no cache.
    const BIG_LITTLE: &str = include_str!("fixtures/arm-big-little.txt");

    /// The tree of a file of lines `PATH:CONTENT`, as `grep -r .` writes it, seen from these CPUs.
    fn machine(files: &str, allowed: &[usize]) -> Topology {
        let root = tempfile::tempdir().expect("a temporary folder");
        for line in files.lines() {
            let (path, content) = line.split_once(':').expect("a path and what is there");
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, format!("{content}\n")).expect("a file");
        }
        Topology::read_from(root.path(), allowed)
    }

    fn all(files: &str) -> Topology {
        let cpus = files.lines().filter(|line| line.contains("/thread_siblings_list:")).count();
        machine(files, &(0..cpus).collect::<Vec<_>>())
    }

    /// Name, capacity and CPUs of each kind.
    fn kinds(topology: &Topology) -> Vec<(&str, Option<u64>, Vec<usize>)> {
        let kinds = topology.kinds.iter();
        kinds.map(|kind| (kind.name.as_str(), kind.capacity, kind.cpus.clone())).collect()
    }

    #[test]
    fn a_hybrid_machine_has_the_kinds_that_its_event_sources_name() {
        let here = all(HYBRID);
        assert_eq!(
            kinds(&here),
            [("cpu_core", None, (0..8).collect()), ("cpu_atom", None, (8..16).collect())]
        );
        for (placement, pair) in [
            (Placement::PCores, [5, 7]),
            (Placement::ECores, [14, 15]),
            (Placement::CrossKind, [7, 15]),
            // Without a wish for a kind: the fast ones.
            (Placement::SameCpu, [7, 7]),
            (Placement::Smt, [6, 7]),
            (Placement::SameLlc, [5, 7]),
        ] {
            assert_eq!(here.pair(placement), Some(pair.to_vec()), "{placement}");
        }
        assert_eq!(here.two_cpus(), Some(Placement::SameLlc));
    }

    #[test]
    fn capacities_tell_kinds_apart_where_no_event_source_does() {
        let here = all(BIG_LITTLE);
        assert_eq!(
            kinds(&here),
            [
                ("capacity 1024", Some(1024), vec![4, 5]),
                ("capacity 381", Some(381), vec![0, 1, 2, 3])
            ]
        );
        for (placement, pair) in [
            (Placement::PCores, [4, 5]),
            (Placement::ECores, [2, 3]),
            (Placement::CrossKind, [3, 5]),
            (Placement::SameCpu, [5, 5]),
            (Placement::SameLlc, [4, 5]),
            // Nothing else there shares no cache.
            (Placement::CrossLlc, [3, 5]),
        ] {
            assert_eq!(here.pair(placement), Some(pair.to_vec()), "{placement}");
        }
    }

    /// One large core, three of another kind, four small ones; two of the middle kind are a little faster.
    #[test]
    fn of_three_kinds_the_ends_of_the_range_have_names_and_a_class_stays_on_one_kind() {
        let capacities = [160, 160, 160, 160, 498, 512, 512, 1024];
        let files = capacities.iter().enumerate().map(|(cpu, capacity)| {
            let at = format!("system/cpu/cpu{cpu}");
            format!(
                "{at}/cpu_capacity:{capacity}\n{at}/topology/thread_siblings_list:{cpu}\n\
                 {at}/cache/index3/level:3\n{at}/cache/index3/shared_cpu_list:0-7\n"
            )
        });
        let here = all(&files.collect::<String>());
        let cpus: Vec<_> = here.kinds.iter().map(|kind| kind.cpus.clone()).collect();
        assert_eq!(cpus, [vec![7], vec![4, 5, 6], vec![0, 1, 2, 3]]);
        assert_eq!(here.pair(Placement::SameLlc), Some(vec![5, 6]));
        assert_eq!(here.pair(Placement::CrossKind), Some(vec![3, 7]));
        assert_eq!(here.pair(Placement::PCores), None);
        assert_eq!(
            here.objection(Placement::PCores),
            "no two cores of the fastest kind (capacity 1024: 7) are among the allowed CPUs"
        );
    }

    #[test]
    fn what_is_of_one_kind_or_not_allowed_is_refused_with_the_reason() {
        let small = machine(HYBRID, &[8, 9]);
        assert_eq!(small.kinds.len(), 2, "kinds are facts of the machine");
        for (placement, reason) in [
            (
                Placement::PCores,
                "no two cores of the fastest kind (cpu_core: 0-7) are among the allowed CPUs",
            ),
            (
                Placement::CrossKind,
                "the allowed CPUs are not of both the fastest and the slowest kind (cpu_core: 0-7; cpu_atom: 8-15)",
            ),
        ] {
            assert_eq!(small.pair(placement), None);
            assert_eq!(small.objection(placement), reason);
        }
        assert_eq!(small.pair(Placement::ECores), Some(vec![8, 9]));
        // All the same, but for a favoured core: not 5 % faster.
        let even = "system/cpu/cpu0/cpu_capacity:1024\nsystem/cpu/cpu1/cpu_capacity:985";
        for files in ["", even, "system/cpu/cpu0/cpu_capacity:0", "cpu_core/cpus:0-1"] {
            let here = machine(files, &[0, 1]);
            assert!(here.kinds.is_empty(), "{:?}", here.kinds);
            for placement in [Placement::PCores, Placement::ECores, Placement::CrossKind] {
                assert_eq!(here.pair(placement), None);
                assert!(here.objection(placement).contains("of one kind"), "{placement}");
            }
        }
    }
}
