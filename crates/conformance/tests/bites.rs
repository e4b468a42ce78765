//! The suite bites: every mechanism that is broken on purpose is caught by the case whose matter it is, for the right
//! reason, and a sound one passes everything.

mod broken;

use broken as bug;
use broken::{Broken, Toy};
use ipcperf_conformance::{Outcome, Suite};
use ipcperf_engine::registry::Registry;
use ipcperf_sys::skipped;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

fn toys(list: &mut Registry) {
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
    list.visit::<Toy<bug::TakesItsMessagesAlong>>();
    list.visit::<Toy<bug::CallsTwice>>();
    list.visit::<Toy<bug::TouchesFreshMemory>>();
    list.visit::<Toy<bug::HidesAKnob>>();
    list.visit::<Toy<bug::GivesUpOnASlowPeer>>();
    list.visit::<Toy<bug::DiesWithItsPeer>>();
    list.visit::<Toy<bug::SharesItsNames>>();
    list.visit::<Toy<bug::KeepsWhatWasUnread>>();
    list.visit::<Toy<bug::FailsWhenInterrupted>>();
    list.visit::<Toy<bug::MissesAWakeUp>>();
    list.visit::<Toy<bug::PanicsOnErrors>>();
    list.visit::<Toy<bug::HidesACopy>>();
    list.visit::<Toy<bug::MistakesItsMemory>>();
    list.visit::<Toy<bug::ClaimsDescriptors>>();
    list.visit::<Toy<bug::HidesItsEnd>>();
    list.visit::<Toy<bug::ProbesNothing>>();
    list.visit::<Toy<bug::IgnoresShortWrites>>();
    list.visit::<Toy<bug::ClaimsNamespaces>>();
}

fn main() -> ExitCode {
    let suite = Arc::new(Suite::of(toys));
    // Some bugs show as a hang, which should not take long here.
    let brief = Arc::new(Suite::of(toys).with_deadline(Duration::from_secs(10)));
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
            "timed out waiting for the receiver to notice",
        ),
        caught::<bug::HoldsThePeersEnd>("C09_peer_death_while_receiving", "to notice the death"),
        caught::<bug::HoldsThePeersEnd>("C15_hygiene", "hold the same end: socket:"),
        caught::<bug::LeaksADescriptor>("C13_descriptor_and_mapping_leaks", "descriptors open: "),
        caught::<bug::LeaksAName>("C14_name_leaks", "after success there is still"),
        caught::<bug::TakesTooMuch>("C10_oversized", "in place of TooLong"),
        caught::<bug::LiesAboutDropping>("C07_back_pressure", "back_pressure: drops"),
        caught::<bug::TakesItsMessagesAlong>("C07_back_pressure", "step 2"),
        caught::<bug::CallsTwice>(
            "C21_declared_system_calls",
            "syscalls.send: 1, but the Lead made 2 per message",
        ),
        caught::<bug::TouchesFreshMemory>("C18_no_allocation", "round trips touched "),
        caught::<bug::HidesAKnob>("C23_options", "hides-a-knob.depth in force is not reported"),
        caught::<bug::GivesUpOnASlowPeer>("C12_stopped_peer", "a message was lost"),
        caught::<bug::DiesWithItsPeer>("C12_no_death_by_a_dead_peer", "killed by signal 6"),
        caught::<bug::SharesItsNames>("C16_isolation", "Follow: step 2, after 0 messages"),
        caught::<bug::KeepsWhatWasUnread>(
            "C17_reuse",
            "Follow: step 1, after 0 messages: a message arrived shortened",
        ),
        caught::<bug::MissesAWakeUp>("C18_no_allocation", "timed out waiting"),
        caught::<bug::PanicsOnErrors>("C19_no_panic_on_errors", "exit code 101"),
        caught::<bug::HidesACopy>(
            "C20_declared_copies",
            "copies: 0, but the Lead wrote into private and read from private memory",
        ),
        caught::<bug::MistakesItsMemory>(
            "C20_declared_memory",
            "lends: Buffer, but what the Lead sends is in Place",
        ),
        caught::<bug::ClaimsDescriptors>("C20_declared_descriptors", "none came through"),
        caught::<bug::HidesItsEnd>(
            "C20_declared_silence",
            "on_close: undetected, but the survivor met Some(Closed)",
        ),
        caught::<bug::ProbesNothing>(
            "C22_unavailable_is_polite",
            "socketpair refused (NotPermitted): the probe says yes",
        ),
        caught::<bug::IgnoresShortWrites>("C06_short_transfers", "timed out waiting"),
        caught::<bug::FailsWhenInterrupted>("C11_interrupted_calls", "Interrupted system call"),
        caught::<bug::SharesItsNames>(
            "C24_declared_namespaces",
            "shares: none, but with the follow in another mnt namespace",
        ),
        caught::<bug::ClaimsNamespaces>(
            "C24_declared_namespaces",
            "shares: ipc, but they met with the follow in another ipc namespace",
        ),
    ];
    let mut trials: Vec<Trial> = caught
        .into_iter()
        .map(|(mechanism, case, reason)| {
            let id = &case[..3];
            let hangs = reason.contains("timed out waiting") || reason.contains("to notice the");
            let suite = Arc::clone(if hangs { &brief } else { &suite });
            Trial::test(format!("bites::{mechanism}_is_caught_by_{id}"), move || {
                match suite.outcome(mechanism, case) {
                    Outcome::Failed(text) if text.contains(reason) => Ok(()),
                    // Not everybody may enter namespaces.
                    Outcome::Unavailable(why) if case.starts_with("C24") => {
                        skipped::skipped("namespaces", why);
                        Ok(())
                    }
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
                Outcome::Unavailable(_) if case.starts_with("C24") => Ok(()),
                other => Err(Failed::from(format!("{other:?}"))),
            }
        }));
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(arguments.test_threads.map_or(4, |threads| threads.min(4)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A broken mechanism, the case that is to catch it, and part of what the case is to say.
fn caught<B: Broken>(case: &'static str, reason: &'static str) -> Caught {
    (B::NAME, case, reason)
}

type Caught = (&'static str, &'static str, &'static str);
