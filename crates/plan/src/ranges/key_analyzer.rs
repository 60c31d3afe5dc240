//! Derives the possible partition keys from a filter.

use orrery_json::{Number, PropertyPath, Value};
use orrery_keys::KeyComponent;
use orrery_sql::ast::{
    BinaryOp, Call, Collection, Expr, FromSource, LogicalOp, Query, SubqueryKind, UnaryOp,
};

use super::fold::ConstantFolder;
use super::key_set::KeySet;
use crate::aggregate::contains_aggregate;
use crate::scope::{Scope, matches_path};
use crate::walk::selected;

pub(crate) struct KeyAnalyzer<'a> {
    /// The partition key paths of the container.
    pub(crate) paths: &'a [PropertyPath],
    pub(crate) constants: ConstantFolder<'a>,
    pub(crate) scope: Scope,
}

impl KeyAnalyzer<'_> {
    /// The keys of the documents that may produce rows of the query.
    pub(crate) fn keys_of_query(&mut self, query: &Query) -> KeySet {
        let mark = self.scope.mark();
        let mut keys = self.all();
        // A row of the query needs a row of its `FROM` subquery, so the subquery's filter restricts
        // the keys as well.
        for source in &query.from {
            if let FromSource::Value {
                collection: Collection::Subquery(subquery),
                ..
            } = source
                && subquery.filtered_source().is_some()
            {
                keys = keys.intersection(&self.keys_of_query(subquery));
            }
            self.scope.bind_source(source);
        }
        if let Some(filter) = &query.filter {
            keys = keys.intersection(&self.keys(filter, true));
        }
        self.scope.leave(mark);
        keys
    }

    /// The keys for which the condition can have the truth value `wanted`.
    fn keys(&mut self, expr: &Expr, wanted: bool) -> KeySet {
        match expr {
            // `NOT` maps `undefined` to `undefined`, so negation only exchanges the two truth
            // values.
            Expr::Unary {
                op: UnaryOp::Not,
                operand,
            } => self.keys(operand, !wanted),
            Expr::Logical { op, terms } => self.logical(*op, terms, wanted),
            Expr::Binary { op, left, right } => self.binary(*op, left, right, wanted, expr),
            Expr::In {
                needle,
                list,
                negated,
            } => match self.level(needle) {
                Some(level) if wanted != *negated => self.any_of(level, list),
                _ => self.other(expr, wanted),
            },
            Expr::Like {
                value,
                pattern,
                escape,
                negated,
            } if wanted != *negated => self.like(value, pattern, *escape),
            Expr::Call(call) if wanted && !call.udf => self.call(call, expr),
            Expr::Identifier(_) | Expr::Member { .. } | Expr::Index { .. } => {
                // A bare path has the truth value `wanted` only if its value is that boolean.
                match self.level(expr) {
                    Some(level) => self.at(level, vec![KeyComponent::Bool(wanted)]),
                    None => self.all(),
                }
            }
            _ => self.other(expr, wanted),
        }
    }

    fn logical(&mut self, op: LogicalOp, terms: &[Expr], wanted: bool) -> KeySet {
        // De Morgan: a conjunction that must be true and a disjunction that must be false need all
        // terms; otherwise one term suffices.
        let all_of = wanted == (op == LogicalOp::And);
        let mut keys = if all_of { self.all() } else { self.nothing() };
        for term in terms {
            let of_term = self.keys(term, wanted);
            keys = if all_of {
                keys.intersection(&of_term)
            } else {
                keys.union(of_term)
            };
        }
        keys
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        wanted: bool,
        whole: &Expr,
    ) -> KeySet {
        let rows = self.rows_of_operand(left);
        let keys = rows.intersection(&self.rows_of_operand(right));
        let equal = match op {
            BinaryOp::Equal => wanted,
            BinaryOp::NotEqual => !wanted,
            _ => false,
        };
        let of_equality = if equal {
            self.equality(left, right)
                .or_else(|| self.equality(right, left))
        } else {
            None
        };
        match of_equality {
            Some(of_equality) => keys.intersection(&of_equality),
            None => keys.intersection(&self.other(whole, wanted)),
        }
    }

    /// The keys that satisfy `k = value` or `ABS(k) = value`.
    fn equality(&self, path: &Expr, value: &Expr) -> Option<KeySet> {
        if let Some(level) = self.level(path) {
            let value = self.constants.value(value)?;
            return Some(self.at(level, component(&value).into_iter().collect()));
        }
        let Expr::Call(call) = path else {
            return None;
        };
        let [argument] = call.arguments.as_slice() else {
            return None;
        };
        if !is(call, "ABS") {
            return None;
        }
        let level = self.level(argument)?;
        let values = match self.constants.value(value)? {
            Value::Number(number) if number.as_f64() >= 0.0 => both_signs(number),
            _ => Vec::new(),
        };
        Some(self.at(level, values))
    }

    /// The keys for which a scalar subquery has a row. A comparison with a missing row is
    /// `undefined`. A subquery with an aggregate always has a row.
    fn rows_of_operand(&mut self, operand: &Expr) -> KeySet {
        match operand {
            Expr::Subquery {
                kind: SubqueryKind::Scalar,
                query,
            } if !selected(query).into_iter().any(contains_aggregate) => self.keys_of_query(query),
            _ => self.all(),
        }
    }

    /// The keys with one of the listed values at `level`. A list with an unknown element restricts
    /// nothing.
    fn any_of(&self, level: usize, list: &[Expr]) -> KeySet {
        let values: Option<Vec<Value>> =
            list.iter().map(|item| self.constants.value(item)).collect();
        match values {
            Some(values) => self.at(level, values.iter().filter_map(component).collect()),
            None => self.all(),
        }
    }

    /// The keys for `LIKE`, which restricts a key only if its pattern has no wildcard.
    fn like(&self, value: &Expr, pattern: &Expr, escape: Option<char>) -> KeySet {
        match (self.level(value), self.constants.value(pattern)) {
            (Some(level), Some(Value::String(pattern))) => match plain_text(&pattern, escape) {
                Some(text) => self.at(level, vec![KeyComponent::String(text)]),
                None => self.all(),
            },
            _ => self.all(),
        }
    }

    /// The keys for type tests and for `ARRAY_CONTAINS` over a constant array.
    fn call(&self, call: &Call, whole: &Expr) -> KeySet {
        if let [argument] = call.arguments.as_slice()
            && let Some(level) = self.level(argument)
        {
            if is(call, "IS_NULL") {
                return self.at(level, vec![KeyComponent::Null]);
            }
            if is(call, "IS_BOOL") || is(call, "IS_BOOLEAN") {
                return self.at(
                    level,
                    vec![KeyComponent::Bool(false), KeyComponent::Bool(true)],
                );
            }
        }
        if let [array, needle] = call.arguments.as_slice()
            && let Some(level) = self.level(needle)
            && let Some(Value::Array(values)) = self.constants.value(array)
            && (is(call, "ARRAY_CONTAINS") || is(call, "_TRY_ARRAY_CONTAINS"))
        {
            return self.at(level, values.iter().filter_map(component).collect());
        }
        self.other(whole, true)
    }

    /// The keys for a condition without a key path: all keys or none if the condition is constant,
    /// else all keys.
    fn other(&self, expr: &Expr, wanted: bool) -> KeySet {
        match self.constants.value(expr) {
            Some(value) if value.as_bool() != Some(wanted) => self.nothing(),
            _ => self.all(),
        }
    }

    /// The level of the partition key whose path equals this expression.
    fn level(&self, expr: &Expr) -> Option<usize> {
        let document_path = self.scope.document_path(expr)?;
        self.paths
            .iter()
            .position(|path| matches_path(&document_path, path))
    }

    fn at(&self, level: usize, values: Vec<KeyComponent>) -> KeySet {
        KeySet::at(self.paths.len(), level, values)
    }

    fn all(&self) -> KeySet {
        KeySet::all(self.paths.len())
    }

    fn nothing(&self) -> KeySet {
        KeySet::nothing(self.paths.len())
    }
}

/// The key component of a value. `None` for `undefined`, which no comparison equals. Documents with
/// an array or an object at a key path have the same component as documents without the path.
fn component(value: &Value) -> Option<KeyComponent> {
    match value {
        Value::Undefined => None,
        value => Some(KeyComponent::from_value(value).unwrap_or(KeyComponent::Undefined)),
    }
}

/// Both numbers with this absolute value.
fn both_signs(number: Number) -> Vec<KeyComponent> {
    let number = number.as_f64();
    vec![KeyComponent::Number(number), KeyComponent::Number(-number)]
}

/// The only text that a pattern without wildcards matches; `None` with a wildcard.
fn plain_text(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut text = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            text.push(characters.next()?);
        } else if matches!(character, '%' | '_' | '[') {
            return None;
        } else {
            text.push(character);
        }
    }
    Some(text)
}

fn is(call: &Call, name: &str) -> bool {
    !call.udf && call.name.name.eq_ignore_ascii_case(name)
}
