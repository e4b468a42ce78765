//! `ipcperf swap`: listeners of several kinds, and their names.

use crate::common::{skipped, wait_for};
use crate::swap::{UNIX, script, swapped};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

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
    let printed = format!("EADDRINUSE\nEADDRINUSE\n['0 {UNIX}', '1 {UNIX}', '2 {UNIX}']\n");
    assert_eq!(ended.stdout, printed, "{}", ended.stderr);
}

/// A name is free again once its listener is closed, and more may be bound one after the other than ipcperf may have open files.
#[test]
fn names_of_closed_listeners_are_let_go() {
    let text = "
import os
at = []
for _ in range(300):
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1); at.append(l.getsockname()); c = socket.create_connection(at[-1]); l.close()
ours = [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and int(pid) == os.getppid()]
print(len(os.listdir('/proc/%d/fd' % ours[0])) < 200, domain(c))
# With another address of the same port, and with SO_REUSEADDR.
m = socket.socket(); m.setsockopt(1, 2, 1); m.bind(('0.0.0.0', at[0][1])); m.listen()
c = socket.create_connection(at[0]); print(domain(m), domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let printed = format!("True {UNIX}\n{UNIX} {UNIX}\n");
    assert_eq!(ended.stdout, printed, "{}", ended.stderr);
}

/// The name of a closed listener is free for others, and its socket has no file any more, while the program goes on and calls
/// nothing.
#[test]
fn a_closed_listener_leaves_its_port_to_others() {
    let text = "
import os
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); c = socket.create_connection(l.getsockname()); l.close()
open('port', 'w').write(str(c.getpeername()[1])); os.rename('port', 'port.txt')
while not os.path.exists('end'): time.sleep(0.01)
";
    let Some(sandbox) = script(&[("program", text)]) else { return };
    let running = sandbox.start(&["swap", "--", "python3", "program.py"]);
    let port = wait_for("the port", || sandbox.read("port.txt").ok()?.parse::<u16>().ok());
    wait_for("the end of the name", || TcpListener::bind(("127.0.0.1", port)).ok());
    let folders = fs::read_dir(sandbox.run_directories()).expect("a folder").flatten();
    let left =
        folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let left = left.filter(|file| file.file_name().to_string_lossy().ends_with(".sock"));
    assert_eq!(left.count(), 0, "files of sockets");
    fs::write(sandbox.home().join("end"), "").expect("a file");
    let ended = running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
}

/// So many addresses do not fit into a report.
#[test]
fn a_program_may_have_very_many_listeners() {
    let text = "
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
def listener():
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1); return l
kept = [listener() for _ in range(1000)]; print({domain(l) for l in kept})
for _ in range(1000): last = listener(); at = last.getsockname(); last.close()
print(domain(socket.create_connection(kept[-1].getsockname())))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, format!("{{'{UNIX}'}}\n{UNIX}\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("exchanged 2,000 listeners"), "{}", ended.stderr);
}

/// A path belongs to whichever file it leads to now: a server whose path was moved or removed keeps running next to the server that
/// binds the path again.
#[test]
fn a_path_may_be_bound_again_while_its_first_listener_is_open() {
    let text = "
import errno, os
def said(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
def listener(name): l = socket.socket(socket.AF_UNIX); l.bind(name); l.listen(); return l
def reaches(name, l):
    c = socket.socket(socket.AF_UNIX); c.connect(name); a, _ = l.accept(); a.sendall(b'x'); return c.recv(1), domain(c)
one = listener('s'); print(said(lambda: listener('s')), reaches('./s', one))
os.rename('s', 't'); two = listener('s'); print(reaches('s', two), reaches('t', one)); os.unlink('t')
print(said(lambda: reaches('t', one))); two.close(); print(said(lambda: reaches('s', two)))
last = listener('\\0ipcperf-%d' % os.getpid()); name = last.getsockname(); print(said(lambda: listener(name))); last.close()
print(said(lambda: listener(name).close()))
";
    let Some((_, tcp)) = swapped(text, &["--to", "tcp"]) else { return };
    let Some((_, unix)) = swapped(text, &["--to", "unix-stream"]) else { return };
    assert!(unix.status.success(), "{}", unix.stderr);
    assert!(tcp.stdout.contains("domain 2"), "{}{}", tcp.stdout, tcp.stderr);
    assert_eq!(tcp.stdout.replace("domain 2", UNIX), unix.stdout, "{}", tcp.stderr);
}

/// The same port in another network namespace is another listener.
#[test]
fn two_network_namespaces_may_have_one_port() {
    let text = "
import ctypes, errno, fcntl, os, struct
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname(); r, w = os.pipe()
if os.fork() == 0:
    if ctypes.CDLL(None).unshare(0x40000000): print('no namespaces', flush=True); os._exit(0)
    s = socket.socket(); fcntl.ioctl(s, 0x8914, struct.pack('16sH14x', b'lo', 1)); s.close()
    print(errno.errorcode[socket.socket().connect_ex(at)])
    m = socket.socket(); m.bind(at); m.listen(); c = socket.create_connection(at); a, peer = m.accept(); a.sendall(b'inside')
    print(c.recv(9), peer == c.getsockname(), domain(m), domain(c), flush=True); os.write(w, b'x'); time.sleep(60)
os.close(w); os.read(r, 1)
c = socket.create_connection(at); a, _ = l.accept(); a.sendall(b'outside'); print(c.recv(9), domain(l), domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    if ended.stdout.contains("no namespaces") {
        return skipped("swap", "network namespaces");
    }
    let printed = format!("ECONNREFUSED\nb'inside' True {UNIX} {UNIX}\nb'outside' {UNIX} {UNIX}\n");
    assert_eq!(ended.stdout, printed, "{}", ended.stderr);
}

/// A bound socket can be made to listen through another descriptor or by a child, and an unbound one can listen as well.
#[test]
fn a_socket_listens_however_it_was_handed_on() {
    let text = "
import os
l = socket.socket(); l.bind(('127.0.0.1', 0)); at = l.getsockname(); r, w = os.pipe()
if os.fork() == 0: l.listen(); os.write(w, b'x'); time.sleep(60)
os.read(r, 1); l.listen(); c = socket.create_connection(at); a, peer = l.accept()
print(domain(l), domain(c), peer == c.getsockname())
l = socket.socket(); l.bind(('127.0.0.1', 0)); d = l.dup(); e = select.epoll(); e.register(l, select.EPOLLIN); l.listen()
print(e.poll(0.02)); d.listen(); c = socket.create_connection(l.getsockname())
print([n == l.fileno() for n, _ in e.poll(60)]); a, _ = d.accept(); print(domain(d), domain(l))
l = socket.socket(); l.bind(('127.0.0.1', 0)); at = l.getsockname(); d = l.dup(); l.listen(); l.close(); d.listen()
c = socket.create_connection(at); print(domain(d), domain(c))
l = socket.socket(); l.listen(); at = ('127.0.0.1', l.getsockname()[1]); c = socket.create_connection(at)
print(domain(l), domain(c), l.accept()[1] == c.getsockname())
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let both = format!("{UNIX} {UNIX}");
    let printed = format!("{both} True\n[]\n[True]\n{both}\n{both}\n{both} True\n");
    assert_eq!(ended.stdout, printed, "{}", ended.stderr);
}

/// A client that binds a port of its own has no listener.
#[test]
fn a_socket_that_is_bound_and_does_not_listen_is_none() {
    let text = "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
c = socket.socket(); c.bind(('127.0.0.1', 0)); own = c.getsockname(); c.connect(at); a, peer = l.accept()
t = socket.socket(); t.bind(('127.0.0.1', 0)); print(peer == own == c.getsockname(), domain(c), domain(t))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout.trim(), format!("True {UNIX} domain 2"), "{}", ended.stderr);
    assert!(ended.stderr.contains("exchanged 1 listener and 1 connection,"), "{}", ended.stderr);
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

/// A program that has given up root binds and connects with the rights that it has left, and in its own root.
#[test]
fn a_program_has_its_own_rights_and_no_others() {
    let text = "
import os
def tried(what, act):
    try: print(what, act() or 'done')
    except OSError as error: print(what, error.strerror)
def bound(path, mask=0o177):
    os.umask(mask); l = socket.socket(socket.AF_UNIX); l.bind(path); l.listen(); listeners.append(l)
    return (os.stat(path).st_uid, oct(os.stat(path).st_mode & 0o777))
def connected(path):
    c = socket.socket(socket.AF_UNIX); c.settimeout(60); c.connect(path); c.sendall(b'hello')
def port(number):
    l = socket.socket(); l.bind(('127.0.0.1', number)); listeners.append(l)
listeners = []
os.mkdir('open'); os.chmod('open', 0o777); os.mkdir('closed'); os.chmod('.', 0o711)
os.mkdir('root'); os.mkdir('root/run'); os.chmod('root/run', 0o777); os.symlink('/run', 'root/var')
tried('as root', lambda: bound('open/mine', 0o027))
tried('with another umask', lambda: bound('open/private'))
if os.fork() == 0:
    os.chroot('root'); os.chdir('/')
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    tried('in another root', lambda: bound('/var/there'))
    tried('and by its own path', lambda: connected('/run/there'))
    sys.stdout.flush(); os._exit(0)
os.wait(); print(os.listdir('root/run'))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
tried('in a folder of root', lambda: bound('closed/mine'))
tried('in a folder for all', lambda: bound('open/own', 0o117))
tried('to its own', lambda: connected('open/own'))
tried('to one of root', lambda: connected('open/private'))
tried('a port', lambda: port(0))
if int(open('/proc/sys/net/ipv4/ip_unprivileged_port_start').read()) > 799: tried('a low port', lambda: port(799))
";
    let Some(plain) = script(&[("program", text)]) else { return };
    if fs::metadata("/proc/self").expect("a process").uid() != 0 {
        return skipped("swap", "only root can give rights up");
    }
    let command = plain.surround(Command::new("python3"), &["program.py"]);
    let by_itself = plain.spawn(command).end();
    assert!(by_itself.status.success(), "{}", by_itself.stderr);
    for to in ["tcp", "unix-stream"] {
        let Some((_, ended)) = swapped(text, &["--to", to]) else { return };
        assert!(ended.status.success(), "{to}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout, by_itself.stdout, "{to}: {}", ended.stderr);
    }
}
