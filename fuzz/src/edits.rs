//! Documents that are changed here and there. Bytes that were mutated at random are hardly ever a document; changes of a
//! real one, each of a value by another of its kind, mostly still are.

use serde_json::{Number, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Documents that this program wrote, with few cells and rounds.
pub const RESULTS: [&str; 7] = [
    include_str!("../documents/run.json"),
    include_str!("../documents/survey.json"),
    include_str!("../documents/choose.json"),
    include_str!("../documents/explain.json"),
    include_str!("../documents/crossover.json"),
    include_str!("../documents/exec.json"),
    include_str!("../../crates/ipcperf/tests/it/fixtures/result-1.0.json"),
];
pub const REPLICATION: &str =
    include_str!("../../crates/studies/src/screens/fixtures/marhubi.json");
pub const COMPARISON: &str = include_str!("../documents/comparison.json");
pub const PROFILE: &str = include_str!("../documents/profile.json");

/// What would end a script, a comment, an attribute, a section, a cell or a line, turn the text around, ring a bell, open a
/// tag, or be a formula.
const HOSTILE: [&str; 8] = [
    "x'\"</script></style></title>--><zz9 onzz9=1>&zz9;]]>\u{202e}\u{0}\u{1b}[31m\u{7f}\u{9b}\u{200b}\u{feff}\u{2028}",
    "=zz9(1)|a;b,c\"d\ne\r\n\tf",
    "\" onzz9=\"1",
    "` **zz9** [zz9](zz9:) ![z](z) | <zz9>",
    "\u{65e5}\u{672c}\u{8a9e}\u{1f600}e\u{301}",
    "",
    "@-",
    "a/b/*,../.. ~ %s {} 100000000000000000000000000000000000000000000000000000000000000000000000000",
];

/// Hostile texts, and every text of all documents: names of patterns, states and verdicts are among them.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    fn collect(value: &Value, words: &mut BTreeSet<String>) {
        match value {
            Value::String(text) if text.len() < 200 => drop(words.insert(text.clone())),
            Value::Array(all) => all.iter().for_each(|one| collect(one, words)),
            Value::Object(all) => all.values().for_each(|one| collect(one, words)),
            _ => {}
        }
    }
    let mut words = BTreeSet::new();
    for text in RESULTS.iter().chain([&REPLICATION, &COMPARISON, &PROFILE]) {
        collect(&document(text), &mut words);
    }
    HOSTILE.iter().map(|text| (*text).to_owned()).chain(words).collect()
});

/// A document of ours.
pub fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document of ours is JSON")
}

/// A document again and again, each time with the next four of a list in it: most of what is found takes no more, and what
/// reads and writes it takes as long as it has bytes.
pub fn parts(document: &Value, list: &str) -> Vec<Value> {
    let part = |some: &[Value]| {
        let mut part = document.clone();
        *part.pointer_mut(list).expect("it has the list") = some.into();
        part
    };
    let all = document.pointer(list).and_then(Value::as_array).expect("it has the list");
    all.chunks(4).map(part).collect()
}

/// A document with these changes: for each four bytes, which value of the document as it was, and how it is changed. What
/// lies within a value is changed before it, so a change in a list that is then cleared is lost with it.
pub fn edited(document: &Value, bytes: &[u8]) -> Value {
    with_changes(document, bytes, |how| how)
}

/// What a reader of JSON may stumble over where it does not expect it, between bars.
const SYNTAX: &str = " |\n|\t|\r|,|:|\"|{|}|[|]|{}|[]|null|tru|fals|nul|0|-|.|e|E+|e-320|e400|1234567890123456789012345|\
    0.000000000000000000000001|\\|\\u00e9|\\ud83d\\ude00|\\ud800|\0|\u{3000}";

/// The text of one of these documents, with changes, to try who reads it and not who shows it. The first byte is no ASCII, and
/// behind that the number of the document; the next four may put something into the text, in front of a place, instead of
/// what is there, or of all that follows; every fourth change is to a value of another kind.
pub fn broken<'a>(mut documents: impl Iterator<Item = &'a Value>, bytes: &[u8]) -> Option<String> {
    let (number, bytes) = bytes.split_first()?;
    let document = documents.nth(usize::from(*number).checked_sub(0x80)?)?;
    let (damage, changes) = bytes.split_first_chunk().unwrap_or((&[u8::MAX; 4], &[]));
    let how = |how: usize| if how.is_multiple_of(4) { OTHER_KIND + how / 4 % 8 } else { how };
    let mut text = with_changes(document, changes, how).to_string();
    let [low, high, what, how] = *damage;
    let from = text.floor_char_boundary(usize::from(u16::from_le_bytes([low, high])) % text.len());
    let to = match how % 8 {
        0 => from,
        1 => text.ceil_char_boundary(from + 1),
        2 => text.len(),
        _ => return Some(text),
    };
    text.replace_range(from..to, SYNTAX.split('|').cycle().nth(usize::from(what))?);
    Some(text)
}

fn with_changes(document: &Value, bytes: &[u8], how_of: fn(usize) -> usize) -> Value {
    let count = count(document);
    let change = |change: &[u8]| {
        let [place, how] =
            [&change[..2], &change[2..]].map(|two| u16::from_le_bytes([two[0], two[1]]));
        (usize::from(place) % count, how_of(usize::from(how)))
    };
    let mut changes: Vec<_> = bytes.chunks_exact(4).take(64).map(change).collect();
    // Stable: two changes of one value come in their order.
    changes.sort_by_key(|(place, _)| *place);
    let mut document = document.clone();
    change_all(&mut document, &mut 0, &mut changes.as_slice());
    document
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// Makes the changes that are in here, where the first value has this place, and leaves those behind it.
fn change_all(value: &mut Value, place: &mut usize, changes: &mut &[(usize, usize)]) {
    let here = changes.partition_point(|(wanted, _)| wanted == place);
    let (mine, others) = changes.split_at(here);
    *changes = others;
    *place += 1;
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| change_all(one, place, changes)),
        Value::Object(all) => all.values_mut().for_each(|one| change_all(one, place, changes)),
        _ => {}
    }
    mine.iter().for_each(|(_, how)| change(value, *how));
}

/// From here on, a change is to a value of another kind.
const OTHER_KIND: usize = 65_000;

fn change(value: &mut Value, how: usize) {
    if how >= OTHER_KIND {
        *value = json!([null, true, 1, -1, 1.5, "", [], {}])[how % 8].take();
        return;
    }
    let text = || TEXTS[how % TEXTS.len()].clone();
    match value {
        Value::Null => *value = 1.5.into(),
        Value::Bool(is) => *is = !*is,
        Value::Number(number) => *number = other_number(number, how),
        Value::String(old) => *old = text(),
        Value::Array(all) => match how % 5 {
            0 => all.clear(),
            1 => drop(all.pop()),
            2 => all.reverse(),
            3 => all.extend(all.first().cloned()),
            _ => all.truncate(how / 5 % (all.len() + 1)),
        },
        Value::Object(all) => {
            let name = all.keys().nth(how / 4 % all.len().max(1)).cloned();
            let old = name.and_then(|name| all.remove(&name));
            if let Some(old) = old.filter(|_| how.is_multiple_of(4)) {
                all.insert(text(), old);
            }
        }
    }
}

/// Another number of the same kind.
fn other_number(old: &Number, how: usize) -> Number {
    const WHOLE: [u64; 12] =
        [0, 1, 2, 3, 7, 64, 4096, 1 << 20, 1 << 31, 1 << 53, u64::MAX / 2, u64::MAX];
    const REAL: [f64; 14] =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 999.96, 1e-9, 5e-324, 1e15, 1e18, 1e300, -1e300, f64::MAX];
    match (old.as_u64(), old.as_f64()) {
        (Some(whole), _) if how.is_multiple_of(3) => whole.wrapping_mul(how as u64 / 3).into(),
        (Some(_), _) => WHOLE[how / 3 % WHOLE.len()].into(),
        (None, Some(real)) if how.is_multiple_of(3) => {
            Number::from_f64(real * (how as f64 / 3e4)).unwrap_or_else(|| 0.into())
        }
        _ => Number::from_f64(REAL[how / 3 % REAL.len()]).unwrap_or_else(|| 0.into()),
    }
}
