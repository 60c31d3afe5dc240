//! The `IS_*` functions. They are never undefined; an undefined argument gives `false`.

use orrery_json::Value;

use super::{Argument, Arity, Evaluate, Function, date_time};

pub(super) const FUNCTIONS: &[Function] = &[
    check("IS_DEFINED", |arguments| {
        test(arguments, |value| !value.is_undefined())
    }),
    check("IS_NULL", |arguments| {
        test(arguments, |value| matches!(value, Value::Null))
    }),
    check("ISNULL", |arguments| {
        test(arguments, |value| matches!(value, Value::Null))
    }),
    check("IS_BOOL", is_bool),
    check("IS_BOOLEAN", is_bool),
    check("IS_NUMBER", |arguments| {
        test(arguments, |value| matches!(value, Value::Number(_)))
    }),
    check("IS_STRING", |arguments| {
        test(arguments, |value| matches!(value, Value::String(_)))
    }),
    check("IS_ARRAY", |arguments| {
        test(arguments, |value| matches!(value, Value::Array(_)))
    }),
    check("IS_OBJECT", |arguments| {
        test(arguments, |value| matches!(value, Value::Object(_)))
    }),
    check("IS_PRIMITIVE", |arguments| test(arguments, is_primitive)),
    check("IS_INTEGER", |arguments| test(arguments, is_integer)),
    check("IS_DATETIME", |arguments| {
        test(
            arguments,
            |value| matches!(value, Value::String(text) if date_time::parse(text).is_some()),
        )
    }),
    check("IS_FINITE_NUMBER", |arguments| {
        test(
            arguments,
            |value| matches!(value, Value::Number(number) if number.is_finite()),
        )
    }),
];

const fn check(name: &'static str, evaluate: Evaluate) -> Function {
    Function::seeing_undefined(name, Arity::Exactly(1), evaluate)
}

fn test(arguments: &[Argument<'_>], accept: fn(&Value) -> bool) -> Option<Value> {
    arguments.first().map(|value| Value::Bool(accept(value)))
}

fn is_bool(arguments: &[Argument<'_>]) -> Option<Value> {
    test(arguments, |value| matches!(value, Value::Bool(_)))
}

fn is_primitive(value: &Value) -> bool {
    matches!(
        value,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)
    )
}

/// Whether a value is an integer within 64 bits.
fn is_integer(value: &Value) -> bool {
    super::integer::whole(value).is_some()
}
