//! Programs whose TCP sockets become UNIX sockets: they go on as before, and their data takes the other way.

use crate::common::{Ended, Sandbox, at_once, can_run, skipped, wait_for};
use crate::container::without;
use crate::watch::signal;
use ipcperf_sys::seccomp::Refusal;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The family of a socket that is exchanged, and of one that is not (`AF_UNIX`, `AF_INET`, `AF_VSOCK`).
pub(crate) const UNIX: &str = "domain 1";
const INET: &str = "domain 2";
const VM: &str = "domain 40";

/// What each of these scripts begins with.
const COMMON: &str = "
import select, socket, sys, threading, time
def domain(s):
    # Of the file itself: what options tell is part of what is exchanged.
    import os
    name = os.getxattr(s.fileno(), 'system.sockprotoname').rstrip(b'\\0').decode()
    return 'domain %d' % {'TCP': 2, 'TCPv6': 10, 'MPTCP': 2, 'UDP': 2, 'AF_VSOCK': 40}.get(name, 1)
";

/// A sandbox with this script as `NAME.py`, where Python can run and the kernel hands calls over.
pub(crate) fn script(texts: &[(&str, &str)]) -> Option<Sandbox> {
    if !can_run("python3", &["--version"]) {
        return None;
    }
    let sandbox = Sandbox::new();
    for (name, text) in texts {
        let file = sandbox.home().join(format!("{name}.py"));
        fs::write(file, format!("{COMMON}{text}")).expect("a script");
    }
    Some(sandbox)
}

/// Runs one script with its sockets exchanged.
pub(crate) fn swapped(text: &str, words: &[&str]) -> Option<(Sandbox, Ended)> {
    let sandbox = script(&[("program", text)])?;
    let ended = sandbox.run(&[&["swap"], words, &["--", "python3", "program.py"]].concat());
    Some((sandbox, ended))
}

/// A listener and a connection in one process, and what both ends are told of their addresses.
const BOTH: &str = "
family, address = (socket.AF_INET6, '::1') if 'six' in sys.argv else (socket.AF_INET, '127.0.0.1')
l = socket.socket(family); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind((address, 0)); l.listen()
c = socket.socket(family); c.connect(l.getsockname()[:2])
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
a, peer = l.accept()
a.sendall(b'hello'); assert c.recv(5) == b'hello'
c.sendall(b'back'); assert a.recv(4) == b'back'
assert c.getpeername() == l.getsockname() == a.getsockname()
assert a.getpeername() == c.getsockname()
print(domain(l), domain(c), domain(a), l.getsockname()[1] > 0, peer == c.getsockname())
";

#[test]
fn both_ends_of_a_program_go_on_over_another_socket() {
    for words in [&[][..], &["--to", "unix-seqpacket"], &["--fake-peers"]] {
        let Some((sandbox, ended)) = swapped(BOTH, words) else { return };
        assert!(ended.status.success(), "{words:?}: {} {}", ended.stdout, ended.stderr);
        let told = format!("{UNIX} {UNIX} {UNIX} True True");
        assert_eq!(ended.stdout.trim(), told, "{words:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("exchanged 1 listener and 1 connection,"),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains("TCP_NODELAY was set once"), "{}", ended.stderr);
        sandbox.leaves_nothing();
    }
    let Some(sandbox) = script(&[("program", BOTH)]) else { return };
    let ended = sandbox.run(&["swap", "--", "python3", "program.py", "six"]);
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stderr.contains("[::1]:"), "{}", ended.stderr);
}

/// What a program sets up before it binds or connects, and what is asked for instead.
const SET_UP: &str = "
o = lambda s, name: s.getsockopt(socket.SOL_SOCKET, name)
l = socket.socket()
try: o(l, 72)
except OSError: print('SO_BUF_LOCK: this kernel does not tell', file=sys.stderr)
if 'sets' in sys.argv:
    l.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20_000)
    l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 30_000)
l.bind(('127.0.0.1', 0)); l.listen(1)
made = []
for _ in range(3):
    c = socket.socket(); c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b'\\x02' + bytes(15))
    c.connect(l.getsockname()); made.append(c)
    if 'few' in sys.argv: made.append(l.accept()[0])
a = l.accept()[0] if 'few' not in sys.argv else made[1]
time_out = c.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)[0]
print(domain(l), domain(a), *[o(s, n) for s in (l, c, a) for n in (socket.SO_SNDBUF, socket.SO_RCVBUF)], time_out)
";

#[test]
fn what_a_socket_was_given_before_it_has_afterwards() {
    let Some(sandbox) = script(&[("program", SET_UP)]) else { return };
    let ended = sandbox.run(&["swap", "--", "python3", "program.py", "few", "sets"]);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    // The kernel tells the double; older ones do not tell who has set a buffer.
    let [_, listener, _, _, send, receive, .., timeout] = said[..] else { panic!("{said:?}") };
    assert_eq!((listener, timeout), ("1", "2"), "{said:?}");
    if !ended.stderr.contains("does not tell") {
        assert_eq!((send, receive), ("40000", "60000"), "{said:?}");
    }
}

#[test]
fn the_new_sockets_have_the_knobs_behind_their_name() {
    let Some(sandbox) = script(&[("program", SET_UP)]) else { return };
    // Three connect before the first is accepted: a backlog of 1, which the program asks for, has room for two.
    let to = "unix-stream sndbuf=64K rcvbuf=48K backlog=16";
    let ended = sandbox.run(&["swap", "--to", to, "--", "python3", "program.py"]);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    let both = "131072 98304";
    let told = format!("{UNIX} {UNIX} {both} {both} {both} 2\n");
    assert_eq!(ended.stdout, told, "listener, client and accepted: {}", ended.stderr);
    // Names without a file.
    let ended = sandbox.run(&[
        "swap",
        "--to",
        "unix-stream bind=abstract",
        "--",
        "python3",
        "program.py",
        "few",
    ]);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.starts_with(&format!("{UNIX} {UNIX} ")), "{}", ended.stdout);
    assert!(ended.stderr.contains(" -> @ipcperf-"), "{}", ended.stderr);
    for (to, part) in [
        ("unix-stream bind=socketpair", "an exchanged socket has no bind=socketpair"),
        ("unix-stream batch=4", "an exchanged socket has no batch=4"),
        ("unix-stream sndbuff=1M", "did you mean 'unix-stream.sndbuf'?"),
        ("tcp nodelay=maybe", "nodelay"),
    ] {
        sandbox.refuses(&["swap", "--to", to, "--", "true"], part);
    }
    let ended = sandbox.run(&["swap", "--to", "unix-stream sndbuf=1G", "--", "true"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("more than net.core.wmem_max"), "{}", ended.stderr);
    sandbox.leaves_nothing();
}

#[test]
fn unix_sockets_become_tcp_and_keep_their_names() {
    let text = "
import os, stat
os.mkdir('below')
for name in ['s.sock', os.path.abspath('below/t.sock'), '\\0ipcperf-%d' % os.getpid()]:
    l = socket.socket(socket.AF_UNIX); l.bind(name); l.listen()
    if name[0] != '\\0': assert stat.S_ISSOCK(os.stat(name).st_mode); os.chmod(name, 0o600)
    c = socket.socket(socket.AF_UNIX); c.connect(os.path.relpath(name) if name[0] == '/' else name)
    l.setsockopt(socket.SOL_SOCKET, 16, 1)
    a, peer = l.accept()
    a.sendall(b'hello'); assert c.recv(5) == b'hello'
    c.sendall(b'back'); assert a.recv(4) == b'back'
    told = name.encode() if name[0] == '\\0' else name
    assert l.getsockname() == a.getsockname() == c.getpeername() == told, (l.getsockname(), told)
    assert c.getsockname() == a.getpeername() == '', (c.getsockname(), a.getpeername())
    print(domain(l), domain(c), domain(a), a.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), peer == '')
u = socket.socketpair(); print(domain(u[0]))
";
    let delays = ["--to", "tcp nodelay=off"];
    for words in [&["--to", "tcp"][..], &delays] {
        let Some((sandbox, ended)) = swapped(text, words) else { return };
        let sends_at_once = u8::from(words != delays);
        let told = format!("{INET} {INET} {INET} {sends_at_once} True\n");
        assert_eq!(ended.stdout, format!("{told}{told}{told}{UNIX}\n"), "{}", ended.stderr);
        assert!(ended.stderr.contains("SO_PASSCRED was set 3 times"), "{}", ended.stderr);
        sandbox.leaves_nothing();
    }
}

#[test]
fn a_listener_that_is_watched_before_it_is_bound_is_watched_afterwards() {
    let text = "
l = socket.socket(); e = select.epoll(); e.register(l.fileno(), select.EPOLLIN)
l.bind(('127.0.0.1', 0)); l.listen()
c = socket.socket(); c.setblocking(False)
d = select.epoll(); d.register(c.fileno(), select.EPOLLIN)
try: c.connect(l.getsockname())
except BlockingIOError: pass
assert e.poll(60) == [(l.fileno(), select.EPOLLIN)]
a, _ = l.accept(); e.modify(l.fileno(), 0); e.unregister(l.fileno())
a.sendall(b'x')
assert d.poll(60) == [(c.fileno(), select.EPOLLIN)] and c.recv(1) == b'x'
print(domain(l), domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout.trim(), format!("{UNIX} {UNIX}"), "{}", ended.stderr);
}

/// Every way to ask for an address tells what TCP would, and writes no byte beyond it.
#[test]
fn addresses_are_those_of_tcp() {
    let text = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def raw(name, s, *more):
    room, size = ctypes.create_string_buffer(b'\\xaa' * 128, 128), ctypes.c_int(128)
    fd = getattr(libc, name)(s.fileno(), *more, room, ctypes.byref(size))
    told = room.raw[:size.value]; assert room.raw[size.value:] == b'\\xaa' * (128 - size.value), room.raw
    return fd, told
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); port = l.getsockname()[1]
c = socket.create_connection(('127.0.0.1', port)); fd, told = raw('accept', l)
assert told[:4] == b'\\x02\\x00' + c.getsockname()[1].to_bytes(2, 'big') and len(told) == 16, told
a = socket.socket(fileno=fd)
for name, s, other in [('getpeername', a, c), ('getsockname', a, l), ('getpeername', c, l)]:
    told = raw(name, s)[1]; assert told[2:8] == other.getsockname()[1].to_bytes(2, 'big') + b'\\x7f\\0\\0\\1', told
c.sendall(b'x'); got = ctypes.create_string_buffer(8); assert raw('recvfrom', a, got, 8, 0)[1] == b''
a.sendall(b'x'); assert raw('recvfrom', c, got, 8, 0) == (1, b'')
# A client with a port of its own.
f = socket.socket(); f.bind(('127.0.0.1', 0)); own = f.getsockname(); f.connect(l.getsockname())
b, peer = l.accept(); assert peer == own == f.getsockname() == b.getpeername(), (peer, own)
# A listener of both families has mapped addresses.
d = socket.socket(socket.AF_INET6); d.setsockopt(41, 26, 0); d.bind(('::', 0)); d.listen(); port = d.getsockname()[1]
four = socket.create_connection(('127.0.0.1', port)); e, peer = d.accept()
assert four.getpeername() == ('127.0.0.1', port) and four.getsockname()[0] == '127.0.0.1'
assert peer == ('::ffff:127.0.0.1', four.getsockname()[1], 0, 0) == e.getpeername(), peer
assert e.getsockname() == ('::ffff:127.0.0.1', port, 0, 0), e.getsockname()
six = socket.create_connection(('::1', port)); e, peer = d.accept(); assert peer == six.getsockname() and peer[0] == '::1'
print(domain(a), domain(b), domain(e), domain(four))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told = [UNIX; 4].join(" ");
    assert_eq!(ended.stdout.trim(), told, "{}", ended.stderr);
    // And that is what TCP does.
    let Some((_, ended)) = swapped(text, &["--port", "1"]) else { return };
    assert!(ended.status.success(), "{}", ended.stderr);
}

/// One that does not wait says so, as TCP does, also where a backlog of one is full; and a second time it is connected.
#[test]
fn a_connection_that_does_not_wait_is_in_progress() {
    let text = "
import errno, os
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1); made, said = [], set()
for _ in range(150):
    c = socket.socket(); c.setblocking(False); made.append(c); said.add(c.connect_ex(l.getsockname()))
ready = select.select([], made[:1], [], 60)[1]
print(domain(l), domain(c), sorted(said) == [errno.EINPROGRESS], ready == made[:1])
print(made[0].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), [made[0].connect_ex(l.getsockname()) for _ in range(2)] == [0, errno.EISCONN])
for c in made: a, _ = l.accept(); c.send(b'x'); assert a.recv(9) == b'x'; a.close()
l.close(); c = socket.socket(); c.setblocking(False); said = c.connect_ex(('127.0.0.1', 9)); print(said in (errno.EINPROGRESS, errno.ECONNREFUSED))
# A port of its own, and somebody who is not exchanged.
c = socket.socket(); c.bind(('127.0.0.1', 0)); own = c.getsockname()
print(c.connect_ex(('127.0.0.1', 9)) == errno.ECONNREFUSED, domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told = format!("{UNIX} {UNIX} True True\n0 True\nTrue\nTrue {INET}\n");
    assert_eq!(ended.stdout, told, "{}", ended.stderr);
}

#[test]
fn a_send_with_an_address_on_a_stream_is_a_send() {
    let text = "
import signal
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
c = socket.create_connection(at); a, _ = l.accept()
assert c.sendto(b'hello', at) == 5 and a.recvfrom(9) == (b'hello', None), 'small'
def reads():
    time.sleep(0.05); got = b''
    while len(got) < 3_000_000: got += a.recvfrom(1 << 20)[0]
    a.sendto(got[-7:], c.getsockname())
t = threading.Thread(target=reads); t.start()
assert c.sendto(bytes(2_999_993) + b'the end', at) == 3_000_000
assert c.recvfrom(100)[0] == b'the end'; t.join()
c.setblocking(False)
try: c.recvfrom(9)
except BlockingIOError: print('nothing')
c.setblocking(True); c.settimeout(None); c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bytes(8) + (20_000).to_bytes(8, 'little'))
try: c.recvfrom(9)
except BlockingIOError: print('in time')
a.close()
try: c.sendto(b'x', at); c.sendto(b'x', at)
except OSError as error: print(type(error).__name__ in ('BrokenPipeError', 'ConnectionResetError'))
print(domain(c))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told = format!("nothing\nin time\nTrue\n{UNIX}\n");
    assert_eq!(ended.stdout, told, "{}", ended.stderr);
    assert!(ended.stderr.contains("sendto with an address was called"), "{}", ended.stderr);
}

/// An `accept(2)` that is answered by another process is interrupted as one of the kernel.
#[test]
fn a_signal_interrupts_a_program_that_waits_for_a_connection() {
    let text = "
import signal
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()
def caught(*_): raise KeyError('caught')
signal.signal(signal.SIGALRM, caught); signal.setitimer(signal.ITIMER_REAL, 0.05)
try: l.accept()
except KeyError: print('interrupted', domain(l))
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout.trim(), format!("interrupted {UNIX}"), "{}", ended.stderr);
}

/// What is set and asked for at exchanged sockets, with its errors, is what sockets of TCP say.
#[test]
fn options_are_those_of_tcp() {
    let text = "
asked = {'SO_DOMAIN': (1, 39), 'SO_PROTOCOL': (1, 38), 'SO_TYPE': (1, 3), 'TCP_NODELAY': (6, 1), 'TCP_MAXSEG': (6, 2),
    'TCP_CONGESTION': (6, 13), 'IP_TOS': (0, 1), 'TCP_USER_TIMEOUT': (6, 18), 'TCP_KEEPIDLE': (6, 4), 'V6ONLY': (41, 26),
    'none': (6, 999), 'SO_REUSEPORT': (1, 15)}
def tried(name, job):
    try: print(name, job())
    except OSError as error: print(name, error.strerror)
def all_of(*sockets):
    for at, s in enumerate(sockets):
        for name, (level, option) in asked.items():
            tried('%d %s' % (at, name), lambda: s.getsockopt(level, option, 20))
for family, host in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    l = socket.socket(family); l.setsockopt(6, 9, 3); l.setsockopt(6, 1, 1); l.bind((host, 0)); l.listen()
    c = socket.socket(family); c.setsockopt(6, 4, 77)
    tried('early', lambda: c.setsockopt(6, 4, 0)); c.connect(l.getsockname()[:2])
    l.setsockopt(6, 9, 0); c.send(b'x'); a, _ = l.accept(); all_of(l, c, a)
    for level, option, value in [(6, 1, 7), (6, 18, 500), (0, 1, 16), (1, 15, 1), (1, 60, 1), (6, 999, 1), (6, 2, 1), (6, 13, b'none')]:
        tried('set %d %d' % (level, option), lambda: c.setsockopt(level, option, value))
    tried('length', lambda: c.setsockopt(6, 1, b'x')); tried('late', lambda: l.setsockopt(41, 26, 1)); all_of(c)
    info = c.getsockopt(6, 11, 300); print(info[0], info[16:24], info[84:88], len(info))
print(domain(c), domain(a), file=sys.stderr)
";
    let Some((_, exchanged)) = swapped(text, &[]) else { return };
    let Some((_, tcp)) = swapped(text, &["--port", "1"]) else { return };
    assert!(exchanged.stderr.contains(&format!("{UNIX} {UNIX}")), "{}", exchanged.stderr);
    assert!(exchanged.stderr.contains("TCP_INFO was read 2 times"), "{}", exchanged.stderr);
    assert!(tcp.stderr.contains("domain 10 domain 10"), "{}", tcp.stderr);
    for (one, other) in exchanged.stdout.lines().zip(tcp.stdout.lines()) {
        assert_eq!(one, other, "{}", exchanged.stderr);
    }
    assert_eq!(exchanged.stdout.lines().count(), tcp.stdout.lines().count());
}

/// However a program holds its epolls: two at once, one under another number, one that a child inherits, and one that is closed.
#[test]
fn every_epoll_that_watches_a_socket_watches_its_successor() {
    let text = "
import os
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
def connects(*epolls):
    c = socket.socket()
    for e in epolls: e.register(c.fileno(), select.EPOLLIN)
    c.connect(at); a, _ = l.accept(); a.sendall(b'x')
    return domain(c) + ' ' + str([e.poll(60) == [(c.fileno(), select.EPOLLIN)] for e in epolls])
one = select.epoll(); print(connects(one))
two = select.epoll(); print(connects(one, two))
moved = os.dup(two.fileno()); two.close(); two = select.epoll.fromfd(moved); print(connects(two))
one.close(); three = select.epoll(); print(connects(two, three), flush=True)
if os.fork() == 0:
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
    print(connects(three, select.epoll()), flush=True); os._exit(0)
os.wait()
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told =
        [1, 2, 1, 2, 2].map(|epolls| format!("{UNIX} [{}]\n", ["True"; 2][..epolls].join(", ")));
    assert_eq!(ended.stdout, told.concat(), "{}", ended.stderr);
}

/// A program with a thousand descriptors, and an epoll that watches half of them, connects as fast as one with a few.
#[test]
fn a_connection_takes_as_long_with_a_thousand_descriptors() {
    let text = "
import os, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2000), hard))
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
e = select.epoll()
def fastest():
    took = []
    for _ in range(60):
        c = socket.socket(); begin = time.perf_counter(); c.connect(at); took.append(time.perf_counter() - begin)
        c.close(); l.accept()[0].close()
    return min(took)
few = fastest(); kept = [os.pipe() for _ in range(500)]
for reads, _ in kept: e.register(reads, select.EPOLLIN)
many = fastest()
print(domain(l), round(1e6 * few), round(1e6 * many), many < 5 * few)
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert!(ended.stdout.starts_with(UNIX), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.trim().ends_with("True"), "us with few and with many: {}", ended.stdout);
}

/// More connect than there is room for: each waits until there is.
const FULL: &str = "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(0)
done = []
def connect():
    c = socket.create_connection(l.getsockname()); assert c.recv(1) == b'x'; done.append(c)
threads = [threading.Thread(target=connect) for _ in range(20)]
for t in threads: t.start()
time.sleep(0.1)
kept = []
for _ in threads:
    a, _ = l.accept(); a.sendall(b'x'); kept.append(a)
for t in threads: t.join()
print(len(done), domain(done[0]))
";

#[test]
fn who_connects_to_a_full_backlog_waits() {
    let Some((_, ended)) = swapped(FULL, &[]) else { return };
    assert_eq!(ended.stdout.trim(), format!("20 {UNIX}"), "{}", ended.stderr);
}

#[test]
fn what_is_not_asked_for_stays_as_it_is() {
    let text = "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()
c = socket.create_connection(l.getsockname())
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
p = socket.socket(socket.AF_UNIX); p.bind('\\0%s' % l.getsockname()[1])
r = socket.socket(); r.bind(('127.0.0.1', 0)); refused = socket.socket().connect_ex(r.getsockname())
print(domain(l), domain(c), domain(u), domain(p), refused == 111)
";
    let Some((_, ended)) = swapped(text, &["--port", "1"]) else { return };
    let told = format!("{INET} {INET} {INET} {UNIX} True");
    assert_eq!(ended.stdout.trim(), told, "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was exchanged"), "{}", ended.stderr);
    let Some((_, ended)) = swapped(text, &[]) else { return };
    let told = format!("{UNIX} {UNIX} {INET} {UNIX} True");
    assert_eq!(ended.stdout.trim(), told, "{}", ended.stderr);
}

/// Where the watch may not look at programs it says so before they start.
#[test]
fn a_sandbox_without_the_calls_for_it_is_named_at_once() {
    if let Err(error) = without(&[], Refusal::NotPermitted, || ()) {
        return skipped("seccomp", error);
    }
    for (name, call) in [
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("process_vm_writev", libc::SYS_process_vm_writev),
    ] {
        let sandbox = Sandbox::new();
        let run = || sandbox.run(&["swap", "--", "touch", "started"]);
        let ended = without(&[call], Refusal::NotPermitted, run).expect("a filter");
        assert_eq!(ended.status.code(), Some(3), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{name}: {}", ended.stderr);
        assert!(sandbox.read("started").is_err(), "{name}");
    }
}

/// What can be known early is said early, by name, and a client that never began is no success.
#[test]
fn a_server_that_cannot_be_exchanged_is_named_before_its_client_waits_for_long() {
    let udp = "u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0)); p = u.getsockname()[1]; u.close()
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', p)); u.recv(9)";
    let listen = "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()";
    let forks = "
import os
if os.fork(): os._exit(0)
";
    let early = format!("{forks}{listen}\ntime.sleep(60)");
    let late = format!("{listen}{forks}\ntime.sleep(60)");
    let background = "goes on in the background: start it in the foreground";
    at_once(
        [
            (udp, "the program serves UDP at 127.0.0.1:"),
            (&early, background),
            (&late, background),
            ("pass", "the program ended before it listened"),
        ],
        |(text, told)| {
            let Some(sandbox) = script(&[("program", text)]) else { return };
            let client = ["--client", "sleep 3", "--", "python3", "program.py"];
            let ended = sandbox.run(&[&["swap"][..], &client].concat());
            assert_eq!(ended.status.code(), Some(1), "{text}: {}", ended.stderr);
            assert!(ended.stderr.contains(told), "{text}: {}", ended.stderr);
            assert!(!ended.stderr.contains("within 60 s"), "{text}: {}", ended.stderr);
            sandbox.leaves_nothing();
        },
    );
    // Without a client it is only said.
    let Some((_, ended)) = swapped(&early, &[]) else { return };
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("python3, which it started, was ended too"), "{}", ended.stderr);
}

#[test]
fn a_folder_whose_paths_are_too_long_for_a_socket_is_named() {
    let sandbox = Sandbox::new();
    let long = sandbox.temporary().join("a".repeat(80));
    fs::create_dir(&long).expect("a folder");
    let mut command = sandbox.command(&["swap", "--", "true"]);
    command.env("XDG_RUNTIME_DIR", &long).env("TMPDIR", &long);
    let ended = sandbox.spawn(command).end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("at most 107 are possible: set XDG_RUNTIME_DIR"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_address_that_is_taken_is_refused_as_ever() {
    let text = "
import errno
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()
try: socket.socket().bind(l.getsockname())
except OSError as error: print(errno.errorcode[error.errno])
";
    let Some((_, ended)) = swapped(text, &[]) else { return };
    assert_eq!(ended.stdout.trim(), "EADDRINUSE", "{}", ended.stderr);
}

const CLOSED: &str = "
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); at = l.getsockname()
c = socket.create_connection(at); a, _ = l.accept(); l.close()
refused = socket.socket().connect_ex(at)
m = socket.socket(); m.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); m.bind(at); m.listen()
d = socket.create_connection(at); b, _ = m.accept()
b.sendall(b'x'); a.sendall(b'y')
print(refused == 111, d.recv(1), c.recv(1), domain(m), domain(d))
";

#[test]
fn an_address_that_was_closed_can_be_bound_again() {
    let Some((_, ended)) = swapped(CLOSED, &[]) else { return };
    let told = format!("True b'x' b'y' {UNIX} {UNIX}");
    assert_eq!(ended.stdout.trim(), told, "{}", ended.stderr);
}

/// A server that answers until it is ended, in a child of its own.
const SERVER: &str = "
import os, signal
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()
open('port', 'w').write(str(l.getsockname()[1])); os.rename('port', 'port.txt')
def end(*_): print('asked to end', flush=True); sys.exit(0)
if 'stays' in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
else: signal.signal(signal.SIGTERM, end)
if 'forks' in sys.argv and os.fork() == 0: os.setsid()
while True:
    a, _ = l.accept(); d = a.recv(100); a.sendall(d.upper()); a.close()
";

const CLIENT: &str = "
while True:
    try: port = int(open('port.txt').read()); break
    except FileNotFoundError: time.sleep(0.01)
c = socket.create_connection(('127.0.0.1', port)); c.sendall(b'question')
print(c.recv(100).decode(), domain(c), flush=True); sys.exit(7)
";

#[test]
fn a_client_starts_when_the_program_listens_and_ends_it() {
    let Some(sandbox) = script(&[("server", SERVER), ("client", CLIENT)]) else { return };
    let client = ["swap", "--client", "python3 client.py", "--", "python3", "server.py"];
    for more in ["", "forks", "stays"] {
        let ended = sandbox.run(&[&client[..], &[more]].concat());
        assert_eq!(ended.status.code(), Some(7), "{more}: {}", ended.stderr);
        assert!(ended.stdout.contains(&format!("QUESTION {UNIX}")), "{more}: {}", ended.stdout);
        assert_eq!(ended.stdout.contains("asked to end"), more != "stays", "{more}");
        let _ = fs::remove_file(sandbox.home().join("port.txt"));
    }
    sandbox.leaves_nothing();
}

#[test]
fn sockets_of_tcp_become_vm_sockets_where_these_reach_their_own_machine() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["swap", "--to", "vsock", "--", "true"]);
    if !ended.status.success() {
        assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
        return skipped("vsock", ended.stderr.trim());
    }
    for (text, told) in [
        (BOTH, format!("{VM} {VM} {VM} True")),
        (FULL, format!("20 {VM}")),
        (CLOSED, format!("True b'x' b'y' {VM} {VM}")),
    ] {
        for words in [&["--to", "vsock"][..], &["--to", "vsock buffer=64K"]] {
            let Some((_, ended)) = swapped(text, words) else { return };
            assert!(ended.stdout.starts_with(&told), "{}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(" -> vsock port "), "{}", ended.stderr);
        }
    }
    let Some(sandbox) = script(&[("server", SERVER), ("client", CLIENT)]) else { return };
    let words = ["swap", "--to", "vsock", "--client", "python3 client.py", "--", "python3"];
    let ended = sandbox.run(&[&words[..], &["server.py"]].concat());
    assert_eq!(ended.status.code(), Some(7), "{}", ended.stderr);
    assert!(ended.stdout.contains(&format!("QUESTION {VM}")), "{}", ended.stdout);
}

#[test]
fn however_it_ends_nothing_of_the_program_is_left() {
    for (name, whom) in [("INT", None), ("KILL", None), ("KILL", Some("__worker"))] {
        let Some(sandbox) = script(&[("server", SERVER)]) else { return };
        let running = sandbox.start(&["swap", "--", "python3", "server.py", "forks"]);
        wait_for("the server", || sandbox.read("port.txt").ok());
        let pid = match whom {
            None => running.child.id(),
            Some(_) => wait_for("the watch", || crate::watch::workers(&sandbox).first().copied()),
        };
        signal(name, pid);
        let ended = running.end();
        let expected = match (name, whom) {
            ("INT", _) => Some(0),
            (_, Some(_)) => Some(1),
            _ => None,
        };
        assert_eq!(ended.status.code(), expected, "{name} {whom:?}: {}", ended.stderr);
        wait_for("the end of all", || crate::watch::processes(&sandbox).is_empty().then_some(()));
        if expected.is_some() {
            sandbox.leaves_nothing();
        }
    }
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    let sandbox = Sandbox::new();
    for (script, code) in [("exit 0", 0), ("exit 5", 5), ("kill -USR1 $$", 128 + 10)] {
        let ended = sandbox.run(&["swap", "--", "sh", "-c", script]);
        assert_eq!(ended.status.code(), Some(code), "{script}: {}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_exchanged_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.refuses(&["swap", "--to", "unix-strem", "--", "true"], "did you mean 'unix-stream'?");
    sandbox.refuses(&["swap", "--", "no-such-program"], "no program 'no-such-program' in PATH");
    sandbox.refuses(&["swap", "--client", "no-such", "--", "true"], "no program 'no-such'");
    let copy = sandbox.home().join("passwd");
    fs::copy("/bin/true", &copy).expect("a program");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).expect("it is ours");
    sandbox.refuses(&["swap", "--", "./passwd"], "takes the rights of its owner");
    let small = sandbox.home().join("small");
    fs::write(&small, b"\x7fELF\x01\x01\x01").expect("a program");
    fs::set_permissions(&small, fs::Permissions::from_mode(0o755)).expect("it is ours");
    sandbox.refuses(
        &["predict", "--server", "true", "--client", "./small"],
        "is a 32-bit program: its calls cannot be recorded",
    );
    let own = env!("CARGO_BIN_EXE_ipcperf");
    let ended = sandbox.run(&["swap", "--", own, "swap", "--", "true"]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let told = "the calls of this process are already intercepted";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}
