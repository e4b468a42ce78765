//! Packs the JSON Schemas of this crate's documents.

fn main() -> std::io::Result<()> {
    ipcperf_packed::pack(".schema.json", "schemas")
}
