#!/usr/bin/env python3
"""What fleet.sql says of fleets whose truth is planted: truth.py DATASET [--long], DATASET from a real survey."""

import csv
import html
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy

import fleets
from fleets import HOST, ROUND, RUN, asked, run

whole = "--long" in sys.argv
failed = 0


def check(holds, text):
    global failed
    failed += not holds
    print("ok  " if holds else "FAIL", text, flush=True)


def one(sql, question, *values):
    return sql.execute(question, list(values)).fetchall()


def quantiles(folder):
    """The approximations of fleet.sql beside exact values."""
    sql = asked(fleets.Template(real, ["pipe"]).write(folder, [run("a")]))
    worst = max(
        abs(one(sql, f"SELECT z_of({tail})")[0][0] / statistics.NormalDist().inv_cdf(1 - tail) - 1)
        for tail in (0.005, 1e-4, 1e-5, 1e-6)
    )
    check(worst < 0.001, f"normal quantiles are at most {100 * worst:.3f} % off")
    # R: qt(1 - tail, freedom).
    known = {(0.005, 4): 4.604095, (1e-4, 10): 5.693820, (1e-4, 29): 4.254184, (5e-5, 9): 6.593683}
    off = [one(sql, f"SELECT t_from(z_of({tail}), {freedom})")[0][0] / t - 1 for (tail, freedom), t in known.items()]
    check(
        -0.001 < min(off) and max(off) < 0.02,
        f"Student's quantiles are {100 * min(off):+.2f} to {100 * max(off):+.2f} % off",
    )


def fleet(folder):
    hosts = 10000 if whole else 4000
    template = fleets.Template(real, cells_each=99 if whole else 1)
    runs, shifts, planted = fleets.real_fleet(template, hosts, seed=1)
    dataset = template.write(folder, runs, shifts, rounds=6, seed=2)
    sql = asked(dataset)
    found = {host for (host,) in one(sql, "SELECT host FROM outliers WHERE slow")}
    check(
        len(found & planted) >= 0.95 * len(planted),
        f"{len(found & planted)} of {len(planted)} slow hosts of {hosts} found",
    )
    check(len(found - planted) <= 0.001 * hosts, f"{len(found - planted)} others called slow")
    told = {host for (host,) in one(sql, "SELECT host FROM explained WHERE what = 'W-THROTTLE'")}
    check(told == found & planted, f"the finding of {len(told)} of them is named")
    claims = one(sql, "SELECT what, stratum, percent FROM changes WHERE claimed")
    pipes = {what for (what,) in one(sql, "SELECT DISTINCT what FROM changes WHERE starts_with(what, 'pipe')")}
    check(
        {what for what, _, _ in claims} == pipes == {what for what, stratum, _ in claims if stratum == "all"},
        f"the kernel's cost: {sorted((what, percent) for what, stratum, percent in claims if stratum == 'all')}",
    )
    claims = one(sql, "SELECT cpu, facts, percent FROM associations WHERE claimed ORDER BY cpu")
    check(
        [(cpu, facts) for cpu, facts, _ in claims] == [(f"CPU {at}", ["idle = teo"]) for at in (0, 1)],
        f"what goes with slow hosts: {claims}",
    )
    rows = f"read_parquet('{dataset}/rounds/**/*.parquet', hive_types = {{'kernel': VARCHAR}})"
    check(
        one(sql, f"""SELECT count(*) = count(DISTINCT (run_id, id, round, "order")) FROM {rows}""") == [(True,)],
        "keys are distinct",
    )
    check(
        one(sql, f"SELECT DISTINCT kernel FROM {rows} ORDER BY ALL") == [("6.1.99",), ("6.12.57",)]
        and one(sql, "SELECT DISTINCT kernel FROM medians ORDER BY ALL") == [("6.1.99",), ("6.12.57",)],
        "kernels are text",
    )
    types = [
        one(
            sql,
            f"SELECT column_name, column_type FROM (DESCRIBE FROM read_parquet('{place}/**/data_*.parquet', "
            "hive_types = {'kernel': VARCHAR, 'day': DATE})) ORDER BY ALL",
        )
        for place in (real, dataset)
    ]
    check(types[0] == types[1], set(types[0]) ^ set(types[1]) or f"{len(types[0])} columns have the types of real ones")


def questions(folder):
    """A setting as the factor, days, and what changed beside a kernel."""
    template = fleets.Template(real, ["pipe", "tcp"], 1)
    runs, shifts, _ = fleets.real_fleet(template, 600, seed=1)
    dataset = template.write(folder / "fleet", runs, shifts, seed=2)
    sql = asked(dataset, factor="idle", before="menu", after="teo")
    claims = {stratum for (stratum,) in one(sql, "SELECT stratum FROM changes WHERE claimed AND stratum <> 'all'")}
    check(
        {stratum[:5] for stratum in claims} == {"CPU 0", "CPU 1"}, f"menu to teo makes slower: {', '.join(sorted(claims))}"
    )
    sql = asked(dataset, since="2026-11-27")
    check(one(sql, "SELECT DISTINCT kernel FROM medians") == [("6.12.57",)], "older days are left out")
    check(one(sql, "SELECT count(*) FROM changes") == [(0,)], "one kernel is no change")
    runs = [
        run(f"n{at}", kernel, day, facts={"microcode": code, "label.rack": str(at % 3)})
        for kernel, day, code in (("6.1.99", "2026-11-26", "1"), ("6.12.57", "2026-11-27", "2"))
        for at in range(40)
    ]
    sql = asked(template.write(folder / "same", runs))
    told = one(sql, "SELECT key, hosts, before, after FROM also_changed")
    check(told == [("microcode", 40, "1", "2")], f"what changed with the kernel: {told}")


def page(dataset, *arguments):
    """The lines at the top of fleet.py's page, all of it, and what it says on stderr with its exit code."""
    to = dataset.parent / "page.html"
    done = subprocess.run(
        [sys.executable, fleets.PAGE, dataset, "-o", to, *arguments], stderr=subprocess.PIPE, text=True, check=False
    )
    text = html.unescape(to.read_text()) if not done.returncode else ""
    return " ".join(re.findall("<li>(.*)</li>", text)), text, (done.returncode, done.stderr)


def hosts_are_counted(folder):
    """A host under two kernels, and with three values of a label, is one host."""
    template = fleets.Template(real, ["pipe", "tcp"], 1)
    hot = [{"code": "W-THROTTLE", "severity": "warning", "text": "hot", "remedy": "cool it"}]
    runs = [
        run(f"n{at}", kernel, day, facts={"label.day": day[-2:] + part}, findings=hot if at == 7 else [])
        for kernel, day in (("6.1.99", "2026-11-26"), ("6.12.57", "2026-11-27"))
        for part in "abc"
        for at in range(40)
    ]
    shifts = numpy.array([[0.3 * (run["host"] == "n7")] * len(template.mechanisms) for run in runs], numpy.float32)
    dataset = template.write(folder / "forty" / "fleet", runs, shifts)
    top, text, _ = page(dataset)
    check("1 of 40 hosts is slow." in top, f"one slow host under two kernels: {top}")
    check("W-THROTTLE: hot (none of the others has it)" in text, "its finding, which no other host has")
    by_label = page(dataset, "--factor", "label.day", "--before", "26a", "--after", "27c")[1]
    check("<h2>label.day: 26a to 27c</h2>" in by_label and "-0.0" not in by_label, "a label as the factor")
    alone = page(template.write(folder / "one" / "fleet", runs[:1]))[1]
    check("<h1>IPC of 1 host</h1>" in alone and "1 run, 2026" in alone and "1 hosts" not in alone, "one host is no hosts")
    few = template.write(folder / "twelve" / "fleet", [one for one in runs if int(one["host"][1:]) < 12])
    plain, labelled = asked(few), asked(few, factor="label.day", before="26a", after="26c")
    for table in ("medians", "outliers", "explained", "associations"):
        question = f"SELECT COLUMNS(lambda c: c NOT IN ('unit', 'cell')) FROM {table} ORDER BY ALL"
        check(one(plain, question) == one(labelled, question), f"{table}: the same whatever the factor")
    check(one(labelled, "SELECT DISTINCT hosts FROM changes") == [(12,)], "three values of a host are compared")
    check("no group of 30, which it takes to judge: 12 hosts" in page(few)[1], "12 hosts under two kernels are 12 hosts")


def groups_disagree(folder):
    """A kernel that costs pipes 15 % on one CPU only."""
    template = fleets.Template(real, ["pipe", "tcp"], 1)
    runs = [
        run(f"n{at}", kernel, day, f"CPU {at % 2}")
        for kernel, day in (("6.1.99", "2026-11-26"), ("6.12.57", "2026-11-27"))
        for at in range(40)
    ]
    cost = numpy.array([0.14 * (run["kernel"] == "6.12.57" and run["cpu"] == "CPU 0") for run in runs])
    shifts = (cost[:, None] * (template.mechanisms == "pipe")[None, :]).astype(numpy.float32)
    top, text, _ = page(template.write(folder / "fleet", runs, shifts))
    check(
        re.search(r"pipe ping-pong \+1\d\.\d %.* on CPU 0, menu \(not certain on CPU 1, menu\)", top) is not None,
        f"groups that disagree: {top}",
    )
    rows = re.findall(r'data-head="mechanism">pipe ping-pong</td><td[^>]*>(CPU \d)', text)
    check(sorted(rows) == ["CPU 0", "CPU 1"], "the groups without an effect are listed")


def mistakes(folder):
    """What is asked wrongly is said in one line."""
    runs = [run(f"n{at}", idle="menu" if at % 3 else "teo") for at in range(9)]
    dataset = fleets.Template(real, ["pipe"], 1).write(folder / "fleet", runs)
    for wrong, said in (
        ({"factor": "idel"}, "no fact idel; there are: idle"),
        ({"factor": "host"}, "no fact host; there are: idle"),
        ({"before": "menu"}, "set both before and after, or neither"),
        ({"after": "menu"}, "set both before and after, or neither"),
        ({"factor": "idle", "before": "teo", "after": "teo"}, "before and after are both teo"),
        (
            {"factor": "idle", "before": "menuu", "after": "teo"},
            "idle is never menuu; its values: menu (6 hosts), teo (3 hosts)",
        ),
        ({"since": "2030-01-01"}, "no finished run with a label host since 2030-01-01"),
    ):
        told = page(dataset, *(word for name, value in wrong.items() for word in (f"--{name}", value)))[2]
        check(told == (2, f"fleet.py: {said}\n"), f"{wrong}: {told}")
    for place, arguments, said in (
        (folder / "none", [], f"fleet.py: no runs.parquet below {folder}/none; rows.sql writes it\n"),
        (dataset, ["--since", "foo"], 'fleet.py: Conversion Error: invalid date field format: "foo", expected'),
        (dataset, ["-o", f"{folder}/none/page.html"], f"fleet.py: no folder {folder}/none\n"),
    ):
        told = page(place, *arguments)[2]
        check(told[0] == 2 and told[1].startswith(said) and told[1].count("\n") == 1, told)


def nights(folder):
    """Three nights, and cells that were not measured in all of them."""
    pipe, tcp = (fleets.Template(real, [name], 1) for name in ("pipe", "tcp"))
    runs = [run(f"n{at}", day=f"2026-11-{day}") for day in (24, 25, 26) for at in range(31)]
    pipe.write(folder / "fleet" / "pipe", runs)
    tcp.write(folder / "fleet" / "tcp", runs[:62], seed=2)
    pipe.write(folder / "apart" / "pipe", runs[62:])
    tcp.write(folder / "apart" / "tcp", runs[:62], seed=2)

    def told(dataset):
        variables = f"SET VARIABLE dataset='{dataset}'; SET VARIABLE folder='{folder}'"
        done = subprocess.run(
            ["duckdb", "-csv", "-noheader", "-cmd", variables, "-f", fleets.NIGHTS], capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    said, count, others = told(folder / "fleet"), len(pipe.mechanisms), len(tcp.mechanisms)
    left = f"{others} of {count + others} cells are left out, not measured every night; the first: tcp "
    check(left in said, said.strip())
    written = (folder / "nights.csv").read_text()
    values = [[float(value) for value in row[2:]] for row in csv.reader(written.splitlines()[1:])]
    check(
        {len(row) for row in values} == {count} and sum(value == 100 for row in values for value in row) < count,
        f"three nights: {values}",
    )
    said = told(folder / "apart")
    check("no cell was measured in all 3 nights" in said, f"nights without a common cell: {said.strip()}")
    check((folder / "nights.csv").read_text() == written, "the file of before is kept")


def trials(folder, design, cost, count, hosts):
    """How often the kernel is said to cost anything, and to cost pipes."""
    template = fleets.Template(real, cells_each=1)
    pipes = template.mechanisms == "pipe"
    any_claim = right = 0
    for seed in range(count):
        after = [at % 2 == 1 for at in range(2 * hosts)]
        name = (lambda at: at // 2) if design == "same" else (lambda at: at)
        runs = [
            run(f"n{name(at)}", "6.12.57" if after[at] else "6.1.99", f"2026-11-{26 + after[at]}")
            for at in range(2 * hosts)
        ]
        shifts = (math.log(1 + cost) * (numpy.array(after)[:, None] & pipes[None, :])).astype(numpy.float32)
        dataset = template.write(folder / f"{design}-{cost}-{seed}", runs, shifts, rounds=6, seed=seed)
        claims = {what for (what,) in one(asked(dataset), "SELECT what FROM changes WHERE claimed AND stratum = 'all'")}
        any_claim += bool(claims)
        right += "pipe ping-pong" in claims
    return any_claim, right


def differences(folder):
    few = 10
    count = 200 if whole else 20
    for design in ("same", "different"):
        wrong, _ = trials(folder, design, 0, count, few)
        check(wrong <= 0.02 * count, f"{design} hosts, {few} a side, no change: {wrong} of {count} fleets have a claim")
    count = 100 if whole else 20
    _, right = trials(folder, "same", 0.06, count, 100)
    check(right >= 0.95 * count, f"the same 100 hosts before and after, +6 %: found in {right} of {count} fleets")
    # With one cell a mechanism: the variance of a host's median of rounds, and of a mean without a fifth.
    questions = len(set(fleets.Template(real, cells_each=1).mechanisms)) + 1
    spread = math.sqrt(HOST**2 + RUN**2 + math.pi / 2 * ROUND**2 / 6)
    error = spread * math.sqrt(1.06 * 2 / 50)
    limit = statistics.NormalDist().inv_cdf(1 - 0.01 / 2 / questions)
    power = statistics.NormalDist().cdf(math.log(1.06) / error - limit * (1 + (limit**2 + 1) / 4 / 78))
    _, right = trials(folder, "different", 0.06, count, 50)
    slack = 3 * math.sqrt(count * power * (1 - power)) + 0.03 * count
    check(
        abs(right - power * count) <= slack,
        f"2 x 50 different hosts, +6 %: found in {right} of {count} fleets, by arithmetic in {100 * power:.0f} %",
    )


real = pathlib.Path([argument for argument in sys.argv[1:] if not argument.startswith("-")][0])
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    quantiles(folder / "quantiles")
    fleet(folder / "fleet")
    questions(folder / "questions")
    hosts_are_counted(folder / "counted")
    groups_disagree(folder / "disagree")
    mistakes(folder / "mistakes")
    nights(folder / "nights")
    differences(folder)
sys.exit(failed > 0)
