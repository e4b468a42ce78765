//! The reference of all mechanisms as one Markdown document. It holds facts of the mechanisms and none of a host.

use crate::list::table::{ListRow, carries, families, meets};
use ipcperf_core::{BackPressure, Capability, Limit, Namespace, OnClose, Payload, Spec};
use ipcperf_judge::figures;
use ipcperf_judge::figures::NONE;
use ipcperf_render::doc::{Blocks, Column, Row, Table};
use ipcperf_render::markdown::escape;
use ipcperf_render::{Style, text};
use std::io;

/// Columns, and which of them are numbers.
const HEADS: &[(&str, bool)] = &[
    ("mechanism", false),
    ("waits", false),
    ("carries", false),
    ("largest", true),
    ("connects", false),
    ("senders-receivers", false),
    ("when full", false),
    ("calls", true),
    ("copies", true),
    ("descriptors", false),
    ("close", false),
    ("death", false),
    ("after a restart", false),
];

/// Common needs and the capabilities that meet them. All of these carry the user's bytes.
const NEEDS: &[(&str, &[Capability])] = &[
    ("unrelated processes", &[Capability::Unrelated]),
    (
        "unrelated processes, notices a dead peer",
        &[Capability::Unrelated, Capability::NoticesDeath],
    ),
    (
        "unrelated processes, whole messages, notices a dead peer",
        &[Capability::Unrelated, Capability::Boundaries, Capability::NoticesDeath],
    ),
    ("unrelated processes, each may restart", &[Capability::Reconnect]),
    (
        "whole messages, the sender waits until they are received",
        &[Capability::Boundaries, Capability::BackPressure],
    ),
    (
        "many senders, whole messages",
        &[Capability::ManyProducers, Capability::Boundaries, Capability::BackPressure],
    ),
    ("many receivers share the work", &[Capability::ManyConsumers, Capability::BackPressure]),
    ("passes descriptors", &[Capability::FdPassing]),
    ("no copy of the payload", &[Capability::NoCopy]),
    ("the peer may move to another host", &[Capability::Network]),
];

/// Which mechanisms meet common needs, by their facts alone.
fn chooser(rows: &[ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "## Which meet my needs?\n\n\
         By facts alone; `ipcperf choose` measures how fast they are on your machine. `ipcperf list --can NEED,NEED` \
         answers for any set of needs.\n"
    )?;
    let row = |(need, capabilities): &(&str, &[Capability])| {
        let has = |row: &&ListRow| {
            let spec = row.spec;
            spec.can(Capability::Payload) && capabilities.iter().all(|one| spec.can(*one))
        };
        let have = mechanisms(rows.iter().filter(has));
        let words: Vec<&str> = capabilities.iter().map(|one| one.name()).collect();
        vec![(*need).to_owned(), words.join(","), have.join(", ")]
    };
    table(["need", "--can", "mechanisms"].map(Column::text), NEEDS.iter().map(row), out)
}

fn table(
    columns: impl IntoIterator<Item = Column>,
    rows: impl Iterator<Item = Vec<String>>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut blocks = Blocks::default();
    blocks.table(Table::new(columns, rows.map(Row::new)));
    ipcperf_render::markdown::blocks(&blocks, 2, &Style::default(), out)
}

/// Writes the reference: what a reader needs to choose. `ipcperf describe` has the rest. The same rows give the same bytes
/// on every host; what a row says of its host is left out.
///
/// # Errors
/// `out` refuses the bytes.
pub(crate) fn reference(rows: &[ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    let names = mechanisms(rows);
    writeln!(out, "# Mechanisms\n")?;
    writeln!(
        out,
        "{} of {}, as the program declares them: written by `cargo xtask docs`, tested by the conformance suite. \
         `ipcperf describe NAME` has all facts, knobs, pitfalls and manual pages. [At the end](#what-is-left-out): what is \
         left out.\n",
        text::counted(rows.len() as u64, "variant"),
        text::counted(names.len() as u64, "mechanism")
    )?;
    chooser(rows, out)?;
    writeln!(
        out,
        "## Columns\n\n\
         - A row has the facts of the default variant; the lists name the others.\n\
         - **largest**: the largest message if the mechanism limits it; \"host\": a setting of the host does.\n\
         - **connects**: how two processes connect: by an inherited or passed descriptor (fd), a process number (pid), a \
         name, or a port.\n\
         - **calls**: system calls of both ends per message if neither waits; a dash if polls depend on timing.\n\
         - **copies**: of the payload, from the sender's bytes to the receiver's.\n\
         - **close**, **death**: whether an end notices that its peer has closed or died.\n\
         - **after a restart** of its peer an end goes on, reopens its own end, or must be handed a new one.\n"
    )?;
    still_meets(rows, out)?;
    for (family, members) in families(rows) {
        let variants: Vec<Vec<&ListRow>> = mechanisms(members.iter().copied())
            .iter()
            .map(|name| members.iter().copied().filter(|row| row.spec.name == *name).collect())
            .collect();
        writeln!(out, "## {family}\n")?;
        let facts = variants.iter().filter_map(|rows| standard(rows)).map(|row| cells(row.spec));
        let columns = HEADS.iter().map(|(head, is_number)| match is_number {
            true => Column::number(*head),
            false => Column::text(*head),
        });
        table(columns, facts, out)?;
        variants.iter().try_for_each(|rows| mechanism(rows, out))?;
        writeln!(out)?;
    }
    out.write_all(include_bytes!("left_out.md"))
}

/// Which mechanisms connect two processes that do not share a namespace.
fn still_meets(rows: &[ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "## What still meets\n\n\
         Processes of two containers do not share all namespaces. What each mechanism needs both ends to share, case C24 of \
         the conformance suite tries to refute in both directions: ends that need not share a kind of namespace must meet \
         across it, and those that must share it must not. By name it tries what a knob lets meet so (`bind`, `backing`). A \
         queue of posix-mq here has no name for longer than it takes to make it, a terminal of pty is locked, a netlink \
         socket is connected to its peer, and inotify is handed the watched file: what ends there by name is no \
         measurement of a channel. That the name of a queue ends at ipc and a netlink port at net, a test of the crate \
         sys tries; pty and inotify have paths. `ipcperf run --follow-in net,ipc,mnt,pid,user` measures it, `ipcperf \
         choose --across net,mnt` leaves out what does not meet.\n"
    )?;
    let with = |has: &dyn Fn(&ListRow) -> bool| {
        let names = mechanisms(rows.iter().filter(|row| !row.spec.is_floor() && has(row)));
        if names.is_empty() { NONE.to_owned() } else { names.join(", ") }
    };
    let of = |kind: Namespace| {
        let (shared, what) = (|row: &ListRow| row.spec.shares.has(kind), crossing(kind));
        let named = |row: &ListRow| row.spec.shares.is_none() && row.spec.shares_by_name.has(kind);
        vec![kind.to_string(), what.to_owned(), with(&shared), with(&named)]
    };
    let heads = ["namespace", "what ends there", "do not meet", "meet only if handed over"];
    table(heads.map(Column::text), Namespace::ALL.iter().map(|kind| of(*kind)), out)?;
    let everywhere = with(&|row| row.spec.shares.is_none() && row.spec.shares_by_name.is_none());
    writeln!(
        out,
        "Everything else meets across all of them, because its descriptors are inherited or sent over a UNIX socket, or \
         because, as with VM sockets, no namespace bounds its addresses: {everywhere}. A knob may change it: \
         `unix-stream.bind=path` ends at mnt, `bind=abstract` at net, and `backing=sysv` of shared memory at ipc. A mount \
         namespace here has a /tmp, a /dev/shm and a run directory of its own; a directory that both containers mount is \
         shared. `--net veth` and `--net bridge` connect two network namespaces.\n"
    )
}

/// What of the mechanisms ends at the border of such a namespace.
const fn crossing(kind: Namespace) -> &'static str {
    match kind {
        Namespace::Net => "loopback addresses, abstract names, netlink ports",
        Namespace::Ipc => "System V identifiers, names of POSIX queues",
        Namespace::Mnt => "paths",
        Namespace::Pid => "process and thread numbers",
        Namespace::User => "the right to reach into a process",
    }
}

/// The default variant, or the first.
fn standard<'a>(variants: &[&'a ListRow]) -> Option<&'a ListRow> {
    variants.iter().find(|row| row.spec.default).or(variants.first()).copied()
}

/// Names of mechanisms, each once, in the order of the list.
fn mechanisms<'a>(rows: impl IntoIterator<Item = &'a ListRow>) -> Vec<&'static str> {
    text::each_once(rows.into_iter().map(|row| row.spec.name))
}

/// The limit that is the same on every host.
fn own_limit(spec: &Spec) -> Option<Limit> {
    match spec.payload {
        Payload::Message { max } => max,
        _ => None,
    }
}

fn cells(spec: &Spec) -> Vec<String> {
    let told = |end| {
        let word = match end {
            OnClose::Told => "yes",
            OnClose::Late => "late",
            _ => "no",
        };
        word.to_owned()
    };
    vec![
        spec.full_name(),
        spec.wait.to_string(),
        carries(spec.payload).to_owned(),
        match (spec.payload, own_limit(spec)) {
            (Payload::Wake { word }, _) => format!("{word} B"),
            (Payload::Stream, _) => NONE.to_owned(),
            (_, Some(limit)) => figures::size(limit.bytes as u64),
            (_, None) => "host".to_owned(),
        },
        meets(spec.reach).to_owned(),
        format!("{}-{}", spec.producers, spec.consumers),
        match spec.back_pressure {
            BackPressure::None => NONE.to_owned(),
            other => other.to_string(),
        },
        spec.syscalls.per_message().map_or_else(|| NONE.to_owned(), figures::count),
        spec.copies.to_string(),
        if spec.descriptors { "yes" } else { "no" }.to_owned(),
        told(spec.on_close),
        told(spec.on_death),
        spec.on_restart.to_string(),
    ]
}

/// One line: what it is, the pitfall that stands first, and the names of other variants and of knobs.
fn mechanism(variants: &[&ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    let Some(ListRow { spec, .. }) = standard(variants) else { return Ok(()) };
    let words = spec.pitfalls.first().map_or_else(String::new, |first| format!(" {first}"));
    write!(
        out,
        "- **{}**: {}{}",
        spec.full_name(),
        escape(spec.summary, true),
        escape(&words, true)
    )?;
    let others = variants.iter().filter(|row| row.spec.variant != spec.variant);
    let knobs = variants.iter().flat_map(|row| row.knobs);
    let knobs = text::each_once(knobs.map(|knob| format!("{}.{}", spec.name, knob.name)));
    for (head, names) in
        [("Variants", others.map(|row| row.spec.full_name()).collect()), ("Knobs", knobs)]
    {
        if !names.is_empty() {
            write!(out, " {head}: {}.", names.join(", "))?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{sample, to_text};

    fn written(rows: &[ListRow]) -> String {
        to_text(|out| reference(rows, out))
    }

    #[test]
    fn every_variant_and_knob_is_there_and_every_mechanism_once() {
        let rows = sample::list();
        let text = written(&rows);
        for row in &rows {
            assert!(text.contains(&row.spec.full_name()), "{text}");
            for knob in row.knobs {
                assert!(text.contains(&format!("{}.{}", row.spec.name, knob.name)), "{text}");
            }
        }
        for row in rows.iter().filter(|row| row.spec.default) {
            let name = row.spec.full_name();
            assert_eq!(text.matches(&format!("\n| {name} | ")).count(), 1, "{name}: {text}");
            assert_eq!(text.matches(&format!("\n- **{name}**")).count(), 1, "{name}: {text}");
        }
    }

    #[test]
    fn it_tells_nothing_about_the_host() {
        let rows = sample::list();
        let mut elsewhere = rows.clone();
        for row in &mut elsewhere {
            row.missing = Some(ipcperf_core::Missing::new("not here", "never"));
            row.limit = Some(Limit { bytes: 1, set_by: "a test", raise: "nothing" });
        }
        assert_eq!(written(&rows), written(&elsewhere));
    }
}
