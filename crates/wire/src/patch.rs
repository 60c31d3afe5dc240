//! The body of a PATCH: `{"operations":[…],"condition":"…"}`, or the bare array.
//!
//! This module refuses what is wrong without regard to the document. Its messages number the
//! operations from one, as SDKs do. Whether a path exists, and whether it is a partition key, only
//! the engine knows.

use orrery_json::{Object, Value};
use orrery_model::{Failure, JsonPointer, Patch, PatchAction, PatchOperation, limits};

use crate::body::parse_body;

/// The properties of an item that a patch must not change.
const PROTECTED: [&str; 7] = [
    "id",
    "_rid",
    "_self",
    "_etag",
    "_attachments",
    "_ts",
    "_lsn",
];

/// Parses the body of a PATCH request.
pub fn parse_patch(body: &[u8]) -> Result<Patch, Failure> {
    patch_from_value(parse_body(body)?)
}

/// Takes a parsed body, as batches contain it.
pub(crate) fn patch_from_value(body: Value) -> Result<Patch, Failure> {
    let (operations, condition) = match body {
        Value::Array(operations) => (operations, None),
        Value::Object(mut object) => (operations_of(&mut object)?, condition_of(&mut object)?),
        _ => return Err(invalid("A patch must be a JSON object with 'operations'.")),
    };
    if operations.is_empty() {
        return Err(invalid("Patch request has no operations."));
    }
    if operations.len() > limits::PATCH_OPERATIONS_MAX {
        return Err(Failure::BadRequest(format!(
            "The number of patch operations can't exceed '{}'.",
            limits::PATCH_OPERATIONS_MAX
        )));
    }
    let operations = operations
        .into_iter()
        .enumerate()
        .map(|(index, value)| {
            operation(value)
                .map_err(|why| Failure::BadRequest(format!("For Operation({}): {why}", index + 1)))
        })
        .collect::<Result<_, _>>()?;
    Ok(Patch {
        operations,
        condition,
    })
}

/// The operations of the body, which must be present.
fn operations_of(object: &mut Object) -> Result<Vec<Value>, Failure> {
    match object.swap_remove("operations") {
        Some(Value::Array(operations)) => Ok(operations),
        Some(_) => Err(invalid("'operations' must be an array.")),
        None => Err(Failure::MissingProperty("operations")),
    }
}

/// The condition of the body. A blank condition counts as absent.
fn condition_of(object: &mut Object) -> Result<Option<String>, Failure> {
    match object.swap_remove("condition") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
        Some(_) => Err(invalid("'condition' must be a string.")),
    }
}

/// Parses one operation. The caller adds its number to the refusal.
fn operation(value: Value) -> Result<PatchOperation, String> {
    let Value::Object(mut object) = value else {
        return Err("An operation must be a JSON object.".to_owned());
    };
    let Some(Value::String(op)) = object.swap_remove("op") else {
        return Err("The operation has no 'op'.".to_owned());
    };
    let path = pointer(&mut object, "path")?;
    // A closure, since only some operations have a value.
    let mut operand = || {
        object
            .swap_remove("value")
            .ok_or_else(|| format!("The operation '{op}' has no 'value'."))
    };
    let action = match op.to_ascii_lowercase().as_str() {
        "add" => PatchAction::Add(operand()?),
        "set" => PatchAction::Set(operand()?),
        "replace" => PatchAction::Replace(operand()?),
        "remove" => PatchAction::Remove,
        "incr" => match operand()? {
            Value::Number(number) => PatchAction::Increment(number),
            other => {
                return Err(format!(
                    "The value of an increment must be a number, but its type is {}.",
                    other.type_name()
                ));
            }
        },
        "move" => PatchAction::Move {
            from: pointer(&mut object, "from")?,
        },
        _ => {
            return Err(format!(
                "The operation '{op}' is not one of add, set, replace, remove, incr, move."
            ));
        }
    };
    Ok(PatchOperation { path, action })
}

/// Parses the path of an operation, and refuses system properties.
fn pointer(object: &mut Object, name: &str) -> Result<JsonPointer, String> {
    let Some(Value::String(text)) = object.swap_remove(name) else {
        return Err(format!("The operation has no '{name}'."));
    };
    let pointer = JsonPointer::parse(&text)
        .ok_or_else(|| format!("The '{name}' '{text}' is not a path such as '/a/b'."))?;
    match pointer.segments.first() {
        // Only the first segment matters: a nested property may have such a name.
        Some(first) if PROTECTED.contains(&first.as_str()) => {
            Err(format!("The property '{first}' cannot be patched."))
        }
        _ => Ok(pointer),
    }
}

/// The refusal of the whole patch.
fn invalid(why: &str) -> Failure {
    Failure::BadRequest(format!("One of the input values is invalid. {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_operation_is_read() {
        let patch = parse_patch(
            br#"{"operations":[
                {"op":"add","path":"/a","value":1},
                {"op":"set","path":"/a/b~1c","value":null},
                {"op":"replace","path":"/a/0","value":[]},
                {"op":"remove","path":"/a"},
                {"op":"incr","path":"/n","value":-1.5},
                {"op":"move","from":"/a","path":"/b"}],
               "condition":"from c where c.n = 3"}"#,
        )
        .unwrap();
        assert_eq!(patch.condition.as_deref(), Some("from c where c.n = 3"));
        let names: Vec<&str> = patch
            .operations
            .iter()
            .map(|operation| match &operation.action {
                PatchAction::Add(_) => "add",
                PatchAction::Set(_) => "set",
                PatchAction::Replace(_) => "replace",
                PatchAction::Remove => "remove",
                PatchAction::Increment(_) => "incr",
                PatchAction::Move { .. } => "move",
            })
            .collect();
        assert_eq!(names, ["add", "set", "replace", "remove", "incr", "move"]);
        assert_eq!(patch.operations[1].path.segments, ["a", "b/c"]);
        assert!(
            parse_patch(br#"[{"op":"remove","path":"/a"}]"#)
                .unwrap()
                .condition
                .is_none()
        );
    }

    #[test]
    fn what_no_document_can_take_is_refused() {
        let many = format!("[{}]", [r#"{"op":"remove","path":"/a"}"#; 11].join(","));
        for (body, expected) in [
            ("1", "A patch must be a JSON object"),
            ("[]", "Patch request has no operations."),
            (
                many.as_str(),
                "The number of patch operations can't exceed '10'.",
            ),
            (r#"{"operations":1}"#, "'operations' must be an array"),
            (
                r#"{"operations":[{"op":"remove","path":"/a"}],"condition":1}"#,
                "'condition' must be",
            ),
            (
                r#"[{"op":"remove","path":"/a"},{}]"#,
                "For Operation(2): The operation has no 'op'",
            ),
            (
                r#"[{"op":"test","path":"/a"}]"#,
                "For Operation(1): The operation 'test' is not one of",
            ),
            (r#"[{"op":"add","value":1}]"#, "no 'path'"),
            (r#"[{"op":"add","path":"/a"}]"#, "no 'value'"),
            (r#"[{"op":"move","path":"/a"}]"#, "no 'from'"),
            (
                r#"[{"op":"incr","path":"/a","value":"1"}]"#,
                "must be a number",
            ),
            (
                r#"[{"op":"remove","path":"a"}]"#,
                "'path' 'a' is not a path",
            ),
            (r#"[{"op":"remove","path":"/"}]"#, "is not a path"),
            (
                r#"[{"op":"set","path":"/id","value":"x"}]"#,
                "The property 'id' cannot be patched.",
            ),
            (
                r#"[{"op":"set","path":"/_ts","value":1}]"#,
                "The property '_ts' cannot be patched.",
            ),
            (
                r#"[{"op":"move","path":"/a","from":"/id"}]"#,
                "The property 'id' cannot be patched.",
            ),
        ] {
            match parse_patch(body.as_bytes()) {
                Err(Failure::BadRequest(message)) => {
                    assert!(message.contains(expected), "{message}");
                }
                other => panic!("{body}: {other:?}"),
            }
        }
        assert_eq!(
            parse_patch(b"{}").unwrap_err(),
            Failure::MissingProperty("operations")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse_patch(&body);
        }
    }
}
