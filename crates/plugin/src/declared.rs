//! What a plug-in says of itself, as it travels between processes, and the facts that it becomes.

use crate::helper::DeclaredHelper;
use ipcperf_core::text::clean;
use ipcperf_core::{
    BackPressure, Direction, Family, Knob, KnobKind, Lends, Memory, Missing, Namespaces, OnClose,
    OnRestart, Payload, Peers, Reach, Spec, Syscalls, Transfers, Wait,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The most bytes of one text.
const MOST_TEXT: usize = 1024;

/// What it says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// The last part of the path of its file.
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    /// Of all bytes of the file, in hexadecimal digits.
    pub(crate) sha256: String,
    /// What changes if the file does: device, inode, bytes, time of the last change.
    pub(crate) version: [i64; 5],
    pub(crate) summary: String,
    pub(crate) needs: Option<String>,
    pub(crate) over: Option<String>,
    pub(crate) wait: u32,
    pub(crate) payload: u32,
    pub(crate) back_pressure: u32,
    pub(crate) on_close: u32,
    pub(crate) on_death: u32,
    pub(crate) reach: u32,
    pub(crate) copies: u32,
    pub(crate) is_lossy: bool,
    pub(crate) is_two_way: bool,
    pub(crate) many_producers: bool,
    pub(crate) many_consumers: bool,
    pub(crate) threads: bool,
    pub(crate) calls: bool,
    pub(crate) fresh: bool,
    pub(crate) private: bool,
    pub(crate) stays: bool,
    pub(crate) reserves: bool,
    pub(crate) peeks: bool,
    pub(crate) probes: bool,
    pub(crate) windows: bool,
    /// No file: the pipe that is part of this program.
    pub(crate) is_own_pipe: bool,
    /// A program that must run as long as a channel.
    pub(crate) helper: Option<DeclaredHelper>,
    pub(crate) knobs: Vec<DeclaredKnob>,
}

/// A knob of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeclaredKnob {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) fallback: String,
    pub(crate) kind: u32,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) words: String,
}

/// A text that lives as long as the process.
pub(crate) fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// One of a closed list of values.
fn one<T: Copy>(member: &str, value: u32, all: &[T]) -> Result<T, Missing> {
    all.get(value as usize).copied().ok_or_else(|| {
        let what =
            format!("its facts have {member} = {value}; the header has 0 to {}", all.len() - 1);
        Missing::new(what, "use the constants of the header")
    })
}

impl Declared {
    /// The facts of a mechanism, which live as long as the process.
    pub(crate) fn spec(&self) -> Result<&'static Spec, Missing> {
        let (name, variant) = match self.name.split_once('/') {
            Some((name, variant)) => (name, Some(variant)),
            None => (self.name.as_str(), None),
        };
        if !Spec::is_full_name(&self.name) {
            let what = format!("its facts name it '{}'", clean(&self.name, true));
            return Err(Missing::new(
                what,
                "a name has 1 to 32 of a-z, 0-9 and '-': mine, mine/spin",
            ));
        }
        let peers = |many| if many { Peers::Many } else { Peers::One };
        let ends = [OnClose::Undetected, OnClose::Told, OnClose::Late];
        let payload =
            one("payload", self.payload, &[Payload::Message { max: None }, Payload::Stream])?;
        let [sends, receives] = self.lends();
        let copies = match (sends == Lends::Shared, receives == Lends::Shared) {
            (true, true) => 0,
            (false, false) => self.copies.clamp(1, 255) as u8,
            _ => 1,
        };
        let needs: &[&str] = match self.needs.as_deref().filter(|needs| !needs.is_empty()) {
            Some(needs) => &*vec![kept(needs)].leak(),
            None => &[],
        };
        let pressure = [
            BackPressure::Blocks,
            BackPressure::Drops,
            BackPressure::Overwrites,
            BackPressure::None,
        ];
        let spec = Spec {
            name: kept(name),
            variant: variant.map(kept),
            family: Family::Library,
            wait: one(
                "wait",
                self.wait,
                &[Wait::Block, Wait::Epoll, Wait::Spin, Wait::SpinThenBlock],
            )?,
            default: variant.is_none(),
            summary: kept(&self.summary),
            payload,
            direction: if self.is_two_way { Direction::TwoWay } else { Direction::OneWay },
            reach: one(
                "reach",
                self.reach,
                &[Reach::Related, Reach::SameUser, Reach::Named, Reach::Network],
            )?,
            // What it shares is not declared: it is measured where both ends share all.
            shares: Namespaces::all(),
            producers: peers(self.many_producers),
            consumers: peers(self.many_consumers),
            back_pressure: one("back_pressure", self.back_pressure, &pressure)?,
            on_close: one("on_close", self.on_close, &ends)?,
            on_death: one("on_death", self.on_death, &ends)?,
            on_restart: OnRestart::HandedOver,
            memory: if self.fresh { Memory::Fresh } else { Memory::Reused },
            copies,
            syscalls: Syscalls { send: None, recv: None },
            needs,
            over: self.over.as_deref().map(kept),
            exchange: if self.calls { Transfers::Calls } else { Transfers::Messages },
            threads: self.threads,
            ..Spec::NOTHING
        };
        Ok(Box::leak(Box::new(spec)))
    }

    /// Whether it can travel with a task.
    pub(crate) fn fits(&self) -> Result<(), String> {
        let mut texts = vec![("name", &*self.name), ("summary", &self.summary)];
        texts.extend(self.needs.as_deref().map(|text| ("needs", text)));
        texts.extend(self.over.as_deref().map(|text| ("over", text)));
        if let Some(DeclaredHelper { command, ready }) = &self.helper {
            texts.extend([("helper", &**command), ("helper_ready", ready)]);
        }
        for DeclaredKnob { name, help, fallback, words, .. } in &self.knobs {
            let own = ["name", "help", "fallback", "words"].into_iter();
            texts.extend(own.zip([&**name, help, fallback, words]));
        }
        match texts.into_iter().find(|(_, text)| text.len() > MOST_TEXT) {
            Some((member, text)) => Err(format!(
                "its facts have a '{member}' of {} bytes; {MOST_TEXT} are the most",
                text.len()
            )),
            None => Ok(()),
        }
    }

    /// In what memory an end writes messages, and looks at them.
    pub(crate) fn lends(&self) -> [Lends; 2] {
        [self.reserves, self.peeks].map(|has| match (has, self.private) {
            (false, _) => Lends::Buffer,
            (true, true) => Lends::Place,
            (true, false) => Lends::Shared,
        })
    }

    /// Its knobs.
    pub(crate) fn knobs(&self) -> Result<&'static [Knob], Missing> {
        let mut knobs: Vec<Knob> = Vec::new();
        for DeclaredKnob { name, help, fallback, kind, min, max, words } in &self.knobs {
            let wrong = |what: &str| {
                let what = format!("its knob '{}' {what}", clean(name, true));
                Err(Missing::new(what, "correct its facts"))
            };
            if !Spec::is_name(&name.replace('_', "-")) {
                return wrong("has a name of other bytes than a-z, 0-9, '-' and '_'");
            }
            if knobs.iter().any(|known| known.name == name) {
                return wrong("is there twice");
            }
            let (min, max) = (*min, *max);
            if *kind < 2 && min > max {
                return wrong("has a minimum above its maximum");
            }
            let list: Vec<&'static str> = words.split_ascii_whitespace().map(kept).collect();
            let kind = match kind {
                0 => KnobKind::Count { min, max },
                1 => KnobKind::Bytes { min, max },
                2 => KnobKind::Flag,
                3 if list.is_empty() => return wrong("is a choice without words"),
                3 => KnobKind::Choice { words: list.leak() },
                _ => return wrong("is of a kind that the header does not have"),
            };
            let (name, help, default) = (kept(name), kept(help), kept(fallback));
            knobs.push(Knob { name, help, kind, default });
        }
        Ok(knobs.leak())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Declared {
        Declared { name: "mine".into(), ..Declared::default() }
    }

    #[test]
    fn what_is_not_said_is_the_least() {
        let spec = declared().spec().expect("a name is enough");
        assert_eq!(spec.full_name(), "mine");
        assert_eq!((spec.copies, spec.wait), (1, Wait::Block));
        assert_eq!((spec.on_close, spec.on_death), (OnClose::Undetected, OnClose::Undetected));
        assert_eq!(spec.back_pressure, BackPressure::Blocks);
    }

    #[test]
    fn facts_that_cannot_be_are_refused_by_name() {
        for (declared, part) in [
            (Declared { name: "Mine".into(), ..declared() }, "name it 'Mine'"),
            (Declared { name: "mine/".into(), ..declared() }, "name it 'mine/'"),
            (Declared { wait: 4, ..declared() }, "wait = 4; the header has 0 to 3"),
            (Declared { on_close: 9, ..declared() }, "on_close = 9"),
            (Declared { payload: 2, ..declared() }, "payload = 2"),
        ] {
            let error = declared.spec().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        let knob = |name: &str, kind, min, words: &str| DeclaredKnob {
            name: name.into(),
            kind,
            min,
            words: words.into(),
            ..DeclaredKnob::default()
        };
        for (knobs, part) in [
            (vec![knob("A", 0, 0, "")], "other bytes"),
            (vec![knob("a", 0, 1, "")], "minimum above"),
            (vec![knob("a", 3, 0, " ")], "without words"),
            (vec![knob("a", 9, 0, "")], "does not have"),
            (vec![knob("a", 2, 0, ""), knob("a", 2, 0, "")], "twice"),
        ] {
            let error = Declared { knobs, ..declared() }.knobs().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn texts_have_a_limit_and_nothing_that_a_terminal_obeys() {
        let long = "x".repeat(MOST_TEXT + 1);
        let knob = DeclaredKnob { help: long.clone(), ..DeclaredKnob::default() };
        for (declared, member) in [
            (Declared { summary: long.clone(), ..declared() }, "'summary' of 1025 bytes"),
            (Declared { needs: Some(long), ..declared() }, "'needs' of 1025 bytes"),
            (Declared { knobs: vec![knob], ..declared() }, "'help' of 1025 bytes"),
        ] {
            let error = declared.fits().expect_err(member);
            assert!(error.contains(member), "{error}");
        }
        let hides = Declared { name: "a\u{202e}b\u{1b}c".into(), ..declared() };
        let error = hides.spec().expect_err("no name").to_string();
        assert!(error.contains("'a?b?c'"), "{error}");
    }

    #[test]
    fn memory_that_both_ends_map_needs_no_copy_and_memory_of_its_own_at_least_one() {
        let both = Declared { reserves: true, peeks: true, ..declared() };
        assert_eq!(both.spec().expect("facts").copies, 0);
        let one = Declared { peeks: false, ..both.clone() };
        assert_eq!(one.spec().expect("facts").copies, 1);
        let own = Declared { private: true, ..both };
        assert_eq!((own.spec().expect("facts").copies, own.lends()), (1, [Lends::Place; 2]));
    }
}
