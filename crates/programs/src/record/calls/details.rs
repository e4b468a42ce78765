//! What the memory behind the arguments of a call says, where programs are stopped at each call and looked at closely.

use super::memory::read;
use ipcperf_sys::trace::Returned;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Above the place where the kernel stores a time: how much of the stack is searched for the address to which the function
/// returns that has read the clock, B. Frames of such functions have up to 200 B.
const FRAME: usize = 512;

/// `struct timespec`, B.
const TIME: u64 = 16;

/// Parts of the memory of each process that hold code of files. Code that is compiled at run time moves and is not among them.
#[derive(Debug, Default)]
pub(super) struct Details {
    code: HashMap<u32, Vec<Code>>,
}

/// A part of the memory of a process that holds code of a file.
#[derive(Debug)]
struct Code {
    addresses: Range<u64>,
    /// What is to be added to an address, so that it is the same number in all processes.
    shift: u64,
}

impl Details {
    /// The first four arguments of a call, with what was found in place of pointers that say nothing: see [`Call::arguments`].
    ///
    /// [`Call::arguments`]: super::Call::arguments
    pub(super) fn arguments(&mut self, process: u32, call: &Returned) -> [u64; 4] {
        let [a, b, c, d, file, _] = call.arguments;
        match call.number {
            libc::SYS_execve | libc::SYS_execveat if call.result == 0 => {
                self.code.remove(&process);
            }
            // A library was loaded.
            libc::SYS_mmap
                if c & u64::from(libc::PROT_EXEC.cast_unsigned()) != 0 && file as i32 >= 0 =>
            {
                self.code.remove(&process);
            }
            libc::SYS_clock_gettime | libc::SYS_getrusage => {
                return [a, b, self.caller(process, b), d];
            }
            libc::SYS_gettimeofday | libc::SYS_times => {
                return [a, a, self.caller(process, a), d];
            }
            libc::SYS_nanosleep => return [a, b, c, time(process, a).unwrap_or(0)],
            libc::SYS_clock_nanosleep => return [a, b, c, time(process, c).unwrap_or(0)],
            libc::SYS_setsockopt => {
                let value = read(process, d, 4).and_then(|bytes| bytes.try_into().ok());
                return [a, b, c, value.map_or(0, u32::from_ne_bytes).into()];
            }
            _ => {}
        }
        [a, b, c, d]
    }

    /// Where the function returns to that has read a clock into its frame; 0 if that is not known.
    fn caller(&mut self, process: u32, place: u64) -> u64 {
        let code = self.code.entry(process).or_insert_with(|| code_of_files(process));
        let words = read(process, place + TIME, FRAME).unwrap_or_default();
        let mut words =
            words.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
        let number = |word| {
            let code = code.iter().find(|code| code.addresses.contains(&word))?;
            Some(word.wrapping_add(code.shift))
        };
        words.find_map(number).unwrap_or(0)
    }
}

/// A `struct timespec`, ns.
fn time(process: u32, at: u64) -> Option<u64> {
    let bytes = read(process, at, 16)?;
    let [seconds, nanos] =
        [0, 8].map(|at| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes));
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

fn code_of_files(process: u32) -> Vec<Code> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let code = |line: &str| {
        // Addresses, rights, the offset in the file, its device, its inode and its path.
        let mut words = line.split_whitespace();
        let [range, rights, offset, _, inode] =
            std::array::from_fn(|_| words.next().unwrap_or_default());
        let (begin, end) = range.split_once('-').filter(|_| rights == "r-xp" && inode != "0")?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (begin, end, offset) = (hex(begin)?, hex(end)?, hex(offset)?);
        let file = inode.parse::<u64>().ok()? << 32;
        Some(Code { addresses: begin..end, shift: offset.wrapping_sub(begin).wrapping_add(file) })
    };
    maps.lines().filter_map(code).collect()
}

/// A program has the runtime of Go: its file has the table of its functions.
pub(super) fn is_go(process: u32) -> bool {
    has_section(process, b".gopclntab\0").unwrap_or(false)
}

fn has_section(process: u32, name: &[u8]) -> io::Result<bool> {
    /// A table of names is not longer, B.
    const LONGEST: u64 = 1 << 20;
    let file = File::open(format!("/proc/{process}/exe"))?;
    let number = |at: u64, size: usize| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes[..size], at).map(|()| u64::from_le_bytes(bytes))
    };
    // From the 64-bit ELF header: the offset of the section headers, the size of each, and the index of the one for the names;
    // from that one, the offset and the size of the names (`elf(5)`).
    let (sections, each, names) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3e, 2)?);
    let names = sections.saturating_add(each * names);
    let (at, length) = (number(names + 0x18, 8)?, number(names + 0x20, 8)?);
    let mut all = vec![0; length.min(LONGEST) as usize];
    file.read_exact_at(&mut all, at)?;
    Ok(all.windows(name.len()).any(|one| one == name))
}
