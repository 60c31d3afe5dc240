//! The predicate of a query, sorted by the indexes that could answer it.

use orrery_exec::{DocumentPath, Predicate, SpatialRelation, ValueRange};
use orrery_json::Value;

use super::estimate::Estimator;
use super::intervals::Intervals;
use super::wording;
use crate::{IndexDefinition, IndexHash};

/// Every document that matches satisfies all of the terms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Term {
    Value(ValueTerm),
    Shape(ShapeTerm),
    /// At least one of several filters.
    Either(Vec<Filter>),
}

/// Some value at a path is in some intervals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueTerm {
    pub(super) path: DocumentPath,
    /// None when the policy leaves the path out.
    pub(super) index: Option<IndexHash>,
    pub(super) intervals: Intervals,
    /// How many entries of the index are in them; none without an index.
    pub(super) entries: u64,
    pub(super) text: String,
}

/// Some geometry at a path touches some cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapeTerm {
    pub(super) path: DocumentPath,
    /// None when the policy or the geometry gives no cells.
    pub(super) index: Option<IndexHash>,
    pub(super) cells: Intervals,
    pub(super) entries: u64,
    pub(super) text: String,
}

impl Filter {
    /// None when no document can match.
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
                    let shape = ShapeTerm::of(path, *relation, geometry, definition);
                    terms.push(Term::Shape(shape));
                }
            }
        }
        let terms = merged(terms);
        let is_possible = terms.iter().all(|term| match term {
            Term::Value(term) => !term.intervals.is_empty(),
            Term::Shape(_) | Term::Either(_) => true,
        });
        is_possible.then_some(Filter { terms })
    }

    /// Learns how many entries each term has. Apart, because it reads entries.
    pub(super) fn measure(&mut self, estimator: &Estimator<'_>) {
        for term in &mut self.terms {
            match term {
                Term::Value(term) => {
                    if let Some(index) = term.index {
                        term.entries = estimator.entries(index, &term.intervals);
                    }
                }
                Term::Shape(term) => {
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
            Term::Shape(_) | Term::Either(_) => None,
        })
    }

    /// What the filter says about the one value that a path has.
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

impl ShapeTerm {
    fn of(
        path: &DocumentPath,
        relation: SpatialRelation,
        geometry: &Value,
        definition: &IndexDefinition,
    ) -> ShapeTerm {
        let cells = definition
            .spatial(path)
            .map(|grid| grid.cover_query(geometry, relation))
            .filter(|cells| !cells.is_empty());
        ShapeTerm {
            path: path.clone(),
            index: cells.as_ref().map(|_| IndexHash::of_spatial(path)),
            cells: cells.map_or_else(Intervals::everything, Intervals::of_cells),
            entries: 0,
            text: wording::relation(relation),
        }
    }
}

/// The terms that say that one of several predicates holds; none when all are impossible.
fn either(any: &[Predicate], definition: &IndexDefinition) -> Option<Vec<Term>> {
    if let Some(term) = one_path(any, definition) {
        return Some(vec![Term::Value(term)]);
    }
    let mut filters: Vec<Filter> = any
        .iter()
        .filter_map(|one| Filter::of(one, definition))
        .collect();
    if filters.iter().any(|filter| filter.terms.is_empty()) {
        return Some(Vec::new());
    }
    match filters.len() {
        0 => None,
        1 => Some(filters.remove(0).terms),
        _ => Some(vec![Term::Either(filters)]),
    }
}

/// Ranges over the same path are one set of ranges, even when the path has several values.
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

/// Terms about the one value of a path become one term. Where a path has several values, each
/// term may be about another of them.
fn merged(terms: Vec<Term>) -> Vec<Term> {
    let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        if let Term::Value(next) = &term
            && !next.path.is_multiple()
        {
            let same = merged.iter_mut().find_map(|other| match other {
                Term::Value(other) if other.path == next.path => Some(other),
                Term::Value(_) | Term::Shape(_) | Term::Either(_) => None,
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
