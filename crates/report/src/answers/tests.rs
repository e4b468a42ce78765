//! The sentences, question by question.

use super::*;
use crate::testing::sample::{self, Build, ONE, TWO, cell, set};
use ipcperf_core::result::{Cell, OperationMode};
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
    Small messages, blocking: fifo and pipe (equally good), 72.1 us and 71.5 us for a round trip of 64 B on two CPUs (same-llc); runner-up unix-stream, 75.9 us. With both ends on one CPU it is fifo and pipe (equally good), 6.35 us and 6.31 us as well.
    If busy-waiting briefly is fine: shm-ring/futex (spins briefly, then sleeps), 58.0 us (two modes: 1.90 us in 2 of 9 rounds) for a round trip of 64 B on two CPUs (same-llc), mean 60.9 us; nothing else of its kind was measured. That holds back to back; after a pause, in which the ends fall asleep, nothing was measured (--think).
    Large messages, blocking: tcp, 2.81 GB/s with messages of 1 MiB on two CPUs (same-llc); runner-up unix-stream, 2.60 GB/s.
    If busy-waiting is fine: shm-ring/spin, 210 ns for a round trip of 64 B on two CPUs (same-llc); runner-up pipe/spin, 2.11 us.
    Cheapest in CPU: fifo and pipe (equally good), 18.0 us and 17.9 us of CPU time for a message of 64 B (both ends together, blocking) on two CPUs (same-llc); runner-up unix-stream, 19.0 us.
    A socket that unrelated processes can connect to: unix-stream bind=path, 79.0 us for a round trip of 64 B on two CPUs (same-llc), 1.11x the best of any kind (pipe, 71.5 us); runner-up tcp, 95.0 us. Without a socket, by name: fifo, 72.1 us.
    Signalling without data: futex, 66.0 us for a round trip on two CPUs (same-llc); runner-up eventfd, 70.0 us.
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
            round.rejected = Some("E-TOPOLOGY: elsewhere".to_owned());
        }
        let answer = of(cells.clone(), Question::SmallBlocking).unwrap();
        assert_eq!((answer.mechanism.as_deref(), answer.ties.len()), (Some("tcp"), 0), "{us}");
        // In a run of a few rounds nobody has an order, and all tie.
        cells.iter_mut().for_each(|cell| cell.rounds.truncate(5));
        let answer = of(cells, Question::SmallBlocking).unwrap();
        assert_eq!(answer.ties.len(), 1, "{us}");
    }
}

#[test]
fn a_tie_is_said_to_be_one() {
    let cells = |names: &[&str]| {
        names.iter().map(|name| cell(name, 64, TWO).rtt(71_000.0, 500.0)).collect::<Vec<_>>()
    };
    let two = sentence(cells(&["pipe", "fifo"]), Question::SmallBlocking);
    assert!(two.contains("fifo and pipe (equally good), 71.0 us and 71.0 us"), "{two}");
    assert!(two.contains("nothing measured is certainly slower"), "{two}");
    let five = sentence(
        cells(&["pipe", "fifo", "tcp", "unix-stream", "pipe/epoll"]),
        Question::SmallBlocking,
    );
    assert!(
        five.contains(
            "tcp, 71.0 us; as good are unix-stream, fifo and 2 more (71.0 us to 71.0 us)"
        ),
        "{five}"
    );
}

#[test]
fn of_those_that_tie_the_fittest_is_named_and_its_figure_need_not_be_the_least() {
    let timed = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, 900.0);
    let cells = vec![timed("fifo", 70_000.0), timed("pipe", 69_000.0), timed("tcp", 70_500.0)];
    let answer = of(cells.clone(), Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("tcp"));
    assert_eq!(answer.ties, ["fifo", "pipe"]);
    // What is certainly slower is not chosen for what it can do.
    let behind = [cells, vec![timed("pipe/epoll", 60_000.0)]].concat();
    let answer = of(behind, Question::SmallBlocking).unwrap();
    assert_eq!(answer.mechanism.as_deref(), Some("pipe/epoll"));
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
    assert!(socket.contains("1.09x the best of any kind (pipe, 11.0 us)"), "{socket}");
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
    assert_eq!(answer.value, Some(1.1));
    assert!(answer.sentence.contains("1.10x the best of any kind"), "{}", answer.sentence);
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
    let told = few(3, 7_540.0);
    assert!(told.ends_with("74.0 us without; 3 rounds had both, and an order takes 6."), "{told}");
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
fn all_that_tie_with_the_best_are_named_wherever_they_stand() {
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
    assert_eq!(answer.ties, ["pipe"], "{}", answer.sentence);
    assert_eq!(answer.runner_up.as_deref(), Some("fifo"));
    assert!(
        answer.sentence.contains("tcp and pipe (equally good), 80.0 us and 71.0 us"),
        "{answer:?}"
    );
    assert!(answer.sentence.contains("runner-up fifo, 76.0 us"), "{answer:?}");
}

#[test]
fn a_cell_in_two_modes_does_not_win_over_what_lies_between_them() {
    let between = || cell("fifo", 64, TWO).rtt(30_000.0, 100.0);
    for (modes, ties) in [
        ([(4_200.0, 5), (71_000.0, 4)], vec!["pipe".to_owned()]),
        ([(4_200.0, 6), (71_000.0, 3)], vec!["pipe".to_owned()]),
    ] {
        let cells = vec![cell("pipe", 64, TWO).modes(modes), between()];
        let answer = of(cells, Question::SmallBlocking).unwrap();
        assert_eq!(answer.mechanism.as_deref(), Some("fifo"), "the fitter of two that tie");
        assert_eq!((answer.ties.clone(), answer.runner_up.clone()), (ties, None), "{answer:?}");
        assert!(answer.sentence.contains("(two modes: 71.0 us in"), "{answer:?}");
    }
}

#[test]
fn at_grade_f_there_is_no_advice_at_all() {
    let mut set = sample::survey();
    set.noise.grade = "F".to_owned();
    assert_eq!(answers(&set, &sample::spec), []);
    for grade in ["A", "B", "C", "D", "", "?"] {
        set.noise.grade = grade.to_owned();
        assert_eq!(answers(&set, &sample::spec).len(), 8, "{grade}");
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
fn a_tie_with_the_best_is_not_called_as_fast() {
    // Their rounds differ too much to tell them apart.
    let socket = cell("unix-stream", 64, TWO).rtt(77_000.0, 20_000.0);
    let cells = vec![
        cell("pipe", 64, TWO).rtt(70_000.0, 20_000.0),
        socket.word("unix-stream.bind", "path"),
    ];
    let said = sentence(cells, Question::Unrelated);
    assert!(said.contains("as fast as the best of any kind (pipe, 70.0 us)"), "{said}");
    let alone = cell("unix-stream", 64, TWO).rtt(60_000.0, 9.0).word("unix-stream.bind", "path");
    let said = sentence(vec![cell("pipe", 64, TWO).rtt(70_000.0, 9.0), alone], Question::Unrelated);
    assert!(said.contains("(same-llc), the best of any kind;"), "{said}");
}
