//! Packs the JSON Schemas of this crate's documents.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=schema");
    ipcperf_packed::pack("schema", "schemas")
}
