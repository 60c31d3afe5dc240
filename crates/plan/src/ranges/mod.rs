//! The EPK ranges that may contain documents of a query.

mod fold;
mod key_analyzer;
mod key_set;

use std::collections::HashSet;

use orrery_json::PropertyPath;
use orrery_keys::{Epk, KeyComponent, PartitionKey, PartitionKeyDefinition};

use crate::PlanRequest;
use crate::infer::may_have_rows;
use crate::limits::KEY_POINTS_MAX;
use crate::rewrite::counted_subquery;
use crate::scope::Scope;
pub(crate) use fold::{ConstantFolder, binary as fold_binary, unary as fold_unary};
use key_analyzer::KeyAnalyzer;
use key_set::{KeyBox, KeySet};

/// An EPK range that the client queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRange {
    pub key: KeyScope,
    pub min: Epk,
    pub max: Epk,
    /// Whether `max` belongs to the range. `min` always does.
    pub is_max_inclusive: bool,
}

/// The partition keys of a range, before they are hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyScope {
    All,
    /// No document matches. The client still queries one partition, to receive an empty page.
    Nothing,
    Point(PartitionKey),
    /// All complete keys with this prefix.
    Prefix(PartitionKey),
}

impl PlannedRange {
    pub fn is_point(&self) -> bool {
        match self.key {
            KeyScope::Nothing | KeyScope::Point(_) => true,
            KeyScope::All | KeyScope::Prefix(_) => false,
        }
    }

    /// The range of all keys, for a filter that does not restrict the first key level.
    fn all() -> PlannedRange {
        PlannedRange {
            key: KeyScope::All,
            min: Epk::min(),
            max: Epk::max(),
            is_max_inclusive: false,
        }
    }

    /// A single point without keys, for a query that matches no document. Over a hierarchical key
    /// it is the prefix without levels, as in the service, whose range has all keys.
    fn nothing(definition: Option<&PartitionKeyDefinition>) -> PlannedRange {
        let is_hierarchical = definition.is_some_and(|key| key.paths().len() > 1);
        PlannedRange {
            key: KeyScope::Nothing,
            min: Epk::min(),
            max: if is_hierarchical {
                Epk::max()
            } else {
                Epk::min()
            },
            is_max_inclusive: true,
        }
    }

    /// The range of a complete key or of a prefix.
    fn of(key: PartitionKey, definition: &PartitionKeyDefinition) -> PlannedRange {
        if key.len() < definition.paths().len() {
            let range = definition.prefix_range(&key);
            return PlannedRange {
                key: KeyScope::Prefix(key),
                min: range.min,
                max: range.max,
                is_max_inclusive: true,
            };
        }
        let point = definition.epk(&key);
        PlannedRange {
            key: KeyScope::Point(key),
            min: point.clone(),
            max: point,
            is_max_inclusive: true,
        }
    }
}

/// The EPK ranges that may contain documents of a query: at least one range, ascending, without
/// overlaps. Callers that run the query themselves need only this part of a plan.
pub fn ranges(request: &PlanRequest<'_>) -> Vec<PlannedRange> {
    // A query without `FROM` reads no document, so any single partition can answer it.
    if request.query.from.is_empty() {
        return vec![PlannedRange::nothing(request.key)];
    }
    let paths: &[PropertyPath] = request.key.map_or(&[], PartitionKeyDefinition::paths);
    let mut conditions = KeyAnalyzer {
        paths,
        constants: ConstantFolder {
            parameters: request.parameters,
            functions: request.functions,
        },
        scope: Scope::default(),
    };
    // For a count of distinct rows, the client sends the subquery in place of the query.
    let query = counted_subquery(request.query).unwrap_or(request.query);
    let keys = conditions.keys_of_query(query);
    if keys.boxes().is_empty() {
        return vec![PlannedRange::nothing(request.key)];
    }
    request
        .key
        .and_then(|definition| ranges_of(&keys, definition))
        .unwrap_or_else(|| vec![PlannedRange::all()])
}

/// Like [`ranges`], with the single range of nothing for a query that can have no row, whatever the
/// documents are.
pub(crate) fn planned_ranges(request: &PlanRequest<'_>) -> Vec<PlannedRange> {
    let query = counted_subquery(request.query).unwrap_or(request.query);
    let constants = ConstantFolder {
        parameters: request.parameters,
        functions: request.functions,
    };
    if may_have_rows(query, constants) {
        ranges(request)
    } else {
        vec![PlannedRange::nothing(request.key)]
    }
}

/// The ranges of the keys; `None` if not even the first key level is restricted.
fn ranges_of(keys: &KeySet, definition: &PartitionKeyDefinition) -> Option<Vec<PlannedRange>> {
    let mut prefixes = HashSet::new();
    let mut ordered = Vec::new();
    for known in keys.boxes() {
        for prefix in prefixes_of(known)? {
            if prefixes.insert(prefix.clone()) {
                ordered.push(prefix);
            }
        }
        if ordered.len() > KEY_POINTS_MAX {
            return None;
        }
    }
    // A prefix covers all keys below it, so the ranges of longer keys with this prefix would
    // overlap its range.
    ordered.retain(|key| !has_shorter(key, &prefixes));
    let mut ranges: Vec<PlannedRange> = ordered
        .into_iter()
        .map(|key| PlannedRange::of(key, definition))
        .collect();
    // Clients query partitions in the order of the ranges and rely on it for the order of pages.
    ranges.sort_by(|left, right| left.min.cmp(&right.min));
    Some(ranges)
}

/// Every combination of the values of the leading restricted levels, with as many levels as
/// [`KEY_POINTS_MAX`] allows. `None` if the first level is unrestricted.
fn prefixes_of(known: &KeyBox) -> Option<Vec<PartitionKey>> {
    let mut prefixes: Vec<Vec<KeyComponent>> = vec![Vec::new()];
    for values in known.iter().map_while(Option::as_ref) {
        if prefixes.len() * values.len() > KEY_POINTS_MAX {
            break;
        }
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| {
                values.iter().map(|value| {
                    let mut longer = prefix.clone();
                    longer.push(value.clone());
                    longer
                })
            })
            .collect();
    }
    if prefixes.iter().any(Vec::is_empty) {
        return None;
    }
    Some(prefixes.into_iter().map(PartitionKey::new).collect())
}

/// Whether the set contains a proper prefix of the key.
fn has_shorter(key: &PartitionKey, prefixes: &HashSet<PartitionKey>) -> bool {
    (1..key.len()).any(|length| {
        let shorter = PartitionKey::new(key.components()[..length].to_vec());
        prefixes.contains(&shorter)
    })
}
