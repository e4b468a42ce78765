//! What a document says of the machine.

use ipcperf_core::result::{ResultSet, Spread};
use ipcperf_judge::figures;
use ipcperf_render::doc::{Column, Row, Section, Table};
use ipcperf_render::text;

/// Its facts, and the settings of its kernel.
pub(crate) fn section(set: &ResultSet) -> Section {
    Section::new("Machine", |body| {
        body.facts(facts(set).into_iter().filter(|(_, value)| !value.is_empty()));
        body.fold("Settings of the kernel", |body| {
            let settings = set.kernel.mitigations.iter().chain(&set.kernel.sysctl);
            let rows = settings.map(|(name, value)| Row::new([name.as_str(), value.as_str()]));
            body.table(Table::new(["setting", "value"].map(Column::text), rows));
        });
    })
}

fn facts(set: &ResultSet) -> Vec<(String, String)> {
    let (host, kernel) = (&set.host, &set.kernel);
    let optional = |value: &Option<String>| value.clone().unwrap_or_default();
    let spread = |spread: &Option<Spread>| spread.as_ref().map(|one| figures::nanos(one.median));
    let cpus = text::counted(host.cpus_allowed.len() as u64, "CPU");
    let cores = text::counted(host.cores, "core");
    let caches = text::counted(host.last_level_caches, "last-level cache");
    let nodes = text::counted(host.nodes, "node");
    let kinds = host.core_kinds.iter().map(|kind| {
        let cpus: Vec<String> = kind.cpus.iter().map(ToString::to_string).collect();
        format!("{} (CPU {})", kind.name, cpus.join(" "))
    });
    let memory = host.memory_bytes as f64 / f64::from(1 << 30);
    let labels = set.origin.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let mut facts: Vec<(String, String)> = [
        ("Labels", labels.collect::<Vec<_>>().join(", ")),
        ("CPU", host.cpu_model.clone()),
        ("Topology", format!("{cpus}, {cores}, {caches}, {nodes}")),
        ("Core kinds", kinds.collect::<Vec<_>>().join(", ")),
        ("Memory", format!("{memory:.1} GiB")),
        ("Kernel", format!("Linux {} ({})", kernel.release, host.arch)),
        ("Scheduling", kernel.scheduling()),
        ("Shared huge pages", optional(&kernel.shmem_huge_pages)),
        ("Hypervisor", optional(&host.hypervisor)),
        ("Container", optional(&host.container)),
        ("CPU limit", optional(&host.cpu_limit)),
        ("Frequency", optional(&host.frequency)),
        ("Idle", optional(&host.idle)),
        ("Clock", set.clock.source.clone()),
        ("System call", spread(&set.bounds.null_syscall_ns).unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let bounds = &set.bounds;
    let returns = bounds.return_after_switch_ns.as_ref().zip(bounds.return_after_call_ns.as_ref());
    facts.extend(returns.map(|(switch, call)| {
        // What noise leaves of nothing may be below it.
        let [switch, call] = [switch, call].map(|one| figures::nanos(one.median.max(0.0)));
        let words = format!("{switch} after a switch of tasks, {call} after a call without one");
        ("First return".to_owned(), words)
    }));
    facts.extend(set.bounds.pairs.iter().map(|pair| {
        let cpus: Vec<String> = pair.cpus.iter().map(ToString::to_string).collect();
        let line = spread(&pair.cacheline_rtt_ns).map(|ns| format!("cache-line round trip {ns}"));
        let wake =
            spread(&pair.futex_wake_rtt_ns).map(|ns| format!("futex wake-up round trip {ns}"));
        let both: Vec<String> = line.into_iter().chain(wake).collect();
        (format!("CPU {} ({})", text::join(&cpus), pair.placement), both.join(", "))
    }));
    facts
}
