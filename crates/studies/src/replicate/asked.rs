//! Parts of a study that are asked for: single claims, and other parameters.

use super::cell::ArmKeys;
use super::kinds;
use crate::claims::Study;
use crate::packed;
use crate::replication::Scale;
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::foreign;
use std::collections::BTreeSet;
use std::path::Path;

/// Leaves only these claims, in lists with commas, of all studies, and says so. A study of which nothing is left is left
/// out.
pub(crate) fn only(studies: &mut Vec<Study>, given: &[String]) -> Result<Option<String>, Stop> {
    let ids: Vec<String> = given
        .iter()
        .flat_map(|list| list.split(','))
        .map(|id| id.trim().to_owned())
        .filter(|id| !id.is_empty())
        .collect();
    if given.is_empty() {
        return Ok(None);
    }
    let known: BTreeSet<&str> = studies.iter().flat_map(Study::claim_ids).collect();
    for id in &ids {
        if !known.contains(id.as_str()) {
            let list = "'ipcperf replicate --dry-run' lists all claims";
            return Err(unknown("claim", id, known.iter().copied(), list));
        }
    }
    if ids.is_empty() {
        return Err(Stop::usage("--only: no claim is named"));
    }
    for study in studies.iter_mut() {
        study.only(&ids);
    }
    studies.retain(|study| study.claim_ids().next().is_some());
    Ok(Some(format!("Limited to {} (--only).", ids.join(", "))))
}

/// Sets parameters, each as `KEY=VALUE`, `WORK.KEY=VALUE` or `ARM.KEY=VALUE`, and says so.
pub(crate) fn set(
    studies: &mut [Study],
    given: &[String],
    scale: Scale,
) -> Result<Option<String>, Stop> {
    for setting in given {
        let wrong = |error: &str| Stop::usage(format!("--set {setting}: {error}"));
        let (name, value) = setting.split_once('=').ok_or_else(|| wrong("must be KEY=VALUE"))?;
        let (target, key) = match name.trim().rsplit_once('.') {
            Some((target, key)) => (Some(target), key),
            None => (None, name.trim()),
        };
        if let Some(target) = target {
            let known: BTreeSet<String> = studies.iter().flat_map(Study::targets).collect();
            if !known.contains(target) {
                let names = known.iter().map(String::as_str);
                let list = "'ipcperf replicate STUDY --dry-run' lists the arms and their works";
                return Err(unknown("arm or work", target, names, list));
            }
        }
        let value = parse(value.trim());
        let mut count = 0;
        for study in studies.iter_mut() {
            let altered = study.altered(target, key, &value, scale).map(|arm| arm.id.clone());
            let set = study.set(target, key, &value, scale, &kinds::check);
            count += set.map_err(|error| wrong(&error))?;
            if let Some(arm) = altered {
                return Err(wrong(&other_arm(study, key, &arm, scale)));
            }
        }
        if count == 0 {
            let known: BTreeSet<String> =
                studies.iter().flat_map(|study| study.parameters(scale)).collect();
            let known = known.iter().map(String::as_str);
            let list = "'ipcperf replicate --export STUDY' writes all of them";
            return Err(unknown("parameter", key, known, list));
        }
    }
    Ok((!given.is_empty()).then(|| format!("Not as its file says: {}.", given.join(", "))))
}

/// Why a key that says what an arm is cannot be set, and how to get what was meant.
fn other_arm(study: &Study, key: &str, arm: &str, scale: Scale) -> String {
    let (name, can) = (study.name(), Vec::from_iter(study.parameters(scale)).join(", "));
    let way = if packed::STUDY_NAMES.contains(&name) {
        format!(
            "'ipcperf replicate --export {name}', change {name}.toml, 'ipcperf replicate {name}.toml'; or 'ipcperf run'"
        )
    } else {
        "change the file of the study".to_owned()
    };
    format!(
        "'{key}' says what arm {arm} is, so that its label and what was published would be of something else; \
         what can be set is how much is measured: {can}. For another '{key}': {way}"
    )
}

/// A path of an arm that lies outside the current directory and was not typed: the file may be somebody else's.
pub(crate) fn path(study: &Study, typed: &[String], scale: Scale) -> Option<String> {
    let is_typed = |path: &str| typed.iter().any(|setting| names(setting, path));
    let cells = study.arms.iter().filter(|arm| arm.work == kinds::CELL);
    cells.into_iter().find_map(|arm| {
        let paths = ArmKeys::of(&study.keys(arm, scale)).ok()?.paths();
        let leads_out = |path: &str| !foreign::stays_below(Path::new(path)) && !is_typed(path);
        let (what, path, setting) = paths.into_iter().find(|(_, path, _)| leads_out(path))?;
        let flag = format!("--set '{}.{setting}'", arm.id);
        Some(format!("arm {}: {}", arm.id, foreign::leads_out(&what, &path, &flag)))
    })
}

/// Whether a setting has this very path, and not a longer one.
fn names(setting: &str, path: &str) -> bool {
    let goes_on = |sign: char| sign.is_alphanumeric() || "/._-~".contains(sign);
    setting.match_indices(path).any(|(at, _)| {
        let (before, after) = (&setting[..at], &setting[at + path.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

/// A value as TOML has it, else a text.
fn parse(text: &str) -> toml::Value {
    let table: Option<toml::Table> = format!("value = {text}").parse().ok();
    let value = table.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed;

    fn studies() -> Vec<Study> {
        let parse = |(_, text): &(String, String)| Study::parse(text, &kinds::check).expect("ours");
        packed::studies().iter().map(parse).collect()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn of_a_claim_only_what_it_needs_is_measured() {
        let mut studies = studies();
        only(&mut studies, &words(&["s4.c2"])).expect("a claim of marhubi");
        let [marhubi] = &studies[..] else { panic!("{} studies", studies.len()) };
        let arms: Vec<&str> = marhubi.arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!((marhubi.name(), arms), ("marhubi", vec!["pipes", "eventfd"]));
        assert_eq!(marhubi.claim_ids().collect::<Vec<_>>(), ["s4.c2"]);
    }

    #[test]
    fn claims_and_parameters_that_do_not_exist_name_the_nearest_that_do() {
        let told = |stop: Stop| stop.to_string();
        for (id, part) in [("s4.c22", "did you mean 's4.c2"), ("", "no claim is named")] {
            let error = told(only(&mut studies(), &words(&[id])).expect_err(id));
            assert!(error.contains(part), "{error}");
        }
        for (setting, part) in [
            ("samples", "must be KEY=VALUE"),
            ("sampels=10", "unknown parameter 'sampels'; did you mean 'samples'?"),
            ("pipez.samples=10", "unknown arm or work 'pipez'; did you mean 'pipes'?"),
            ("cell.sampels=10", "unknown field `sampels`"),
            ("samples=many", "invalid type"),
            ("block=4096", "'block' says what arm anon[100] is"),
            ("placement=0,1", "'ipcperf replicate --export inferno', change inferno.toml"),
            ("cell.touch=full", "'touch' says what arm "),
            ("pipes.set={}", "'set' says what arm pipes is"),
            ("pipes.label=other", "unknown field `label`"),
            ("blok=4096", "unknown parameter 'blok'"),
            ("pipes.slice=10000", "slice: 10000 has no unit: a time is needed, like 10ms"),
            ("self-loop.warmup=10ms", "warmup: '10ms' is not a number of round trips"),
            ("samples=-1", "invalid value"),
            ("self-loop.samples=0", "samples: 0"),
            ("cell.warmup=0", "warmup: 0 is not between 1 and 100000000"),
            ("cell.warmup=true", "'warmup' takes a time as text, or a number of operations"),
            ("clocks.repeats=100000", "'repeats' must be 1 to 1000"),
        ] {
            let error =
                told(set(&mut studies(), &words(&[setting]), Scale::Smoke).expect_err(setting));
            assert!(error.contains(part) && !error.contains('\n'), "{setting}: {error}");
        }
    }

    /// `--set block=4096` measured blocks of 4096 bytes in the rows of 100, 500 and 10,000, and judged them.
    #[test]
    fn what_an_arm_is_can_be_repeated_and_not_changed() {
        let mut studies = studies();
        set(&mut studies, &words(&["anon[100].block=100"]), Scale::Smoke).expect("as it is");
        set(&mut studies, &words(&["anon[100].bytes=1000000"]), Scale::Smoke).expect("an amount");
        let error = set(&mut studies, &words(&["anon[100].block=101"]), Scale::Smoke);
        let error = error.expect_err("another arm").to_string();
        for part in ["bytes", "most_blocks", "or 'ipcperf run'"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_path_is_typed_if_a_setting_has_it_whole() {
        for (setting, is_typed) in [
            ("pipe.payload=/data/a", true),
            ("pipe.payload=b,/data/a", true),
            ("pipe.set={ \"temp-file.dir\" = \"/data/a\" }", true),
            ("pipe.mechanism=temp-file dir=/data/a", true),
            ("pipe.payload=/data/a/b", false),
            ("pipe.payload=/data/ab", false),
            ("pipe.payload=/x/data/a", false),
            ("pipe.samples=7", false),
        ] {
            assert_eq!(names(setting, "/data/a"), is_typed, "{setting}");
        }
    }

    #[test]
    fn a_parameter_is_set_where_it_is_meant_and_nowhere_else() {
        let mut studies = studies();
        let said =
            set(&mut studies, &words(&["pipes.samples=77", "cell.warmup=3ms"]), Scale::Quick);
        assert!(
            said.expect("known")
                .is_some_and(|text| text.contains("pipes.samples=77, cell.warmup=3ms"))
        );
        set(&mut studies, &words(&["eventfd.warmup=10000"]), Scale::Quick).expect("a number");
        let marhubi = studies.iter().find(|study| study.name() == "marhubi").expect("ours");
        let eventfd = marhubi.arms.iter().find(|arm| arm.id == "eventfd").expect("ours");
        assert_eq!(marhubi.keys(eventfd, Scale::Quick)["warmup"].as_integer(), Some(10_000));
        for arm in marhubi.arms.iter().filter(|arm| arm.work == "cell") {
            let keys = marhubi.keys(arm, Scale::Quick);
            assert_eq!(keys["warmup"].as_str() == Some("3ms"), arm.id != "eventfd", "{}", arm.id);
            assert_eq!(keys["samples"].as_integer() == Some(77), arm.id == "pipes", "{}", arm.id);
        }
    }
}
