# One document as "key: value" lines, as stats scripts of lkp-tests print them: jq -rf lkp.jq
# With --arg form lava, as "name pass value unit" lines of LAVA's test definitions.
def name: gsub("[^A-Za-z0-9_.-]+"; "_");
def line($metric; $value; $unit): select($value != null)
    | if $ARGS.named.form == "lava" then "\(.id | name).\($metric) pass \($value) \($unit)"
      else "\(.id | name).\($metric)_\($unit | name): \($value)" end;
.cells[] | select(.status == "ok") | (.rtt_ns // .connect.request_ns // {}) as $times
| line("p50"; $times.p50.value; "ns"), line("p99"; $times.p99.value; "ns"),
  line("rate"; .messages_per_second.value; "messages/s"), line("cpu"; .cpu_ns_per_message.total; "ns/message")
