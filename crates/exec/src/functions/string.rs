//! Functions that produce strings. Lengths and positions count characters (code points).

use orrery_json::{VALUE_BYTES, Value};

use super::{Argument, Arity, Evaluate, Function, count};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("CONCAT", Arity::AtLeast(2), concat),
    unary("LOWER", |arguments| map(arguments, lower)),
    unary("UPPER", |arguments| map(arguments, upper)),
    unary("REVERSE", |arguments| {
        map(arguments, |text| text.chars().rev().collect())
    }),
    unary("LENGTH", |arguments| {
        count(arguments.first()?.as_str()?.chars().count())
    }),
    Function::new("LEFT", Arity::Exactly(2), left),
    Function::new("RIGHT", Arity::Exactly(2), right),
    Function::new("SUBSTRING", Arity::Exactly(3), substring),
    Function::new("REPLACE", Arity::Exactly(3), replace),
    Function::new("REPLICATE", Arity::Exactly(2), replicate),
    trim("TRIM", |arguments| trimmed(arguments, true, true)),
    trim("LTRIM", |arguments| trimmed(arguments, true, false)),
    trim("RTRIM", |arguments| trimmed(arguments, false, true)),
    Function::new("STRINGJOIN", Arity::Exactly(2), join),
    Function::new("STRING_JOIN", Arity::Exactly(2), join),
    Function::new("STRINGSPLIT", Arity::Exactly(2), split).with_memory_bound(parts),
    Function::new("STRING_SPLIT", Arity::Exactly(2), split).with_memory_bound(parts),
];

/// Limit for the text that a function multiplies out of its arguments: no row can be larger.
const PRODUCT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Limit for the result of `REPLICATE`.
const REPLICATE_UNITS_MAX: usize = 10_000;

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

const fn trim(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Between(1, 2), evaluate)
}

fn map(arguments: &[Argument<'_>], convert: fn(&str) -> String) -> Option<Value> {
    arguments
        .first()?
        .as_str()
        .map(|text| Value::String(convert(text)))
}

fn concat(arguments: &[Argument<'_>]) -> Option<Value> {
    let parts = arguments
        .iter()
        .map(|part| part.as_str())
        .collect::<Option<Vec<_>>>()?;
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    (bytes <= PRODUCT_BYTES_MAX).then(|| Value::String(parts.concat()))
}

fn left(arguments: &[Argument<'_>]) -> Option<Value> {
    let text = units(arguments.first()?.as_str()?);
    let length = length(arguments.get(1)?)?.min(text.len());
    Some(Value::String(text_of_units(&text[..length])))
}

fn right(arguments: &[Argument<'_>]) -> Option<Value> {
    let text = units(arguments.first()?.as_str()?);
    let length = length(arguments.get(1)?)?.min(text.len());
    Some(Value::String(text_of_units(&text[text.len() - length..])))
}

fn substring(arguments: &[Argument<'_>]) -> Option<Value> {
    let text = units(arguments.first()?.as_str()?);
    let start = arguments.get(1)?.as_number()?.as_i64()?;
    let length = length(arguments.get(2)?)?;
    let rest = usize::try_from(start)
        .ok()
        .and_then(|start| text.get(start..))
        .unwrap_or_default();
    Some(Value::String(text_of_units(
        &rest[..length.min(rest.len())],
    )))
}

/// An integer as a length; negative numbers count as zero.
fn length(value: &Value) -> Option<usize> {
    usize::try_from(value.as_number()?.as_i64()?.max(0)).ok()
}

fn replace(arguments: &[Argument<'_>]) -> Option<Value> {
    let (text, find) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    let replacement = arguments.get(2)?.as_str()?;
    // Nothing is everywhere, so the service leaves this undefined.
    if find.is_empty() {
        return None;
    }
    // The product is checked before the text is built.
    let bytes = text.matches(find).count().saturating_mul(replacement.len());
    (bytes <= PRODUCT_BYTES_MAX).then(|| Value::String(text.replace(find, replacement)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the fraction is dropped, and the range is checked"
)]
fn replicate(arguments: &[Argument<'_>]) -> Option<Value> {
    let text = arguments.first()?.as_str()?;
    let times = arguments.get(1)?.as_number()?.as_f64();
    if !(0.0..=REPLICATE_UNITS_MAX as f64).contains(&times) {
        return None;
    }
    let times = times as usize;
    let units = text.chars().count().saturating_mul(times);
    (units <= REPLICATE_UNITS_MAX).then(|| Value::String(text.repeat(times)))
}

/// Strips white space, or the characters of the second argument.
fn trimmed(arguments: &[Argument<'_>], start: bool, end: bool) -> Option<Value> {
    let text = arguments.first()?.as_str()?;
    let set = match arguments.get(1) {
        Some(set) => Some(set.as_str()?),
        None => None,
    };
    let strip = |c: char| set.map_or(c.is_whitespace(), |set| set.contains(c));
    let text = if start {
        text.trim_start_matches(strip)
    } else {
        text
    };
    let text = if end {
        text.trim_end_matches(strip)
    } else {
        text
    };
    Some(Value::from(text))
}

fn join(arguments: &[Argument<'_>]) -> Option<Value> {
    let parts = arguments.first()?.as_array()?;
    let separator = arguments.get(1)?.as_str()?;
    let parts = parts
        .iter()
        .map(Value::as_str)
        .collect::<Option<Vec<_>>>()?;
    let bytes = parts.len().saturating_mul(separator.len());
    (bytes <= PRODUCT_BYTES_MAX).then(|| Value::String(parts.join(separator)))
}

/// Upper bound of the strings between separators.
fn parts(arguments: &[Argument<'_>]) -> usize {
    let texts = arguments.first().and_then(|text| text.as_str());
    let (Some(text), Some(separator)) = (texts, arguments.get(1).and_then(|text| text.as_str()))
    else {
        return 0;
    };
    if separator.is_empty() {
        return text.len();
    }
    strings_bytes(1 + text.matches(separator).count(), text.len())
}

/// Upper bound of a list of `count` strings with `text_bytes` bytes in total; the list grows string
/// by string.
pub(super) fn strings_bytes(count: usize, text_bytes: usize) -> usize {
    let string_bytes = 2 * VALUE_BYTES + 16;
    count
        .saturating_mul(string_bytes)
        .saturating_add(text_bytes)
}

fn split(arguments: &[Argument<'_>]) -> Option<Value> {
    let (text, separator) = (arguments.first()?.as_str()?, arguments.get(1)?.as_str()?);
    // The service does not split at an empty separator.
    if separator.is_empty() {
        return Some(Value::Array(vec![Value::from(text)]));
    }
    Some(Value::Array(
        text.split(separator).map(Value::from).collect(),
    ))
}

pub(super) fn lower(text: &str) -> String {
    text.chars().map(|c| single(c, c.to_lowercase())).collect()
}

fn upper(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == MICRO_SIGN {
                c
            } else {
                single(c, c.to_uppercase())
            }
        })
        .collect()
}

/// The micro sign keeps its form: its capital letter is that of the Greek letter mu.
const MICRO_SIGN: char = '\u{B5}';

/// Maps one character. The invariant mapping keeps the number of characters, so a character without
/// a single counterpart stays.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(super) fn units(text: &str) -> Vec<char> {
    text.chars().collect()
}

pub(super) fn text_of_units(units: &[char]) -> String {
    units.iter().collect()
}

pub(super) fn position_in_units(text: &str, position_in_bytes: usize) -> usize {
    text[..position_in_bytes].chars().count()
}
