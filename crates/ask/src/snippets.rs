//! Programs for a mechanism: complete, in one file, to be printed, compiled and built upon.
//!
//! Each sends a message of as many bytes as its argument says to another process and back, checks the reply and leaves
//! nothing behind; a wake-up takes no argument. They are files of their own in `snippets`, so that compilers, formatters
//! and readers get at them. A variant has one only where its program is another: who wants to spin on a pipe reads that
//! of the pipe.

use ipcperf_core::Spec;
use ipcperf_kit::document::Specs;

/// A language that programs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C11 and what Linux and the C library have.
    C,
    /// Rust with its standard library alone.
    Rust,
    /// Python 3.10 or newer with its standard library alone.
    Python,
    /// Go with its standard library alone.
    Go,
    /// Node.js 18 or newer with its own modules alone.
    Node,
    /// Java 17 or newer with its standard library alone.
    Java,
}

ipcperf_core::words! {
    "language" Language {
        C = "c",
        Rust = "rust",
        Python = "python",
        Go = "go",
        Node = "node",
        Java = "java",
    }
}

impl Language {
    /// The language in a sentence.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::Node => "Node.js",
            Self::Java => "Java",
        }
    }
}

/// Full names of mechanisms with their programs.
type Programs = &'static [(&'static str, &'static str)];

const C: Programs = &[
    ("pipe", include_str!("../snippets/c/pipe.c")),
    ("fifo", include_str!("../snippets/c/fifo.c")),
    ("unix-stream", include_str!("../snippets/c/unix-stream.c")),
    ("tcp", include_str!("../snippets/c/tcp.c")),
    ("unix-dgram", include_str!("../snippets/c/unix-dgram.c")),
    ("unix-seqpacket", include_str!("../snippets/c/unix-seqpacket.c")),
    ("udp", include_str!("../snippets/c/udp.c")),
    ("posix-mq", include_str!("../snippets/c/posix-mq.c")),
    ("eventfd", include_str!("../snippets/c/eventfd.c")),
    ("futex", include_str!("../snippets/c/futex.c")),
    ("shm-ring/adaptive", include_str!("../snippets/c/shm-ring-adaptive.c")),
    ("shm-ring/futex", include_str!("../snippets/c/shm-ring-futex.c")),
    ("shm-mailbox/futex", include_str!("../snippets/c/shm-mailbox-futex.c")),
    ("shm-mailbox/spin", include_str!("../snippets/c/shm-mailbox-spin.c")),
    ("shm-sem", include_str!("../snippets/c/shm-sem.c")),
    ("memfd", include_str!("../snippets/c/memfd.c")),
    ("splice", include_str!("../snippets/c/splice.c")),
    ("sendfile", include_str!("../snippets/c/sendfile.c")),
];

const RUST: Programs = &[
    ("pipe", include_str!("../snippets/rust/pipe.rs")),
    ("fifo", include_str!("../snippets/rust/fifo.rs")),
    ("unix-stream", include_str!("../snippets/rust/unix-stream.rs")),
    ("tcp", include_str!("../snippets/rust/tcp.rs")),
    ("unix-dgram", include_str!("../snippets/rust/unix-dgram.rs")),
    ("udp", include_str!("../snippets/rust/udp.rs")),
];

const PYTHON: Programs = &[
    ("pipe", include_str!("../snippets/python/pipe.py")),
    ("unix-stream", include_str!("../snippets/python/unix-stream.py")),
    ("tcp", include_str!("../snippets/python/tcp.py")),
    ("unix-dgram", include_str!("../snippets/python/unix-dgram.py")),
    ("unix-seqpacket", include_str!("../snippets/python/unix-seqpacket.py")),
    ("eventfd", include_str!("../snippets/python/eventfd.py")),
    ("shm-sem", include_str!("../snippets/python/shm-sem.py")),
];

const GO: Programs = &[
    ("pipe", include_str!("../snippets/go/pipe.go")),
    ("unix-stream", include_str!("../snippets/go/unix-stream.go")),
    ("tcp", include_str!("../snippets/go/tcp.go")),
];

// What it calls a pipe to a child is a pair of sockets.
const NODE: Programs = &[
    ("unix-stream", include_str!("../snippets/node/unix-stream.mjs")),
    ("tcp", include_str!("../snippets/node/tcp.mjs")),
];

const JAVA: Programs = &[
    ("pipe", include_str!("../snippets/java/pipe.java")),
    ("unix-stream", include_str!("../snippets/java/unix-stream.java")),
    ("tcp", include_str!("../snippets/java/tcp.java")),
];

const fn programs(language: Language) -> Programs {
    match language {
        Language::C => C,
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Go => GO,
        Language::Node => NODE,
        Language::Java => JAVA,
    }
}

/// The mechanisms that have a program in a language, by their full names, in the order of `ipcperf list`.
pub fn mechanisms(language: Language) -> impl Iterator<Item = &'static str> {
    programs(language).iter().map(|(name, _)| *name)
}

/// The program for a mechanism of this full name (`pipe`, `shm-ring/futex`), if there is one in this language.
#[must_use]
pub fn program(mechanism: &str, language: Language) -> Option<&'static str> {
    programs(language).iter().find(|(name, _)| *name == mechanism).map(|(_, text)| *text)
}

/// What to read for a mechanism without a program of its own: those of its variants; without any, those of its family;
/// without these, too, all that the language has.
#[must_use]
pub fn nearest(mechanism: &Spec, language: Language, specs: &Specs<'_>) -> Vec<&'static str> {
    let those = |is_near: &dyn Fn(&Spec) -> bool| -> Vec<&'static str> {
        mechanisms(language).filter(|name| specs(name).is_some_and(is_near)).collect()
    };
    let near = [
        those(&|other| other.name == mechanism.name),
        those(&|other| other.family == mechanism.family),
    ];
    near.into_iter()
        .find(|names| !names.is_empty())
        .unwrap_or_else(|| mechanisms(language).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::Family;

    fn all() -> impl Iterator<Item = (Language, &'static str, &'static str)> {
        Language::ALL.iter().flat_map(|language| {
            programs(*language).iter().map(|(name, text)| (*language, *name, *text))
        })
    }

    #[test]
    fn there_are_as_many_as_are_promised_and_they_are_found_by_their_names() {
        let least = [10, 6, 6, 3, 2, 3];
        for (language, least) in Language::ALL.iter().copied().zip(least) {
            assert!(mechanisms(language).count() >= least, "{language}");
        }
        for (language, name, text) in all() {
            assert_eq!(program(name, language), Some(text));
            assert_eq!(language.name().parse(), Ok(language));
        }
        assert_eq!(program("pipe/spin", Language::C), None);
        assert!("cobol".parse::<Language>().is_err());
    }

    #[test]
    fn each_begins_with_its_name_and_licence_and_fits_a_terminal() {
        for (language, name, text) in all() {
            let comment = ["//!", "//", "#"].into_iter().find_map(|mark| text.strip_prefix(mark));
            assert!(comment.is_some_and(|text| text.starts_with(&format!(" {name}: "))), "{text}");
            let licence = "SPDX-License-Identifier: MIT OR Apache-2.0";
            assert!(text.lines().take(4).any(|line| line.ends_with(licence)), "{language} {name}");
            for line in text.lines() {
                // Go is indented by tabs.
                let text =
                    line.trim_start_matches(if language == Language::Go { '\t' } else { ' ' });
                let plain = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
                assert!(line.len() <= 80 && plain, "{language} {name}: {line}");
            }
        }
    }

    /// All of it is in the binary.
    #[test]
    fn together_they_are_at_most_ninety_kilobytes() {
        let bytes: usize = all().map(|(_, _, text)| text.len()).sum();
        assert!(bytes <= 90_000, "{bytes} bytes");
    }

    #[test]
    fn the_nearest_are_variants_then_the_family_then_whatever_there_is() {
        let known = crate::testing::sample::spec;
        let pipe = known("pipe").unwrap();
        let spinning = Spec { variant: Some("spin"), ..*pipe };
        assert_eq!(nearest(&spinning, Language::C, &known), ["pipe"]);
        let other = Spec { name: "vsock", ..*pipe };
        let near = nearest(&other, Language::C, &known);
        assert!(near.contains(&"tcp") && !near.contains(&"eventfd"), "{near:?}");
        let alone = Spec { name: "dbus", family: Family::Bus, ..*pipe };
        assert_eq!(nearest(&alone, Language::Rust, &known).len(), RUST.len());
    }
}
