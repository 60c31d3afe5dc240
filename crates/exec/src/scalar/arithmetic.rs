//! Signs and `+ - * / %` on numbers. Integers stay integers while the result is exact.

use orrery_json::{Number, Value};
use orrery_sql::ast::{BinaryOp, UnaryOp};

use super::bits;

pub(super) fn unary(op: UnaryOp, operand: &Value) -> Value {
    let Value::Number(number) = operand else {
        return Value::Undefined;
    };
    match op {
        UnaryOp::Plus => Value::Number(*number),
        UnaryOp::Minus => Value::Number(negate(*number)),
        UnaryOp::BitNot => Value::from(i64::from(!bits::to_int32(*number))),
        UnaryOp::Not => Value::Undefined,
    }
}

/// A binary operation: exact for integers where possible, otherwise in doubles.
pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
    let (Value::Number(left), Value::Number(right)) = (left, right) else {
        return Value::Undefined;
    };
    let exact = match (left, right) {
        (Number::Int(left), Number::Int(right)) => integer(op, *left, *right),
        _ => None,
    };
    Value::Number(match exact {
        Some(exact) => Number::Int(exact),
        None => Number::from(double(op, left.as_f64(), right.as_f64())),
    })
}

/// The exact integer result; `None` on overflow, for division, and for a zero divisor.
fn integer(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Modulo => left.checked_rem(right),
        _ => None,
    }
}

fn double(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo => left % right,
        _ => f64::NAN,
    }
}

/// The negative number; the smallest integer has no integer negative and becomes a double.
fn negate(number: Number) -> Number {
    match number {
        Number::Int(value) => value
            .checked_neg()
            .map_or(Number::from(-number.as_f64()), Number::Int),
        Number::Float(value) => Number::from(-value),
    }
}
