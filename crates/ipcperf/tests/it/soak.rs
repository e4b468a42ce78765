//! Millions of messages between two processes through the ring, every byte written by one and compared by the other.

use crate::common::{Sandbox, cells, valid};
use ipcperf_report::RESULT_SCHEMA;

#[test]
fn the_ring_carries_millions_of_messages_between_processes_without_a_wrong_byte() {
    let sandbox = Sandbox::new();
    let words = [
        "run",
        "-m",
        "shm-ring/spin,shm-ring/futex,shm-ring/adaptive",
        "-p",
        "stream",
        "-s",
        "8,200,4K",
    ];
    let more = ["--touch", "full", "--rounds", "1", "--slice", "1s", "-o", "soak.json"];
    let ended = sandbox.run(&[&words[..], &more].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("shm-ring/"), "{}", ended.stdout);
    let document = valid(RESULT_SCHEMA, &sandbox.read("soak.json").expect("it was written"));
    let mut messages = 0;
    for cell in cells(&document).iter().filter(|cell| cell["status"] != "unavailable") {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert_eq!(cell["lost"].as_u64().expect("a count"), 0, "a ring loses nothing");
        messages += cell["messages"].as_u64().expect("a count");
    }
    assert!(messages > 1_000_000, "{messages} messages are no soak");
}
