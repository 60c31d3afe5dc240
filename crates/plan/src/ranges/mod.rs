//! Where documents of a query can be: ranges of effective partition keys.

mod condition;
mod fold;
mod key_set;

use std::collections::HashSet;

use orrery_json::Path;
use orrery_keys::{Component, Epk, KeyDefinition, PartitionKey};

use crate::PlanRequest;
use crate::limits::KEY_POINTS_MAX;
use crate::rewrite::counted;
use crate::scope::Scope;
use condition::Conditions;
use fold::Constants;
use key_set::{KeyBox, KeySet};

/// A range that the client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRange {
    pub key: RangeKey,
    pub min: Epk,
    pub max: Epk,
    /// Otherwise `max` is outside. `min` is always inside.
    pub is_max_inclusive: bool,
}

/// The keys of a range, before they are hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeKey {
    All,
    /// No document matches. The client still asks one partition, so as to get an empty page.
    Nothing,
    Point(PartitionKey),
    /// All complete keys that begin so.
    Prefix(PartitionKey),
}

impl PlannedRange {
    pub fn is_point(&self) -> bool {
        match self.key {
            RangeKey::Nothing | RangeKey::Point(_) => true,
            RangeKey::All | RangeKey::Prefix(_) => false,
        }
    }

    fn all() -> PlannedRange {
        PlannedRange {
            key: RangeKey::All,
            min: Epk::min(),
            max: Epk::max(),
            is_max_inclusive: false,
        }
    }

    fn nothing() -> PlannedRange {
        PlannedRange {
            key: RangeKey::Nothing,
            min: Epk::min(),
            max: Epk::min(),
            is_max_inclusive: true,
        }
    }

    fn of(key: PartitionKey, definition: &KeyDefinition) -> PlannedRange {
        if key.len() < definition.paths().len() {
            let range = definition.prefix_range(&key);
            return PlannedRange {
                key: RangeKey::Prefix(key),
                min: range.min,
                max: range.max,
                is_max_inclusive: false,
            };
        }
        let point = definition.epk(&key);
        PlannedRange {
            key: RangeKey::Point(key),
            min: point.clone(),
            max: point,
            is_max_inclusive: true,
        }
    }
}

/// The ranges where documents of a query can be: in their order, at least one, none overlapping
/// another. A part of the plan, for those who run the query themselves.
pub fn ranges(request: &PlanRequest<'_>) -> Vec<PlannedRange> {
    if request.query.from.is_empty() {
        return vec![PlannedRange::nothing()];
    }
    let paths: &[Path] = request.key.map_or(&[], KeyDefinition::paths);
    let mut conditions = Conditions {
        paths,
        constants: Constants {
            parameters: request.parameters,
            functions: request.functions,
        },
        scope: Scope::default(),
    };
    // A subquery whose rows are counted is sent in place of the query.
    let query = counted(request.query).unwrap_or(request.query);
    let keys = conditions.keys_of_query(query);
    if keys.boxes().is_empty() {
        return vec![PlannedRange::nothing()];
    }
    request
        .key
        .and_then(|definition| ranges_of(&keys, definition))
        .unwrap_or_else(|| vec![PlannedRange::all()])
}

/// `None` if the keys are not known even by their first level.
fn ranges_of(keys: &KeySet, definition: &KeyDefinition) -> Option<Vec<PlannedRange>> {
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
    ordered.retain(|key| !has_shorter(key, &prefixes));
    let mut ranges: Vec<PlannedRange> = ordered
        .into_iter()
        .map(|key| PlannedRange::of(key, definition))
        .collect();
    ranges.sort_by(|left, right| left.min.cmp(&right.min));
    Some(ranges)
}

/// Every combination of the levels known from the first on, as many levels as are affordable.
fn prefixes_of(known: &KeyBox) -> Option<Vec<PartitionKey>> {
    let mut prefixes: Vec<Vec<Component>> = vec![Vec::new()];
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

fn has_shorter(key: &PartitionKey, prefixes: &HashSet<PartitionKey>) -> bool {
    (1..key.len()).any(|length| {
        let shorter = PartitionKey::new(key.components()[..length].to_vec());
        prefixes.contains(&shorter)
    })
}
