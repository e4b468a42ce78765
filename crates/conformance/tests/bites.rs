//! The suite bites: every mechanism that is broken on purpose is caught by the case whose matter it is, for the right
//! reason, and a sound one passes everything.

mod broken;

use broken as bug;
use broken::{Broken, Toy};
use ipcperf_conformance::{Entries, Outcome, Suite};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

fn toys(list: &mut Entries) {
    list.visit::<Toy<bug::Sound>>();
    list.visit::<Toy<bug::LosesAMessage>>();
    list.visit::<Toy<bug::SwapsTwoMessages>>();
    list.visit::<Toy<bug::DoublesAMessage>>();
    list.visit::<Toy<bug::ReadsItsOwn>>();
    list.visit::<Toy<bug::CutsLongMessages>>();
    list.visit::<Toy<bug::MergesMessages>>();
    list.visit::<Toy<bug::NeverTellsTheEnd>>();
    list.visit::<Toy<bug::HoldsThePeersEnd>>();
    list.visit::<Toy<bug::LeaksADescriptor>>();
    list.visit::<Toy<bug::LeaksAName>>();
    list.visit::<Toy<bug::TakesTooMuch>>();
    list.visit::<Toy<bug::LiesAboutDropping>>();
}

fn main() -> ExitCode {
    // Some bugs show as a hang, which should not take long here.
    let suite = Arc::new(Suite::of(toys).with_deadline(Duration::from_secs(10)));
    let quick = Arc::new(Suite::of(toys).with_deadline(Duration::from_secs(2)));
    let caught = [
        caught::<bug::LosesAMessage>(
            "C03_ordering",
            "message 1000 arrived in place of message 999",
        ),
        caught::<bug::LosesAMessage>(
            "C04_no_loss_no_duplicate_no_invention",
            "after 999 messages: a message arrived shortened",
        ),
        caught::<bug::SwapsTwoMessages>(
            "C03_ordering",
            "message 1000 arrived in place of message 999",
        ),
        caught::<bug::DoublesAMessage>(
            "C03_ordering",
            "message 999 arrived in place of message 1000",
        ),
        caught::<bug::ReadsItsOwn>("C01_open_attach_exchange_finish", "its own message 0"),
        caught::<bug::CutsLongMessages>("C02_sizes", "wrong from byte 2000 on"),
        caught::<bug::MergesMessages>("C05_boundaries", "two messages of 8 bytes"),
        caught::<bug::NeverTellsTheEnd>(
            "C08_end_of_stream",
            "waited in vain for the receiver to be told",
        ),
        caught::<bug::HoldsThePeersEnd>("C09_peer_death_while_receiving", "told of the death"),
        caught::<bug::HoldsThePeersEnd>("C15_hygiene", "hold the same end: socket:"),
        caught::<bug::LeaksADescriptor>(
            "C13_descriptor_and_mapping_leaks",
            "200 channels left 200 descriptors",
        ),
        caught::<bug::LeaksAName>("C14_name_leaks", "after success there is still"),
        caught::<bug::TakesTooMuch>("C10_oversized", "in place of TooLong"),
        caught::<bug::LiesAboutDropping>("C07_back_pressure", "back_pressure: drops"),
    ];
    let mut trials: Vec<Trial> = caught
        .into_iter()
        .map(|(mechanism, case, reason)| {
            let suite = Arc::clone(&quick);
            let id = &case[..3];
            Trial::test(format!("bites::{mechanism}_is_caught_by_{id}"), move || {
                match suite.outcome(mechanism, case) {
                    Outcome::Failed(text) if text.contains(reason) => Ok(()),
                    other => Err(Failed::from(format!("expected '{reason}', got {other:?}"))),
                }
            })
        })
        .collect();
    for case in Suite::cases() {
        let suite = Arc::clone(&suite);
        trials.push(Trial::test(format!("bites::sound_passes_{case}"), move || {
            match suite.outcome(bug::Sound::NAME, &case) {
                Outcome::Passed | Outcome::NotApplicable(_) => Ok(()),
                other => Err(Failed::from(format!("{other:?}"))),
            }
        }));
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(arguments.test_threads.map_or(2, |threads| threads.min(2)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A broken mechanism, the case that is to catch it, and part of what the case is to say.
fn caught<B: Broken>(case: &'static str, reason: &'static str) -> Caught {
    (B::NAME, case, reason)
}

type Caught = (&'static str, &'static str, &'static str);
