//! `& | ^ ~ << >> >>>` on 32 bits with a sign.

use orrery_json::{Number, Value};
use orrery_sql::ast::BinaryOp;

pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
    let (Value::Number(left), Value::Number(right)) = (left, right) else {
        return Value::Undefined;
    };
    let (left, right) = (to_int32(*left), to_int32(*right));
    let shift = right.cast_unsigned() & 31;
    Value::from(match op {
        BinaryOp::BitAnd => i64::from(left & right),
        BinaryOp::BitOr => i64::from(left | right),
        BinaryOp::BitXor => i64::from(left ^ right),
        BinaryOp::ShiftLeft => i64::from(left << shift),
        BinaryOp::ShiftRight => i64::from(left >> shift),
        BinaryOp::ShiftRightUnsigned => i64::from((left.cast_unsigned() >> shift).cast_signed()),
        _ => return Value::Undefined,
    })
}

/// The integer part modulo 2^32 as a signed number; zero for integers that no double can hold, and
/// for numbers that are not finite.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the conversion is a truncation"
)]
pub(super) fn to_int32(number: Number) -> i32 {
    const MODULUS: f64 = 4_294_967_296.0;
    const EXACT_MAX: u64 = 1 << 53;
    match number {
        Number::Int(value) if value.unsigned_abs() > EXACT_MAX => 0,
        Number::Int(value) => value as i32,
        Number::Float(value) if value.is_finite() => (value.trunc() % MODULUS) as i64 as i32,
        Number::Float(_) => 0,
    }
}
