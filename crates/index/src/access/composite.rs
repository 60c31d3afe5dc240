//! Matches a composite index with a filter and an order.
//!
//! The value of an entry is the concatenation of the parts. So equalities on the leading parts form
//! a common byte prefix, and a range on the next part narrows the entries within that prefix.

use orrery_exec::{DocumentPath, PathStep};
use orrery_model::{CompositePath, IndexStep, SortOrder};

use super::filter::{Filter, ValueTerm};
use super::intervals::{Interval, Intervals};
use super::{OrderTerm, ScanDirection, wording};
use crate::value::successor;
use crate::{IndexDefinition, IndexHash};

/// A composite index in the terms of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composite {
    pub(super) index: IndexHash,
    pub(super) parts: Vec<OrderTerm>,
}

/// The entries of a composite index that a filter selects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompositeMatch {
    pub(super) intervals: Intervals,
    /// Number of leading parts with an equality.
    pub(super) equal: usize,
    /// Number of leading parts that narrow the entries: the equalities, and at most one range after
    /// them.
    pub(super) used: usize,
    pub(super) text: String,
}

/// The composite indexes without paths through array elements, which cannot order documents.
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

    pub(super) fn match_filter(&self, filter: &Filter) -> CompositeMatch {
        let mut beginning = Vec::new();
        let mut texts = Vec::new();
        for (position, part) in self.parts.iter().enumerate() {
            let Some(term) = filter.value_at(&part.path) else {
                break;
            };
            texts.push(format!("{} {}", wording::path(&term.path), term.text));
            // A part that is not a single value ends the prefix: later parts are sorted only within
            // each of its values.
            let Some(point) = term.intervals.point() else {
                return CompositeMatch {
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
        CompositeMatch {
            intervals,
            equal,
            used: equal,
            text: texts.join(", "),
        }
    }

    /// The direction in which the entries give documents in this order, when the first `equal`
    /// parts have one value each. An index with further parts after the order does not qualify: it
    /// would not return ties in document key order.
    pub(super) fn direction(&self, order: &[OrderTerm], equal: usize) -> Option<ScanDirection> {
        let start = self.parts.len().checked_sub(order.len())?;
        if start > equal || order.is_empty() {
            return None;
        }
        let pairs = || self.parts[start..].iter().zip(order);
        if pairs().any(|(part, term)| part.path != term.path) {
            return None;
        }
        if pairs().all(|(part, term)| part.descending == term.descending) {
            Some(ScanDirection::Forward)
        } else if pairs().all(|(part, term)| part.descending != term.descending) {
            Some(ScanDirection::Backward)
        } else {
            None
        }
    }

    /// The intervals of one part after the common prefix of the earlier parts.
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
