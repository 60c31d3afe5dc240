//! The binder: resolves names, finds functions and checks clauses.
//!
//! The binder collects all problems before it rejects a query, in the order of the service: `FROM`,
//! `WHERE`, `GROUP BY`, `ORDER BY`, the select list, `TOP`, `OFFSET LIMIT`, and then what concerns
//! several clauses. It does not change the syntax tree.

mod call;
pub(crate) mod count;
mod full_text;
mod group_by;
mod grouping;
mod index;
mod names;
pub(crate) mod order_by;
pub(crate) mod rank;
mod subquery;
mod vector;
mod written;

use orrery_json::Value;
use orrery_sql::Span;
use orrery_sql::ast::{Collection, Expr, FromSource, Identifier, Projection, Query};

use crate::limits::{IN_ITEMS_MAX, JOINS_MAX, LOGICAL_TERMS_MAX, UDF_CALLS_MAX};
use crate::scope::{Binding, Scope};
use crate::walk::children;
use crate::{BuiltinFunctions, PlanError, Problem, ProblemKind};

/// Rejects a query that has no valid meaning.
///
/// Every query must pass this check before it runs, with or without a plan. Parameter values matter
/// only where a parameter is an array index, a property name, a count, or an option of a function.
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
        order: OrderProblem::None,
        joins: 0,
        udf_calls: 0,
        is_in_expression: false,
    };
    binder.outermost(query);
    // Problems in the text take precedence.
    if !binder.problems.is_empty() {
        return Err(PlanError::Problems(binder.problems));
    }
    match binder.order {
        OrderProblem::None => Ok(()),
        OrderProblem::NoPath => Err(ProblemKind::OrderByPath.without_position().into()),
        // A correlated `ORDER BY` has an error body of its own.
        OrderProblem::Correlated => Err(PlanError::CorrelatedOrderBy),
    }
}

/// The state of one check: the visible names, the problems found so far, and running totals.
struct Binder<'a> {
    parameters: &'a [(String, Value)],
    functions: &'a dyn BuiltinFunctions,
    scope: Scope,
    problems: Vec<Problem>,
    order: OrderProblem,
    /// Number of `JOIN` clauses in the query and all its subqueries.
    joins: usize,
    udf_calls: usize,
    /// Whether the query is a part of an expression, where no name is that of the container.
    is_in_expression: bool,
}

/// Why the rows cannot be put into the requested order, which counts only in a query without other
/// problems.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderProblem {
    None,
    /// A sort key is no path.
    NoPath,
    /// A sort key is a path into an element or a row of a subquery.
    Correlated,
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
    Select,
    OrderBy,
    Where,
    /// `GROUP BY`, which reports aggregates itself.
    GroupBy,
    /// The argument of an aggregate, which reports aggregates itself.
    Aggregate,
    /// The function of `ORDER BY RANK`.
    Rank,
    /// A score that `RRF` fuses.
    RankScore,
}

impl Binder<'_> {
    fn outermost(&mut self, query: &Query) {
        if let (Projection::Star(span), true) = (&query.select.projection, query.from.is_empty()) {
            return self.problem(ProblemKind::StarWithoutFrom.at(*span));
        }
        self.query(query, Level::Outermost);
        self.totals();
    }

    fn query(&mut self, query: &Query, level: Level) {
        let before = self.problems.len();
        let mark = self.scope.mark();
        if query.select.top.is_some() && query.offset_limit.is_some() {
            self.problem(ProblemKind::TopWithOffset.at(query.spans.query));
        }
        let is_correlated = !self.scope.is_empty();
        self.sources(query);
        if let Some(filter) = &query.filter {
            self.expr(filter, ExprContext::Where);
        }
        self.group_keys(query);
        self.order_by(query, level);
        self.select(query, is_correlated);
        self.counts(query, level);
        // The rules of groups are told only for queries whose clauses are valid by themselves.
        if self.problems.len() == before {
            self.grouping(query);
        }
        self.scope.leave(mark);
    }

    fn sources(&mut self, query: &Query) {
        self.joins += query.from.len().saturating_sub(1);
        for (index, source) in query.from.iter().enumerate() {
            let (FromSource::Value { collection, .. } | FromSource::Elements { collection, .. }) =
                source;
            match collection {
                Collection::Subquery(subquery) => self.query(subquery, Level::Subquery),
                Collection::Path { root, .. } => self.collection_root(root),
            }
            self.unique_alias(source, query.spans.sources.of(index));
            // The alias becomes visible after its own source, so a source can use only the aliases
            // before it.
            self.scope.bind_source(source);
        }
    }

    /// The first name in the outermost `FROM` denotes the container, whatever the name is.
    fn collection_root(&mut self, root: &Identifier) {
        if !self.scope.is_empty() || self.is_in_expression {
            self.resolve(root);
        }
    }

    /// Rejects an alias that is visible already, also from an enclosing query. `FROM c` within a
    /// query over `c` names the same value and is no second alias.
    fn unique_alias(&mut self, source: &FromSource, span: Span) {
        let Some(alias) = source.alias() else {
            return;
        };
        let is_itself = matches!(source, FromSource::Value { collection: Collection::Path { root, steps }, .. }
            if steps.is_empty() && root.name == alias);
        if is_itself || !self.scope.since(0).any(|known| known == alias) {
            return;
        }
        let kind = ProblemKind::DuplicateAlias(alias.to_owned());
        let at = match source {
            FromSource::Elements { alias, .. }
            | FromSource::Value {
                alias: Some(alias), ..
            } => alias.span,
            // The name of a path is its end.
            FromSource::Value { alias: None, .. } => Span {
                start: span.end.saturating_sub(alias.chars().count()),
                end: span.end,
            },
        };
        self.problem(kind.at(at));
    }

    /// Checks the select list. `is_correlated` tells whether names of an enclosing query are in
    /// scope.
    fn select(&mut self, query: &Query, is_correlated: bool) {
        match &query.select.projection {
            // Within an enclosing query the service looks only at a single iteration.
            Projection::Star(_)
                if is_correlated
                    && !matches!(query.from.as_slice(), [FromSource::Elements { .. }]) => {}
            Projection::Star(_) if is_correlated && query.group_by.is_empty() => {}
            Projection::Star(span) => self.star(query, *span),
            Projection::Value(expr) => self.expr(expr, ExprContext::Select),
            Projection::Items(items) => self.items(items),
        }
    }

    /// `SELECT *` returns the document of the only source, so it excludes joins and groups.
    fn star(&mut self, query: &Query, span: Span) {
        if !query.group_by.is_empty() {
            return self.problem(ProblemKind::StarWithGroupBy.at(span));
        }
        let is_single = match query.from.as_slice() {
            [] | [FromSource::Value { .. }] => true,
            [FromSource::Elements { collection, .. }] => {
                matches!(collection, Collection::Path { .. })
            }
            _ => false,
        };
        if !is_single {
            self.problem(ProblemKind::StarWithoutSingleSource.at(span));
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
            Expr::Subquery { kind, query } => return self.subquery(*kind, query),
            Expr::Object(properties) => return self.object(properties, context),
            Expr::Let { name, value, body } => {
                self.expr(value, context);
                if self.scope.since(0).any(|known| known == name.name) {
                    let kind = ProblemKind::DuplicateVariable(name.name.clone());
                    self.problem(kind.at(name.span));
                }
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

    /// The value of a supplied parameter.
    fn parameter(&self, name: &str) -> Option<&Value> {
        let mut supplied = self.parameters.iter();
        let found = supplied.find(|(known, _)| known == name);
        found.map(|(_, value)| value)
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
