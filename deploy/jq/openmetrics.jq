# One document as OpenMetrics, for the text files of Prometheus' node_exporter: jq -rf openmetrics.jq > ipcperf.prom
def labels: to_entries | map(.key + "=" + (.value | tostring | tojson)) | "{" + join(",") + "}";
def family(name; unit; help):
    "# TYPE \(name) gauge", (unit | select(. != "") | "# UNIT \(name) \(.)"), "# HELP \(name) \(help)";
def cell: {cell: .id, mechanism, pattern, size_bytes, placement};
def samples(name; metric): .cells[] | select(.status == "ok") | cell as $cell | metric | select(.value.value != null)
    | name + ($cell + .labels | labels) + " \(.value.value * .scale)";
family("ipcperf_round_trip_seconds"; "seconds"; "Round trip, or request of the pattern connect"),
samples("ipcperf_round_trip_seconds"; (.rtt_ns // .connect.request_ns // {}) as $times
    | ("p50", "p99") | {value: $times[.], labels: {statistic: .}, scale: 1e-9}),
family("ipcperf_messages_per_second"; ""; "Messages that arrived"),
samples("ipcperf_messages_per_second"; {value: .messages_per_second, labels: {}, scale: 1}),
family("ipcperf_cpu_seconds"; "seconds"; "CPU time of both processes for a message"),
samples("ipcperf_cpu_seconds"; {value: {value: .cpu_ns_per_message.total}, labels: {}, scale: 1e-9}),
family("ipcperf_run"; ""; "The run that measured these"),
"ipcperf_run" + ({run_id, grade: .noise.grade, kernel: .kernel.release, tool: .tool.version} | labels) + " 1",
family("ipcperf_run_timestamp_seconds"; "seconds"; "When the run started"),
"ipcperf_run_timestamp_seconds \(.started_utc | fromdate)",
"# EOF"
