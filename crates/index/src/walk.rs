//! The walk over a document that makes its entries.

use orrery_json::{Value, write_value};
use orrery_model::{CompositePath, IndexStep};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::IndexHash;
use crate::automaton::{Automaton, State};
use crate::entries::{Entries, Kind, Writer};
use crate::spatial::Grid;
use crate::value::{encode, encode_ordered, is_exact, write_cell};

/// The property that the server writes and that is indexed.
const MODIFIED: &str = "_ts";

/// What entries are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) document: &'a Value,
    /// Of a document that has no such property itself.
    pub(crate) modified: Option<&'a Value>,
}

/// The entry that counts a document without entries.
pub(crate) fn unindexed(container: u32, place: &[u8]) -> Entries {
    let mut writer = Writer::new(container, place);
    writer.write(IndexHash::UNINDEXED, Kind::Uncharged, |_| {});
    writer.finish()
}

pub(crate) fn entries(
    automaton: &Automaton,
    composites: &[(IndexHash, Vec<CompositePath>)],
    container: u32,
    subject: Subject<'_>,
    place: &[u8],
) -> Entries {
    let Subject { document, modified } = subject;
    let mut walk = Walk {
        automaton,
        writer: Writer::new(container, place),
    };
    walk.writer.write(IndexHash::ROOT, Kind::Uncharged, |_| {});
    walk.children(automaton.start(), IndexHash::ROOT, document);
    if let Some(modified) = modified {
        // Writes are not charged for what the server writes.
        let hash = IndexHash::ROOT.property(MODIFIED);
        let write = |out: &mut Vec<u8>| encode(modified, out);
        walk.writer.write(hash, Kind::Uncharged, write);
    }
    for (hash, paths) in composites {
        walk.writer.write(*hash, Kind::Uncharged, |out| {
            for path in paths {
                let value = match (path.path.steps(), modified) {
                    ([IndexStep::Property(name)], Some(modified)) if name == MODIFIED => modified,
                    (steps, _) => value_at(document, steps),
                };
                encode_ordered(value, path.order, out);
            }
        });
    }
    walk.writer.finish()
}

struct Walk<'a> {
    automaton: &'a Automaton,
    writer: Writer<'a>,
}

impl Walk<'_> {
    fn value(&mut self, state: &State, hash: IndexHash, value: &Value) {
        if state.is_dead {
            return;
        }
        if state.holds.values {
            self.indexed(hash, value);
        }
        if let Some(grid) = &state.holds.geometries {
            self.geometry(grid, hash, value);
        }
        self.children(state, hash, value);
    }

    fn children(&mut self, state: &State, hash: IndexHash, value: &Value) {
        match value {
            Value::Object(object) => {
                for (name, property) in object {
                    let next = self.automaton.after_name(state, name);
                    self.value(next, hash.property(name), property);
                }
            }
            Value::Array(array) => {
                let next = self.automaton.after_element(state);
                let hash = hash.element();
                for element in array {
                    self.value(next, hash, element);
                }
            }
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {}
        }
    }

    fn indexed(&mut self, hash: IndexHash, value: &Value) {
        let kind = match value {
            Value::Array(_) | Value::Object(_) => Kind::Uncharged,
            scalar if is_exact(scalar) => Kind::Charged,
            scalar => {
                self.writer.charge(term(hash, scalar));
                Kind::Uncharged
            }
        };
        self.writer.write(hash, kind, |out| encode(value, out));
    }

    fn geometry(&mut self, grid: &Grid, hash: IndexHash, value: &Value) {
        for cell in grid.cells(value) {
            self.writer
                .write(hash.spatial(), Kind::Uncharged, |out| write_cell(cell, out));
        }
    }
}

/// What tells a scalar from those that have the same entry.
fn term(hash: IndexHash, scalar: &Value) -> u64 {
    match scalar {
        Value::String(text) => xxh3_64_with_seed(text.as_bytes(), hash.0),
        scalar => {
            let mut text = hash.0.to_be_bytes().to_vec();
            write_value(scalar, &mut text);
            xxh3_64(&text)
        }
    }
}

/// The value at the path of a composite index, which has none of many elements.
fn value_at<'a>(document: &'a Value, steps: &[IndexStep]) -> &'a Value {
    steps.iter().fold(document, |value, step| match step {
        IndexStep::Property(name) => value.get(name),
        IndexStep::Elements => &Value::Undefined,
    })
}
