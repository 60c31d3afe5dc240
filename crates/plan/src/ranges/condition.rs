//! What a filter says about the partition key.

use orrery_json::{Number, Path, Value};
use orrery_keys::Component;
use orrery_sql::ast::{BinaryOp, Call, Expr, LogicalOp, Query, SubqueryKind, UnaryOp};

use super::fold::Constants;
use super::key_set::KeySet;
use crate::aggregate::contains_aggregate;
use crate::scope::{Scope, is_at};
use crate::walk::selected;

pub(crate) struct Conditions<'a> {
    /// The paths of the key.
    pub(crate) paths: &'a [Path],
    pub(crate) constants: Constants<'a>,
    pub(crate) scope: Scope,
}

impl Conditions<'_> {
    /// The keys of the documents that can have rows.
    pub(crate) fn keys_of_query(&mut self, query: &Query) -> KeySet {
        let mark = self.scope.mark();
        for source in &query.from {
            self.scope.bind_source(source);
        }
        let keys = match &query.filter {
            Some(filter) => self.keys(filter, true),
            None => self.all(),
        };
        self.scope.leave(mark);
        keys
    }

    /// The keys for which the condition can have the value `wanted`.
    fn keys(&mut self, expr: &Expr, wanted: bool) -> KeySet {
        match expr {
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
                match self.level(expr) {
                    Some(level) => self.at(level, vec![Component::Bool(wanted)]),
                    None => self.all(),
                }
            }
            _ => self.other(expr, wanted),
        }
    }

    fn logical(&mut self, op: LogicalOp, terms: &[Expr], wanted: bool) -> KeySet {
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

    /// `k = value` and `ABS(k) = value`.
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

    /// A comparison with a scalar subquery needs the subquery to have a row.
    fn rows_of_operand(&mut self, operand: &Expr) -> KeySet {
        match operand {
            Expr::Subquery {
                kind: SubqueryKind::Scalar,
                query,
            } if !selected(query).into_iter().any(contains_aggregate) => self.keys_of_query(query),
            _ => self.all(),
        }
    }

    fn any_of(&self, level: usize, list: &[Expr]) -> KeySet {
        let values: Option<Vec<Value>> =
            list.iter().map(|item| self.constants.value(item)).collect();
        match values {
            Some(values) => self.at(level, values.iter().filter_map(component).collect()),
            None => self.all(),
        }
    }

    fn like(&self, value: &Expr, pattern: &Expr, escape: Option<char>) -> KeySet {
        match (self.level(value), self.constants.value(pattern)) {
            (Some(level), Some(Value::String(pattern))) => match plain_text(&pattern, escape) {
                Some(text) => self.at(level, vec![Component::String(text)]),
                None => self.all(),
            },
            _ => self.all(),
        }
    }

    fn call(&self, call: &Call, whole: &Expr) -> KeySet {
        if let [argument] = call.arguments.as_slice()
            && let Some(level) = self.level(argument)
        {
            if is(call, "IS_NULL") {
                return self.at(level, vec![Component::Null]);
            }
            if is(call, "IS_BOOL") || is(call, "IS_BOOLEAN") {
                return self.at(level, vec![Component::Bool(false), Component::Bool(true)]);
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

    /// A condition that does not name the key says something only if it never depends on a
    /// document.
    fn other(&self, expr: &Expr, wanted: bool) -> KeySet {
        match self.constants.value(expr) {
            Some(value) if value.as_bool() != Some(wanted) => self.nothing(),
            _ => self.all(),
        }
    }

    /// The level of the key that is at this path.
    fn level(&self, expr: &Expr) -> Option<usize> {
        let place = self.scope.document_path(expr)?;
        self.paths.iter().position(|path| is_at(&place, path))
    }

    fn at(&self, level: usize, values: Vec<Component>) -> KeySet {
        KeySet::at(self.paths.len(), level, values)
    }

    fn all(&self) -> KeySet {
        KeySet::all(self.paths.len())
    }

    fn nothing(&self) -> KeySet {
        KeySet::nothing(self.paths.len())
    }
}

/// Nothing is equal to `undefined`. Arrays and objects share the place of documents without a
/// key.
fn component(value: &Value) -> Option<Component> {
    match value {
        Value::Undefined => None,
        value => Some(Component::from_value(value).unwrap_or(Component::Undefined)),
    }
}

fn both_signs(number: Number) -> Vec<Component> {
    let number = number.as_f64();
    vec![Component::Number(number), Component::Number(-number)]
}

/// The one text that a pattern without wildcards matches.
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
