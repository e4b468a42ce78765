//! Packs the JSON Schema of profiles.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=schema");
    ipcperf_packed::pack("schema", "schemas")
}
