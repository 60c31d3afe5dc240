//! Checks grouped queries: a row represents many documents, so the select list and the order may
//! use only grouping keys and aggregates.

use orrery_sql::ast::{
    Collection, Expr, FromSource, Identifier, Literal, OrderBy, OrderItem, Query,
};

use super::Binder;
use super::written::{collection_path, path_span, path_text};
use crate::ProblemKind;
use crate::aggregate::{AggregateKind, contains_aggregate};
use crate::scope::path_root;
use crate::walk::{children, selected};

/// The clause that a reference stands in.
#[derive(Clone, Copy)]
enum Clause {
    SelectList,
    OrderBy,
}

impl Binder<'_> {
    /// Reports one problem for each reference that is neither a grouping key nor inside an
    /// aggregate.
    pub(super) fn grouping(&mut self, query: &Query) {
        let selected = selected(query);
        let order = match &query.order_by {
            Some(OrderBy::Items(items)) => items.as_slice(),
            Some(OrderBy::Rank(_)) | None => &[],
        };
        let mut exprs = selected
            .iter()
            .copied()
            .chain(order.iter().map(|item| &item.expr));
        let grouped =
            !query.group_by.is_empty() || exprs.any(contains_aggregate) && !query.from.is_empty();
        if !grouped {
            return;
        }
        // The service demands keys also of the names of an enclosing query.
        let own: Vec<String> = self.scope.since(0).map(str::to_owned).collect();
        if !is_ignored(query, order) {
            for item in order {
                self.ungrouped(&item.expr, &query.group_by, &own, Clause::OrderBy);
            }
        }
        for expr in selected {
            self.ungrouped(expr, &query.group_by, &own, Clause::SelectList);
        }
    }

    fn ungrouped(&mut self, expr: &Expr, keys: &[Expr], own: &[String], clause: Clause) {
        if AggregateKind::of(expr).is_some() || keys.iter().any(|key| is_same(expr, key)) {
            return;
        }
        if let Some(root) = path_root(expr) {
            // Only names and positions that are written as such belong to the reference.
            let path = referenced(expr);
            if own.contains(&root.name) && !is_keyed(expr, keys) {
                self.reference(root, path, clause);
            }
            return;
        }
        if let Expr::Subquery { query, .. } = expr {
            return self.ungrouped_in_subquery(query, keys, own);
        }
        for part in children(expr) {
            self.ungrouped(part, keys, own, clause);
        }
    }

    fn reference(&mut self, root: &Identifier, path: &Expr, clause: Clause) {
        let text = path_text(path);
        let kind = match clause {
            Clause::SelectList => ProblemKind::Ungrouped(text),
            Clause::OrderBy => ProblemKind::UngroupedOrder(text),
        };
        self.problem(kind.at(path_span(root, path)));
    }

    /// A subquery may shadow names of the grouped query with its own aliases; a shadowed name needs
    /// no key. A subquery counts as a part of the select list, wherever it stands.
    fn ungrouped_in_subquery(&mut self, query: &Query, keys: &[Expr], own: &[String]) {
        let mut own = own.to_vec();
        for source in &query.from {
            self.ungrouped_source(source, keys, &own);
            if let Some(alias) = source.alias() {
                own.retain(|name| name != alias);
            }
        }
        for expr in query.filter.iter().chain(selected(query)) {
            self.ungrouped(expr, keys, &own, Clause::SelectList);
        }
    }

    fn ungrouped_source(&mut self, source: &FromSource, keys: &[Expr], own: &[String]) {
        let (FromSource::Value { collection, .. } | FromSource::Elements { collection, .. }) =
            source;
        match collection {
            Collection::Subquery(query) => self.ungrouped_in_subquery(query, keys, own),
            Collection::Path { root, steps } => {
                let path = collection_path(root, steps);
                self.ungrouped(&path, keys, own, Clause::SelectList);
            }
        }
    }
}

/// Whether nothing of the order is checked: a query with aggregates and without groups has one row,
/// so an order by paths alone has no effect.
fn is_ignored(query: &Query, order: &[OrderItem]) -> bool {
    query.group_by.is_empty() && order.iter().all(|item| path_root(&item.expr).is_some())
}

/// The reference at the beginning of a path: everything in front of the first index that is neither
/// a string nor a position.
fn referenced(path: &Expr) -> &Expr {
    let mut reference = path;
    let mut rest = path;
    loop {
        rest = match rest {
            Expr::Member { object, .. } => object,
            Expr::Index { object, index, .. } => {
                let is_written = match &**index {
                    Expr::Literal(Literal::String(_)) => true,
                    Expr::Literal(Literal::Number(number)) => number.as_f64() >= 0.0,
                    _ => false,
                };
                if !is_written {
                    reference = object;
                }
                object
            }
            _ => return reference,
        };
    }
}

/// Whether the path or its beginning is a grouping key.
fn is_keyed(path: &Expr, keys: &[Expr]) -> bool {
    keys.iter().any(|key| is_same(path, key))
        || children(path)
            .first()
            .is_some_and(|object| is_keyed(object, keys))
}

/// Whether an expression is a grouping key. A path is the same with its names behind dots and in
/// brackets, and a function in any case.
fn is_same(expr: &Expr, key: &Expr) -> bool {
    if let (Some((object, name)), Some((key_object, key_name))) = (last_name(expr), last_name(key))
    {
        return name == key_name && is_same(object, key_object);
    }
    match (expr, key) {
        (Expr::Call(call), Expr::Call(key)) => {
            call.udf == key.udf
                && call.name.name.eq_ignore_ascii_case(&key.name.name)
                && call.arguments.len() == key.arguments.len()
                && std::iter::zip(&call.arguments, &key.arguments)
                    .all(|(argument, key)| is_same(argument, key))
        }
        _ => expr == key,
    }
}

/// The last name of a path, and what is in front of it.
fn last_name(path: &Expr) -> Option<(&Expr, &str)> {
    match path {
        Expr::Member { object, name, .. } => Some((object, name)),
        Expr::Index { object, index, .. } => match &**index {
            Expr::Literal(Literal::String(name)) => Some((object, name)),
            _ => None,
        },
        _ => None,
    }
}
