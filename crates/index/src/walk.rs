//! Walks over a document and writes its index entries.

use orrery_json::{Value, write_value};
use orrery_model::{CompositePath, IndexStep};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::IndexHash;
use crate::automaton::{Automaton, State};
use crate::entries::{ChargeKind, Entries, Writer};
use crate::spatial::Grid;
use crate::value::{encode, encode_ordered, is_exact, write_cell};

/// The only system property that has index entries.
const MODIFIED: &str = "_ts";

/// The input of the walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedDocument<'a> {
    pub(crate) document: &'a Value,
    /// The value of `_ts`, for a document that does not contain this property itself.
    pub(crate) modified: Option<&'a Value>,
}

/// The only entry of a document that all indexes exclude.
pub(crate) fn unindexed(container: u32, key_position: &[u8]) -> Entries {
    let mut writer = Writer::new(container, key_position);
    writer.write(IndexHash::UNINDEXED, ChargeKind::Uncharged, |_| {});
    writer.finish()
}

pub(crate) fn entries(
    automaton: &Automaton,
    composites: &[(IndexHash, Vec<CompositePath>)],
    container: u32,
    subject: IndexedDocument<'_>,
    key_position: &[u8],
) -> Entries {
    let IndexedDocument { document, modified } = subject;
    let mut walk = Walk {
        automaton,
        writer: Writer::new(container, key_position),
    };
    walk.writer
        .write(IndexHash::ROOT, ChargeKind::Uncharged, |_| {});
    walk.children(automaton.start(), IndexHash::ROOT, document);
    if let Some(modified) = modified {
        // A client pays for the terms of its own properties, and the server wrote this one.
        let hash = IndexHash::ROOT.property(MODIFIED);
        let write = |out: &mut Vec<u8>| encode(modified, out);
        walk.writer.write(hash, ChargeKind::Uncharged, write);
    }
    for (hash, paths) in composites {
        // Composite indexes have an entry for every document, with `undefined` for missing paths:
        // the planner relies on this to use the index for an order without reading documents.
        walk.writer.write(*hash, ChargeKind::Uncharged, |out| {
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
        // Nothing below a dead state has an index, so the walk skips the whole subtree.
        if state.is_dead {
            return;
        }
        if state.indexes.values {
            self.indexed(hash, value);
        }
        if let Some(grid) = &state.indexes.geometries {
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
            Value::Array(_) | Value::Object(_) => ChargeKind::Uncharged,
            scalar if is_exact(scalar) => ChargeKind::Charged,
            scalar => {
                self.writer.charge(term(hash, scalar));
                ChargeKind::Uncharged
            }
        };
        self.writer.write(hash, kind, |out| encode(value, out));
    }

    fn geometry(&mut self, grid: &Grid, hash: IndexHash, value: &Value) {
        for cell in grid.cells(value) {
            self.writer
                .write(hash.spatial(), ChargeKind::Uncharged, |out| {
                    write_cell(cell, out);
                });
        }
    }
}

/// A hash that distinguishes a scalar from other scalars with the same entry.
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

/// The value at the path of a composite index. A path through array elements has no single value.
fn value_at<'a>(document: &'a Value, steps: &[IndexStep]) -> &'a Value {
    steps.iter().fold(document, |value, step| match step {
        IndexStep::Property(name) => value.get(name),
        IndexStep::Elements => &Value::Undefined,
    })
}
