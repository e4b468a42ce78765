//! Lists what is open in this process, and what is left behind on the host.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The descriptors and mappings of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Descriptors {
    pub(crate) fds: Vec<Descriptor>,
    /// Mappings, and bytes of address space they take.
    pub(crate) mappings: (u64, u64),
}

/// One open descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Descriptor {
    pub(crate) number: u32,
    /// What it is, as `/proc/self/fd` has it: `pipe:[4711]`.
    pub(crate) target: String,
    /// Access mode: 0 to read, 1 to write, 2 both (`open(2)`).
    pub(crate) access: u32,
    pub(crate) is_close_on_exec: bool,
}

/// `O_ACCMODE` and `O_CLOEXEC`, octal as in `/proc/self/fdinfo`; the same on every architecture this runs on.
const ACCESS: u32 = 0o3;
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Whether an address of this process lies in memory that other processes may map too; `None` where nothing is mapped. A
/// private mapping that cannot be written shows the pages of its file: a sealed memfd is mapped so.
pub(crate) fn is_shared(address: usize) -> Option<bool> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        // "rw-s": the last of the four letters tells shared from private.
        let shows_memfd = rest.starts_with("r--p") && rest.contains(" /memfd:");
        (number(from)?..number(to)?)
            .contains(&address)
            .then(|| rest.as_bytes().get(3) == Some(&b's') || shows_memfd)
    })
}

/// Mappings in the text of `/proc/self/maps`, and the bytes of them that the process can use. An allocator reserves 64 MiB
/// without any access for each further thread that asks it at the same time as another one.
fn mapped(maps: &str) -> (u64, u64) {
    let lengths = maps.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let bytes = u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?;
        Some(if words.next()?.starts_with("---") { 0 } else { bytes })
    });
    lengths.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
}

impl Descriptors {
    /// Of the calling process.
    pub(crate) fn take() -> Self {
        let numbers: Vec<u32> =
            listing(Path::new("/proc/self/fd")).filter_map(|name| name.parse().ok()).collect();
        // The descriptor of the listing itself is gone by now.
        let mut fds: Vec<_> = numbers.into_iter().filter_map(Descriptor::read).collect();
        fds.sort_by_key(|fd| fd.number);
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Self { fds, mappings: mapped(&maps) }
    }

    /// Those beyond standard input, output and error.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Descriptor> {
        self.fds.iter().filter(|fd| fd.number > 2)
    }

    /// What is here and was not in `before`, in words; by number, since numbers of closed ones are used again.
    pub(crate) fn beyond(&self, before: &Self) -> Vec<String> {
        let known: BTreeSet<_> = before.fds.iter().map(|fd| fd.number).collect();
        let new = self.fds.iter().filter(|fd| !known.contains(&fd.number));
        new.map(|fd| format!("{} ({})", fd.number, fd.target)).collect()
    }
}

impl Descriptor {
    fn read(number: u32) -> Option<Self> {
        let target = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        Some(Self {
            number,
            target: target.to_string_lossy().into_owned(),
            access: flags & ACCESS,
            is_close_on_exec: flags & CLOSE_ON_EXEC != 0,
        })
    }
}

/// Names that outlive processes, in words.
pub(crate) fn names(run: &Path) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = ["/dev/shm", "/dev/mqueue"]
        .iter()
        .flat_map(|folder| listing(Path::new(folder)).map(move |name| format!("{folder}/{name}")))
        .collect();
    for kind in ["msg", "sem", "shm"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        found.extend(table.lines().skip(1).filter_map(|line| {
            let id = line.split_ascii_whitespace().nth(1)?;
            Some(format!("System V {kind} {id}"))
        }));
    }
    found.extend(inside(run));
    found
}

/// What lies in a run directory beside the mark of its owner.
pub(crate) fn inside(run: &Path) -> impl Iterator<Item = String> {
    listing(run).filter(|name| name != "locked").map(|name| format!("{name} in the run directory"))
}

fn listing(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_seen_and_is_close_on_exec() {
        let before = Descriptors::take();
        let file = fs::File::open("/dev/null").expect("it exists everywhere");
        let after = Descriptors::take();
        let seen = after.beyond(&before);
        assert!(seen.iter().any(|text| text.contains("/dev/null")), "{seen:?}");
        drop(file);
        let null = after.own().find(|fd| fd.target == "/dev/null").expect("just opened");
        assert!(null.is_close_on_exec && null.access == 0);
        assert!(after.mappings.0 > 0 && after.mappings.1 > 4096);
    }

    #[test]
    fn memory_that_is_reserved_without_access_is_a_mapping_of_no_bytes() {
        let maps = "7f0000000000-7f0000021000 rw-p 00000000 00:00 0\n\
                    7f0000021000-7f0004000000 ---p 00000000 00:00 0\n\
                    7f0004000000-7f0004001000 r-xp 00000000 08:01 12 /lib/x.so\n";
        assert_eq!(mapped(maps), (3, 0x22000));
    }
}
