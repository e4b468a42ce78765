//! Heads of columns of other tables than those of results.

use crate::results::columns::Entry;

/// By subject.
pub(super) const OTHERS: &[Entry] = &[
    ("min", "the shortest operation of all rounds", "treat it as a limit, not as a typical time"),
    (
        "p99.99",
        "the time that 1 operation in 10,000 exceeds",
        "use long slices: it needs 200,000 operations per round",
    ),
    (
        "send",
        "in a fan, the time of the sending call",
        "look here for senders that wait for each other",
    ),
    (
        "recv",
        "in a fan, the time of the receiving call",
        "look here for receivers that wait for each other",
    ),
    (
        "cores",
        "the CPUs that both sides take at the rate that you asked for: CPU/msg of a request and its answer, times the rate",
        "multiply it by the number of connections",
    ),
    (
        "idle CPU",
        "the CPUs that both sides take while nothing happens; it follows from how they wait and is not measured",
        "prefer none on a battery or a shared machine",
    ),
    (
        "sum",
        "round trips, or messages of a stream, per second of all channels together, while all were at work",
        "divide it by the number of channels",
    ),
    (
        "of ideal",
        "the sum over that of one channel in the same round times their number, with a 95 % interval: 1 if channels do not disturb each other",
        "measure one channel as well: --channels 1,2,4",
    ),
    (
        "contention",
        "the share of the work that one channel alone can do at a time, by the universal scalability law",
        "look for what all channels share, such as a lock",
    ),
    (
        "coherency",
        "what each pair of channels costs, as a share of the work of one, by the universal scalability law",
        "look for data that the CPUs pass to each other",
    ),
    ("CPU", "CPU time of a program per round", "look at user and system to see where it goes"),
    (
        "waits",
        "how each side waits: block, epoll, spin, spin-then-block; for a program, how often it gave up its CPU",
        "avoid spinning where CPUs are shared",
    ),
    ("pattern", "what the loop does: ping-pong, stream, rate and others", "explain it by its name"),
    (
        "rounds",
        "accepted rounds; each round measures every cell once, in random order",
        "use more for narrower intervals",
    ),
    (
        "on the front",
        "whether nothing else is better in p99, CPU time and rate at once",
        "see Pareto front",
    ),
    (
        "remarks",
        "what was lost or counted in a cell besides its values",
        "read it before the value",
    ),
    ("noise", "the noise grade of a result", "read 'ipcperf explain grade'"),
    (
        "verdict",
        "the conclusion about B relative to A, or about a claim",
        "read 'ipcperf explain' of the verdict itself",
    ),
    (
        "cell",
        "one measurement: mechanism, pattern, size, placement and settings",
        "name it as shown here: ipcperf trend FILES --cell CELL",
    ),
    (
        "A",
        "in a comparison, the existing side: its median over rounds",
        "read B/A, which compares B with it",
    ),
    (
        "B",
        "in a comparison, the new side: its median over rounds",
        "read B/A, which compares it with A",
    ),
    (
        "B/A",
        "the ratio of B to A with its 95 % interval: the median of the ratios within rounds, or of all pairs of rounds if the two sides were measured separately. It need not equal the ratio of the medians",
        "trust it more than the medians: what disturbs a round disturbs both sides",
    ),
    (
        "CPU per message",
        "CPU time of both sides per message, relative to A",
        "read it with the time: what is faster may cost more",
    ),
    (
        "beside it",
        "how p99 and CPU time, which do not decide, compare with A",
        "read them before you choose the faster one",
    ),
    (
        "rests on",
        "the rounds, margin, control and error probability behind a verdict",
        "use more rounds if there are few",
    ),
    (
        "why",
        "the reason for a verdict, and what differs besides what was compared",
        "remove what differs",
    ),
    (
        "certainly better",
        "the side of a crossover that certainly wins at this point; a dash means neither",
        "use more --rounds where it is a dash",
    ),
    (
        "95 %",
        "the 95 % interval over rounds: 19 of 20 such intervals contain the true value",
        "claim no difference smaller than it",
    ),
    (
        "95 % interval",
        "the 95 % interval of the value next to it",
        "claim no difference smaller than it",
    ),
    ("share", "a part as a share of the total", "look at the largest first"),
    (
        "second - first",
        "how much longer a part takes in the second mechanism than in the first",
        "look at the largest first",
    ),
    ("where", "the placement of the round trip that was changed", "compare rows of one placement"),
    (
        "round trip",
        "one message there and one back; never halved",
        "halve it for one way only if both ways are alike",
    ),
    (
        "times",
        "the ratio to the value without the change, from rounds that have both",
        "read the interval next to it",
    ),
    (
        "effect",
        "whether a change certainly makes a round trip slower or faster; a dash means neither",
        "use more rounds where it is a dash",
    ),
    ("call", "a system call of one side", "read its manual page"),
    (
        "per message",
        "how many of these calls one side makes per message",
        "expect 1 for the sending and 1 for the receiving call",
    ),
    (
        "median",
        "the median time of a call, timed alone; a call that waits includes the other side's work",
        "do not add calls up to a round trip",
    ),
    (
        "share of its end",
        "these calls as a share of all time that this side spends in calls",
        "look at the largest first",
    ),
    (
        "two CPUs",
        "the round trip with each end on a CPU of its own",
        "use it if your processes run at the same time",
    ),
    (
        "one CPU",
        "the same round trip with both sides on one CPU",
        "use it if your processes share a CPU",
    ),
    (
        "dead peer",
        "whether an end notices that the other one was killed: noticed, late (it may take a minute), unnoticed",
        "where it goes unnoticed, add a timeout or a heartbeat",
    ),
    (
        "vs",
        "how many times slower or faster a row is than the one named: the median of the ratios within rounds, with an interval that holds at 95 % for all rows together. As fast is only what a 90 % interval of its own shows to be within 10 %; of undecided rows the interval stands there, or how many rounds both have",
        "use the interval; of an undecided row more rounds tell",
    ),
    (
        "within",
        "whether a row differs from the one named by no more than this share, by a 90 % interval of its own",
        "do not choose by such a difference",
    ),
    (
        "can",
        "what a mechanism can do beyond carrying messages one way",
        "look for what your program needs: ipcperf list --can NEED",
    ),
    (
        "death",
        "whether a process notices when its peer is killed: noticed, late (up to a minute), no or undetected",
        "if it is no, add a timeout or a heartbeat",
    ),
    (
        "family",
        "a group of mechanisms for which the kernel does similar work",
        "see 'ipcperf help mechanisms'",
    ),
    (
        "here",
        "whether this machine can run it; in a study, the value measured here",
        "read the reasons below the table",
    ),
    (
        "carries",
        "bytes without boundaries, messages that keep them, or wake-ups",
        "choose messages if the reader must find where each one ends",
    ),
    (
        "largest",
        "the largest message on this machine",
        "raise the limit that 'ipcperf describe' names",
    ),
    (
        "meets",
        "how two processes connect: by fd (an inherited or passed descriptor), by pid, by name, by port",
        "choose by name or by port for unrelated processes",
    ),
    (
        "when full",
        "what happens to a sender that is faster than the receiver: blocks, drops, merges, overwrites",
        "choose one that blocks if nothing may be lost",
    ),
    (
        "calls",
        "system calls of both sides per message when neither has to wait",
        "compare it with CPU/msg",
    ),
    (
        "copies",
        "how often a message is copied; as a part of a round trip, the time for it",
        "for large messages, choose one that passes references",
    ),
    ("document", "the file of a result", "show it: ipcperf report FILE"),
    (
        "started (UTC)",
        "when a run started",
        "treat runs that are half an hour apart as two sessions",
    ),
    (
        "documents",
        "how many results have a cell and can be compared",
        "show one cell to see which results are left out: ipcperf trend FILES --cell CELL",
    ),
    (
        "latest",
        "the figure of a cell in the latest result that has one",
        "show the cell to see its interval: ipcperf trend FILES --cell CELL",
    ),
    (
        "before",
        "the figure of a cell in the result before the latest one",
        "show the cell to see all of them: ipcperf trend FILES --cell CELL",
    ),
    (
        "change",
        "how much higher or lower the latest figure is than the one before; none is shown where their intervals overlap, or two \
         runs differ as much without a reason",
        "show the cell to see what changed with it: ipcperf trend FILES --cell CELL",
    ),
    (
        "changed",
        "what differs from the previous result: the kernel, the microcode",
        "look here first for the cause of a change",
    ),
    ("program", "a program of a pipeline, as it was started", "read its output in the result"),
    ("bytes read", "bytes that a program read", "compare it with what the previous program wrote"),
    ("written", "bytes that a program wrote", "compare it with what the next program read"),
    ("claim", "a statement of the study's author, by number", "read the full text with -v"),
    (
        "author",
        "the value or the words that the study's author published",
        "compare it with the value here",
    ),
    (
        "why different",
        "in a few words, why a claim came out differently than the author found",
        "read the errata and the tests with -v",
    ),
    (
        "what was found",
        "the value of this machine for a claim made by ipcperf",
        "see its tests with -v",
    ),
    ("figure", "the number of a claim that is compared", "see its formula next to it"),
    (
        "formula",
        "how the number is computed from the arms (the things compared)",
        "list the arms with 'ipcperf replicate STUDY --dry-run'",
    ),
    ("published", "what the original printed", "compare it with here"),
    (
        "accepted",
        "what would count as reproduced",
        "see 'ipcperf help studies' for how it is chosen",
    ),
    ("subject", "what 'ipcperf doctor' checks", "explain it by its code"),
    ("found", "what the check found", "read the consequence next to it"),
    ("consequence", "what this means for measurements", "read the remedy next to it"),
    (
        "remedy",
        "one thing to do about it; ipcperf itself changes nothing",
        "do it, and check again",
    ),
    ("check", "one check of the self-test", "run it alone: ipcperf selftest --only NAME"),
    ("setting", "a setting of the kernel", "set it with sysctl"),
    ("value", "its current value", "compare it between two machines"),
    ("fact", "a fact about a machine", "compare it between two machines"),
];
