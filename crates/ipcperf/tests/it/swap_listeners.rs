//! `ipcperf swap`: listeners of several kinds, and their names.

use crate::common::skipped;
use crate::swap::{UNIX, swapped};

/// Workers that share a port have one listener, each under a descriptor of its own; others may not have it.
#[test]
fn workers_that_share_a_port_all_answer() {
    let text = "
import errno, os, signal
def listener(*options):
    l = socket.socket()
    for option in options: l.setsockopt(socket.SOL_SOCKET, option, 1)
    l.bind(at); l.listen(); return l
at = ('127.0.0.1', 0); first = listener(15); at = first.getsockname(); workers = []; r, w = os.pipe()
for number in range(3):
    workers.append(os.fork())
    if workers[-1] == 0:
        l = listener(2, 15); os.write(w, b'x'); e = select.epoll(); e.register(l, select.EPOLLIN); assert e.poll(60)
        a, _ = l.accept(); a.recv(9); a.sendall(b'%d %s' % (number, domain(l).encode())); time.sleep(60)
for options in [], [2]:
    try: listener(*options)
    except OSError as error: print(errno.errorcode[error.errno])
for _ in workers: os.read(r, 1)
first.close(); answered = set()
for _ in range(3):
    c = socket.create_connection(at); c.sendall(b'x'); answered.add(c.recv(20).decode())
print(sorted(answered))
for worker in workers: os.kill(worker, signal.SIGKILL)
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told = format!("EADDRINUSE\nEADDRINUSE\n['0 {UNIX}', '1 {UNIX}', '2 {UNIX}']\n");
    assert_eq!(ended.stdout, told, "{}", ended.stderr);
}

/// A name is free again once its listener is closed, and more may be bound one after the other than ipcperf may have open files.
#[test]
fn names_of_closed_listeners_are_let_go() {
    let text = "
at = []
for _ in range(300):
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1); at.append(l.getsockname()); c = socket.create_connection(at[-1]); l.close()
import os
ours = [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and int(pid) == os.getppid()]
print(len(os.listdir('/proc/%d/fd' % ours[0])) < 200, domain(c))
# With another address of the same port, and with SO_REUSEADDR.
m = socket.socket(); m.setsockopt(1, 2, 1); m.bind(('0.0.0.0', at[0][1])); m.listen()
c = socket.create_connection(at[0]); print(domain(m), domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout, format!("True {UNIX}\n{UNIX} {UNIX}\n"), "{}", ended.stderr);
}

/// Servers that Go has built listen by MPTCP.
#[test]
fn a_listener_of_mptcp_is_exchanged() {
    let text = "
try: l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError as error: print(error.strerror); sys.exit(0)
l.bind(('127.0.0.1', 0)); l.listen(); c = socket.create_connection(l.getsockname()); a, peer = l.accept()
print(domain(l), domain(a), peer == c.getsockname(), l.getsockopt(1, 38), a.getsockopt(1, 38))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    if !ended.stdout.starts_with("domain") {
        return skipped("MPTCP", ended.stdout.trim());
    }
    assert_eq!(ended.stdout.trim(), format!("{UNIX} {UNIX} True 262 6"), "{}", ended.stderr);
}
