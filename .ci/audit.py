"""Faults that are planted in benchmarks of six languages, and clean twins of them, under `ipcperf audit`.

    audit.py IPCPERF [LANGUAGE...]

Fails below 95 % of the faults found, and with any fault (E-...) that is none. Languages that are not installed are
skipped, with the reason.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "crates/ipcperf/tests/it/fixtures/audit/campaign"

# Of each kind what says that it was found.
CODES = {
    "set-up": "E-SETUP-TIMED",
    "fork-first": "W-LATE-START",
    "rounds": "E-SETUP-TIMED",
    "tear-down": "E-TEARDOWN-TIMED",
    "cpu-clock": "E-CPU-CLOCK",
    "thread-clock": "E-CPU-CLOCK",
    "rusage": "E-CPU-CLOCK",
    "times": "E-CPU-CLOCK",
    "coarse": "W-COARSE-CLOCK",
    "seconds": "W-COARSE-CLOCK",
    "sleep": "E-SLEEP-TIMED",
    "server-sleep": "E-SLEEP-TIMED",
    "print": "E-PRINT-TIMED",
    "log": "E-PRINT-TIMED",
    "nagle": "W-NAGLE",
    "unread": "E-UNREAD",
    "not-awaited": "E-NOT-AWAITED",
    "omission": "W-OMISSION",
    "first": "W-FIRST-MESSAGE",
    "gap": "W-LARGE-GAP",
    "connects": "W-UNEQUAL-CALLS",
}

COMMON = "set-up rounds tear-down cpu-clock sleep server-sleep print log nagle unread not-awaited first".split()

# The compiler or interpreter, how it is built, how it is run, and which kinds it has.
LANGUAGES = {
    "C": ("cc", "cc -O2 -Wall -Werror -o bench-c bench.c", "./bench-c", list(CODES)),
    "Python": (
        "python3",
        "",
        "python3 bench.py",
        [*COMMON, "fork-first", "rusage", "coarse", "omission", "connects"],
    ),
    "Go": ("go", "go build -o bench-go bench.go", "./bench-go", [*COMMON, "omission"]),
    "Ruby": (
        "ruby",
        "",
        "ruby bench.rb",
        [kind for kind in COMMON if kind not in ("log", "first")] + ["fork-first", "rusage", "coarse"],
    ),
    "Java": ("javac", "javac Bench.java", "java -cp . Bench", [*COMMON, "omission"]),
    "Node": ("node", "", "node bench.mjs", [kind for kind in COMMON if kind != "unread"]),
}


def audited(ipcperf, folder, words):
    """Codes of faults and doubts, and the exit code."""
    profile = folder / "a.json"
    profile.unlink(missing_ok=True)
    command = [ipcperf, "audit", "--quiet", "-o", profile, "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, stdin=subprocess.DEVNULL)
    if not profile.exists():
        return {done.stderr}, done.returncode
    findings = json.loads(profile.read_text())["audit"]["findings"]
    return {one["code"] for one in findings if one["severity"] != "info"}, done.returncode


def main():
    ipcperf, *wanted = sys.argv[1:]
    ipcperf = pathlib.Path(ipcperf).resolve()
    planted = found = false = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(FIXTURES, folder, dirs_exist_ok=True)
        for language, (tool, build, run, kinds) in LANGUAGES.items():
            if wanted and language not in wanted:
                continue
            if not shutil.which(tool):
                print(f"{language}: skipped, there is no '{tool}'")
                continue
            if build:
                subprocess.run(build.split(), cwd=folder, check=True)
            for kind in kinds:
                code = CODES[kind]
                faulty, status = audited(ipcperf, folder, [*run.split(), kind, "fault"])
                clean, clean_status = audited(ipcperf, folder, [*run.split(), kind, "clean"])
                is_found = code in faulty and (status == 5 or not code.startswith("E"))
                # What is slow at first is so because it sleeps.
                slow = {"E-SLEEP-TIMED"} if kind in ("first", "gap") else set()
                others = {one for one in faulty if one.startswith("E") and one != code} - slow
                none = {one for one in clean if one.startswith("E")}
                is_false = bool(none or others) or clean_status != 0
                planted, found, false = planted + 1, found + is_found, false + is_false
                words = f"{language:7} {kind:13} {'found' if is_found else 'MISSED':7}"
                words += f" {' '.join(sorted(faulty)) if not is_found else ''}"
                if is_false:
                    words += f" FALSE in the fault {sorted(others)}, in its twin {sorted(none)} (exit {clean_status})"
                print(words, flush=True)
    print(f"{found} of {planted} faults found, {false} benchmarks with a fault that is none")
    return found < 0.95 * planted or false > 0


if __name__ == "__main__":
    os.environ.setdefault("CPUS", "0,1")
    sys.exit(main())
