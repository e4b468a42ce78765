#!/usr/bin/env python3
"""Reads what the filters of deploy/jq made of a document: readers.py DOCUMENT FOLDER."""

import json
import pathlib
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

document, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
cells = {cell["id"]: cell for cell in document["cells"] if cell["status"] == "ok"}
medians = {name: cell["rtt_ns"]["p50"]["value"] for name, cell in cells.items() if "rtt_ns" in cell}
assert medians

text = (folder / "ipcperf.prom").read_text()
for parser in (openmetrics, prometheus):
    samples = [sample for family in parser(text) for sample in family.samples]
    found = {s.labels["cell"]: s.value for s in samples if s.labels.get("statistic") == "p50"}
    assert found.keys() == medians.keys() and all(
        abs(1e9 * found[name] / ns - 1) < 1e-9 for name, ns in medians.items()
    )
    assert [s.labels["run_id"] for s in samples if s.name == "ipcperf_run"] == [document["run_id"]]
print(f"openmetrics.jq: {len(samples)} samples, read by both parsers of prometheus_client")

# https://bencher.dev/docs/reference/bencher-metric-format/: names, measures, then numbers; value alone is required.
metrics = json.loads((folder / "bmf.json").read_text())
assert metrics.keys() == cells.keys()
for measures in metrics.values():
    for measure, metric in measures.items():
        assert measure in ("latency", "throughput") and "value" in metric
        assert metric.keys() <= {"value", "lower_value", "upper_value"} and all(
            type(v) in (int, float) for v in metric.values()
        )
        assert (
            metric.get("lower_value", metric["value"]) <= metric["value"] <= metric.get("upper_value", metric["value"])
        )
assert (
    sum("lower_value" in metric for measures in metrics.values() for metric in measures.values())
    or "--short" in sys.argv
)
print(f"bmf.jq: {len(metrics)} benchmarks in the documented form")

lines = (folder / "lkp.txt").read_text().splitlines()
values = dict(line.split(": ") for line in lines)
assert len(values) == len(lines) and all(
    re.fullmatch(r"[A-Za-z0-9_.-]+", key) and float(value) >= 0 for key, value in values.items()
)
lava = (folder / "lava.txt").read_text().splitlines()
assert len(lava) == len(lines) and all(re.fullmatch(r"[A-Za-z0-9_.-]+ pass [0-9.e+-]+ [a-z/]+", line) for line in lava)
print(f"lkp.jq: {len(lines)} keys, each once, and as many lines for LAVA")
