//! The examples at the end of each command's help.

pub(crate) const SURVEY: &str = "Examples:
  ipcperf survey                            one screen: what to use on this machine, and why
  ipcperf survey --budget 10m --all         every variant, and more rounds
  ipcperf survey --dry-run                  what it would measure, and for how long";

pub(crate) const RUN: &str = "Examples:
  ipcperf run pipe                                        a 64-byte round trip, on one CPU and two
  ipcperf run pipe unix-stream tcp -s 1,64,4K             three mechanisms at three sizes
  ipcperf run -m 'shm-ring/*' -p stream -s '4K..1M:*4'    all variants, throughput over sizes
  ipcperf run -m unix-stream -p rate --rate '10%..95%'    an open loop, up to nearly all it can do
  ipcperf run -m pipe --transform lz4 --payload app.log   what lz4 costs with your own data
  ipcperf run pipe --samples 100000 --raw pipe.tsv        every round trip in a file, one per line
  ipcperf run -m pipe --fail-if 'p99 > 50us' --max-noise C
  ipcperf run --from ipcperf-20261122T060000Z.json        the same run again";

pub(crate) const CHOOSE: &str = "Examples:
  ipcperf choose -s 4K --rate 20k --can unrelated --no-spin
  ipcperf choose -s 64,4K --can notices-death --p99 50us --think 100us
  ipcperf choose --from ipcperf-20261122T060000Z.json --can unrelated,boundaries --by cpu
  ipcperf choose --can unrelated --snippet c     and a C program to start from";

pub(crate) const EXPLAIN: &str = "Examples:
  ipcperf explain unix-stream               where the time of a round trip goes
  ipcperf explain unix-stream pipe          where the difference comes from
  ipcperf explain unix-stream --what-if     what one change at a time does
  ipcperf explain W-LOSS                    a finding; also marks ('~'), grades and verdicts (SLOWER)";

pub(crate) const HISTORY: &str = "Examples:
  ipcperf run -m pipe --keep nightly        keeps a result
  ipcperf history
  ipcperf history trend 'pipe same-cpu' @nightly
  ipcperf compare @nightly~1 @nightly";

pub(crate) const SCHEMA: &str = "Examples:
  ipcperf schema
  ipcperf schema comparison";

pub(crate) const LIST: &str = "Examples:
  ipcperf list
  ipcperf list --can unrelated,boundaries       whole messages between any two processes
  ipcperf list --family shared-memory --format json";

pub(crate) const DESCRIBE: &str = "Examples:
  ipcperf describe unix-stream
  ipcperf describe shm-ring                     its default variant, shm-ring/adaptive";

pub(crate) const COMPARE: &str = "Examples:
  ipcperf compare pipe unix-stream              which is faster, measured side by side
  ipcperf compare 'pipe stream 64K' 'pipe stream 64K size=1M'
  ipcperf compare 'pipe 64 same-cpu' --live-binary ../before/ipcperf --fail-on slower:5%
  ipcperf compare old.json new.json --factor kernel";

pub(crate) const REPLICATE: &str = "Examples:
  ipcperf replicate                             all five studies, a minute or less each
  ipcperf replicate marhubi --scale quick --plots pictures
  ipcperf replicate wisconsin --only s2.c11 --set cell.slice=50ms
  ipcperf replicate --across laptop.json server.json";

pub(crate) const REPORT: &str = "Examples:
  ipcperf report ipcperf-20261122T060000Z.json --full
  ipcperf report ipcperf-20261122T060000Z.json -m 'pipe/*,unix-stream' --place same-cpu --top 5
  ipcperf report ipcperf-20261122T060000Z.json --format csv -o cells.csv";

pub(crate) const DOCTOR: &str = "Examples:
  ipcperf doctor
  ipcperf doctor --format json";

pub(crate) const SELFTEST: &str = "Examples:
  ipcperf selftest
  ipcperf selftest --only clock,timer";

pub(crate) const COMPLETIONS: &str = "Examples:
  ipcperf completions bash > ~/.local/share/bash-completion/completions/ipcperf
  ipcperf completions zsh > ~/.zfunc/_ipcperf
  ipcperf completions fish > ~/.config/fish/completions/ipcperf.fish";

pub(crate) const MAN: &str = "Examples:
  ipcperf man run | man -l -
  ipcperf man --dir ~/.local/share/man/man1     all pages, where 'man ipcperf-run' finds them";

#[cfg(test)]
mod tests {
    use crate::args::Args;
    use clap::{CommandFactory, Parser};
    use std::path::Path;

    /// The command of a line: what stands before its explanation, a pipe or a file that it writes to.
    fn command(line: &str) -> Option<&str> {
        let line = line.trim();
        let is_end = |at: usize| {
            let is_mark = |mark: &&str| line.get(at..).is_some_and(|rest| rest.starts_with(*mark));
            let is_quoted = line.get(..at).is_none_or(|text| text.matches('\'').count() % 2 == 1);
            !is_quoted && ["  ", " | ", " > ", " >> ", " && "].iter().any(is_mark)
        };
        let end = (0..line.len()).find(|at| is_end(*at)).unwrap_or(line.len());
        line.starts_with("ipcperf ").then(|| line[..end].trim())
    }

    /// The commands of a block between fences: all its lines that begin with a prompt, or, where none does, with our name.
    fn commands(block: &str) -> Vec<&str> {
        let lines = || block.lines().map(str::trim);
        let typed: Vec<&str> = lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        let lines = if typed.is_empty() { lines().collect() } else { typed };
        lines.into_iter().filter_map(command).collect()
    }

    fn assert_can_be_typed(line: &str, place: &str) {
        let words =
            crate::exec::words::split(line).unwrap_or_else(|why| panic!("{place}: {line}: {why}"));
        if let Err(error) = Args::try_parse_from(&words) {
            assert!(!error.use_stderr(), "{place}: {line}: {error}");
        }
    }

    #[test]
    fn every_command_has_examples_and_each_of_them_can_be_typed() {
        let all = Args::command();
        let commands = all.get_subcommands().filter(|one| !one.is_hide_set());
        for one in commands.filter(|one| !["clean", "help"].contains(&one.get_name())) {
            let name = one.get_name();
            let text = one.get_after_help().unwrap_or_else(|| panic!("{name}")).to_string();
            let lines: Vec<&str> = text.lines().filter_map(command).collect();
            assert!(!lines.is_empty(), "{name}: {text}");
            lines.iter().for_each(|line| assert_can_be_typed(line, name));
        }
    }

    #[test]
    fn every_command_of_the_documents_can_be_typed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).expect("docs");
        let docs = docs.map(|entry| entry.expect("a file").path());
        let mut count = 0;
        for path in docs.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name))) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let text = text.replace("\\\n", " ");
            // Every other part stands between fences. A transcript of an error shows what cannot be typed.
            let blocks =
                text.split("\n```").skip(1).step_by(2).filter(|block| !block.contains("\n? "));
            for line in blocks.flat_map(commands) {
                assert_can_be_typed(line, &path.display().to_string());
                count += 1;
            }
        }
        assert!(count > 50, "{count} commands");
    }
}
