//! Aggregates of array elements. An element of a wrong type makes the result undefined, and so does
//! an empty array without a natural result.

use orrery_json::{Number, Value, compare};

use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    unary("ARRAY_SUM", |arguments| {
        let numbers = numbers(arguments)?;
        (!numbers.is_empty()).then(|| Value::Number(sum(&numbers)))
    }),
    unary("ARRAY_AVG", average),
    unary("ARRAY_MEDIAN", median),
    unary("ARRAY_MIN", |arguments| {
        primitives(arguments)?
            .iter()
            .min_by(|a, b| compare(a, b))
            .cloned()
    }),
    unary("ARRAY_MAX", |arguments| {
        primitives(arguments)?
            .iter()
            .max_by(|a, b| compare(a, b))
            .cloned()
    }),
];

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

/// The numbers of an array; `None` if any element is not a number.
fn numbers(arguments: &[Argument<'_>]) -> Option<Vec<Number>> {
    arguments
        .first()?
        .as_array()?
        .iter()
        .map(Value::as_number)
        .collect()
}

/// The elements of an array; `None` if any element is an array or object, because these have no
/// order.
fn primitives<'a>(arguments: &'a [Argument<'_>]) -> Option<&'a [Value]> {
    let elements = arguments.first()?.as_array()?;
    let composite = |value: &Value| matches!(value, Value::Array(_) | Value::Object(_));
    (!elements.iter().any(composite)).then_some(elements)
}

/// Sums numbers. Integers stay integers while the sum fits 64 bits.
fn sum(numbers: &[Number]) -> Number {
    let exact = numbers
        .iter()
        .try_fold(0_i64, |total, number| total.checked_add(number.as_i64()?));
    match exact {
        Some(total) => Number::from(total),
        None => Number::from(numbers.iter().map(|number| number.as_f64()).sum::<f64>()),
    }
}

fn average(arguments: &[Argument<'_>]) -> Option<Value> {
    let numbers = numbers(arguments)?;
    if numbers.is_empty() {
        return None;
    }
    Some(Value::from(sum(&numbers).as_f64() / numbers.len() as f64))
}

/// The median. Of an even number of elements it is the mean of the two middle ones.
fn median(arguments: &[Argument<'_>]) -> Option<Value> {
    let mut numbers = numbers(arguments)?;
    numbers.sort_by(|a, b| a.total_cmp(*b));
    let upper = *numbers.get(numbers.len() / 2)?;
    if numbers.len() % 2 == 1 {
        return Some(Value::Number(upper));
    }
    let lower = numbers[numbers.len() / 2 - 1];
    Some(Value::from(f64::midpoint(lower.as_f64(), upper.as_f64())))
}
