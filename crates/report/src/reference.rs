//! The reference of all mechanisms as one Markdown document. It holds facts of the mechanisms and none of a host.

use crate::describe::facts;
use crate::figures::{self, NONE};
use crate::grid::Grid;
use crate::list::{ListRow, carries, families, meets};
use crate::markdown::{self, escape};
use crate::{Style, text};
use ipcperf_core::{BackPressure, Capability, Limit, OnClose, Payload, Spec};
use std::io;

/// Columns, and which of them stand at the right edge.
const HEADS: &[(&str, bool)] = &[
    ("mechanism", false),
    ("waits", false),
    ("carries", false),
    ("largest", true),
    ("meets", false),
    ("producers-consumers", false),
    ("when full", false),
    ("calls", true),
    ("copies", true),
    ("passes descriptors", false),
    ("told of close", false),
    ("told of death", false),
    ("after a restart", false),
];

/// What is often needed, and what it takes. All of them carry bytes of the user's.
const NEEDS: &[(&str, &[Capability])] = &[
    ("any two processes", &[Capability::Unrelated]),
    (
        "any two processes, told when the other dies",
        &[Capability::Unrelated, Capability::NoticesDeath],
    ),
    (
        "any two processes, whole messages, told when the other dies",
        &[Capability::Unrelated, Capability::Boundaries, Capability::NoticesDeath],
    ),
    ("any two processes, each of which may be restarted", &[Capability::Reconnect]),
    (
        "whole messages, and a sender that waits while nobody receives",
        &[Capability::Boundaries, Capability::BackPressure],
    ),
    (
        "many senders, whole messages",
        &[Capability::ManyProducers, Capability::Boundaries, Capability::BackPressure],
    ),
    ("many receivers that share the work", &[Capability::ManyConsumers, Capability::BackPressure]),
    ("descriptors handed over", &[Capability::FdPassing]),
    ("no copy of the payload", &[Capability::NoCopy]),
    ("the other process on another host some day", &[Capability::Network]),
];

/// Which mechanisms have what is often needed, by their facts alone.
fn chooser(rows: &[ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "## Which have what I need?\n\n\
         By facts alone; how fast each is depends on the machine, and `ipcperf choose` measures it there. `ipcperf list \
         --can NEED,NEED` answers for any set of needs.\n"
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
    let heads = ["need", "for --can", "mechanisms"].map(|head| (head, false));
    let all = NEEDS.iter().map(row).collect();
    markdown::grid(&Grid::of(&heads, all), &Style::default(), out)?;
    writeln!(out)
}

/// Writes the reference: which mechanisms have what is often needed, an overview, then every mechanism with its variants, knobs and pitfalls. The same rows give
/// the same bytes on every host; what a row says of its host is left out.
///
/// # Errors
/// `out` refuses the bytes.
pub fn reference(rows: &[ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    let names = mechanisms(rows);
    writeln!(out, "# Mechanisms\n")?;
    writeln!(
        out,
        "{} in {}, as the program itself declares them: written by `cargo xtask docs`, shown by `ipcperf list` and \
         `ipcperf describe NAME`, tried by the conformance suite ([CONFORMANCE.md](CONFORMANCE.md)). What is left out \
         on purpose is in [not-covered.md](not-covered.md).\n",
        text::counted(rows.len() as u64, "variant"),
        text::counted(names.len() as u64, "mechanism")
    )?;
    writeln!(
        out,
        "- **largest**: the largest message where the mechanism itself sets it; \"host\": a setting of the host does."
    )?;
    writeln!(
        out,
        "- **meets**: how two processes come by it: handed a descriptor, knowing a process of the same user, opening \
         a name, connecting to a port."
    )?;
    writeln!(
        out,
        "- **calls**: system calls of both ends for one message when nobody waits; a dash where polls depend on timing."
    )?;
    writeln!(out, "- **copies**: of the payload, from the sender's bytes to the receiver's.\n")?;
    chooser(rows, out)?;
    for (family, members) in families(rows) {
        writeln!(out, "## {family}\n")?;
        let rows = members.iter().map(|row| cells(row.spec)).collect();
        markdown::grid(&Grid::of(HEADS, rows), &Style::default(), out)?;
        writeln!(out)?;
        for name in mechanisms(members.iter().copied()) {
            let variants: Vec<&ListRow> =
                members.iter().copied().filter(|row| row.spec.name == name).collect();
            mechanism(name, &variants, out)?;
        }
    }
    Ok(())
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
            OnClose::Undetected => "no",
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
            (Payload::Message { .. }, Some(limit)) => figures::size(limit.bytes as u64),
            (Payload::Message { .. }, None) => "host".to_owned(),
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

fn mechanism(name: &str, variants: &[&ListRow], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "### {name}\n")?;
    for ListRow { spec, .. } in variants {
        let standard = if spec.default && variants.len() > 1 { " (default)" } else { "" };
        writeln!(out, "- **{}**{standard}: {}", spec.full_name(), escape(spec.summary, true))?;
    }
    writeln!(out)?;
    let stands = variants.iter().find(|row| row.spec.default).or(variants.first());
    let Some(ListRow { spec, knobs, .. }) = stands else { return Ok(()) };
    for (label, words) in facts(spec, own_limit(spec).as_ref()) {
        if label != "waits" {
            writeln!(out, "- {label}: {}", escape(&words, true))?;
        }
    }
    writeln!(out)?;
    if !knobs.is_empty() {
        writeln!(out, "| knob | takes | default | |\n| --- | --- | --- | --- |")?;
        for knob in *knobs {
            let cells = [
                format!("{name}.{}", knob.name),
                knob.kind.to_string(),
                knob.default.to_owned(),
                knob.help.to_owned(),
            ];
            markdown::row(&cells, &Style::default(), out)?;
        }
        writeln!(out)?;
    }
    let of = |list: fn(&Spec) -> &[&'static str]| {
        text::each_once(variants.iter().flat_map(|row| list(row.spec).iter().copied()))
    };
    let needs = of(|spec| spec.needs);
    if !needs.is_empty() {
        writeln!(out, "Needs: {}.\n", escape(&needs.join("; "), true))?;
    }
    writeln!(out, "Pitfalls:\n")?;
    for pitfall in of(|spec| spec.pitfalls) {
        writeln!(out, "- {}", escape(pitfall, true))?;
    }
    writeln!(out, "\nManual pages: {}.\n", of(|spec| spec.manual).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{sample, to_text};

    fn written(rows: &[ListRow]) -> String {
        to_text(|out| reference(rows, out))
    }

    #[test]
    fn every_variant_knob_and_pitfall_is_there_and_every_mechanism_once() {
        let rows = sample::list();
        let text = written(&rows);
        for row in &rows {
            let name = row.spec.full_name();
            assert!(text.contains(&format!("\n| {name} | ")), "{name}: {text}");
            assert!(text.contains(&format!("\n- **{name}**")), "{name}: {text}");
            assert_eq!(text.matches(&format!("\n### {}\n", row.spec.name)).count(), 1, "{text}");
            for pitfall in row.spec.pitfalls {
                assert!(text.contains(&escape(pitfall, true)), "{pitfall}");
            }
            for knob in row.knobs {
                assert!(text.contains(&format!("{}.{}", row.spec.name, knob.name)), "{text}");
            }
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
