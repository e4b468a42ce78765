//! Readers of `/proc` and `/sys`: a kernel or a container may show anything.

use ipcperf_core::Placement;
use ipcperf_sys::procfs;
use ipcperf_sys::topology::{Topology, cpu_list};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// The files of a machine of two CPUs.
const FILES: [&str; 15] = [
    "system/node/node0/cpulist",
    "system/node/node1/cpulist",
    "system/cpu/present",
    "system/cpu/online",
    "system/cpu/cpu0/topology/thread_siblings_list",
    "system/cpu/cpu1/topology/thread_siblings_list",
    "system/cpu/cpu0/cache/index0/level",
    "system/cpu/cpu0/cache/index0/shared_cpu_list",
    "system/cpu/cpu1/cache/index0/level",
    "system/cpu/cpu1/cache/index0/shared_cpu_list",
    "system/cpu/cpu1/cache/index1/level",
    "system/cpu/cpu0/cpu_capacity",
    "system/cpu/cpu1/cpu_capacity",
    "cpu_core/cpus",
    "cpu_atom/cpus",
];

static ROOT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let root = root.expect("a temporary folder");
    for file in FILES {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    }
    root
});

pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = procfs::count_interrupts(&text, &[0, 1]);
    let _ = procfs::rest_ticks(&text);
    let share = procfs::share_stolen(&text);
    assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{share:?}");
    let mhz = procfs::named_in(&text);
    assert!(mhz.is_none_or(|mhz| mhz.is_finite() && mhz > 0.0), "{mhz:?}");
    for folder in procfs::group_folders(&text) {
        assert!(folder.starts_with("/sys/fs/cgroup"), "{}", folder.display());
    }
    let cpus = cpu_list(&text);
    let written: Vec<String> = cpus.iter().take(1000).map(usize::to_string).collect();
    assert_eq!(cpu_list(&written.join(",")), cpus[..written.len()]);
    topology(ROOT.path(), &text);
}

/// A line for each file. What is found is among what is allowed.
fn topology(root: &Path, text: &str) {
    let mut lines = text.split('\n');
    for file in FILES {
        fs::write(root.join(file), lines.next().unwrap_or_default()).expect("written");
    }
    let allowed = [0, 1];
    let topology = Topology::read_from(root, &allowed);
    assert_eq!(topology.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>(), allowed);
    let classes = Placement::words().map(|word| word.parse().expect("a class"));
    let numbers = ["0,7", "0,free", "free,7"].map(|word| word.parse().expect("numbers"));
    for placement in classes.chain(numbers) {
        let objection = topology.objection(placement);
        match topology.pair(placement) {
            Some(pair) => assert!(pair.iter().all(|cpu| allowed.contains(cpu)), "{pair:?}"),
            None => assert!(!objection.is_empty() && !objection.contains('\n'), "{placement}"),
        }
    }
    let two = topology.two_cpus();
    assert!(two.is_none_or(|placement| topology.pair(placement).is_some()), "{two:?}");
}
