//! `ipcperf swap`: connections, in the ways in which programs make, end and set them up.

use crate::common::{Sandbox, can_run, skipped};
use crate::swap::{UNIX, swapped};
use std::path::Path;
use std::process::Command;

/// What a program prints with exchanged sockets, which is what it prints over TCP.
fn same_as_tcp(text: &str) {
    let Some((_, exchanged)) = swapped(text, &[]) else { return };
    let Some((_, tcp)) = swapped(text, &["--port", "1"]) else { return };
    assert!(tcp.status.success(), "{}", tcp.stderr);
    assert!(exchanged.stderr.contains(UNIX), "{}", exchanged.stderr);
    assert!(!tcp.stderr.contains(UNIX), "{}", tcp.stderr);
    assert_eq!(exchanged.stdout, tcp.stdout, "{}", exchanged.stderr);
}

/// A listener of all addresses is reached by each of them, one of IPv6 alone by no other, and the nearest one answers.
#[test]
fn a_connection_arrives_where_tcp_would_bring_it() {
    same_as_tcp(
        "
import errno
def listener(family, host, port=0, only=None):
    s = socket.socket(family)
    if only is not None: s.setsockopt(41, 26, only)
    s.bind((host, port)); s.listen(); return s
def reach(family, host, port):
    c = socket.socket(family); c.settimeout(60); done = c.connect_ex((host, port))
    return errno.errorcode.get(done, done), c.getsockname()[0] if done == 0 else ''
u = socket.socket(type=socket.SOCK_DGRAM); four, six = socket.AF_INET, socket.AF_INET6
try: u.connect(('192.0.2.1', 9)); own = u.getsockname()[0]
except OSError: own = '127.0.0.9'
only = listener(six, '::', 0, 1); port = only.getsockname()[1]
print([reach(four, '127.0.0.1', port), reach(six, '::1', port), reach(six, '::ffff:127.0.0.1', port)])
beside = listener(four, '0.0.0.0', port)
print([reach(four, '127.0.0.1', port), reach(four, own, port), reach(six, '::ffff:127.0.0.1', port)])
for s in beside, only:
    peers = []; s.setblocking(False)
    try:
        while True: peers.append(s.accept()[1][0])
    except BlockingIOError: print(peers)
kept = listener(four, '0.0.0.0'); port = kept.getsockname()[1]; print([reach(six, '::1', port), reach(four, '0.0.0.0', port)])
kept = listener(four, '127.0.0.1'); port = kept.getsockname()[1]
print([reach(four, host, port) for host in ('0.0.0.0', '127.0.0.2', own)])
kept = listener(six, '::', 0, 0); port = kept.getsockname()[1]
print([reach(four, own, port), reach(six, '::', port), reach(six, '::ffff:' + own, port)])
kept = listener(four, own); port = kept.getsockname()[1]; print([reach(four, own, port), reach(four, '127.0.0.1', port)])
print(domain(kept), file=sys.stderr)
",
    );
}

/// A socket that is connected to nothing that is exchanged stays connected.
#[test]
fn a_connection_is_not_exchanged_a_second_time() {
    same_as_tcp(
        "
import errno
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname(); c = socket.create_connection(at)
own = socket.socket(); own.bind(('127.0.0.1', 0)); own.connect(own.getsockname()); own.sendall(b'to itself')
print(errno.errorcode[own.connect_ex(at)], own.recv(20), errno.errorcode[c.connect_ex(at)])
gone = socket.socket(); gone.setblocking(False); print(errno.errorcode[gone.connect_ex(at)]); l.close()
gone.setblocking(True); print(errno.errorcode[gone.connect_ex(at)])
print(domain(c), file=sys.stderr)
",
    );
}

/// Servers look for clients that have gone by the state of their connection.
#[test]
fn a_connection_that_the_other_end_has_closed_says_so() {
    same_as_tcp(
        "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
state = lambda s: s.getsockopt(6, 11, 200)[0]
one, other = socket.create_connection(at), socket.create_connection(at); a, _ = l.accept(); b, _ = l.accept()
print(state(l), state(one), state(a)); one.close(); other.shutdown(socket.SHUT_WR)
for s in a, b: s.recv(1); print(state(s))
print(domain(a), file=sys.stderr)
",
    );
}

/// `connect(2)` without an address ends a connection, and its socket can be connected again with the options that it has.
#[test]
fn a_connection_that_was_ended_can_be_made_again() {
    same_as_tcp(
        "
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def said(done): return 0 if done == 0 else errno.errorcode[ctypes.get_errno()]
def disconnect(s): return said(libc.connect(s.fileno(), bytes(16), 16))
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
c = socket.socket(); c.setsockopt(6, 1, 1); e = select.epoll(); e.register(c, select.EPOLLIN); c.connect(at); a, _ = l.accept()
print(errno.errorcode[c.connect_ex(at)], errno.errorcode[c.connect_ex(('127.0.0.1', 9))], said(libc.connect(c.fileno(), b'x', 1)))
print(disconnect(c), c.getsockopt(6, 1))
try: c.getpeername()
except OSError as error: print(errno.errorcode[error.errno])
c.connect(at); b, peer = l.accept(); b.sendall(b'second')
print([n == c.fileno() for n, _ in e.poll(60)], c.recv(9), peer == c.getsockname(), c.getsockopt(6, 1))
print(disconnect(l), errno.errorcode[socket.socket().connect_ex(at)])
print(domain(c), file=sys.stderr)
",
    );
}

#[test]
fn a_connection_is_made_by_its_first_bytes() {
    same_as_tcp(
        "
import errno
FASTOPEN = 0x20000000
def said(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
c = socket.socket(); print(said(lambda: c.sendto(b'hello', FASTOPEN, at))); a, peer = l.accept(); print(a.recv(9), peer == c.getsockname())
print(said(lambda: c.sendto(b'again', FASTOPEN, at)))
n = socket.socket(); n.setblocking(False); print(said(lambda: n.sendto(b'later', FASTOPEN, at)))
select.select([], [n], [], 60); b, _ = l.accept(); n.send(b'now'); print(b.recv(9))
print(said(lambda: socket.socket().sendto(b'x', FASTOPEN, ('127.0.0.1', 9))))
print(domain(c), file=sys.stderr)
",
    );
}

#[test]
fn what_every_socket_can_be_given_the_new_one_has() {
    same_as_tcp(
        "
import struct
names = ['REUSEADDR', 'KEEPALIVE', 'OOBINLINE', 'PRIORITY', 'RCVLOWAT', 'BROADCAST', 'DONTROUTE']
options = [getattr(socket, 'SO_' + name, 12) for name in names]
l = socket.socket(); c = socket.socket()
for s in l, c:
    for option in options: s.setsockopt(1, option, 1)
    s.setsockopt(1, socket.SO_LINGER, struct.pack('ii', 1, 5))
l.bind(('127.0.0.1', 0)); l.listen(); c.connect(l.getsockname())
for s in l, c: print([s.getsockopt(1, option) for option in options], s.getsockopt(1, socket.SO_LINGER, 8))
print(domain(l), domain(c), file=sys.stderr)
",
    );
}

/// The new socket sends its signals to the owner of the old one.
#[test]
fn signals_of_a_socket_come_from_its_successor() {
    same_as_tcp(
        "
import fcntl, os, signal
got = []; SETSIG = 10
for number in signal.SIGIO, signal.SIGUSR1: signal.signal(number, lambda number, _: got.append(number))
def asks(s, number):
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid()); fcntl.fcntl(s, SETSIG, number)
    fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) | os.O_ASYNC)
def comes(number):
    while number not in got: time.sleep(0.01)
    got.clear(); return True
l = socket.socket(); asks(l, 0); l.bind(('127.0.0.1', 0)); l.listen()
c = socket.socket(); asks(c, signal.SIGUSR1); c.connect(l.getsockname()); print(comes(signal.SIGIO))
a, _ = l.accept(); got.clear(); a.sendall(b'x'); print(comes(signal.SIGUSR1))
print(fcntl.fcntl(c, fcntl.F_GETOWN) == os.getpid(), bool(fcntl.fcntl(c, fcntl.F_GETFL) & os.O_ASYNC))
print(domain(c), file=sys.stderr)
",
    );
}

/// A signal that comes before ipcperf has a call ends that call, where the kernel would not have let it wait. ipcperf is stopped so
/// that the signal comes first.
#[test]
fn a_call_that_a_signal_takes_back_is_counted() {
    let text = "
import os, signal
watch = os.getppid()
def goes_on(*_): os.kill(watch, signal.SIGCONT)
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()
rescue = threading.Timer(50, goes_on); rescue.start()
signal.signal(signal.SIGALRM, lambda *_: None); os.kill(watch, signal.SIGSTOP); signal.setitimer(signal.ITIMER_REAL, 0.05)
try: l.setsockopt(6, 1, 1); print('done')
except InterruptedError: print('interrupted')
rescue.cancel(); goes_on(); print(l.getsockopt(6, 1), domain(l))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout, format!("interrupted\n0 {UNIX}\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("signals interrupted 1 call before"), "{}", ended.stderr);
}

/// A program of 32 bits, and one that another program starts.
#[test]
fn sockets_of_32_bit_programs_are_exchanged() {
    if !cfg!(target_arch = "x86_64") || !can_run("cc", &["--version"]) {
        return skipped("swap", "programs of 32 bits");
    }
    const SOURCE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/programs/narrow.c");
    let sandbox = Sandbox::new();
    let built = Command::new("cc")
        .args(["-m32", "-static", "-nostdlib", "-fno-pic", "-fno-stack-protector", "-O1", "-o"])
        .args([&sandbox.home().join("narrow"), Path::new(SOURCE)])
        .output()
        .expect("it was tried before");
    let command = sandbox.surround(Command::new("./narrow"), &[]);
    if !built.status.success() || !sandbox.spawn(command).end().status.success() {
        return skipped("swap", "programs of 32 bits");
    }
    for program in [&["./narrow"][..], &["sh", "-c", "./narrow"]] {
        let ended = sandbox.run(&[&["swap", "--"], program].concat());
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let report = "exchanged 1 listener and 1 connection,";
        assert!(ended.stderr.contains(report), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("sendto with an address was called once"),
            "{}",
            ended.stderr
        );
    }
}

/// Addresses that are too short, too long, of another family or not there, and rooms for them, are refused as TCP refuses them.
#[test]
fn lengths_and_pointers_that_are_wrong_have_the_errors_of_tcp() {
    same_as_tcp(
        "
import ctypes, errno, struct
libc = ctypes.CDLL(None, use_errno=True)
def raw(name, *words):
    done = getattr(libc, name)(*words); return errno.errorcode[ctypes.get_errno()] if done < 0 else done if 'accept' not in name else 'done'
def address(port, six=False, family=None):
    host = socket.inet_pton(10, '::1') if six else socket.inet_aton('127.0.0.1')
    begin = struct.pack('=H', family if family is not None else 10 if six else 2) + struct.pack('>H', port)
    return ctypes.create_string_buffer(begin + bytes(4 if six else 0) + host, 160)
def room(len): return ctypes.byref(ctypes.c_int(len))
four = socket.socket(); four.bind(('127.0.0.1', 0)); six = socket.socket(10); six.bind(('::1', 0))
ports = [s.getsockname()[1] for s in (four, six)]; four.listen(); six.listen()
for len in 0, 1, 2, 8, 15, 16, 24, 28, 128, 129, -1:
    for is_six in False, True:
        s, t = [socket.socket(10 if is_six else 2) for _ in range(2)]; to = address(ports[is_six], is_six)
        print(len, is_six, raw('connect', s.fileno(), to, len), raw('bind', t.fileno(), to, len))
for s, to, len in [(socket.socket(), address(ports[1], True), 28), (socket.socket(10), address(ports[0]), 16), (socket.socket(), address(ports[0], family=99), 16),
    (socket.socket(), None, 16)]: print(raw('connect', s.fileno(), to, len), raw('bind', s.fileno(), to, len))
own = socket.socket(); own.bind(('127.0.0.1', 0)); own.listen(); at = own.getsockname(); buffer = ctypes.create_string_buffer(128)
for len in 0, 4, 16, 100, -1: c = socket.create_connection(at); print(raw('accept', own.fileno(), buffer, room(len)))
c = socket.create_connection(at); print(raw('accept', own.fileno(), buffer, None))
c = socket.create_connection(at); print(raw('accept4', own.fileno(), buffer, room(16), 0x12345)); a, _ = own.accept()
for s in own, c, a:
    for call in 'getsockname', 'getpeername':
        print([raw(call, s.fileno(), buffer, room(len)) for len in (0, 1, 16, 100, -1)], raw(call, s.fileno(), None, room(16)), raw(call, s.fileno(), buffer, None))
    print([raw('setsockopt', s.fileno(), 6, 1, buffer, len) for len in (0, 1, 3, 4, 8, -1)], raw('setsockopt', s.fileno(), 6, 1, None, 4))
    print([raw('getsockopt', s.fileno(), 6, 1, buffer, room(len)) for len in (0, 1, 4, 8, -1)], raw('getsockopt', s.fileno(), 6, 1, buffer, None))
print([raw('sendto', c.fileno(), b'abc', 3, 0, address(1), len) for len in (0, 2, 16, 200, -1)], raw('sendto', c.fileno(), None, 3, 0, address(1), 16))
print([raw('recvfrom', a.fileno(), buffer, 3, 0, buffer, to) for to in (room(-1), room(16), None)], raw('recvfrom', a.fileno(), None, 3, 64, buffer, room(16)))
print(domain(own), file=sys.stderr)
",
    );
}
