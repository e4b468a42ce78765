//! Prints the JSON Schema of the document that the argument names, made from its type; `cargo xtask docs` keeps what it prints
//! in the folder `schema` of the crate that writes the document. Without an argument: the names of all documents with their
//! kinds. `keys` prints the keys of a result as docs/RESULTS.md lists them.

use ipcperf::COMMANDS;
use ipcperf_kit::command::documents;
use ipcperf_kit::document_kind::DocumentKind;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{Error, Write, stdout};

fn main() -> Result<(), Error> {
    let kinds = documents(&COMMANDS.concat());
    let kind = |name: &str| {
        let found = kinds.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| Error::other(format!("there is no document '{name}'")))
    };
    match std::env::args().nth(1).as_deref() {
        None => kinds
            .iter()
            .try_for_each(|kind| writeln!(stdout(), "{} {}", kind.name, (kind.schema)())),
        Some("keys") => write!(stdout(), "{}", keys(&result(kind("result")?))),
        Some("result") => writeln!(stdout(), "{:#}", result(kind("result")?)),
        Some(name) => {
            let kind = kind(name)?;
            writeln!(stdout(), "{:#}", schema(kind, (kind.schema)()))
        }
    }
}

/// The schema of results of all minor versions.
fn result(kind: &DocumentKind) -> Value {
    let written = (kind.schema)();
    let major = written.rsplit_once('.').map(|(major, _)| major);
    let title = major.filter(|major| major.contains('/')).unwrap_or(written);
    let mut schema = schema(kind, title);
    columns(&mut schema["$defs"], "Round", true);
    schema["$defs"]["Cell"]["properties"]["rounds"] = json!({
        "description": schema["$defs"]["Cell"]["properties"]["rounds"]["description"],
        "anyOf": [{"$ref": "#/$defs/Round"}, {"maxProperties": 0}],
    });
    schema
}

/// The types of a result whose keys docs/RESULTS.md lists: those of cells, their rounds and the noise.
const LISTED: [&str; 16] = [
    "Noise",
    "Finding",
    "Cell",
    "Load",
    "Metric",
    "CpuCost",
    "OneWay",
    "Fan",
    "Connections",
    "Served",
    "Round",
    "HistogramData",
    "SideCpu",
    "Covariates",
    "SideCovariates",
    "Proof",
];

/// A table for each of these types and the document itself, with the first sentence of what describes each key.
fn keys(schema: &Value) -> String {
    let mut text = String::new();
    let listed = LISTED.map(|name| (name, &schema["$defs"][name]));
    for (name, object) in [("Result", schema)].into_iter().chain(listed) {
        text += &format!("### {name}\n\n| key | |\n|---|---|\n");
        for (key, property) in object["properties"].as_object().into_iter().flatten() {
            let whole = property["description"].as_str().unwrap_or_default().trim_end_matches('.');
            let first = whole.split_once(". ").map_or(whole, |(first, _)| first);
            text += &format!("| `{key}` | {first} |\n");
        }
        text.push('\n');
    }
    text
}

/// The schema of documents as they are written, called by its kind and major version.
fn schema(kind: &DocumentKind, title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(RecursiveTransform(simplify)).into_generator();
    let mut schema = json!({
        "$schema": generator.settings().meta_schema,
        "$id": format!("urn:{}", title.replace(['.', '/'], ":")),
        "title": title,
    });
    for (key, value) in (kind.generate)(generator).as_object().into_iter().flatten() {
        if schema.get(key).is_none() {
            schema[key] = value.clone();
        }
    }
    schema
}

/// Leaves out how Rust holds a number, and says which keys a document has.
fn simplify(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let names = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    let mut required = Vec::new();
    for (key, property) in properties {
        let Some(property) = property.as_object_mut() else { continue };
        // What a reader has a default for came with a later minor version than the first.
        if property.remove("default").is_some() {
            continue;
        }
        if names.iter().any(|name| name == key) {
            required.push(key.clone());
        } else {
            never_empty(property);
        }
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
}

/// A key that is left out where it would be `null` or 0 is neither.
fn never_empty(property: &mut Map<String, Value>) {
    if let Some(Value::Array(choices)) = property.remove("anyOf") {
        // A reference or null.
        property.extend(choices[0].as_object().cloned().unwrap_or_default());
    } else if let Some(Value::Array(types)) = property.get("type") {
        // One type and null.
        let only = types[0].clone();
        property.insert("type".to_owned(), only);
    } else if property.contains_key("minimum") {
        property.insert("minimum".to_owned(), json!(1));
    }
}

/// Makes columns of the keys of an object, and of those of the objects in it. A column that no round has is absent.
fn columns(definitions: &mut Value, name: &str, is_always: bool) {
    let mut within = Vec::new();
    // A reference to an enumeration is a value.
    let objects: BTreeSet<String> = definitions
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, definition)| definition.get("properties").is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let definition = &mut definitions[name];
    let mut required = definition["required"].as_array().cloned().unwrap_or_default();
    for (key, property) in definition["properties"].as_object_mut().into_iter().flatten() {
        let is_required = required.iter().any(|name| name == key);
        let reference = property.get("$ref").and_then(Value::as_str);
        let object = reference.and_then(|path| path.rsplit('/').next());
        if let Some(object) = object.filter(|object| objects.contains(*object)) {
            within.push((object.to_owned(), is_always && is_required));
        } else if let Some(values) = property.get_mut("additionalProperties") {
            *values = column(values, false);
        } else {
            if property["type"].as_array().is_some_and(|types| types.contains(&json!("null"))) {
                required.retain(|name| name != key);
            }
            *property = column(property, is_always && is_required);
        }
    }
    definition["required"] = required.into();
    within.sort();
    within.dedup();
    within.iter().for_each(|(object, is_always)| columns(definitions, object, *is_always));
}

/// The list of such values, with `null` for a round that has none.
fn column(value: &Value, is_always: bool) -> Value {
    let mut value = value.clone();
    let description = value.as_object_mut().and_then(|keys| keys.remove("description"));
    if !is_always && !value["type"].is_array() {
        value = match value.as_object_mut() {
            Some(keys) if keys.len() == 1 && keys.contains_key("type") => {
                json!({"type": [keys["type"], "null"]})
            }
            _ => json!({"anyOf": [value, {"type": "null"}]}),
        };
    }
    let mut column = json!({"type": "array", "items": value});
    if let Some(description) = description {
        column["description"] = description;
    }
    column
}
