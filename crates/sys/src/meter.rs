//! The whole machine while something happens: busy time of all CPUs, and the energy of the processor packages where it
//! may be read.

use crate::clock::raw_ns;
use crate::procfs;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The shortest window in which the energy counters say something: they step about once in a millisecond, and what
/// the rest of a package draws changes from one to the next.
pub const ENERGY_WINDOW_NS: u64 = 1_000_000_000;

/// Where the kernel shows the energy counters.
const POWERCAP: &str = "/sys/class/powercap";

/// The counters of this machine. Made once: looking for them is no business of a window.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    packages: Vec<Package>,
}

/// One processor package.
#[derive(Clone, Debug)]
struct Package {
    counter: PathBuf,
    /// The counter goes from here back to 0.
    range_uj: u64,
}

/// What the counters showed at one moment.
#[derive(Clone, Debug)]
pub struct CounterReading {
    at_ns: u64,
    /// CPUs, and how long they have not run anything.
    rest: Option<(usize, u64)>,
    energy_uj: Vec<u64>,
}

/// What happened between two readings, or in several such windows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Length, ns.
    pub window_ns: u64,
    /// Busy time of all CPUs, ns.
    pub busy_ns: Option<u64>,
    /// Energy of all packages, uJ; `None` if it is not readable or a window was below [`ENERGY_WINDOW_NS`].
    pub energy_uj: Option<u64>,
}

impl Meter {
    /// The counters this process may read.
    #[must_use]
    pub fn find() -> Self {
        Self { packages: packages(Path::new(POWERCAP)).unwrap_or_default() }
    }

    /// Why there is no energy; `None` if there is.
    #[must_use]
    pub fn energy_objection() -> Option<String> {
        packages(Path::new(POWERCAP)).err()
    }

    /// Reads all of them.
    #[must_use]
    pub fn read(&self) -> CounterReading {
        let energy = self.packages.iter().map_while(|package| number(&package.counter));
        CounterReading { energy_uj: energy.collect(), rest: procfs::rest_ns(), at_ns: raw_ns() }
    }

    /// What happened since `before`.
    #[must_use]
    pub fn since(&self, before: &CounterReading) -> Span {
        self.between(before, &self.read())
    }

    fn between(&self, before: &CounterReading, after: &CounterReading) -> Span {
        let window_ns = after.at_ns.saturating_sub(before.at_ns);
        let is_complete = !self.packages.is_empty()
            && [before, after].iter().all(|one| one.energy_uj.len() == self.packages.len());
        let grown = self.packages.iter().zip(before.energy_uj.iter().zip(&after.energy_uj));
        let energy: u64 = grown.map(|(package, (old, new))| package.grown(*old, *new)).sum();
        Span {
            window_ns,
            busy_ns: busy(before.rest, after.rest, window_ns),
            energy_uj: (is_complete && window_ns >= ENERGY_WINDOW_NS).then_some(energy),
        }
    }
}

/// The time all CPUs have, less the time they did not run anything. `None` if CPUs came or went.
fn busy(before: Option<(usize, u64)>, after: Option<(usize, u64)>, window_ns: u64) -> Option<u64> {
    let ((cpus, old), (still, new)) = (before?, after?);
    let all = window_ns.saturating_mul(cpus as u64);
    (cpus == still).then(|| all.saturating_sub(new.saturating_sub(old)))
}

impl Package {
    /// Energy between two readings; the counter wraps around at most once in a window of sensible length (at 300 W
    /// the smallest known range lasts three minutes).
    fn grown(&self, old: u64, new: u64) -> u64 {
        if new >= old { new - old } else { self.range_uj.saturating_sub(old).saturating_add(new) }
    }
}

impl Span {
    /// Adds another window. What is missing in one is missing in the sum.
    pub fn add(&mut self, more: Self) {
        let is_first = self.window_ns == 0;
        let sum =
            |old: Option<u64>, new: Option<u64>| if is_first { new } else { Some(old? + new?) };
        self.busy_ns = sum(self.busy_ns, more.busy_ns);
        self.energy_uj = sum(self.energy_uj, more.energy_uj);
        self.window_ns += more.window_ns;
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The package counters below `root`, or why there are none. A package's parts (`intel-rapl:0:1`) are in its own
/// figure already, and a second driver (`intel-rapl-mmio`) counts the same packages again.
fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let folders = fs::read_dir(root).map_err(|_| {
        format!("the kernel shows no energy counters ({} is missing)", root.display())
    })?;
    let mut packages = Vec::new();
    for folder in folders.flatten().map(|entry| entry.path()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_zone = name.strip_prefix("intel-rapl:").is_some_and(|rest| !rest.contains(':'));
        let label = fs::read_to_string(folder.join("name")).unwrap_or_default();
        if !is_zone || !label.starts_with("package") {
            continue;
        }
        let counter = folder.join("energy_uj");
        if let Err(error) = fs::read_to_string(&counter) {
            let words =
                error.raw_os_error().map_or_else(|| error.to_string(), ipcperf_core::errno::text);
            return Err(format!("{} is not readable ({words})", counter.display()));
        }
        let range = number(&folder.join("max_energy_range_uj"));
        let range_uj = range.ok_or_else(|| format!("{name} does not name its range"))?;
        packages.push(Package { counter, range_uj });
    }
    if packages.is_empty() {
        return Err(format!("{} has no processor package", root.display()));
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_s: u64, rest_ns: u64, energy_uj: &[u64]) -> CounterReading {
        let at_ns = at_s * 1_000_000_000;
        CounterReading { at_ns, rest: Some((2, rest_ns)), energy_uj: energy_uj.to_vec() }
    }

    fn meter(ranges: &[u64]) -> Meter {
        let package = |range: &u64| Package { counter: PathBuf::new(), range_uj: *range };
        Meter { packages: ranges.iter().map(package).collect() }
    }

    #[test]
    fn a_counter_that_wrapped_around_goes_on() {
        let two = meter(&[1000, 262_143_328_850]);
        let span = two.between(&reading(1, 5, &[900, 262_143_328_000]), &reading(3, 9, &[50, 100]));
        assert_eq!(span.energy_uj, Some(150 + 950));
        assert_eq!((span.window_ns, span.busy_ns), (2_000_000_000, Some(3_999_999_996)));
        assert_eq!(busy(Some((2, 0)), Some((1, 0)), 9), None);
        assert_eq!(busy(Some((2, 0)), Some((2, 30)), 9), Some(0), "steps of 10 ms");
        let forward = two.between(&reading(1, 5, &[900, 7]), &reading(3, 9, &[901, 7]));
        assert_eq!(forward.energy_uj, Some(1));
    }

    #[test]
    fn what_is_not_read_is_missing_and_never_zero() {
        let one = meter(&[1000]);
        let before = reading(1, 5, &[900]);
        assert_eq!(one.between(&before, &reading(1, 9, &[950])).energy_uj, None, "below a second");
        assert_eq!(one.between(&before, &reading(3, 9, &[])).energy_uj, None);
        assert_eq!(meter(&[]).between(&before, &reading(3, 9, &[])).energy_uj, None);
        let mut sum = Span::default();
        let full = Span { window_ns: 10, busy_ns: Some(3), energy_uj: Some(4) };
        sum.add(full);
        sum.add(full);
        assert_eq!(sum, Span { window_ns: 20, busy_ns: Some(6), energy_uj: Some(8) });
        sum.add(Span { energy_uj: None, ..full });
        sum.add(full);
        assert_eq!(sum, Span { window_ns: 40, busy_ns: Some(12), energy_uj: None });
    }

    #[test]
    fn only_whole_packages_that_can_be_read_are_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("powercap");
        let zone = |name: &str, label: &str, files: &[(&str, &str)]| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            for (file, text) in [("name", label)].iter().chain(files) {
                fs::write(folder.join(file), text).expect("a file");
            }
        };
        let energy = [("energy_uj", "77\n"), ("max_energy_range_uj", "1000\n")];
        zone("intel-rapl:0:0", "core", &energy);
        zone("intel-rapl-mmio:0", "package-0", &energy);
        zone("intel-rapl:1", "psys", &energy);
        assert!(packages(&root).expect_err("no package").contains("no processor package"));
        zone("intel-rapl:0", "package-0\n", &energy);
        let found = Meter { packages: packages(&root).expect("one package") };
        assert_eq!(found.read().energy_uj, [77]);
        fs::remove_file(root.join("intel-rapl:0/energy_uj")).expect("it is there");
        assert!(packages(&root).expect_err("not readable").contains("energy_uj is not readable"));
        fs::remove_dir_all(&root).expect("it is ours");
        assert!(packages(&root).expect_err("missing").contains("no energy counters"));
    }
}
