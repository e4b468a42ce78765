//! The JSON Schemas of the documents: what is written is described by them, all of it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a schema says is wrong with a document, a line for each place.
///
/// # Panics
/// The schema is not valid.
#[must_use]
pub fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("the schema is valid");
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The JSON Schema (2020-12) of a kind of document (`profile`), as the program prints it: a file of the crate that writes the
/// documents, `ipcperf.profile-1.schema.json`.
///
/// # Panics
/// No crate has one.
#[must_use]
pub fn schema(kind: &str) -> Value {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = found(&crates, &format!("ipcperf.{kind}-"));
    let file = file.unwrap_or_else(|| panic!("no schema of '{kind}'"));
    let text = fs::read_to_string(file).expect("readable");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The schema below a folder whose name begins so.
fn found(folder: &Path, begin: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        match path.is_dir() {
            true => found(&path, begin),
            false => (name.starts_with(begin) && name.ends_with(".schema.json")).then_some(path),
        }
    })
}

/// A document is valid by the schema of its kind, which names each of its keys.
///
/// # Panics
/// It is not, or a key is not named.
pub fn is_described(kind: &str, document: &Value) {
    let schema = schema(kind);
    assert_eq!(errors(&schema, document), Vec::<String>::new());
    let mut found = Vec::new();
    unnamed(&schema, &schema, document, "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// Keys of a document that the schema does not name, walking both together.
fn unnamed(root: &Value, schema: &Value, document: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        return unnamed(root, target, document, path, found);
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let each = choices.iter().map(|choice| {
            let mut found = Vec::new();
            unnamed(root, choice, document, path, &mut found);
            found
        });
        // The choice that was written is the one that names most.
        found.extend(each.min_by_key(Vec::len).unwrap_or_default());
        return;
    }
    match document {
        Value::Object(keys) => {
            for (key, value) in keys {
                let path = format!("{path}/{key}");
                match (schema["properties"].get(key), schema.get("additionalProperties")) {
                    (Some(named), _) => unnamed(root, named, value, &path, found),
                    (None, Some(any)) if any.is_object() => unnamed(root, any, value, &path, found),
                    _ => found.push(path),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                unnamed(root, &schema["items"], item, path, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_the_schema_does_not_name_is_noticed() {
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"properties": {"all": {"items": {"properties": {"one": {}}}}}}},
        });
        let mut found = Vec::new();
        let document = json!({"a": {"all": [{"one": 1}, {"one": 2, "moon": 3}]}});
        unnamed(&schema, &schema, &document, "", &mut found);
        assert_eq!(found, ["/a/all/moon"]);
    }
}
