//! Which of several equally fast mechanisms to use: the one that can do most of what programs come to need, by one table,
//! which docs/METHOD.md shows; then the one that most programs are written with.

use crate::snippets::{self, Language};
use ipcperf_core::{Capability, Spec};
use ipcperf_kit::document::Specs;

/// What counts, the weightiest first. What was asked for decides nothing: all that are compared have it.
pub(crate) const FACTS: [Capability; 4] =
    [Capability::TwoWay, Capability::NoticesDeath, Capability::Listener, Capability::Reconnect];

/// The languages in which there should be an example to start from.
const EXAMPLES: [Language; 2] = [Language::C, Language::Python];

/// What most programs are written with, the most usual first. They have a row in the table wherever they were measured.
pub(crate) const FAMILIAR: &[&str] = &[
    "unix-stream",
    "pipe",
    "tcp",
    "unix-seqpacket",
    "unix-dgram",
    "udp",
    "fifo",
    "posix-mq",
    "shm-sem",
    "eventfd",
    "futex",
];

/// What a mechanism lacks: less is fitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fitness {
    facts: [bool; FACTS.len()],
    examples: bool,
    custom: usize,
}

/// How fit a mechanism is; the least of all is one that this build does not know.
///
/// The facts are those of a channel. Of wake-ups, which carry nothing from one end to the other, examples and custom
/// decide alone.
pub(crate) fn fitness(spec: Option<&Spec>) -> Fitness {
    let Some(spec) = spec else {
        return Fitness { facts: [true; FACTS.len()], examples: true, custom: usize::MAX };
    };
    let name = spec.full_name();
    let carries = spec.can(Capability::Payload);
    let has_none = |language: &Language| snippets::program(&name, *language).is_none();
    Fitness {
        facts: FACTS.map(|fact| carries && !spec.can(fact)),
        examples: EXAMPLES.iter().any(has_none),
        custom: FAMILIAR.iter().position(|known| *known == name).unwrap_or(FAMILIAR.len()),
    }
}

/// The places of mechanisms, by their full names, the fittest first.
#[must_use]
pub(crate) fn by_fitness(names: &[&str], specs: &Specs) -> Vec<usize> {
    let mut places: Vec<usize> = (0..names.len()).collect();
    places.sort_by_key(|at| fitness(specs(names[*at])));
    places
}

/// The places of the mechanisms that people choose between, by their full names, the most usual first, and of each family
/// the first before the second of another: what a first screen has room for.
#[must_use]
pub(crate) fn by_custom(names: &[&str], specs: &Specs) -> Vec<usize> {
    let custom = |at: usize| FAMILIAR.iter().position(|known| *known == names[at]);
    let mut rest: Vec<usize> = (0..names.len()).filter(|at| custom(*at).is_some()).collect();
    rest.sort_by_key(|at| custom(*at));
    // The three that everybody compares.
    let mut chosen: Vec<usize> = rest.drain(..rest.len().min(3)).collect();
    while !rest.is_empty() {
        let family = |at: usize| specs(names[at]).map(|spec| spec.family);
        let is_new = |at: &usize| chosen.iter().all(|other| family(*other) != family(*at));
        let next = rest.iter().position(is_new).unwrap_or_default();
        chosen.push(rest.remove(next));
    }
    chosen
}

/// What of all that a mechanism has: `two-way, notices-death, examples in C and Python`.
pub(crate) fn merits(spec: &Spec) -> String {
    let fitness = fitness(Some(spec));
    let facts = FACTS.iter().zip(fitness.facts).filter(|(_, lacks)| !lacks);
    let mut merits: Vec<String> = facts.map(|(fact, _)| fact.to_string()).collect();
    if !fitness.examples {
        let languages = EXAMPLES.map(|language| language.title().to_owned());
        merits.push(format!("examples in {}", ipcperf_render::text::join(&languages)));
    }
    merits.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;

    fn sorted(names: &[&'static str]) -> Vec<&'static str> {
        let mut sorted = names.to_vec();
        sorted.sort_by_key(|name| fitness(sample::spec(name)));
        sorted
    }

    #[test]
    fn facts_come_before_custom_and_custom_before_what_nobody_knows() {
        let all = ["nobody-knows", "posix-mq", "pipe/epoll", "fifo", "pipe", "tcp"];
        assert_eq!(sorted(&all), ["tcp", "fifo", "posix-mq", "pipe", "pipe/epoll", "nobody-knows"]);
        // The plain variant before others of its kind, since it has the examples.
        let tcp = sample::spec("tcp").unwrap();
        let epoll = Spec { variant: Some("epoll"), ..*tcp };
        assert!(fitness(Some(tcp)) < fitness(Some(&epoll)));
        // A fact outweighs all that come behind it.
        let undetected = Spec { name: "new", on_death: ipcperf_core::OnClose::Undetected, ..*tcp };
        let one_way = sample::spec("fifo").unwrap();
        assert!(fitness(Some(&undetected)) < fitness(Some(one_way)));
    }

    #[test]
    fn of_wake_ups_which_go_one_way_the_usual_one_is_the_fittest() {
        let eventfd = sample::spec("eventfd").unwrap();
        let both_ways =
            Spec { name: "sysv-sem", direction: ipcperf_core::Direction::TwoWay, ..*eventfd };
        assert!(fitness(Some(eventfd)) < fitness(Some(&both_ways)));
    }

    #[test]
    fn the_method_has_the_order() {
        let method = include_str!("../../../../docs/METHOD.md");
        let rows = FACTS.iter().map(|fact| format!("`{fact}`"));
        let rows = rows.chain(["an example in C and in Python".to_owned(), "custom".to_owned()]);
        let (_, mut rest) =
            method.split_once("The *fittest* of two mechanisms").expect("a paragraph");
        for row in rows {
            let (_, behind) = rest.split_once(&row).unwrap_or_else(|| panic!("{row}"));
            rest = behind;
        }
        let usual: Vec<String> = FAMILIAR.iter().map(|name| format!("`{name}`")).collect();
        let words = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&usual.join(", ")), "{usual:?}");
    }
}
