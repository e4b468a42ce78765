//! Which CPUs exist, what they share, and which pair stands for a placement. Read from sysfs; in a VM it is what the
//! hypervisor claims.

mod kinds;
mod list;

pub use list::cpu_list;

use ipcperf_core::Placement;
use ipcperf_core::result::CoreKind;
use list::ranges;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The allowed CPUs and what they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Ascending.
    pub cpus: Vec<Cpu>,
    /// All that the kernel knows of, also those that are not allowed; empty where it does not say.
    pub present: Vec<usize>,
    /// Those of them that run; empty where the kernel does not say.
    pub online: Vec<usize>,
    /// Kinds of cores of the whole machine, the fastest first; empty where there is one kind, or the kernel does not say.
    pub kinds: Vec<CoreKind>,
}

/// One logical CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: usize,
    /// Lowest CPU of its core: CPUs with the same value are hardware threads of one core.
    pub core: usize,
    /// Lowest CPU that shares its last-level cache.
    pub llc: usize,
    /// Its NUMA node.
    pub node: usize,
}

impl Topology {
    /// The allowed CPUs of this machine.
    #[must_use]
    pub fn read(allowed: &[usize]) -> Self {
        Self::read_from(Path::new("/sys/devices"), allowed)
    }

    /// The same from a captured tree of `/sys/devices`. What is not readable counts as not shared, except the
    /// node, which is then 0.
    #[must_use]
    pub fn read_from(root: &Path, allowed: &[usize]) -> Self {
        // By the names that are there: numbers of nodes may have gaps.
        let node_of: Vec<(usize, Vec<usize>)> = fs::read_dir(root.join("system/node"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let node = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
                let list = fs::read_to_string(entry.path().join("cpulist")).ok()?;
                Some((node, cpu_list(&list)))
            })
            .collect();
        let cpus = allowed
            .iter()
            .map(|&id| {
                let folder = root.join(format!("system/cpu/cpu{id}"));
                let lowest = |path: &str| {
                    let text = fs::read_to_string(folder.join(path)).ok()?;
                    cpu_list(&text).into_iter().min()
                };
                let core = lowest("topology/thread_siblings_list").unwrap_or(id);
                let llc = (0..8)
                    .filter_map(|index| {
                        let cache = folder.join(format!("cache/index{index}"));
                        let level: u32 =
                            fs::read_to_string(cache.join("level")).ok()?.trim().parse().ok()?;
                        let shared = fs::read_to_string(cache.join("shared_cpu_list")).ok()?;
                        Some((level, cpu_list(&shared).into_iter().min()?))
                    })
                    .max_by_key(|(level, _)| *level)
                    .map_or(core, |(_, lowest)| lowest);
                let node = node_of
                    .iter()
                    .find(|(_, cpus)| cpus.contains(&id))
                    .map_or(0, |(node, _)| *node);
                Cpu { id, core, llc, node }
            })
            .collect();
        let listed = |name: &str| {
            let text = fs::read_to_string(root.join("system/cpu").join(name)).unwrap_or_default();
            cpu_list(&text)
        };
        let present = listed("present");
        let known: BTreeSet<usize> = present.iter().chain(allowed).copied().collect();
        let kinds = kinds::read(root, &known);
        Self { cpus, present, online: listed("online"), kinds }
    }

    /// Which of the kinds a CPU is of: 0 for the fastest, also where there is one kind.
    fn kind(&self, cpu: usize) -> usize {
        self.kinds.iter().position(|kind| kind.cpus.contains(&cpu)).unwrap_or(0)
    }

    /// The CPUs of lead and follow, if the machine has such a pair among the allowed CPUs. Of a class two CPUs of one kind
    /// are taken where there are such, of the fastest kind, and of these the highest numbers, since low ones serve most
    /// interrupts. Empty for what [is free](Placement::is_free).
    #[must_use]
    pub fn pair(&self, placement: Placement) -> Option<Vec<usize>> {
        let kind = |cpu: &Cpu| self.kind(cpu.id);
        let slowest = self.kinds.len().saturating_sub(1);
        let are = |a: &Cpu, b: &Cpu, both: usize| {
            slowest > 0 && a.core != b.core && kind(a) == both && kind(b) == both
        };
        let fits = |a: &Cpu, b: &Cpu| match placement {
            Placement::SameCpu => a.id == b.id,
            Placement::Smt => a.id != b.id && a.core == b.core,
            Placement::SameLlc => a.core != b.core && a.llc == b.llc,
            Placement::CrossLlc => a.llc != b.llc && a.node == b.node,
            Placement::CrossNode => a.node != b.node,
            Placement::PCores => are(a, b, 0),
            Placement::ECores => are(a, b, slowest),
            Placement::CrossKind => {
                slowest > 0 && kind(a).min(kind(b)) == 0 && kind(a).max(kind(b)) == slowest
            }
            Placement::Free | Placement::Cpus { .. } | Placement::OneEnd { .. } => false,
        };
        if let Placement::OneEnd { cpu, .. } = placement {
            return self.allows(cpu.into()).then(Vec::new);
        }
        if placement == Placement::Free {
            return (!self.cpus.is_empty()).then(Vec::new);
        }
        if let Some(named) = placement.named() {
            return named.iter().all(|cpu| self.allows(*cpu)).then(|| named.to_vec());
        }
        let mut pairs = self.cpus.iter().rev().flat_map(|follow| {
            let leads = self.cpus.iter().rev().filter(|lead| lead.id <= follow.id);
            leads.filter(|lead| fits(lead, follow)).map(move |lead| [lead, follow])
        });
        let best = match slowest {
            // The first of them, without a look at all pairs of a large machine.
            0 => pairs.next(),
            _ => pairs.min_by_key(|[lead, follow]| {
                let (one, other) = (kind(lead), kind(follow));
                (one != other, one.max(other), lead.llc != follow.llc)
            }),
        };
        best.map(|pair| pair.map(|cpu| cpu.id).to_vec())
    }

    /// The CPUs of lead and follow of several channels, at most this number, no CPU twice; none for what
    /// [is free](Placement::is_free).
    #[must_use]
    pub fn pairs(&self, placement: Placement, most: usize) -> Vec<Vec<usize>> {
        let (mut left, mut pairs) = (self.clone(), Vec::new());
        while pairs.len() < most
            && let Some(pair) = left.pair(placement).filter(|pair| !pair.is_empty())
        {
            left.cpus.retain(|cpu| !pair.contains(&cpu.id));
            pairs.push(pair);
        }
        pairs
    }

    /// The class of two CPUs that a user most likely means by "on two CPUs": separate cores, as close as possible.
    #[must_use]
    pub fn two_cpus(&self) -> Option<Placement> {
        [Placement::SameLlc, Placement::CrossLlc, Placement::Smt, Placement::CrossNode]
            .into_iter()
            .find(|placement| self.pair(*placement).is_some())
    }

    fn allows(&self, cpu: usize) -> bool {
        self.cpus.iter().any(|one| one.id == cpu)
    }

    /// Why a CPU cannot be used that is not allowed.
    fn refusal(&self, cpu: usize) -> String {
        let lacks = |list: &[usize]| !list.is_empty() && !list.contains(&cpu);
        if lacks(&self.present) {
            format!("there is no CPU {cpu} here, only {}", ranges(&self.present))
        } else if lacks(&self.online) {
            format!("CPU {cpu} is offline")
        } else {
            let allowed: Vec<usize> = self.cpus.iter().map(|one| one.id).collect();
            format!("CPU {cpu} is not allowed here (affinity, cpuset), only {}", ranges(&allowed))
        }
    }

    /// Why a placement does not exist here.
    #[must_use]
    pub fn objection(&self, placement: Placement) -> String {
        let allowed = self.cpus.len();
        if let Some(named) = placement.named() {
            let refused = named.into_iter().filter(|cpu| !self.allows(*cpu));
            let reasons: BTreeSet<String> = refused.map(|cpu| self.refusal(cpu)).collect();
            return reasons.into_iter().collect::<Vec<_>>().join("; ");
        }
        match placement {
            Placement::OneEnd { cpu, .. } => self.refusal(cpu.into()),
            _ if allowed < 2 => format!("only {allowed} CPU is allowed here (affinity, cpuset)"),
            Placement::Smt => "no core has two hardware threads among the allowed CPUs".into(),
            Placement::SameLlc => {
                "no two cores share a last-level cache among the allowed CPUs".into()
            }
            Placement::CrossLlc => {
                "there is one last-level cache per NUMA node among the allowed CPUs".into()
            }
            Placement::CrossNode => "there is one NUMA node among the allowed CPUs".into(),
            Placement::PCores | Placement::ECores | Placement::CrossKind => {
                self.lacks_kinds(placement)
            }
            Placement::SameCpu | Placement::Free | Placement::Cpus { .. } => {
                "no CPU is allowed".into()
            }
        }
    }

    /// Why there is no pair of certain kinds.
    fn lacks_kinds(&self, placement: Placement) -> String {
        let words =
            |kind: &CoreKind| format!("{}: {}", kind.name, ranges(&kind.cpus).replace(',', ", "));
        match (placement, self.kinds.as_slice()) {
            (_, [] | [_]) => "all CPUs of this machine are of one kind, as far as the kernel says \
                              (cpu_capacity, cpu_core, cpu_atom)"
                .into(),
            (Placement::PCores, [fastest, ..]) => format!(
                "no two cores of the fastest kind ({}) are among the allowed CPUs",
                words(fastest)
            ),
            (Placement::ECores, [.., slowest]) => format!(
                "no two cores of the slowest kind ({}) are among the allowed CPUs",
                words(slowest)
            ),
            (_, [fastest, .., slowest]) => format!(
                "the allowed CPUs are not of both the fastest and the slowest kind ({}; {})",
                words(fastest),
                words(slowest)
            ),
        }
    }

    /// How many different values a property has.
    #[must_use]
    pub fn distinct(&self, property: impl Fn(&Cpu) -> usize) -> u64 {
        self.cpus.iter().map(property).collect::<BTreeSet<_>>().len() as u64
    }
}

/// The hypervisor by the name it gives itself in CPUID leaf 0x4000_0000; `None` on bare metal and where there is no
/// CPUID. The leaf exists only if the `hypervisor` flag is set, which the caller has read from `/proc/cpuinfo`.
#[must_use]
pub fn hypervisor() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
        let bytes: Vec<u8> =
            [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|word| word.to_le_bytes()).collect();
        let name: String = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
        let known = [
            ("KVMKVMKVM", "KVM"),
            ("VMwareVMware", "VMware"),
            ("Microsoft Hv", "Hyper-V"),
            ("XenVMMXenVMM", "Xen"),
            ("TCGTCGTCGTCG", "QEMU"),
        ];
        let known = known
            .iter()
            .find(|(signature, _)| *signature == name)
            .map(|(_, word)| (*word).to_owned());
        let is_readable = !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
        known.or_else(|| is_readable.then_some(name))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::Seat;

    /// Writes the tree of a machine: for each CPU its core's siblings, its cache's CPUs; nodes.
    fn tree(cpus: &[(&str, &str)], nodes: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        let put = |path: String, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        for (id, (siblings, cache)) in cpus.iter().enumerate() {
            put(format!("system/cpu/cpu{id}/topology/thread_siblings_list"), siblings);
            put(format!("system/cpu/cpu{id}/cache/index0/level"), "1\n");
            put(format!("system/cpu/cpu{id}/cache/index0/shared_cpu_list"), siblings);
            put(format!("system/cpu/cpu{id}/cache/index3/level"), "3\n");
            put(format!("system/cpu/cpu{id}/cache/index3/shared_cpu_list"), cache);
        }
        for (node, list) in nodes.iter().enumerate() {
            put(format!("system/node/node{node}/cpulist"), list);
        }
        root
    }

    #[test]
    fn two_sockets_with_hardware_threads_have_every_class_but_one() {
        // 2 nodes x 2 cores x 2 threads, one cache per node.
        let cpus = [
            ("0,4", "0-1,4-5"),
            ("1,5", "0-1,4-5"),
            ("2,6", "2-3,6-7"),
            ("3,7", "2-3,6-7"),
            ("0,4", "0-1,4-5"),
            ("1,5", "0-1,4-5"),
            ("2,6", "2-3,6-7"),
            ("3,7", "2-3,6-7"),
        ];
        let root = tree(&cpus, &["0-1,4-5", "2-3,6-7"]);
        let all = Topology::read_from(root.path(), &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(all.pair(Placement::SameCpu), Some(vec![7, 7]));
        assert_eq!(all.pair(Placement::Smt), Some(vec![3, 7]));
        assert_eq!(all.pair(Placement::SameLlc), Some(vec![6, 7]));
        assert_eq!(all.pair(Placement::CrossLlc), None);
        assert_eq!(all.pair(Placement::CrossNode), Some(vec![5, 7]));
        assert_eq!(all.two_cpus(), Some(Placement::SameLlc));
        let pairs = |place, most| all.pairs(place, most);
        assert_eq!(pairs(Placement::SameLlc, 9), [[6, 7], [4, 5], [2, 3], [0, 1]]);
        assert_eq!(pairs(Placement::SameCpu, 3), [[7, 7], [6, 6], [5, 5]]);
        assert_eq!(pairs(Placement::Cpus { lead: 0, follow: 1 }, 9), [[0, 1]]);
        assert!(pairs(Placement::Free, 9).is_empty());
        let narrowed = Topology::read_from(root.path(), &[0, 4]);
        assert_eq!(narrowed.two_cpus(), Some(Placement::Smt));
        assert_eq!(narrowed.pair(Placement::SameLlc), None);
        assert!(narrowed.objection(Placement::SameLlc).contains("no two cores"));
    }

    #[test]
    fn numbers_of_nodes_may_have_gaps() {
        let cpus = [("0", "0"), ("1", "1"), ("2", "2")];
        let root = tree(&cpus, &["0", "1", "2"]);
        let node = |number: u32| root.path().join(format!("system/node/node{number}"));
        fs::rename(node(2), node(250)).expect("a folder");
        fs::rename(node(1), node(8)).expect("a folder");
        let all = Topology::read_from(root.path(), &[0, 1, 2]);
        assert_eq!(all.cpus.iter().map(|cpu| cpu.node).collect::<Vec<_>>(), [0, 8, 250]);
        assert_eq!(all.pair(Placement::CrossLlc), None);
        assert_eq!(all.pair(Placement::CrossNode), Some(vec![1, 2]));
    }

    #[test]
    fn two_cpus_by_their_numbers_are_those_or_the_reason_why_not() {
        let root = tree(&[("0", "0-3"), ("1", "0-3"), ("2", "0-3"), ("3", "0-3")], &["0-3"]);
        let says = |name: &str, list: &str| {
            fs::write(root.path().join("system/cpu").join(name), list).expect("a file");
        };
        says("present", "0-3\n");
        says("online", "0-2\n");
        let here = Topology::read_from(root.path(), &[0, 1]);
        let place = |lead, follow| Placement::Cpus { lead, follow };
        assert_eq!(here.pair(place(1, 0)), Some(vec![1, 0]), "in the order that was asked for");
        assert_eq!(here.pair(place(1, 1)), Some(vec![1, 1]));
        for (asked, reason) in [
            (place(0, 9), "there is no CPU 9 here, only 0-3"),
            (place(3, 0), "CPU 3 is offline"),
            (place(2, 2), "CPU 2 is not allowed here (affinity, cpuset), only 0-1"),
            (place(9, 3), "CPU 3 is offline; there is no CPU 9 here, only 0-3"),
        ] {
            assert_eq!(here.pair(asked), None, "{asked}");
            assert_eq!(here.objection(asked), reason);
        }
        for seat in Seat::BOTH {
            let alone = |cpu| Placement::OneEnd { seat, cpu };
            assert_eq!(here.pair(alone(1)), Some(vec![]), "no pair is needed");
            assert_eq!(here.pair(alone(9)), None);
            assert_eq!(here.objection(alone(9)), "there is no CPU 9 here, only 0-3");
        }
        let silent = Topology::read_from(Path::new("/nonexistent"), &[0]);
        assert!(silent.objection(place(0, 5)).contains("CPU 5 is not allowed here"));
    }

    #[test]
    fn caches_split_inside_a_node_are_cross_llc() {
        let root = tree(&[("0", "0-1"), ("1", "0-1"), ("2", "2-3"), ("3", "2-3")], &["0-3"]);
        let topology = Topology::read_from(root.path(), &[0, 1, 2, 3]);
        assert_eq!(topology.pair(Placement::CrossLlc), Some(vec![1, 3]));
        assert_eq!((topology.distinct(|cpu| cpu.llc), topology.distinct(|cpu| cpu.node)), (2, 1));
    }

    #[test]
    fn without_sysfs_every_cpu_stands_alone_on_node_0() {
        let topology = Topology::read_from(Path::new("/nonexistent"), &[0, 1]);
        assert_eq!(topology.two_cpus(), Some(Placement::CrossLlc));
        assert_eq!(Topology::read_from(Path::new("/nonexistent"), &[3]).two_cpus(), None);
    }

    #[test]
    fn hostile_lists_are_cut_short() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("5-3,x,,7"), [7]);
        assert_eq!(ranges(&cpu_list("0-3,8,10-11")), "0-3,8,10-11");
        assert!(cpu_list("0-99999999999").len() <= 65_537);
        assert!(cpu_list("18446744073709551615-18446744073709551615").len() <= 65_537);
    }
}
