//! Packs the studies, and the JSON Schema of their results.

fn main() -> std::io::Result<()> {
    for folder in ["schema", "studies"] {
        println!("cargo::rerun-if-changed={folder}");
    }
    ipcperf_packed::pack("schema", "schemas")?;
    ipcperf_packed::pack("studies", "studies")
}
