"""Gives the worker of ipcperf the transport that a class in a file is: LIBRARY FILE __worker PARENT.

The structs are those of include/ipcperf.h, and the class has the functions of its table as methods.
"""

import sys

# The folder of the user is no place for what is imported here: it may have files of these names.
sys.path[:] = [folder for folder in sys.path if folder]

import ctypes
import errno
import gc
import importlib.util
import itertools
import os
import traceback
from collections import namedtuple

OK, CLOSED, PEER_DIED, TOO_LONG, TRUNCATED, CORRUPT, TIMEOUT, BACK_PRESSURE, UNAVAILABLE = range(9)
ABI, MAX_FDS, MAX_BYTES = 1, 8, 4096

text = ctypes.c_char_p
own = ctypes.c_void_p
u32, u64, size, code = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int
call = ctypes.CFUNCTYPE


def struct(name, *members):
    return type(name, (ctypes.Structure,), {"_fields_": members})


RawKnob = struct(
    "RawKnob", ("size", size), ("name", text), ("help", text), ("fallback", text), ("kind", u32), ("reserved", u32),
    ("min", u64), ("max", u64), ("words", text),
)
Facts = struct(
    "Facts", ("size", size), ("name", text), ("summary", text), ("needs", text), ("over", text), ("wait", u32),
    ("payload", u32), ("back_pressure", u32), ("on_close", u32), ("on_death", u32), ("reach", u32), ("flags", u32),
    ("copies", u32), ("knob_count", u32), ("knob_stride", u32), ("knobs", ctypes.POINTER(RawKnob)),
    ("helper", text), ("helper_ready", text),
)
RawWiring = struct(
    "RawWiring", ("size", size), ("fd_count", u32), ("byte_count", u32), ("fds", ctypes.c_int * MAX_FDS),
    ("bytes", ctypes.c_ubyte * MAX_BYTES),
)
Host = struct(
    "Host", ("size", size), ("directory", text), ("prefix", text), ("nonce", u64), ("deadline_ns", u64),
    ("log", call(None, own, text)), ("grant", call(None, own, text, text)),
    ("swap", call(code, own, ctypes.POINTER(RawWiring), ctypes.POINTER(RawWiring))),
)
Setting = struct("Setting", ("knob", text), ("value", text))
RawSetup = struct(
    "RawSetup", ("size", size), ("host", ctypes.POINTER(Host)), ("message_bytes", u64), ("is_lead", u32),
    ("setting_count", u32), ("settings", ctypes.POINTER(Setting)),
)
Event = struct("Event", ("name", text), ("count", u64))
setup_pointer, wiring_pointer, own_pointer = map(ctypes.POINTER, (RawSetup, RawWiring, own))
FUNCTIONS = {
    "probe": call(code, setup_pointer),
    "limit": call(u64, setup_pointer),
    "window": call(u32, setup_pointer),
    "open": call(code, setup_pointer, own_pointer, wiring_pointer),
    "close": call(None, own),
    "attach": call(code, setup_pointer, wiring_pointer, own_pointer),
    "detach": call(None, own),
    "send": call(code, own, own, size),
    "recv": call(code, own, own, size, ctypes.POINTER(size)),
    "flush": call(code, own),
    "finish": call(code, own),
    "expect": call(None, own, size),
    "events": call(u32, own, ctypes.POINTER(Event), u32),
    "descriptor": call(code, own, code),
    "reserve": own,
    "commit": own,
    "abort": own,
    "peek": own,
    "release": own,
    "reason": call(own, own),
}
Transport = struct(
    "Transport", ("size", size), ("abi", u32), ("reserved", u32), ("facts", ctypes.POINTER(Facts)), *FUNCTIONS.items()
)

# Facts that are one of several words, in the order of the header, and flags.
WORDS = {
    "wait": ["block", "epoll", "spin", "spin-then-block"],
    "payload": ["messages", "stream"],
    "back_pressure": ["blocks", "drops", "overwrites", "unbounded"],
    "on_close": ["unnoticed", "noticed", "late"],
    "on_death": ["unnoticed", "noticed", "late"],
    "reach": ["related", "same-user", "named", "network"],
}
FLAGS = ["lossy", "two_way", "many_producers", "many_consumers", "threads", "calls", "fresh", "private", "stays"]
KINDS = ["count", "bytes", "flag", "choice"]

# What one end gets: descriptors (numbers) and bytes.
Wiring = namedtuple("Wiring", "fds data")


class Unavailable(Exception):
    """This host cannot run the transport."""


class Ended(Exception):
    """The code that ends a call."""


class Mistake(Exception):
    """What the file has is not what a transport needs."""


def words_of(error):
    """An exception in one line, with the line of the file that it comes from."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[-1]
    if isinstance(error, Mistake):
        return str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return f"{words} ({os.path.basename(FILE)}, line {lines[-1]})" if lines else words


def report(error):
    print(words_of(error), file=sys.stderr, flush=True)


class Setup:
    """What is asked of a channel. It is valid during the call."""

    def __init__(self, raw):
        raw = raw.contents
        host = raw.host.contents
        self._host = host
        self.message_bytes = raw.message_bytes
        self.is_lead = bool(raw.is_lead)
        self.directory = (host.directory or b"").decode()
        self.prefix = (host.prefix or b"").decode()
        self.nonce = host.nonce
        self.deadline_ns = host.deadline_ns
        settings = raw.settings[: raw.setting_count]
        self.settings = {one.knob.decode(): one.value.decode() for one in settings}

    def log(self, words):
        self._host.log(ctypes.addressof(self._host), str(words).encode())

    def grant(self, knob, value):
        self._host.grant(ctypes.addressof(self._host), knob.encode(), str(value).encode())

    def swap(self, *mine):
        """Gives descriptors and bytes to the peer, and returns the Wiring that the peer gives."""
        given, theirs = RawWiring(), RawWiring()
        theirs.size = ctypes.sizeof(RawWiring)
        copies = fill(given, mine, False)
        try:
            answer = self._host.swap(ctypes.addressof(self._host), given, theirs)
        finally:
            for fd in copies:
                os.close(fd)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer))
        if answer != OK:
            raise Ended(answer)
        return wiring(theirs)

    def unavailable(self, reason):
        raise Unavailable(reason)


def wiring(raw):
    return Wiring(list(raw.fds[: raw.fd_count]), bytes(raw.bytes[: raw.byte_count]))


def fill(raw, given, takes):
    """Fills a wiring with descriptors and bytes. Those of objects are copied, and numbers too unless it takes them; returns
    the copies."""
    raw.size = ctypes.sizeof(RawWiring)
    if isinstance(given, (bytes, bytearray, int)) or hasattr(given, "fileno"):
        given = [given]
    fds, copies, data = [], [], b""
    for one in given or ():
        if isinstance(one, (bytes, bytearray)):
            data += bytes(one)
        else:
            fd = one if isinstance(one, int) else one.fileno()
            if not (takes and isinstance(one, int)):
                fd = os.dup(fd)
                copies.append(fd)
            fds.append(fd)
    if len(fds) > MAX_FDS or len(data) > MAX_BYTES:
        raise Mistake(f"{len(fds)} descriptors and {len(data)} bytes; {MAX_FDS} and {MAX_BYTES} are the most")
    raw.fd_count, raw.byte_count = len(fds), len(data)
    raw.fds[: len(fds)] = fds
    raw.bytes[: len(data)] = data
    return copies


ends, channels = {}, {}
# What stands for an end or a channel outside: not zero, and each once.
numbers = itertools.count(1)
# The last reason, by end; None: of none.
reasons = {}
kept = []
views = {}
view_of = ctypes.pythonapi.PyMemoryView_FromMemory
view_of.restype = ctypes.py_object
view_of.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def memory(at, length, flags):
    """The bytes at an address, which are valid during the call. The worker uses the same few buffers all the time."""
    key = (at, length, flags)
    view = views.get(key)
    if view is None:
        if len(views) >= 64:
            views.clear()
        view = views[key] = view_of(at, length, flags)
    return view


READ, WRITE = 0x100, 0x200


def failed(end, error):
    """The code of an exception."""
    reasons[end] = None
    if isinstance(error, Ended):
        return error.args[0]
    if isinstance(error, Unavailable):
        reasons[end] = str(error)
        return UNAVAILABLE
    if isinstance(error, EOFError):
        return CLOSED
    if isinstance(error, (BrokenPipeError, ConnectionResetError)):
        return PEER_DIED
    if isinstance(error, BlockingIOError):
        return BACK_PRESSURE
    if isinstance(error, TimeoutError):
        return TIMEOUT
    if isinstance(error, OSError) and error.errno == errno.EMSGSIZE:
        return TOO_LONG
    reasons[end] = words_of(error)
    return -error.errno if isinstance(error, OSError) and error.errno else -errno.EPROTO


def table(kind):
    """The table of a class, whose functions never raise."""

    def probe(setup):
        try:
            lacks = kind.probe(Setup(setup))
            if lacks:
                raise Unavailable(lacks)
            return OK
        except BaseException as error:
            return failed(None, error)

    def number(method):
        def function(setup):
            try:
                return int(method(Setup(setup)) or 0)
            except BaseException as error:
                failed(None, error)
                return 0

        return function

    def open_(setup, channel, wirings):
        try:
            made = kind.open(Setup(setup))
            if not isinstance(made, (tuple, list)) or len(made) not in (2, 3):
                raise Mistake("open returns (lead, follow), or (lead, follow, channel) for close")
            for index in range(2):
                fill(wirings[index], made[index], True)
            number = next(numbers)
            channels[number] = made[2] if len(made) > 2 else None
            channel[0] = number
            return OK
        except BaseException as error:
            return failed(None, error)

    def close(channel):
        try:
            kept_by = channels.pop(channel, None)
            if hasattr(kind, "close"):
                kind.close(kept_by)
        except BaseException as error:
            report(error)

    def attach(setup, raw, end):
        try:
            number = next(numbers)
            ends[number] = kind(Setup(setup), wiring(raw.contents))
            end[0] = number
            return OK
        except BaseException as error:
            return failed(None, error)

    def detach(end):
        try:
            one = ends.pop(end)
            if hasattr(one, "detach"):
                one.detach()
            del one
            # What goes with the end goes now, as it would without a collector.
            gc.collect()
        except BaseException as error:
            report(error)

    def send(end, at, length):
        try:
            ends[end].send(memory(at, length, READ))
            return OK
        except BaseException as error:
            return failed(end, error)

    def recv(end, at, length, received):
        try:
            got = ends[end].recv(memory(at, length, WRITE))
            if got is None or got < 0:
                raise Mistake(f"recv returned {got}, not how many bytes it has read")
            if got == 0 and length > 0:
                return CLOSED
            received[0] = got
            return OK
        except BaseException as error:
            return failed(end, error)

    def plain(name):
        def function(end):
            try:
                getattr(ends[end], name)()
                return OK
            except BaseException as error:
                return failed(end, error)

        return function

    def expect(end, length):
        try:
            ends[end].expect(length)
        except BaseException as error:
            report(error)

    def events(end, into, capacity):
        try:
            counted = list(ends[end].events().items())
            for at, (name, count) in enumerate(counted[:capacity]):
                name = str(name).encode()
                kept.append(name)
                into[at] = Event(name, count)
            return len(counted)
        except BaseException as error:
            report(error)
            return 0

    def descriptor(end, is_recv):
        try:
            fd = ends[end].descriptor(bool(is_recv))
            return -1 if fd is None else fd if isinstance(fd, int) else fd.fileno()
        except BaseException as error:
            report(error)
            return -1

    said = {}

    def reason(end):
        words = reasons.get(end or None)
        if not words:
            return None
        said[end] = ctypes.create_string_buffer(words.encode()[:1000])
        return ctypes.addressof(said[end])

    functions = {"attach": attach, "detach": detach, "send": send, "recv": recv, "reason": reason}
    optional = {
        "probe": probe, "open": open_, "flush": plain("flush"), "finish": plain("finish"), "expect": expect,
        "events": events, "descriptor": descriptor,
    }
    for name in ("limit", "window"):
        if hasattr(kind, name):
            optional[name] = number(getattr(kind, name))
    functions.update((name, function) for name, function in optional.items() if hasattr(kind, name))
    if "open" in functions:
        functions["close"] = close
    made = Transport(size=ctypes.sizeof(Transport), abi=ABI, facts=ctypes.pointer(facts(kind)))
    for name, function in functions.items():
        setattr(made, name, FUNCTIONS[name](function))
    return made


def facts(kind):
    """The facts of a class: its attributes."""
    summary = getattr(kind, "summary", None) or (kind.__doc__ or "").strip().split("\n")[0]
    made = Facts(size=ctypes.sizeof(Facts), name=getattr(kind, "name", kind.__name__.lower()).encode())
    made.summary = summary.encode()
    for name in ("needs", "over", "helper", "helper_ready"):
        value = getattr(kind, name, None)
        setattr(made, name, value.encode() if value else None)
    for name, words in WORDS.items():
        value = getattr(kind, name, words[0])
        setattr(made, name, number_of(f"{kind.__name__}.{name}", value, words))
    made.flags = sum(1 << at for at, name in enumerate(FLAGS) if getattr(kind, name, False))
    made.copies = getattr(kind, "copies", 0)
    knobs = list(getattr(kind, "knobs", {}).items())
    raw = (RawKnob * len(knobs))()
    for one, (name, given) in zip(raw, knobs):
        where = f"{kind.__name__}.knobs[{name!r}]"
        one.size, one.name = ctypes.sizeof(RawKnob), name.encode()
        given = dict(given)
        one.kind = number_of(f"{where}['kind']", given.pop("kind", "count"), KINDS)
        for member in ("help", "fallback"):
            setattr(one, member, str(given.pop(member, "")).encode())
        one.min, one.max = given.pop("min", 0), given.pop("max", (1 << 64) - 1)
        one.words = " ".join(given.pop("words", ())).encode()
        if given:
            known = "kind, help, fallback, min, max, words"
            raise Mistake(f"{where} has {', '.join(map(repr, given))}; known: {known}")
    made.knob_count, made.knob_stride, made.knobs = len(knobs), ctypes.sizeof(RawKnob), raw
    return made


def number_of(where, value, words):
    if value not in words:
        raise Mistake(f"{where} is {value!r}; known: {', '.join(words)}")
    return words.index(value)


# The one table, once the file has run.
tables = []


def transport():
    """The address of the table, or nothing where standard error has the reason. The file runs once."""
    if tables:
        return ctypes.addressof(tables[0])
    try:
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.path.dirname(FILE))
        sys.argv = [FILE]
        described = importlib.util.spec_from_file_location("transport", FILE)
        module = importlib.util.module_from_spec(described)
        sys.modules["transport"] = module
        described.loader.exec_module(module)
        own_classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == "transport"]
        found = [one for one in own_classes if callable(getattr(one, "send", None)) and callable(getattr(one, "recv", None))]
        # A class that others of the file extend is not meant.
        found = [one for one in found if not any(one is not other and issubclass(other, one) for other in found)]
        if len(found) != 1:
            names = ", ".join(one.__name__ for one in found) or "none"
            raise Mistake(f"classes with the methods send and recv: {names}; the file has to have one")
        tables.append(table(found[0]))
        return ctypes.addressof(tables[0])
    except BaseException as error:
        report(error)
        return None


LIBRARY, FILE, _, PARENT = sys.argv[1:]
make = call(own)(transport)
worker = ctypes.CDLL(LIBRARY).ipcperf_worker
worker.argtypes = (u32, call(own))
# Nothing of the class runs after this: what it leaves was counted.
os._exit(worker(int(PARENT), make))
