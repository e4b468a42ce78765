//! Prints the JSON Schema of the document that the argument names: `result`, `mechanisms`, `replication`, `comparison`,
//! `doctor` or `selftest`. `cargo xtask docs` keeps what it prints in `schema/`.

use ipcperf_core::result::{
    COMPARISON_SCHEMA, Comparison, DOCTOR_SCHEMA, Examination, MECHANISMS_SCHEMA, MechanismList,
    REPLICATION_SCHEMA, Replication, ResultSet, SCHEMA, SELFTEST_SCHEMA, SelfTest,
};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::io::{Error, Write, stdout};

fn main() -> Result<(), Error> {
    let document = std::env::args().nth(1).unwrap_or_default();
    let schema = match document.as_str() {
        // Of all minor versions.
        "result" => schema::<ResultSet>(
            SCHEMA
                .rsplit_once('.')
                .map_or(SCHEMA, |(major, _)| if major.contains('/') { major } else { SCHEMA }),
        ),
        "mechanisms" => schema::<MechanismList>(MECHANISMS_SCHEMA),
        "replication" => schema::<Replication>(REPLICATION_SCHEMA),
        "comparison" => schema::<Comparison>(COMPARISON_SCHEMA),
        "doctor" => schema::<Examination>(DOCTOR_SCHEMA),
        "selftest" => schema::<SelfTest>(SELFTEST_SCHEMA),
        _ => {
            let known = "result, mechanisms, replication, comparison, doctor or selftest?";
            return Err(Error::other(known));
        }
    };
    writeln!(stdout(), "{schema:#}")
}

/// The schema of documents as they are written, called by its kind and major version.
fn schema<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(RecursiveTransform(simplify)).into_generator();
    let mut schema = json!({
        "$schema": generator.settings().meta_schema,
        "$id": format!("urn:{}", title.replace(['.', '/'], ":")),
        "title": title,
    });
    for (key, value) in generator.into_root_schema_for::<T>().as_object().into_iter().flatten() {
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
