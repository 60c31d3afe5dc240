//! What a composite index can do for a filter and an order.
//!
//! Its values are those of its parts, one after the other, so that equalities on its first parts
//! are a common beginning and a range on the next part narrows what follows it.

use orrery_exec::{DocumentPath, PathStep};
use orrery_model::{CompositePath, IndexStep, SortOrder};

use super::filter::{Filter, ValueTerm};
use super::intervals::{Interval, Intervals};
use super::{Direction, OrderTerm, wording};
use crate::value::successor;
use crate::{IndexDefinition, IndexHash};

/// A composite index in the terms of queries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composite {
    pub(super) index: IndexHash,
    pub(super) parts: Vec<OrderTerm>,
}

/// Which entries of a composite index a filter needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Narrowed {
    pub(super) intervals: Intervals,
    /// How many of the first parts have one value.
    pub(super) equal: usize,
    /// How many of the first parts narrow the entries: at most one more than are equal.
    pub(super) used: usize,
    pub(super) text: String,
}

/// Those without elements of arrays, which have no place in an order of documents.
pub(super) fn composites(definition: &IndexDefinition) -> impl Iterator<Item = Composite> {
    definition.composites().filter_map(|(index, paths)| {
        let parts = paths.iter().map(part).collect::<Option<_>>()?;
        Some(Composite { index, parts })
    })
}

fn part(path: &CompositePath) -> Option<OrderTerm> {
    let steps = path.path.steps().iter().map(|step| match step {
        IndexStep::Property(name) => Some(PathStep::Name(name.clone())),
        IndexStep::Elements => None,
    });
    Some(OrderTerm {
        path: DocumentPath(steps.collect::<Option<_>>()?),
        descending: path.order == SortOrder::Descending,
    })
}

impl Composite {
    /// `/a ASC`, `/b DESC`.
    pub(super) fn specs(&self) -> Vec<String> {
        let parts = self.parts.iter();
        parts
            .map(|part| wording::composite_spec(&part.path, part.descending))
            .collect()
    }

    /// `(/a ASC, /b DESC)`.
    pub(super) fn name(&self) -> String {
        format!("({})", self.specs().join(", "))
    }

    pub(super) fn narrow(&self, filter: &Filter) -> Narrowed {
        let mut beginning = Vec::new();
        let mut texts = Vec::new();
        for (position, part) in self.parts.iter().enumerate() {
            let Some(term) = filter.value_at(&part.path) else {
                break;
            };
            texts.push(format!("{} {}", wording::path(&term.path), term.text));
            let Some(point) = term.intervals.point() else {
                return Narrowed {
                    intervals: self.continued(&beginning, position, term),
                    equal: position,
                    used: position + 1,
                    text: texts.join(", "),
                };
            };
            beginning.extend(in_direction(point, part.descending).from);
        }
        let equal = texts.len();
        let intervals = if equal == 0 {
            Intervals::everything()
        } else {
            Intervals {
                list: vec![Interval {
                    to: Some(successor(&beginning)),
                    from: beginning,
                    is_point: equal == self.parts.len(),
                }],
                is_exact: false,
            }
        };
        Narrowed {
            intervals,
            equal,
            used: equal,
            text: texts.join(", "),
        }
    }

    /// How its entries are walked so that documents come in this order, when its first parts up to
    /// `equal` have one value each. A longer index does not serve a shorter order: its ties would
    /// not be in the order of documents.
    pub(super) fn direction(&self, order: &[OrderTerm], equal: usize) -> Option<Direction> {
        let start = self.parts.len().checked_sub(order.len())?;
        if start > equal || order.is_empty() {
            return None;
        }
        let pairs = || self.parts[start..].iter().zip(order);
        if pairs().any(|(part, term)| part.path != term.path) {
            return None;
        }
        if pairs().all(|(part, term)| part.descending == term.descending) {
            Some(Direction::Forward)
        } else if pairs().all(|(part, term)| part.descending != term.descending) {
            Some(Direction::Backward)
        } else {
            None
        }
    }

    /// The intervals of a part behind a common beginning.
    fn continued(&self, beginning: &[u8], position: usize, term: &ValueTerm) -> Intervals {
        let descending = self.parts[position].descending;
        let is_last = position + 1 == self.parts.len();
        let mut list: Vec<Interval> = term
            .intervals
            .list
            .iter()
            .map(|interval| {
                let interval = in_direction(interval, descending);
                let to = match interval.to {
                    Some(to) => Some([beginning, &to].concat()),
                    None if beginning.is_empty() => None,
                    None => Some(successor(beginning)),
                };
                Interval {
                    from: [beginning, &interval.from].concat(),
                    to,
                    is_point: interval.is_point && is_last,
                }
            })
            .collect();
        if descending {
            list.reverse();
        }
        Intervals {
            list,
            is_exact: false,
        }
    }
}

fn in_direction(interval: &Interval, descending: bool) -> Interval {
    if descending {
        interval.reversed()
    } else {
        interval.clone()
    }
}
