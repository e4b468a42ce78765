//! Many hosts on one page.

use super::*;
use crate::testing::sample;
use crate::testing::sample::Build;
use ipcperf_render::{Format, Style};
use ipcperf_testing::sound::is_sound;
use ipcperf_testing::to_text;

/// Normal numbers of a fixed seed.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| self.uniform()).sum();
        sum - 6.0
    }
}

/// A host with this CPU and kernel, slower than others like it by this factor.
fn host(name: &str, (cpu, kernel): (&str, &str), factor: f64) -> HostResult {
    let base = if cpu.starts_with("Old") { 20_000.0 } else { 10_000.0 };
    let cells = [("pipe", 1.0), ("tcp", 2.0), ("unix-stream", 1.2)].map(|(name, times)| {
        let time = base * times * factor;
        sample::cell(name, 64, sample::TWO).rtt(time, time / 100.0)
    });
    let mut set = sample::set(cells.to_vec());
    set.origin.labels.insert("host".to_owned(), name.to_owned());
    (set.host.cpu_model, set.kernel.release) = (cpu.to_owned(), kernel.to_owned());
    HostResult::of("ignored.json", &set)
}

const KINDS: [(&str, &str); 3] =
    [("New CPU", "6.12.1"), ("New CPU", "6.18.0"), ("Old CPU", "6.12.1")];

/// `each` hosts of each kind, which differ by 1 %. The hosts in `slow` are 25 % slower.
fn fleet(each: usize, slow: &[&str], seed: u64) -> Vec<HostResult> {
    fleet_of(each, slow, 0.01, seed)
}

fn fleet_of(each: usize, slow: &[&str], spread: f64, seed: u64) -> Vec<HostResult> {
    let mut normal = Normal(seed);
    let mut hosts = Vec::new();
    for (kind, names) in KINDS.iter().zip(["a", "b", "c"]) {
        for at in 0..each {
            let name = format!("{names}{at}");
            let factor = if slow.contains(&name.as_str()) { 1.25 } else { 1.0 };
            hosts.push(host(&name, *kind, factor * (spread * normal.next()).exp()));
        }
    }
    hosts
}

fn html(hosts: Vec<HostResult>) -> String {
    let style = Style::default().within(Format::Html);
    to_text(|out| fleet_doc(hosts).write(Format::Html, &style, out))
}

#[test]
fn a_page_of_hosts_has_groups_slow_hosts_and_one_picture_in_a_bounded_size() {
    let hosts = fleet(12, &["a3", "c7"], 1);
    let count = hosts.len();
    let text = html(hosts);
    is_sound(&text);
    assert!(text.contains("<h1>2 of 36 hosts are slow: "), "{text}");
    // Both drawings of the one picture, for wide windows and narrow ones.
    assert_eq!(text.matches("<svg").count(), 2);
    assert_eq!(text.matches("class=\"none ring\"").count(), 2 * 2);
    for (letter, group) in ["A", "B", "C"].into_iter().zip(["New CPU", "New CPU", "Old CPU"]) {
        assert!(text.contains(&format!("{letter}: {}", group.replace(" CPU", ""))), "{letter}");
    }
    let slow = text.split_once("id=\"slow-hosts\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(slow.contains(">a3</a>") && slow.contains(">c7</a>") && !slow.contains(">b3</a>"));
    let rows = text.split_once("id=\"all-rows\"").unwrap().1;
    assert_eq!(rows.matches("<tr id=\"host-").count(), count);
    // What every page has, and each host.
    assert!(text.len() < 40_000 + 1_500 * count, "{}", text.len());
}

#[test]
fn equal_hosts_are_rarely_called_slow_and_a_slow_one_nearly_always() {
    let (mut alarms, mut found, mut all) = (0, 0, 0);
    for seed in 0..40 {
        for (each, spread) in [(12, 0.01), (40, 0.01), (12, 0.03), (40, 0.03)] {
            let (groups, _) = groups::groups(fleet_of(each, &["b5"], spread, 100 + seed));
            let slow = groups.iter().flat_map(|group| group.slow());
            let (own, others): (Vec<_>, Vec<_>) = slow.partition(|host| host.result.host == "b5");
            (found, alarms, all) = (found + own.len(), alarms + others.len(), all + 3 * each);
        }
    }
    assert_eq!(found, 160, "of 160 slow hosts");
    assert!(alarms * 500 <= all, "{alarms} of {all} equal hosts");
}

#[test]
fn few_hosts_are_not_judged_and_an_older_result_of_a_host_is_left_out() {
    let mut hosts = fleet(4, &["a1"], 3);
    let mut older = hosts[0].clone();
    older.started_utc = "2020-01-01T00:00:00Z".to_owned();
    hosts.push(older);
    let text = html(hosts);
    assert!(text.contains("<h1>12 hosts in 3 groups by CPU and kernel: too few"), "{text}");
    assert!(text.contains("1 older result left out"));
    assert!(!text.contains("id=\"slow-hosts\""));
}

#[test]
fn the_heading_counts_the_hosts_that_were_judged() {
    let mut hosts: Vec<HostResult> = fleet(30, &[], 4);
    hosts.retain(|host| host.host.starts_with('a'));
    hosts.extend(fleet(3, &["b1"], 5).into_iter().filter(|host| host.host.starts_with('b')));
    let text = html(hosts);
    let heading =
        "<h1>None of 30 hosts is slow for its CPU and kernel; 3 more in groups too small to judge";
    assert!(text.contains(heading), "{text}");
}

#[test]
fn a_result_without_a_label_is_a_host_with_the_name_of_its_file() {
    let set = sample::set(vec![sample::cell("pipe", 64, sample::TWO).rtt(10_000.0, 100.0)]);
    for file in ["results/n1.json", "results/n1.json.gz", "n1"] {
        assert_eq!(HostResult::of(file, &set).host, "n1", "{file}");
    }
    let mut hosts = fleet(4, &[], 6);
    hosts.push(HostResult::of("n1.json.gz", &set));
    let text = html(hosts);
    assert!(text.contains("Without the label host a host has the name of its file: 1 result."));
}

#[test]
fn what_sets_a_slow_host_apart_is_named() {
    let mut hosts = fleet(12, &["a3"], 5);
    for one in &mut hosts {
        let governor = if one.host == "a3" { "powersave" } else { "performance" };
        one.facts.insert("frequency".to_owned(), [(String::new(), governor.to_owned())].into());
    }
    let text = html(hosts);
    assert!(text.contains("frequency powersave (most: performance)"), "{text}");
}
