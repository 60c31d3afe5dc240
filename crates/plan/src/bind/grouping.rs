//! Checks grouped queries: a row represents many documents, so the select list may use only
//! grouping keys and aggregates.

use orrery_sql::Span;
use orrery_sql::ast::{Expr, FromSource, Identifier, Query};

use super::Binder;
use crate::ProblemKind;
use crate::aggregate::{AggregateKind, contains_aggregate};
use crate::scope::path_root;
use crate::walk::{children, selected};

impl Binder<'_> {
    /// Reports one problem for each reference that is neither a grouping key nor inside an
    /// aggregate. `mark` is the start of the query's own names in the scope.
    pub(super) fn grouping(&mut self, query: &Query, mark: usize) {
        let selected = selected(query);
        let grouped = !query.group_by.is_empty()
            || selected.iter().any(|expr| contains_aggregate(expr)) && !query.from.is_empty();
        if !grouped {
            return;
        }
        // References to names of an enclosing query are constant within a group, so only the
        // query's own names need a key.
        let own: Vec<String> = self.scope.since(mark).map(str::to_owned).collect();
        for expr in selected {
            self.ungrouped(expr, &query.group_by, &own);
        }
    }

    fn ungrouped(&mut self, expr: &Expr, keys: &[Expr], own: &[String]) {
        if AggregateKind::of(expr).is_some() || keys.contains(expr) {
            return;
        }
        if let Some(root) = path_root(expr) {
            let inner = children(expr);
            // `k.x` is a property of the grouping key `k`, so it has one value in each group.
            let of_key = inner.first().is_some_and(|object| keyed(object, keys));
            if !of_key && own.contains(&root.name) {
                self.problem(ProblemKind::Ungrouped(expr.to_string()).at(path_span(root, expr)));
            }
            return;
        }
        if let Expr::Subquery { query, .. } = expr {
            return self.ungrouped_in_subquery(query, keys, own);
        }
        for part in children(expr) {
            self.ungrouped(part, keys, own);
        }
    }

    /// A subquery may shadow names of the grouped query with its own aliases; a shadowed name needs
    /// no key.
    fn ungrouped_in_subquery(&mut self, query: &Query, keys: &[Expr], own: &[String]) {
        let hidden: Vec<&str> = query.from.iter().filter_map(FromSource::alias).collect();
        let own: Vec<String> = own
            .iter()
            .filter(|name| !hidden.contains(&name.as_str()))
            .cloned()
            .collect();
        for expr in selected(query).into_iter().chain(&query.filter) {
            self.ungrouped(expr, keys, &own);
        }
    }
}

/// Whether the expression or the start of its path is a grouping key.
fn keyed(object: &Expr, keys: &[Expr]) -> bool {
    keys.contains(object)
        || children(object)
            .first()
            .is_some_and(|object| keyed(object, keys))
}

/// The source range of a path. The syntax tree stores only the start of the path, and the canonical
/// text has the length of a path without optional spaces.
fn path_span(root: &Identifier, path: &Expr) -> Span {
    let start = root.span.start;
    Span {
        start,
        end: start + path.to_string().chars().count(),
    }
}
