//! Where running programs listen, as the tables of the kernel have it: no call of theirs is needed for that.

use ipcperf_sys::process_tree::family;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `TCP_LISTEN` in the tables of TCP (`proc_net_tcp.rst`).
const LISTENS: &str = "0A";

/// `__SO_ACCEPTCON` in the flags of `/proc/net/unix` (`linux/net.h`).
const ACCEPTS: u32 = 1 << 16;

/// The addresses at which a process and all that descend from it listen: `127.0.0.1:6380`, or a path.
pub(crate) fn addresses(root: u32) -> Vec<String> {
    let sockets: BTreeSet<String> = family(root).into_iter().flat_map(sockets).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let table = |name: &str| {
        let file = fs::File::open(format!("/proc/{root}/net/{name}"));
        file.map(BufReader::new).into_iter().flat_map(|file| file.lines().map_while(Result::ok))
    };
    // Listening sockets come first in these tables, and the rest can be long.
    let of_tcp = ["tcp", "tcp6"].into_iter().flat_map(|name| {
        table(name).skip(1).map_while(|line| listening(&line)).collect::<Vec<_>>()
    });
    let of_unix = table("unix").skip(1).filter_map(|line| accepting(&line));
    let all = of_tcp.chain(of_unix).filter(|(_, socket)| sockets.contains(socket));
    all.map(|(address, _)| address).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Numbers of the sockets that a process has open.
fn sockets(process: u32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let number = |link: std::path::PathBuf| {
        let link = link.to_str()?;
        Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    links.filter_map(number).collect()
}

/// Address and number of a listening socket of TCP: `0: 0100007F:18EB 00000000:0000 0A ... uid timeout inode ...`.
fn listening(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, own, _, LISTENS, _, _, _, _, _, socket, ..] = words[..] else { return None };
    let (host, port) = own.rsplit_once(':')?;
    // Each group of 8 digits is a number as the machine has it in memory.
    let groups: Option<Vec<[u8; 4]>> = (0..host.len() / 8)
        .map(|at| u32::from_str_radix(host.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes))
        .collect();
    let bytes = groups?.concat();
    let host = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    let address = SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?);
    Some((address.to_string(), socket.to_owned()))
}

/// Path and number of a UNIX socket that accepts connections: `Num: RefCount Protocol Flags Type St Inode Path`.
fn accepting(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, flags, _, _, socket, path, ..] = words[..] else { return None };
    let accepts = u32::from_str_radix(flags, 16).ok()? & ACCEPTS != 0;
    accepts.then(|| (path.to_owned(), socket.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn listeners_of_this_process_are_found() {
        let folder = std::env::temp_dir().join(format!("ipcperf-listens-{}", std::process::id()));
        let own = || addresses(std::process::id());
        // `family` leaves out the calling process, which never asks about itself: the tables are read all the same.
        assert!(own().is_empty());
        let tcp = ["127.0.0.1:0", "[::1]:0"].map(|at| TcpListener::bind(at).ok());
        let unix = UnixListener::bind(&folder).expect("a path");
        let open: Vec<String> = sockets(std::process::id());
        let lines =
            |name: &str| fs::read_to_string(format!("/proc/self/net/{name}")).expect("a table");
        let found = |name: &str, of: fn(&str) -> Option<(String, String)>| -> Vec<String> {
            let table = lines(name);
            let rows = table.lines().skip(1).filter_map(of);
            rows.filter(|(_, socket)| open.contains(socket)).map(|(address, _)| address).collect()
        };
        for (listener, name) in tcp.iter().zip(["tcp", "tcp6"]) {
            let Some(listener) = listener else { continue };
            let address = listener.local_addr().expect("its address").to_string();
            assert!(found(name, listening).contains(&address), "{address}");
        }
        let path = folder.display().to_string();
        assert!(found("unix", accepting).contains(&path), "{path}");
        drop(unix);
        fs::remove_file(folder).expect("the path");
    }

    #[test]
    fn lines_that_are_none_are_no_listeners() {
        let connected = "1: 0100007F:18EB 0100007F:9C40 01 0:0 0:0 0 0 0 77 1";
        assert_eq!(listening(connected), None);
        assert_eq!(listening("x"), None);
        assert_eq!(listening("1: 01:18EB 0:0 0A 0:0 0:0 0 0 0 77 1"), None);
        assert_eq!(accepting("0: 2 0 00000000 0001 03 12 /tmp/x"), None);
        assert_eq!(accepting(""), None);
    }
}
