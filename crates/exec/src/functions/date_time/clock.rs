//! Functions of the query's time, which the engine passes in front of their written arguments.
//!
//! All rows and calls see the same time, so a page can be computed again. The service's variants
//! that are evaluated per row are therefore equal to the static variants here.

use orrery_json::Value;

use super::calendar::DateTime;
use super::functions::{date, part_and_count};
use super::part::add;
use crate::functions::{Argument, Arity, Evaluate, Function};

pub(in super::super) const FUNCTIONS: &[Function] = &[
    current("GETCURRENTDATETIME", |arguments| now(arguments).map(date)),
    current("GETCURRENTDATETIMESTATIC", |arguments| {
        now(arguments).map(date)
    }),
    current("GETCURRENTTICKS", ticks),
    current("GETCURRENTTICKSSTATIC", ticks),
    current("GETCURRENTTIMESTAMP", timestamp),
    current("GETCURRENTTIMESTAMPSTATIC", timestamp),
    Function::given_now("NOW", Arity::Between(0, 2), |arguments| {
        match arguments.get(1..)? {
            [] => now(arguments).map(date),
            _ => moved(arguments, 1),
        }
    }),
    Function::given_now("AGO", Arity::Exactly(2), |arguments| moved(arguments, -1)),
];

const fn current(name: &'static str, evaluate: Evaluate) -> Function {
    Function::given_now(name, Arity::Exactly(0), evaluate)
}

/// The query's time, which is the first argument.
fn now(arguments: &[Argument<'_>]) -> Option<DateTime> {
    DateTime::of_ticks(arguments.first()?.as_number()?.as_i64()?)
}

fn ticks(arguments: &[Argument<'_>]) -> Option<Value> {
    Some(Value::from(now(arguments)?.ticks()))
}

fn timestamp(arguments: &[Argument<'_>]) -> Option<Value> {
    Some(Value::from(now(arguments)?.milliseconds()))
}

/// The query's time, moved by a number of date parts.
fn moved(arguments: &[Argument<'_>], direction: i64) -> Option<Value> {
    let (part, count) = part_and_count(arguments.get(1..)?)?;
    add(part, count.checked_mul(direction)?, now(arguments)?).map(date)
}
