//! The programs that the kernel runs at system calls, forks and ends of the processes that are recorded.
//!
//! They read numbers, sizes, results and times of calls, and of the objects that descriptors stand for their kind, number,
//! name and addresses. The only memory of a process that they look at is a message header, for what else goes with a message.

use super::assembler::Register::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use super::assembler::Width::{Byte, Half, Long, Word};
use super::assembler::{Assembler, Label, Register, When};
use super::btf::Types;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Functions of the kernel (`linux/bpf.h`).
mod function {
    pub(super) const LOOK_UP: i32 = 1;
    pub(super) const UPDATE: i32 = 2;
    pub(super) const DELETE: i32 = 3;
    pub(super) const TIME: i32 = 5;
    pub(super) const TASK_NUMBERS: i32 = 14;
    pub(super) const TASK_NAME: i32 = 16;
    pub(super) const NUMBERS_WITHIN: i32 = 120;
    pub(super) const TASK: i32 = 158;
    pub(super) const READ_USER: i32 = 112;
    pub(super) const READ: i32 = 113;
    pub(super) const READ_TEXT: i32 = 115;
    pub(super) const RESERVE: i32 = 131;
    pub(super) const SUBMIT: i32 = 132;
}

/// The reader polls: it need not be woken (`BPF_RB_NO_WAKEUP`).
const UNANNOUNCED: i32 = 1;

/// Maps that the programs and this process share.
pub(super) struct Maps {
    /// Processes that are recorded, by number.
    pub(super) processes: OwnedFd,
    /// What a call is, by its number: [`class`].
    pub(super) calls: OwnedFd,
    /// By the lower half of its number, the thread that is in a call, with its process, and when it entered it.
    pub(super) begun: OwnedFd,
    /// Objects that were told of, and whether all is known of them.
    pub(super) known: OwnedFd,
    /// By the lower half of its number, an object of which all is known: most calls look no further.
    pub(super) recent: OwnedFd,
    /// How many events found no room.
    pub(super) lost: OwnedFd,
    /// The events.
    pub(super) events: OwnedFd,
    /// The PID namespace whose numbers processes are known by; `None` for those of the host.
    pub(super) within: Option<Within>,
}

/// A PID namespace: the device and the number of its file, as the kernel has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) device: u32,
    pub(super) number: u32,
}

/// What is of interest at a call. A call that is not recorded has none.
pub(super) mod class {
    /// It is recorded.
    pub(in super::super) const RECORDED: u8 = 1;
    /// Its first argument is a descriptor.
    pub(in super::super) const DESCRIPTOR: u8 = 2;
    /// Its second is a message header that goes out.
    pub(in super::super) const HEADER: u8 = 4;
    /// It gives the process another program.
    pub(in super::super) const PROGRAM: u8 = 8;
    /// It moves data: its socket is what it will be.
    pub(in super::super) const DATA: u8 = 16;
}

/// Calls have numbers below this one.
pub(super) const CALLS: i32 = 512;

/// Events, as they lie in the ring: their kinds, sizes and where their parts are.
pub(super) mod event {
    pub(in super::super) const CALL: u32 = 1;
    pub(in super::super) const OBJECT: u32 = 2;
    pub(in super::super) const FORK: u32 = 3;
    pub(in super::super) const NAME: u32 = 4;

    pub(in super::super) const CALL_SIZE: i32 = 88;
    pub(in super::super) const OBJECT_SIZE: i32 = 200;
    pub(in super::super) const TASK_SIZE: i32 = 40;
}

/// Where `pt_regs` (`asm/ptrace.h`) has the number and the first four arguments of a call that returns.
#[cfg(target_arch = "x86_64")]
mod saved {
    pub(super) const NUMBER: i16 = 120;
    pub(super) const ARGUMENTS: [i16; 4] = [112, 104, 96, 56];
}
#[cfg(not(target_arch = "x86_64"))]
mod saved {
    pub(super) const NUMBER: i16 = 280;
    pub(super) const ARGUMENTS: [i16; 4] = [272, 8, 16, 24];
}

// Places on the stack.
const ARGUMENTS: [i16; 4] = [-32, -40, -48, -56];
const SCRATCH: i16 = -8;
const KEY: i16 = -16;
const RESULT: i16 = -24;
const BEGUN: i16 = -104;
const FILE: i16 = -112;
const OBJECT: i16 = -120;
const MODE: i16 = -128;
const CLASS: i16 = -136;
const HEADER: i16 = -192;
const INODE: i16 = -288;

/// The lower half of a number, by which the arrays have their places.
const LOWER_HALF: i32 = 0xffff;

/// Bytes of an inode that are read at once.
const AT_ONCE: i32 = 96;

/// `S_IFMT`, `S_IFSOCK`, `S_IFIFO` (`inode(7)`).
const KIND: i32 = 0o170_000;
const SOCKETS: i32 = 0o140_000;
const PIPES: i32 = 0o010_000;

/// Where the kernel keeps what the programs read, bytes.
pub(super) struct Places {
    files: i32,
    tgid: i32,
    signal: i32,
    live: i32,
    thread_number: i32,
    process_number: i32,
    level: i32,
    numbers: i32,
    table: i32,
    most: i32,
    array: i32,
    inode: i32,
    private: i32,
    entry_name: (i32, i32),
    number: i32,
    mode: i32,
    system: i32,
    socket: i32,
    family: i32,
    state: i32,
    kind: i32,
    addresses: i32,
    ports: i32,
    far_address: i32,
    near_address: i32,
    peer: i32,
    address: i32,
    address_len: i32,
    address_name: i32,
}

impl Places {
    /// In this kernel.
    ///
    /// # Errors
    /// It does not say.
    pub(super) fn of(types: &Types<'_>) -> io::Result<Self> {
        let at = |structure, member| types.offset(structure, member);
        Ok(Self {
            files: at("task_struct", "files")?,
            tgid: at("task_struct", "tgid")?,
            signal: at("task_struct", "signal")?,
            live: at("signal_struct", "live")?,
            thread_number: at("task_struct", "thread_pid")?,
            // The second of them is that of the process (`PIDTYPE_TGID`, `linux/pid_types.h`).
            process_number: at("signal_struct", "pids")? + 8,
            level: at("pid", "level")?,
            numbers: at("pid", "numbers")?,
            table: at("files_struct", "fdt")?,
            most: at("fdtable", "max_fds")?,
            array: at("fdtable", "fd")?,
            inode: at("file", "f_inode")?,
            private: at("file", "private_data")?,
            entry_name: (at("file", "f_path.dentry")?, at("dentry", "d_name.name")?),
            number: at("inode", "i_ino")?,
            mode: at("inode", "i_mode")?,
            system: at("inode", "i_sb")?,
            socket: at("socket", "sk")?,
            family: at("sock_common", "skc_family")?,
            state: at("sock_common", "skc_state")?,
            kind: at("sock", "sk_type")?,
            addresses: at("sock_common", "skc_addrpair")?,
            ports: at("sock_common", "skc_portpair")?,
            far_address: at("sock_common", "skc_v6_daddr")?,
            near_address: at("sock_common", "skc_v6_rcv_saddr")?,
            peer: at("unix_sock", "peer")?,
            address: at("unix_sock", "addr")?,
            address_len: at("unix_address", "len")?,
            address_name: at("unix_address", "name")?,
        })
    }
}

impl Assembler {
    /// What a map has for the key on the stack, or a jump.
    fn look_up(&mut self, map: &OwnedFd, or: Label) {
        self.map(R1, map.as_fd());
        self.copy(R2, Frame);
        self.add(R2, KEY.into());
        self.call(function::LOOK_UP);
        self.jump_if(When::Equal, R0, 0, or);
    }

    /// Puts into a map what is on the stack, under the key there.
    fn update(&mut self, map: &OwnedFd, value: i16) {
        self.map(R1, map.as_fd());
        self.copy(R2, Frame);
        self.add(R2, KEY.into());
        self.copy(R3, Frame);
        self.add(R3, value.into());
        self.set(R4, 0);
        self.call(function::UPDATE);
    }

    /// Reads memory at a register and an offset to a place.
    fn read_to(&mut self, to: (Register, i32), size: i32, from: (Register, i32), by: i32) {
        self.copy(R3, from.0);
        self.add(R3, from.1);
        self.copy(R1, to.0);
        self.add(R1, to.1);
        self.set(R2, size);
        self.call(by);
    }

    /// Follows a pointer of the kernel into a register, or jumps where it is null or cannot be read.
    fn follow(&mut self, to: Register, from: (Register, i32), or: Label) {
        self.read_to((Frame, SCRATCH.into()), 8, from, function::READ);
        self.jump_if(When::NotEqual, R0, 0, or);
        self.load(Long, to, Frame, SCRATCH);
        self.jump_if(When::Equal, to, 0, or);
    }

    /// Room for an event in R0, of this kind, or a jump.
    fn reserve(&mut self, maps: &Maps, size: i32, or: Label) {
        let room = self.label();
        self.map(R1, maps.events.as_fd());
        self.set(R2, size);
        self.set(R3, 0);
        self.call(function::RESERVE);
        self.jump_if(When::NotEqual, R0, 0, room);
        self.store_value(Word, Frame, KEY, 0);
        self.look_up(&maps.lost, or);
        self.set(R1, 1);
        self.add_atomically(R0, R1);
        self.jump(or);
        self.here(room);
    }

    fn submit(&mut self, event: Register) {
        self.copy(R1, event);
        self.set(R2, UNANNOUNCED);
        self.call(function::SUBMIT);
    }

    /// A number without a sign.
    fn set_unsigned(&mut self, to: Register, value: u32) {
        self.set(to, value.cast_signed());
        self.shift_left(to, 32);
        self.shift_right(to, 32);
    }

    /// The numbers of the current process and its thread, in R7; a jump in another PID namespace.
    fn own_numbers(&mut self, maps: &Maps, or: Label) {
        match maps.within {
            None => {
                self.call(function::TASK_NUMBERS);
                self.copy(R7, R0);
            }
            Some(Within { device, number }) => {
                self.set_unsigned(R1, device);
                self.set_unsigned(R2, number);
                self.copy(R3, Frame);
                self.add(R3, SCRATCH.into());
                self.set(R4, 8);
                self.call(function::NUMBERS_WITHIN);
                self.jump_if(When::NotEqual, R0, 0, or);
                // struct bpf_pidns_info: the thread, the process (linux/bpf.h).
                self.load(Long, R7, Frame, SCRATCH);
            }
        }
    }

    /// Whether the process with the numbers in R7 is recorded.
    fn only_recorded(&mut self, maps: &Maps, or: Label) {
        self.copy(R1, R7);
        self.shift_right(R1, 32);
        self.store(Word, Frame, KEY, R1);
        self.look_up(&maps.processes, or);
    }

    /// The place of a number in an array, in R0. There is always one; the kernel wants to see a jump all the same.
    fn place(&mut self, array: &OwnedFd, number: Register, or: Label) {
        self.copy(R1, number);
        self.and(R1, LOWER_HALF);
        self.store(Word, Frame, KEY, R1);
        self.look_up(array, or);
    }

    /// The number of the process of the task in R8, as the current process knows it, to SCRATCH, whose upper half is 0.
    fn number_of(&mut self, maps: &Maps, places: &Places, or: Label) {
        if maps.within.is_none() {
            self.read_to((Frame, SCRATCH.into()), 4, (R8, places.tgid), function::READ);
            return;
        }
        // How deep this namespace is: a process has a number in each that it is in.
        self.call(function::TASK);
        self.load(Long, R9, R0, places.thread_number as i16);
        self.store_value(Long, Frame, RESULT, 0);
        self.read_to((Frame, RESULT.into()), 4, (R9, places.level), function::READ);
        self.follow(R8, (R8, places.signal), or);
        self.follow(R8, (R8, places.process_number), or);
        // struct upid: 16 bytes, the number first (linux/pid.h).
        self.load(Long, R1, Frame, RESULT);
        self.shift_left(R1, 4);
        self.add_register(R8, R1);
        self.store_value(Long, Frame, SCRATCH, 0);
        self.read_to((Frame, SCRATCH.into()), 4, (R8, places.numbers), function::READ);
    }

    /// The class of the call whose number is the key, in R9.
    fn class(&mut self, maps: &Maps, or: Label) {
        self.look_up(&maps.calls, or);
        self.load(Byte, R9, R0, 0);
        self.jump_if(When::Equal, R9, 0, or);
    }

    /// Jumps if the class in R9 has no such bit.
    fn only_class(&mut self, bit: u8, or: Label) {
        self.copy(R1, R9);
        self.and(R1, bit.into());
        self.jump_if(When::Equal, R1, 0, or);
    }
}

/// At the entry of a call: when it was. Context: the registers, the number of the call.
pub(super) fn entry(maps: &Maps) -> Vec<u64> {
    let mut code = Assembler::default();
    let end = code.label();
    code.copy(R6, R1);
    code.own_numbers(maps, end);
    code.only_recorded(maps, end);
    code.load(Long, R8, R6, 8);
    code.jump_if(When::Above, R8, CALLS - 1, end);
    code.store(Word, Frame, KEY, R8);
    code.class(maps, end);
    code.call(function::TIME);
    code.copy(R8, R0);
    code.place(&maps.begun, R7, end);
    code.store(Long, R0, 0, R7);
    code.store(Long, R0, 8, R8);
    code.here(end);
    code.end();
    code.program()
}

/// At its return: the call, and the object of its descriptor if that is new. Context: the registers, the result.
pub(super) fn exit(maps: &Maps, places: &Places) -> Vec<u64> {
    let mut code = Assembler::default();
    let (end, unseen, recorded) = (code.label(), code.label(), code.label());
    let done = code.label();
    code.copy(R6, R1);
    code.own_numbers(maps, end);
    // When it began: 0 if nobody saw it. Who was recorded then is.
    code.store_value(Long, Frame, BEGUN, 0);
    code.place(&maps.begun, R7, end);
    code.load(Long, R1, R0, 0);
    code.exclusive_or(R1, R7);
    code.jump_if(When::NotEqual, R1, 0, unseen);
    code.load(Long, R1, R0, 8);
    code.store(Long, Frame, BEGUN, R1);
    code.store_value(Long, R0, 0, 0);
    code.jump(recorded);
    code.here(unseen);
    code.only_recorded(maps, end);
    code.here(recorded);
    code.load(Long, R8, R6, 8);
    code.store(Long, Frame, RESULT, R8);
    code.load(Long, R6, R6, 0);
    for (from, to) in saved::ARGUMENTS.into_iter().zip(ARGUMENTS) {
        code.load(Long, R1, R6, from);
        code.store(Long, Frame, to, R1);
    }
    code.load(Word, R8, R6, saved::NUMBER);
    code.jump_if(When::Above, R8, CALLS - 1, end);
    code.store(Word, Frame, KEY, R8);
    code.class(maps, end);
    code.store(Long, Frame, CLASS, R9);
    code.reserve(maps, event::CALL_SIZE, end);
    code.copy(R6, R0);
    code.store_value(Word, R6, 0, event::CALL as i32);
    code.store(Word, R6, 4, R8);
    code.store(Long, R6, 8, R7);
    code.call(function::TIME);
    code.store(Long, R6, 24, R0);
    for (to, from) in [(16, BEGUN), (32, RESULT)] {
        code.load(Long, R1, Frame, from);
        code.store(Long, R6, to, R1);
    }
    for (to, from) in [40, 48, 56, 64].into_iter().zip(ARGUMENTS) {
        code.load(Long, R1, Frame, from);
        code.store(Long, R6, to, R1);
    }
    code.store_value(Long, R6, 72, 0);
    code.store_value(Long, R6, 80, 0);
    header(&mut code);
    name(&mut code, maps);
    identity(&mut code, places, done);
    code.load(Long, R1, Frame, OBJECT);
    code.store(Long, R6, 72, R1);
    code.load(Long, R1, Frame, MODE);
    code.store(Word, R6, 80, R1);
    code.submit(R6);
    introduction(&mut code, maps, places, end);
    code.jump(end);
    code.here(done);
    code.submit(R6);
    code.here(end);
    code.end();
    code.program()
}

/// What else goes with a message that is sent: the kind of the first control message and 1, if it is one of sockets.
fn header(code: &mut Assembler) {
    let none = code.label();
    code.only_class(class::HEADER, none);
    // struct msghdr: 56 bytes, the length of what goes with it at 40, where it is at 32 (socket(2)).
    code.load(Long, R8, Frame, ARGUMENTS[1]);
    code.read_to((Frame, HEADER.into()), 56, (R8, 0), function::READ_USER);
    code.jump_if(When::NotEqual, R0, 0, none);
    code.load(Long, R1, Frame, HEADER + 40);
    code.jump_if(When::Below, R1, 16, none);
    code.load(Long, R8, Frame, HEADER + 32);
    // struct cmsghdr: length, level, kind.
    code.read_to((Frame, HEADER.into()), 16, (R8, 0), function::READ_USER);
    code.jump_if(When::NotEqual, R0, 0, none);
    code.load(Word, R1, Frame, HEADER + 8);
    code.jump_if(When::NotEqual, R1, libc::SOL_SOCKET, none);
    code.load(Word, R1, Frame, HEADER + 12);
    code.add(R1, 1);
    code.store(Word, R6, 84, R1);
    code.here(none);
}

/// The name of the program that a process has now.
fn name(code: &mut Assembler, maps: &Maps) {
    let none = code.label();
    code.only_class(class::PROGRAM, none);
    code.reserve(maps, event::TASK_SIZE, none);
    code.copy(R8, R0);
    code.store_value(Word, R8, 0, event::NAME as i32);
    code.store_value(Word, R8, 4, 0);
    code.store(Long, R8, 8, R7);
    code.store_value(Long, R8, 16, 0);
    code.copy(R1, R8);
    code.add(R1, 24);
    code.set(R2, 16);
    code.call(function::TASK_NAME);
    code.submit(R8);
    code.here(none);
}

/// What the descriptor stands for: its number, mode and file on the stack; or a jump. Sockets and pipes are known by inode,
/// everything else by what the kernel keeps for it, since many share an inode; both together with the file system, since
/// each numbers its own.
fn identity(code: &mut Assembler, places: &Places, none: Label) {
    let (found, by_private, mixed) = (code.label(), code.label(), code.label());
    code.only_class(class::DESCRIPTOR, none);
    // The kernel knows the types up to the array, and reads them without a call.
    code.call(function::TASK);
    code.load(Long, R8, R0, places.files as i16);
    code.jump_if(When::Equal, R8, 0, none);
    code.load(Long, R8, R8, places.table as i16);
    code.jump_if(When::Equal, R8, 0, none);
    code.load(Word, R2, R8, places.most as i16);
    code.load(Word, R1, Frame, ARGUMENTS[0]);
    code.jump_if_not_below(R1, R2, none);
    code.load(Long, R8, R8, places.array as i16);
    code.shift_left(R1, 3);
    code.add_register(R8, R1);
    code.follow(R8, (R8, 0), none);
    code.store(Long, Frame, FILE, R8);
    code.follow(R9, (R8, places.inode), none);
    let [mode, number, system] = inode(code, places);
    code.load(Long, R1, Frame, number);
    code.store(Long, Frame, OBJECT, R1);
    code.load(Half, R1, Frame, mode);
    code.store(Long, Frame, MODE, R1);
    code.and(R1, KIND);
    code.jump_if(When::Equal, R1, SOCKETS, found);
    code.jump_if(When::NotEqual, R1, PIPES, by_private);
    code.jump(found);
    code.here(by_private);
    code.load(Long, R8, Frame, FILE);
    code.read_to((Frame, SCRATCH.into()), 8, (R8, places.private), function::READ);
    code.load(Long, R1, Frame, SCRATCH);
    code.jump_if(When::Equal, R1, 0, found);
    code.store(Long, Frame, OBJECT, R1);
    code.here(found);
    code.load(Long, R9, Frame, system);
    code.jump_if(When::Equal, R9, 0, mixed);
    code.shift_left(R9, 20);
    code.load(Long, R1, Frame, OBJECT);
    code.exclusive_or(R1, R9);
    // A file system gives numbers of inodes again, to files of other kinds as well.
    code.load(Long, R9, Frame, MODE);
    code.shift_left(R9, 40);
    code.exclusive_or(R1, R9);
    code.store(Long, Frame, OBJECT, R1);
    code.here(mixed);
}

/// Puts on the stack, of the inode in R9: mode, number and file system. Returns where they are.
fn inode(code: &mut Assembler, places: &Places) -> [i16; 3] {
    let members = [(places.mode, 2), (places.number, 8), (places.system, 8)];
    let first = members.map(|(at, _)| at).into_iter().min().unwrap_or(0);
    let end = members.map(|(at, size)| at + size).into_iter().max().unwrap_or(0);
    // They lie close together, unless the kernel was built with structures in random order.
    if end - first <= AT_ONCE {
        code.read_to((Frame, INODE.into()), end - first, (R9, first), function::READ);
        return members.map(|(at, _)| INODE + (at - first) as i16);
    }
    for ((at, size), to) in members.into_iter().zip((i32::from(INODE)..).step_by(8)) {
        code.read_to((Frame, to), size, (R9, at), function::READ);
    }
    [INODE, INODE + 8, INODE + 16]
}

/// The object itself, unless it was told of.
fn introduction(code: &mut Assembler, maps: &Maps, places: &Places, end: Label) {
    let (new, other, named) = (code.label(), code.label(), code.label());
    let (internet, mark, settled) = (code.label(), code.label(), code.label());
    code.load(Long, R9, Frame, OBJECT);
    code.place(&maps.recent, R9, end);
    code.copy(R8, R0);
    code.load(Long, R1, R8, 0);
    code.exclusive_or(R1, R9);
    code.jump_if(When::Equal, R1, 0, end);
    code.store(Long, Frame, KEY, R9);
    code.look_up(&maps.known, new);
    code.load(Long, R1, R0, 0);
    code.jump_if(When::Equal, R1, 0, new);
    code.store(Long, R8, 0, R9);
    code.jump(end);
    code.here(new);
    code.reserve(maps, event::OBJECT_SIZE, end);
    code.copy(R6, R0);
    code.store_value(Word, R6, 0, event::OBJECT as i32);
    code.load(Long, R1, Frame, MODE);
    code.store(Word, R6, 4, R1);
    code.load(Long, R1, Frame, OBJECT);
    code.store(Long, R6, 8, R1);
    for at in (16..96).step_by(8) {
        code.store_value(Long, R6, at, 0);
    }
    code.load(Long, R8, Frame, FILE);
    code.load(Long, R1, Frame, MODE);
    code.and(R1, KIND);
    code.jump_if(When::NotEqual, R1, SOCKETS, other);
    // A socket: its peer or its ports are its mark, by which it is seen whether it has one yet.
    code.store_value(Long, Frame, BEGUN, 0);
    code.follow(R9, (R8, places.private), mark);
    code.follow(R9, (R9, places.socket), mark);
    code.store(Long, R6, 16, R9);
    for (to, size, from) in [(32, 2, places.family), (34, 1, places.state), (36, 2, places.kind)] {
        code.read_to((R6, to), size, (R9, from), function::READ);
    }
    code.load(Half, R1, R6, 32);
    code.jump_if(When::NotEqual, R1, libc::AF_UNIX, internet);
    code.read_to((R6, 24), 8, (R9, places.peer), function::READ);
    code.load(Long, R1, R6, 24);
    code.store(Long, Frame, BEGUN, R1);
    let (no_name, with_name) = (code.label(), code.label());
    code.follow(R8, (R9, places.address), no_name);
    code.jump(with_name);
    code.here(no_name);
    // An accepted socket has the name of its listener; for one that connected the name of its peer is told.
    code.follow(R9, (R9, places.peer), mark);
    code.follow(R8, (R9, places.address), mark);
    code.store_value(Byte, R6, 35, 1);
    code.here(with_name);
    code.read_to((R6, 52), 4, (R8, places.address_len), function::READ);
    code.read_to((R6, 88), 110, (R8, places.address_name), function::READ);
    code.jump(mark);
    code.here(internet);
    code.read_to((R6, 40), 8, (R9, places.addresses), function::READ);
    code.read_to((R6, 48), 4, (R9, places.ports), function::READ);
    code.read_to((R6, 56), 16, (R9, places.far_address), function::READ);
    code.read_to((R6, 72), 16, (R9, places.near_address), function::READ);
    // The port of the other end is the lower half.
    code.load(Half, R1, R6, 48);
    code.store(Long, Frame, BEGUN, R1);
    code.here(mark);
    // Sockets of datagrams need no peer: they have none yet, or never.
    code.load(Half, R1, R6, 36);
    code.jump_if(When::NotEqual, R1, libc::SOCK_DGRAM, settled);
    code.load(Long, R9, Frame, CLASS);
    code.only_class(class::DATA, settled);
    code.store_value(Long, Frame, BEGUN, 1);
    code.here(settled);
    code.jump(named);
    code.here(other);
    code.store_value(Long, Frame, BEGUN, 1);
    code.follow(R9, (R8, places.entry_name.0), named);
    code.follow(R9, (R9, places.entry_name.1), named);
    code.read_to((R6, 88), 64, (R9, 0), function::READ_TEXT);
    code.here(named);
    code.submit(R6);
    code.load(Long, R1, Frame, OBJECT);
    code.store(Long, Frame, KEY, R1);
    code.update(&maps.known, BEGUN);
}

/// At a fork: a process that a recorded one makes is recorded before it runs. Context: the parent, the child.
pub(super) fn fork(maps: &Maps, places: &Places) -> Vec<u64> {
    let mut code = Assembler::default();
    let end = code.label();
    code.copy(R6, R1);
    code.own_numbers(maps, end);
    code.only_recorded(maps, end);
    code.load(Long, R8, R6, 8);
    code.store_value(Long, Frame, SCRATCH, 0);
    code.number_of(maps, places, end);
    code.load(Word, R8, Frame, SCRATCH);
    code.store(Word, Frame, KEY, R8);
    code.update(&maps.processes, KEY);
    code.reserve(maps, event::TASK_SIZE, end);
    code.copy(R6, R0);
    code.store_value(Word, R6, 0, event::FORK as i32);
    code.store_value(Word, R6, 4, 0);
    code.store(Long, R6, 8, R7);
    code.store(Long, R6, 16, R8);
    code.store_value(Long, R6, 24, 0);
    code.store_value(Long, R6, 32, 0);
    code.submit(R6);
    code.here(end);
    code.end();
    code.program()
}

/// At the end of a task: the last one of a process takes its number out, which may be another's soon. Context: the task.
pub(super) fn task_end(maps: &Maps, places: &Places) -> Vec<u64> {
    let mut code = Assembler::default();
    let (end, not_in_call) = (code.label(), code.label());
    code.copy(R6, R1);
    code.own_numbers(maps, end);
    // A call that it did not return from is not that of another thread which gets its number.
    code.place(&maps.begun, R7, end);
    code.load(Long, R1, R0, 0);
    code.exclusive_or(R1, R7);
    code.jump_if(When::NotEqual, R1, 0, not_in_call);
    code.store_value(Long, R0, 0, 0);
    code.here(not_in_call);
    code.only_recorded(maps, end);
    code.load(Long, R8, R6, 0);
    code.follow(R8, (R8, places.signal), end);
    code.store_value(Long, Frame, SCRATCH, 0);
    code.read_to((Frame, SCRATCH.into()), 4, (R8, places.live), function::READ);
    code.load(Word, R1, Frame, SCRATCH);
    code.jump_if(When::NotEqual, R1, 0, end);
    code.map(R1, maps.processes.as_fd());
    code.copy(R2, Frame);
    code.add(R2, KEY.into());
    code.call(function::DELETE);
    code.here(end);
    code.end();
    code.program()
}
