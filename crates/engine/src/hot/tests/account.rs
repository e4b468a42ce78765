//! Credits between two threads.

use super::*;

#[test]
fn a_producer_waits_for_credits_asleep_or_spinning_and_never_misses_one() {
    for spins in [false, true] {
        let words = <[AtomicU32; 3]>::default();
        let account = Account::new(&words, spins);
        let sent = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..500 {
                    account.admit(number, 4);
                    sent.store(number as u32 + 1, SeqCst);
                }
            });
            for number in 0..500 {
                while u64::from(sent.load(SeqCst)) <= number {
                    std::thread::yield_now();
                }
                assert!(u64::from(sent.load(SeqCst)) <= number + 4, "never more than the window");
                account.grant(number + 1);
            }
        });
    }
}

#[test]
fn a_consumer_that_gave_up_lets_its_producer_finish() {
    for (spins, given_up) in [(false, 20), (true, 20), (false, u64::from(u32::MAX) + 3)] {
        let words = <[AtomicU32; 3]>::default();
        let account = Account::new(&words, spins);
        account.grant(given_up);
        for number in given_up - 20..given_up + 4 {
            // Without the credit that it has it would sleep for ever.
            account.admit(number, 4);
        }
    }
}

#[test]
fn what_a_producer_said_is_never_below_what_has_come() {
    let words = <[AtomicU32; 3]>::default();
    let account = Account::new(&words, false);
    account.close((1 << 33) + 5);
    assert_eq!(account.sent(1 << 33), (1 << 33) + 5);
    assert_eq!(account.sent((1 << 33) + 9), (1 << 33) + 9);
}
