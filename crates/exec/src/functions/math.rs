//! Mathematical functions of numbers. A result that is not finite stays a number, but is left out
//! of rows.

use std::f64::consts::PI;

use orrery_json::{Number, Value};

use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    unary("ABS", abs),
    unary("CEILING", |arguments| whole(arguments, f64::ceil)),
    unary("FLOOR", |arguments| whole(arguments, f64::floor)),
    unary("TRUNC", |arguments| whole(arguments, f64::trunc)),
    Function::new("ROUND", Arity::Between(1, 2), round),
    unary("SIGN", sign),
    unary("SQRT", |arguments| double(arguments, f64::sqrt)),
    unary("SQUARE", |arguments| double(arguments, |x| x * x)),
    unary("EXP", |arguments| double(arguments, f64::exp)),
    Function::new("LOG", Arity::Between(1, 2), log),
    unary("LOG10", |arguments| double(arguments, f64::log10)),
    Function::new("POWER", Arity::Exactly(2), |arguments| {
        doubles(arguments, f64::powf)
    }),
    unary("SIN", |arguments| double(arguments, f64::sin)),
    unary("COS", |arguments| double(arguments, f64::cos)),
    unary("TAN", |arguments| double(arguments, f64::tan)),
    unary("COT", |arguments| double(arguments, |x| 1.0 / x.tan())),
    unary("ASIN", |arguments| double(arguments, f64::asin)),
    unary("ACOS", |arguments| double(arguments, f64::acos)),
    unary("ATAN", |arguments| double(arguments, f64::atan)),
    Function::new("ATN2", Arity::Exactly(2), |arguments| {
        doubles(arguments, f64::atan2)
    }),
    unary("DEGREES", |arguments| {
        double(arguments, |x| x * HALF_TURN / PI)
    }),
    unary("RADIANS", |arguments| {
        double(arguments, |x| x * PI / HALF_TURN)
    }),
    Function::new("PI", Arity::Exactly(0), |_| Some(Value::from(PI))),
    Function::new("NUMBERBIN", Arity::Between(1, 2), number_bin),
];

/// Degrees of half a turn. The order of the operations decides the last digit of a result, so both
/// conversions multiply first, as the service does.
const HALF_TURN: f64 = 180.0;

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

fn double(arguments: &[Argument<'_>], compute: fn(f64) -> f64) -> Option<Value> {
    let number = arguments.first()?.as_number()?;
    Some(Value::from(compute(number.as_f64())))
}

fn doubles(arguments: &[Argument<'_>], compute: fn(f64, f64) -> f64) -> Option<Value> {
    let (a, b) = (
        arguments.first()?.as_number()?,
        arguments.get(1)?.as_number()?,
    );
    Some(Value::from(compute(a.as_f64(), b.as_f64())))
}

/// Rounds a number to an integer. An integer is returned unchanged and stays exact.
fn whole(arguments: &[Argument<'_>], compute: fn(f64) -> f64) -> Option<Value> {
    match arguments.first()?.as_number()? {
        Number::Int(value) => Some(Value::from(value)),
        Number::Float(value) => Some(Value::from(compute(value))),
    }
}

fn abs(arguments: &[Argument<'_>]) -> Option<Value> {
    let number = arguments.first()?.as_number()?;
    // The absolute value of the smallest integer does not fit 64 bits and becomes a double.
    let exact = number.as_i64().and_then(i64::checked_abs);
    Some(exact.map_or_else(|| Value::from(number.as_f64().abs()), Value::from))
}

/// Rounds halves away from zero, at the given decimal place. A number has no digit so far behind
/// the point that the scale is infinite.
fn round(arguments: &[Argument<'_>]) -> Option<Value> {
    let Some(places) = arguments.get(1) else {
        return whole(arguments, f64::round);
    };
    let places = places.as_number()?.as_i64()?;
    let number = arguments.first()?.as_number()?;
    let scale = 10_f64.powi(i32::try_from(places).unwrap_or(i32::MAX));
    if places > 0 && (scale.is_infinite() || number.as_i64().is_some()) {
        return Some(Value::Number(number));
    }
    Some(Value::from((number.as_f64() * scale).round() / scale))
}

/// The sign. Zero is tested by itself, because the sign of a floating-point zero is one.
fn sign(arguments: &[Argument<'_>]) -> Option<Value> {
    double(arguments, |x| if x == 0.0 { 0.0 } else { x.signum() })
}

/// Logarithm. Bases two and ten have their own computations: the quotient of two logarithms is off
/// in the last digit.
fn log(arguments: &[Argument<'_>]) -> Option<Value> {
    match arguments.get(1).map(|base| base.as_number()) {
        None => double(arguments, f64::ln),
        Some(Some(Number::Int(10))) => double(arguments, f64::log10),
        Some(Some(Number::Int(2))) => double(arguments, f64::log2),
        Some(_) => doubles(arguments, |x, base| x.ln() / base.ln()),
    }
}

/// Rounds down to a multiple of the bin size.
fn number_bin(arguments: &[Argument<'_>]) -> Option<Value> {
    let number = arguments.first()?.as_number()?.as_f64();
    let size = match arguments.get(1) {
        Some(size) => size.as_number()?.as_f64(),
        None => 1.0,
    };
    (size != 0.0).then(|| Value::from((number / size).floor() * size))
}
