//! The readings that a study takes from a slice of clients and a server: the patterns `connect` and `serve`.

use crate::claims::Readings;
use ipcperf_core::ListenerKind;
use ipcperf_engine::slice::crowd::connect::{PARTS, port_warning};
use ipcperf_engine::slice::{CrowdSlice, RawSlice};
use ipcperf_stats::{Histogram, support};

/// Requests for which the original's tables give seconds: those of one client.
const PUBLISHED: f64 = 10_000.0;

/// Adds the readings that both patterns have. CPU times are those of clients and server, as the engine has shared them out.
pub(super) fn of_requests(
    readings: &mut Readings,
    slice: &RawSlice,
    crowd: &CrowdSlice,
    ns_per_tick: f64,
) {
    let after = &crowd.after;
    let asked = after.asked.max(1) as f64;
    let elapsed_ns = after.window.ticks as f64 * ns_per_tick;
    let [clients, server] = slice.sides.each_ref().map(|side| side.spent);
    readings.set("request_us", elapsed_ns / 1e3 / asked);
    readings.set("client_cpu_us", clients.cpu_ns as f64 / 1e3 / asked);
    readings.set("server_cpu_us", server.cpu_ns as f64 / 1e3 / asked);
    readings.set("requests_per_second", after.answers() as f64 * 1e9 / elapsed_ns.max(1.0));
    for (name, value) in [
        ("asked", after.asked),
        ("answered", after.answers()),
        ("failed", after.failed()),
        ("refused", after.connects_refused()),
    ] {
        readings.set(name, value as f64);
    }
    for (name, errors) in [("failed", &after.errors), ("at the server", &after.server_errors)] {
        if !errors.is_empty() {
            let list: Vec<String> =
                errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
            readings.facts.insert(name.into(), list.join(", "));
        }
    }
}

/// Adds the readings that only `connect` has.
pub(super) fn add(
    readings: &mut Readings,
    slice: &RawSlice,
    connect: &CrowdSlice,
    listener: Option<ListenerKind>,
    ns_per_tick: f64,
) {
    let (after, connects) = (&connect.after, &connect.after.connects);
    let asked = after.asked.max(1) as f64;
    let elapsed_ns = after.window.ticks as f64 * ns_per_tick;
    let [clients, server] = slice.sides.each_ref().map(|side| side.spent);
    // What the same would have come to with as many requests of each client as in the original.
    let scale = PUBLISHED * after.clients as f64 / asked;
    let seconds = |nanoseconds: f64| nanoseconds / 1e9 * scale;
    for (name, nanoseconds) in [
        ("user_s", clients.user_ns as f64),
        ("system_s", clients.system_ns as f64),
        ("total_s", clients.cpu_ns as f64),
        ("real_s", elapsed_ns),
        ("server_user_s", server.user_ns as f64),
        ("server_system_s", server.system_ns as f64),
        ("server_total_s", server.cpu_ns as f64),
    ] {
        readings.set(name, seconds(nanoseconds));
    }
    readings.set("retried", connects.retried as f64);
    let times: Vec<_> = connect.times.iter().map(Histogram::from).collect();
    for (name, part) in PARTS.iter().zip(&times) {
        for (quantile, label) in [(0.5, "p50"), (0.99, "p99")] {
            if support(part.count(), quantile).is_ok()
                && let Some(ticks) = part.quantile(quantile)
            {
                readings.set(format!("{name}_{label}_us"), ticks as f64 * ns_per_tick / 1e3);
            }
        }
    }
    let spent = |part: &str| {
        let found = PARTS.iter().zip(&times).find(|(name, _)| **name == part);
        found.map_or(0.0, |(_, times)| times.sum() as f64)
    };
    // The server's time is that of the warm-up, too.
    let accept =
        connects.accept.map_or(0.0, |ticks| ticks as f64 * asked / after.all[0].max(1) as f64);
    let whole = spent("request").max(1.0);
    let operations = spent("socket") + spent("connect") + spent("close");
    readings.set("client_connect_share", operations / whole);
    readings.set("connect_share", (operations + accept) / whole);
    if let [Some(before), Some(now)] = connects.time_wait {
        readings.set("time_wait_before", before as f64);
        readings.set("time_wait_after", now as f64);
    }
    if let Some(ports) = &connects.ports
        && let [Some(before), Some(now)] = ports.in_use
    {
        readings.set("ports_used_before", before as f64);
        readings.set("ports_used_after", now as f64);
        let text = format!("{} to {}, {} of them", ports.range.0, ports.range.1, ports.count());
        readings.facts.insert("ephemeral ports".into(), text);
    }
    if let Some(warning) = listener.and_then(|listener| port_warning(listener, after.all[0])) {
        readings.facts.insert("ports".into(), warning);
    }
}
