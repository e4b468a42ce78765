//! The glossary: the terms that the documents begin with, at most 40, and other words for them, which the documents avoid.

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
    (
        "cell",
        "a mechanism with a pattern, size, placement, knobs and load: what has a row in a table",
        "compare cells that differ in one thing only: ipcperf compare pipe tcp",
    ),
    (
        "pattern",
        "who sends how much, and who answers: ping-pong, stream, rate, burst, request, serve and others",
        "choose one with -p; 'ipcperf run --help' lists their options",
    ),
    (
        "channel",
        "what a mechanism opens for one slice: a pair of sockets, a pipe each way, a piece of shared memory",
        "see 'opens' in 'ipcperf describe NAME'",
    ),
    (
        "end",
        "one side's hold on a channel. A program of yours can be the end that answers",
        "see 'ipcperf help ends'",
    ),
    (
        "peer",
        "the process on the other side of a channel",
        "see whether its death is noticed in 'ipcperf describe NAME'",
    ),
    (
        "operation",
        "what is timed: a round trip, a message of a stream, a burst, a request",
        "count on 2,000 of them for a p99 and 20,000 for a p99.9",
    ),
    (
        "sample",
        "one timed value: an operation, or several together with --batch",
        "write each of them to a file with --raw",
    ),
    (
        "interval",
        "the range that contains the true value in 95 of 100 runs, from the differences between rounds",
        "compare intervals, not digits; more rounds narrow them",
    ),
    (
        "reference",
        "the cell or arm that the others are compared with: the fittest, chosen before the rounds that count",
        "read a ratio as a comparison with it: 1.5x slower than the reference",
    ),
    (
        "control",
        "the reference, measured a second time in each round as if it were another arm",
        "trust no ratio of a run in which it differs from itself",
    ),
    (
        "question",
        "cells that differ only in mechanism and knobs, so that one of them is the answer",
        "see all of them with 'ipcperf report FILE --full'",
    ),
    (
        "screen",
        "the first rounds of a survey, which measure every cell; their values have no interval",
        "use a larger --budget if you need an interval",
    ),
    (
        "confirm",
        "the last rounds of a survey, of the few cells in each question that its statements are about",
        "use a larger --budget for more of them",
    ),
    (
        "open loop",
        "messages are due at given times, whether or not earlier ones are answered; waiting counts",
        "use --rate to see what users wait at a load",
    ),
    (
        "closed loop",
        "each message waits for the answer to the one before it, as a single client does",
        "use it to compare mechanisms, not to predict waiting times under load",
    ),
    (
        "in flight",
        "sent and not yet answered. One round trip has one request in flight",
        "set the number of requests with --inflight, of messages with --window",
    ),
    (
        "warm-up",
        "what runs before the timed part of a slice, untimed",
        "set its length with --warmup",
    ),
    (
        "mode",
        "one of two values around which rounds or operations gather; they are never averaged",
        "look for what switches: idle states, a host that moves CPUs",
    ),
    (
        "hardware limit",
        "what this machine can do at best: a cache line between two CPUs, a wake-up, a copy",
        "see the ratio of each row to it with --versus-bound; what is better is rejected",
    ),
    (
        "finding",
        "something about the run or the machine that changes what its figures mean: E- invalidates, W- warns, I- informs",
        "read its remedy with -v or 'ipcperf explain CODE'",
    ),
    (
        "gate",
        "a condition under which a command fails with an exit code of its own",
        "set one with --fail-if, --fail-on or --max-noise",
    ),
    (
        "claim",
        "a statement of a study that is judged: HOLDS, DOES NOT HOLD or CAN'T TELL",
        "see the claims of a study with 'ipcperf replicate STUDY'",
    ),
];

/// Other words for a term. The documents use the term, except for those that other tools and the names of mechanisms have.
pub(super) const SYNONYMS: &[(&str, &str)] = &[
    ("alternative", "variant"),
    ("initiator", "lead"),
    ("responder", "follow"),
    ("endpoint", "end"),
    ("iteration", "operation"),
    ("repetition", "round"),
    ("tolerance", "margin"),
    ("threshold", "gate"),
    ("treatment", "arm"),
    ("confidence interval", "interval"),
    ("warmup", "warm-up"),
    ("outstanding", "in flight"),
];

/// Other words that the documents may use, because other tools do or because they mean something else as well.
pub(super) const OTHER_WORDS: &[(&str, &str)] = &[
    ("spinning", "busy-wait"),
    ("polling", "busy-wait"),
    ("affinity", "placement"),
    ("baseline", "reference"),
    ("benchmark", "study"),
    ("verification", "proof"),
    ("option", "knob"),
    ("measurement", "slice"),
    ("iodepth", "in flight"),
    ("queue depth", "in flight"),
];
