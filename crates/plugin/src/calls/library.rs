//! A loaded library, and what its own process calls.

use super::abi::{self, ABI, FactTable, Knob, Own, Transport};
use super::codes;
use super::host::{Cables, Setup};
use super::hosted;
use super::pipes;
use super::words::text;
use crate::declared::{Declared, DeclaredKnob};
use crate::helper::DeclaredHelper;
use crate::trail::{Trail, TransportCall};
use ipcperf_core::Missing;
use std::ffi::{CStr, CString};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::Ordering;

/// As many knobs as a plug-in may declare.
const MOST_KNOBS: usize = 64;

/// The code of an exception that has no code of its own.
const OTHER: i32 = -libc::EPROTO;

/// What every plug-in has to have.
const SYMBOL: &CStr = c"ipcperf_transport_v1";

/// A plug-in in the memory of this process, where it stays: code of it may run until the process ends.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    pub(super) table: Transport,
}

impl Library {
    /// The pipe that is part of this program.
    pub(crate) fn own_pipe() -> Self {
        Self { table: pipes::TRANSPORT }
    }

    /// Loads it, and looks for all that it must have.
    pub(crate) fn load(path: &Path, trail: &Trail) -> Result<Self, Missing> {
        let note = |call: TransportCall| trail.word().store(call as u32, Ordering::Relaxed);
        note(TransportCall::Load);
        let table = match hosted::transport() {
            // SAFETY: it takes nothing.
            Some(transport) => unsafe { transport() },
            None => {
                let transport = Self::symbol(path)?;
                note(TransportCall::Transport);
                // SAFETY: as above.
                unsafe { transport() }
            }
        };
        trail.word().store(0, Ordering::Relaxed);
        if table.is_null() {
            let what = if hosted::is_hosted() {
                "it has no transport"
            } else {
                "ipcperf_transport_v1 returned NULL"
            };
            return Err(Missing::new(what, ""));
        }
        // SAFETY: the struct begins with its size, and every version has its first three members.
        let table = unsafe {
            let version = (&raw const (*table).abi).read();
            if version != ABI {
                let what =
                    format!("it has version {version} of the interface; this ipcperf has {ABI}");
                return Err(Missing::new(what, "compile it with the header of this ipcperf"));
            }
            whole(table, (&raw const (*table).size).read())
        };
        let required = [
            ("facts", !table.facts.is_null()),
            ("attach", table.attach.is_some()),
            ("detach", table.detach.is_some()),
            ("send", table.send.is_some()),
            ("recv", table.recv.is_some()),
        ];
        let pairs = [
            ("commit", table.reserve.is_none() || table.commit.is_some()),
            ("abort", table.reserve.is_none() || table.abort.is_some()),
            ("release", table.peek.is_none() || table.release.is_some()),
            ("close", table.open.is_none() || table.close.is_some()),
        ];
        if let Some((name, _)) = required.iter().chain(&pairs).find(|(_, is_there)| !is_there) {
            return Err(Missing::new(format!("its table has no '{name}'"), "set that member"));
        }
        Ok(Self { table })
    }

    /// The function of a shared library that returns the table.
    fn symbol(path: &Path) -> Result<hosted::MakeTransport, Missing> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Missing::new("its path has a zero byte", ""))?;
        // SAFETY: a text that ends with a zero. What its constructors do is the plug-in's affair.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure there is a text, valid until the next call of its family; NULL is looked for.
            let text = unsafe { text(libc::dlerror()) }.unwrap_or_default();
            return Err(Missing::new(format!("it cannot be loaded: {text}"), ""));
        }
        // SAFETY: a handle that was just opened, and a text.
        let symbol = unsafe { libc::dlsym(handle, SYMBOL.as_ptr()) };
        if symbol.is_null() {
            return Err(Missing::new(
                "it has no function ipcperf_transport_v1",
                "export it as 'ipcperf help plugins' says (extern \"C\" in C++)",
            ));
        }
        // SAFETY: the header declares the symbol with this type.
        Ok(unsafe { std::mem::transmute::<*mut libc::c_void, hosted::MakeTransport>(symbol) })
    }

    /// Its facts as it has them.
    fn facts(&self) -> FactTable {
        // SAFETY: not NULL (looked for when it was loaded), and static.
        unsafe { whole(self.table.facts, (&raw const (*self.table.facts).size).read()) }
    }

    /// Whether its ends never sleep.
    pub(super) fn spins(&self) -> bool {
        self.facts().wait == abi::WAIT_SPIN
    }

    /// What it says of itself.
    pub(crate) fn declared(&self) -> Result<Declared, String> {
        let facts = self.facts();
        let mut knobs = Vec::new();
        if !facts.knobs.is_null() {
            let (count, stride) = (facts.knob_count as usize, facts.knob_stride as usize);
            if count > MOST_KNOBS {
                return Err(format!("its facts have {count} knobs; {MOST_KNOBS} are the most"));
            }
            if count > 0 && stride < size_of::<usize>() {
                return Err(format!(
                    "its facts have knob_stride = {stride}; set it to sizeof(ipcperf_knob)"
                ));
            }
            for index in 0..count {
                // SAFETY: the plug-in gives their number and size.
                let knob: Knob = unsafe {
                    let at = facts.knobs.byte_add(index * stride);
                    whole(at, (&raw const (*at).size).read())
                };
                // SAFETY: texts that end with a zero, or NULL.
                let [name, help, fallback, words] = unsafe {
                    [text(knob.name), text(knob.help), text(knob.fallback), text(knob.words)]
                };
                knobs.push(DeclaredKnob {
                    name: name.unwrap_or_default(),
                    help: help.unwrap_or_default(),
                    fallback: fallback.unwrap_or_default(),
                    kind: knob.kind,
                    min: knob.min,
                    max: knob.max,
                    words: words.unwrap_or_default(),
                });
            }
        }
        // SAFETY: texts that end with a zero, or NULL.
        let [name, summary, needs, over, helper, ready] = unsafe {
            [facts.name, facts.summary, facts.needs, facts.over, facts.helper, facts.helper_ready]
                .map(|member| text(member))
        };
        let helper = helper.filter(|command| !command.trim().is_empty());
        let has = |flag| facts.flags & flag != 0;
        if facts.flags & !abi::FLAGS != 0 {
            return Err(format!("flags: {:#x} are not known", facts.flags & !abi::FLAGS));
        }
        let declared = Declared {
            name: name.unwrap_or_default(),
            summary: summary.unwrap_or_default(),
            needs,
            over,
            helper: helper
                .map(|command| DeclaredHelper { command, ready: ready.unwrap_or_default() }),
            wait: facts.wait,
            payload: facts.payload,
            back_pressure: facts.back_pressure,
            on_close: facts.on_close,
            on_death: facts.on_death,
            reach: facts.reach,
            copies: facts.copies,
            is_lossy: has(abi::LOSSY),
            is_two_way: has(abi::TWO_WAY),
            many_producers: has(abi::MANY_PRODUCERS),
            many_consumers: has(abi::MANY_CONSUMERS),
            threads: has(abi::THREADS),
            calls: has(abi::CALLS),
            fresh: has(abi::FRESH),
            private: has(abi::PRIVATE),
            stays: has(abi::STAYS),
            reserves: self.table.reserve.is_some(),
            peeks: self.table.peek.is_some(),
            probes: self.table.probe.is_some() || self.table.limit.is_some(),
            windows: self.table.window.is_some(),
            knobs,
            ..Declared::default()
        };
        declared.fits().map(|()| declared)
    }

    /// What it says of its last code outside of an end.
    fn reason(&self, trail: &Trail) -> String {
        reason(&self.table, ptr::null_mut(), trail).unwrap_or_default()
    }

    /// Whether this host can run it, and its limit in bytes; 0 is none.
    pub(crate) fn probe(&self, setup: &Setup<'_>, trail: &Trail) -> Result<u64, String> {
        if let Some(probe) = self.table.probe {
            trail.word().store(TransportCall::Probe as u32, Ordering::Relaxed);
            // SAFETY: the setup is valid during the call.
            let code = setup.lent(|setup| unsafe { probe(setup) });
            if code != abi::OK {
                return Err(self.refused("probe", code, trail));
            }
        }
        let limit = self.table.limit.map_or(0, |limit| {
            trail.word().store(TransportCall::Limit as u32, Ordering::Relaxed);
            // SAFETY: as above.
            setup.lent(|setup| unsafe { limit(setup) })
        });
        trail.word().store(0, Ordering::Relaxed);
        Ok(limit)
    }

    /// Messages under way before a credit is needed; 0 where none is.
    pub(crate) fn window(&self, setup: &Setup<'_>, trail: &Trail) -> u32 {
        let window = self.table.window.map_or(0, |window| {
            trail.word().store(TransportCall::Window as u32, Ordering::Relaxed);
            // SAFETY: the setup is valid during the call.
            setup.lent(|setup| unsafe { window(setup) })
        });
        trail.word().store(0, Ordering::Relaxed);
        window
    }

    /// Opens a channel; what each end gets. It cannot give those that `own` has.
    pub(crate) fn open(
        &self,
        setup: &Setup<'_>,
        own: &[RawFd],
        trail: &Trail,
    ) -> Result<(Channel, [Cables; 2]), (bool, String)> {
        let mut channel = Channel { library: *self, own: ptr::null_mut() };
        let Some(open) = self.table.open else {
            return Ok((channel, [Cables::default(), Cables::default()]));
        };
        let mut wirings = [Cables::default().raw(), Cables::default().raw()];
        trail.word().store(TransportCall::Open as u32, Ordering::Relaxed);
        // SAFETY: all of it is valid during the call.
        let code =
            setup.lent(|setup| unsafe { open(setup, &raw mut channel.own, wirings.as_mut_ptr()) });
        if code != abi::OK {
            return Err((code == abi::UNAVAILABLE, self.refused("open", code, trail)));
        }
        trail.word().store(0, Ordering::Relaxed);
        // SAFETY: the header says that descriptors that `open` gives are ours from here on.
        match unsafe { Cables::given(&wirings, own) } {
            Ok(both) => Ok((channel, both)),
            Err(why) => {
                channel.close(trail);
                Err((false, format!("open: {why}")))
            }
        }
    }

    pub(super) fn refused(&self, call: &str, code: i32, trail: &Trail) -> String {
        let reason = self.reason(trail);
        trail.word().store(0, Ordering::Relaxed);
        match (code, reason.is_empty()) {
            (abi::UNAVAILABLE, false) => reason,
            // What has no code of its own has only words.
            (OTHER, false) => format!("{call}: {reason}"),
            (_, false) => format!("{call}: {}: {reason}", codes::text(code)),
            (_, true) => format!("{call}: {}", codes::text(code)),
        }
    }
}

/// What `open` has made.
pub(crate) struct Channel {
    library: Library,
    own: Own,
}

impl Channel {
    /// Removes it.
    pub(crate) fn close(self, trail: &Trail) {
        if let Some(close) = self.library.table.close {
            trail.word().store(TransportCall::Close as u32, Ordering::Relaxed);
            // SAFETY: what `open` has returned, once.
            unsafe { close(self.own) };
            trail.word().store(0, Ordering::Relaxed);
        }
    }
}

/// What a plug-in says of the last code of an end, or of none.
pub(super) fn reason(table: &Transport, own: Own, trail: &Trail) -> Option<String> {
    let reason = table.reason?;
    trail.word().store(TransportCall::Reason as u32, Ordering::Relaxed);
    // SAFETY: an end that is attached, or NULL; what it returns is a text, or NULL, until the next call.
    unsafe { text(reason(own)) }
}

/// Copies a struct of `size` bytes from the plug-in; members that an older plug-in lacks are zero.
///
/// # Safety
/// That number of bytes is there, and all members of `T` may be zero.
unsafe fn whole<T>(from: *const T, size: usize) -> T {
    let mut whole = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes are there, and no more than there is room for are copied; the rest is zero.
    unsafe {
        let to = whole.as_mut_ptr().cast::<u8>();
        ptr::copy_nonoverlapping(from.cast::<u8>(), to, size.min(size_of::<T>()));
        whole.assume_init()
    }
}
