//! The document itself, whole or line by line.

use crate::results::versus::Versus;
use ipcperf_core::result::{
    Bounds, Cell, ClockFacts, Host, Invocation, Kernel, Noise, Origin, Pipeline, PluginFile,
    Question, ResultSet, Scaling, Tool,
};
use ipcperf_kit::document::Specs;
use ipcperf_render::json::object;
use serde::Serialize;
use std::io;

/// The document, indented, with a newline at the end. Below the keys of a cell everything stays on one line: indented
/// throughout, a survey's file is twice as large and nobody can read it.
pub(crate) fn render(set: &ResultSet, out: &mut dyn io::Write) -> io::Result<()> {
    // Root, list of cells, cell.
    ipcperf_render::json::indented(set, 3, out)
}

/// All of a result set but its cells and pipelines.
#[derive(Serialize)]
struct RunLine<'a> {
    r#type: &'static str,
    schema: &'a str,
    #[serde(flatten)]
    origin: &'a Origin,
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    questions: &'a [Question],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    scaling: &'a [Scaling],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    plugins: &'a [PluginFile],
}

#[derive(Serialize)]
struct CellLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    cell: &'a Cell,
    #[serde(skip_serializing_if = "Option::is_none")]
    versus: Option<&'a Versus>,
}

#[derive(Serialize)]
struct PipelineLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    pipeline: &'a Pipeline,
}

/// `{"type":"run",...}` without cells, then `{"type":"cell",...}` for each, and the same for pipelines. A cell that can be
/// compared has `versus` beyond the document: its relation to the reference of the tables.
pub(crate) fn render_lines(
    set: &ResultSet,
    specs: &Specs,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    // Without `..`, so that a key added to the document cannot be forgotten here.
    let ResultSet {
        schema,
        origin,
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
        questions,
        cells,
        scaling,
        plugins,
        pipelines,
    } = set;
    let run = RunLine {
        r#type: "run",
        schema,
        origin,
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
        questions,
        scaling,
        plugins,
    };
    object(&run, out)?;
    let versus = Versus::all(set, specs);
    for cell in cells {
        let versus = versus.get(&std::ptr::from_ref(cell));
        object(&CellLine { r#type: "cell", cell, versus }, out)?;
    }
    for pipeline in pipelines {
        object(&PipelineLine { r#type: "pipeline", pipeline }, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{rendered, sample};
    use ipcperf_judge::load;
    use ipcperf_render::{Format, Style};
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
        let mut compared = 0;
        for cell in &mut lines {
            assert_eq!(take_type(cell), "cell");
            if let Some(versus) = cell.as_object_mut().unwrap().remove("versus") {
                compared += 1;
                assert!(versus["reference"].is_string() && versus["ratio"].is_number(), "{versus}");
            }
        }
        assert_eq!(compared, 18, "those with something to be compared with");
        run["cells"] = lines.into();
        assert_eq!(run, serde_json::to_value(sample::survey()).unwrap());
    }
}
