//! Programs for the kernel's own machine (`Documentation/bpf/standardization/instruction-set.rst`), put together one
//! instruction at a time.

use std::os::fd::{AsRawFd, BorrowedFd};

/// A register. `R0` has the result of a call, `R1` to `R5` its arguments, which it destroys; `R6` to `R9` stay.
#[derive(Clone, Copy)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    /// The end of the stack.
    Frame,
}

/// How much is moved between a register and memory.
#[derive(Clone, Copy)]
pub(super) enum Width {
    Byte = 0x10,
    Half = 0x08,
    Word = 0x00,
    Long = 0x18,
}

/// When a jump is taken.
#[derive(Clone, Copy)]
pub(super) enum When {
    Equal = 0x15,
    NotEqual = 0x55,
    /// Without a sign.
    Above = 0x25,
    /// Likewise.
    Below = 0xa5,
}

/// A place to jump to.
#[derive(Clone, Copy)]
pub(super) struct Label(usize);

/// A program that grows.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(&mut self, operation: u8, to: u8, from: u8, offset: i16, value: i32) {
        let [first, second] = offset.to_ne_bytes();
        let [a, b, c, d] = value.to_ne_bytes();
        let registers =
            if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        self.code.push(u64::from_ne_bytes([operation, registers, first, second, a, b, c, d]));
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to as u8, from as u8, 0, 0);
    }

    pub(super) fn set(&mut self, to: Register, value: i32) {
        self.push(0xb7, to as u8, 0, 0, value);
    }

    pub(super) fn add(&mut self, to: Register, value: i32) {
        self.push(0x07, to as u8, 0, 0, value);
    }

    pub(super) fn add_register(&mut self, to: Register, from: Register) {
        self.push(0x0f, to as u8, from as u8, 0, 0);
    }

    pub(super) fn and(&mut self, to: Register, value: i32) {
        self.push(0x57, to as u8, 0, 0, value);
    }

    pub(super) fn exclusive_or(&mut self, to: Register, from: Register) {
        self.push(0xaf, to as u8, from as u8, 0, 0);
    }

    pub(super) fn shift_left(&mut self, to: Register, bits: i32) {
        self.push(0x67, to as u8, 0, 0, bits);
    }

    pub(super) fn shift_right(&mut self, to: Register, bits: i32) {
        self.push(0x77, to as u8, 0, 0, bits);
    }

    pub(super) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.push(0x61 | width as u8, to as u8, from as u8, offset, 0);
    }

    pub(super) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.push(0x63 | width as u8, to as u8, from as u8, offset, 0);
    }

    pub(super) fn store_value(&mut self, width: Width, to: Register, offset: i16, value: i32) {
        self.push(0x62 | width as u8, to as u8, 0, offset, value);
    }

    /// Adds a register to eight bytes of memory, whatever other CPUs do.
    pub(super) fn add_atomically(&mut self, to: Register, from: Register) {
        self.push(0xdb, to as u8, from as u8, 0, 0);
    }

    /// A map of the kernel. It must stay open until the program is loaded.
    pub(super) fn map(&mut self, to: Register, map: BorrowedFd<'_>) {
        // BPF_PSEUDO_MAP_FD
        self.push(0x18, to as u8, 1, 0, map.as_raw_fd());
        self.push(0, 0, 0, 0, 0);
    }

    /// A function of the kernel, by its number (`linux/bpf.h`).
    pub(super) fn call(&mut self, function: i32) {
        self.push(0x85, 0, 0, 0, function);
    }

    pub(super) fn end(&mut self) {
        self.set(Register::R0, 0);
        self.push(0x95, 0, 0, 0, 0);
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(super) fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    pub(super) fn jump_if(&mut self, when: When, register: Register, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(when as u8, register as u8, 0, 0, value);
    }

    /// Both in full.
    pub(super) fn jump_if_not_below(&mut self, register: Register, other: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(0x3d, register as u8, other as u8, 0, 0);
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(0x05, 0, 0, 0, 0);
    }

    /// The program, all of whose labels have a place.
    pub(super) fn program(mut self) -> Vec<u64> {
        for (at, label) in &self.jumps {
            let Some(to) = self.labels[label.0] else { continue };
            let distance = to as i64 - *at as i64 - 1;
            let [low, high] = (distance as i16).to_ne_bytes();
            let mut bytes = self.code[*at].to_ne_bytes();
            [bytes[2], bytes[3]] = [low, high];
            self.code[*at] = u64::from_ne_bytes(bytes);
        }
        self.code
    }
}
