# One document as Google Benchmark's JSON: a cell is a benchmark, a round one of its repetitions, so that
# compare.py benchmarks old.json new.json tests them.
{context: {date: .started_utc, host_name: (.labels.host // "unknown"), executable: "ipcperf",
           num_cpus: (.host.cpus_online | length), mhz_per_cpu: 0, cpu_scaling_enabled: false, caches: [], load_avg: [],
           library_build_type: "release"},
 benchmarks: [.cells | to_entries[] | .key as $family | .value | select(.status == "ok") | . as $cell
    | [range(.rounds.round | length) | select($cell.rounds.rejected[.]? == null)] as $accepted
    | range($accepted | length) as $nth | $accepted[$nth] as $at
    | (.rounds.p50_ns[$at]? // (.rounds.messages_per_second[$at]? | select(. and . > 0) | 1e9 / .)) as $time
    | {name: .id, family_index: $family, per_family_instance_index: 0, run_name: .id, run_type: "iteration",
       repetitions: ($accepted | length), repetition_index: $nth, threads: 1, iterations: .rounds.messages[$at],
       real_time: $time, cpu_time: ((.rounds.cpu_ns | .lead[$at] + .follow[$at]) / .rounds.moved[$at]),
       time_unit: "ns"}]}
