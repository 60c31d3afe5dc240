//! The indexes that serve a query and the indexes that would, for the index metrics of a response.
//!
//! The metrics follow the query and the policy and not the plan: a container of five documents is
//! scanned, and its metrics still name the index that matches the query.

use orrery_exec::{DocumentPath, Predicate};

use super::composite::composites;
use super::filter::Filter;
use super::{AccessRequest, wording};

/// Index names as in `/a/?` and `/a ASC`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexUsage {
    pub utilized_single: Vec<String>,
    pub utilized_composite: Vec<Vec<String>>,
    /// Paths of the filter and of the order that the policy excludes.
    pub potential_single: Vec<String>,
    pub potential_composite: Vec<Vec<String>>,
}

impl IndexUsage {
    /// The index usage of a query, independent of its plan.
    pub fn of(request: &AccessRequest<'_>) -> IndexUsage {
        let filter = Filter::of(&request.sargable_filter.predicate, request.definition);
        let mut usage = IndexUsage::default();
        usage.add_paths(request, &request.sargable_filter.predicate);
        if let [term] = request.order {
            usage.add_path(&term.path, request.definition.covers(&term.path));
        }
        if let Some(path) = request.covering {
            usage.add_path(path, request.definition.covers(path));
        }
        if let Some(filter) = filter {
            usage.add_composites(request, &filter);
        }
        usage
    }

    /// Adds the partition key paths of a query in one logical partition, where the key selects
    /// documents like an equality filter.
    #[must_use]
    pub fn with_keys(mut self, paths: impl Iterator<Item = DocumentPath>) -> IndexUsage {
        for path in paths {
            self.add_path(&path, true);
        }
        self
    }

    fn add_paths(&mut self, request: &AccessRequest<'_>, predicate: &Predicate) {
        match predicate {
            Predicate::Anything | Predicate::Nothing => {}
            Predicate::And(all) | Predicate::Or(all) => {
                for one in all {
                    self.add_paths(request, one);
                }
            }
            Predicate::Value { path, .. } => self.add_path(path, request.definition.covers(path)),
            Predicate::Spatial { path, .. } => {
                self.add_path(path, request.definition.spatial(path).is_some());
            }
        }
    }

    fn add_path(&mut self, path: &DocumentPath, is_covered: bool) {
        let specs = if is_covered {
            &mut self.utilized_single
        } else {
            &mut self.potential_single
        };
        let spec = wording::single_spec(path);
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }

    fn add_composites(&mut self, request: &AccessRequest<'_>, filter: &Filter) {
        for composite in composites(request.definition) {
            let narrowed = composite.match_filter(filter);
            let is_filter = narrowed.used == composite.parts.len();
            let is_order = composite.direction(request.order, narrowed.equal).is_some();
            if is_filter || is_order {
                self.utilized_composite.push(composite.specs());
            }
        }
        if self.utilized_composite.is_empty() {
            self.potential_composite.extend(wanted(request, filter));
        }
    }
}

/// The composite index that would serve the query: the equalities, then the order or else one
/// range.
fn wanted(request: &AccessRequest<'_>, filter: &Filter) -> Option<Vec<String>> {
    let is_ordered = |path: &DocumentPath| request.order.iter().any(|term| term.path == *path);
    let terms = || {
        filter
            .values()
            .filter(|term| !term.path.is_multiple() && !is_ordered(&term.path))
    };
    let mut specs: Vec<String> = terms()
        .filter(|term| term.intervals.point().is_some())
        .map(|term| wording::composite_spec(&term.path, false))
        .collect();
    if request.order.is_empty() {
        let range = terms().find(|term| term.intervals.point().is_none());
        specs.extend(range.map(|term| wording::composite_spec(&term.path, false)));
    }
    let order = request.order.iter();
    specs.extend(order.map(|term| wording::composite_spec(&term.path, term.descending)));
    (specs.len() > 1).then_some(specs)
}
