//! Reading the text of a result document. Neither function is generic, so that all of it is compiled here: this crate is
//! compiled for speed, and those that show what was read are compiled to be small.

use super::{Cell, ResultSet};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Error;
use std::borrow::Cow;
use std::{fmt, iter};

/// Reads a document.
///
/// # Errors
/// The text is not JSON, or a key is missing or mistyped.
pub fn read(text: &str) -> Result<ResultSet, Error> {
    let mut cells = Vec::new();
    let set = read_cells(text, &mut |cell| cells.push(cell))?;
    Ok(ResultSet { cells, ..set })
}

/// Reads a document without its cells and gives these to `take` one by one: ten thousand are 150 MB.
///
/// # Errors
/// As [`read`].
pub fn read_cells(text: &str, take: &mut dyn FnMut(Cell)) -> Result<ResultSet, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let set = deserializer.deserialize_map(Cells(take))?;
    deserializer.end()?;
    Ok(set)
}

/// Where the cells of a document go.
struct Cells<'a>(&'a mut dyn FnMut(Cell));

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = ResultSet;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<ResultSet, A::Error> {
        let keys = DocumentKeys { keys, cells: self, is_cells: false };
        ResultSet::deserialize(MapAccessDeserializer::new(keys))
    }
}

/// The keys of a document, in which the list of cells is empty.
struct DocumentKeys<'a, A> {
    keys: A,
    cells: Cells<'a>,
    /// Whether the value that comes next is the cells.
    is_cells: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for DocumentKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.keys.next_key::<Cow<'_, str>>()? else { return Ok(None) };
        self.is_cells = key == "cells";
        seed.deserialize(StrDeserializer::new(&key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if !self.is_cells {
            return self.keys.next_value_seed(seed);
        }
        self.keys.next_value_seed(List(&mut self.cells))?;
        seed.deserialize(SeqDeserializer::new(iter::empty::<()>()))
    }
}

/// The list of cells.
struct List<'a, 'b>(&'a mut Cells<'b>);

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Cells(take) = self.0;
        while let Some(cell) = list.next_element()? {
            take(cell);
        }
        Ok(())
    }
}
