//! Facts about the machine that can change a number. No host name, no user name, no address.

use crate::{accounting, scheduling};
use ipcperf_core::map_of;
use ipcperf_core::result::{Host, Kernel};
use ipcperf_sys::procfs::text;
use ipcperf_sys::topology::{Topology, cpu_list, hypervisor as hypervisor_name};
use ipcperf_sys::{affinity, clock, network, procfs, qos};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The machine as this process sees it.
#[must_use]
pub fn host() -> Host {
    let allowed = affinity::allowed_cpus().unwrap_or_default();
    let topology = Topology::read(&allowed);
    let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
    let cpu = |field: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(field))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let joined = |paths: [&str; 2]| {
        let parts: Vec<_> = paths.iter().filter_map(|path| text(path)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    Host {
        arch: std::env::consts::ARCH.into(),
        cpu_model: cpu("model name").or_else(|| cpu("CPU implementer")).unwrap_or_default(),
        microcode: cpu("microcode"),
        cpus_online: text("/sys/devices/system/cpu/online")
            .map_or_else(|| allowed.clone(), |list| cpu_list(&list)),
        cores: topology.distinct(|cpu| cpu.core),
        last_level_caches: topology.distinct(|cpu| cpu.llc),
        nodes: topology.distinct(|cpu| cpu.node),
        core_kinds: topology.kinds,
        cpus_allowed: allowed,
        memory_bytes: procfs::memory_bytes("MemTotal").unwrap_or(0),
        hypervisor: hypervisor(&cpuinfo),
        container: container(),
        cpu_limit: procfs::cpu_limit(),
        frequency: joined([
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ]),
        idle: joined([
            "/sys/devices/system/cpu/cpuidle/current_driver",
            "/sys/devices/system/cpu/cpuidle/current_governor",
        ]),
        may_poll_idle: qos::PollIdle::objection().is_none(),
    }
}

fn hypervisor(cpuinfo: &str) -> Option<String> {
    let flagged = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let named = flagged.then(hypervisor_name).flatten().or_else(|| text("/sys/hypervisor/type"));
    named.or_else(|| flagged.then(|| "unnamed".into()))
}

fn container() -> Option<String> {
    // Set in every container of a pod. With containerd and control groups v2 nothing else below tells.
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("kubernetes".into());
    }
    if fs::exists("/.dockerenv").unwrap_or(false) {
        return Some("docker".into());
    }
    if fs::exists("/run/.containerenv").unwrap_or(false) {
        return Some("podman".into());
    }
    let groups = text("/proc/self/cgroup")?;
    ["kubepods", "docker", "lxc", "libpod"]
        .into_iter()
        .find(|name| groups.contains(name))
        .map(str::to_owned)
}

/// Settings of the kernel that change IPC.
const SETTINGS: &[&str] = &[
    "fs/pipe-max-size",
    "fs/pipe-user-pages-soft",
    "fs/mqueue/msg_max",
    "fs/mqueue/msgsize_max",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/randomize_va_space",
    "kernel/sched_rt_runtime_us",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/core/busy_poll",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/unix/max_dgram_qlen",
    "vm/nr_hugepages",
];

/// The loopback interface by what its packets pass.
fn loopback() -> BTreeMap<String, String> {
    let Some(found) = network::loopback() else { return BTreeMap::new() };
    let filters = found.filters.map(|count| ("filters".to_owned(), count.to_string()));
    let known = [("mtu".to_owned(), found.mtu.to_string()), ("qdisc".to_owned(), found.qdisc)];
    known.into_iter().chain(filters).collect()
}

/// The kernel as this process sees it.
#[must_use]
pub fn kernel() -> Kernel {
    let mut mitigations = BTreeMap::new();
    if let Ok(folder) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") {
        for entry in folder.flatten() {
            if let (Some(name), Some(state)) =
                (entry.file_name().to_str(), text(&entry.path().to_string_lossy()))
            {
                mitigations.insert(name.to_owned(), state);
            }
        }
    }
    let setting = |name: &&str| Some((name.replace('/', "."), text(&format!("/proc/sys/{name}"))?));
    let sysctl = map_of(SETTINGS.iter().filter_map(setting));
    let configuration = accounting::configuration();
    let mut kernel = Kernel {
        release: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        version: text("/proc/sys/kernel/version").unwrap_or_default(),
        mitigations,
        sysctl,
        loopback: loopback(),
        cpu_accounting: accounting::read(configuration.as_deref()).into(),
        ..Kernel::default()
    };
    let step = clock::coarse_step_ns();
    scheduling::describe(&mut kernel, Path::new("/"), configuration.as_deref(), step);
    kernel
}
