//! One mechanism in full: facts, costs, knobs, pitfalls, and whether this host can run it.

use crate::list::table::ListRow;
use ipcperf_core::{
    BackPressure, Capability, Direction, Limit, Memory, Namespace, Namespaces, OnClose, OnRestart,
    Payload, Peers, Reach, Spec, Syscalls, Transfers, Wait,
};
use ipcperf_judge::figures;
use ipcperf_render::doc::{Blocks, Doc, Tone};
use ipcperf_render::{Format, Style, text};
use std::io;

/// Writes all there is to know about a mechanism, in sections.
///
/// # Errors
/// `out` refuses the bytes.
pub(crate) fn describe(
    row: &ListRow,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    doc(row).write(format, style, out)
}

fn doc(row: &ListRow) -> Doc {
    let spec = row.spec;
    let standard = if spec.default { ", default variant" } else { "" };
    let mut doc = Doc::new(format!("{} ({}{standard})", spec.full_name(), spec.family));
    let body = &mut doc.body;
    body.say(Tone::Plain, spec.summary);
    available(body, row);
    let (costs, facts): (Vec<_>, Vec<_>) =
        facts(spec, row.limit.as_ref()).into_iter().partition(|(label, _)| COSTS.contains(label));
    body.section("Facts", |body| body.facts(facts));
    body.section("Costs of one message", |body| body.facts(costs));
    let knobs = row.knobs.iter().map(|knob| {
        let words = format!("{} Takes {}. Default: {}.", knob.help, knob.kind, knob.default);
        (format!("{}.{}", spec.name, knob.name), words)
    });
    body.section("Knobs (--set KNOB=VALUE)", |body| body.facts(knobs));
    body.section("Needs", |body| body.list(spec.needs.iter().copied()));
    body.section("Pitfalls", |body| body.list(spec.pitfalls.iter().copied()));
    if !spec.manual.is_empty() {
        body.section("Manual pages", |body| body.say(Tone::Plain, spec.manual.join(", ")));
    }
    doc
}

/// Which of the facts are costs.
const COSTS: &[&str] = &["copies", "memory", "calls", "window", "threads"];

/// The facts of a mechanism in words, each with its label.
pub(crate) fn facts(spec: &Spec, limit: Option<&Limit>) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("carries", carries(spec.payload)),
        ("largest", largest(spec.payload, limit)),
        ("waits", waits(spec.wait).to_owned()),
        ("meets", meets(spec.reach).to_owned()),
        ("shares", shares(spec)),
        ("direction", direction(spec.direction).to_owned()),
        ("peers", peers(spec)),
        ("clients", clients(spec).to_owned()),
    ];
    if spec.descriptors {
        facts.push(("passes", "open descriptors beside the bytes".to_owned()));
    }
    facts.extend([
        ("when full", back_pressure(spec.back_pressure).to_owned()),
        ("at the end", format!("a peer that finishes: {}", on_close(spec.on_close))),
        ("at death", format!("a peer that is killed: {}", on_close(spec.on_death))),
        ("at restart", on_restart(spec.on_restart).to_owned()),
        ("copies", copies(spec.copies)),
    ]);
    if let Some(bare) = spec.over {
        facts.push(("built on", format!("{bare}, which a run can measure beside it")));
    }
    if spec.exchange == Transfers::Calls {
        facts.push((
            "calls for",
            "an answer to each message, so it runs round trips only".to_owned(),
        ));
    }
    if spec.threads {
        let words = "more in each end than the one that sends and receives";
        facts.push(("threads", words.to_owned()));
    }
    if spec.memory == Memory::Fresh {
        facts.push(("memory", "made for each message and given back after it".to_owned()));
    }
    facts.push(("calls", calls(spec.syscalls)));
    if let Some(window) = spec.window {
        let words = format!("at most {window} under way; then the sender waits for a credit");
        facts.push(("window", words));
    }
    facts
}

fn available(body: &mut Blocks, row: &ListRow) {
    let Some(missing) = &row.missing else { return body.say(Tone::Best, "It can run here.") };
    body.say(Tone::Doubt, format!("It cannot run here: {}.", missing.what));
    if !missing.how.is_empty() {
        body.say(Tone::Plain, format!("To get it: {}.", missing.how));
    }
}

fn carries(payload: Payload) -> String {
    match payload {
        Payload::Wake { word: 0 } => "wake-ups without payload".to_owned(),
        Payload::Wake { word } => {
            format!("wake-ups with a word of {}", text::counted(word as u64, "byte"))
        }
        Payload::Stream => "bytes without boundaries".to_owned(),
        _ => "messages that keep their boundaries".to_owned(),
    }
}

fn largest(payload: Payload, limit: Option<&Limit>) -> String {
    let Some(limit) = limit else {
        let is_message = matches!(payload, Payload::Message { .. });
        return if is_message { "what the host allows" } else { "no limit" }.to_owned();
    };
    let size = figures::size(limit.bytes as u64);
    let raise = match limit.raise {
        "" => String::new(),
        how => format!("; to raise it: {how}"),
    };
    format!("{size}, set by {}{raise}", limit.set_by)
}

const fn waits(wait: Wait) -> &'static str {
    match wait {
        Wait::Block => "block: sleeps in the call that moves the data",
        Wait::Epoll => "epoll: sleeps in epoll_wait, then moves the data without blocking",
        Wait::Spin => {
            "spin: never sleeps, each end keeps a CPU busy; refused with both ends on one CPU"
        }
        Wait::SpinThenBlock => "spin-then-block: spins for a bounded time, then sleeps",
        other => other.name(),
    }
}

const fn meets(reach: Reach) -> &'static str {
    match reach {
        Reach::Related => "related processes, or any process that is passed a descriptor",
        Reach::SameUser => "any process of the same user that knows the other's process number",
        Reach::Named => "any process that may open its name",
        Reach::Network => "any process in the same network namespace, and other hosts where routed",
        other => other.name(),
    }
}

/// The namespaces that both ends must share, in words.
fn shares(spec: &Spec) -> String {
    let words = |which: Namespaces| {
        let names: Vec<&str> = which.each().map(Namespace::name).collect();
        format!("{} namespace{}", names.join(" and "), if names.len() == 1 { "" } else { "s" })
    };
    match (spec.shares.is_none(), spec.shares_by_name) {
        (true, Namespaces::NONE) => "no namespace: its descriptors are handed over".to_owned(),
        (true, named) => {
            format!("by name the {}; none where its descriptors are handed over", words(named))
        }
        (false, _) => format!("the {}", words(spec.shares)),
    }
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::OneWay => "one way; a round trip takes two of them",
        Direction::TwoWay => "both ways over one object",
    }
}

fn peers(spec: &Spec) -> String {
    let count = |peers| match peers {
        Peers::One => "one",
        Peers::Many => "any number of",
    };
    let plural = |peers| if peers == Peers::One { "" } else { "s" };
    format!(
        "{} producer{}, {} consumer{}",
        count(spec.producers),
        plural(spec.producers),
        count(spec.consumers),
        plural(spec.consumers)
    )
}

/// Whether the mechanism has a listener, in the words of the survey, and how many clients it takes.
fn clients(spec: &Spec) -> &'static str {
    if spec.can(Capability::Listener) {
        "has a listener: takes many clients, each over a connection of its own"
    } else if spec.can(Capability::ManyProducers) {
        "has no listener; many clients may send over one channel"
    } else {
        "has no listener: each client needs a channel that is set up for it"
    }
}

const fn back_pressure(pressure: BackPressure) -> &'static str {
    match pressure {
        BackPressure::Blocks => "the sender waits",
        BackPressure::Drops => "messages are dropped",
        BackPressure::Merges => "transfers merge into one",
        BackPressure::Overwrites => "a newer message replaces one that was not read yet",
        BackPressure::None => "it never fills",
        other => other.name(),
    }
}

const fn on_close(end: OnClose) -> &'static str {
    match end {
        OnClose::Told => "the other side reads what was sent and then notices the end",
        OnClose::Late => "the other side notices, but it may take a minute",
        OnClose::Undetected => "nothing tells the other side",
        other => other.name(),
    }
}

const fn on_restart(restart: OnRestart) -> &'static str {
    match restart {
        OnRestart::GoesOn => "a peer that is killed and started again: this end goes on with it",
        OnRestart::Reopens => {
            "a peer that is killed and started again: this end opens or connects again, at the same name"
        }
        OnRestart::HandedOver => {
            "a peer that is killed and started again: it must be passed an end, or be named to the other side"
        }
        other => other.name(),
    }
}

fn copies(copies: u8) -> String {
    match copies {
        0 => "none".to_owned(),
        1 => "1 copy of the payload".to_owned(),
        count => format!("{count} copies of the payload"),
    }
}

fn calls(syscalls: Syscalls) -> String {
    let [send, recv] = [syscalls.send, syscalls.recv].map(|calls| calls.map(figures::count));
    match (send, recv) {
        (Some(send), Some(recv)) => {
            format!("{send} by the sender and {recv} by the receiver when neither waits")
        }
        (Some(send), None) => {
            format!("{send} by the sender; the receiver's polls depend on timing")
        }
        (None, Some(recv)) => format!("{recv} by the receiver; the sender's depend on timing"),
        (None, None) => "as many as timing makes of it, on both sides".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{sample, to_text};

    fn written(name: &str, style: &Style) -> String {
        let row = sample::list().into_iter().find(|row| row.spec.full_name() == name).unwrap();
        to_text(|out| describe(&row, Format::Table, style, out))
    }

    #[test]
    fn a_mechanism_that_can_run() {
        insta::assert_snapshot!(written("pipe", &Style::default()), @r"
        pipe (stream, default variant)
        Two anonymous pipes, one for each direction.
        It can run here.

        Facts
          carries     bytes without boundaries
          largest     no limit
          waits       block: sleeps in the call that moves the data
          meets       related processes, or any process that is passed a descriptor
          shares      no namespace: its descriptors are handed over
          direction   one way; a round trip takes two of them
          peers       any number of producers, any number of consumers
          clients     has no listener; many clients may send over one channel
          when full   the sender waits
          at the end  a peer that finishes: the other side reads what was sent and then
                      notices the end
          at death    a peer that is killed: the other side reads what was sent and then
                      notices the end
          at restart  a peer that is killed and started again: it must be passed an end,
                      or be named to the other side

        Costs of one message
          copies  2 copies of the payload
          calls   1 by the sender and 1 by the receiver when neither waits

        Knobs (--set KNOB=VALUE)
          pipe.size  Capacity of each pipe. Takes 4K..1G bytes. Default: kernel default
                     (64K).

        Pitfalls
          - Writes above PIPE_BUF (4096 bytes) may interleave with those of other
            writers.

        Manual pages
          pipe(7), pipe(2)
        ");
    }

    #[test]
    fn a_mechanism_that_cannot_run_says_how_to_get_it() {
        insta::assert_snapshot!(written("posix-mq", &Style::default()), @r"
        posix-mq (queue, default variant)
        Two anonymous pipes, one for each direction.
        It cannot run here: no POSIX message queues in this kernel.
        To get it: boot a kernel with CONFIG_POSIX_MQUEUE.

        Facts
          carries     messages that keep their boundaries
          largest     8 KiB, set by fs.mqueue.msgsize_max; to raise it: sysctl
                      fs.mqueue.msgsize_max=65536
          waits       block: sleeps in the call that moves the data
          meets       any process that may open its name
          shares      no namespace: its descriptors are handed over
          direction   one way; a round trip takes two of them
          peers       any number of producers, any number of consumers
          clients     has no listener; many clients may send over one channel
          when full   the sender waits
          at the end  a peer that finishes: the other side reads what was sent and then
                      notices the end
          at death    a peer that is killed: the other side reads what was sent and then
                      notices the end
          at restart  a peer that is killed and started again: this end goes on with it

        Costs of one message
          copies  2 copies of the payload
          calls   1 by the sender and 1 by the receiver when neither waits

        Needs
          - CONFIG_POSIX_MQUEUE

        Pitfalls
          - Writes above PIPE_BUF (4096 bytes) may interleave with those of other
            writers.

        Manual pages
          pipe(7), pipe(2)
        ");
    }
}
