"""Fleets with planted truth: rows of rows.sql whose times are drawn, on the cells of a real dataset.

A host, a run of it and a round each shift the logarithm of a time: by 4 %, 3 % and 5 % (standard deviations). Half of
the variance of host and run is common to all cells, the other half is each cell's own: were all of it common, a host
that is slower by 25 % would be above 4 standard deviations in only two cases of three.
"""

import hashlib
import json
import pathlib

import duckdb
import numpy

HOST, RUN, ROUND, COMMON = 0.04, 0.03, 0.05, 0.5
SQL = pathlib.Path(__file__).parent.parent / "sql"
PAGE = SQL.parent / "fleet.py"
NIGHTS = SQL.parent / "otava" / "nights.sql"


class Template:
    """The cells of a real dataset, and its columns with their types."""

    def __init__(self, dataset, mechanisms=None, cells_each=99):
        self.sql = duckdb.connect(config={"threads": 2})
        self.sql.execute("SET VARIABLE dataset = $1", [str(dataset)])
        self.sql.execute(
            """
            CREATE TABLE runs AS FROM read_parquet(getvariable('dataset') || '/**/runs.parquet') LIMIT 0;
            CREATE TABLE cells AS
                SELECT (row_number() OVER (ORDER BY id) - 1)::INTEGER AS cell, * FROM (
                    FROM (SELECT * EXCLUDE (kernel, day),
                                 median(coalesce(p50_ns, 1e9 / messages_per_second)) OVER (PARTITION BY id) AS ns
                          FROM read_parquet(getvariable('dataset') || '/**/data_*.parquet', hive_partitioning = true)
                          WHERE rejected IS NULL AND proved AND coalesce(p50_ns, messages_per_second) > 0
                            AND ($1 IS NULL OR list_contains($1, mechanism))
                          QUALIFY row_number() OVER (PARTITION BY id ORDER BY round) = 1)
                    QUALIFY row_number() OVER (PARTITION BY mechanism, pattern ORDER BY id) <= $2)""",
            [mechanisms, cells_each],
        )
        self.mechanisms = numpy.array(
            [m for (m,) in self.sql.execute("SELECT mechanism FROM cells ORDER BY cell").fetchall()]
        )
        if not len(self.mechanisms):
            raise SystemExit(f"no cells of {mechanisms} in {dataset}")

    def write(self, folder, runs, shifts=None, rounds=9, seed=1, common=COMMON):
        """Writes a dataset: a run is a dict of columns; shifts[run, cell] is added to the logarithm of the time."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True)
        draw, cells = numpy.random.default_rng(seed), len(self.mechanisms)

        def of(sd, count):
            each = numpy.sqrt(common) * draw.standard_normal((count, 1)) + numpy.sqrt(
                1 - common
            ) * draw.standard_normal((count, cells))
            return (sd * each).astype(numpy.float32)

        names = {host: at for at, host in enumerate(dict.fromkeys(run["host"] for run in runs))}
        hosts = of(HOST, len(names))
        lines = folder / "runs.ndjson"
        with lines.open("w") as out:
            for at, run in enumerate(runs):
                out.write(
                    json.dumps(
                        {
                            "number": at,
                            "run_id": hashlib.md5(f"{seed} {at}".encode()).hexdigest(),
                            "interrupted": False,
                            "grade": "B",
                            "facts": {},
                            "findings": [],
                            **run,
                        }
                    )
                    + "\n"
                )
        types = dict(self.sql.execute("SELECT column_name, column_type FROM (DESCRIBE runs)").fetchall())
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in {"number": "INTEGER", **types}.items())
        self.sql.execute(
            f"CREATE OR REPLACE TEMP TABLE made AS FROM read_json('{lines}', format='nd', columns={{{columns}}})"
        )
        self.sql.execute(f"COPY (SELECT * EXCLUDE (number) FROM made) TO '{folder}/runs.parquet'")
        lines.unlink()
        for first in range(0, len(runs), 500):
            part = runs[first : first + 500]
            x = hosts[[names[run["host"]] for run in part]] + of(RUN, len(part))
            if shifts is not None:
                x += shifts[first : first + len(part)]
            x = x[:, :, None] + ROUND * draw.standard_normal((len(part), cells, rounds), dtype=numpy.float32)
            at, cell, round_ = (i.ravel().astype(numpy.int32) for i in numpy.indices(x.shape))
            at, factor = at + numpy.int32(first), numpy.exp(x.ravel())
            drawn = {"number": at, "cell": cell, "nth": round_, "factor": factor}
            self.sql.register("drawn", drawn)
            self.sql.execute(f"""
                COPY (SELECT cells.* EXCLUDE (cell, ns)
                          REPLACE (made.run_id AS run_id, nth::BIGINT AS round, cells.cell::BIGINT AS "order",
                                   CASE WHEN p50_ns IS NOT NULL THEN ns * factor END AS p50_ns,
                                   CASE WHEN p50_ns IS NULL THEN 1e9 / ns / factor END AS messages_per_second),
                          kernel, run::DATE AS day
                      FROM drawn JOIN cells USING (cell) JOIN made USING (number))
                TO '{folder}/rounds' (FORMAT parquet, PARTITION_BY (kernel, day), APPEND,
                                      FILENAME_PATTERN 'data_{{uuid}}')""")
            self.sql.unregister("drawn")
        return folder


def asked(dataset, **variables):
    """The tables of fleet.sql over a dataset."""
    sql = duckdb.connect(config={"threads": 2, "memory_limit": "1GB"})
    for name, value in {"dataset": str(dataset), **variables}.items():
        sql.execute(f"SET VARIABLE {name} = $1", [value])
    sql.execute((SQL / "fleet.sql").read_text()).fetchall()
    return sql


def run(host, kernel="6.1.99", day="2026-11-26", cpu="CPU 0", idle="menu", **more):
    facts = {"idle": idle, **more.pop("facts", {})}
    return {
        "host": host,
        "run": f"{day} 02:00:00",
        "cpu": cpu,
        "kernel": kernel,
        "setting": idle,
        "facts": facts,
        **more,
    }


def real_fleet(template, hosts, seed):
    """One run a host on three CPUs: the truth that tests plant, and where."""
    draw = numpy.random.default_rng(seed)
    cpu, after, menu, slow = (
        draw.integers(0, 3, hosts),
        draw.random(hosts) < 0.5,
        draw.random(hosts) < 0.7,
        draw.random(hosts) < 0.01,
    )
    runs = [
        run(
            f"n{at}",
            "6.12.57" if after[at] else "6.1.99",
            f"2026-11-{26 + after[at]}",
            f"CPU {cpu[at]}",
            idle="menu" if menu[at] else "teo",
            facts={"microcode": str(draw.integers(0, 2)), "label.rack": str(draw.integers(0, 20))},
            findings=[{"code": "W-THROTTLE", "severity": "warning", "text": "a CPU <ran> slower", "remedy": "cool it"}]
            if slow[at]
            else [],
        )
        for at in range(hosts)
    ]
    pipes = numpy.char.startswith(template.mechanisms.astype(str), "pipe")
    shifts = (
        numpy.log(1.25) * (slow.astype(float) + (~menu & (cpu < 2)))[:, None]
        + numpy.log(1.06) * (after[:, None] & pipes[None, :])
    ).astype(numpy.float32)
    return runs, shifts, {f"n{at}" for at in numpy.flatnonzero(slow)}
