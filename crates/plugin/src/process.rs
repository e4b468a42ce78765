//! The process of a plug-in: what is foreign is called there and never in the coordinator. It answers one question and ends,
//! or holds an open channel.

use crate::calls::{Cables, HostContext, Library, Setup};
use crate::declared::Declared;
use crate::helper::{self, Helper};
use crate::trail::Trail;
use ipcperf_core::{Knob, KnobValue, Missing, OptionSet, SetupError, Shape, Wiring, options};
use ipcperf_engine::job::Failure;
use ipcperf_engine::plugins::{self, TASK};
use ipcperf_engine::protocol::{Order, Word};
use ipcperf_engine::task::{SUBCOMMAND, WorkerContext};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::control::{Parcel, wait_any};
use ipcperf_sys::io::names::PosixMemories;
use ipcperf_sys::process::{Worker, describe_end, own_pid};
use ipcperf_sys::program;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long each call may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long `close` may take, and the process until it has ended.
const CLOSES: Duration = Duration::from_secs(1);
/// For the end of a helper that was killed.
const RESERVE: Duration = Duration::from_millis(500);

/// What the process is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PluginRequest {
    /// What the plug-in says of itself.
    Declare,
    /// Whether this host can run it, and its limit.
    Probe(OptionSet),
    /// Messages of this size under way before a credit is needed.
    Window(OptionSet, usize),
    /// To open a channel, and to hold it.
    Open(OptionSet, Box<Shape>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Params {
    declared: Declared,
    question: PluginRequest,
}

/// What `probe` and `limit` said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Probed {
    pub(crate) lacks: Option<String>,
    pub(crate) limit: u64,
}

/// An open channel, in words: what each end gets is in the descriptors, the lead's first.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenedChannel {
    lead_fds: usize,
    words: [Vec<u64>; 2],
    granted: Vec<(String, KnobValue)>,
}

/// The process, as its coordinator sees it. Dropping it kills it.
#[derive(Debug)]
struct Process {
    worker: Worker,
    trail: Trail,
    file: String,
}

impl Process {
    fn start(declared: &Declared, question: &PluginRequest) -> Result<Self, SetupError> {
        let failed = SetupError::io("the process of a plug-in");
        let trail = Trail::create()?;
        let fd = trail.fd()?;
        let params = Params { declared: declared.clone(), question: question.clone() };
        let started = || -> io::Result<Worker> {
            let worker = Worker::start(&[SUBCOMMAND, &own_pid().to_string()], 0)?;
            let params = serde_json::to_value(&params)?;
            let order = Order::Task { name: TASK.to_owned(), params, plugins: Vec::new() };
            worker.control().send(&serde_json::to_string(&order)?, &[fd.as_fd()])?;
            Ok(worker)
        };
        let worker = started().map_err(failed)?;
        Ok(Self { worker, trail, file: declared.file.clone() })
    }

    /// Waits for its next word.
    fn hear(&mut self, patience: Duration) -> Result<(Word, Vec<OwnedFd>), String> {
        let until = Instant::now() + patience;
        match self.worker.control().receive(Some(until)) {
            Ok(Parcel { text, fds }) => match serde_json::from_str(&text) {
                Ok(Word::Panicked(why)) => Err(format!("{}: {why}", self.file)),
                Ok(word) => Ok((word, fds)),
                Err(error) => Err(format!("{}: {error}", self.file)),
            },
            Err(error) => Err(self.silent(&error, until, patience)),
        }
    }

    /// Why it says nothing. Its code may have closed the channel and live on, so that its end is not waited for without limit.
    fn silent(&mut self, error: &io::Error, until: Instant, patience: Duration) -> String {
        let is_closed = error.kind() == io::ErrorKind::UnexpectedEof;
        let has_ended = is_closed
            && wait_any(&[self.worker.pidfd()], until).is_ok_and(|ended| ended.contains(&true));
        let call = self.trail.call();
        let within = call.map_or_else(String::new, |call| format!(" in {call}"));
        if has_ended {
            let end = self.worker.wait().map_or_else(|error| error.to_string(), describe_end);
            return self.explained(&format!("its process ended{within}: {end}"));
        }
        self.worker.kill();
        let seconds = patience.as_secs();
        self.explained(&match error.kind() {
            io::ErrorKind::TimedOut => {
                format!("{} has not returned after {seconds} s", call.unwrap_or("the process"))
            }
            io::ErrorKind::UnexpectedEof => format!(
                "its process closed its channel to ipcperf{within}, and has not ended after {seconds} s"
            ),
            _ => format!("the channel of its process: {error}"),
        })
    }

    fn explained(&self, what: &str) -> String {
        let written = self.trail.written();
        let more =
            if written.is_empty() { String::new() } else { format!("; it wrote: {written}") };
        format!("{}: {what}{more}", self.file)
    }

    /// What it found out, after which it ends.
    fn done<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        match self.hear(PATIENCE)?.0 {
            Word::Done(value) => {
                serde_json::from_value(value).map_err(|error| format!("{}: {error}", self.file))
            }
            Word::Failed(Failure { reason, .. }) => Err(self.explained(&reason)),
            _ => Err(format!("{}: its process said something else", self.file)),
        }
    }
}

/// Asks in a process that ends with the answer.
pub(crate) fn ask<T: DeserializeOwned>(
    declared: &Declared,
    question: &PluginRequest,
) -> Result<T, String> {
    Process::start(declared, question).map_err(|error| error.to_string())?.done()
}

/// A channel that such a process holds.
#[derive(Debug)]
pub(crate) struct Held {
    process: Option<Process>,
    has_helper: bool,
    // Dropped last: whatever the process and the ends have left by name.
    _memories: Option<PosixMemories>,
    _files: Option<Files>,
}

/// Files of a channel in the directory of its run, by how their names begin. A killed run leaves them to the next one, with the
/// whole directory.
#[derive(Debug)]
struct Files {
    directory: PathBuf,
    prefix: String,
}

impl Drop for Files {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(self.prefix.as_bytes()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// What was opened: what each end gets, and values that were granted.
pub(crate) type Given = ([Wiring; 2], Vec<(String, KnobValue)>);

impl Held {
    /// Opens a channel.
    pub(crate) fn open(
        declared: &Declared,
        set: &OptionSet,
        shape: &Shape,
    ) -> Result<(Self, Given), SetupError> {
        let memories = match &shape.directory {
            Some(directory) => Some(PosixMemories::noted(directory, &shape.name(""))?),
            None => None,
        };
        let files = shape.directory.clone();
        let files = files.map(|directory| Files { directory, prefix: shape.name("") });
        let question = PluginRequest::Open(set.clone(), Box::new(shape.clone()));
        let mut process = Process::start(declared, &question)?;
        let opened = match process.hear(PATIENCE).map_err(SetupError::Protocol)? {
            (Word::Ready(value), fds) => {
                let opened: OpenedChannel = serde_json::from_value(value)
                    .map_err(|error| SetupError::Protocol(error.to_string()))?;
                (opened, fds)
            }
            (Word::Failed(Failure { kind, reason }), _) => {
                let reason = process.explained(&reason);
                return Err(match kind {
                    ipcperf_engine::job::FailureKind::Unavailable => {
                        Missing::new(reason, "").into()
                    }
                    _ => SetupError::Protocol(reason),
                });
            }
            _ => {
                return Err(SetupError::Protocol(
                    "the process of a plug-in said something else".into(),
                ));
            }
        };
        let (OpenedChannel { lead_fds, words: [lead_words, follow_words], granted }, mut fds) =
            opened;
        let follow = Wiring {
            fds: fds.split_off(lead_fds.min(fds.len())),
            names: Vec::new(),
            words: follow_words,
        };
        let lead = Wiring { fds, names: Vec::new(), words: lead_words };
        let has_helper = declared.helper.is_some();
        let held = Self { process: Some(process), has_helper, _memories: memories, _files: files };
        Ok((held, ([lead, follow], granted)))
    }

    /// Lets go of it; returns the CPU time of its helper, ns, or what is wrong.
    pub(crate) fn close(&mut self) -> Result<Option<u64>, String> {
        let Some(mut process) = self.process.take() else { return Ok(None) };
        let go = serde_json::to_string(&Order::Go(Value::Null)).unwrap_or_default();
        // Where it is gone, its end is heard.
        let _ = process.worker.control().send(&go, &[]);
        // A helper may take as long as `close`, and is killed then.
        let patience = if self.has_helper { CLOSES + helper::ENDS + RESERVE } else { CLOSES };
        let used = match process.hear(patience)?.0 {
            Word::Done(used) => used.as_u64(),
            Word::Failed(Failure { reason, .. }) => return Err(process.explained(&reason)),
            _ => return Err(format!("{}: its process said something else", process.file)),
        };
        let until = Instant::now() + CLOSES;
        match wait_any(&[process.worker.pidfd()], until) {
            Ok(ended) if !ended[0] => {
                Err(process.explained("its process has not ended 1 s after close"))
            }
            _ => Ok(used),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Whoever wants to know has asked.
        let _ = self.close();
    }
}

/// What changes if a file does.
pub(crate) fn version(path: &Path) -> io::Result<[i64; 5]> {
    let facts = std::fs::metadata(path)?;
    Ok([
        facts.dev().cast_signed(),
        facts.ino().cast_signed(),
        facts.size().cast_signed(),
        facts.mtime(),
        facts.mtime_nsec(),
    ])
}

/// Loads the library that was declared, and no other; the pipe of this program is there.
pub(crate) fn load(declared: &Declared, trail: &Trail) -> Result<Library, SetupError> {
    if declared.is_own_pipe {
        return Ok(Library::own_pipe());
    }
    let is_same = version(&declared.path).is_ok_and(|now| now == declared.version);
    if !is_same {
        return Err(SetupError::Protocol(format!(
            "{} has changed since the run began",
            declared.file
        )));
    }
    Ok(Library::load(&declared.path, trail)?)
}

/// The settings of a plug-in as it gets them: numbers in digits, flags as `on` and `off`.
pub(crate) fn settings(
    declared: &Declared,
    knobs: &'static [Knob],
    set: &OptionSet,
) -> Result<Vec<(CString, CString)>, SetupError> {
    let name = declared.name.split('/').next().unwrap_or_default();
    let mut settings = Vec::new();
    for (knob, text) in set.of(name) {
        let value = options::check(name, knobs, knob, text)
            .map_err(|error| SetupError::Protocol(error.to_string()))?;
        let value = match value {
            KnobValue::Number(number) => number.to_string(),
            other => other.to_string(),
        };
        let zero = |_| SetupError::Protocol("a knob with a zero byte".into());
        settings.push((CString::new(knob).map_err(zero)?, CString::new(value).map_err(zero)?));
    }
    Ok(settings)
}

/// What a plug-in may know of its channel. Without one there are no names: nothing would remove what has them.
pub(crate) fn host<'a>(shape: Option<&Shape>, deadline: Option<Duration>) -> HostContext<'a> {
    let directory = shape.and_then(|shape| shape.directory.as_deref());
    let directory = directory.map(|path| path.as_os_str().as_bytes().to_vec());
    let prefix = shape.map(|shape| shape.name(""));
    HostContext {
        directory: CString::new(directory.unwrap_or_default()).unwrap_or_default(),
        prefix: CString::new(prefix.unwrap_or_default()).unwrap_or_default(),
        nonce: shape.map_or(0, |shape| shape.nonce),
        deadline_ns: deadline.map_or(0, |patience| monotonic_ns() + patience.as_nanos() as u64),
        meet: RefCell::new(None),
        granted: RefCell::new(Vec::new()),
    }
}

/// The work of the process. What a plug-in has forked would outlive it.
pub(crate) fn serve(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let answer = answer(context);
    match program::end_children() {
        0 => answer,
        left => answer.and(Err(format!("processes left by it: {left}").into())),
    }
}

fn answer(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let Params { declared, question } = context.params()?;
    let fd = context.fds.pop().ok_or_else(|| "no memory for a trail".to_owned())?;
    let trail = Trail::take_over(fd)?;
    // Nothing foreign has run yet.
    let mut own: Vec<RawFd> = plugins::descriptors().into_keys().collect();
    let library = load(&declared, &trail)?;
    let knobs = declared.knobs().map_err(SetupError::from)?;
    match question {
        PluginRequest::Declare => {
            let Declared { file, path, sha256, version, .. } = declared;
            let declared = Declared { file, path, sha256, version, ..library.declared()? };
            let declared = serde_json::to_value(declared)?;
            plugins::fit(&declared).map_err(SetupError::from)?;
            Ok(declared)
        }
        PluginRequest::Probe(set) => {
            let host = host(None, Some(PATIENCE));
            let settings = settings(&declared, knobs, &set)?;
            let setup = Setup { host: &host, message_bytes: 0, is_lead: false, settings };
            let (lacks, limit) = match library.probe(&setup, &trail) {
                Ok(limit) => (None, limit),
                Err(lacks) => (Some(lacks), 0),
            };
            Ok(serde_json::to_value(Probed { lacks, limit })?)
        }
        PluginRequest::Window(set, size) => {
            let host = host(None, Some(PATIENCE));
            let settings = settings(&declared, knobs, &set)?;
            let setup = Setup { host: &host, message_bytes: size as u64, is_lead: false, settings };
            Ok(library.window(&setup, &trail).into())
        }
        PluginRequest::Open(set, shape) => {
            let host = host(Some(&*shape), Some(PATIENCE));
            let settings = settings(&declared, knobs, &set)?;
            let setup =
                Setup { host: &host, message_bytes: shape.size as u64, is_lead: false, settings };
            let before = plugins::descriptors();
            let started = declared.helper.as_ref().map(|helper| {
                let [directory, prefix] =
                    [&host.directory, &host.prefix].map(|text| text.to_string_lossy());
                Helper::start(helper, &directory, &prefix, PATIENCE / 2)
            });
            let helper = started.transpose()?;
            own.extend(plugins::descriptors().into_keys().filter(|fd| !before.contains_key(fd)));
            let (channel, [lead, follow]) =
                library.open(&setup, &own, &trail).map_err(|(is_unavailable, reason)| {
                    if is_unavailable {
                        Failure::from(SetupError::from(Missing::new(reason, "")))
                    } else {
                        reason.into()
                    }
                })?;
            let lead_fds = lead.fds.len();
            let [lead, follow] = [lead, follow].map(Cables::into_wiring);
            let granted = host.granted.take();
            let opened = OpenedChannel { lead_fds, words: [lead.words, follow.words], granted };
            let fds: Vec<OwnedFd> = lead.fds.into_iter().chain(follow.fds).collect();
            let told = context.hand_over(&opened, fds);
            channel.close(&trail);
            told?;
            Ok(helper.map(Helper::end).transpose()?.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_channel_has_a_prefix() {
        let shape = Shape { nonce: 7, ..Shape::default() };
        let of = host(Some(&shape), None);
        assert_eq!((of.prefix.to_str(), of.nonce), (Ok("ipcperf-0000000000000007-"), 7));
        let none = host(None, None);
        assert!(none.prefix.is_empty() && none.directory.is_empty());
    }
}
