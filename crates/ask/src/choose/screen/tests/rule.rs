//! Statements: nothing is called equal because a difference was not proved.

use super::*;
use ipcperf_core::result::Stage;

/// A cell whose rounds scatter around `level` by this share, differently by its seed.
fn around(name: &str, level: f64, share: f64, seed: u64, rounds: usize) -> Cell {
    let mut rng = Rng::from_seed(seed);
    let values: Vec<f64> = (0..rounds).map(|_| level * (share * rng.normal()).exp()).collect();
    cell(name, 64, TWO).rtt(level, 0.0).of_rounds(&values)
}

fn wide(set: &ResultSet, wanted: &Requirements) -> String {
    written(set, wanted, &Style { width: 300, ..Style::default() })
}

fn among(names: &[&str]) -> Requirements {
    let among = names.iter().map(|name| (*name).to_owned()).collect();
    Requirements { among, ..wanted(&[64], &[]) }
}

/// The line that begins so, without its beginning.
fn line<'a>(text: &'a str, beginning: &str) -> &'a str {
    text.lines().find_map(|line| line.trim_start().strip_prefix(beginning)).unwrap_or_default()
}

/// As in a survey that called TCP as fast although it was slower in each of its nine rounds.
#[test]
fn what_takes_longer_in_each_of_nine_rounds_is_never_called_as_fast() {
    let wild = [1.0, 1.9, 1.3, 1.1, 1.6, 1.2, 1.8, 1.05, 1.4];
    let ratios = [1.13, 1.67, 1.99, 1.7, 1.5, 1.6, 1.72, 1.8, 1.9];
    let reference: Vec<f64> = wild.iter().map(|one| 50e3 * one).collect();
    let tcp: Vec<f64> = reference.iter().zip(ratios).map(|(one, ratio)| one * ratio).collect();
    let cells = || {
        vec![
            Cell { is_reference: true, ..cell("unix-stream", 64, TWO) }
                .rtt(65e3, 0.0)
                .of_rounds(&reference),
            cell("tcp", 64, TWO).rtt(110e3, 0.0).of_rounds(&tcp),
        ]
    };
    let two = among(&["unix-stream", "tcp"]);
    let text = wide(&set(cells()), &two);
    assert!(text.starts_with("USE unix-stream: 65.0 us for 64 B"), "{text}");
    assert_eq!(line(&text, "tcp, 110 us: "), "1.7x slower [1.5, 1.9]", "{text}");
    assert!(!text.contains("s fast (") && !text.contains("Undecided"), "{text}");
    // Many more arms leave no interval of nine rounds, and it is not as fast for that.
    let mut many = cells();
    for name in ["pipe", "fifo", "posix-mq"] {
        for seed in 0..12 {
            let mut one = around(name, 90e3, 0.3, seed, 9);
            one.key.mechanism = format!("{name}-{seed}");
            many.push(one);
        }
    }
    let named = |name: &str| {
        sample::spec(name.split('-').next().filter(|base| *base != "unix").unwrap_or(name))
            .or_else(|| sample::spec("posix-mq"))
    };
    let (plain, style) = (wanted(&[64], &[]), Style { width: 300, ..Style::default() });
    let text = to_text(|out| {
        doc(&set(many.clone()), &plain, &named, &style).write(Format::Table, &style, out)
    });
    assert!(!line(&text, "As fast").contains("tcp"), "{text}");
    let undecided = "Undecided: tcp (9 pairs)";
    assert!(text.contains(undecided) || line(&text, "Undecided: ").contains("more"), "{text}");
}

#[test]
fn what_is_neither_proved_nor_excluded_is_undecided_with_its_interval() {
    let cells = vec![
        Cell { is_reference: true, ..around("unix-stream", 50e3, 0.02, 1, 20) },
        around("tcp", 52e3, 0.5, 2, 20),
        around("fifo", 50e3, 0.02, 3, 20),
    ];
    let text = wide(&set(cells), &among(&["unix-stream", "tcp", "fifo"]));
    assert_eq!(line(&text, "As fast (within 10 %): "), "fifo.", "{text}");
    let interval = line(&text, "Undecided: tcp (");
    assert!(interval.contains("x to ") && interval.ends_with("x)."), "{text}");
    assert!(line(&text, "tcp, 52.0 us: ").starts_with("undecided: 0."), "{text}");
    let open = line(&text, "Open whether more than 10 % faster: tcp; ");
    assert!(open.contains(" more rounds would tell (about "), "{text}");
    assert!(text.contains("Chosen for what it can do (two-way"), "{text}");
    assert!(!text.contains("come from the same rounds"), "{text}");
}

#[test]
fn what_is_proved_to_be_faster_by_more_than_the_margin_takes_the_place_of_the_reference() {
    let with = |level: f64, margin: Option<f64>| {
        let mut set = set(vec![
            Cell { is_reference: true, ..around("unix-stream", 50e3, 0.02, 1, 20) },
            around("fifo", level, 0.02, 2, 20),
        ]);
        set.invocation.plan.margin = margin;
        wide(&set, &among(&["unix-stream", "fifo"]))
    };
    let text = with(40e3, None);
    assert!(text.starts_with("USE fifo: 40.0 us for 64 B"), "{text}");
    assert!(text.contains("faster [1.2") && text.contains("] than the reference, unix-stream"));
    assert!(line(&text, "unix-stream, 50.0 us: ").contains("x slower [1.2"), "{text}");
    // Faster, but by less: the fittest stays.
    let text = with(48e3, None);
    assert!(text.starts_with("USE unix-stream: "), "{text}");
    let ahead = line(&text, "Faster, but not proved to be so by more than 10 %: fifo (");
    assert!(ahead.contains("faster [1.0"), "{text}");
    assert!(ahead.ends_with(" (within 10 %))."), "{text}");
    // The plan says the margin.
    let text = with(48e3, Some(0.01));
    assert!(text.starts_with("USE fifo: ") && !text.contains("10 %"), "{text}");
    assert!(with(40e3, Some(0.5)).starts_with("USE unix-stream: "));
}

#[test]
fn with_too_few_rounds_nothing_is_chosen_and_what_would_tell_is_said() {
    let few = |rounds| {
        set(vec![
            around("unix-stream", 50e3, 0.02, 1, rounds),
            around("tcp", 90e3, 0.02, 2, rounds),
            around("fifo", 70e3, 0.02, 3, rounds),
        ])
    };
    let plain = wanted(&[64], &[]);
    for rounds in 2..=8 {
        let set = few(rounds);
        let text = wide(&set, &plain);
        let document = chosen_in(&set, &plain);
        assert!(is_met(&document, &sample::spec), "the exit code is 0");
        let is_chosen = chosen(&document, &sample::spec).is_some();
        assert_eq!((is_chosen, text.starts_with("USE unix-stream")), (rounds >= 6, rounds >= 6));
        if rounds < 6 {
            let more = ipcperf_render::text::counted(6 - rounds as u64, "more round");
            let head = text.lines().next().unwrap();
            assert!(head.starts_with("UNDECIDED between unix-stream, fifo and tcp for 64 B"));
            assert!(head.contains(&format!(": {more} would tell (about ")), "{text}");
            assert!(text.contains("A ratio takes 6 rounds with figures of both"), "{text}");
            assert!(text.contains("64 B: what nothing is proved to beat"), "{text}");
            assert!(!text.contains("Next:") && !text.contains("s fast"), "{text}");
        }
    }
}

#[test]
fn a_reference_that_differs_from_itself_leaves_the_choice_undecided() {
    let mut reference = Cell { is_reference: true, ..around("unix-stream", 50e3, 0.02, 1, 30) };
    reference.control = around("unix-stream", 60e3, 0.02, 5, 30).rounds;
    let set = set(vec![reference, around("tcp", 75e3, 0.02, 2, 30)]);
    let text = wide(&set, &among(&["unix-stream", "tcp"]));
    assert!(text.starts_with("UNDECIDED between unix-stream and tcp for 64 B"), "{text}");
    assert!(text.contains("The control fails: unix-stream was measured twice"), "{text}");
    assert!(!text.contains("slower"), "{text}");
}

#[test]
fn at_grade_f_ratios_hold_and_neither_equality_nor_figures_nor_a_limit_of_the_tail() {
    let noisy = at_grade_f(set(vec![
        around("unix-stream", 50e3, 0.02, 1, 20),
        around("tcp", 75e3, 0.02, 2, 20),
        around("fifo", 50e3, 0.02, 3, 20),
    ]));
    let three = among(&["unix-stream", "tcp", "fifo"]);
    let text = wide(&noisy, &three);
    assert!(text.starts_with("USE unix-stream for 64 B on two CPUs"), "{text}");
    assert!(line(&text, "tcp: ").starts_with("1.49x slower [1.4"), "{text}");
    assert_eq!(line(&text, "Undecided: "), "fifo (grade F).", "{text}");
    assert_eq!(line(&text, "fifo: "), "undecided: grade F", "{text}");
    assert!(!text.contains("s fast ("), "{text}");
    assert!(line(&text, "Noise grade F").contains("ratios with an interval hold"), "{text}");
    for p99_ns in [60e3, 90e3, 200e3] {
        let limited = Requirements { p99_ns: Some(p99_ns), ..three.clone() };
        let text = wide(&noisy, &limited);
        assert!(text.starts_with("UNDECIDED for 64 B"), "{text}");
        assert!(text.contains(": at noise grade F no p99 can be judged\n"), "{text}");
        assert!(chosen(&chosen_in(&noisy, &limited), &sample::spec).is_none());
    }
}

#[test]
fn what_only_the_screen_measured_is_neither_chosen_nor_called_as_fast() {
    let staged = |mut cell: Cell, stage| {
        cell.rounds.iter_mut().for_each(|round| round.stage = Some(stage));
        cell
    };
    let set = set(vec![
        Cell { is_reference: true, ..staged(around("fifo", 50e3, 0.02, 1, 20), Stage::Confirm) },
        staged(around("posix-mq", 75e3, 0.02, 2, 20), Stage::Confirm),
        staged(around("tcp", 40e3, 0.02, 3, 3), Stage::Screen),
    ]);
    let text = wide(&set, &among(&["fifo", "posix-mq", "tcp"]));
    assert!(text.starts_with("USE fifo: 50.0 us"), "{text}");
    assert_eq!(line(&text, "Not confirmed (screen only): "), "tcp.", "{text}");
    assert_eq!(line(&text, "tcp, 40.0 us: "), "screen only", "{text}");
}

#[test]
fn of_those_that_are_proved_to_be_behind_nowhere_one_that_leads_is_chosen() {
    let sized = |mut cell: Cell, size| {
        cell.key.size_bytes = size;
        cell
    };
    // At 4 KiB the rounds of both scatter so much that nothing is proved.
    let set = set(vec![
        around("tcp", 80e3, 0.02, 1, 20),
        around("fifo", 50e3, 0.02, 2, 20),
        sized(around("tcp", 50e3, 0.9, 3, 20), 4096),
        sized(around("fifo", 60e3, 0.9, 4, 20), 4096),
    ]);
    let both =
        Requirements { among: vec!["tcp".into(), "fifo".into()], ..wanted(&[64, 4096], &[]) };
    let text = wide(&set, &both);
    assert!(text.starts_with("USE fifo: 50.0 us (64 B) for 64 B and 4 KiB"), "{text}");
    assert!(!text.contains("nothing is best in everything"), "{text}");
    let tcp = line(&text, "tcp, 80.0 us: ");
    assert!(tcp.starts_with("1.6") && tcp.ends_with("] for 64 B"), "{text}");
    assert_eq!(order(&set, &wanted(&[4096], &[]))[0], "tcp", "the fittest there");
}

#[test]
fn the_front_loses_only_what_is_proved_to_be_beaten() {
    let of = |costs: f64, share: f64| {
        let timed = |name: &str, nanos: f64, cpu: f64, seed| {
            let mut one = around(name, nanos, 0.02, seed, 20).cpu(cpu);
            one.rtt_ns.as_mut().unwrap().remove("p99");
            let mut rng = Rng::from_seed(90 + seed);
            for round in &mut one.rounds {
                let cost = cpu * (share * rng.normal()).exp() * round.messages as f64;
                round.cpu_ns = SideCpu { lead: cost as u64, ..SideCpu::default() };
            }
            one
        };
        let cells = vec![
            timed("tcp", 50e3, 9e3, 1),
            timed("fifo", 70e3, 10e3, 2),
            timed("posix-mq", 80e3, 10e3 * costs, 3),
        ];
        let text = wide(&set(cells), &wanted(&[64], &[]));
        let rows = text.lines().filter(|line| line.starts_with("  posix-mq "));
        rows.count()
    };
    assert_eq!(of(1.5, 0.02), 0, "proved");
    assert_eq!(of(1.5, 1.5), 1, "its figure is worse, and nothing is proved");
}
