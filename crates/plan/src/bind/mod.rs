//! The binder: resolves names, finds functions and checks clauses.
//!
//! The binder collects all problems before it rejects a query, as the service does. It does not
//! change the syntax tree.

mod call;
mod grouping;
mod index;
pub(crate) mod order_by;
pub(crate) mod rank;

use orrery_json::Value;
use orrery_sql::Span;
use orrery_sql::ast::{Collection, Expr, FromSource, Identifier, Projection, Query};

use crate::limits::{IN_ITEMS_MAX, JOINS_MAX, LOGICAL_TERMS_MAX, UDF_CALLS_MAX};
use crate::scope::{Binding, Scope, is_root_word};
use crate::walk::children;
use crate::{BuiltinFunctions, PlanError, Problem, ProblemKind};

/// Rejects a query that has no valid meaning.
///
/// Every query must pass this check before it runs, with or without a plan. Parameter values matter
/// only where a parameter is an array index or a property name.
pub fn check(
    query: &Query,
    parameters: &[(String, Value)],
    functions: &dyn BuiltinFunctions,
) -> Result<(), PlanError> {
    let mut binder = Binder {
        parameters,
        functions,
        scope: Scope::default(),
        problems: Vec::new(),
        is_order_correlated: false,
        joins: 0,
        udf_calls: 0,
    };
    binder.query(query, Level::Outermost);
    binder.totals();
    // Problems in the text take precedence; a correlated `ORDER BY` has an error body of its own.
    if !binder.problems.is_empty() {
        return Err(PlanError::Problems(binder.problems));
    }
    if binder.is_order_correlated {
        return Err(PlanError::CorrelatedOrderBy);
    }
    Ok(())
}

/// The state of one check: the visible names, the problems found so far, and running totals.
struct Binder<'a> {
    parameters: &'a [(String, Value)],
    functions: &'a dyn BuiltinFunctions,
    scope: Scope,
    problems: Vec<Problem>,
    /// A correlated `ORDER BY`, which has an error body of its own.
    is_order_correlated: bool,
    /// Number of `JOIN` clauses in the query and all its subqueries.
    joins: usize,
    udf_calls: usize,
}

/// The level of a query. `TOP`, `ORDER BY` and `OFFSET LIMIT` are valid only at the outermost
/// level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Outermost,
    Subquery,
}

/// The clause around an expression, which decides which functions the expression may call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExprContext {
    SelectList,
    RankClause,
    Elsewhere,
}

impl Binder<'_> {
    fn query(&mut self, query: &Query, level: Level) {
        let mark = self.scope.mark();
        self.sources(&query.from, mark);
        // `FROM` is bound first: all other clauses may use its aliases.
        self.select(query, level, mark);
        if let Some(filter) = &query.filter {
            self.expr(filter, ExprContext::Elsewhere);
        }
        for expr in &query.group_by {
            self.expr(expr, ExprContext::Elsewhere);
        }
        self.order_by(query, level);
        if level == Level::Subquery && query.offset_limit.is_some() {
            self.problem(ProblemKind::OffsetLimitInSubquery.without_position());
        }
        self.scope.leave(mark);
    }

    fn sources(&mut self, sources: &[FromSource], mark: usize) {
        self.joins += sources.len().saturating_sub(1);
        for source in sources {
            let (FromSource::Value { collection, .. } | FromSource::Elements { collection, .. }) =
                source;
            match collection {
                Collection::Subquery(subquery) => self.query(subquery, Level::Subquery),
                Collection::Path { root, .. } => self.collection_root(root),
            }
            self.unique_alias(source, mark);
            // The alias becomes visible after its own source, so a source can use only the aliases
            // before it.
            self.scope.bind_source(source);
        }
    }

    /// The first name in the outermost `FROM` denotes the container, whatever the name is.
    fn collection_root(&mut self, root: &Identifier) {
        if !self.scope.is_empty() && !is_root_word(&root.name) {
            self.resolve(root);
        }
    }

    /// Rejects a second source with the same alias in one `FROM` clause.
    fn unique_alias(&mut self, source: &FromSource, mark: usize) {
        let Some(alias) = source.alias() else {
            return;
        };
        if self.scope.since(mark).any(|known| known == alias) {
            let kind = ProblemKind::DuplicateAlias(alias.to_owned());
            let problem = match source {
                FromSource::Elements { alias, .. }
                | FromSource::Value {
                    alias: Some(alias), ..
                } => kind.at(alias.span),
                FromSource::Value { alias: None, .. } => kind.without_position(),
            };
            self.problem(problem);
        }
    }

    fn select(&mut self, query: &Query, level: Level, mark: usize) {
        if level == Level::Subquery && query.select.top.is_some() {
            self.problem(ProblemKind::TopInSubquery.without_position());
        }
        match &query.select.projection {
            Projection::Star(span) => self.star(query, *span),
            Projection::Value(expr) => self.expr(expr, ExprContext::SelectList),
            Projection::Items(items) => {
                for item in items {
                    self.expr(&item.expr, ExprContext::SelectList);
                }
            }
        }
        self.grouping(query, mark);
    }

    /// `SELECT *` returns the document of the only source, so it excludes joins and groups.
    fn star(&mut self, query: &Query, span: Span) {
        if query.from.len() != 1 {
            self.problem(ProblemKind::StarWithoutSingleSource.at(span));
        }
        if !query.group_by.is_empty() {
            self.problem(ProblemKind::StarWithGroupBy.at(span));
        }
    }

    fn expr(&mut self, expr: &Expr, context: ExprContext) {
        match expr {
            Expr::Identifier(name) => return self.resolve(name),
            Expr::Call(call) => {
                if call.arguments.len() > IN_ITEMS_MAX {
                    self.too_many("arguments of a function", IN_ITEMS_MAX);
                }
                return self.call(call, context);
            }
            Expr::Subquery { query, .. } => return self.query(query, Level::Subquery),
            Expr::Let { name, value, body } => {
                self.expr(value, context);
                let mark = self.scope.mark();
                // The `LET` name is visible in the body, but the value expression cannot refer to
                // it.
                self.scope.bind(&name.name, Binding::Derived);
                self.expr(body, context);
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
        for part in children(expr) {
            self.expr(part, context);
        }
        // The index is checked after its subexpressions, so that `index` can replace their problems
        // by one.
        if let Expr::Index { index, span, .. } = expr {
            self.index(index, *span);
        }
    }

    fn resolve(&mut self, name: &Identifier) {
        if self.scope.lookup(&name.name).is_none() {
            self.problem(ProblemKind::UnresolvedIdentifier(name.name.clone()).at(name.span));
        }
    }

    /// Checks the limits that count over the query and all its subqueries.
    fn totals(&mut self) {
        if self.joins > JOINS_MAX {
            self.too_many("JOIN clauses", JOINS_MAX);
        }
        if self.udf_calls > UDF_CALLS_MAX {
            self.too_many("calls of user-defined functions", UDF_CALLS_MAX);
        }
    }

    fn too_many(&mut self, what: &'static str, max: usize) {
        self.problem(ProblemKind::TooMany { what, max }.without_position());
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }
}
