//! The indexes of a container: its indexing policy, compiled for the walk over documents.

use orrery_exec::{DocumentPath, PathStep};
use orrery_json::Value;
use orrery_model::{CompositePath, IndexStep, IndexingMode, IndexingPolicy};

use crate::automaton::{Automaton, PathIndexes};
use crate::spatial::Grid;
use crate::walk;
use crate::{Entries, IndexHash};

/// System properties that no policy indexes.
const NEVER_INDEXED: [&str; 4] = ["_rid", "_self", "_etag", "_attachments"];

/// Whether a composite path begins with such a property. A composite index with this path is not
/// built, and the query sorts without it.
fn is_never_indexed(path: &CompositePath) -> bool {
    let first = path.path.steps().first();
    matches!(first, Some(IndexStep::Property(name)) if NEVER_INDEXED.contains(&name.as_str()))
}

/// The indexes of a container.
#[derive(Debug, Clone)]
pub struct IndexDefinition {
    /// `None` when documents have no index entries at all, not even the entry of the root.
    automaton: Option<Automaton>,
    composites: Vec<(IndexHash, Vec<CompositePath>)>,
}

impl IndexDefinition {
    pub fn new(policy: &IndexingPolicy) -> IndexDefinition {
        match policy.mode {
            IndexingMode::None => IndexDefinition::nothing(),
            IndexingMode::Consistent => {
                let mut composites: Vec<(IndexHash, Vec<CompositePath>)> = policy
                    .composite
                    .iter()
                    .filter(|paths| !paths.iter().any(is_never_indexed))
                    .map(|paths| (IndexHash::of_composite(paths), paths.clone()))
                    .collect();
                composites.sort_by_key(|(hash, _)| *hash);
                composites.dedup_by_key(|(hash, _)| *hash);
                IndexDefinition {
                    automaton: Some(Automaton::new(policy)),
                    composites,
                }
            }
        }
    }

    /// The indexes that both definitions have. While a policy change replaces one definition by the
    /// other, queries can rely only on these.
    #[must_use]
    pub fn intersection(a: &IndexDefinition, b: &IndexDefinition) -> IndexDefinition {
        let (Some(x), Some(y)) = (&a.automaton, &b.automaton) else {
            return IndexDefinition::nothing();
        };
        let is_in_b = |hash: IndexHash| b.composites.iter().any(|(other, _)| *other == hash);
        IndexDefinition {
            automaton: Some(Automaton::intersection(x, y)),
            composites: a
                .composites
                .iter()
                .filter(|(hash, _)| is_in_b(*hash))
                .cloned()
                .collect(),
        }
    }

    /// Whether documents have no index entries, which includes the entry of the root.
    pub fn is_nothing(&self) -> bool {
        self.automaton.is_none()
    }

    /// Whether every value at this path has an entry under [`IndexHash::of_path`].
    pub fn covers(&self, path: &DocumentPath) -> bool {
        self.indexes_at(path).values
    }

    /// The grid of the spatial index at this path, whose entries are under
    /// [`IndexHash::of_spatial`].
    pub fn spatial(&self, path: &DocumentPath) -> Option<Grid> {
        self.indexes_at(path).geometries
    }

    /// The composite indexes, without duplicates.
    pub fn composites(&self) -> impl Iterator<Item = (IndexHash, &[CompositePath])> {
        self.composites
            .iter()
            .map(|(hash, paths)| (*hash, paths.as_slice()))
    }

    /// All entries of a document with this document key, without an entry for `_ts`.
    #[cfg(test)]
    pub(crate) fn entries(&self, container: u32, document: &Value, key_position: &[u8]) -> Entries {
        self.entries_with(container, document, None, key_position)
    }

    /// All entries of a document that lacks its system properties. Of these only `_ts`, which is
    /// `modified_seconds`, has entries.
    pub fn entries_at(
        &self,
        container: u32,
        document: &Value,
        modified_seconds: u32,
        key_position: &[u8],
    ) -> Entries {
        let modified = Value::from(i64::from(modified_seconds));
        self.entries_with(container, document, Some(&modified), key_position)
    }

    fn entries_with(
        &self,
        container: u32,
        document: &Value,
        modified: Option<&Value>,
        key_position: &[u8],
    ) -> Entries {
        match &self.automaton {
            None => Entries::default(),
            Some(automaton) => {
                let document = walk::IndexedDocument { document, modified };
                walk::entries(
                    automaton,
                    &self.composites,
                    container,
                    document,
                    key_position,
                )
            }
        }
    }

    /// The only entry of a document that all other indexes exclude. This entry keeps the document
    /// countable.
    pub fn unindexed_entries(&self, container: u32, key_position: &[u8]) -> Entries {
        match &self.automaton {
            None => Entries::default(),
            Some(_) => walk::unindexed(container, key_position),
        }
    }

    /// The path of an index in which this document has entries, as text. Slow, and only for tests.
    #[cfg(test)]
    pub(crate) fn path_text(&self, document: &Value, index: IndexHash) -> Option<String> {
        let composite = self.composites.iter().find(|(hash, _)| *hash == index);
        if let Some((_, paths)) = composite {
            return Some(crate::path_text::of_composite(paths));
        }
        crate::path_text::find(document, index)
    }

    /// A definition without any index.
    pub fn nothing() -> IndexDefinition {
        IndexDefinition {
            automaton: None,
            composites: Vec::new(),
        }
    }

    fn indexes_at(&self, path: &DocumentPath) -> PathIndexes {
        let Some(automaton) = &self.automaton else {
            return PathIndexes::default();
        };
        if let Some(PathStep::Name(name)) = path.0.first()
            && NEVER_INDEXED.contains(&name.as_str())
        {
            return PathIndexes::default();
        }
        path.0
            .iter()
            .fold(automaton.start(), |state, step| match step {
                PathStep::Name(name) => automaton.after_name(state, name),
                PathStep::Element => automaton.after_element(state),
            })
            .indexes
    }
}
