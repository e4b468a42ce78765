//! What `/proc` says of running programs beside their calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Memory that processes have mapped shared and writable, by what is mapped.
#[derive(Debug, Default)]
pub struct Shared(BTreeMap<String, (BTreeSet<u32>, u64)>);

impl Shared {
    /// Adds what a process has now.
    pub fn look(&mut self, process: u32) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        for (what, bytes) in mappings(&maps) {
            let (processes, most) = self.0.entry(what).or_default();
            processes.insert(process);
            *most = bytes.max(*most);
        }
    }

    /// What several processes have: who they are, and how many bytes.
    pub fn between(&self) -> impl Iterator<Item = (&BTreeSet<u32>, u64)> {
        let all = self.0.values().filter(|(processes, _)| processes.len() > 1);
        all.map(|(processes, bytes)| (processes, *bytes))
    }
}

/// Device and inode of each shared writable mapping, and its bytes (`proc_pid_maps(5)`).
fn mappings(maps: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let next = [words.next(), words.next(), words.next(), words.next(), words.next()];
        let [Some(range), Some(rights), _, Some(device), Some(inode)] = next else { continue };
        let is_shared = rights.as_bytes().get(1) == Some(&b'w') && rights.ends_with('s');
        // All anonymous files have one inode; devices are no memory of the processes.
        let path = words.next().unwrap_or_default();
        let is_memory = !path.starts_with("anon_inode:")
            && (!path.starts_with("/dev/")
                || path.starts_with("/dev/shm/")
                || path.starts_with("/dev/zero"));
        let Some((begin, end)) = range.split_once('-').filter(|_| is_shared && is_memory) else {
            continue;
        };
        let [begin, end] = [begin, end].map(|at| u64::from_str_radix(at, 16).unwrap_or(0));
        *found.entry(format!("{device} {inode}")).or_default() += end.saturating_sub(begin);
    }
    found
}

/// The name of a process's program; `None` if there is no such process.
#[must_use]
pub fn program_of(process: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Ports of TCP on which somebody listens in this network.
#[must_use]
pub fn listening_ports() -> BTreeSet<u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let ports = tables.iter().flat_map(|table| table.lines()).filter_map(|line| {
        // number, own address, the peer's, state; 0A is that of a listener
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        let [_, own, _, "0A"] = words[..] else { return None };
        u16::from_str_radix(own.rsplit(':').next()?, 16).ok()
    });
    ports.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_joined_by_what_is_mapped() {
        let one = "\
            7f0000000000-7f0000002000 rw-s 00000000 00:01 17 /dev/zero (deleted)\n\
            7f0000010000-7f0000011000 rw-s 00001000 00:01 17 /dev/zero (deleted)\n\
            7f0000020000-7f0000021000 r--s 00000000 fe:00 99 /usr/share/locale\n\
            7f0000030000-7f0000031000 rw-s 00000000 00:0f 8 anon_inode:[io_uring]\n\
            7f0000040000-7f0000041000 rw-p 00000000 00:00 0\n";
        let found = mappings(one);
        assert_eq!(found, BTreeMap::from([("00:01 17".to_owned(), 0x3000)]));
    }

    #[test]
    fn a_process_that_is_not_there_has_no_program() {
        assert_eq!(program_of(u32::MAX), None);
        assert!(program_of(std::process::id()).is_some_and(|name| !name.is_empty()));
    }
}
