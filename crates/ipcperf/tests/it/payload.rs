//! `--payload`: messages that are cut from a file.

use crate::common::{Ended, Sandbox, cells};
use serde_json::Value;
use std::fs;
use std::process::Command;

const SHORT: [&str; 6] = ["--rounds", "1", "--slice", "5ms", "--warmup", "1ms"];

/// Text and noise, 40,000 bytes each, in the sandbox's home.
fn contents(sandbox: &Sandbox) {
    let text: String = (0..).map(|line| format!("line {line}: nothing new\n")).take(2500).collect();
    fs::write(sandbox.home().join("log.txt"), &text[..40_000]).expect("our own folder");
    // xorshift64 (Marsaglia, 2003): nothing that a compressor finds anything in.
    let mut state = 88_172_645_463_325_252_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let noise: Vec<u8> = noise.take(5000).flatten().collect();
    fs::write(sandbox.home().join("noise.bin"), noise).expect("our own folder");
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Ended {
    sandbox.run(&[&["run"], words].concat())
}

fn document(sandbox: &Sandbox, words: &[&str], name: &str) -> Value {
    sandbox.done(&[&["run"], words, &["-o", name]].concat());
    sandbox.result(name)
}

#[test]
fn messages_of_a_file_move_in_every_pattern_over_every_kind_of_channel_with_proof() {
    let sandbox = Sandbox::new();
    contents(&sandbox);
    let words =
        ["-m", "pipe,udp,shm-ring/futex,memfd,eventfd", "--place", "free", "-s", "1,5,100,8K"];
    let load = ["-p", "ping-pong,stream,burst,request,rate", "--rate", "500", "--burst", "2"];
    let payload = ["--payload", "log.txt", "--touch", "full"];
    let all = [&words[..], &load, &payload, &SHORT].concat();
    let document = document(&sandbox, &all, "r.json");
    for cell in cells(&document) {
        if cell["mechanism"] == "eventfd" {
            assert_eq!(cell["reason"], "carries no content; no payload", "{cell}");
            continue;
        }
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        let payload = &cell["load"]["payload"];
        assert_eq!(payload["bytes"], 40_000);
        let digest = payload["sha256"].as_str().expect("a digest");
        let word =
            format!("payload={}#{}", payload["file"].as_str().expect("a name"), &digest[..12]);
        assert!(cell["id"].as_str().is_some_and(|id| id.contains(&word)), "{cell}");
    }
    assert_eq!(cells(&document).len(), (4 * 4 + 1) * 5);
}

#[test]
fn what_a_compressor_makes_of_messages_depends_on_what_is_in_them() {
    let sandbox = Sandbox::new();
    contents(&sandbox);
    let words = ["-m", "pipe", "-s", "4K", "--place", "free", "--transform", "gzip,lz4,zstd"];
    let payload = ["--payload", "log.txt,noise.bin"];
    let all = [&words[..], &payload, &SHORT].concat();
    let ended = run(&sandbox, &[&all[..], &["--dry-run"]].concat());
    let told = "Messages are cut in turn from log.txt, 40000 B (SHA-256 ";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    let ended = sandbox.done(&[&["run", "-v"], &all[..], &["-o", "r.json"]].concat());
    assert!(ended.stdout.contains(told) && ended.stdout.contains("from noise.bin, 40000 B"));
    assert!(!ended.stdout.contains("are random"), "{}", ended.stdout);
    let document = sandbox.result("r.json");
    assert_eq!(cells(&document).len(), 6);
    for cell in cells(&document) {
        let ratio = cell["transform"]["ratio"].as_f64().expect("a ratio");
        let is_text = cell["load"]["payload"]["file"] == "log.txt";
        assert_eq!(ratio > 2.0, is_text, "{cell}");
        assert!(is_text || ratio < 1.0, "{cell}");
    }
}

#[test]
fn a_result_is_repeated_with_the_same_content_or_not_at_all() {
    let sandbox = Sandbox::new();
    contents(&sandbox);
    let file = sandbox.home().join("log.txt");
    let whole = file.to_string_lossy().into_owned();
    let words = ["-m", "pipe", "--place", "free", "--touch", "full", "--payload", &whole];
    let first = document(&sandbox, &[&words[..], &SHORT].concat(), "a.json");
    let noted = &first["cells"][0]["load"]["payload"]["file"];
    assert_eq!(noted, "~/log.txt", "a result may be shared");
    // The path lies outside the current directory, as far as its text goes.
    sandbox.done(&["repeat", "a.json", "--payload", &whole, "-o", "b.json"]);
    let again = sandbox.result("b.json");
    assert_eq!(again["cells"][0]["id"], first["cells"][0]["id"]);
    assert_eq!(again["cells"][0]["load"], first["cells"][0]["load"]);

    let mut text = fs::read(&file).expect("ours");
    text[7] ^= 1;
    fs::write(&file, &text).expect("ours");
    let other = document(&sandbox, &[&words[..], &SHORT].concat(), "c.json");
    assert_ne!(other["cells"][0]["id"], first["cells"][0]["id"]);
    let compared = sandbox.run(&["compare", "a.json", "c.json", "-v"]);
    let told = compared.stdout + &compared.stderr;
    assert!(!told.contains("NO DIFFERENCE") && !told.contains("CAN'T TELL"), "{told}");
    assert!(told.contains("payload=log.txt#"), "the cells that are in one only: {told}");

    let refused = |part: &str| {
        let ended = sandbox.run(&["repeat", "a.json", "--payload", &whole, "-o", "d.json"]);
        assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("log.txt") && ended.stderr.contains(part),
            "{}",
            ended.stderr
        );
    };
    refused("the content differs");
    fs::remove_file(&file).expect("ours");
    refused("No such file or directory");
}

#[test]
fn what_cannot_be_a_payload_is_one_line_and_nothing_is_waited_for() {
    let sandbox = Sandbox::new();
    contents(&sandbox);
    fs::write(sandbox.home().join("empty"), "").expect("our own folder");
    let fifo = sandbox.home().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let huge = fs::File::create(sandbox.home().join("huge")).expect("our own folder");
    huge.set_len(1 << 40).expect("a sparse file");
    for (words, part) in [
        (["--payload", "empty"], "--payload 'empty': it is empty"),
        (["--payload", "none"], "--payload 'none': No such file or directory"),
        (["--payload", "."], "--payload '.': it is a directory"),
        (["--payload", "fifo"], "--payload 'fifo': it is a FIFO"),
        (["--payload", "/dev/zero"], "--payload '/dev/zero': it is not a regular file"),
        (["--payload", "log.txt,"], "'' is not a file name"),
    ] {
        let words = [&["run", "-m", "pipe", "--touch", "full"], &words[..]].concat();
        sandbox.refuses(&words, part);
    }
    for (words, part) in [
        (&["-m", "pipe", "--payload", "log.txt"][..], "no effect with --touch cacheline"),
        (&["-m", "pipe", "--payload", "log.txt", "--touch", "none"], "no effect with --touch none"),
        (
            &["-m", "pipe", "--payload", "log.txt", "--touch", "full", "-p", "fan-in"],
            "--payload needs the pattern",
        ),
    ] {
        sandbox.refuses(&[&["run"], words].concat(), part);
    }
    let words = ["run", "-m", "pipe", "--touch", "full", "--payload", "huge", "--dry-run"];
    let told = sandbox.done(&words);
    assert!(told.stdout.contains("the first 4 MiB of huge, 1024 GiB"), "{}", told.stdout);
}
