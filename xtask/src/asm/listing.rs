//! A disassembly as objdump prints it: functions, calls, and what stands behind a call through the
//! global offset table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// In the demangled name of every hot function.
pub(crate) const HOT: &str = "ipcperf_engine::hot::";

/// The two functions by which the timed loops enter the kernel.
pub(crate) const ENTRIES: [&str; 2] =
    ["ipcperf_sys::io::raw::enter3", "ipcperf_sys::io::raw::enter6"];

/// The timed paths: the hot modules, and the loops of `serve`, which are in none of them.
const TIMED: [&str; 2] = [HOT, "ipcperf_engine::slice::crowd::serve::"];

/// Functions there that watch a connection or end one, outside the timed loop.
const UNTIMED: [&str; 2] = ["watch", "leave"];

/// Names of loops over erased ports and over plug-ins, which call a port through its table.
const ERASED: [&str; 2] = ["ipcperf_core::port::Erased<", "ipcperf_plugin::port::PluginPort<"];

/// The global offset table: slot address to the symbol the loader puts there.
pub(crate) struct Got(BTreeMap<u64, String>);

impl Got {
    /// From the dynamic relocations (`objdump -R`) and the listing. A function of the executable
    /// itself has no symbol there but an address, `*ABS*+0x12440`: the listing has its name.
    pub(crate) fn parse(relocations: &str, listing: &str) -> Self {
        let own: BTreeMap<u64, &str> = listing.lines().filter_map(header).collect();
        let entry = |line: &str| {
            let mut fields = line.split_whitespace();
            let (slot, _kind, symbol) = (fields.next()?, fields.next()?, fields.next()?);
            let symbol = match symbol.strip_prefix("*ABS*+0x") {
                Some(address) => own.get(&u64::from_str_radix(address, 16).ok()?)?,
                None => symbol,
            };
            Some((u64::from_str_radix(slot, 16).ok()?, symbol.to_owned()))
        };
        Self(relocations.lines().filter_map(entry).collect())
    }

    /// The symbol behind an operand such as `0x12(%rip)        # 5f3e0 <...>`.
    fn behind(&self, operand: &str) -> Option<&str> {
        let (place, comment) = operand.split_once('#')?;
        if !place.contains("(%rip)") {
            return None;
        }
        let address = comment.split_whitespace().next()?;
        self.0.get(&u64::from_str_radix(address, 16).ok()?).map(String::as_str)
    }
}

/// One function of a listing.
pub(crate) struct Function<'a> {
    start: u64,
    name: &'a str,
    body: Vec<Instruction<'a>>,
}

#[derive(Clone, Copy)]
struct Instruction<'a> {
    address: u64,
    name: &'a str,
    operands: &'a str,
}

/// The functions of a listing (`objdump -d`).
pub(crate) fn functions(listing: &str) -> impl Iterator<Item = Function<'_>> {
    let mut lines = listing.lines().peekable();
    std::iter::from_fn(move || {
        let (start, name) = lines.by_ref().find_map(header)?;
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| header(line).is_none()) {
            body.extend(instruction(line));
        }
        Some(Function { start, name, body })
    })
}

/// `0000000000012340 <path::name>:`
fn header(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.split_once(" <")?;
    let name = rest.strip_suffix(">:")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// An address, a colon, a tab, the instruction.
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (address, text) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let text = text.trim();
    let (mut name, mut operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // A prefix is no instruction: `bnd jmp`, `notrack jmp`, `lock xadd`.
    while matches!(name, "bnd" | "notrack" | "lock" | "rep" | "repz" | "repnz" | "data16" | "cs") {
        let rest = operands.trim_start();
        (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    }
    Some(Instruction { address, name, operands: operands.trim() })
}

impl Function<'_> {
    /// A pattern's own loop: `lead` or `follow` below the hot modules, whatever its parameters.
    pub(crate) fn is_hot_loop(&self) -> bool {
        self.name.contains(HOT) && matches!(last_segment(self.name), "lead" | "follow")
    }

    /// Why it may not be, if it enters the kernel where it should not, or should and does not.
    pub(crate) fn wrong_entry(&self) -> Option<String> {
        let count = |name: &str| self.body.iter().filter(|one| one.name == name).count();
        let syscalls = count("syscall");
        if ENTRIES.contains(&self.name) {
            let is_right = syscalls == 1 && count("ret") > 0;
            return (!is_right).then(|| {
                format!("{}: {syscalls} syscall instructions, {} returns", self.name, count("ret"))
            });
        }
        let path = self.name.trim_start_matches('<');
        let is_timed = TIMED.iter().any(|timed| path.starts_with(timed));
        let is_wrong = syscalls > 0 && is_timed && !UNTIMED.contains(&last_segment(self.name));
        is_wrong.then(|| format!("{}: {syscalls} syscall instructions of its own", self.name))
    }

    pub(crate) fn is_entry(&self) -> bool {
        ENTRIES.contains(&self.name)
    }

    fn size(&self) -> u64 {
        self.body.last().map_or(0, |last| last.address + 1 - self.start)
    }
}

/// The last segment of a path without generic arguments: `f` of `<A as B>::f::<C::D>`.
fn last_segment(path: &str) -> &str {
    let path = path.split(" [clone").next().unwrap_or(path);
    let mut end = path.len();
    if path.ends_with('>') {
        let mut depth = 0;
        for (index, letter) in path.char_indices().rev() {
            depth += match letter {
                // The arrow of a function type closes nothing.
                '>' if !path[..index].ends_with('-') => 1,
                '<' => -1,
                _ => 0,
            };
            if depth == 0 {
                end = index;
                break;
            }
        }
    }
    let path = path[..end].trim_end_matches("::");
    path.rsplit("::").next().unwrap_or(path)
}

/// What one hot loop contains.
#[derive(Debug, Default)]
pub(crate) struct Report {
    name: String,
    bytes: u64,
    /// System-call instructions of its own: none, since no program has them in its loops.
    syscalls: usize,
    /// Calls of the functions that enter the kernel.
    entered: usize,
    indirect: Vec<String>,
    panics: BTreeSet<String>,
    allocations: BTreeSet<String>,
    memory: BTreeSet<String>,
    /// Everything else that is called, once each.
    others: BTreeSet<String>,
}

impl Report {
    /// Whether the hot loop has what it promises not to have: an indirect call, a panic, an allocation or a system call with no
    /// return after it. The port of an erased loop is called through its table.
    pub(crate) fn is_broken(&self) -> bool {
        let is_erased = ERASED.iter().any(|name| self.name.contains(name));
        let calls = !self.indirect.is_empty() && !is_erased;
        calls || self.syscalls > 0 || !self.panics.is_empty() || !self.allocations.is_empty()
    }

    /// Nothing worth a line but the name.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.is_broken() && self.memory.is_empty() && self.others.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.name)?;
        writeln!(out, "    {} bytes, {} calls that enter the kernel", self.bytes, self.entered)?;
        if self.syscalls > 0 {
            writeln!(out, "    SYSTEM CALL WITHOUT A RETURN: {} instructions", self.syscalls)?;
        }
        let indirect = self.indirect.iter().map(|call| ("INDIRECT CALL", call));
        indirect
            .chain(self.panics.iter().map(|call| ("PANIC", call)))
            .chain(self.allocations.iter().map(|call| ("ALLOCATION", call)))
            .chain(self.memory.iter().map(|call| ("memory copy or fill", call)))
            .chain(self.others.iter().map(|call| ("call", call)))
            .try_for_each(|(kind, call)| writeln!(out, "    {kind}: {call}"))
    }
}

/// Sorts every way out of the function.
pub(crate) fn inspect(function: &Function<'_>, got: &Got) -> Report {
    let mut report =
        Report { name: function.name.to_owned(), bytes: function.size(), ..Report::default() };
    for instruction in &function.body {
        match instruction.name {
            "syscall" => report.syscalls += 1,
            "call" | "jmp" => match target(instruction, function, got) {
                Target::Inside => {}
                Target::Named(name) => report.add(name),
                Target::Unknown => {
                    let Instruction { name, operands, address } = instruction;
                    report.indirect.push(format!("{address:x}: {name} {operands}"));
                }
            },
            _ => {}
        }
    }
    report
}

impl Report {
    fn add(&mut self, name: &str) {
        if ENTRIES.contains(&name) {
            self.entered += 1;
            return;
        }
        let any = |needles: &[&str]| needles.iter().any(|needle| name.contains(needle));
        let set = if any(&["panic", "unwrap_failed", "expect_failed", "index_len_fail"]) {
            &mut self.panics
        } else if any(&["memcpy", "memset", "memmove", "memcmp", "bcmp"]) {
            &mut self.memory
        } else if any(&["alloc"]) {
            &mut self.allocations
        } else {
            &mut self.others
        };
        set.insert(name.to_owned());
    }
}

enum Target<'a> {
    /// A jump within the function.
    Inside,
    Named(&'a str),
    Unknown,
}

fn target<'a>(at: &Instruction<'a>, function: &Function<'a>, got: &'a Got) -> Target<'a> {
    let named = |symbol: Option<&'a str>| symbol.map_or(Target::Unknown, Target::Named);
    match at.operands.strip_prefix('*') {
        Some(operand) if operand.starts_with('%') => {
            named(loaded_symbol(operand, at, function, got))
        }
        Some(operand) => named(got.behind(operand)),
        None => {
            let Some((_, symbol)) = at.operands.split_once('<') else { return Target::Unknown };
            let symbol = symbol.strip_suffix('>').unwrap_or(symbol);
            // Inside itself objdump writes the function's name and an offset.
            match symbol.strip_prefix(function.name) {
                Some("") if at.name == "jmp" => Target::Inside,
                Some(offset) if offset.starts_with("+0x") => Target::Inside,
                _ => Target::Named(symbol),
            }
        }
    }
}

/// The symbol in a register at a call, if on every way there its last write was a load of one slot of the table: the
/// compiler hoists such loads out of loops.
fn loaded_symbol<'a>(
    register: &str,
    call: &Instruction<'a>,
    function: &Function<'a>,
    got: &'a Got,
) -> Option<&'a str> {
    let body = &function.body;
    let position = |address: u64| body.binary_search_by_key(&address, |one| one.address).ok();
    let mut sources: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, instruction) in body.iter().enumerate() {
        let jumps = instruction.name.starts_with('j');
        if let Some(target) = jumps.then(|| destination(instruction)).flatten().and_then(position) {
            sources.entry(target).or_default().push(index);
        }
        if !matches!(instruction.name, "jmp" | "ret" | "ud2") {
            sources.entry(index + 1).or_default().push(index);
        }
    }
    let (mut seen, mut found) = (BTreeSet::new(), None);
    let mut open = vec![(position(call.address)?, register.to_owned())];
    while let Some((index, register)) = open.pop() {
        let Some(before) = sources.get(&index) else {
            if index == 0 {
                // The start of the function: the register holds whatever the caller had in it.
                return None;
            }
            // Padding behind a jump: nothing leads there.
            continue;
        };
        for &source in before {
            if !seen.insert((source, register.clone())) {
                continue;
            }
            let instruction = &body[source];
            if !writes(instruction, &register) {
                open.push((source, register.clone()));
                continue;
            }
            // A copy of another register: that one decides.
            let copied = instruction.operands.strip_suffix(&format!(",{register}"));
            if let Some(other) =
                copied.filter(|from| instruction.name == "mov" && from.starts_with("%r"))
            {
                open.push((source, other.to_owned()));
                continue;
            }
            let loaded =
                (instruction.name == "mov").then(|| got.behind(instruction.operands))??;
            if found.is_some_and(|found| found != loaded) {
                return None;
            }
            found = Some(loaded);
        }
    }
    found
}

/// Where a jump goes, if it says so.
fn destination(jump: &Instruction<'_>) -> Option<u64> {
    u64::from_str_radix(jump.operands.split_whitespace().next()?, 16).ok()
}

/// Whether an instruction changes a register: names it last, or names a part of it (`%r14d` of `%r14`).
fn writes(instruction: &Instruction<'_>, register: &str) -> bool {
    let plain = instruction.operands.split('#').next().unwrap_or("").trim();
    let last = plain.rsplit(',').next().unwrap_or("").trim();
    let part = |name: &str| {
        name == register
            || register.strip_prefix("%r").is_some_and(|tail| name == format!("%e{tail}"))
            || name.strip_prefix(register).is_some_and(|rest| matches!(rest, "d" | "w" | "b"))
    };
    part(last) && !reads_only(instruction.name)
}

/// Instructions that name a register last without changing it.
fn reads_only(name: &str) -> bool {
    matches!(name, "push" | "call" | "jmp") || name.starts_with("cmp") || name.starts_with("test")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELOCATIONS: &str = "\
OFFSET           TYPE              VALUE
0000000000005000 R_X86_64_GLOB_DAT  syscall@GLIBC_2.2.5
0000000000005008 R_X86_64_GLOB_DAT  memcpy@GLIBC_2.14
0000000000005010 R_X86_64_RELATIVE  *ABS*+0x0000000000003000
0000000000005018 R_X86_64_RELATIVE  *ABS*+0x0000000000003008
";

    fn report(body: &str) -> Report {
        let listing = format!(
            "\nDisassembly of section .text:\n\n\
             0000000000001000 <<ipcperf_engine::hot::PingPong as ipcperf_core::Pattern>::lead::<a::B<c::D>>>:\n\
             {body}\n\
             0000000000002000 <other>:\n    2000:\tcall   *%rax\n\n\
             0000000000003000 <core::panicking::panic_bounds_check>:\n    3000:\tud2\n"
        );
        let function = functions(&listing).find(Function::is_hot_loop).unwrap();
        inspect(&function, &Got::parse(RELOCATIONS, &listing))
    }

    #[test]
    fn a_loop_of_its_own_jumps_is_quiet() {
        let name = "<ipcperf_engine::hot::PingPong as ipcperf_core::Pattern>::lead::<a::B<c::D>>";
        let body = format!("    1000:\tnop\n    1002:\tjmp    1000 <{name}+0x0>\n    1004:\tret");
        let report = report(&body);
        assert!(report.is_quiet(), "{report}");
        assert_eq!((report.entered, report.bytes), (0, 5));
    }

    #[test]
    fn a_loop_calls_a_function_for_a_system_call_and_has_none_of_its_own() {
        let called =
            report("    1000:\tcall   4000 <ipcperf_sys::io::raw::enter3>\n    1005:\tret");
        assert!(called.is_quiet() && called.entered == 1, "{called}");
        let inlined = report("    1000:\tsyscall\n    1002:\tret");
        assert!(
            inlined.is_broken() && inlined.to_string().contains("WITHOUT A RETURN"),
            "{inlined}"
        );
    }

    #[test]
    fn a_system_call_in_a_timed_path_is_wrong_and_one_that_sets_up_is_not() {
        let wrong = |name: &str, body: &str| {
            let listing = format!("0000000000001000 <{name}>:\n{body}\n");
            functions(&listing).next().unwrap().wrong_entry()
        };
        let entry = ENTRIES[0];
        assert_eq!(wrong(entry, "    1000:\tsyscall\n    1002:\tret"), None);
        assert!(wrong(entry, "    1000:\tjmp    2000 <elsewhere>").is_some());
        let inlined = "    1000:\tsyscall\n    1002:\tret";
        assert!(wrong("ipcperf_engine::slice::crowd::serve::server::run", inlined).is_some());
        assert!(wrong("<ipcperf_engine::hot::fan::Fan as P>::lead", inlined).is_some());
        assert_eq!(
            wrong("<ipcperf_engine::slice::crowd::serve::line::Line>::leave", inlined),
            None
        );
        assert_eq!(wrong("rustix::backend::fs::syscalls::open", inlined), None);
    }

    #[test]
    fn a_call_through_an_unknown_pointer_breaks_the_promise() {
        for call in ["*%rax", "*0x18(%rax)", "*0x10(%rip)        # 6000 <_DYNAMIC+0x10>"] {
            let report = report(&format!("    1000:\tcall   {call}"));
            assert_eq!(report.indirect.len(), 1, "{call}: {report}");
            assert!(report.is_broken());
        }
        assert!(report("    1000:\tjmp    *%rcx").is_broken());
        assert!(report("    1000:\tnotrack jmp *%rcx").is_broken());
    }

    #[test]
    fn an_erased_loop_may_call_its_port_and_still_not_panic() {
        let erased = |body: &str| {
            let listing = format!(
                "0000000000001000 <f::lead::<ipcperf_core::port::Erased<false>>>:\n{body}\n"
            );
            let function = functions(&listing).next().unwrap();
            inspect(&function, &Got::parse(RELOCATIONS, &listing))
        };
        assert!(!erased("    1000:\tcall   *0x18(%rax)").is_broken());
        assert!(erased("    1000:\tcall   3000 <core::panicking::panic>").is_broken());
    }

    #[test]
    fn a_call_through_the_offset_table_is_a_call_by_name() {
        let report = report("    1000:\tcall   *0x10(%rip)        # 5008 <_DYNAMIC+0x10>");
        assert!(!report.is_broken(), "{report}");
        assert_eq!(report.memory.len(), 1);
    }

    #[test]
    fn a_function_of_the_executable_behind_the_table_is_known_by_its_address() {
        let own = report("    1000:\tcall   *0x10(%rip)        # 5010 <_DYNAMIC+0x10>");
        assert!(own.panics.contains("core::panicking::panic_bounds_check"), "{own}");
        let data = report("    1000:\tcall   *0x10(%rip)        # 5018 <_DYNAMIC+0x18>");
        assert_eq!(data.indirect.len(), 1, "not the start of a function: {data}");
    }

    #[test]
    fn a_hoisted_load_from_the_table_is_resolved_and_a_second_value_is_not() {
        let load = "    1000:\tmov    0x10(%rip),%r15        # 5000 <_DYNAMIC+0x8>";
        let call = "    1007:\tcall   *%r15\n    1009:\tpop    %r15";
        let hoisted = report(&format!("{load}\n{call}"));
        assert!(!hoisted.is_broken(), "{hoisted}");
        assert!(hoisted.others.contains("syscall@GLIBC_2.2.5"));
        assert!(report(&format!("{load}\n    1003:\tmov    %rax,%r15\n{call}")).is_broken());
        let copied =
            "    1007:\tmov    %r15,%rcx\n    1009:\txor    %r15d,%r15d\n    100b:\tcall   *%rcx";
        assert!(!report(&format!("{load}\n{copied}")).is_broken());
        assert!(report(call).is_broken());
        // Another value on another way to the call: not resolved, though the last line before it is a load.
        let around = "    0ff0:\tmov    %rax,%r15\n    0ff3:\tjmp    1007 <f+0x17>";
        assert!(report(&format!("{around}\n{load}\n{call}")).is_broken());
        // Padding behind a jump leads nowhere, though it stands before the next line.
        let padded = format!("{load}\n    1003:\tjmp    1007 <f+0x17>\n    1005:\tnop\n{call}");
        assert!(!report(&padded).is_broken());
        // Another use of the register elsewhere in the function does no harm.
        let after = "    100b:\txor    %r15d,%r15d\n    100e:\tret";
        assert!(!report(&format!("{load}\n{call}\n{after}")).is_broken());
    }

    #[test]
    fn panics_and_allocations_break_the_promise_and_cold_calls_do_not() {
        let call = |name: &str| report(&format!("    1000:\tcall   3000 <{name}>"));
        assert!(call("core::panicking::panic_bounds_check").is_broken());
        assert!(call("core::result::unwrap_failed").is_broken());
        assert!(call("__rustc::__rust_alloc").is_broken());
        assert!(report("    1000:\tjmp    3000 <core::panicking::panic>").is_broken());
        let cold = call("ipcperf_sys::fd::short_write");
        assert!(!cold.is_broken() && !cold.is_quiet(), "{cold}");
    }

    #[test]
    fn only_lead_and_follow_are_hot_loops() {
        assert_eq!(last_segment("<A as B>::lead::<C::D<E>, fn(u8) -> F>"), "lead");
        assert_eq!(last_segment("a::b::follow"), "follow");
        assert_eq!(last_segment("a::lead::helper"), "helper");
        assert_eq!(last_segment("a::follow::<b::lead>::{closure#0}"), "{closure#0}");
    }
}
