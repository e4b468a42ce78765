//! Lists of CPUs as the kernel writes them: `0-3,8`.

/// Reads a kernel CPU list: `0-3,8,10-11`. Parts that make no sense are left out.
#[must_use]
pub fn cpu_list(text: &str) -> Vec<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    text.trim()
        .split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => {
                Some(number(first)?..=number(last)?.min(number(first)?.saturating_add(65_536)))
            }
            None => number(part).map(|one| one..=one),
        })
        .flatten()
        .collect()
}

/// CPUs as the kernel lists them: `0-3,8`.
pub(super) fn ranges(cpus: &[usize]) -> String {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => all.push((cpu, cpu)),
        }
    }
    let shown = all.into_iter().map(|(first, last)| match last == first {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}
