//! Functions that search strings. A third argument `true`, or a name that ends in `CI`, ignores
//! case.

use std::borrow::Cow;

use orrery_json::Value;

use super::string::{lower, position_in_units, text_of_units, units};
use super::{Argument, Arity, Evaluate, Function, count};

pub(super) const FUNCTIONS: &[Function] = &[
    pair("CONTAINS", |arguments| {
        compare(arguments, |text, part| text.contains(part))
    }),
    pair("STARTSWITH", |arguments| {
        compare(arguments, |text, part| text.starts_with(part))
    }),
    pair("ENDSWITH", |arguments| {
        compare(arguments, |text, part| text.ends_with(part))
    }),
    pair("STRINGEQUALS", string_equals),
    pair("STRING_EQUALS", string_equals),
    pair("INDEX_OF", index_of),
    pair("INDEXOF", index_of),
    pair("LASTINDEXOF", last_index_of),
    several("CONTAINSANYCI", contains_any_ci),
    several("CONTAINS_ANY_CI", contains_any_ci),
    several("CONTAINSANYCS", contains_any_cs),
    several("CONTAINS_ANY_CS", contains_any_cs),
    several("CONTAINSALLCI", contains_all_ci),
    several("CONTAINS_ALL_CI", contains_all_ci),
    several("CONTAINSALLCS", contains_all_cs),
    several("CONTAINS_ALL_CS", contains_all_cs),
];

const fn pair(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Between(2, 3), evaluate)
}

const fn several(name: &'static str, evaluate: Evaluate) -> Function {
    Function::seeing_undefined(name, Arity::AtLeast(2), evaluate)
}

fn compare(arguments: &[Argument<'_>], accept: fn(&str, &str) -> bool) -> Option<Value> {
    let (text, part) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let ignore_case = match arguments.get(2) {
        Some(flag) => flag.as_bool()?,
        None => false,
    };
    Some(Value::Bool(accept(
        &folded(text, ignore_case),
        &folded(part, ignore_case),
    )))
}

fn folded(text: &str, ignore_case: bool) -> Cow<'_, str> {
    if ignore_case {
        Cow::Owned(lower(text))
    } else {
        Cow::Borrowed(text)
    }
}

fn string_equals(arguments: &[Argument<'_>]) -> Option<Value> {
    compare(arguments, |text, other| text == other)
}

/// The first position at or behind the third argument, or -1.
fn index_of(arguments: &[Argument<'_>]) -> Option<Value> {
    let (text, part) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let all = units(text);
    let start = match arguments.get(2) {
        Some(start) => usize::try_from(start.as_number()?.as_i64()?.max(0)).ok()?,
        None => 0,
    };
    let Some(rest) = all.get(start..) else {
        return Some(Value::from(-1));
    };
    let rest = text_of_units(rest);
    match rest.find(part) {
        Some(found) => count(start + position_in_units(&rest, found)),
        None => Some(Value::from(-1)),
    }
}

/// The last position of a match that ends at or in front of the third argument, or -1.
fn last_index_of(arguments: &[Argument<'_>]) -> Option<Value> {
    let (text, part) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let all = units(text);
    let end = match arguments.get(2).map(|start| start.as_number()?.as_i64()) {
        Some(start) => usize::try_from(start?.saturating_add(1).max(0))
            .ok()?
            .min(all.len()),
        None => all.len(),
    };
    let rest = text_of_units(&all[..end]);
    match rest.rfind(part) {
        Some(found) => count(position_in_units(&rest, found)),
        None => Some(Value::from(-1)),
    }
}

fn contains_any_ci(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, true, true)
}

fn contains_any_cs(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, false, true)
}

fn contains_all_ci(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, true, false)
}

fn contains_all_cs(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, false, false)
}

/// A part whose presence equals `decisive` settles the result. Otherwise a part that is no string
/// makes the result undefined.
fn contains_any_or_all(
    arguments: &[Argument<'_>],
    ignore_case: bool,
    decisive: bool,
) -> Option<Value> {
    let (text, parts) = arguments.split_first()?;
    let text = folded(text.as_str()?, ignore_case);
    let mut result = Some(Value::Bool(!decisive));
    for part in parts {
        match part
            .as_str()
            .map(|part| text.contains(&*folded(part, ignore_case)))
        {
            Some(found) if found == decisive => return Some(Value::Bool(decisive)),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}
