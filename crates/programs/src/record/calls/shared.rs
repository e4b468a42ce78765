//! What `/proc` says of running programs beside their calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};

/// Memory that processes have mapped shared and writable, by what is mapped.
#[derive(Debug, Default)]
pub(crate) struct Shared(BTreeMap<String, (BTreeSet<u32>, u64)>);

impl Shared {
    /// Adds what a process has now.
    pub(crate) fn look(&mut self, process: u32) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        for (what, bytes) in mappings(&maps) {
            let (processes, most) = self.0.entry(what).or_default();
            processes.insert(process);
            *most = bytes.max(*most);
        }
    }

    /// Takes back what a process had before it loaded a program: between `fork` and `exec` a child has all that its parent has.
    pub(crate) fn forget(&mut self, process: u32) {
        for (processes, _) in self.0.values_mut() {
            processes.remove(&process);
        }
    }

    /// What several processes have: who they are, and how many bytes.
    pub(crate) fn between(&self) -> impl Iterator<Item = (&BTreeSet<u32>, u64)> {
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
pub(crate) fn program_of(process: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Ports of TCP on which somebody listens in this network.
#[must_use]
pub(crate) fn listening_ports() -> BTreeSet<u16> {
    let ends = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().flat_map(listening);
    ends.filter_map(|end| u16::from_str_radix(end.rsplit(':').next()?, 16).ok()).collect()
}

/// The addresses on which sockets of TCP listen, as a table of the kernel has them: `0100007F:18EB`.
fn listening(table: &str) -> impl Iterator<Item = String> {
    fs::File::open(table).map(BufReader::new).into_iter().flat_map(listed)
}

/// Listening sockets come first in the table (`proc_net_tcp.rst`). The rest is not read: with ten thousand connections in
/// TIME_WAIT the kernel needs a tenth of a second and more to write it.
fn listed(table: impl BufRead) -> impl Iterator<Item = String> {
    // number, own address, the peer's, state; 0A: it listens
    table.lines().skip(1).map_while(Result::ok).map_while(|line| {
        let mut words = line.split_whitespace().skip(1);
        let own = words.next()?.to_owned();
        (words.nth(1) == Some("0A")).then_some(own)
    })
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
    fn memory_that_a_process_had_before_it_loaded_a_program_is_not_shared() {
        let mut shared =
            Shared(BTreeMap::from([("00:01 17".to_owned(), (BTreeSet::from([3, 4]), 4096))]));
        assert_eq!(shared.between().count(), 1);
        shared.forget(4);
        assert_eq!(shared.between().count(), 0);
    }

    #[test]
    fn only_the_addresses_of_listening_sockets_are_read() {
        let mut table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            0: 0100007F:18EB 00000000:0000 0A 00000000:00000000\n\
            1: 00000000:0016 00000000:0000 0A 00000000:00000000\n\
            2: 0100007F:A762 0100007F:18EB 06 00000000:00000000\n\
            3: 0100007F:18EC 00000000:0000 06 00000000:00000000\n"
            .as_bytes();
        let found: Vec<String> = listed(&mut table).collect();
        assert_eq!(found, ["0100007F:18EB", "00000000:0016"]);
        assert!(table.starts_with(b"3: "), "what follows is not read");
        assert_eq!(listening("/nowhere").count(), 0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_program() {
        assert_eq!(program_of(u32::MAX), None);
        assert!(program_of(std::process::id()).is_some_and(|name| !name.is_empty()));
    }
}
