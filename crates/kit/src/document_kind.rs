//! Kinds of documents: each is a row of the command that writes it.

use crate::document::Document;
use ipcperf_judge::LoadError;

/// Reads a document of one kind.
type Load = fn(&str) -> Result<Box<dyn Document>, LoadError>;

/// A kind of document: a row of the command that writes it. `schema`, `report`, `--if-done`, fuzz targets and the generator of
/// JSON Schemas read these rows.
#[derive(Clone, Copy, Debug)]
pub struct DocumentKind {
    /// What `ipcperf schema` calls it: `profile`.
    pub name: &'static str,
    /// Its kind and major version: `ipcperf.profile/1`.
    pub schema: fn() -> &'static str,
    /// Its JSON Schema, as the program prints it.
    pub json_schema: fn() -> String,
    /// Its JSON Schema, made from its type.
    #[cfg(feature = "schema")]
    pub generate: fn(schemars::SchemaGenerator) -> schemars::Schema,
    pub(crate) load: Option<Load>,
}

/// A type that a JSON Schema can be made of, where this build makes any.
#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// A type that a JSON Schema can be made of, where this build makes any.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

impl DocumentKind {
    /// A kind that can be read and shown again.
    #[must_use]
    pub const fn of<D: Document + Described>(
        name: &'static str,
        json_schema: fn() -> String,
    ) -> Self {
        Self::around::<D, D>(name, json_schema)
    }

    /// The same, where what is written has a type of its own.
    #[must_use]
    pub const fn around<D: Document, Written: Described>(
        name: &'static str,
        json_schema: fn() -> String,
    ) -> Self {
        let load =
            |text: &str| -> Result<Box<dyn Document>, LoadError> { Ok(Box::new(D::load(text)?)) };
        Self { load: Some(load), ..Self::printed::<Written>(name, D::schema, json_schema) }
    }

    /// A kind that is only printed.
    #[must_use]
    pub const fn printed<D: Described>(
        name: &'static str,
        schema: fn() -> &'static str,
        json_schema: fn() -> String,
    ) -> Self {
        Self {
            name,
            schema,
            json_schema,
            #[cfg(feature = "schema")]
            generate: |generator| generator.into_root_schema_for::<D>(),
            load: None,
        }
    }
}
