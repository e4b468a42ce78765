//! Parts of a cell's identity, and words in rows and sentences.

use crate::results::columns::Entry;

/// Parts of a cell's identity.
pub(super) const SETTINGS: &[Entry] = &[
    (
        "ping-pong",
        "one message there, one back, one at a time: what a caller waits for",
        "read p50 and p99",
    ),
    (
        "stream",
        "messages sent one after another in one direction: the highest throughput; as a family, bytes without boundaries",
        "read the rate",
    ),
    (
        "burst",
        "several messages at once, then one answer",
        "read p50, and divide by the number of messages",
    ),
    (
        "request",
        "requests with answers of another size, several in flight, each timed separately",
        "read p50 and p99",
    ),
    ("fan-in", "several senders and one receiver on one object", "read the rate, Jain and least"),
    ("fan-out", "one sender and several receivers on one object", "read the rate, Jain and least"),
    (
        "grid",
        "several senders and several receivers on one object",
        "read the rate, Jain and whole",
    ),
    (
        "broadcast",
        "one sender and several receivers with a channel each: every message goes to all of them",
        "read the rate, slowest and behind",
    ),
    (
        "feed",
        "messages that are due at set times, with no answer: every message goes to all receivers",
        "read p99, stale, and late with unread, which show who does not keep up",
    ),
    (
        "connect",
        "one connection per request: connect, send, receive the answer, close",
        "read the rate, p99 and errors",
    ),
    (
        "serve",
        "one server and clients that stay connected to it; each request waits for its answer",
        "read the rate, p99 and limit",
    ),
    (
        "same-cpu",
        "both sides on one CPU, taking turns",
        "compare with two CPUs: one CPU is often faster for small messages",
    ),
    ("smt", "two hardware threads of one core", "compare with same-llc"),
    (
        "same-llc",
        "two CPUs that share the last-level cache (LLC)",
        "treat it as what two processes usually get",
    ),
    (
        "cross-llc",
        "two CPUs of one node that share no cache",
        "keep processes that talk a lot together",
    ),
    ("cross-node", "two CPUs on two NUMA nodes", "keep processes that talk a lot on one node"),
    (
        "p-cores",
        "two cores of the fastest kind, on a machine with several kinds of cores (P and E, big and LITTLE)",
        "compare with e-cores",
    ),
    ("e-cores", "two cores of the slowest kind", "compare with p-cores"),
    (
        "cross-kind",
        "a core of the fastest kind and one of the slowest",
        "compare with p-cores: the slower side decides",
    ),
    (
        "free",
        "not pinned: the scheduler places and moves both sides",
        "pin them for repeatable results",
    ),
    (
        "as-is",
        "idle CPUs do what they do on this machine: a wake-up pays for leaving idle",
        "compare with --idle poll",
    ),
    (
        "poll",
        "idle CPUs poll and never sleep (PM QoS): wake-ups are fast, power is wasted",
        "compare with --idle as-is",
    ),
    (
        "none",
        "as touch policy: only the stamp of a message is written and checked, so nothing is ranked",
        "use --touch cacheline or full for a ranking",
    ),
    (
        "header",
        "as touch policy: only the first cache line is written and read, so nothing is ranked",
        "use --touch cacheline or full for a ranking",
    ),
    (
        "cacheline",
        "as touch policy: one word of each cache line of the payload is written and read",
        "use --touch copy or full if your program has its data elsewhere, or uses all of it",
    ),
    (
        "full",
        "as touch policy: every byte of the payload is written and checked",
        "subtract nothing: programs do this too",
    ),
    (
        "copy",
        "as touch policy: messages start and end in private memory of each side, and are copied if the mechanism provides other memory",
        "use it to compare shared memory with mechanisms where the kernel copies",
    ),
    ("block", "a side sleeps in the call that moves the data", "use it where CPUs are shared"),
    (
        "epoll",
        "a side sleeps in epoll_wait, then moves the data",
        "use it where one thread serves many channels",
    ),
    (
        "spin",
        "a side busy-waits: it never sleeps and uses a whole CPU",
        "use it where each side has a CPU of its own",
    ),
    (
        "spin-then-block",
        "a side busy-waits for a limited time, then sleeps",
        "measure it with your program's pauses: --think",
    ),
    ("idle", "what an idle CPU does: as-is or poll", "compare both: --idle as-is,poll"),
    (
        "touch",
        "how each side touches the payload: none, header, cacheline, full, copy",
        "use what your program does",
    ),
    ("lead", "the side that starts", "see its CPU in the result"),
    ("follow", "the side that answers", "see its CPU in the result"),
    (
        "floor",
        "measures the harness itself and moves no data; it is never ranked",
        "subtract it only from values close to it",
    ),
];

/// Words in rows and sentences.
pub(super) const SHOWN: &[Entry] = &[
    (
        "lost",
        "an answer never came, so the quantile is longer than any time",
        "use a mechanism that loses nothing, or a lower rate",
    ),
    (
        "saturated",
        "messages came faster than they were answered, so there is no response time",
        "use a lower --rate",
    ),
    (
        ">50%",
        "the interval is wider than half of the value on either side",
        "use more rounds, or a quieter machine",
    ),
    (
        "reference",
        "the row that the others of its table are compared with",
        "use it, unless another row is faster by more than matters to you",
    ),
    (
        "as fast",
        "the 90 % interval of the ratio to the reference lies within the margin, which is 10 % unless --margin says otherwise",
        "choose by something else",
    ),
    (
        "undecided",
        "the interval of the ratio, which is shown, leaves open whether the row is slower, faster or as fast; or there is no sound ratio: fewer than six rounds have both (pairs), the reference measured twice differs from itself (control), or a run of noise grade F has no equality to state",
        "use more rounds; with control or grade F, repeat the run on a quieter machine",
    ),
    (
        "screen only",
        "measured in a few rounds, only to decide what to confirm: the value has no interval, and no ratio is stated",
        "name it with -m to have it confirmed",
    ),
    (
        "runner-up",
        "the best of those that are certainly slower",
        "choose it if the best is not available",
    ),
    (
        "Pareto front",
        "those that nothing else beats in p99, CPU time and rate at once",
        "choose among these by what you need",
    ),
    (
        "CONFOUNDED",
        "something else differs between the two sides and may be the cause",
        "remove it, or declare it as what you compare: --factor",
    ),
    ("MORE", "B certainly uses more CPU time", "keep A if CPUs are scarce"),
    ("LESS", "B certainly uses less CPU time", "choose B if CPUs are scarce"),
    (
        "INTERRUPTED",
        "the run was stopped before its plan was complete: all values are from what was measured until then",
        "repeat it, and let it finish",
    ),
    (
        "unexplained",
        "the part of a round trip that no separately measured part accounts for",
        "use -v to see the parts that have no value",
    ),
    (
        "send and receive",
        "the calls of a message for which neither side waits, in both directions",
        "make fewer calls: larger messages, batches, shared memory",
    ),
    (
        "wake-up and switch",
        "waking the other side and switching to it",
        "busy-wait briefly, or put both sides on one CPU",
    ),
    (
        "leaving idle",
        "the time until an idle CPU runs again",
        "see --idle poll, or put both sides on one CPU",
    ),
    ("migration", "moving a process to another CPU", "pin both sides"),
    (
        "cache line",
        "moving a cache line from one CPU to another and back",
        "put both sides on CPUs that share a cache",
    ),
    (
        "yes",
        "for a claim across machines: REPRODUCED; in 'ipcperf list': it can run here",
        "see that machine's result",
    ),
    (
        "no",
        "for a claim across machines: NOT REPRODUCED; in 'ipcperf list': it cannot run here; for peer death: it goes unnoticed",
        "read the reason below the table",
    ),
    ("open", "for a claim across machines: INCONCLUSIVE", "use more rounds there"),
    (
        "artefact",
        "it came out as published, but for a reason that is not a property of the mechanisms",
        "read the cause",
    ),
    (
        "untested",
        "for a claim across machines: there is no value",
        "read the reason in that machine's result",
    ),
    (
        "turned",
        "a claim holds on one machine but not on another",
        "look at what differs between the two machines",
    ),
    ("told", "of peer death: the survivor reads what was sent and then notices", "rely on it"),
    ("late", "of peer death: the survivor notices, but it may take a minute", "add a timeout"),
    ("undetected", "of peer death: it goes unnoticed", "add a timeout or a heartbeat"),
    (
        "by fd",
        "for related processes, or processes that were passed a descriptor",
        "use by name for others",
    ),
    (
        "by pid",
        "for processes of one user that know each other's process ID",
        "use by name for others",
    ),
    ("by name", "for any process that may open its name", "set the permissions of the name"),
    (
        "by port",
        "for any process in the network namespace, and for other hosts if routed",
        "bind it to the loopback address",
    ),
    ("bytes", "what it carries has no boundaries", "send the length before the message"),
    ("wake-ups", "it carries no message, or one word", "put the message into shared memory"),
    ("blocks", "a sender waits while the channel is full", "expect the receiver's speed"),
    ("drops", "a message is lost if the channel is full", "count messages, and resend"),
    ("merges", "unseen wake-ups become one", "look for all pending work at each wake-up"),
    (
        "overwrites",
        "a newer message replaces an unseen one",
        "use it if only the latest value matters",
    ),
    ("passed", "the self-test found what it should", "trust what it tested"),
    ("cannot tell", "the self-test could not decide this time", "repeat it on a quieter machine"),
    ("fix these", "something disturbs measurements and can be fixed", "do what the remedy says"),
    ("good to know", "something that affects all results of this machine", "read the consequence"),
    ("fine", "nothing is wrong", "nothing needs to be done"),
    ("error", "a finding that rejected slices or invalidated a value", "read what to do about it"),
    ("warning", "a finding that limits what may be claimed", "read what to do about it"),
    ("info", "a finding that is useful to know", "read on"),
];
