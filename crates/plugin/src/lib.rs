//! Mechanisms that come from shared libraries: `ipcperf run -m ./libmine.so`.
//!
//! `include/ipcperf.h` is the interface; docs/PLUGINS.md explains it. A plug-in is loaded by its own process (`process`), which
//! answers for its facts and holds what it opens, and by the workers of a slice, where `port` moves messages. The coordinator
//! loads nothing.

mod calls;
mod commands;
mod declared;
mod helper;
mod port;
mod process;
mod python;
mod trail;

pub use commands::COMMANDS;

use calls::{Cables, Library, Setup, TransportEnd};
use declared::{Declared, kept};
use ipcperf_core::digest::{hex, sha256};
use ipcperf_core::{
    Attach, DynPort, Knob, Lends, Limit, Link, Missing, Namespaces, OptionError, OptionSet, Seat,
    SetupError, Shape, Spec, options,
};
use ipcperf_engine::job::{Failure, SideReport};
use ipcperf_engine::plugins;
use ipcperf_engine::registry::{self, AnyMechanism, Driven, Entry, Loader};
use ipcperf_kit::output;
use ipcperf_sys::file;
use port::PluginPort;
use process::{Held, PluginRequest, Probed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trail::Trail;

/// Gives a program plug-ins: [`registry::Registry::with_plugins`].
pub static LOADER: Loader =
    Loader { declared, entry, own_pipe, host: python::host, serve: process::serve };

/// What the plug-in in a file declares.
fn declared(path: &Path) -> Result<Value, Missing> {
    let shown = path.display();
    let unreadable =
        |error: io::Error| Missing::new(format!("plug-in {shown}: {}", output::words(&error)), "");
    let path = fs::canonicalize(path).map_err(unreadable)?;
    // Before the digest: what changes while the file is read is another version than the one whose bytes it has.
    let version = process::version(&path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let (mut file, _) = file::regular(&path).map_err(unreadable)?;
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let known = Declared {
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        sha256: hex(&sha256(&bytes)),
        version,
        path,
        ..Declared::default()
    };
    let told: Declared = process::ask(&known, &PluginRequest::Declare)
        .map_err(|what| Missing::new(format!("plug-in {what}"), ""))?;
    let named = |missing: Missing| {
        Missing::new(format!("plug-in {}: {}", known.file, missing.what), missing.how)
    };
    // What is wrong with its facts is said where it is named.
    told.spec().and_then(|_| told.knobs()).map_err(named)?;
    serde_json::to_value(told).map_err(|error| Missing::new(error.to_string(), ""))
}

/// What the pipe declares that is part of this program.
fn own_pipe() -> Result<Value, Missing> {
    let declared = Library::own_pipe().declared().map_err(|what| Missing::new(what, ""))?;
    let declared = Declared { file: calls::NAME.into(), is_own_pipe: true, ..declared };
    serde_json::to_value(declared).map_err(|error| Missing::new(error.to_string(), ""))
}

/// The mechanism that it declares.
fn entry(declared: &Value) -> Result<Entry, Missing> {
    let declared: Declared = serde_json::from_value(declared.clone())
        .map_err(|error| Missing::new(error.to_string(), ""))?;
    let (spec, knobs) = (declared.spec()?, declared.knobs()?);
    let (file, is_lossy) = (kept(&declared.file), declared.is_lossy);
    let (probed, windows) = (Mutex::default(), Mutex::default());
    let plugin = Plugin { declared, file, spec, knobs, probed, windows };
    Ok(Entry::of_plugin(spec, knobs, Box::leak(Box::new(plugin)), is_lossy))
}

/// Knobs and their values, as they were typed.
type Settings = Vec<(String, String)>;

/// One plug-in.
#[derive(Debug)]
struct Plugin {
    declared: Declared,
    // These live as long as the process, and are made once.
    file: &'static str,
    spec: &'static Spec,
    knobs: &'static [Knob],
    /// What it has answered, by its settings.
    probed: Mutex<BTreeMap<Settings, Probed>>,
    windows: Mutex<BTreeMap<(Settings, usize), Result<u32, String>>>,
}

impl Plugin {
    /// Its own settings, which are in range.
    fn settings(&self, set: &OptionSet) -> Result<Settings, OptionError> {
        let name = self.spec.name;
        let own = set.of(name).map(|(knob, text)| {
            options::check(name, self.knobs, knob, text)?;
            Ok((knob.to_owned(), text.to_owned()))
        });
        own.collect()
    }

    fn probed(&self, set: &OptionSet) -> Result<Probed, OptionError> {
        let settings = self.settings(set)?;
        if !self.declared.probes {
            return Ok(Probed { lacks: None, limit: 0 });
        }
        let mut known = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = known.entry(settings).or_insert_with(|| {
            let answer = process::ask(&self.declared, &PluginRequest::Probe(set.clone()));
            answer.unwrap_or_else(|fault| Probed { lacks: Some(fault), limit: 0 })
        });
        Ok(answer.clone())
    }

    /// Becomes an end of it.
    fn end(&self, end: Attach<'_, OptionSet>) -> Result<TransportEnd, SetupError> {
        let Attach { mut wiring, seat, shape, options: set, meet } = end;
        let fd = wiring.fds.pop();
        let fd = fd.ok_or_else(|| SetupError::Protocol("no memory for a trail".into()))?;
        let trail = Trail::take_over(fd).map_err(SetupError::io("standard error"))?;
        let library = process::load(&self.declared, &trail)?;
        let host = process::host(Some(shape), None);
        host.meet.replace(Some(meet));
        let settings = process::settings(&self.declared, self.knobs, set)?;
        let setup = Setup {
            host: &host,
            message_bytes: shape.size as u64,
            is_lead: seat == Seat::Lead,
            settings,
        };
        let file = &self.declared.file;
        TransportEnd::attach(library, &setup, Cables::of_wiring(wiring), trail).map_err(
            |(is_unavailable, reason)| match is_unavailable {
                true => Missing::new(format!("{file}: {reason}"), "").into(),
                false => SetupError::Protocol(format!("{file}: {reason}")),
            },
        )
    }

    /// Messages under way, or what went wrong in the process that was asked.
    fn windowed(&self, size: usize, set: &OptionSet) -> Result<Result<u32, String>, OptionError> {
        let settings = self.settings(set)?;
        if !self.declared.windows {
            return Ok(Ok(0));
        }
        let mut known = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = known.entry((settings, size)).or_insert_with(|| {
            process::ask(&self.declared, &PluginRequest::Window(set.clone(), size))
        });
        Ok(answer.clone())
    }

    /// Measures over a port of it.
    fn measured<const LOSSY: bool>(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure> {
        let Driven { wiring, job, page, context } = driven;
        let end = self.end(job.end(wiring, context))?;
        let mut port = PluginPort::<LOSSY>::new(end, &job.shape, false)?;
        registry::measure_over(&mut port, self.declared.lends(), job, page, context)
    }
}

impl AnyMechanism for Plugin {
    fn probe(&self, set: &OptionSet) -> Result<Result<(), Missing>, OptionError> {
        let lacks = self.probed(set)?.lacks;
        Ok(lacks.map_or(Ok(()), |lacks| Err(Missing::new(lacks, ""))))
    }

    fn limit(&self, set: &OptionSet) -> Result<Option<Limit>, OptionError> {
        let bytes = self.probed(set)?.limit;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok((bytes > 0).then_some(Limit { bytes, set_by: self.file, raise: "" }))
    }

    fn window(&self, size: usize, set: &OptionSet) -> Result<Option<u32>, OptionError> {
        // Why there is no answer is what `open` says.
        Ok(self.windowed(size, set)?.ok().filter(|messages| *messages > 0))
    }

    fn lends(&self, set: &OptionSet) -> Result<[Lends; 2], OptionError> {
        self.settings(set)?;
        Ok(self.declared.lends())
    }

    fn shares(&self, set: &OptionSet) -> Result<Namespaces, OptionError> {
        self.settings(set)?;
        Ok(self.spec.shares)
    }

    fn open(&self, shape: &Shape, set: &OptionSet) -> Result<Link, SetupError> {
        if shape.is_apart || !shape.network.is_loopback() {
            let what = "a plug-in cannot be set up across namespaces";
            return Err(Missing::new(what, "measure it without --follow-in and --net").into());
        }
        let refused = |error: OptionError| SetupError::Protocol(error.to_string());
        self.windowed(shape.size, set).map_err(refused)?.map_err(SetupError::Protocol)?;
        let trails = [Trail::create()?, Trail::create()?];
        let (held, ([mut lead, mut follow], effective)) = Held::open(&self.declared, set, shape)?;
        lead.fds.push(trails[0].fd()?);
        follow.fds.push(trails[1].fd()?);
        let trail: Box<dyn ipcperf_core::Trail> = Box::new(OpenChannel { held, trails });
        Ok(Link { lead, follow, guards: Vec::new(), effective, trail: Some(trail) })
    }

    fn attach(&self, end: Attach<'_, OptionSet>) -> Result<Box<dyn DynPort>, SetupError> {
        let shape = end.shape.clone();
        let (end, is_fleeting) = (self.end(end)?, plugins::sends_fleeting_memory());
        Ok(match self.declared.is_lossy {
            true => Box::new(PluginPort::<true>::new(end, &shape, is_fleeting)?),
            false => Box::new(PluginPort::<false>::new(end, &shape, is_fleeting)?),
        })
    }

    fn drive(&self, driven: Driven<'_, '_>) -> Result<SideReport, Failure> {
        match self.declared.is_lossy {
            true => self.measured::<true>(driven),
            false => self.measured::<false>(driven),
        }
    }
}

/// The event that has the CPU time of a helper while its channel was open, warm-up included.
const HELPER_TIME: &str = "us of CPU time in its helper";

/// A channel that is open, and what its ends leave.
#[derive(Debug)]
struct OpenChannel {
    held: Held,
    trails: [Trail; 2],
}

impl ipcperf_core::Trail for OpenChannel {
    fn call(&self, seat: Seat) -> Option<&'static str> {
        self.trails[seat.index()].call()
    }

    fn written(&self, seat: Seat) -> String {
        self.trails[seat.index()].written()
    }

    fn close(&mut self) -> Result<BTreeMap<String, u64>, String> {
        let used = self.held.close()?;
        Ok(used.map(|ns| (HELPER_TIME.to_owned(), ns / 1000)).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_was_answered_costs_no_memory() {
        let declared = Declared { name: "mine".into(), probes: true, ..Declared::default() };
        let entry = entry(&serde_json::to_value(&declared).expect("JSON")).expect("facts");
        let (file, spec, knobs) = (kept("mine.so"), entry.spec, entry.knobs);
        let probed = Probed { lacks: None, limit: 64 };
        let probed = Mutex::new([(Vec::new(), probed)].into());
        let plugin = Plugin { declared, file, spec, knobs, probed, windows: Mutex::default() };
        for _ in 0..2 {
            let limit = plugin.limit(&OptionSet::default()).expect("no knobs").expect("a limit");
            assert!(std::ptr::eq(limit.set_by, file) && limit.bytes == 64);
        }
    }
}
