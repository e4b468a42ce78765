#!/usr/bin/env python3
"""The medians of fleet.sql, once more by Spark, on the cells of a real dataset: spark.py DATASET."""

import pathlib
import sys
import tempfile

from pyspark.sql import SparkSession, functions as f

import fleets

with tempfile.TemporaryDirectory() as folder:
    template = fleets.Template(sys.argv[1])
    runs, shifts, _ = fleets.real_fleet(template, 500, seed=1)
    dataset = template.write(pathlib.Path(folder) / "fleet", runs, shifts, rounds=6)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    hosts = spark.read.parquet(f"{dataset}/runs.parquet").select("run_id", "host", "cpu", "setting")
    group = ["cpu", "kernel", "setting", "id"]
    medians = (
        spark.read.parquet(f"{dataset}/rounds")
        .where("rejected IS NULL AND proved")
        .join(hosts, "run_id")
        .withColumn("ns", f.expr("coalesce(p50_ns, 1e9 / messages_per_second)"))
        .where("ns > 0")
        .groupBy("host", *group)
        .agg(f.expr("ln(percentile(ns, 0.5)) AS y"))
        .groupBy(*group)
        .agg(f.expr("exp(percentile(y, 0.5)) AS ns"))
        .collect()
    )
    spark.stop()
    ours = {
        row[:4]: row[4]
        for row in fleets.asked(dataset).execute("SELECT cpu, kernel, setting, id, ns FROM medians").fetchall()
    }
    theirs = {tuple(row[name] for name in group): row["ns"] for row in medians}
    assert ours.keys() == theirs.keys() and ours, "other groups"
    worst = max(abs(theirs[key] / ns - 1) for key, ns in ours.items())
    print(f"{len(ours)} medians of 500 hosts by DuckDB and by Spark differ by at most {worst:.1e}")
    assert worst <= 1e-12
