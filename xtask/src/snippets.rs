//! Every command and program of the documents, run as its reader would run it: blocks of `sh` by `bash -e`, as GitHub's
//! runners do; lines behind a prompt by a shell; blocks of `python` by Python. They run in one folder, in the order of the
//! documents, beside the files that they name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::build_product;

/// The arguments of `cargo xtask snippets`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program that the documents call ipcperf [default: a release build of this checkout]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Measure for as long as the documents say, rather than a few seconds each
    #[arg(long)]
    whole: bool,
}

/// What stands before ipcperf on the path, so that each command measures for seconds: it puts short times in the place of
/// those that are asked for.
const SHORT: &str = r#"#!/usr/bin/env bash
line=()
while [ $# -gt 0 ]; do
    case $1 in
        --budget | --time | --rounds | --slice | --warmup | --samples | --warmup-ops) shift 2 ;;
        *) line+=("$1"); shift ;;
    esac
done
case " ${line[*]} " in
    *" --from "* | " repeat "* | " replicate --across "* | *" --export "* | *" --export-script "* | *" explain W-"*) ;;
    "  " | " survey "* | " choose "* | " explain "* | " replicate "*) [ "${#line[@]}" -gt 0 ] || line=(survey); line+=(--budget 5s) ;;
    " exec "*) line+=(--rounds 2) ;;
    " crossover "*) line+=(--rounds 10 --slice 2ms --warmup 1ms) ;;
    " run "*) line+=(--rounds 6 --slice 4ms --warmup 1ms) ;;
    " compare "*.json*) ;;
    # Slices of 50 ms have the shortest pilot, and each of its rounds starts three programs.
    *" --live-binary "*) line+=(--rounds 8 --slice 50ms) ;;
    " compare "*) line+=(--rounds 8 --slice 4ms) ;;
esac
exec "$IPCPERF" "${line[@]}"
"#;

/// The files that the documents name, made before the first of them is read.
const BEFORE: &str = r#"set -e
run() { ipcperf run -m pipe,unix-stream --place same-cpu -q -o "$@" >/dev/null; }
ipcperf survey -q -o ipcperf-20261122T060000Z.json >/dev/null
run ipcperf-20260821T100000Z.json
mkdir results
for name in old new a b a1 a2 b1 b2 RUN OLD NEW; do run $name.json; done
for host in n1 n2; do run results/$host.json --label host=$host; done
for name in laptop server; do ipcperf replicate marhubi -q -o $name.json >/dev/null; done
ipcperf replicate --export marhubi -o mine.toml >/dev/null
mkdir -p ../after new; ln -s "$IPCPERF" ../after/ipcperf; ln -s "$IPCPERF" new/ipcperf
head -c 300000 /dev/urandom >photo.jpg
for i in $(seq 3000); do echo "$i GET /index.html 200 $((i * 37 % 9000))"; done >access.log
cp access.log app.log
cp examples/ends/* .
cc -O2 -o echo echo.c
"#;

/// One thing that a reader does.
struct Snippet {
    place: String,
    language: &'static str,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs all of them and says whether each did what the document promises.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let program = match &options.program {
        Some(path) => path.canonicalize().context("--program")?,
        None => build_product()?,
    };
    let root = root().canonicalize()?;
    let base = root.join("target/snippets");
    if base.exists() {
        fs::remove_dir_all(&base)?;
    }
    let (bin, home) = (base.join("bin"), base.join("reader"));
    for folder in [&bin, &home, &base.join("data")] {
        fs::create_dir_all(folder)?;
    }
    let front = bin.join("ipcperf");
    fs::write(&front, if options.whole { "#!/bin/sh\nexec \"$IPCPERF\" \"$@\"\n" } else { SHORT })?;
    fs::set_permissions(&front, fs::Permissions::from_mode(0o755))?;
    for name in ["jobs", "docs", "deploy", "examples"] {
        std::os::unix::fs::symlink(root.join(name), home.join(name))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let start = |language: &str, text: &str| -> Result<(i32, String)> {
        let file = base.join("snippet");
        fs::write(&file, text)?;
        let mut command = match language {
            "python" => Command::new("python3"),
            _ => Command::new("bash"),
        };
        if language != "python" {
            command.args(["-e", "-o", "pipefail"]);
        }
        let output = command
            .arg(&file)
            .current_dir(&home)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("IPCPERF", &program)
            .env("HOME", &home)
            .env("CHANGED", &program)
            .env("SUMMARY", base.join("summary"))
            .env("MPLBACKEND", "Agg")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {language}"))?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        write!(said, "{}", String::from_utf8_lossy(&output.stderr))?;
        Ok((output.status.code().unwrap_or(-1), said))
    };
    let (code, said) = start("sh", BEFORE)?;
    ensure!(code == 0, "the files that the documents name: exit {code}: {said}");
    let mut failed = 0;
    let mut all = snippets()?;
    ensure!(all.len() > 70, "only {} snippets were found", all.len());
    if !options.whole {
        let mut known = BTreeSet::new();
        all.retain(|one| known.insert(without_remark(&one.text)));
    }
    let mut times: Vec<(Duration, &Snippet)> = Vec::new();
    for one in &all {
        let begin = Instant::now();
        let (code, said) = start(one.language, &one.text)?;
        times.push((begin.elapsed(), one));
        if expected(&one.text, code, &said) {
            continue;
        }
        failed += 1;
        println!("{}: exit {code}\n{}\n{}", one.place, one.text.trim_end(), said.trim_end());
    }
    times.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    for (time, one) in times.iter().take(5) {
        println!("{:>6.1} s  {}  {}", time.as_secs_f64(), one.place, without_remark(&one.text));
    }
    println!("{} snippets of the documents, {failed} of them failed", all.len());
    Ok(failed == 0)
}

/// The text of a snippet without the remark that ends its only line: several documents show the same command.
fn without_remark(text: &str) -> String {
    let typed = match text.trim_end().contains('\n') {
        true => text,
        false => text.split("  #").next().unwrap_or(text),
    };
    typed.trim_end().to_owned()
}

/// Whether a snippet may end so: a gate may fail or not be able to tell, the self-test may not pass on a machine that is
/// busy, nothing may meet what is asked for, and a machine may be too noisy to compare anything, or to keep a single slice:
/// the CPUs of a virtual machine are moved on its host.
fn expected(text: &str, code: i32, said: &str) -> bool {
    let has = |word: &str| text.contains(word);
    let gate = has("--fail-if") || has("--fail-on") || has("--max-noise");
    code == 0
        || (gate && [6, 7, 8, 9].contains(&code))
        || (has("ipcperf selftest") && code == 5)
        || (has("ipcperf choose") && code == 3)
        || (has("ipcperf compare") && code == 9)
        || (code == 3 && said.contains("every slice was rejected"))
        // The script of a gate ends with 1 where the gate failed.
        || (has("exit 1") && code == 1)
}

/// What the documents show, in their order. A transcript of what must be refused is compared by a test; and the gate
/// itself does what calls cargo.
fn snippets() -> Result<Vec<Snippet>> {
    let root = root();
    let mut documents: Vec<PathBuf> =
        fs::read_dir(root.join("docs"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    documents.sort();
    documents.insert(0, root.join("README.md"));
    documents.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let mut all = Vec::new();
    for path in documents {
        all.extend(of_document(&path)?);
    }
    Ok(all)
}

fn of_document(path: &Path) -> Result<Vec<Snippet>> {
    let text = fs::read_to_string(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut all = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let place = |line: usize| format!("{name}:{}", at + 2 + line);
        match language {
            "sh" | "python" => all.push(Snippet {
                place: place(0),
                language: if language == "sh" { "sh" } else { "python" },
                text: block.join("\n") + "\n",
            }),
            "console,ignore" => {
                for (line, typed) in block.iter().enumerate() {
                    let Some(typed) = typed.strip_prefix("$ ") else { continue };
                    if !typed.starts_with("cargo ") {
                        all.push(Snippet {
                            place: place(line),
                            language: "sh",
                            text: format!("{typed}\n"),
                        });
                    }
                }
            }
            "" => bail!("{}: a block without a language", place(0)),
            _ => {}
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{expected, without_remark};

    #[test]
    fn a_command_is_the_same_whatever_is_remarked() {
        assert_eq!(without_remark("ipcperf  # in a minute\n"), without_remark("ipcperf\n"));
        assert_ne!(without_remark("a  # 1\nb\n"), without_remark("a\n"));
    }

    #[test]
    fn a_machine_may_reject_every_slice_but_a_missing_mechanism_is_a_failure() {
        let moved = "rejected: shm-mailbox/spin: every slice was rejected: E-TOPOLOGY";
        assert!(expected("ipcperf run -m shm-mailbox/spin", 3, moved));
        assert!(!expected("ipcperf run -m shm-mailbox/spin", 3, "unavailable: no such mechanism"));
        assert!(!expected("ipcperf run -m shm-mailbox/spin", 1, moved));
        assert!(expected("ipcperf run -m pipe --fail-if 'p99 > 50us'", 7, ""));
    }
}
