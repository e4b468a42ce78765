//! Connections for one request each: a server, and clients who connect again and again.

use super::{Readings, Turn, Work};
use ipcperf_core::{Crowd, Door, Serving};
use ipcperf_engine::errand::Mishap;
use ipcperf_engine::storm::{self, Aftermath, Around, BACKLOG, Model, PARTS, SHORTEST, Storm};
use ipcperf_stats::support;
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Longest that a storm may take: requests that are lost make clients wait for seconds each.
const LONGEST: Duration = Duration::from_secs(600);

/// Requests for which the original's tables give seconds: those of one client.
const PUBLISHED: f64 = 10_000.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Keys {
    /// What is connected to.
    door: Door,
    /// Clients at the same time.
    clients: u64,
    /// Requests of each.
    requests: u64,
    /// How they call.
    #[serde(default)]
    model: Model,
    /// What they are.
    #[serde(default = "threads")]
    crowd: Crowd,
    /// How the server waits.
    #[serde(default = "accept")]
    server: Serving,
    /// How many may wait at the server.
    backlog: Option<u64>,
    /// Bytes of an answer.
    answer: Option<usize>,
}

const fn threads() -> Crowd {
    Crowd::Threads
}

const fn accept() -> Serving {
    Serving::Accept
}

fn keys(table: &toml::Table) -> Result<Storm, String> {
    let keys: Keys =
        table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if !(1..=1000).contains(&keys.clients) {
        return Err(format!("clients = {} is not between 1 and 1000", keys.clients));
    }
    if !(1..=10_000_000).contains(&keys.requests) {
        return Err(format!("requests = {} is not between 1 and 10000000", keys.requests));
    }
    let answer = keys.answer.unwrap_or(SHORTEST);
    if !(SHORTEST..=1 << 20).contains(&answer) {
        return Err(format!("answer = {answer} is not between {SHORTEST} and {}", 1 << 20));
    }
    Ok(Storm {
        door: keys.door,
        serving: keys.server,
        model: keys.model,
        crowd: keys.crowd,
        clients: keys.clients,
        requests: keys.requests,
        slice: storm::nanoseconds(LONGEST),
        warmup: 0,
        answer_bytes: answer,
        backlog: keys.backlog.unwrap_or(BACKLOG),
    })
}

/// A storm, measured.
struct Blow(Storm);

pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    Ok(Box::new(Blow(keys(table)?)))
}

fn around<'a>(turn: &Turn<'a>) -> Around<'a> {
    Around {
        directory: turn.directory,
        nonce: turn.nonce,
        cpus: &[],
        counter: false,
        // Layouts of the stack that differ from round to round.
        pads: [(turn.nonce % 4096) as usize, (turn.nonce / 4096 % 4096) as usize],
        deadline: turn.deadline.min(Instant::now() + LONGEST),
        interrupts: turn.interrupts,
    }
}

impl Work for Blow {
    fn missing(&self) -> Option<String> {
        storm::probe(self.0.door).err().map(|missing| missing.to_string())
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap> {
        let after = storm::run(&self.0, &around(turn))?;
        if let Some(doubt) = &after.doubt {
            return Err(Mishap::Failed(doubt.clone()));
        }
        Ok(readings(&self.0, &after))
    }
}

fn readings(storm: &Storm, after: &Aftermath) -> Readings {
    let mut readings = Readings::default();
    let asked = after.asked.max(1) as f64;
    // What the same would have come to with as many requests of each client as in the original.
    let scale = PUBLISHED / storm.requests as f64;
    let [clients, server] = &after.spent;
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9 * scale;
    readings.set("user_s", seconds(clients.user_ns));
    readings.set("system_s", seconds(clients.system_ns));
    readings.set("total_s", seconds(clients.cpu_ns));
    readings.set("real_s", seconds(after.elapsed));
    readings.set("server_user_s", seconds(server.user_ns));
    readings.set("server_system_s", seconds(server.system_ns));
    readings.set("server_total_s", seconds(server.cpu_ns));
    readings.set("request_us", after.elapsed as f64 / 1e3 / asked);
    readings.set("client_cpu_us", clients.cpu_ns as f64 / 1e3 / asked);
    readings.set("server_cpu_us", server.cpu_ns as f64 / 1e3 / asked);
    readings.set("requests_per_second", after.answered as f64 * 1e9 / after.elapsed.max(1) as f64);
    for (name, value) in [
        ("asked", after.asked),
        ("answered", after.answered),
        ("failed", after.failed()),
        ("refused", after.refused()),
        ("retried", after.retried),
    ] {
        readings.set(name, value as f64);
    }
    for (name, part) in PARTS.iter().zip(&after.times.parts) {
        for (quantile, label) in [(0.5, "p50"), (0.99, "p99")] {
            if support(part.count(), quantile).is_ok()
                && let Some(ns) = part.quantile(quantile)
            {
                readings.set(format!("{name}_{label}_us"), ns as f64 / 1e3);
            }
        }
    }
    let spent = |part: &str| {
        let found = PARTS.iter().position(|name| *name == part);
        found.and_then(|at| after.times.parts.get(at)).map_or(0.0, |part| part.sum() as f64)
    };
    let accept = after.accept.map_or(0.0, |ns| ns as f64);
    let whole = spent("request").max(1.0);
    let operations = spent("socket") + spent("connect") + spent("close");
    readings.set("client_connect_share", operations / whole);
    readings.set("connect_share", (operations + accept) / whole);
    if let [Some(before), Some(now)] = after.time_wait {
        readings.set("time_wait_before", before as f64);
        readings.set("time_wait_after", now as f64);
    }
    if let Some(ports) = &after.ports
        && let [Some(before), Some(now)] = ports.in_use
    {
        readings.set("ports_used_before", before as f64);
        readings.set("ports_used_after", now as f64);
        let text = format!("{} to {}, {} of them", ports.range.0, ports.range.1, ports.count());
        readings.facts.insert("ephemeral ports".into(), text);
    }
    if let Some(warning) = storm::port_warning(storm.door, storm.clients * storm.requests) {
        readings.facts.insert("ports".into(), warning);
    }
    for (name, errors) in [("failed", &after.errors), ("at the server", &after.server_errors)] {
        if !errors.is_empty() {
            let list: Vec<String> =
                errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
            readings.facts.insert(name.into(), list.join(", "));
        }
    }
    readings.facts.insert("backlog".into(), storm.backlog.to_string());
    readings.histogram = after.times.parts.first().map(|request| request.scaled(1000.0));
    readings
}

/// A server that is killed: what it leaves.
struct AfterKill(Storm);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KillKeys {
    door: Door,
}

pub(crate) fn make_after_kill(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let KillKeys { door } =
        table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let storm = Storm {
        door,
        serving: Serving::Accept,
        model: Model::Blocking,
        crowd: Crowd::Threads,
        clients: 1,
        requests: 1,
        slice: 0,
        warmup: 0,
        answer_bytes: SHORTEST,
        backlog: BACKLOG,
    };
    Ok(Box::new(AfterKill(storm)))
}

impl Work for AfterKill {
    fn missing(&self) -> Option<String> {
        storm::probe(self.0.door).err().map(|missing| missing.to_string())
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap> {
        let remains = storm::kill_server(&self.0, &around(turn))?;
        let mut readings = Readings::default();
        readings.set("paths_left", remains.paths as f64);
        readings.set("reopens", f64::from(u8::from(remains.reopens)));
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Result<Storm, String> {
        keys(&text.parse().expect("TOML"))
    }

    #[test]
    fn what_is_not_said_is_as_in_the_simplest_storm_and_unknown_words_are_refused() {
        let storm = made("door = 'unix-path'\nclients = 5\nrequests = 10").expect("complete");
        assert_eq!((storm.model, storm.serving), (Model::Blocking, Serving::Accept));
        assert_eq!((storm.answer_bytes, storm.backlog), (SHORTEST, BACKLOG));
        let text = "door = 'tcp'\nclients = 5\nrequests = 10\n";
        assert!(made(&format!("{text}model = 'as-published'\nserver = 'epoll'")).is_ok());
        for wrong in ["clients = 0", "speed = 3", "model = 'fast'", "answer = 1"] {
            let text = format!("door = 'tcp'\nrequests = 10\n{wrong}\n");
            let text = if wrong.starts_with("cl") { text } else { format!("{text}clients = 5") };
            assert!(made(&text).is_err(), "{wrong}");
        }
    }
}
