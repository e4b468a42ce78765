//! Programs of one name that talk to each other: which of them is the client, and which the server.

use super::{ConnectionEnd, connections};
use crate::record::log::Log;
use std::collections::BTreeMap;

/// What a program does in connections with others of its name.
#[derive(Clone, Copy, Debug, Default)]
struct Roles {
    asks: bool,
    answers: bool,
}

impl Roles {
    fn words(self) -> &'static str {
        match (self.asks, self.answers) {
            (true, true) => "client and server",
            (true, false) => "client",
            _ => "server",
        }
    }
}

/// Adds their roles to the names of programs that ask, or answer, another program of the same name. Processes that a program has
/// made without loading another one are one program with it.
pub(in crate::record) fn name_roles(log: &mut Log) {
    let mut roles: BTreeMap<u32, Roles> = BTreeMap::new();
    for (_, _, connection) in connections(log) {
        if !connection.is_mutual() {
            continue;
        }
        let ends = [&connection.asker, &connection.answerer];
        let [Some(asks), Some(answers)] =
            ends.map(|end| end.as_ref().and_then(ConnectionEnd::process))
        else {
            continue;
        };
        let [client, server] = [asks, answers].map(|process| program(log, process));
        if client != server && log.program(asks) == log.program(answers) {
            roles.entry(client).or_default().asks = true;
            roles.entry(server).or_default().answers = true;
        }
    }
    let processes: Vec<u32> = log.processes().collect();
    for process in processes {
        if let Some(roles) = roles.get(&program(log, process)) {
            let name = format!("{} ({})", log.program(process), roles.words());
            log.name(process, name);
        }
    }
}

/// The process that loaded the program of this one.
fn program(log: &Log, mut process: u32) -> u32 {
    // Numbers of processes are used again, which could close a circle.
    for _ in 0..64 {
        match log.parents.get(&process) {
            Some(parent) if !log.loaded.contains_key(&process) => process = *parent,
            _ => break,
        }
    }
    process
}
