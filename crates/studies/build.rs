//! Packs the studies, and the JSON Schema of their results.

fn main() -> std::io::Result<()> {
    ipcperf_packed::pack(".schema.json", "schemas")?;
    ipcperf_packed::pack(".toml", "studies")
}
