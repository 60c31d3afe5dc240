//! What a container indexes: its policy, made ready for the walk over documents.

use orrery_exec::{DocumentPath, PathStep};
use orrery_json::Value;
use orrery_model::{CompositePath, IndexStep, IndexingMode, IndexingPolicy};

use crate::automaton::{Automaton, Holds};
use crate::spatial::Grid;
use crate::walk;
use crate::{Entries, IndexHash};

/// System properties that no policy indexes.
const NEVER_INDEXED: [&str; 4] = ["_rid", "_self", "_etag", "_attachments"];

/// An order by such a property is made without its composite index.
fn is_never_indexed(path: &CompositePath) -> bool {
    let first = path.path.steps().first();
    matches!(first, Some(IndexStep::Property(name)) if NEVER_INDEXED.contains(&name.as_str()))
}

/// The indexes of a container.
#[derive(Debug, Clone)]
pub struct IndexDefinition {
    /// None when nothing is indexed, not even that there is a document.
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

    /// What both index: all that can be relied on while one becomes the other.
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

    /// Whether documents have no entries at all, not even that of the root.
    pub fn is_nothing(&self) -> bool {
        self.automaton.is_none()
    }

    /// Whether all values at this path have entries under [`IndexHash::of_path`].
    pub fn covers(&self, path: &DocumentPath) -> bool {
        self.holds(path).values
    }

    /// How geometries at this path are found, under [`IndexHash::of_spatial`].
    pub fn spatial(&self, path: &DocumentPath) -> Option<Grid> {
        self.holds(path).geometries
    }

    /// The composite indexes, each once.
    pub fn composites(&self) -> impl Iterator<Item = (IndexHash, &[CompositePath])> {
        self.composites
            .iter()
            .map(|(hash, paths)| (*hash, paths.as_slice()))
    }

    /// All entries of a document at a place, none for the second of its modification.
    #[cfg(test)]
    pub(crate) fn entries(&self, container: u32, document: &Value, place: &[u8]) -> Entries {
        self.entries_with(container, document, None, place)
    }

    /// All entries of a document that is without its system properties, of which only the second
    /// of its modification is indexed.
    pub fn entries_at(
        &self,
        container: u32,
        document: &Value,
        modified_seconds: u32,
        place: &[u8],
    ) -> Entries {
        let modified = Value::from(i64::from(modified_seconds));
        self.entries_with(container, document, Some(&modified), place)
    }

    fn entries_with(
        &self,
        container: u32,
        document: &Value,
        modified: Option<&Value>,
        place: &[u8],
    ) -> Entries {
        match &self.automaton {
            None => Entries::default(),
            Some(automaton) => {
                let document = walk::Subject { document, modified };
                walk::entries(automaton, &self.composites, container, document, place)
            }
        }
    }

    /// The one entry of a document that is left out of all other indexes, by which it is counted.
    pub fn unindexed_entries(&self, container: u32, place: &[u8]) -> Entries {
        match &self.automaton {
            None => Entries::default(),
            Some(_) => walk::unindexed(container, place),
        }
    }

    /// The path of an index that this document has entries in, for people. Slow.
    #[cfg(test)]
    pub(crate) fn path_text(&self, document: &Value, index: IndexHash) -> Option<String> {
        let composite = self.composites.iter().find(|(hash, _)| *hash == index);
        if let Some((_, paths)) = composite {
            return Some(crate::path_text::of_composite(paths));
        }
        crate::path_text::find(document, index)
    }

    /// No index at all.
    pub fn nothing() -> IndexDefinition {
        IndexDefinition {
            automaton: None,
            composites: Vec::new(),
        }
    }

    fn holds(&self, path: &DocumentPath) -> Holds {
        let Some(automaton) = &self.automaton else {
            return Holds::default();
        };
        if let Some(PathStep::Name(name)) = path.0.first()
            && NEVER_INDEXED.contains(&name.as_str())
        {
            return Holds::default();
        }
        path.0
            .iter()
            .fold(automaton.start(), |state, step| match step {
                PathStep::Name(name) => automaton.after_name(state, name),
                PathStep::Element => automaton.after_element(state),
            })
            .holds
    }
}
