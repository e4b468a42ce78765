//! The terms that the documents begin with.

use crate::results::columns::Entry;

pub(super) const TERMS: &[Entry] = &[
    (
        "mechanism",
        "a way in which two processes exchange data: a pipe, a socket, a queue in shared memory. Some only wake the other side",
        "see them all with 'ipcperf list', and one with 'ipcperf describe NAME'",
    ),
    (
        "variant",
        "a mechanism used in another way, most often by another way of waiting: unix-stream/epoll",
        "see what it does differently with 'ipcperf describe NAME'",
    ),
    (
        "knob",
        "an option of a mechanism, such as the size of a buffer: --set pipe.size=1M, or 'pipe size=1M'",
        "see the knobs of a mechanism with 'ipcperf describe NAME'",
    ),
    (
        "slice",
        "one measurement of a cell: two new processes, one channel, and a timed part of usually 100 ms",
        "set its length with --slice, or count its operations with --samples",
    ),
    (
        "round",
        "one slice of each cell, in random order. Ratios are formed within rounds, and intervals count rounds, not operations",
        "set their number with --rounds: 6 give a 95 % interval, 12 are the default of run",
    ),
    (
        "arm",
        "one of the things that are compared or that a study measures: a cell, a program, a server with its clients",
        "see the arms of a study with 'ipcperf replicate STUDY --dry-run'",
    ),
    (
        "placement",
        "the CPUs that both sides run on: one CPU, two that share a cache, two that share none, or not pinned",
        "set it with --place: same-cpu, same-llc, 0,1, free",
    ),
    (
        "place",
        "short for placement in flags and in the names of cells",
        "see 'ipcperf explain placement'",
    ),
    (
        "lead",
        "the side that sends the first message; it times round trips",
        "compare its CPU time with that of the follow",
    ),
    (
        "follow",
        "the side that receives the first message and answers; it times streams",
        "put a program of your own in its place with --follow",
    ),
    (
        "side",
        "one of the two processes of a slice, lead or follow",
        "name the CPU of each with --place 0,1",
    ),
    (
        "proof",
        "what shows that the other process received every message: both sides count, a random number and the message's number are compared, and 16 messages byte by byte",
        "trust no figure without it; a slice without proof is invalid (exit code 5)",
    ),
    (
        "margin",
        "the largest difference that does not matter: 10 % unless you say otherwise with --margin",
        "use a smaller one with more rounds for a finer question",
    ),
    (
        "busy-wait",
        "to ask again and again instead of sleeping, which keeps a CPU busy",
        "use it where each side has a CPU of its own",
    ),
    (
        "reconnect",
        "what the other side has to do after a peer was killed and started again: some channels go on, others are opened or made again",
        "see 'at restart' in 'ipcperf describe NAME'",
    ),
    (
        "study",
        "a published benchmark with its arms, tables and claims, run again by 'ipcperf replicate'",
        "write your own: 'ipcperf help studies'",
    ),
];
