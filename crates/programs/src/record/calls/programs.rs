//! The programs that the kernel runs at system calls, forks and ends of the processes that are recorded: `programs.bpf.c`,
//! compiled by `.ci/bpf`, and fitted to the running kernel by what that says of its types (BTF).

use super::bpf::{self, Map};
use super::event::Class;
use aya_obj::btf::{Btf, BtfKind};
use aya_obj::{EbpfSectionKind, Object};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::os::fd::{AsRawFd, OwnedFd};
use std::{fs, io, mem};

/// Where the kernel says what its types look like.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Bytes at a place from which the numbers in them can be read.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("programs.bpf.o"));

/// The tracepoints, which the programs are named after, in the order in which the programs begin.
const POINTS: [&str; 4] = ["sched_process_fork", "sched_process_exit", "sys_exit", "sys_enter"];

/// A PID namespace: the device and the number of its file, as the kernel has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) device: u64,
    pub(super) number: u64,
}

/// The programs in the kernel, and their maps.
#[derive(Debug)]
pub(super) struct Programs {
    /// By their names in `programs.bpf.c`.
    maps: HashMap<String, Map>,
    /// The programs run for as long as these are open.
    links: Vec<OwnedFd>,
}

impl Programs {
    /// Loads the programs, and lets them run. They know processes by their numbers in a PID namespace, `None` being that of
    /// the host, and of each call the class.
    ///
    /// # Errors
    /// The kernel's; `Unsupported` where it lacks what the programs need.
    pub(super) fn load(
        within: Option<Within>,
        class_of: impl Fn(u32) -> Option<Class>,
    ) -> io::Result<Self> {
        let mut object = Object::parse(&OBJECT.0).map_err(unsupported)?;
        if let Some(Within { device, number }) = within {
            let [device, number] = [device, number].map(u64::to_ne_bytes);
            let globals = [("namespace_device", &device), ("namespace_inode", &number)];
            let globals = globals.map(|(name, value)| (name, (&value[..], true)));
            object.patch_map_data(HashMap::from(globals)).map_err(unsupported)?;
        }
        let described = mem::take(&mut object.maps);
        // A missing right shows here, before anything that takes time.
        let maps = described.iter().map(|(name, map)| Ok((name.clone(), made(map)?)));
        let mut programs = Self { maps: maps.collect::<io::Result<_>>()?, links: Vec::new() };
        let classes = programs.map("classes")?;
        for number in 0..classes.most() {
            if let Some(Class(bits)) = class_of(number) {
                classes.update(&number.to_ne_bytes(), &[bits])?;
            }
        }
        let types = fs::read(TYPES).map_err(|error| {
            let why = format!("this kernel does not describe its types at {TYPES} ({error})");
            io::Error::new(io::ErrorKind::Unsupported, why)
        })?;
        let types = Btf::parse(&types, object.endianness).map_err(unsupported)?;
        object.relocate_btf(&types).map_err(unsupported)?;
        let places = described.iter().filter_map(|(name, map)| {
            Some((name.as_str(), programs.maps.get(name)?.as_raw_fd(), map))
        });
        // The compiler has put every function into the programs that call it.
        object.relocate_maps(places, &HashSet::new()).map_err(unsupported)?;
        for point in POINTS {
            let context = types
                .id_by_type_name_kind(&format!("btf_trace_{point}"), BtfKind::Typedef)
                .map_err(unsupported)?;
            let key = object.programs.get(point).map(|program| program.function_key());
            let program = key.and_then(|key| object.functions.get(&key));
            let program = program.ok_or(io::ErrorKind::InvalidData)?;
            let link = bpf::attach(point, context, &program.instructions, &object.license)?;
            programs.links.push(link);
        }
        Ok(programs)
    }

    /// A map, by its name in `programs.bpf.c`.
    ///
    /// # Errors
    /// There is none of that name.
    pub(super) fn map(&self, name: &str) -> io::Result<&Map> {
        self.maps.get(name).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// A map as it is described. What programs only read is constant: the verifier leaves out what the constants exclude.
fn made(described: &aya_obj::Map) -> io::Result<Map> {
    let map = Map::new(
        described.map_type(),
        [described.key_size(), described.value_size()],
        described.max_entries(),
        described.map_flags(),
    )?;
    if described.section_kind() == EbpfSectionKind::Rodata {
        map.update(&0_u32.to_ne_bytes(), described.data())?;
        map.freeze()?;
    }
    Ok(map)
}

/// What the loader says of this kernel, with its reasons.
fn unsupported(error: impl Error) -> io::Error {
    let mut why = format!("the programs do not fit this kernel: {error}");
    let mut reason = error.source();
    while let Some(error) = reason {
        why += &format!(": {error}");
        reason = error.source();
    }
    io::Error::new(io::ErrorKind::Unsupported, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within a PID namespace programs take other ways, which the verifier looks at only if they may be taken.
    #[test]
    fn the_verifier_takes_every_program_within_a_namespace_and_outside() {
        for within in [None, Some(Within { device: 4, number: 5 })] {
            match Programs::load(within, |_| Some(Class(Class::RECORDED))) {
                Ok(programs) => assert_eq!(programs.links.len(), POINTS.len()),
                Err(error) => ipcperf_sys::skipped::skipped("bpf", error),
            }
        }
    }

    #[test]
    fn the_object_has_every_program_and_map_that_is_asked_for() {
        let object = Object::parse(&OBJECT.0).expect("an object");
        assert_eq!(object.license.to_str(), Ok("Dual MIT/GPL"));
        assert!(POINTS.iter().all(|point| object.programs.contains_key(*point)));
        for name in ["processes", "classes", "lost", "events", ".rodata"] {
            assert!(object.maps.contains_key(name), "{name}");
        }
        assert!(object.has_btf_relocations());
    }
}
