//! What the figures were measured on, in one line each.

use std::fmt::Write;

/// A Markdown list: CPU, kernel, hypervisor, clock, date.
pub(crate) fn describe() -> String {
    let cpuinfo = read("/proc/cpuinfo");
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        writeln!(text, "- {name}: {value}").expect("a String takes all text");
    };
    line("CPU", cpu_model(&cpuinfo).unwrap_or("not stated by the kernel"));
    line("CPUs usable", &cpus.to_string());
    line("kernel", read("/proc/sys/kernel/osrelease").trim());
    line("hypervisor", &hypervisor(&cpuinfo));
    line(
        "clock source",
        read("/sys/devices/system/clocksource/clocksource0/current_clocksource").trim(),
    );
    line("date", &date());
    text
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The first of the names the architectures use for it.
fn cpu_model(cpuinfo: &str) -> Option<&str> {
    ["model name", "CPU part", "uarch"].iter().find_map(|key| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
        line.split_once(':').map(|(_, value)| value.trim())
    })
}

#[cfg(target_arch = "x86_64")]
fn hypervisor(cpuinfo: &str) -> String {
    let under_one =
        cpuinfo.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    if !under_one {
        return "none".to_owned();
    }
    // The leaf exists whenever the hypervisor flag is set; it holds twelve letters.
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let letters = String::from_utf8_lossy(&letters);
    letters.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor(_: &str) -> String {
    let vendor = read("/sys/class/dmi/id/sys_vendor");
    if vendor.trim().is_empty() { "unknown".to_owned() } else { vendor.trim().to_owned() }
}

/// Today in UTC, as in 2026-11-20.
fn date() -> String {
    // SAFETY: all zeroes is a valid tm, and both places are alive.
    unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&now, &mut parts);
        format!("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_among_the_other_lines() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n";
        assert_eq!(cpu_model(cpuinfo), Some("AMD EPYC"));
    }

    #[test]
    fn the_date_has_the_form_that_sorts() {
        let date = date();
        assert_eq!(date.len(), 10, "{date}");
        assert!(date.as_str() > "2026", "{date}");
    }
}
