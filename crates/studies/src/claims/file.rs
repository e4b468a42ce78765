//! What the file of a study says, and the checks that make a study of it.

use crate::claims::accept::{Accept, Test};
use crate::claims::expression::Expression;
use crate::claims::label;
use crate::claims::study::{
    Amount, Arm, Check, Claim, CsvFile, Head, How, Statistic, Study, StudyRow, Table,
};
use crate::replication::{ClaimKind, Erratum, Plot, PlotKind, Published, Scale};
use ipcperf_core::UnknownName;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    prefix: String,
    title: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    date: String,
    #[serde(default)]
    machine: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    statistic: String,
    #[serde(default)]
    notes: Vec<String>,
    scale: BTreeMap<Scale, Amount>,
    arm: Vec<toml::Table>,
    #[serde(default)]
    table: Vec<FileTable>,
    #[serde(default)]
    claim: Vec<FileClaim>,
    #[serde(default)]
    erratum: Vec<Erratum>,
    #[serde(default)]
    csv: Vec<CsvFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    title: String,
    unit: String,
    statistic: Statistic,
    columns: Vec<String>,
    /// How it is drawn.
    plot: Option<FilePlot>,
    /// With `--csv`: a file that has it as Ruby's Benchmark prints its times.
    benchmark: Option<String>,
    row: Vec<FileRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePlot {
    name: String,
    kind: PlotKind,
    #[serde(default)]
    x: String,
    /// The logarithmic axes: "x", "y" or "xy".
    #[serde(default)]
    log: String,
    #[serde(default)]
    columns: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    label: String,
    cells: OneOrMany<String>,
    #[serde(default)]
    published: Vec<Published>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileClaim {
    id: String,
    text: String,
    test: Option<OneOrMany<String>>,
    /// Every test stands for one with each of these values in place of their name in braces.
    #[serde(default)]
    each: BTreeMap<String, Vec<toml::Value>>,
    untestable: Option<String>,
    /// Figures, and nothing else.
    #[serde(default)]
    published: Published,
    /// What the original says in words, where the tests spell that out.
    stated: Option<String>,
    accept: Option<OneOrMany<String>>,
    /// Whose it is. Without this, a claim of the original where something was published, else an extension.
    kind: Option<ClaimKind>,
    #[serde(default)]
    value: bool,
    note: Option<String>,
    /// What each figure is, where its expression does not say it.
    label: Option<OneOrMany<String>>,
    /// What else than the mechanisms makes it come out as published.
    artefact: Option<String>,
    /// In what the arms differ that it divides by each other.
    #[serde(default)]
    differs: Vec<String>,
    /// In a few words, why it may come out otherwise here: for all tests, or for each of them.
    why: Option<OneOrMany<String>>,
    /// A figure no further from 0 than this is none: whoever measured it could not tell.
    resolution: Option<f64>,
    /// It says that something can happen, which no machine refutes where it does not.
    #[serde(default)]
    can: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts")]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: Clone> OneOrMany<T> {
    /// `count` of them: one stands for all.
    fn spread(&self, count: usize) -> Option<Vec<T>> {
        match self {
            Self::One(one) => Some(vec![one.clone(); count]),
            Self::Many(all) => (all.len() == count).then(|| all.clone()),
        }
    }

    fn all(&self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::Many(all) => all.clone(),
        }
    }
}

/// The most arms a study may have.
const MOST_ARMS: usize = 1000;
/// The most rounds.
const MOST_ROUNDS: u64 = 10_000;

impl Study {
    /// Reads and checks a study. `check` says whether a kind of work exists and understands these keys.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn parse(text: &str, check: &Check<'_>) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("line {line}: {}", error.message())
        })?;
        let arms = expand(&file.arm)?;
        let known: BTreeSet<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
        let expression = |text: &str| -> Result<Expression, String> {
            let found = Expression::parse(text)?;
            let used = found.readings().into_iter().map(|(_, arm)| arm);
            let unknown = used.rev().find(|arm| !known.contains(arm));
            let Some(arm) = unknown else { return Ok(found) };
            let near = ipcperf_core::nearest(arm, known.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            Err(format!("'{text}': there is no arm '{arm}'{hint}"))
        };
        for scale in Scale::ALL {
            let amount =
                file.scale.get(scale).ok_or_else(|| format!("there is no [scale.{scale}]"))?;
            if !(1..=MOST_ROUNDS).contains(&amount.rounds) {
                let rounds = amount.rounds;
                return Err(format!(
                    "[scale.{scale}]: {rounds} rounds; 1 to {MOST_ROUNDS} can be had"
                ));
            }
            for of in amount.keys.keys() {
                if !arms.iter().any(|arm| [&arm.work, &arm.base, &arm.id].contains(&of)) {
                    return Err(format!(
                        "[scale.{scale}.{of}]: no arm does this work, and none has this id"
                    ));
                }
            }
        }
        let plots = file.table.iter().filter_map(|table| table.plot.as_ref());
        let mut names = BTreeSet::new();
        if let Some(twice) = plots.into_iter().find(|plot| !names.insert(plot.name.as_str())) {
            return Err(format!("plot '{}': there are two of them", twice.name));
        }
        let tables = file.table.iter().map(|table| check_table(table, &expression));
        let claims = file.claim.iter().map(|claim| check_claim(claim, &arms, &expression));
        let (tables, claims): (Vec<Table>, Vec<Claim>) =
            (tables.collect::<Result<_, _>>()?, claims.collect::<Result<_, _>>()?);
        let mut ids = BTreeSet::new();
        for claim in &claims {
            if !ids.insert(claim.id.as_str()) {
                return Err(format!("claim {}: there are two of them", claim.id));
            }
            if !claim.id.starts_with(&file.prefix) {
                return Err(format!("claim {}: does not begin with '{}'", claim.id, file.prefix));
            }
        }
        for id in file.erratum.iter().flat_map(|erratum| &erratum.claims) {
            if !ids.contains(id.as_str()) {
                return Err(format!("erratum: there is no claim '{id}'"));
            }
        }
        if !is_file_name(&file.name) {
            return Err(format!("name '{}': must be {FILE_NAME}", file.name));
        }
        for csv in &file.csv {
            if csv.header.len() != csv.values.len() {
                return Err(format!("csv {}: as many values as heads are needed", csv.file));
            }
            if !is_file_name(&csv.file) || !csv.file.ends_with(".csv") {
                return Err(format!(
                    "csv file '{}': must be {FILE_NAME}, and '.csv' last",
                    csv.file
                ));
            }
            if let Some(arm) =
                csv.arms.iter().find(|name| !arms.iter().any(|arm| arm.base == **name))
            {
                return Err(format!("csv {}: there is no arm '{arm}'", csv.file));
            }
        }
        let study = Self {
            head: Head {
                name: file.name,
                title: file.title,
                url: file.url,
                date: file.date,
                machine: file.machine,
                summary: file.summary,
                statistic: file.statistic,
                notes: file.notes,
            },
            scales: file.scale,
            arms,
            tables,
            claims,
            errata: file.erratum,
            files: file.csv,
        };
        for scale in Scale::ALL {
            for arm in &study.arms {
                check(&arm.work, &study.keys(arm, *scale))
                    .map_err(|error| format!("arm {} ({scale}): {error}", arm.id))?;
            }
        }
        study.check_differences()?;
        Ok(study)
    }
}

const FILE_NAME: &str = "1 to 64 letters, digits, '.', '_' and '-', a letter or digit first";

/// Whether a name given in a study is fit for a file: it leads nowhere else.
fn is_file_name(name: &str) -> bool {
    let is_fit = |sign: char| sign.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&sign);
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= 64
        && name.chars().all(is_fit)
}

fn expand(tables: &[toml::Table]) -> Result<Vec<Arm>, String> {
    let mut arms: Vec<Arm> = Vec::new();
    for table in tables {
        let mut keys = table.clone();
        let mut take = |key: &str| match keys.remove(key) {
            Some(toml::Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("arm: '{key}' is not a text")),
            None => Ok(None),
        };
        let id = take("id")?.ok_or("an arm has no id")?;
        let work = take("work")?.ok_or_else(|| format!("arm {id}: no work is named"))?;
        let label = take("label")?.unwrap_or_else(|| id.clone());
        if id.is_empty() || id.contains(['(', ')']) {
            return Err(format!("arm '{id}': an id is a word without parentheses"));
        }
        let mut add = |id: String, each: &str, label: String, keys: toml::Table| {
            if arms.iter().any(|known| known.id == id) {
                return Err(format!("arm {id}: there are two of them"));
            }
            if arms.len() >= MOST_ARMS {
                return Err(format!("more than {MOST_ARMS} arms"));
            }
            let base = id.split('[').next().unwrap_or_default().to_owned();
            arms.push(Arm { id, base, each: each.to_owned(), label, work: work.clone(), keys });
            Ok(())
        };
        match keys.remove("each") {
            None => add(id, "", label, keys)?,
            Some(toml::Value::Table(each)) => {
                let mut each = each.into_iter();
                let (Some((key, toml::Value::Array(values))), None) = (each.next(), each.next())
                else {
                    return Err(format!("arm {id}: 'each' is one key with a list"));
                };
                for value in values {
                    let shown = shown(&value);
                    let mut keys = keys.clone();
                    keys.insert(key.clone(), value);
                    add(format!("{id}[{shown}]"), &shown, format!("{label} {shown}"), keys)?;
                }
            }
            Some(_) => return Err(format!("arm {id}: 'each' is one key with a list")),
        }
    }
    if arms.is_empty() { Err("there is no arm".into()) } else { Ok(arms) }
}

type Read<'a> = dyn Fn(&str) -> Result<Expression, String> + 'a;

fn check_table(table: &FileTable, expression: &Read<'_>) -> Result<Table, String> {
    let wrong =
        |row: &FileRow, what: &str| format!("table '{}', row '{}': {what}", table.title, row.label);
    let width = table.columns.len();
    let rows = table.row.iter().map(|row| {
        let mut texts = row
            .cells
            .spread(width)
            .ok_or_else(|| wrong(row, &format!("{width} cells are needed")))?;
        for (text, column) in texts.iter_mut().zip(&table.columns) {
            *text = text.replace("{}", column);
        }
        let mut cells = Vec::new();
        for text in &texts {
            cells.push(match text.as_str() {
                "" => None,
                text => Some(expression(text).map_err(|error| wrong(row, &error))?),
            });
        }
        let is_runs = table.statistic == Statistic::Runs;
        if row.published.len() > width && !is_runs {
            return Err(wrong(row, &format!("at most {width} figures can have been published")));
        }
        let nothing = |published: &Published| match published {
            Published::Text(text) if text.is_empty() => Published::Nothing,
            other => other.clone(),
        };
        let mut published: Vec<_> = row.published.iter().map(nothing).collect();
        published.resize(published.len().max(width), Published::Nothing);
        Ok(StudyRow { label: row.label.clone(), cells, published })
    });
    let plot = table.plot.as_ref().map(|plot| plot.check(&table.columns)).transpose();
    if let Some(file) = &table.benchmark {
        let what = format!("table '{}', benchmark '{file}'", table.title);
        if !is_file_name(file) || !file.ends_with(".txt") {
            return Err(format!("{what}: must be {FILE_NAME}, and '.txt' last"));
        }
        if table.columns != BENCHMARK || table.unit != "s" {
            let columns = BENCHMARK.join(", ");
            return Err(format!("{what}: the columns must be {columns}, and the unit s"));
        }
    }
    Ok(Table {
        benchmark: table.benchmark.clone(),
        plot: plot.map_err(|error| format!("table '{}', plot: {error}", table.title))?,
        title: table.title.clone(),
        unit: table.unit.clone(),
        statistic: table.statistic,
        columns: table.columns.clone(),
        rows: rows.collect::<Result<_, _>>()?,
    })
}

impl FilePlot {
    fn check(&self, heads: &[String]) -> Result<Plot, String> {
        if !is_file_name(&self.name) {
            return Err(format!("name '{}': must be {FILE_NAME}", self.name));
        }
        if !["", "x", "y", "xy"].contains(&self.log.as_str()) {
            return Err(format!("log '{}': can be x, y or xy", self.log));
        }
        if let Some(column) = self.columns.iter().find(|column| !heads.contains(column)) {
            return Err(format!("there is no column '{column}'"));
        }
        Ok(Plot {
            name: self.name.clone(),
            kind: self.kind,
            x: self.x.clone(),
            log_x: self.log.contains('x'),
            log_y: self.log.contains('y'),
            columns: self.columns.clone(),
        })
    }
}

/// The columns of Ruby's Benchmark.
const BENCHMARK: [&str; 4] = ["user", "system", "total", "real"];

/// A value as a text has it.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The most tests of a claim.
const MOST_TESTS: usize = 100;

impl FileClaim {
    /// Its tests, one for each combination of values.
    fn tests(&self, texts: &[String]) -> Result<Vec<String>, String> {
        let mut all = texts.to_vec();
        for (name, values) in &self.each {
            let name = format!("{{{name}}}");
            if let Some(text) = texts.iter().find(|text| !text.contains(&name)) {
                return Err(format!("'each': there is no {name} in '{text}'"));
            }
            let with = |text: &String| -> Vec<String> {
                values.iter().map(|value| text.replace(&name, &shown(value))).collect()
            };
            all = all.iter().flat_map(with).collect();
            if !(1..=MOST_TESTS).contains(&all.len()) {
                let count = all.len();
                return Err(format!("'each': {count} tests; 1 to {MOST_TESTS} can be had"));
            }
        }
        Ok(all)
    }

    /// One text for each of so many tests: given once, for each entry of `test`, or for each test.
    fn for_tests(&self, given: &OneOrMany<String>, tests: usize) -> Option<Vec<String>> {
        let of_entry = || {
            let entries = self.test.as_ref().map_or(0, |test| test.all().len());
            let combinations = tests / entries.max(1);
            let all = given.spread(entries)?;
            Some(all.into_iter().flat_map(|one| vec![one; combinations]).collect())
        };
        given.spread(tests).or_else(of_entry)
    }

    /// Whose it is, and what was published for it.
    fn origin(&self) -> Result<(ClaimKind, Published), String> {
        let is_figure = |one: &Published| matches!(one, Published::Number(_));
        let has_figures = match &self.published {
            Published::Nothing => false,
            Published::Number(_) => true,
            Published::Many(all) if !all.is_empty() && all.iter().all(is_figure) => true,
            _ => return Err("'published' is for figures; what was said goes into 'stated'".into()),
        };
        let published = match (has_figures, &self.stated) {
            (true, None) => self.published.clone(),
            (true, Some(_)) => return Err("either 'published' or 'stated' is needed".into()),
            (false, Some(words)) if words.is_empty() => return Err("'stated' is empty".into()),
            (false, Some(words)) => Published::Text(words.clone()),
            (false, None) => Published::Nothing,
        };
        let is_given = published != Published::Nothing;
        // What nobody can test was claimed by somebody.
        let is_theirs = is_given || self.untestable.is_some();
        let kind = match self.kind {
            Some(kind) => kind,
            None if is_theirs => ClaimKind::Claim,
            None => ClaimKind::Extension,
        };
        match kind.is_published() {
            true if !is_theirs => Err(format!("a {kind} needs 'published' or 'stated'")),
            false if is_given => Err(format!("nothing was published for our own {kind}")),
            _ => Ok((kind, published)),
        }
    }
}

fn check_claim(claim: &FileClaim, arms: &[Arm], expression: &Read<'_>) -> Result<Claim, String> {
    let wrong = |what: &str| format!("claim {}: {what}", claim.id);
    let (kind, published) = claim.origin().map_err(|error| wrong(&error))?;
    if claim.can && !kind.is_published() {
        return Err(wrong(&format!(
            "'can' is for what an author says, and not for our own {kind}"
        )));
    }
    if let Some(resolution) = claim.resolution
        && !(claim.value && resolution > 0.0 && resolution.is_finite())
    {
        return Err(wrong(
            "'resolution' is above 0, and for figures that are not ratios (value = true)",
        ));
    }
    let how = match (&claim.test, &claim.untestable) {
        (None, Some(reason)) => How::Untestable(reason.clone()),
        (Some(tests), None) => {
            let texts = claim.tests(&tests.all()).map_err(|error| wrong(&error))?;
            if let Published::Many(all) = &published
                && all.len() != texts.len()
            {
                return Err(wrong("as many 'published' as 'test' are needed"));
            }
            let accepts = match (&claim.accept, kind) {
                (Some(_), ClaimKind::Extension) => {
                    return Err(wrong(
                        "'accept' needs 'published' or 'stated', or kind = 'self-check'",
                    ));
                }
                (None, ClaimKind::Extension) => vec![None; texts.len()],
                (None, _) => return Err(wrong("'accept' is missing")),
                (Some(accept), _) => accept
                    .spread(texts.len())
                    .ok_or_else(|| wrong("as many 'accept' as 'test' are needed"))?
                    .into_iter()
                    .map(Some)
                    .collect(),
            };
            let labels = match &claim.label {
                None => Vec::new(),
                Some(label) => {
                    let given = label
                        .spread(tests.all().len())
                        .ok_or_else(|| wrong("as many 'label' as 'test' are needed"))?;
                    claim.tests(&given).map_err(|error| wrong(&error))?
                }
            };
            let test = |(index, (text, accept)): (usize, (&String, &Option<String>))| {
                let parse = |text: &String| -> Result<Accept, String> { text.parse() };
                let accept = accept.as_ref().map(parse).transpose().map_err(|e| wrong(&e))?;
                let published = published.number(index);
                if accept == Some(Accept::Report) && published.is_none() {
                    return Err(wrong("'report' needs a published figure"));
                }
                if let Some((accept, figure)) = accept.zip(published)
                    && !accept.accepts(figure)
                {
                    return Err(wrong(&format!(
                        "'{text}': '{accept}' excludes the published {figure} itself"
                    )));
                }
                let expression = expression(text).map_err(|error| wrong(&error))?;
                let named = || label::of(&expression, arms);
                let label = labels.get(index).cloned().unwrap_or_else(named);
                Ok(Test { expression, label, accept, published, resolution: claim.resolution })
            };
            let tests = texts.iter().zip(&accepts).enumerate().map(test);
            How::Tests { tests: tests.collect::<Result<_, String>>()?, is_value: claim.value }
        }
        _ => return Err(wrong("either 'test' or 'untestable' is needed")),
    };
    let tests = match &how {
        How::Tests { tests, .. } => tests.len(),
        How::Untestable(_) => 0,
    };
    let why = claim.why.as_ref().filter(|_| tests > 0).map(|given| {
        let all = claim.for_tests(given, tests);
        all.ok_or_else(|| wrong("one 'why' is needed, or as many as there are tests"))
    });
    let differs = claim.differs.iter().map(|word| {
        word.parse().map_err(|error: UnknownName| {
            let near = ipcperf_core::nearest(word, error.known.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            wrong(&format!("differs: {error}{hint}"))
        })
    });
    Ok(Claim {
        id: claim.id.clone(),
        kind,
        text: claim.text.clone(),
        published,
        note: claim.note.clone(),
        artefact: claim.artefact.clone(),
        differs: differs.collect::<Result<_, _>>()?,
        why: why.transpose()?.unwrap_or_default(),
        can: claim.can,
        how,
    })
}
