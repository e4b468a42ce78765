# Bencher Metric Format of one document: bencher run --adapter json --file bmf.json
# Time in ns and operations per second, with 95 % intervals: bencher's measures latency and throughput.
def measure: select(.value != null)
    | {value} + if .ci95 then {lower_value: .ci95[0], upper_value: .ci95[1]} else {} end;
[.cells[] | select(.status == "ok")
    | {key: .id, value: ({latency: (.rtt_ns.p50 // .connect.request_ns.p50 // empty | measure)}
        // {throughput: (.messages_per_second // empty | measure)} // empty)}]
    | from_entries
