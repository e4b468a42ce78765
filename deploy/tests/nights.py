#!/usr/bin/env python3
"""Sixty nights of thirty hosts, of which the kernel of the last twenty costs pipes 6 %.

nights.py DATASET FOLDER writes them on the cells of a real dataset; nights.py --found FILE reads what Otava says.
"""

import datetime
import json
import pathlib
import sys

import numpy

import fleets

FIRST, NIGHTS, CHANGE = datetime.datetime(2024, 9, 1, tzinfo=datetime.timezone.utc), 60, 40

if sys.argv[1] == "--found":
    text = pathlib.Path(sys.argv[2]).read_text()
    found = {}
    for change in json.loads(text[text.index("{") :])["fleet"]:
        night = (datetime.datetime.fromtimestamp(change["time"], datetime.timezone.utc) - FIRST).days
        for one in change["changes"]:
            found.setdefault(one["metric"], []).append((night, round(float(one["forward_change_percent"]), 1)))
    print(f"planted in night {CHANGE}; found: {found}")
    pipes = [nights for cell, nights in found.items() if cell.startswith("pipe ")]
    assert len(pipes) == 2 and all(
        any(abs(night - CHANGE) <= 1 and 3 < by < 9 for night, by in nights) for nights in pipes
    )
else:
    template = fleets.Template(sys.argv[1], ["pipe", "tcp", "unix-stream"], 1)
    runs = [
        fleets.run(
            f"n{host}", "6.12.57" if night >= CHANGE else "6.1.99", str((FIRST + datetime.timedelta(night)).date())
        )
        for night in range(NIGHTS)
        for host in range(30)
    ]
    cost = numpy.array([run["kernel"] == "6.12.57" for run in runs])[:, None] & (template.mechanisms == "pipe")[None, :]
    template.write(sys.argv[2], runs, 0.06 * cost.astype(numpy.float32), rounds=6)
