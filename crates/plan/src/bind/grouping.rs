//! With groups or aggregates, a row stands for many documents: the select list may only use what
//! they have in common.

use orrery_sql::Span;
use orrery_sql::ast::{Expr, Identifier, Query};

use super::Binder;
use crate::ProblemKind;
use crate::aggregate::{Aggregate, contains_aggregate};
use crate::scope::{alias, path_root};
use crate::walk::{parts, selected};

impl Binder<'_> {
    /// One problem for each reference that is neither grouped by nor inside an aggregate.
    pub(super) fn grouping(&mut self, query: &Query, mark: usize) {
        let selected = selected(query);
        let grouped = !query.group_by.is_empty()
            || selected.iter().any(|expr| contains_aggregate(expr)) && !query.from.is_empty();
        if !grouped {
            return;
        }
        let own: Vec<String> = self.scope.since(mark).map(str::to_owned).collect();
        for expr in selected {
            self.ungrouped(expr, &query.group_by, &own);
        }
    }

    fn ungrouped(&mut self, expr: &Expr, keys: &[Expr], own: &[String]) {
        if Aggregate::of(expr).is_some() || keys.contains(expr) {
            return;
        }
        if let Some(root) = path_root(expr) {
            let inner = parts(expr);
            // `k.x` is made of the key `k`.
            let of_key = inner.first().is_some_and(|object| keyed(object, keys));
            if !of_key && own.contains(&root.name) {
                self.problem(ProblemKind::Ungrouped(expr.to_string()).at(place(root, expr)));
            }
            return;
        }
        if let Expr::Subquery { query, .. } = expr {
            return self.ungrouped_in_subquery(query, keys, own);
        }
        for part in parts(expr) {
            self.ungrouped(part, keys, own);
        }
    }

    /// A subquery may hide a name of ours behind one of its own.
    fn ungrouped_in_subquery(&mut self, query: &Query, keys: &[Expr], own: &[String]) {
        let hidden: Vec<&str> = query.from.iter().filter_map(alias).collect();
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

fn keyed(object: &Expr, keys: &[Expr]) -> bool {
    keys.contains(object)
        || parts(object)
            .first()
            .is_some_and(|object| keyed(object, keys))
}

/// The syntax tree keeps the place where the path begins; the canonical text is as long as a path
/// without needless spaces.
fn place(root: &Identifier, path: &Expr) -> Span {
    let start = root.span.start;
    Span {
        start,
        end: start + path.to_string().chars().count(),
    }
}
