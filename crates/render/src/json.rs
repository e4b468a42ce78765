//! Documents for programs, whole or line by line.

use crate::text;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io;

/// A document, indented, with a newline at the end.
///
/// # Errors
/// `out` refuses the bytes.
pub fn document(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    indented(value, 4, out)
}

/// The same, where everything below so many levels stays on one line.
///
/// # Errors
/// `out` refuses the bytes.
pub fn indented(value: &impl Serialize, deepest: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let layout = Indents { pretty: PrettyFormatter::new(), depth: 0, deepest };
    value.serialize(&mut Serializer::with_formatter(&mut *out, layout))?;
    writeln!(out)
}

/// Indents down to the deepest level that has lines.
struct Indents {
    pretty: PrettyFormatter<'static>,
    depth: usize,
    deepest: usize,
}

impl Formatter for Indents {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth > self.deepest { out.write_all(b"[") } else { self.pretty.begin_array(out) }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth >= self.deepest { out.write_all(b"]") } else { self.pretty.end_array(out) }
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (self.depth > self.deepest, first) {
            (false, _) => self.pretty.begin_array_value(out, first),
            (true, true) => Ok(()),
            (true, false) => out.write_all(b","),
        }
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.depth > self.deepest { Ok(()) } else { self.pretty.end_array_value(out) }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth > self.deepest { out.write_all(b"{") } else { self.pretty.begin_object(out) }
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth >= self.deepest { out.write_all(b"}") } else { self.pretty.end_object(out) }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (self.depth > self.deepest, first) {
            (false, _) => self.pretty.begin_object_key(out, first),
            (true, true) => Ok(()),
            (true, false) => out.write_all(b","),
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth > self.deepest { b":" } else { b": " })
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.depth > self.deepest { Ok(()) } else { self.pretty.end_object_value(out) }
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        fragment(text, out)
    }
}

/// Everything on one line.
struct Compact;

impl Formatter for Compact {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        fragment(text, out)
    }
}

/// Text between escapes, with what a terminal would obey or not show as escapes too (JSON itself asks for those below
/// U+0020 only). A reader of the document gets the same text.
fn fragment<W: ?Sized + io::Write>(text: &str, out: &mut W) -> io::Result<()> {
    let mut told = 0;
    for (at, sign) in text.char_indices().filter(|(_, sign)| text::is_unprinted(*sign)) {
        out.write_all(&text.as_bytes()[told..at])?;
        for unit in sign.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        told = at + sign.len_utf8();
    }
    out.write_all(&text.as_bytes()[told..])
}

/// One object on its line.
///
/// # Errors
/// `out` refuses the bytes.
pub fn object(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Compact))?;
    writeln!(out)
}
