//! What a user of `list` sees.

use super::*;
use crate::testing::{sample, to_text};
use serde_json::Value;

fn written(format: Format, style: &Style) -> String {
    to_text(|out| list(&sample::list(), &Origin::default(), format, style, out))
}

#[test]
fn at_80_columns_by_family() {
    insta::assert_snapshot!(written(Format::Table, &Style::default()), @r"
    11 of 12 can run here.
      mechanism       here  waits            carries   largest  meets    when full
    floor
      null            yes   block            wake-ups      0 B  by fd    -
    stream
      pipe            yes   block            bytes           -  by fd    blocks
      pipe/spin       yes   spin             bytes           -  by fd    blocks
      pipe/epoll      yes   epoll            bytes           -  by fd    blocks
      fifo            yes   block            bytes           -  by name  blocks
      unix-stream     yes   block            bytes           -  by fd    blocks
      tcp             yes   block            bytes           -  by port  blocks
    queue
      posix-mq        NO    block            messages    8 KiB  by name  blocks
    wake-up
      eventfd         yes   block            wake-ups      8 B  by fd    merges
      futex           yes   block            wake-ups      4 B  by fd    blocks
    shared-memory
      shm-ring/spin   yes   spin             messages        -  by fd    blocks
      shm-ring/futex  yes   spin-then-block  messages        -  by fd    blocks
    hidden at 80 columns: peers, calls, copies, death
    meets: how two processes get connected (a descriptor is passed, a process of the
    same user is known by its number, a name is opened, a port is connected to).
    - posix-mq: no POSIX message queues in this kernel; boot a kernel with
      CONFIG_POSIX_MQUEUE
    ");
}

#[test]
fn at_40_columns_it_still_says_what_runs_here() {
    let style = Style { width: 40, ..Style::default() };
    insta::assert_snapshot!(written(Format::Table, &style), @r"
    11 of 12 can run here.
      mechanism       here  waits
    floor
      null            yes   block
    stream
      pipe            yes   block
      pipe/spin       yes   spin
      pipe/epoll      yes   epoll
      fifo            yes   block
      unix-stream     yes   block
      tcp             yes   block
    queue
      posix-mq        NO    block
    wake-up
      eventfd         yes   block
      futex           yes   block
    shared-memory
      shm-ring/spin   yes   spin
      shm-ring/futex  yes   spin-then-block
    hidden at 40 columns: carries, largest,
    meets, when full, peers, calls, copies,
    death
    - posix-mq: no POSIX message queues in
      this kernel; boot a kernel with
      CONFIG_POSIX_MQUEUE
    ");
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let document: Value = serde_json::from_str(&written(Format::Json, &Style::default())).unwrap();
    assert_eq!(document["schema"], MECHANISMS_SCHEMA);
    let entries = document["mechanisms"].as_array().unwrap();
    assert_eq!(entries.len(), sample::list().len());
    for entry in entries {
        for key in ["name", "family", "default", "available", "missing", "how", "spec"] {
            assert!(entry.get(key).is_some(), "{key} in {entry}");
        }
    }
    let absent = entries.iter().find(|entry| entry["available"] == false).unwrap();
    assert_eq!(absent["name"], "posix-mq");
    assert_eq!(absent["missing"], "no POSIX message queues in this kernel");
}

#[test]
fn every_format_names_every_mechanism() {
    for format in Format::ALL {
        let text = written(*format, &Style { width: 200, ..Style::default() });
        for row in sample::list() {
            assert!(text.contains(&row.spec.full_name()), "{format}: {}", row.spec.full_name());
        }
    }
}
