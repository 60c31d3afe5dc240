//! Constant folding: computes expressions whose value is known before any document is read.
//!
//! Only the operators that commonly occur in filters are folded. Any other expression counts as
//! unknown, which is always safe, because an unknown filter selects every key.

use std::cmp::Ordering;

use orrery_json::{Number, Object, Value, compare, equal};
use orrery_sql::ast::{BinaryOp, Call, Expr, Literal, LogicalOp, Property, UnaryOp};

use crate::BuiltinFunctions;

#[derive(Clone, Copy)]
pub(crate) struct ConstantFolder<'a> {
    pub(crate) parameters: &'a [(String, Value)],
    pub(crate) functions: &'a dyn BuiltinFunctions,
}

impl ConstantFolder<'_> {
    /// The constant value of the expression; `None` if the value is unknown.
    ///
    /// Every arm delegates to a function, so that the stack frame of this recursion stays small.
    pub(crate) fn value(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Literal(literal) => Some(literal_value(literal)),
            Expr::Parameter(name) => self.parameter(&name.name).cloned(),
            Expr::Unary { op, operand } => unary(*op, &self.value(operand)?),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Logical { op, terms } => self.logical(*op, terms),
            Expr::In {
                needle,
                list,
                negated,
            } => self.within(needle, list, *negated),
            Expr::Between {
                value,
                low,
                high,
                negated,
            } => self.between([value, low, high], *negated),
            Expr::Coalesce { left, right } => self.coalesce(left, right),
            Expr::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(condition, then, otherwise),
            Expr::Array(elements) => self.array(elements),
            Expr::Object(properties) => self.object(properties),
            Expr::Call(call) => self.call(call),
            Expr::Identifier(_)
            | Expr::Member { .. }
            | Expr::Index { .. }
            | Expr::Like { .. }
            | Expr::Subquery { .. }
            | Expr::Let { .. } => None,
        }
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Value> {
        binary(op, &self.value(left)?, &self.value(right)?)
    }

    fn between(&self, parts: [&Expr; 3], negated: bool) -> Option<Value> {
        let [value, low, high] = parts.map(|part| self.value(part));
        let value = value?;
        let above = ordered(BinaryOp::GreaterOrEqual, &value, &low?);
        let below = ordered(BinaryOp::LessOrEqual, &value, &high?);
        Some(negate(and(&above, &below), negated))
    }

    fn coalesce(&self, left: &Expr, right: &Expr) -> Option<Value> {
        match self.value(left)? {
            Value::Undefined => self.value(right),
            value => Some(value),
        }
    }

    fn conditional(&self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Option<Value> {
        let holds = self.value(condition)?.as_bool() == Some(true);
        self.value(if holds { then } else { otherwise })
    }

    fn array(&self, elements: &[Expr]) -> Option<Value> {
        let mut values = self.values(elements)?;
        values.retain(|value| !value.is_undefined());
        Some(Value::Array(values))
    }

    fn object(&self, properties: &[Property]) -> Option<Value> {
        let mut object = Object::default();
        for property in properties {
            let value = self.value(&property.value)?;
            if !value.is_undefined() {
                object.insert(property.name.clone(), value);
            }
        }
        Some(Value::Object(object))
    }

    fn call(&self, call: &Call) -> Option<Value> {
        if call.udf {
            return None;
        }
        let arguments = self.values(&call.arguments)?;
        self.functions.evaluate(&call.name.name, &arguments)
    }

    fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters
            .iter()
            .find(|(supplied, _)| supplied == name)
            .map(|(_, value)| value)
    }

    fn values(&self, exprs: &[Expr]) -> Option<Vec<Value>> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    fn logical(&self, op: LogicalOp, terms: &[Expr]) -> Option<Value> {
        let values = self.values(terms)?;
        // One decisive term determines the result, even beside terms that are `undefined`.
        let decisive = op == LogicalOp::Or;
        if values.contains(&Value::Bool(decisive)) {
            return Some(Value::Bool(decisive));
        }
        let all_known = values.iter().all(|value| value.as_bool().is_some());
        Some(if all_known {
            Value::Bool(!decisive)
        } else {
            Value::Undefined
        })
    }

    fn within(&self, needle: &Expr, list: &[Expr], negated: bool) -> Option<Value> {
        let needle = self.value(needle)?;
        let list = self.values(list)?;
        if needle.is_undefined() {
            return Some(Value::Undefined);
        }
        let found = list.iter().any(|value| equal(&needle, value));
        Some(Value::Bool(found != negated))
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Undefined => Value::Undefined,
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(value) => Value::Number(*value),
        Literal::String(text) => Value::String(text.clone()),
    }
}

pub(crate) fn unary(op: UnaryOp, value: &Value) -> Option<Value> {
    Some(match (op, value) {
        (UnaryOp::Not, Value::Bool(value)) => Value::Bool(!value),
        (UnaryOp::Plus, Value::Number(_)) => value.clone(),
        (UnaryOp::Minus, Value::Number(Number::Int(value))) => Value::from(value.checked_neg()?),
        (UnaryOp::Minus, Value::Number(Number::Float(value))) => Value::from(-value),
        (UnaryOp::BitNot, Value::Number(_)) => return None,
        _ => Value::Undefined,
    })
}

pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    match op {
        BinaryOp::Equal | BinaryOp::NotEqual => {
            if left.is_undefined() || right.is_undefined() {
                return Some(Value::Undefined);
            }
            Some(Value::Bool(equal(left, right) == (op == BinaryOp::Equal)))
        }
        BinaryOp::Less | BinaryOp::Greater | BinaryOp::LessOrEqual | BinaryOp::GreaterOrEqual => {
            Some(ordered(op, left, right))
        }
        BinaryOp::Concat => Some(match (left, right) {
            (Value::String(left), Value::String(right)) => Value::String(format!("{left}{right}")),
            _ => Value::Undefined,
        }),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => match (left, right) {
            (Value::Number(left), Value::Number(right)) => arithmetic(op, *left, *right),
            _ => Some(Value::Undefined),
        },
        BinaryOp::BitAnd
        | BinaryOp::BitXor
        | BinaryOp::BitOr
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::ShiftRightUnsigned => None,
    }
}

/// Computes a number. `None` for whole numbers outside the range of integers; the engine computes
/// those.
fn arithmetic(op: BinaryOp, left: Number, right: Number) -> Option<Value> {
    if let (Number::Int(left), Number::Int(right)) = (left, right) {
        let whole = match op {
            BinaryOp::Add => left.checked_add(right),
            BinaryOp::Subtract => left.checked_sub(right),
            BinaryOp::Multiply => left.checked_mul(right),
            BinaryOp::Modulo => left.checked_rem(right),
            _ => left
                .checked_rem(right)
                .filter(|rest| *rest == 0)
                .map(|_| left / right),
        };
        return whole.map(Value::from);
    }
    let (left, right) = (left.as_f64(), right.as_f64());
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Modulo => left % right,
        _ => left / right,
    };
    Some(Value::from(value))
}

/// Compares two values. Only values of the same scalar type are ordered.
fn ordered(op: BinaryOp, left: &Value, right: &Value) -> Value {
    let comparable = matches!(
        (left, right),
        (Value::Null, Value::Null)
            | (Value::Bool(_), Value::Bool(_))
            | (Value::Number(_), Value::Number(_))
            | (Value::String(_), Value::String(_))
    );
    if !comparable {
        return Value::Undefined;
    }
    let order = compare(left, right);
    Value::Bool(match op {
        BinaryOp::Less => order == Ordering::Less,
        BinaryOp::LessOrEqual => order != Ordering::Greater,
        BinaryOp::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    })
}

/// Conjunction in three-valued logic, in which `undefined` is neither true nor false.
fn and(left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), Value::Bool(true)) => Value::Bool(true),
        _ => Value::Undefined,
    }
}

/// Negates a boolean if `negated` is set; `undefined` stays `undefined`.
fn negate(value: Value, negated: bool) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(value != negated),
        other => other,
    }
}
