//! Patch operations on a document value.

use orrery_json::{Number, Value};
use orrery_model::{Failure, JsonPointer, PatchAction, PatchOperation};

const LEARN_MORE: &str = "Learn more: https://aka.ms/cosmosdbpatchdocs";

/// Applies all operations in order. The first operation that fails rejects the whole patch.
pub(crate) fn apply_patch(
    document: &mut Value,
    operations: &[PatchOperation],
) -> Result<(), Failure> {
    for (index, operation) in operations.iter().enumerate() {
        apply_operation(document, operation).map_err(|refusal| {
            Failure::BadRequest(format!(
                "For Operation({}): {refusal} {LEARN_MORE}",
                index + 1
            ))
        })?;
    }
    Ok(())
}

type PatchRefusal = String;

fn apply_operation(document: &mut Value, operation: &PatchOperation) -> Result<(), PatchRefusal> {
    let path = &operation.path;
    match &operation.action {
        PatchAction::Add(value) => put(document, path, value.clone(), "Add", Placing::Insert),
        PatchAction::Set(value) => put(document, path, value.clone(), "Set", Placing::Overwrite),
        PatchAction::Replace(value) => {
            let target = find(document, path).ok_or_else(|| {
                format!(
                    "Replace Operation only works on an existing path, '{}' does not exist.",
                    text(path)
                )
            })?;
            *target = value.clone();
            Ok(())
        }
        PatchAction::Remove => remove(document, path, "Remove").map(drop),
        PatchAction::Increment(by) => increment(document, path, *by),
        PatchAction::Move { from } => move_value(document, from, path),
    }
}

#[derive(Clone, Copy)]
enum Placing {
    Insert,
    Overwrite,
}

fn put(
    document: &mut Value,
    path: &JsonPointer,
    value: Value,
    name: &str,
    placing: Placing,
) -> Result<(), PatchRefusal> {
    let (last, parents) = path.segments.split_last().expect("a pointer has a segment");
    let mut parent = &mut *document;
    for segment in parents {
        parent = step(parent, segment).ok_or_else(|| {
            format!(
                "{name} Operation can only create a child object of an existing node(array or object) and \
                 cannot create path recursively, no path found beyond: '{segment}'."
            )
        })?;
    }
    match parent {
        Value::Object(object) => {
            object.insert(last.clone(), value);
            Ok(())
        }
        Value::Array(array) if last == "-" => {
            array.push(value);
            Ok(())
        }
        Value::Array(array) => {
            let index = array_index(last)
                .filter(|index| *index <= array.len())
                .ok_or_else(|| out_of_bounds(name, last, array.len()))?;
            match placing {
                Placing::Overwrite if index < array.len() => array[index] = value,
                Placing::Insert | Placing::Overwrite => array.insert(index, value),
            }
            Ok(())
        }
        _ => Err(format!(
            "{name} Operation can only create a child object of an existing node(array or object) and \
             cannot create path recursively, no path found beyond: '{}'.",
            parents.last().unwrap_or(last)
        )),
    }
}

fn remove(document: &mut Value, path: &JsonPointer, name: &str) -> Result<Value, PatchRefusal> {
    let missing = || {
        format!(
            "{name} Operation only works on an existing path, '{}' does not exist.",
            text(path)
        )
    };
    let (last, parents) = path.segments.split_last().expect("a pointer has a segment");
    let parent = parents
        .iter()
        .try_fold(document, |value, segment| step(value, segment))
        .ok_or_else(missing)?;
    match parent {
        Value::Object(object) => object.shift_remove(last).ok_or_else(missing),
        Value::Array(array) => match array_index(last) {
            Some(index) if index < array.len() => Ok(array.remove(index)),
            _ => Err(out_of_bounds(name, last, array.len())),
        },
        _ => Err(missing()),
    }
}

fn increment(document: &mut Value, path: &JsonPointer, by: Number) -> Result<(), PatchRefusal> {
    match find(document, path) {
        None => put(
            document,
            path,
            Value::Number(by),
            "Increment",
            Placing::Overwrite,
        ),
        Some(Value::Number(number)) => {
            // Integers are added exactly; doubles would lose digits beyond 2^53.
            let exact = number
                .as_i64()
                .zip(by.as_i64())
                .and_then(|(a, b)| a.checked_add(b));
            let sum =
                exact.map_or_else(|| Number::from(number.as_f64() + by.as_f64()), Number::from);
            if !sum.is_finite() {
                return Err("Increment Operation overflows the range of numbers.".to_owned());
            }
            *number = sum;
            Ok(())
        }
        Some(other) => Err(format!(
            "Increment Operation only works on a number, '{}' is a value of type {}.",
            text(path),
            other.type_name()
        )),
    }
}

fn move_value(
    document: &mut Value,
    from: &JsonPointer,
    path: &JsonPointer,
) -> Result<(), PatchRefusal> {
    if from == path {
        return match find(document, from) {
            Some(_) => Ok(()),
            None => Err(format!(
                "Move Operation only works on an existing path, '{}' does not exist.",
                text(from)
            )),
        };
    }
    if path.segments.starts_with(&from.segments) {
        return Err(format!(
            "Move Operation cannot move '{}' into its own child '{}'.",
            text(from),
            text(path)
        ));
    }
    // `Remove` comes first: a move within an array uses the indexes after the removal.
    let value = remove(document, from, "Move")?;
    put(document, path, value, "Move", Placing::Overwrite)
}

fn find<'a>(document: &'a mut Value, path: &JsonPointer) -> Option<&'a mut Value> {
    path.segments
        .iter()
        .try_fold(document, |value, segment| step(value, segment))
}

fn step<'a>(value: &'a mut Value, segment: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(object) => object.get_mut(segment),
        Value::Array(array) => array.get_mut(array_index(segment)?),
        _ => None,
    }
}

fn array_index(segment: &str) -> Option<usize> {
    // Only canonical indexes are valid: a leading zero would give one element several names.
    let canonical = segment == "0" || !segment.starts_with('0');
    (canonical && segment.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| segment.parse().ok())?
}

fn out_of_bounds(name: &str, segment: &str, length: usize) -> PatchRefusal {
    format!("{name} Operation: '{segment}' is not a position in an array of {length} elements.")
}

fn text(path: &JsonPointer) -> String {
    path.segments
        .iter()
        .fold(String::new(), |text, segment| text + "/" + segment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orrery_json::parse;

    fn operation(path: &str, action: PatchAction) -> PatchOperation {
        PatchOperation {
            path: JsonPointer::parse(path).unwrap(),
            action,
        }
    }

    fn check(document: &str, operation: PatchOperation, expected: &str) {
        let mut value = parse(document.as_bytes()).unwrap();
        let description = format!("{operation:?}");
        let text = match apply_patch(&mut value, &[operation]) {
            Ok(()) => value.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert!(
            text.starts_with(expected),
            "{description}\n got {text}\nwant {expected}"
        );
    }

    fn value(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn add_inserts_and_set_overwrites() {
        let add = |path| operation(path, PatchAction::Add(value("9")));
        let set = |path| operation(path, PatchAction::Set(value("9")));
        check(r#"{"a":1}"#, add("/b"), r#"{"a":1,"b":9}"#);
        check(r#"{"a":1}"#, add("/a"), r#"{"a":9}"#);
        check(r#"{"a":[1,2]}"#, add("/a/1"), r#"{"a":[1,9,2]}"#);
        check(r#"{"a":[1,2]}"#, add("/a/2"), r#"{"a":[1,2,9]}"#);
        check(r#"{"a":[1,2]}"#, add("/a/-"), r#"{"a":[1,2,9]}"#);
        check(
            r#"{"a":[1,2]}"#,
            add("/a/3"),
            "For Operation(1): Add Operation: '3' is not a position",
        );
        check(r#"{"a":[1,2]}"#, set("/a/1"), r#"{"a":[1,9]}"#);
        check(r#"{"a":{}}"#, set("/a/b"), r#"{"a":{"b":9}}"#);
        check(
            "{}",
            add("/nonExistentParent/Child"),
            "For Operation(1): Add Operation can only create a child object of an existing node(array or \
             object) and cannot create path recursively, no path found beyond: 'nonExistentParent'. Learn \
             more: https://aka.ms/cosmosdbpatchdocs",
        );
        check(
            r#"{"a":1}"#,
            add("/a/b"),
            "For Operation(1): Add Operation can only create",
        );
    }

    #[test]
    fn replace_and_remove_need_their_target() {
        let replace = |path| operation(path, PatchAction::Replace(value("9")));
        let remove = |path| operation(path, PatchAction::Remove);
        check(r#"{"a":[1,2]}"#, replace("/a/0"), r#"{"a":[9,2]}"#);
        check(
            "{}",
            replace("/a"),
            "For Operation(1): Replace Operation only works on an existing path",
        );
        check(r#"{"a":[1,2],"b":3}"#, remove("/a/0"), r#"{"a":[2],"b":3}"#);
        check(r#"{"a":1,"b":3}"#, remove("/a"), r#"{"b":3}"#);
        check(
            "{}",
            remove("/a"),
            "For Operation(1): Remove Operation only works on an existing path",
        );
        check(
            r#"{"a":[1]}"#,
            remove("/a/1"),
            "For Operation(1): Remove Operation: '1' is not a position",
        );
    }

    #[test]
    fn increments_add_or_create() {
        let increment = |path, by: f64| operation(path, PatchAction::Increment(Number::from(by)));
        check(r#"{"a":1}"#, increment("/a", 2.0), r#"{"a":3}"#);
        check(r#"{"a":1}"#, increment("/a", -0.5), r#"{"a":0.5}"#);
        check("{}", increment("/a", 2.0), r#"{"a":2}"#);
        check(r#"{"a":[1,2]}"#, increment("/a/1", 5.0), r#"{"a":[1,7]}"#);
        check(
            r#"{"a":"x"}"#,
            increment("/a", 1.0),
            "For Operation(1): Increment Operation only works on a number",
        );
    }

    #[test]
    fn moves_need_a_source_outside_the_target() {
        let from = |from, path| {
            operation(
                path,
                PatchAction::Move {
                    from: JsonPointer::parse(from).unwrap(),
                },
            )
        };
        check(r#"{"a":1,"b":{}}"#, from("/a", "/b/c"), r#"{"b":{"c":1}}"#);
        check(r#"{"a":1,"b":2}"#, from("/a", "/b"), r#"{"b":1}"#);
        check(r#"{"a":1}"#, from("/a", "/a"), r#"{"a":1}"#);
        check(
            r#"{"a":{}}"#,
            from("/a", "/a/b"),
            "For Operation(1): Move Operation cannot move",
        );
        check(
            "{}",
            from("/a", "/b"),
            "For Operation(1): Move Operation only works on an existing path",
        );
    }
}
