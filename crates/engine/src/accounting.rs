//! How the kernel divides the CPU time of a process into user and system.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::Read;

/// Whichever of the two runs when the clock ticks gets the whole tick; the sum is exact, its division an estimate.
pub(crate) const TICK: &str = "tick";
/// At every change between them.
pub(crate) const PRECISE: &str = "precise";
/// The kernel does not say.
pub(crate) const UNKNOWN: &str = "unknown";

/// A kernel configuration is a quarter of a megabyte; whatever is longer is none.
const LONGEST: u64 = 4 << 20;

/// The accounting of this kernel, which was built with this configuration.
pub(crate) fn read(configuration: Option<&str>) -> &'static str {
    let tickless = fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    configuration.map_or(UNKNOWN, |text| of(text, &tickless))
}

/// The configuration that the running kernel shows, or that its package left beside it.
pub(crate) fn configuration() -> Option<String> {
    let mut text = String::new();
    if let Ok(file) = File::open("/proc/config.gz") {
        GzDecoder::new(file).take(LONGEST).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    let release = ipcperf_sys::procfs::text("/proc/sys/kernel/osrelease")?;
    File::open(format!("/boot/config-{release}"))
        .ok()?
        .take(LONGEST)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

fn of(configuration: &str, tickless: &str) -> &'static str {
    let has = |name: &str| {
        configuration.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest == "=y"))
    };
    // The generic way is in most distribution kernels and works only on CPUs that run without a tick, of which there
    // are none unless somebody asked for them at boot.
    let is_generic = has("CONFIG_VIRT_CPU_ACCOUNTING_GEN");
    let is_used = tickless.trim().starts_with(|sign: char| sign.is_ascii_digit());
    if has("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE") {
        PRECISE
    } else if has("CONFIG_TICK_CPU_ACCOUNTING") || (is_generic && !is_used) {
        TICK
    } else {
        // Precise on some CPUs and not on others.
        UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generic_way_counts_only_where_cpus_run_without_a_tick() {
        let generic = "# CONFIG_TICK_CPU_ACCOUNTING is not set\nCONFIG_VIRT_CPU_ACCOUNTING_GEN=y\n";
        assert_eq!(of(generic, "\n"), TICK);
        assert_eq!(of(generic, "(null)\n"), TICK);
        assert_eq!(of(generic, "2-3\n"), UNKNOWN);
        assert_eq!(of("CONFIG_TICK_CPU_ACCOUNTING=y\n", ""), TICK);
        assert_eq!(of("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", ""), PRECISE);
        assert_eq!(of("# CONFIG_TICK_CPU_ACCOUNTING is not set\n", ""), UNKNOWN);
        assert!([TICK, PRECISE, UNKNOWN].contains(&read(configuration().as_deref())));
    }
}
