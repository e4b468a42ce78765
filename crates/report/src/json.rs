//! The document itself, whole or line by line.

use crate::text;
use ipcperf_core::result::{
    Bounds, Cell, ClockFacts, Host, Invocation, Kernel, Noise, Pipeline, ResultSet, Tool,
};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io;

/// The document, indented, with a newline at the end. Below the keys of a cell everything stays on one line: indented
/// throughout, a survey's file is twice as large and nobody can read it.
pub(crate) fn render(set: &ResultSet, out: &mut dyn io::Write) -> io::Result<()> {
    // Root, list of cells, cell.
    indented(set, 3, out)
}

/// Any document of this tool, indented, with a newline at the end.
pub(crate) fn document(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    indented(value, 4, out)
}

fn indented(value: &impl Serialize, deepest: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let layout = Layout { pretty: PrettyFormatter::new(), depth: 0, deepest };
    value.serialize(&mut Serializer::with_formatter(&mut *out, layout))?;
    writeln!(out)
}

/// Indents down to the deepest level that has lines.
struct Layout {
    pretty: PrettyFormatter<'static>,
    depth: usize,
    deepest: usize,
}

impl Formatter for Layout {
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
pub(crate) fn object(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Compact))?;
    writeln!(out)
}

/// All of a result set but its cells and pipelines.
#[derive(Serialize)]
struct RunLine<'a> {
    r#type: &'static str,
    schema: &'a str,
    started_utc: &'a str,
    duration_s: f64,
    interrupted: bool,
    tool: &'a Tool,
    invocation: &'a Invocation,
    host: &'a Host,
    kernel: &'a Kernel,
    clock: &'a ClockFacts,
    bounds: &'a Bounds,
    noise: &'a Noise,
}

#[derive(Serialize)]
struct CellLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    cell: &'a Cell,
}

#[derive(Serialize)]
struct PipelineLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    pipeline: &'a Pipeline,
}

/// `{"type":"run",...}` without cells, then `{"type":"cell",...}` for each, and the same for pipelines.
pub(crate) fn render_lines(set: &ResultSet, out: &mut dyn io::Write) -> io::Result<()> {
    // Without `..`, so that a key added to the document cannot be forgotten here.
    let ResultSet {
        schema,
        started_utc,
        duration_s,
        interrupted,
        tool,
        invocation,
        host,
        kernel,
        clock,
        bounds,
        noise,
        cells,
        pipelines,
    } = set;
    let run = RunLine {
        r#type: "run",
        schema,
        started_utc,
        duration_s: *duration_s,
        interrupted: *interrupted,
        tool,
        invocation,
        host,
        kernel,
        clock,
        bounds,
        noise,
    };
    object(&run, out)?;
    for cell in cells {
        object(&CellLine { r#type: "cell", cell }, out)?;
    }
    for pipeline in pipelines {
        object(&PipelineLine { r#type: "pipeline", pipeline }, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{rendered, sample};
    use crate::{Format, Style, load};
    use serde_json::Value;

    fn written(format: Format) -> String {
        rendered(&sample::survey(), format, &Style::default())
    }

    #[test]
    fn the_document_is_the_result_set() {
        let text = written(Format::Json);
        assert!(text.ends_with("}\n"));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, serde_json::to_value(load(&text).unwrap()).unwrap());
    }

    #[test]
    fn lines_put_together_are_the_document() {
        let mut lines = Vec::new();
        for line in written(Format::Ndjson).lines() {
            assert!(line.starts_with(r#"{"type":""#), "{line}");
            lines.push(serde_json::from_str::<Value>(line).unwrap());
        }
        let take_type = |line: &mut Value| line.as_object_mut().unwrap().remove("type").unwrap();
        let mut run = lines.remove(0);
        assert_eq!(take_type(&mut run), "run");
        assert!(run.get("cells").is_none());
        for cell in &mut lines {
            assert_eq!(take_type(cell), "cell");
        }
        run["cells"] = lines.into();
        assert_eq!(run, serde_json::to_value(sample::survey()).unwrap());
    }
}
