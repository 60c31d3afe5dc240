//! Does the query mean something? Names are resolved, functions found, clauses checked.
//!
//! All mistakes are collected before the query is refused, as the service does; the syntax tree
//! is left as it is.

mod call;
mod grouping;
pub(crate) mod order_by;
pub(crate) mod rank;

use orrery_sql::Span;
use orrery_sql::ast::{Collection, Expr, Identifier, Projection, Query, Source};

use crate::limits::{IN_ITEMS_MAX, JOINS_MAX, LOGICAL_TERMS_MAX, UDF_CALLS_MAX};
use crate::scope::{Binding, Scope, is_root_word};
use crate::walk::parts;
use crate::{Functions, PlanError, Problem, ProblemKind};

/// Refuses a query that no engine could give a meaning.
///
/// Any query that is run should pass this, with or without a plan.
pub fn check(query: &Query, functions: &dyn Functions) -> Result<(), PlanError> {
    let mut binder = Binder {
        functions,
        scope: Scope::default(),
        problems: Vec::new(),
        is_order_correlated: false,
        joins: 0,
        udf_calls: 0,
    };
    binder.query(query, Level::Outermost);
    binder.totals();
    if !binder.problems.is_empty() {
        return Err(PlanError::Problems(binder.problems));
    }
    if binder.is_order_correlated {
        return Err(PlanError::CorrelatedOrderBy);
    }
    Ok(())
}

struct Binder<'a> {
    functions: &'a dyn Functions,
    scope: Scope,
    problems: Vec<Problem>,
    /// A mistake that is reported in a shape of its own.
    is_order_correlated: bool,
    /// In the query and all its subqueries.
    joins: usize,
    udf_calls: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Outermost,
    Subquery,
}

/// Where an expression stands, which decides what may be called in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    SelectList,
    RankClause,
    Elsewhere,
}

impl Binder<'_> {
    fn query(&mut self, query: &Query, level: Level) {
        let mark = self.scope.mark();
        self.sources(&query.from, mark);
        self.select(query, level, mark);
        if let Some(filter) = &query.filter {
            self.expr(filter, Place::Elsewhere);
        }
        for expr in &query.group_by {
            self.expr(expr, Place::Elsewhere);
        }
        self.order_by(query, level);
        if level == Level::Subquery && query.offset_limit.is_some() {
            self.problem(ProblemKind::OffsetLimitInSubquery.somewhere());
        }
        self.scope.leave(mark);
    }

    fn sources(&mut self, sources: &[Source], mark: usize) {
        self.joins += sources.len().saturating_sub(1);
        for source in sources {
            let (Source::Value { collection, .. } | Source::Elements { collection, .. }) = source;
            match collection {
                Collection::Subquery(subquery) => self.query(subquery, Level::Subquery),
                Collection::Path { root, .. } => self.collection_root(root),
            }
            self.unique_alias(source, mark);
            self.scope.bind_source(source);
        }
    }

    /// The first name of the outermost `FROM` is the container's, whatever it is.
    fn collection_root(&mut self, root: &Identifier) {
        if !self.scope.is_empty() && !is_root_word(&root.name) {
            self.resolve(root);
        }
    }

    fn unique_alias(&mut self, source: &Source, mark: usize) {
        let Some(alias) = crate::scope::alias(source) else {
            return;
        };
        if self.scope.since(mark).any(|known| known == alias) {
            let kind = ProblemKind::DuplicateAlias(alias.to_owned());
            let problem = match source {
                Source::Elements { alias, .. }
                | Source::Value {
                    alias: Some(alias), ..
                } => kind.at(alias.span),
                Source::Value { alias: None, .. } => kind.somewhere(),
            };
            self.problem(problem);
        }
    }

    fn select(&mut self, query: &Query, level: Level, mark: usize) {
        if level == Level::Subquery && query.select.top.is_some() {
            self.problem(ProblemKind::TopInSubquery.somewhere());
        }
        match &query.select.projection {
            Projection::Star(span) => self.star(query, *span),
            Projection::Value(expr) => self.expr(expr, Place::SelectList),
            Projection::Items(items) => {
                for item in items {
                    self.expr(&item.expr, Place::SelectList);
                }
            }
        }
        self.grouping(query, mark);
    }

    fn star(&mut self, query: &Query, span: Span) {
        if query.from.len() != 1 {
            self.problem(ProblemKind::StarWithoutSingleSource.at(span));
        }
        if !query.group_by.is_empty() {
            self.problem(ProblemKind::StarWithGroupBy.at(span));
        }
    }

    fn expr(&mut self, expr: &Expr, place: Place) {
        match expr {
            Expr::Identifier(name) => return self.resolve(name),
            Expr::Call(call) => {
                if call.arguments.len() > IN_ITEMS_MAX {
                    self.too_many("arguments of a function", IN_ITEMS_MAX);
                }
                return self.call(call, place);
            }
            Expr::Subquery { query, .. } => return self.query(query, Level::Subquery),
            Expr::Let { name, value, body } => {
                self.expr(value, place);
                let mark = self.scope.mark();
                self.scope.bind(&name.name, Binding::Derived);
                self.expr(body, place);
                return self.scope.leave(mark);
            }
            Expr::In { list, .. } if list.len() > IN_ITEMS_MAX => {
                self.too_many("values in an IN list", IN_ITEMS_MAX);
            }
            Expr::Logical { terms, .. } if terms.len() > LOGICAL_TERMS_MAX => {
                self.too_many("terms in a chain of AND or OR", LOGICAL_TERMS_MAX);
            }
            _ => {}
        }
        for part in parts(expr) {
            self.expr(part, place);
        }
    }

    fn resolve(&mut self, name: &Identifier) {
        if self.scope.lookup(&name.name).is_none() {
            self.problem(ProblemKind::UnresolvedIdentifier(name.name.clone()).at(name.span));
        }
    }

    fn totals(&mut self) {
        if self.joins > JOINS_MAX {
            self.too_many("JOIN clauses", JOINS_MAX);
        }
        if self.udf_calls > UDF_CALLS_MAX {
            self.too_many("calls of user-defined functions", UDF_CALLS_MAX);
        }
    }

    fn too_many(&mut self, what: &'static str, max: usize) {
        self.problem(ProblemKind::TooMany { what, max }.somewhere());
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }
}
