//! The rounds of a cell as columns: under each key the list of its values, one for each round, in place of an object for
//! each round that names all keys again. An object within a round is an object of columns. What a round does not have is
//! `null` in its column, and a column that no round has is absent.

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};
use serde::ser::{self, Serializer};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::{Error, Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A column, or the columns of an object. The keys are sorted, so that the text does not depend on how the map of
/// `serde_json` was built.
#[derive(Serialize)]
#[serde(untagged)]
enum StoredColumn {
    Values(Vec<Value>),
    Parts(BTreeMap<String, Self>),
}

impl StoredColumn {
    /// Puts in what round number `round` has.
    fn put(&mut self, round: usize, value: Value) {
        match (self, value) {
            (Self::Parts(parts), Value::Object(keys)) => put(parts, round, keys),
            (Self::Values(values), value) => {
                values.resize(round, Value::Null);
                values.push(value);
            }
            (Self::Parts(_), _) => {}
        }
    }

    fn fill(&mut self, rounds: usize) {
        match self {
            Self::Values(values) => values.resize(rounds, Value::Null),
            Self::Parts(parts) => parts.values_mut().for_each(|part| part.fill(rounds)),
        }
    }
}

fn put(columns: &mut BTreeMap<String, StoredColumn>, round: usize, keys: Map<String, Value>) {
    for (key, value) in keys.into_iter().filter(|(_, value)| !value.is_null()) {
        let new = || match &value {
            Value::Object(_) => StoredColumn::Parts(BTreeMap::new()),
            _ => StoredColumn::Values(Vec::new()),
        };
        columns.entry(key).or_insert_with(new).put(round, value);
    }
}

pub(super) fn serialize<T: Serialize, S: Serializer>(
    rounds: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut columns = BTreeMap::new();
    for (at, round) in rounds.iter().enumerate() {
        match serde_json::to_value(round).map_err(ser::Error::custom)? {
            Value::Object(keys) => put(&mut columns, at, keys),
            _ => return Err(ser::Error::custom("a round is an object")),
        }
    }
    columns.values_mut().for_each(|column| column.fill(rounds.len()));
    columns.serialize(serializer)
}

/// What stands in a document, as it is read: texts that need no decoding are those of the document itself.
enum Node<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Parts(Vec<(Text<'a>, Self)>),
}

/// A key: a `Cow` by itself would always be a copy.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Node<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node<'de>, E> {
        Ok(Node::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node<'de>, E> {
        Ok(Node::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node<'de>, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Node::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<Node<'de>, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = keys.next_entry()? {
            parts.push(part);
        }
        Ok(Node::Parts(parts))
    }
}

/// Reads columns, or the list of rounds that documents of version 1 have.
///
/// # Errors
/// They are neither, have not all a value for each round, or a round is no `T`.
pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let node = Node::deserialize(deserializer)?;
    let read = |row: StoredValue<'_>| T::deserialize(row).map_err(D::Error::custom);
    let rows: Vec<StoredValue<'_>> = match &node {
        Node::List(rounds) => rounds.iter().map(|node| StoredValue { node, at: None }).collect(),
        Node::Parts(columns) => {
            let round = columns.iter().find(|(key, _)| key.0 == "round");
            let rounds = match round {
                Some((_, Node::List(rounds))) => rounds.len(),
                _ => 0,
            };
            if !is_of_length(&node, rounds) {
                let what = "the columns of `rounds` have not all one value for each round";
                return Err(D::Error::custom(what));
            }
            (0..rounds).map(|at| StoredValue { node: &node, at: Some(at) }).collect()
        }
        _ => return Err(D::Error::custom("`rounds` are neither columns nor a list")),
    };
    // Collected, a list would have room for up to twice its rounds.
    let mut rounds = Vec::with_capacity(rows.len());
    for row in rows {
        rounds.push(read(row)?);
    }
    Ok(rounds)
}

fn is_of_length(columns: &Node<'_>, rounds: usize) -> bool {
    match columns {
        Node::Parts(parts) => parts.iter().all(|(_, part)| is_of_length(part, rounds)),
        Node::List(values) => values.len() == rounds,
        _ => false,
    }
}

/// A value as it is, or what one round has in columns.
#[derive(Clone, Copy)]
struct StoredValue<'a> {
    node: &'a Node<'a>,
    at: Option<usize>,
}

impl<'a> StoredValue<'a> {
    /// The value itself where this is no object of columns.
    fn plain(self) -> Option<&'a Node<'a>> {
        match (self.node, self.at) {
            (node, None) => Some(node),
            (Node::List(values), Some(at)) => values.get(at),
            (_, Some(_)) => None,
        }
    }

    fn is_absent(self) -> bool {
        match (self.plain(), self.node) {
            (Some(value), _) => matches!(value, Node::Null),
            (None, Node::Parts(parts)) => {
                parts.iter().all(|(_, node)| Self { node, ..self }.is_absent())
            }
            (None, _) => true,
        }
    }
}

impl<'de> Deserializer<'de> for StoredValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let at = self.at;
        match self.plain().unwrap_or(self.node) {
            Node::Parts(parts) => {
                visitor.visit_map(RoundKeys { parts: parts.iter(), next: None, at })
            }
            Node::List(values) => {
                let rows = values.iter().map(|node| StoredValue { node, at: None });
                visitor.visit_seq(SeqDeserializer::new(rows))
            }
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Null => visitor.visit_unit(),
            Node::Unsigned(number) => visitor.visit_u64(*number),
            Node::Signed(number) => visitor.visit_i64(*number),
            Node::Float(number) => visitor.visit_f64(*number),
        }
    }

    /// A word of an enumeration.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.plain().unwrap_or(self.node) {
            Node::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_absent() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for StoredValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The keys that a round has.
struct RoundKeys<'a> {
    parts: std::slice::Iter<'a, (Text<'a>, Node<'a>)>,
    next: Option<StoredValue<'a>>,
    at: Option<usize>,
}

impl<'de> MapAccess<'de> for RoundKeys<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let at = self.at;
        let mut there = self.parts.by_ref().map(|(key, node)| (key, StoredValue { node, at }));
        let Some((key, row)) = there.find(|(_, row)| !row.is_absent()) else { return Ok(None) };
        self.next = Some(row);
        seed.deserialize(StrDeserializer::<Error>::new(&key.0)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let row = self.next.take().ok_or_else(|| Error::custom("a value without a key"))?;
        seed.deserialize(row)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Cell, Covariates, FanRound, HistogramData, ProgramEnd, Proof, Round, SideCpu, Stage,
    };
    use super::*;
    use serde_json::json;

    fn round(at: u64) -> Round {
        Round {
            stage: (at != 1).then_some(Stage::Confirm),
            round: at,
            order: 3,
            rejected: (at == 1).then(|| "moved".to_owned().into()),
            cpus: vec![0, 1],
            messages: 100 + at,
            moved: Some(7),
            bytes: 6400,
            lost: 0,
            events: if at == 2 { [("torn reads".to_owned(), 3)].into() } else { BTreeMap::new() },
            unanswered: 0,
            elapsed_ns: 1e9 / 3.0,
            planned_ns: None,
            p50_ns: (at != 1).then_some(0.1 + at as f64),
            mean_ns: None,
            messages_per_second: None,
            offered_per_second: None,
            achieved_per_second: None,
            saturated: at == 2,
            histogram: (at == 0).then(HistogramData::default),
            channels: None,
            fan: (at > 0).then(|| FanRound { served: vec![at; 3], ..FanRound::default() }),
            feed: None,
            program: (at == 1).then(|| ProgramEnd {
                first_answer_ns: 1e6,
                said: vec!["runtime 3".to_owned()],
                ..ProgramEnd::default()
            }),
            neighbour: None,
            standstill: (at == 2).then_some(super::super::Standstill { ns: 1.5e9, who: None }),
            cpu_ns: SideCpu { lead: u64::MAX, ..SideCpu::default() },
            covariates: Covariates { ipis: Some(at), ..Covariates::default() },
            proof: Proof { nonce: "ab".to_owned(), lead: [1, at], ..Proof::default() },
        }
    }

    fn cell(rounds: Vec<Round>) -> Value {
        serde_json::to_value(Cell { rounds, ..Cell::default() }).unwrap()
    }

    fn read(cell: Value) -> Result<Vec<Round>, Error> {
        serde_json::from_value::<Cell>(cell).map(|cell| cell.rounds)
    }

    fn rows(rounds: &[Round]) -> Vec<Value> {
        rounds.iter().map(|round| serde_json::to_value(round).unwrap()).collect()
    }

    #[test]
    fn rounds_are_read_back_from_columns_and_from_the_list_of_version_1() {
        for count in [0, 1, 4] {
            let rounds: Vec<Round> = (0..count).map(round).collect();
            let written = cell(rounds.clone());
            assert!(written["rounds"].is_object());
            assert_eq!(rows(&read(written).unwrap()), rows(&rounds), "{count}");
            let mut old = cell(Vec::new());
            old["rounds"] = rows(&rounds).into();
            assert_eq!(rows(&read(old).unwrap()), rows(&rounds), "{count}");
        }
    }

    #[test]
    fn a_column_has_a_value_of_each_round_and_null_where_a_round_has_none() {
        let columns = &cell((0..3).map(round).collect())["rounds"];
        assert_eq!(columns["messages"], json!([100, 101, 102]));
        assert_eq!(columns["p50_ns"], json!([0.1, null, 2.1]));
        assert_eq!(columns["events"], json!({"torn reads": [null, null, 3]}));
        assert_eq!(columns["fan"]["served"], json!([null, [1, 1, 1], [2, 2, 2]]));
        assert_eq!(columns["proof"]["lead"], json!([[1, 0], [1, 1], [1, 2]]));
        assert_eq!(columns.get("mean_ns"), None);
        assert_eq!(columns["covariates"].get("energy_uj"), None);
    }

    #[test]
    fn columns_that_are_none_are_an_error_and_keys_of_newer_minors_are_not() {
        let mut newer = cell(vec![round(0)]);
        newer["rounds"]["covariates"]["moon"] = json!(["full"]);
        newer["rounds"]["sun"] = json!([{"rises": 6}]);
        read(newer).unwrap();
        for (place, value) in [
            ("/rounds/messages", json!([1, 2])),
            ("/rounds/messages", json!([null])),
            ("/rounds/messages", json!(["many"])),
            ("/rounds/messages", json!(7)),
            ("/rounds/cpu_ns", json!([1])),
            ("/rounds/cpu_ns/lead", json!([[1]])),
            ("/rounds/round", json!([])),
            ("/rounds", json!(3)),
            ("/rounds", json!([3])),
            ("/rounds", json!(null)),
        ] {
            let mut broken = cell(vec![round(0)]);
            *broken.pointer_mut(place).unwrap() = value.clone();
            assert!(read(broken).is_err(), "{place} {value}");
        }
    }
}
