//! The predicate of a query, grouped by the indexes that can answer it.

use orrery_exec::{DocumentPath, Predicate, SpatialRelation, ValueRange};
use orrery_json::Value;

use super::estimate::Estimator;
use super::intervals::Intervals;
use super::wording;
use crate::{IndexDefinition, IndexHash};

/// A conjunction of terms that every matching document satisfies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Term {
    Value(ValueTerm),
    Spatial(SpatialTerm),
    /// A disjunction, which requires one of the filters.
    Either(Vec<Filter>),
}

/// A value at the path lies in the intervals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueTerm {
    pub(super) path: DocumentPath,
    /// `None` when the policy excludes the path.
    pub(super) index: Option<IndexHash>,
    pub(super) intervals: Intervals,
    /// Number of index entries in the intervals; zero without an index.
    pub(super) entries: u64,
    pub(super) text: String,
}

/// A geometry at the path touches the cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpatialTerm {
    pub(super) path: DocumentPath,
    /// `None` when the policy has no spatial index at the path, or the geometry has no cells.
    pub(super) index: Option<IndexHash>,
    pub(super) cells: Intervals,
    pub(super) entries: u64,
    pub(super) text: String,
}

impl Filter {
    /// `None` when no document can match.
    pub(super) fn of(predicate: &Predicate, definition: &IndexDefinition) -> Option<Filter> {
        let mut terms = Vec::new();
        let all = match predicate {
            Predicate::And(all) => &all[..],
            other => std::slice::from_ref(other),
        };
        for one in all {
            match one {
                Predicate::Anything => {}
                Predicate::Nothing => return None,
                Predicate::And(_) => terms.extend(Filter::of(one, definition)?.terms),
                Predicate::Or(any) => terms.extend(either(any, definition)?),
                Predicate::Value { path, ranges } => {
                    terms.push(Term::Value(ValueTerm::of(path, ranges, definition)));
                }
                Predicate::Spatial {
                    path,
                    relation,
                    geometry,
                } => {
                    let shape = SpatialTerm::of(path, *relation, geometry, definition);
                    terms.push(Term::Spatial(shape));
                }
            }
        }
        let terms = merged(terms);
        let is_possible = terms.iter().all(|term| match term {
            Term::Value(term) => !term.intervals.is_empty(),
            Term::Spatial(_) | Term::Either(_) => true,
        });
        is_possible.then_some(Filter { terms })
    }

    /// Sets the number of entries of each term. Separate from [`Filter::of`], because it reads
    /// entries.
    pub(super) fn measure(&mut self, estimator: &Estimator<'_>) {
        for term in &mut self.terms {
            match term {
                Term::Value(term) => {
                    if let Some(index) = term.index {
                        term.entries = estimator.entries(index, &term.intervals);
                    }
                }
                Term::Spatial(term) => {
                    if let Some(index) = term.index {
                        term.entries = estimator.entries(index, &term.cells);
                    }
                }
                Term::Either(filters) => {
                    for filter in filters {
                        filter.measure(estimator);
                    }
                }
            }
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &ValueTerm> {
        self.terms.iter().filter_map(|term| match term {
            Term::Value(value) => Some(value),
            Term::Spatial(_) | Term::Either(_) => None,
        })
    }

    /// The term about a path that has exactly one value in each document.
    pub(super) fn value_at(&self, path: &DocumentPath) -> Option<&ValueTerm> {
        self.values()
            .find(|term| term.path == *path && !path.is_multiple())
    }
}

impl ValueTerm {
    fn of(path: &DocumentPath, ranges: &[ValueRange], definition: &IndexDefinition) -> ValueTerm {
        ValueTerm {
            path: path.clone(),
            index: definition.covers(path).then(|| IndexHash::of_path(path)),
            intervals: Intervals::of_ranges(ranges),
            entries: 0,
            text: wording::ranges(ranges),
        }
    }

    fn and(&mut self, other: &ValueTerm) {
        self.intervals = self.intervals.and(&other.intervals);
        self.text = format!("{} and {}", self.text, other.text);
    }
}

impl SpatialTerm {
    fn of(
        path: &DocumentPath,
        relation: SpatialRelation,
        geometry: &Value,
        definition: &IndexDefinition,
    ) -> SpatialTerm {
        let cells = definition
            .spatial(path)
            .map(|grid| grid.cover_query(geometry, relation))
            .filter(|cells| !cells.is_empty());
        SpatialTerm {
            path: path.clone(),
            index: cells.as_ref().map(|_| IndexHash::of_spatial(path)),
            cells: cells.map_or_else(Intervals::everything, Intervals::of_cells),
            entries: 0,
            text: wording::relation(relation),
        }
    }
}

/// The terms of a disjunction. `None` when every branch is impossible.
fn either(any: &[Predicate], definition: &IndexDefinition) -> Option<Vec<Term>> {
    if let Some(term) = one_path(any, definition) {
        return Some(vec![Term::Value(term)]);
    }
    let mut filters: Vec<Filter> = any
        .iter()
        .filter_map(|one| Filter::of(one, definition))
        .collect();
    // A branch without terms matches every document, so the disjunction restricts nothing.
    if filters.iter().any(|filter| filter.terms.is_empty()) {
        return Some(Vec::new());
    }
    match filters.len() {
        0 => None,
        1 => Some(filters.remove(0).terms),
        _ => Some(vec![Term::Either(filters)]),
    }
}

/// The union of ranges over one path is one set of ranges, even when the path has several values.
fn one_path(any: &[Predicate], definition: &IndexDefinition) -> Option<ValueTerm> {
    let Predicate::Value { path: first, .. } = any.first()? else {
        return None;
    };
    let mut all = Vec::new();
    for one in any {
        match one {
            Predicate::Value { path, ranges } if path == first => all.extend_from_slice(ranges),
            _ => return None,
        }
    }
    Some(ValueTerm::of(first, &all, definition))
}

/// Intersects the terms about one single-valued path. The terms of a multi-valued path stay
/// separate, because each may hold for a different value.
fn merged(terms: Vec<Term>) -> Vec<Term> {
    let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        if let Term::Value(next) = &term
            && !next.path.is_multiple()
        {
            let same = merged.iter_mut().find_map(|other| match other {
                Term::Value(other) if other.path == next.path => Some(other),
                Term::Value(_) | Term::Spatial(_) | Term::Either(_) => None,
            });
            if let Some(same) = same {
                same.and(next);
                continue;
            }
        }
        merged.push(term);
    }
    merged
}
