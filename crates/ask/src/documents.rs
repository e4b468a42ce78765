//! The documents of the questions.

use crate::results::document::ResultDocument;
use ipcperf_core::result::{
    DOCTOR_SCHEMA, Examination, MECHANISMS_SCHEMA, MechanismList, ResultSet,
};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_packed::text;

const SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));

/// The JSON Schema of a document of this crate.
pub(crate) fn schema(name: &str) -> String {
    text(SCHEMAS, name).unwrap_or_default()
}

/// What `survey`, `run`, `choose` and `explain` write.
pub(crate) const RESULT: DocumentKind =
    DocumentKind::around::<ResultDocument, ResultSet>("result", || schema("result"));
/// What `doctor --format json` prints.
pub(crate) const DOCTOR: DocumentKind =
    DocumentKind::printed::<Examination>("doctor", || DOCTOR_SCHEMA, || schema("doctor"));
/// What `list --json` prints.
pub(crate) const MECHANISMS: DocumentKind = DocumentKind::printed::<MechanismList>(
    "mechanisms",
    || MECHANISMS_SCHEMA,
    || schema("mechanisms"),
);
