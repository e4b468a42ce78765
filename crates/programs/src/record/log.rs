//! What was heard, in its order, and who is who in it.

use crate::record::calls::{Act, Call, Heard, Kind, Object};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Calls that are kept: 370 MB at the most, at 88 bytes each.
const MOST: usize = 1 << 22;

/// Everything that was heard.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) calls: Vec<Call>,
    pub(super) objects: HashMap<u64, Object>,
    /// Names of programs by process.
    names: HashMap<u32, String>,
    /// Ports of this machine on which somebody listens.
    pub(super) listening: BTreeSet<u16>,
    /// Processes of which nothing is heard: our own.
    pub(super) ignored: Option<u32>,
    /// A program listens.
    pub(super) has_listener: bool,
    /// Children that have not loaded their program yet: until then they run code of ipcperf.
    unloaded: HashSet<u32>,
    /// The CPUs that threads may use that moved data, where that is looked at.
    pub(super) cpus: HashMap<u32, Vec<usize>>,
    /// The process that made each one.
    pub(super) parents: HashMap<u32, u32>,
    /// Processes that made memory that others may have as well.
    pub(super) sharers: BTreeSet<u32>,
    /// Processes that have memory in common.
    pub(super) between: Vec<BTreeSet<u32>>,
    /// Processes, and threads, whose shared memory is to be looked at: they have just made some, or have begun since others did.
    pub(super) unlooked: Vec<u32>,
    /// Processes that have loaded a program since the last look at their memory, which has none of the old one.
    pub(super) reloaded: Vec<u32>,
    /// When each process loaded its last program, ns.
    pub(super) loaded: HashMap<u32, u64>,
    /// Processes with the runtime of Go.
    pub(super) of_go: BTreeSet<u32>,
    /// Tasks that did not end by themselves.
    pub(super) cut: BTreeSet<u32>,
    /// How often data moved.
    pub(super) moves: u64,
    /// POSIX queues.
    queues: BTreeSet<u64>,
}

impl Log {
    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Call(call)
                if Some(call.process) == self.ignored || self.unloaded.contains(&call.process) => {}
            Heard::Call(mut call) => {
                if let Some(queue) = call.queue() {
                    call.object = queue.id;
                    self.objects.entry(queue.id).or_insert(queue);
                }
                let act = call.act();
                self.has_listener |= act == Act::Listened;
                self.moves += u64::from(matches!(act, Act::Read(_) | Act::Wrote(_)));
                if call.loads_program() {
                    self.loaded.insert(call.process, call.ended);
                    self.sharers.remove(&call.process);
                    self.reloaded.push(call.process);
                }
                if call.shares_memory() {
                    self.sharers.insert(call.process);
                    self.unlooked.push(call.process);
                }
                if call.is_of_queue() {
                    self.queues.insert(call.object);
                }
                if !self.is_full() {
                    self.calls.push(call);
                }
            }
            Heard::Object(object) => {
                if object.listens {
                    self.listening.insert(object.ports[0]);
                }
                // Of a socket that was connected since, the last word counts.
                let known = self.objects.entry(object.id).or_insert_with(|| object.clone());
                if known.kind != object.kind || object.pair[1] != 0 {
                    *known = object;
                }
            }
            Heard::Fork { parent, child } if Some(parent) == self.ignored => {
                self.unloaded.insert(child);
            }
            Heard::Fork { parent, child } => {
                self.parents.insert(child, parent);
                if !self.sharers.is_empty() {
                    self.unlooked.push(child);
                }
                if let Some(name) = self.names.get(&parent).cloned() {
                    self.names.entry(child).or_insert(name);
                }
            }
            Heard::Placed { thread, cpus } => {
                self.cpus.insert(thread, cpus);
            }
            Heard::Program { process, name, is_go } => {
                self.unloaded.remove(&process);
                if is_go {
                    self.of_go.insert(process);
                } else {
                    self.of_go.remove(&process);
                }
                self.name(process, name);
            }
        }
    }

    /// Tells both directions of a System V queue apart, where two processes ask and answer over one: each takes what the other
    /// has given.
    pub(super) fn part_queues(&mut self) {
        let is_queue = |object: &Object| object.kind == Kind::Queue;
        let mut users: HashMap<u64, BTreeSet<u32>> = HashMap::new();
        for call in &self.calls {
            if self.objects.get(&call.object).is_some_and(is_queue) {
                users.entry(call.object).or_default().insert(call.process);
            }
        }
        users.retain(|_, users| users.len() == 2);
        for call in &mut self.calls {
            let Some(users) = users.get(&call.object) else { continue };
            let is_giver =
                |user: &&u32| (**user == call.process) == matches!(call.act(), Act::Wrote(_));
            let Some(giver) = users.iter().find(is_giver) else { continue };
            let id = call.object | u64::from(*giver) << 32;
            if let Some(queue) = self.objects.get(&call.object).cloned() {
                self.objects.entry(id).or_insert(Object { id, ..queue });
            }
            call.object = id;
        }
    }

    pub(super) fn name(&mut self, process: u32, name: String) {
        self.names.insert(process, name);
    }

    pub(super) fn is_full(&self) -> bool {
        self.calls.len() >= MOST
    }

    /// The program of a process.
    pub(super) fn program(&self, process: u32) -> &str {
        self.names.get(&process).map_or("?", String::as_str)
    }

    /// Processes that were heard of.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        self.names.keys().copied().filter(|process| Some(*process) != self.ignored)
    }

    /// The kind of what calls are about, as channels are called; `None` for what is none.
    pub(super) fn kind(&self, object: u64) -> Option<&'static str> {
        let queue = self.queues.contains(&object).then_some("posix-mq");
        self.objects.get(&object)?.channel().or(queue)
    }

    /// What a call is about is a file or a terminal.
    pub(super) fn is_file(&self, object: u64) -> bool {
        let object = self.objects.get(&object);
        object.is_some_and(|one| one.kind == Kind::Other && !one.name.starts_with('['))
    }

    /// What was there and is not seen.
    pub(super) fn unseen(&self) -> BTreeMap<String, u64> {
        let mut unseen = BTreeMap::new();
        for what in self.calls.iter().filter_map(Call::hides) {
            *unseen.entry(what.to_owned()).or_default() += 1;
        }
        unseen
    }
}
