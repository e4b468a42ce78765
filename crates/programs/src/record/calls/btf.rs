//! Where the kernel keeps what, by its own description of its types (BTF, `Documentation/bpf/btf.rst`), which it shows to
//! everybody at `/sys/kernel/btf/vmlinux`.

use std::collections::HashMap;
use std::io;

const MAGIC: u16 = 0xeb9f;

/// `BTF_KIND_*` (`linux/btf.h`).
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// A description that was read. Whatever its bytes say, looking something up ends.
pub(super) struct Types<'a> {
    bytes: &'a [u8],
    /// Where the description of each type begins; type 0 is `void`.
    at: Vec<usize>,
    names: usize,
    structures: HashMap<&'a [u8], usize>,
    /// Names that types have beside their own.
    synonyms: HashMap<&'a [u8], u32>,
}

/// Structures within structures that are looked through.
const DEPTH: u32 = 8;

impl<'a> Types<'a> {
    /// Reads a description in this machine's byte order.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        if half(0)? != MAGIC {
            return None;
        }
        let mut types = Self {
            bytes,
            at: vec![usize::MAX],
            names: 0,
            structures: HashMap::new(),
            synonyms: HashMap::new(),
        };
        let [header, begin, length, names] =
            [4, 8, 12, 16].map(|at| types.word(at).map(|word| word as usize));
        types.names = header? + names?;
        let mut at = header? + begin?;
        let end = at + length?;
        while at < end {
            let (name, info) = (types.word(at)?, types.word(at + 4)?);
            let count = (info & 0xffff) as usize;
            if info >> 24 & 0x1f == kind::STRUCT {
                types.structures.entry(types.name(name)?).or_insert(types.at.len());
            }
            if info >> 24 & 0x1f == kind::TYPEDEF {
                types.synonyms.entry(types.name(name)?).or_insert(types.at.len() as u32);
            }
            types.at.push(at);
            at += 12
                + match info >> 24 & 0x1f {
                    kind::INT | kind::VAR | kind::DECL_TAG => 4,
                    kind::ARRAY => 12,
                    kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
                    kind::ENUM | kind::FUNC_PROTO => 8 * count,
                    _ => 0,
                };
        }
        Some(types)
    }

    /// Where a member begins in a structure, bytes; `a.b` is member `b` of member `a`.
    ///
    /// # Errors
    /// This kernel has no such member.
    pub(super) fn offset(&self, structure: &str, path: &str) -> io::Result<i32> {
        let found = || {
            let mut of = *self.structures.get(structure.as_bytes())?;
            let mut bits = 0;
            for name in path.split('.') {
                let (offset, next) = self.member(of, name.as_bytes(), DEPTH)?;
                (bits, of) = (bits + offset, next);
            }
            i32::try_from(bits / 8).ok()
        };
        found().ok_or_else(|| {
            let what = format!("this kernel does not say where {structure}.{path} is");
            io::Error::new(io::ErrorKind::Unsupported, what)
        })
    }

    /// The number of a type by a name that it has beside its own.
    ///
    /// # Errors
    /// This kernel has none of that name.
    pub(super) fn synonym(&self, name: &str) -> io::Result<u32> {
        let found = self.synonyms.get(name.as_bytes()).copied();
        found.ok_or_else(|| {
            let what = format!("this kernel has no type {name}");
            io::Error::new(io::ErrorKind::Unsupported, what)
        })
    }

    /// Where it begins, bits, and its type. Structures without a name are looked through.
    fn member(&self, of: usize, name: &[u8], depth: u32) -> Option<(u32, usize)> {
        let at = self.resolved(of)?;
        let info = self.word(at + 4)?;
        if !matches!(info >> 24 & 0x1f, kind::STRUCT | kind::UNION) || depth == 0 {
            return None;
        }
        // With bit fields the upper byte is their width.
        let mask = if info >> 31 == 1 { 0x00ff_ffff } else { u32::MAX };
        for member in 0..(info & 0xffff) as usize {
            let at = at + 12 + 12 * member;
            let (called, of) = (self.name(self.word(at)?)?, self.word(at + 4)? as usize);
            let begin = self.word(at + 8)? & mask;
            if called == name {
                return Some((begin, of));
            }
            if called.is_empty()
                && let Some((inner, of)) = self.member(of, name, depth - 1)
            {
                return Some((begin + inner, of));
            }
        }
        None
    }

    /// The description of a type without its other names and qualifiers.
    fn resolved(&self, of: usize) -> Option<usize> {
        let mut at = *self.at.get(of)?;
        for _ in 0..DEPTH {
            match self.word(at.checked_add(4)?)? >> 24 & 0x1f {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    at = *self.at.get(self.word(at + 8)? as usize)?;
                }
                _ => return Some(at),
            }
        }
        None
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    fn name(&self, at: u32) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.names.checked_add(at as usize)?..)?;
        Some(&rest[..rest.iter().position(|byte| *byte == 0)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int first; struct { int inner; }; }` as a compiler describes it.
    fn description() -> Vec<u8> {
        let names = b"\0outer\0first\0inner\0int\0";
        let types: [u32; 24] = [
            // int, 4 bytes
            19,
            1 << 24,
            4,
            0x0100_0020,
            // struct { int inner at bit 32; }
            0,
            4 << 24 | 1,
            8,
            13,
            1,
            32,
            // a const of it
            0,
            10 << 24,
            2,
            // struct outer
            1,
            4 << 24 | 2,
            16,
            7,
            1,
            0,
            0,
            3,
            64,
            // struct outer once more, as a module may have
            1,
            4 << 24,
        ];
        let header = [24_u32, 0, 4 * 24 + 4, 4 * 24 + 4, names.len() as u32];
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend(header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()));
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(names);
        bytes
    }

    #[test]
    fn members_are_found_through_structures_without_a_name() {
        let bytes = description();
        let types = Types::read(&bytes).expect("a description");
        assert_eq!(types.offset("outer", "first").ok(), Some(0));
        assert_eq!(types.offset("outer", "inner").ok(), Some(12));
        let missing = types.offset("outer", "other").expect_err("no such member");
        assert_eq!(missing.to_string(), "this kernel does not say where outer.other is");
        assert!(types.offset("other", "first").is_err());
    }

    #[test]
    fn a_description_that_is_cut_off_is_none_or_finds_less() {
        let bytes = description();
        for end in 0..bytes.len() {
            let Some(types) = Types::read(&bytes[..end]) else { continue };
            let _ = types.offset("outer", "inner");
        }
    }
}
