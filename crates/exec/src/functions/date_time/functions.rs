//! Functions of date and time arguments.

use orrery_json::Value;

use super::calendar::{DateFields, DateTime, MILLISECOND_TICKS};
use super::format::format;
use super::part::{DatePart, add, bin, difference};
use super::text::{parse, print};
use crate::functions::{Argument, Arity, Evaluate, Function};

pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("DATETIMEADD", Arity::Exactly(3), |arguments| {
        let (part, count) = part_and_count(arguments)?;
        add(part, count, date_time(arguments, 2)?).map(date)
    }),
    Function::new("DATETIMEBIN", Arity::Between(2, 4), date_time_bin),
    Function::new("DATETIMEDIFF", Arity::Exactly(3), |arguments| {
        let (start, end) = (date_time(arguments, 1)?, date_time(arguments, 2)?);
        difference(part(arguments, 0)?, start, end).map(Value::from)
    }),
    Function::new("DATETIMEFORMAT", Arity::Exactly(2), |arguments| {
        let pattern = arguments.get(1)?.as_str()?;
        format(date_time(arguments, 0)?, pattern).map(Value::String)
    }),
    Function::new("DATETIMEFROMPARTS", Arity::Between(3, 7), from_parts),
    Function::new("DATETIMEPART", Arity::Exactly(2), |arguments| {
        let (name, moment) = (arguments.first()?.as_str()?, date_time(arguments, 1)?);
        // The day of the week is no part of a calendar date, so only this function knows it.
        if ["dw", "weekday"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        {
            return Some(Value::from(moment.weekday()));
        }
        Some(Value::from(part(arguments, 0)?.of(moment)))
    }),
    unary("YEAR", |arguments| field(arguments, DatePart::Year)),
    unary("MONTH", |arguments| field(arguments, DatePart::Month)),
    unary("DAY", |arguments| field(arguments, DatePart::Day)),
    unary("DATETIMETOTICKS", |arguments| {
        Some(Value::from(date_time(arguments, 0)?.ticks()))
    }),
    unary("DATETIMETOTIMESTAMP", |arguments| {
        Some(Value::from(date_time(arguments, 0)?.milliseconds()))
    }),
    Function::new("TICKSTODATETIME", Arity::Between(1, 2), |arguments| {
        of_ticks(arguments, 1)
    }),
    Function::new("TIMESTAMPTODATETIME", Arity::Between(1, 2), |arguments| {
        of_ticks(arguments, MILLISECOND_TICKS)
    }),
];

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

pub(super) fn part_and_count(arguments: &[Argument<'_>]) -> Option<(DatePart, i64)> {
    Some((part(arguments, 0)?, whole(arguments.get(1)?)?))
}

pub(super) fn date(moment: DateTime) -> Value {
    Value::String(print(moment))
}

fn part(arguments: &[Argument<'_>], index: usize) -> Option<DatePart> {
    DatePart::of_name(arguments.get(index)?.as_str()?)
}

fn date_time(arguments: &[Argument<'_>], index: usize) -> Option<DateTime> {
    parse(arguments.get(index)?.as_str()?)
}

fn whole(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn field(arguments: &[Argument<'_>], part: DatePart) -> Option<Value> {
    Some(Value::from(part.of(date_time(arguments, 0)?)))
}

/// The time at a count, as text of a pattern if the call has one.
fn of_ticks(arguments: &[Argument<'_>], scale: i64) -> Option<Value> {
    let count = whole(arguments.first()?)?;
    let moment = DateTime::of_ticks(i128::from(count) * i128::from(scale))?;
    match arguments.get(1) {
        Some(pattern) => format(moment, pattern.as_str()?).map(Value::String),
        None => Some(date(moment)),
    }
}

/// Rounds down to a bin. The size is one part and the origin 1970 unless the call says otherwise.
fn date_time_bin(arguments: &[Argument<'_>]) -> Option<Value> {
    let size = match arguments.get(2) {
        Some(size) => whole(size)?,
        None => 1,
    };
    let origin = match arguments.get(3) {
        Some(_) => date_time(arguments, 3)?,
        None => DateTime::of_ticks(0)?,
    };
    let (moment, part) = (date_time(arguments, 0)?, part(arguments, 1)?);
    bin(moment, part, size, origin).map(date)
}

/// Builds a date from its fields. Missing time fields are zero.
fn from_parts(arguments: &[Argument<'_>]) -> Option<Value> {
    let number = |index: usize| match arguments.get(index) {
        Some(value) => whole(value),
        None => Some(0),
    };
    let fields = DateFields {
        year: number(0)?,
        month: number(1)?,
        day: number(2)?,
        hour: number(3)?,
        minute: number(4)?,
        second: number(5)?,
        fraction: number(6)?,
    };
    fields.date_time().map(date)
}
