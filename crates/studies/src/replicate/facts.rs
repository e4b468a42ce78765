//! Facts that need no measurement: the machine, as a table of `lscpu` shows it, and the abilities of each mechanism.
//!
//! Readings of the machine: `cpus`, `threads_per_core`, `cores_per_socket`, `mhz`, `l1d_kib`, `l1i_kib`, `l2_kib`,
//! `l3_kib`, `memory_gib`, `bits` of an address, and `x86_64` and `little_endian`, 1 or 0. Readings of a mechanism end in the capability and are 1 or 0: `pipe.unrelated`,
//! `shm_sem.back_pressure`; what is not a letter or a digit in a name is an underscore. Beside them `pipe.copies`.

use super::work::{Turn, Work};
use crate::claims::Readings;
use ipcperf_core::Capability;
use ipcperf_engine::host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::procfs::{present_mhz, text};
use ipcperf_sys::topology::cpu_list;
use serde::Deserialize;
use std::path::Path;

/// Makes the work, which has no keys.
///
/// # Errors
/// There is one.
pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let _: FactKeys = table.clone().try_into().map_err(|error| error.to_string())?;
    Ok(Box::new(FactArm))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactKeys {}

struct FactArm;

impl Work for FactArm {
    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let mut readings = Readings::default();
        capabilities(turn.registry, &mut readings);
        machine(&mut readings);
        Ok(readings)
    }
}

fn capabilities(registry: &Registry, readings: &mut Readings) {
    for entry in registry.entries() {
        let name = plain(&entry.spec.full_name());
        for capability in Capability::ALL {
            // As documents call it: these names have stayed, and studies ask for them.
            let word = serde_json::to_value(capability).unwrap_or_default();
            let reading = format!("{name}.{}", plain(word.as_str().unwrap_or_default()));
            readings.answer(&reading, entry.spec.can(*capability));
        }
        readings.set_certain(format!("{name}.copies"), f64::from(entry.spec.copies));
    }
}

fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

fn machine(readings: &mut Readings) {
    let host = host::host();
    let cpus = Path::new("/sys/devices/system/cpu/cpu0");
    let at = |path: &str| text(&cpus.join(path).to_string_lossy());
    let listed = |path: &str| at(path).map(|list| cpu_list(&list).len() as f64);
    let threads = listed("topology/thread_siblings_list");
    let in_socket = listed("topology/core_siblings_list");
    let info = text("/proc/cpuinfo").unwrap_or_default();
    let mut numbers = vec![
        ("cpus", Some(host.cpus_online.len() as f64)),
        ("threads_per_core", threads),
        ("cores_per_socket", in_socket.zip(threads).map(|(all, threads)| all / threads)),
        ("mhz", present_mhz(&info)),
        ("x86_64", Some(f64::from(u8::from(host.arch == "x86_64")))),
        ("bits", Some(f64::from(usize::BITS))),
        ("little_endian", Some(f64::from(u8::from(cfg!(target_endian = "little"))))),
        ("memory_gib", Some(host.memory_bytes as f64 / f64::from(1 << 30))),
    ];
    for index in 0..8 {
        let cache = |what: &str| at(&format!("cache/index{index}/{what}"));
        let name = match (cache("level").as_deref(), cache("type").as_deref()) {
            (Some("1"), Some("Data")) => "l1d_kib",
            (Some("1"), Some("Instruction")) => "l1i_kib",
            (Some("2"), _) => "l2_kib",
            (Some("3"), _) => "l3_kib",
            _ => continue,
        };
        numbers.push((name, cache("size").and_then(|size| kib(&size))));
    }
    for (name, value) in numbers {
        if let Some(value) = value {
            readings.set_certain(name, value);
        }
    }
    let order = if cfg!(target_endian = "little") { "little endian" } else { "big endian" };
    let facts = [
        ("architecture", format!("{}, {} bits, {order}", host.arch, usize::BITS)),
        ("CPU", host.cpu_model),
        ("hypervisor", host.hypervisor.unwrap_or_else(|| "none".into())),
        (
            "frequency",
            host.frequency.unwrap_or_else(|| "not under the control of this kernel".into()),
        ),
        ("idle", host.idle.unwrap_or_else(|| "not under the control of this kernel".into())),
    ];
    readings.facts.extend(facts.map(|(name, value)| (name.to_owned(), value)));
}

/// A size as sysfs writes it: "32K", "6144K", "1M".
fn kib(size: &str) -> Option<f64> {
    let (number, factor) = match (size.strip_suffix('K'), size.strip_suffix('M')) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 1024.0),
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_say_what_they_can() {
        let mut readings = Readings::default();
        capabilities(&ipcperf_builtin::builtin(), &mut readings);
        for (name, value) in [
            ("pipe.unrelated", 0.0),
            ("fifo.unrelated", 1.0),
            ("tcp.network", 1.0),
            ("udp.back_pressure", 0.0),
            ("shm_sem.told_of_death", 0.0),
            ("seqlock.back_pressure", 0.0),
            ("pipe.copies", 2.0),
            ("shm_mailbox_spin.copies", 1.0),
        ] {
            assert_eq!(readings.values.get(name), Some(&value), "{name}");
        }
    }

    #[test]
    fn the_machine_has_cpus_and_sizes_are_read_as_written() {
        let mut readings = Readings::default();
        machine(&mut readings);
        assert!(readings.values.get("cpus").is_some_and(|cpus| *cpus >= 1.0));
        assert_eq!([kib("32K"), kib("1M"), kib("32")], [Some(32.0), Some(1024.0), None]);
    }
}
