//! The JSON form of a batch.

use std::fmt::Display;

use orrery_json::{Object, Value};
use orrery_model::Failure;

use super::BatchResult;
use super::operation::{OperationType, RawOperation};
use crate::body::{ObjectWriter, array_of, parse_body};

/// Parses the operations of a batch.
pub(super) fn parse(body: &[u8]) -> Result<Vec<RawOperation>, Failure> {
    match parse_body(body)? {
        Value::Array(list) => list.into_iter().map(operation).collect(),
        _ => Err(invalid("A batch must be a JSON array of operations.")),
    }
}

/// The fields of one operation. Wrong types fail the whole batch.
fn operation(value: Value) -> Result<RawOperation, Failure> {
    let Value::Object(mut object) = value else {
        return Err(invalid("An operation of a batch must be a JSON object."));
    };
    let name = text(&mut object, "operationType")?
        .ok_or_else(|| invalid("An operation of a batch has no 'operationType'."))?;
    Ok(RawOperation {
        id: text(&mut object, "id")?,
        partition_key: partition_key(&mut object)?,
        if_match: text(&mut object, "ifMatch")?,
        if_none_match: text(&mut object, "ifNoneMatch")?,
        indexing: text(&mut object, "indexingDirective")?,
        minimal: object
            .get("minimalReturnPreference")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        // The body is parsed as an item later, so that a wrong item fails only its operation.
        body: object.swap_remove("resourceBody").map(Ok),
        ..RawOperation::new(operation_type(&name)?)
    })
}

/// The type of an operation, whatever its case.
fn operation_type(name: &str) -> Result<OperationType, Failure> {
    const TYPES: [(&str, OperationType); 6] = [
        ("create", OperationType::Create),
        ("upsert", OperationType::Upsert),
        ("read", OperationType::Read),
        ("replace", OperationType::Replace),
        ("delete", OperationType::Delete),
        ("patch", OperationType::Patch),
    ];
    TYPES
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, kind)| kind)
        .ok_or_else(|| {
            invalid(format!(
                "The operation type '{name}' is not known in a batch."
            ))
        })
}

/// The partition key of an operation as the text of a JSON array. A client may also send the array
/// itself.
fn partition_key(object: &mut Object) -> Result<Option<String>, Failure> {
    match object.get("partitionKey") {
        Some(array @ Value::Array(_)) => Ok(Some(array.to_string())),
        _ => text(object, "partitionKey"),
    }
}

/// A property with a string. SDKs write null for an absent property.
fn text(object: &mut Object, name: &str) -> Result<Option<String>, Failure> {
    match object.swap_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(invalid(format!(
            "'{name}' of an operation must be a string, but its type is {}.",
            other.type_name()
        ))),
    }
}

/// The refusal of the whole batch.
fn invalid(why: impl Display) -> Failure {
    Failure::BadRequest(format!("One of the input values is invalid. {why}"))
}

/// Writes the results in the order of the operations.
pub(super) fn write(results: &[BatchResult]) -> Vec<u8> {
    array_of(results.iter().map(write_result))
}

/// Writes one result. Absent properties are left out.
fn write_result(result: &BatchResult) -> Vec<u8> {
    let mut object = ObjectWriter::new()
        .literal("statusCode", result.status)
        .literal("requestCharge", result.charge);
    if let Some(substatus) = result.substatus {
        object = object.literal("subStatusCode", substatus);
    }
    if let Some(milliseconds) = result.retry_after_ms {
        object = object.literal("retryAfterMilliseconds", milliseconds);
    }
    if let Some(etag) = &result.etag {
        object = object.text("eTag", etag);
    }
    if let Some(body) = &result.body {
        object = object.raw("resourceBody", body);
    }
    if let Some(message) = &result.message {
        object = object.text("message", message);
    }
    object.finish()
}

#[cfg(test)]
mod tests {
    use orrery_model::{Charge, OperationKind, Precondition};

    use super::*;
    use crate::BatchRequest;

    #[test]
    fn every_operation_is_read() {
        let body = br#"[
            {"operationType":"Create","resourceBody":{"id":"a"},"partitionKey":"[\"v\"]","minimalReturnPreference":true},
            {"operationType":"Upsert","resourceBody":{"id":"a"},"ifMatch":"\"e\"","ifNoneMatch":"*","partitionKey":[1]},
            {"operationType":"Read","id":"x"},
            {"operationType":"Replace","id":"x","resourceBody":{"id":"x"}},
            {"operationType":"Delete","id":"x"},
            {"operationType":"Patch","id":"x","resourceBody":{"operations":[{"op":"remove","path":"/a"}]}}]"#;
        let request = BatchRequest::parse(body).unwrap();
        let kinds: Vec<&str> = request
            .operations
            .iter()
            .map(
                |operation| match &operation.operation.as_ref().unwrap().kind {
                    OperationKind::Create(_) => "create",
                    OperationKind::Upsert(_) => "upsert",
                    OperationKind::Read { .. } => "read",
                    OperationKind::Replace { .. } => "replace",
                    OperationKind::Delete { .. } => "delete",
                    OperationKind::Patch { .. } => "patch",
                },
            )
            .collect();
        assert_eq!(
            kinds,
            ["create", "upsert", "read", "replace", "delete", "patch"]
        );
        let [create, upsert, read, ..] = request.operations.as_slice() else {
            panic!()
        };
        assert_eq!(create.partition_key.as_ref().unwrap().to_json(), r#"["v"]"#);
        assert_eq!(upsert.partition_key.as_ref().unwrap().to_json(), "[1]");
        assert!(create.drops_body(false));
        assert!(!upsert.drops_body(false) && upsert.drops_body(true));
        assert!(!read.drops_body(true));
        let upsert = upsert.operation.as_ref().unwrap();
        assert_eq!(
            upsert.if_match,
            Some(Precondition::Etag("\"e\"".to_owned()))
        );
        assert_eq!(upsert.if_none_match, Some(Precondition::Any));
    }

    #[test]
    fn an_operation_with_wrong_content_fails_in_its_place() {
        let body = br#"[{"operationType":"Create","resourceBody":{}},{"operationType":"Read"},
            {"operationType":"Upsert"},{"operationType":"Read","id":"x"}]"#;
        let request = BatchRequest::parse(body).unwrap();
        let failures: Vec<Option<Failure>> = request
            .operations
            .into_iter()
            .map(|operation| operation.operation.err())
            .collect();
        let missing = |name| Some(Failure::MissingProperty(name));
        assert_eq!(
            failures,
            [missing("id"), missing("id"), missing("resourceBody"), None]
        );
    }

    #[test]
    fn results_are_written_in_order() {
        let results = [
            BatchResult {
                status: 201,
                charge: Charge::from_units(5.5),
                etag: Some("\"e\"".to_owned()),
                body: Some("{}".into()),
                ..BatchResult::default()
            },
            BatchResult {
                status: 429,
                substatus: Some(3200),
                retry_after_ms: Some(7),
                message: Some("Wait.".to_owned()),
                ..BatchResult::default()
            },
        ];
        assert_eq!(
            String::from_utf8(write(&results)).unwrap(),
            r#"[{"statusCode":201,"requestCharge":5.5,"eTag":"\"e\"","resourceBody":{}},{"statusCode":429,"requestCharge":0,"subStatusCode":3200,"retryAfterMilliseconds":7,"message":"Wait."}]"#
        );
    }
}
