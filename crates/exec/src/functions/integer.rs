//! Integer functions of 64 bits that wrap around on overflow.

use orrery_json::{Number, Value};

use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    binary("INTADD", |arguments| {
        apply(arguments, |a, b| Some(a.wrapping_add(b)))
    }),
    binary("INTSUB", |arguments| {
        apply(arguments, |a, b| Some(a.wrapping_sub(b)))
    }),
    binary("INTMUL", multiply),
    binary("INTMULTIPLY", multiply),
    binary("INTDIV", |arguments| {
        apply(arguments, |a, b| (b != 0).then(|| a.wrapping_div(b)))
    }),
    binary("INTMOD", |arguments| {
        apply(arguments, |a, b| (b != 0).then(|| a.wrapping_rem(b)))
    }),
    binary("INTBITAND", bit_and),
    binary("INTBITOR", bit_or),
    binary("INTBITXOR", bit_xor),
    Function::new("INTBITNOT", Arity::Exactly(1), bit_not),
    binary("INTBITLEFTSHIFT", left_shift),
    binary("INTBITRIGHTSHIFT", right_shift),
];

const fn binary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(2), evaluate)
}

/// The value as a 64-bit integer, if it is exactly one.
pub(super) fn whole(value: &Value) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value.as_number()? {
        Number::Int(value) => Some(value),
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 64 bits")]
        Number::Float(value) => {
            // The upper bound itself is 2^63 and does not fit.
            (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
        }
    }
}

/// Applies an operation to two integers; other arguments make the result undefined.
fn apply(arguments: &[Argument<'_>], compute: fn(i64, i64) -> Option<i64>) -> Option<Value> {
    compute(whole(arguments.first()?)?, whole(arguments.get(1)?)?).map(Value::from)
}

fn multiply(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a.wrapping_mul(b)))
}

fn bit_and(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a & b))
}

fn bit_or(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a | b))
}

fn bit_xor(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a ^ b))
}

fn bit_not(arguments: &[Argument<'_>]) -> Option<Value> {
    whole(arguments.first()?).map(|value| Value::from(!value))
}

/// Shifts left by the count modulo 64, as processors do.
fn left_shift(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a.wrapping_shl(shift_count(b))))
}

fn right_shift(arguments: &[Argument<'_>]) -> Option<Value> {
    apply(arguments, |a, b| Some(a.wrapping_shr(shift_count(b))))
}

/// The count modulo 64; a negative count counts from there.
fn shift_count(count: i64) -> u32 {
    u32::try_from(count.rem_euclid(64)).unwrap_or_default()
}
