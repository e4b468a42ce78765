//! More sizes for the arms that a study measures at several sizes (`--blocks`). Their tables get a column for each new size.

use ipcperf_kit::error::Stop;
use toml::{Table, Value};

/// The keys that hold the size of an arm.
const SIZES: [&str; 2] = ["block", "size"];

/// The study with arms of these sizes, in bytes, added to its own arms.
///
/// # Errors
/// The file cannot be read, or none of its arms is measured at several sizes.
pub(super) fn widened(text: &str, sizes: &[u64]) -> Result<String, Stop> {
    let wrong = |why: String| Stop::usage(format!("--blocks: {why}"));
    let mut study: Table = text.parse().map_err(|error| wrong(format!("{error}")))?;
    // A table has a column for each size where its rows name arms with a placeholder: `mbits(anon[{}])`.
    let cells: Vec<(Vec<String>, String)> = tables(&mut study, "table")
        .flat_map(|table| {
            let columns = texts(table.get("columns"));
            let rows = tables(table, "row").filter_map(|row| row.get("cells")?.as_str());
            rows.map(|cells| (columns.clone(), cells.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let mut known: Vec<Vec<String>> = Vec::new();
    for arm in tables(&mut study, "arm") {
        let place = arm.get("id").and_then(Value::as_str).map(|id| format!("({id}[{{}}])"));
        let Some(Value::Table(each)) = arm.get_mut("each") else { continue };
        let Some(list) = SIZES.iter().find(|key| each.contains_key(**key)) else { continue };
        let Some(Value::Array(own)) = each.get_mut(*list) else { continue };
        let names: Vec<String> = own.iter().map(ToString::to_string).collect();
        let is_shown = |(columns, cells): &(Vec<String>, String)| {
            *columns == names && place.as_ref().is_some_and(|place| cells.contains(place))
        };
        if !cells.iter().any(is_shown) {
            continue;
        }
        own.extend(new(&names, sizes).map(|size| Value::Integer(size.cast_signed())));
        known.push(names);
    }
    if known.is_empty() {
        return Err(wrong(
            "no arm of this study is measured at several sizes; baeldung and wisconsin have such arms".into(),
        ));
    }
    for table in tables(&mut study, "table") {
        let names = texts(table.get("columns"));
        let Some(columns) = table.get_mut("columns").and_then(Value::as_array_mut) else {
            continue;
        };
        if !known.contains(&names) {
            continue;
        }
        columns.extend(new(&names, sizes).map(|size| Value::String(size.to_string())));
        let count = columns.len();
        for row in tables(table, "row") {
            if let Some(published) = row.get_mut("published").and_then(Value::as_array_mut) {
                published.resize(count, Value::String(String::new()));
            }
        }
    }
    toml::to_string(&study).map_err(|error| wrong(error.to_string()))
}

/// Those that are not among these names.
fn new<'a>(names: &'a [String], sizes: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    sizes.iter().copied().filter(|size| !names.contains(&size.to_string()))
}

/// The texts of a list.
fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The tables of such a list.
fn tables<'a>(of: &'a mut Table, name: &str) -> impl Iterator<Item = &'a mut Table> {
    let list = of.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_table_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Study;
    use crate::packed;
    use crate::replicate::read_study;

    #[test]
    fn more_sizes_are_more_arms_with_their_columns() {
        for (name, arm) in [("baeldung", "anon[4096]"), ("wisconsin", "pipe[96]")] {
            let text = packed::study(name).expect("ours");
            let size = if name == "baeldung" { 4096 } else { 96 };
            let wide = read_study(&widened(&text, &[size]).expect(name)).expect("well formed");
            let own = read_study(&text).expect("well formed");
            assert!(wide.arms.iter().any(|one| one.id == arm) && wide.arms.len() > own.arms.len());
            let columns = |study: &Study| {
                let all = study.tables.iter().flat_map(|table| &table.columns);
                all.filter(|column| **column == size.to_string()).count()
            };
            assert!(columns(&wide) > columns(&own), "{name}");
            assert_eq!(wide.claim_ids().count(), own.claim_ids().count());
        }
        let marhubi = packed::study("marhubi").expect("ours");
        let error = widened(&marhubi, &[4096]).expect_err("no sizes").to_string();
        assert!(error.contains("baeldung and wisconsin have such arms"), "{error}");
    }
}
