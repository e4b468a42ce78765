//! The sentences, question by question.

use super::*;
use crate::testing::sample;
use crate::testing::sample::{Build, ONE, TWO, cell, set};
use ipcperf_core::result::{Cell, OperationMode, Stage};
use ipcperf_core::{Idle, Touch};

fn of(cells: Vec<Cell>, question: Question) -> Option<Answer> {
    answers(&set(cells), &sample::spec).into_iter().find(|answer| answer.question == question)
}

fn sentence(cells: Vec<Cell>, question: Question) -> String {
    of(cells, question).expect("an answer").sentence
}

#[test]
fn all_sentences_of_a_survey() {
    let answers = answers(&sample::survey(), &sample::spec);
    let sentences: Vec<String> = answers.into_iter().map(|answer| answer.sentence).collect();
    insta::assert_snapshot!(sentences.join("\n"), @r"
    Small messages, blocking: fifo, 72.1 us for a round trip of 64 B on two CPUs (same-llc); as fast (within 10 %) is pipe, 71.5 us; runner-up unix-stream, 75.9 us, 1.05x slower [1.03, 1.07] (within 10 %). With both ends on one CPU fifo takes 6.35 us: as fast (within 10 %) as pipe (6.31 us).
    If busy-waiting briefly is fine: shm-ring/futex (spins briefly, then sleeps), 58.0 us (two modes: 1.90 us in 2 of 9 rounds) for a round trip of 64 B on two CPUs (same-llc), mean 60.9 us; nothing else of its kind was measured. That holds back to back; after a pause, in which the ends fall asleep, nothing was measured (--think).
    Large messages, blocking: tcp, 2.81 GB/s with messages of 1 MiB on two CPUs (same-llc); runner-up unix-stream, 2.60 GB/s, 1.09x slower [1.04, 1.11] (within 10 %).
    If busy-waiting is fine: shm-ring/spin, 210 ns for a round trip of 64 B on two CPUs (same-llc); runner-up pipe/spin, 2.11 us, 10x slower [10, 10].
    Cheapest in CPU: fifo, 18.0 us of CPU time for a message of 64 B (both ends together, blocking) on two CPUs (same-llc); as cheap (within 10 %) is pipe, 17.9 us; runner-up unix-stream, 19.0 us, 1.05x more [1.05, 1.05] (within 10 %).
    A socket that unrelated processes can connect to: unix-stream bind=path, 79.0 us for a round trip of 64 B on two CPUs (same-llc), 1.10x slower [1.07, 1.12] than the best of any kind (fifo, 72.1 us); runner-up tcp, 95.0 us, 1.20x slower [1.19, 1.21]. Without a socket, by name: fifo, 72.1 us.
    Signalling without data: futex, 66.0 us for a round trip on two CPUs (same-llc); runner-up eventfd, 70.0 us, 1.06x slower [1.04, 1.08] (within 10 %).
    With --idle poll, a round trip of 64 B over pipe on two CPUs (same-llc) takes 4.20 us instead of 71.5 us: idle CPUs then poll instead of sleeping.
    ");
}

#[test]
fn the_best_and_its_runner_up_have_their_numbers() {
    let answer = of(
        vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0), cell("tcp", 64, TWO).rtt(95_000.0, 500.0)],
        Question::SmallBlocking,
    )
    .unwrap();
    assert_eq!((answer.mechanism.as_deref(), answer.value), (Some("pipe"), Some(71_000.0)));
    assert_eq!(answer.runner_up.as_deref(), Some("tcp"));
    assert_eq!(answer.runner_up_value, Some(95_000.0));
    assert!(answer.ties.is_empty());
    assert!(answer.sentence.contains("pipe, 71.0 us"), "{}", answer.sentence);
    assert!(answer.sentence.contains("runner-up tcp, 95.0 us"), "{}", answer.sentence);
}

#[test]
fn what_lost_its_rounds_ties_with_nobody_and_wins_nothing() {
    for us in [10.0, 71.0, 300.0] {
        let mut cells = vec![
            cell("pipe", 64, TWO).rtt(us * 1e3, 500.0),
            cell("tcp", 64, TWO).rtt(95_000.0, 500.0),
        ];
        for round in &mut cells[0].rounds[2..6] {
            round.rejected = Some("E-TOPOLOGY: elsewhere".to_owned().into());
        }
        let answer = of(cells.clone(), Question::SmallBlocking).unwrap();
        assert_eq!((answer.mechanism.as_deref(), answer.ties.len()), (Some("tcp"), 0), "{us}");
        // In a run of a few rounds nothing may be said.
        cells.iter_mut().for_each(|cell| cell.rounds.truncate(5));
        let answer = of(cells, Question::SmallBlocking).unwrap();
        assert_eq!((answer.mechanism, answer.ties.len(), answer.open.len()), (None, 0, 2), "{us}");
        assert!(answer.sentence.contains("undecided between "), "{us}: {}", answer.sentence);
    }
}

#[test]
fn what_is_as_fast_within_the_margin_is_said_to_be_so() {
    let cells = |names: &[&str]| {
        names.iter().map(|name| cell(name, 64, TWO).rtt(71_000.0, 500.0)).collect::<Vec<_>>()
    };
    let two = sentence(cells(&["pipe", "fifo"]), Question::SmallBlocking);
    assert!(
        two.contains("fifo, 71.0 us for")
            && two.contains("as fast (within 10 %) is pipe, 71.0 us;"),
        "{two}"
    );
    assert!(two.contains("nothing measured is certainly slower"), "{two}");
    let five = sentence(
        cells(&["pipe", "fifo", "tcp", "unix-stream", "pipe/epoll"]),
        Question::SmallBlocking,
    );
    assert!(
        five.contains(
            "as fast (within 10 %) are fifo, 71.0 us; unix-stream, 71.0 us; pipe, 71.0 us; 1 more;"
        ),
        "{five}"
    );
}

#[test]
fn of_those_that_may_be_the_best_the_fittest_is_named_and_its_figure_need_not_be_the_least() {
    let timed = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, 900.0);
    let cells = vec![timed("fifo", 70_100.0), timed("pipe", 70_000.0), timed("tcp", 70_200.0)];
    let answer = of(cells.clone(), Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("tcp"));
    assert_eq!(answer.ties, ["fifo", "pipe"]);
    assert_eq!(answer.relation.as_deref(), Some("reference"));
    // What is certainly slower is not chosen for what it can do.
    let behind = [cells, vec![timed("pipe/epoll", 60_000.0)]].concat();
    let answer = of(behind, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("pipe/epoll"));
}

/// A reference that was fixed before the rounds that count.
#[test]
fn what_is_more_than_the_margin_faster_than_the_reference_is_named_with_its_ratio() {
    let timed = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, 900.0);
    let tcp = Cell { is_reference: true, ..timed("tcp", 90_000.0) };
    let cells = vec![tcp, timed("pipe", 60_000.0), timed("fifo", 89_000.0)];
    let answer = of(cells, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("pipe"));
    assert_eq!(answer.reference.as_deref(), Some("tcp"));
    let faster = answer.relation.as_deref().unwrap();
    assert!(faster.starts_with("1.50x faster [1.4"), "{faster}");
    assert!(answer.sentence.contains("than tcp)"), "{}", answer.sentence);
    assert_eq!(answer.runner_up.as_deref(), Some("tcp"));
    let slower = answer.runner_up_relation.unwrap();
    assert!(slower.starts_with("1.50x slower [1.4"), "{slower}");
    assert!(answer.ties.is_empty(), "nothing is compared with pipe but tcp");
}

#[test]
fn the_floor_never_wins_even_where_its_facts_are_unknown() {
    let cells =
        vec![cell("null", 0, TWO).rtt(20.0, 0.1), cell("eventfd", 0, TWO).rtt(70_000.0, 9.0)];
    let answer = of(cells.clone(), Question::WakeUp).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("eventfd"));
    let blind = answers(&set(cells), &|_: &str| None);
    let wake = blind.iter().find(|answer| answer.question == Question::WakeUp).unwrap();
    assert_eq!(wake.mechanism.as_deref(), Some("eventfd"));
}

#[test]
fn a_spinning_mechanism_only_answers_the_spinning_question() {
    let cells = vec![cell("shm-ring/spin", 64, TWO).rtt(210.0, 2.0)];
    assert_eq!(of(cells.clone(), Question::SmallBlocking), None);
    assert_eq!(of(cells.clone(), Question::CheapestCpu), None);
    assert!(sentence(cells, Question::Spinning).contains("shm-ring/spin, 210 ns"));
}

/// A ring that spins before it sleeps: most round trips are short, and a sixth of them takes most of the time.
fn ring() -> Cell {
    let mut ring = cell("shm-ring/futex", 64, TWO).rtt(461.0, 5.0);
    let rtt = ring.rtt_ns.as_mut().unwrap();
    rtt.insert("mean".to_owned(), sample::metric(2_010.0, 300.0));
    let mode = |value, share, time_share| OperationMode { value, share, time_share, rounds: 9 };
    ring.operation_modes = vec![mode(461.0, 0.85, 0.19), mode(8_100.0, 0.15, 0.81)];
    ring
}

fn paused(mut cell: Cell, value: f64) -> Cell {
    cell.key.load.think_ns = 200_000;
    cell.operation_modes.clear();
    cell.rtt(value, 10.0)
}

#[test]
fn what_spins_before_it_sleeps_wins_no_question_about_those_that_block() {
    let cells = vec![
        ring().cpu(10.0),
        cell("pipe", 64, TWO).rtt(11_000.0, 90.0),
        cell("unix-stream", 64, TWO).rtt(12_000.0, 90.0).word("unix-stream.bind", "path"),
    ];
    for question in [Question::SmallBlocking, Question::CheapestCpu] {
        let answer = of(cells.clone(), question).unwrap();
        assert_eq!(answer.mechanism.as_deref(), Some("pipe"), "{}", answer.sentence);
        assert!(!answer.sentence.contains("shm-ring"), "{}", answer.sentence);
    }
    let socket = sentence(cells.clone(), Question::Unrelated);
    assert!(
        socket.contains("1.09x slower [1.08, 1.10] than the best of any kind (pipe, 11.0 us)"),
        "{socket}"
    );
    assert_eq!(
        sentence(cells, Question::SpinThenSleep),
        "If busy-waiting briefly is fine: shm-ring/futex (spins briefly, then sleeps), 461 ns for a round \
         trip of 64 B on two CPUs (same-llc), mean 2.01 us, since 15.0% of them (near 8.10 us) take 81.0% of the time; nothing \
         else of its kind was measured. That holds back to back; after a pause, in which the ends fall asleep, nothing \
         was measured (--think)."
    );
}

#[test]
fn after_a_pause_it_stands_beside_the_best_that_sleeps_at_once() {
    let pipe = || cell("pipe", 64, TWO).rtt(11_000.0, 90.0);
    let mut cells = vec![ring(), pipe(), paused(ring(), 16_800.0)];
    let alone = sentence(cells.clone(), Question::SpinThenSleep);
    assert!(alone.ends_with("back to back: after a pause of 200 us it takes 16.8 us."), "{alone}");
    cells.extend([paused(pipe(), 15_000.0), paused(cell("tcp", 64, TWO), 9_000.0)]);
    cells[4].key.load.think_ns = 1_000_000;
    let both = sentence(cells.clone(), Question::SpinThenSleep);
    assert!(
        both.ends_with("it takes 16.8 us, and pipe, which sleeps at once, 15.0 us."),
        "one after another pause is no rival: {both}"
    );
    // Nor is anything that pauses a rival of what does not.
    cells.remove(1);
    assert_eq!(of(cells, Question::SmallBlocking), None);
}

#[test]
fn wake_ups_do_not_compete_with_messages() {
    let cells =
        vec![cell("eventfd", 0, TWO).rtt(1.0, 0.0), cell("pipe", 64, TWO).rtt(71_000.0, 9.0)];
    let answer = of(cells, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("pipe"));
}

#[test]
fn cells_of_other_conditions_do_not_compete() {
    let mut untouched = cell("tcp", 64, TWO).rtt(10.0, 0.1);
    untouched.key.touch = Touch::None;
    let cells = vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 9.0),
        cell("fifo", 64, TWO).rtt(4_000.0, 9.0).idle(Idle::Poll),
        cell("fifo", 64, ONE).rtt(5_000.0, 9.0),
        cell("fifo", 4096, TWO).rtt(3_000.0, 9.0),
        untouched,
    ];
    let answer = of(cells, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("pipe"));
    assert!(answer.sentence.contains("With both ends on one CPU the best is fifo, 5.00 us."));
}

#[test]
fn without_two_cpus_one_is_the_basis_and_idle_polling_is_no_question() {
    let cells = vec![cell("pipe", 64, ONE).rtt(6_000.0, 9.0)];
    assert!(sentence(cells.clone(), Question::SmallBlocking).contains("with both ends on one CPU"));
    assert_eq!(of(cells, Question::IdlePoll), None);
}

#[test]
fn two_modes_are_quoted_with_both_figures() {
    let cells = vec![cell("pipe", 64, TWO).modes([(71_000.0, 3), (4_200.0, 2)])];
    let text = sentence(cells, Question::SmallBlocking);
    assert!(text.contains("pipe, 71.0 us (two modes: 4.20 us in 2 of 5 rounds)"), "{text}");
}

#[test]
fn a_socketpair_is_no_address_and_a_bound_path_is_one() {
    let base = || cell("pipe", 64, TWO).rtt(70_000.0, 9.0);
    let pair =
        cell("unix-stream", 64, TWO).rtt(75_000.0, 9.0).word("unix-stream.bind", "socketpair");
    assert_eq!(of(vec![base(), pair.clone()], Question::Unrelated), None);
    let path = cell("unix-stream", 64, TWO).rtt(77_000.0, 9.0).word("unix-stream.bind", "path");
    let answer = of(vec![base(), pair, path], Question::Unrelated).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("unix-stream bind=path"));
    assert!((answer.value.unwrap() - 1.1).abs() < 0.001, "{:?}", answer.value);
    let said = "1.10x slower [1.10, 1.10] than the best of any kind";
    assert!(answer.sentence.contains(said), "{}", answer.sentence);
}

#[test]
fn a_fifo_is_reachable_by_name_but_is_no_socket() {
    let cells = vec![
        cell("pipe", 64, TWO).rtt(70_000.0, 9.0),
        cell("fifo", 64, TWO).rtt(80_000.0, 9.0),
        cell("tcp", 64, TWO).rtt(90_000.0, 9.0),
    ];
    let answer = of(cells, Question::Unrelated).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("tcp"));
    assert!(answer.sentence.ends_with("Without a socket, by name: fifo, 80.0 us."));
}

#[test]
fn idle_polling_is_quoted_from_a_pair_or_the_bounds_or_refused() {
    let as_is = || cell("pipe", 64, TWO).rtt(71_000.0, 9.0);
    let polled = || cell("pipe", 64, TWO).rtt(4_200.0, 9.0).idle(Idle::Poll);
    let pair = sentence(vec![as_is(), polled()], Question::IdlePoll);
    assert!(
        pair.contains(
            "a round trip of 64 B over pipe on two CPUs (same-llc) takes 4.20 us instead of 71.0 us"
        ),
        "{pair}"
    );

    let mut other = polled();
    other.key.touch = Touch::Full;
    let refused = sentence(vec![as_is(), other], Question::IdlePoll);
    assert!(refused.contains("may not hold /dev/cpu_dma_latency"), "{refused}");

    let mut measured = set(vec![as_is()]);
    let pair = &mut measured.bounds.pairs[0];
    pair.futex_wake_rtt_idle_poll_ns = pair.futex_wake_rtt_ns.clone();
    let found = answers(&measured, &sample::spec);
    let idle = found.iter().find(|answer| answer.question == Question::IdlePoll).unwrap();
    assert!(idle.sentence.contains("a futex wake-up"), "{}", idle.sentence);

    let mut silent = set(vec![as_is()]);
    silent.host.may_poll_idle = true;
    let found = answers(&silent, &sample::spec);
    assert!(!found.iter().any(|answer| answer.question == Question::IdlePoll));
}

#[test]
fn a_set_without_cells_answers_nothing() {
    assert_eq!(answers(&set(Vec::new()), &sample::spec), []);
}

#[test]
fn an_untouched_payload_answers_nothing() {
    for touch in [Touch::None, Touch::Header] {
        let mut cells = sample::survey().cells;
        cells.iter_mut().for_each(|cell| cell.key.touch = touch);
        assert_eq!(answers(&set(cells), &sample::spec), [], "{touch}");
    }
}

#[test]
fn idle_polling_that_changes_nothing_certain_is_said_to_be_so() {
    let of_pair = |as_is: (f64, f64), polled: (f64, f64)| {
        let cells = vec![
            cell("pipe", 64, TWO).rtt(as_is.0, as_is.1),
            cell("pipe", 64, TWO).rtt(polled.0, polled.1).idle(Idle::Poll),
        ];
        of(cells, Question::IdlePoll).unwrap()
    };
    let overlap = of_pair((6_000.0, 2_000.0), (5_000.0, 200.0));
    assert_eq!(
        overlap.sentence,
        "This run cannot tell a difference between --idle poll and as-is: a round trip of 64 B over pipe on two CPUs \
         (same-llc) takes 5.00 us with polling and 6.00 us without; polling was faster in 6 of 9 rounds that had both."
    );
    assert_eq!(overlap.ties, ["pipe"]);
    let few = |rounds: usize, polled: f64| {
        let cell = |name, p50: f64| cell(name, 64, TWO).rtt(p50, 1.0).of_rounds(&vec![p50; rounds]);
        let cells = vec![cell("pipe", 74_000.0), cell("pipe", polled).idle(Idle::Poll)];
        of(cells, Question::IdlePoll).unwrap().sentence
    };
    assert!(few(9, 7_540.0).starts_with("With --idle poll, "), "{}", few(9, 7_540.0));
    let mut screened = cell("pipe", 64, TWO).rtt(7_540.0, 9.0).idle(Idle::Poll);
    screened.rounds.iter_mut().for_each(|round| round.stage = Some(Stage::Screen));
    let told = of(vec![cell("pipe", 64, TWO).rtt(74_000.0, 9.0), screened], Question::IdlePoll);
    let told = told.unwrap().sentence;
    assert!(
        told.ends_with(
            "takes 7.54 us instead of 74.0 us, which this run does not confirm: it was measured with polling only in the \
             screen."
        ),
        "{told}"
    );
    let told = few(3, 7_540.0);
    let apart = "instead of 74.0 us, which this run does not confirm: 3 rounds had both, and an order takes 6.";
    assert!(told.ends_with(apart), "{told}");
    assert!(!told.contains("cannot tell"), "a tenth is a difference: {told}");
    assert!(few(3, 73_900.0).ends_with(" without."), "no reason is wanted of what is equal");
    assert_eq!(overlap.runner_up, None);
    let slower = of_pair((5_000.0, 10.0), (6_000.0, 10.0));
    assert_eq!(
        slower.sentence,
        "This run cannot tell a difference in favour of --idle poll: a round trip of 64 B over pipe on two CPUs \
         (same-llc) takes 6.00 us with it and 5.00 us without."
    );
    let faster = of_pair((6_000.0, 10.0), (5_000.0, 10.0));
    assert!(faster.sentence.contains("takes 5.00 us instead of 6.00 us"), "{}", faster.sentence);
}

#[test]
fn idle_polling_of_rounds_in_two_modes_is_no_claim() {
    let steady = || cell("pipe", 64, TWO).rtt(3_000.0, 9.0);
    let split = || cell("pipe", 64, TWO).modes([(71_000.0, 3), (4_200.0, 2)]);
    let modes = "71.0 us (two modes: 4.20 us in 2 of 5 rounds)";
    for (as_is, polled, figures) in [
        (split(), steady(), format!("takes 3.00 us with polling and {modes} without")),
        (steady(), split(), format!("takes {modes} with polling and 3.00 us without")),
    ] {
        let answer = of(vec![as_is, polled.idle(Idle::Poll)], Question::IdlePoll).unwrap();
        assert!(answer.sentence.contains(&figures), "{}", answer.sentence);
        assert!(answer.sentence.contains("this run cannot tell"), "{}", answer.sentence);
        assert_eq!((answer.mechanism, answer.value), (None, None));
    }
}

#[test]
fn bounds_that_idle_polling_does_not_change_promise_nothing() {
    let sentence_of = |polled: f64| {
        let mut set = set(vec![cell("pipe", 64, TWO).rtt(71_000.0, 9.0)]);
        let spread = |median: f64| {
            let (min, max) = (median * 0.9, median * 1.1);
            Some(ipcperf_core::result::Spread { min, median, max, n: 5 })
        };
        let pair = &mut set.bounds.pairs[0];
        pair.futex_wake_rtt_ns = spread(60_000.0);
        pair.futex_wake_rtt_idle_poll_ns = spread(polled);
        let found = answers(&set, &sample::spec);
        found.into_iter().find(|answer| answer.question == Question::IdlePoll).unwrap().sentence
    };
    let same = sentence_of(55_000.0);
    assert!(same.contains("cannot tell a difference") && !same.contains("gain"), "{same}");
    let gained = sentence_of(4_000.0);
    assert!(gained.contains("takes 4.00 us instead of 60.0 us"), "{gained}");
}

#[test]
fn all_of_which_it_is_open_whether_they_are_faster_are_named() {
    let mut noisy = cell("tcp", 64, TWO).rtt(80_000.0, 400.0);
    for (at, round) in noisy.rounds.iter_mut().enumerate() {
        round.p50_ns = Some([80e3, 50e3, 130e3, 79e3, 60e3, 120e3, 81e3, 55e3, 140e3][at]);
    }
    let cells = vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 300.0),
        cell("fifo", 64, TWO).rtt(76_000.0, 300.0),
        noisy,
        cell("unix-stream", 64, TWO).rtt(95_000.0, 300.0),
    ];
    let answer = of(cells, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("tcp"));
    assert_eq!(answer.open, ["pipe", "fifo", "unix-stream"], "{}", answer.sentence);
    assert_eq!((answer.ties.len(), answer.runner_up), (0, None));
    let open = "pipe, fifo and unix-stream may be more than 10 % better";
    assert!(answer.sentence.contains(open), "{}", answer.sentence);
}

#[test]
fn a_cell_in_two_modes_is_as_fast_as_nothing_that_lies_between_them() {
    let between = || cell("fifo", 64, TWO).rtt(30_000.0, 100.0);
    for modes in [[(4_200.0, 5), (71_000.0, 4)], [(4_200.0, 6), (71_000.0, 3)]] {
        let cells = vec![cell("pipe", 64, TWO).modes(modes), between()];
        let answer = of(cells, Question::SmallBlocking).unwrap();
        let others = [answer.mechanism.clone().unwrap(), answer.open[0].clone()];
        assert!(others.contains(&"pipe".to_owned()) && others.contains(&"fifo".to_owned()));
        assert_eq!((answer.ties.len(), answer.runner_up.clone()), (0, None), "{answer:?}");
    }
}

#[test]
fn a_mechanism_that_is_faster_within_the_margin_is_named() {
    let unix = Cell { is_reference: true, ..cell("unix-stream", 64, TWO).rtt(75_000.0, 9.0) };
    let cells = vec![unix, cell("pipe", 64, TWO).rtt(71_000.0, 9.0)];
    let answer = of(cells, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("unix-stream"));
    let faster = "pipe, 71.0 us, is 1.06x faster [1.06, 1.06] (within 10 %)";
    assert!(answer.sentence.contains(faster), "{}", answer.sentence);
}

#[test]
fn at_grade_f_slower_stays_and_nothing_is_as_fast() {
    let mut set = sample::survey();
    let quiet = answers(&set, &sample::spec);
    assert!(!quiet[0].ties.is_empty());
    set.noise.grade = "F".to_owned();
    let noisy = answers(&set, &sample::spec);
    assert_eq!(noisy.len(), quiet.len());
    assert_eq!(noisy[0].mechanism, quiet[0].mechanism);
    assert_eq!(noisy[0].runner_up, quiet[0].runner_up);
    assert!(noisy.iter().all(|answer| answer.ties.is_empty()));
    assert!(noisy.iter().all(|answer| !answer.sentence.contains("as fast (")));
    for grade in ["A", "B", "C", "D", "", "?"] {
        set.noise.grade = grade.to_owned();
        assert_eq!(answers(&set, &sample::spec), quiet, "{grade}");
    }
}

#[test]
fn what_loses_its_messages_wins_nothing() {
    let stream = |name, rate: f64| cell(name, 1 << 20, TWO).rate(rate, rate / 100.0);
    let lossy = |lost| Cell { messages: 30_000, lost, ..stream("tcp", 9e9) };
    let winner = |lost| {
        let cells = vec![lossy(lost), stream("pipe", 2e9)];
        of(cells, Question::LargeBlocking).unwrap().mechanism
    };
    assert_eq!(winner(12).as_deref(), Some("tcp"));
    assert_eq!(winner(70_000).as_deref(), Some("pipe"));
}

#[test]
fn the_best_socket_may_be_the_best_of_any_kind() {
    let alone = cell("unix-stream", 64, TWO).rtt(60_000.0, 9.0).word("unix-stream.bind", "path");
    let said = sentence(vec![cell("pipe", 64, TWO).rtt(70_000.0, 9.0), alone], Question::Unrelated);
    assert!(said.contains("(same-llc), the best of any kind;"), "{said}");
}
