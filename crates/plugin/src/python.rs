//! Plug-ins in Python: a file with a class.
//!
//! A worker whose task needs the file becomes an interpreter before it takes the task (`host`). The interpreter runs
//! `transport.py`. That loads the worker as a shared library (`calls::worker`) and gives it a table of functions, which call the
//! methods of the class. The worker runs the same loops, with the same clock and proof, as for any other mechanism.

use crate::calls;
use ipcperf_core::Missing;
use ipcperf_engine::plugins::TASK;
use ipcperf_engine::protocol::Order;
use ipcperf_engine::task::SUBCOMMAND;
use ipcperf_sys::control::Control;
use serde_json::Value;
use std::env;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const INTERPRETER: &str = "python3";
const PROGRAM: &str = include_str!("python/transport.py");
/// The worker as a shared library.
const LIBRARY: &str = "libipcperf.so";
/// Where it is, seen from the folder of the program. Cargo writes `deps` whenever it builds the program, and the folder of the
/// program only now and then; packages install it elsewhere.
const PLACES: [&str; 3] = ["deps", ".", "../lib/ipcperf"];

/// Whether a plug-in is a file of Python.
pub(crate) fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}

/// In a worker that has not taken its task: becomes an interpreter if the task needs one.
pub(crate) fn host(parent: u32, tasks: &[&str]) -> Result<(), Missing> {
    if calls::is_hosted() {
        return Ok(());
    }
    // What is wrong with the channel is reported when the task is taken.
    let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3) else { return Ok(()) };
    let Ok(text) = Control::from_fd(copy).peek() else { return Ok(()) };
    let Some(file) = needed(&text, tasks) else { return Ok(()) };
    let zero = |_| Missing::new("its path has a zero byte", "");
    let library = library()?;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(zero);
    let words = [
        c"-c".to_owned(),
        CString::new(PROGRAM).map_err(zero)?,
        text(&library)?,
        text(&file)?,
        // As the coordinator started it, so that a list of processes shows a worker.
        CString::new(SUBCOMMAND).map_err(zero)?,
        CString::new(parent.to_string()).map_err(zero)?,
    ];
    Err(calls::execute(INTERPRETER, &words))
}

/// The file of Python that this order is about, if its task is one of these.
fn needed(text: &str, tasks: &[&str]) -> Option<PathBuf> {
    // Most orders have none, and need not be understood here.
    if !text.contains(".py\"") {
        return None;
    }
    let Ok(Order::Task { name, params, plugins }) = serde_json::from_str(text) else { return None };
    if !tasks.contains(&name.as_str()) {
        return None;
    }
    let declared = match name == TASK {
        true => Some(&params["declared"]),
        false => plugins.iter().find(|plugin| is_about(&params, &plugin["name"])),
    };
    let path = declared.and_then(|declared| declared["path"].as_str()).map(PathBuf::from);
    path.filter(|path| is_python(path))
}

/// Whether the parameters of a task name this mechanism as the one that the worker runs.
fn is_about(params: &Value, mechanism: &Value) -> bool {
    let Value::Object(members) = params else { return false };
    members.get("mechanism") == Some(mechanism)
        || members.values().any(|member| is_about(member, mechanism))
}

fn library() -> Result<PathBuf, Missing> {
    let program = env::current_exe().and_then(fs::canonicalize);
    let folder = program.ok().and_then(|program| Some(program.parent()?.to_owned()));
    let folder = folder.unwrap_or_default();
    let found = PLACES.iter().map(|place| folder.join(place).join(LIBRARY)).find(|at| at.exists());
    found.ok_or_else(|| {
        Missing::new(
            format!("Python loads {LIBRARY}, which is neither in {} nor in ../lib/ipcperf", folder.display()),
            "copy it from target/release of a checkout, where Cargo builds it with the program; packages and archives have it, but for the static ones",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(name: &str, params: Value, plugins: Vec<Value>) -> String {
        let order = Order::Task { name: name.into(), params, plugins };
        serde_json::to_string(&order).expect("JSON")
    }

    #[test]
    fn an_interpreter_is_needed_where_the_task_is_about_a_file_of_python() {
        let plugins = vec![
            json!({ "name": "a", "path": "/x/a.py" }),
            json!({ "name": "b", "path": "/x/libb.so" }),
            json!({ "name": "c", "path": "/x/c.py" }),
            // Also the word of a placement.
            json!({ "name": "free", "path": "/x/free.py" }),
        ];
        let slice = |name: &str| json!({ "key": { "mechanism": name, "placement": "free" } });
        let tasks = ["slice", TASK];
        let about = |name| needed(&order("slice", slice(name), plugins.clone()), &tasks);
        assert_eq!(about("c"), Some("/x/c.py".into()));
        assert_eq!(about("a"), Some("/x/a.py".into()));
        assert_eq!(about("b"), None);
        assert_eq!(about("pipe"), None);
        assert_eq!(about("free"), Some("/x/free.py".into()));
        let declare = |path: &str| json!({ "declared": { "path": path }, "question": "Declare" });
        let asked = |path| needed(&order(TASK, declare(path), plugins.clone()), &tasks);
        assert_eq!(asked("/x/c.py"), Some("/x/c.py".into()));
        assert_eq!(asked("/x/libb.so"), None);
        assert_eq!(needed(&order("case", slice("c"), plugins), &tasks), None);
        assert_eq!(needed("\"x.py\"", &tasks), None);
    }
}
