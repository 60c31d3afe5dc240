//! Functions of arrays, and conversions of objects to arrays.

use orrery_json::{NameHasher, Object, VALUE_BYTES, Value, equal};

use super::{Argument, Arity, Function, count};

pub(super) const FUNCTIONS: &[Function] = &[
    // An undefined third argument counts as false, so this function must see it.
    Function::seeing_undefined("ARRAY_CONTAINS", Arity::Between(2, 3), contains),
    // Planners write this name into queries; the function is the same.
    Function::new("_TRY_ARRAY_CONTAINS", Arity::Exactly(2), contains),
    Function::seeing_undefined("ARRAY_CONTAINS_ANY", Arity::AtLeast(2), contains_any),
    Function::seeing_undefined("ARRAY_CONTAINS_ALL", Arity::AtLeast(2), contains_all),
    Function::new("ARRAY_CONCAT", Arity::AtLeast(2), concat).with_memory_bound(copies),
    Function::new("ARRAY_LENGTH", Arity::Exactly(1), |arguments| {
        count(arguments.first()?.as_array()?.len())
    }),
    Function::new("ARRAY_SLICE", Arity::Between(2, 3), slice).with_memory_bound(copies),
    Function::seeing_undefined("OBJECTTOARRAY", Arity::Between(1, 3), object_to_array)
        .with_memory_bound(pairs),
];

/// Bytes of an object with two properties, without the contents of these properties.
const PAIR_BYTES: usize = 8 * VALUE_BYTES;

/// Limit of elements in a concatenated array. Nested queries could otherwise double an array
/// repeatedly.
const CONCAT_ELEMENTS_MAX: usize = 2 * 1024 * 1024;

/// Upper bound of a result that copies the contents of its arguments.
pub(super) fn copies(arguments: &[Argument<'_>]) -> usize {
    let values = arguments.iter();
    values.map(|value| value.allocated_bytes()).sum()
}

/// Upper bound of an array with one pair per property.
fn pairs(arguments: &[Argument<'_>]) -> usize {
    let [object, names @ ..] = arguments else {
        return 0;
    };
    let count = object.as_object().map_or(0, Object::len);
    let names = names.iter().filter_map(|name| name.as_str());
    let pair_bytes = PAIR_BYTES + names.map(str::len).sum::<usize>();
    object.allocated_bytes() + count.saturating_mul(pair_bytes)
}

/// Whether an array contains a value. With a third argument `true`, an object also matches if it
/// contains the properties of the value.
fn contains(arguments: &[Argument<'_>]) -> Option<Value> {
    let elements = arguments.first()?.as_array()?;
    let needle = defined(arguments.get(1)?)?;
    let partial = match arguments.get(2).map(AsRef::as_ref) {
        None | Some(Value::Undefined) => false,
        Some(flag) => flag.as_bool()?,
    };
    let matches = if partial { covers } else { equal };
    Some(Value::Bool(
        elements.iter().any(|element| matches(element, needle)),
    ))
}

/// Whether `whole` contains every property of `part`, recursively; other values must be equal.
fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| covers(whole, part))),
        (whole, part) => equal(whole, part),
    }
}

fn contains_any(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, true)
}

fn contains_all(arguments: &[Argument<'_>]) -> Option<Value> {
    contains_any_or_all(arguments, false)
}

/// A needle whose presence equals `decisive` settles the result. Otherwise an undefined needle
/// makes the result undefined.
fn contains_any_or_all(arguments: &[Argument<'_>], decisive: bool) -> Option<Value> {
    let (array, needles) = arguments.split_first()?;
    let elements = array.as_array()?;
    let mut result = Some(Value::Bool(!decisive));
    for needle in needles {
        if needle.is_undefined() {
            result = None;
        } else if elements.iter().any(|element| equal(element, needle)) == decisive {
            return Some(Value::Bool(decisive));
        }
    }
    result
}

/// Concatenates arrays; undefined above the element limit.
fn concat(arguments: &[Argument<'_>]) -> Option<Value> {
    let arrays = arguments
        .iter()
        .map(|array| array.as_array())
        .collect::<Option<Vec<_>>>()?;
    let elements: usize = arrays.iter().map(|array| array.len()).sum();
    // The limit is checked before the copy.
    (elements <= CONCAT_ELEMENTS_MAX).then(|| Value::Array(arrays.concat()))
}

/// A slice from a start position; a negative start counts from the end.
fn slice(arguments: &[Argument<'_>]) -> Option<Value> {
    let elements = arguments.first()?.as_array()?;
    let start = arguments.get(1)?.as_number()?.as_i64()?;
    let length = match arguments.get(2) {
        Some(length) => usize::try_from(length.as_number()?.as_i64()?.max(0)).ok()?,
        None => elements.len(),
    };
    let distance = usize::try_from(start.unsigned_abs()).ok()?;
    let start = if start < 0 {
        elements.len().saturating_sub(distance)
    } else {
        distance.min(elements.len())
    };
    let end = start.saturating_add(length).min(elements.len());
    Some(Value::Array(elements[start..end].to_vec()))
}

/// Converts an object to an array of name and value pairs, under given or default property names.
fn object_to_array(arguments: &[Argument<'_>]) -> Option<Value> {
    let object = arguments.first()?.as_object()?;
    let name_of = |index: usize, default: &'static str| match arguments.get(index) {
        Some(name) if !name.is_undefined() => name.as_str().map(str::to_owned),
        Some(_) | None => Some(default.to_owned()),
    };
    let (key, value) = (name_of(1, "k")?, name_of(2, "v")?);
    let pair = |(name, property): (&String, &Value)| {
        let mut pair = Object::with_capacity_and_hasher(2, NameHasher::default());
        pair.insert(key.clone(), Value::from(name.as_str()));
        pair.insert(value.clone(), property.clone());
        Value::Object(pair)
    };
    Some(Value::Array(object.iter().map(pair).collect()))
}

fn defined(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_undefined())
}
