//! The one table that maps failures to status, sub-status, code and text.

use std::borrow::Cow;

use orrery_json::write_string;
use orrery_model::{ConflictKind, Failure, GoneKind, NotFoundKind};

use crate::body::ObjectWriter;

/// The form of a failure in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorStatus<'f> {
    pub status: u16,
    /// The sub-status. Absent if it adds nothing to the status.
    pub substatus: Option<u32>,
    pub code: &'static str,
    /// The message without the activity id, which [`error_body`] adds.
    pub message: Cow<'f, str>,
}

const PARTITION_KEY_MISMATCH: &str = "PartitionKey extracted from document doesn't match the one specified in the \
     header. Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value. Partition key provided either doesn't \
     correspond to definition in the collection or doesn't match partition key field values specified in the \
     document.";
const REQUEST_TOO_LARGE: &str = "Request size is too large";
const NEEDS_PLAN: &str = "The provided cross partition query can not be directly served by the gateway. This is a first chance \
     (internal) exception that all newer clients will know how to handle gracefully. This exception is traced, but \
     unless you see it bubble up as an exception (which only happens on older SDK clients), then you can safely \
     ignore this message.";
const WRITE_FORBIDDEN: &str = "The requested operation cannot be performed at this region: writes are not allowed here, because \
     the account takes them in another region.";
const OUTCOME_UNKNOWN: &str = "Request timed out: at consistency level Strong a write waits for a majority of the regions, and too few of \
     them answered. It may stand later, so read the item before you write it again. If a region is lost, take it offline.";
const NOT_FOUND: &str = "Entity with the specified id does not exist in the system. Resource Not Found. Learn more: \
     https://aka.ms/cosmosdb-tsg-not-found";
const OWNER_NOT_FOUND: &str = "Owner resource does not exist. Resource Not Found. Learn more: \
     https://aka.ms/cosmosdb-tsg-not-found";
const SESSION_NOT_AVAILABLE: &str = "The read session is not available for the input session token. The read/write session is not \
     available: this replica has not reached the position the token names.";
const ID_EXISTS: &str = "Entity with the specified id already exists in the system. Resource with \
                         specified id, name, or unique index already exists.";
const UNIQUE_KEY_EXISTS: &str = "Unique index constraint violation. Resource with specified id, \
                                 name, or unique index already exists.";
const PRECONDITION_FAILED: &str = "Operation cannot be performed because one of the specified precondition is not met. One of \
     the specified pre-condition is not met";
const GONE: &str = "The requested resource is no longer available at the server.";
const RETRY_WITH: &str = "Conflicting request to resource has been attempted. Retry the request.";

impl<'f> ErrorStatus<'f> {
    /// The row of a failure. SDKs decide by status and sub-status whether to repeat a request, and
    /// where.
    pub fn of(failure: &'f Failure) -> ErrorStatus<'f> {
        let row = |status, substatus, code, message: &'f str| ErrorStatus {
            status,
            substatus,
            code,
            message: Cow::Borrowed(message),
        };
        match failure {
            Failure::BadRequest(message) => row(400, None, "BadRequest", message),
            Failure::OfferReplacePending => row(
                423,
                Some(3205),
                "Locked",
                "Another offer replace operation is in progress: physical partitions are being split for the \
                 throughput that was set before. Try again when the offer says that nothing is pending.",
            ),
            Failure::LogicalPartitionFull => row(
                403,
                Some(1014),
                "Forbidden",
                "Partition key reached maximum size of 20 GB. Choose a partition key with more values, or a \
                 hierarchical one, for items that are still to come; items of this key can be read and deleted.",
            ),
            Failure::MissingProperty(name) => ErrorStatus {
                status: 400,
                substatus: None,
                code: "BadRequest",
                message: Cow::Owned(format!(
                    "The input content is invalid because the required properties - '{name}; ' - \
                     are missing"
                )),
            },
            Failure::NeedsPlan(_) => row(400, Some(1004), "BadRequest", NEEDS_PLAN),
            Failure::PlanNotSupported(message) => row(400, Some(1004), "BadRequest", message),
            Failure::PartitionKeyMissing => row(
                400,
                None,
                "BadRequest",
                "PartitionKey value must be supplied for this operation.",
            ),
            Failure::PartitionKeyMismatch => {
                row(400, Some(1001), "BadRequest", PARTITION_KEY_MISMATCH)
            }
            Failure::ContainerRidMismatch => row(
                400,
                Some(1024),
                "BadRequest",
                "The container was recreated since the client read it: the intended collection rid \
                 is not the current one.",
            ),
            Failure::InvalidContinuation => {
                row(400, None, "BadRequest", "Invalid Continuation Token")
            }
            Failure::Unauthorized(message) => row(401, None, "Unauthorized", message),
            Failure::Forbidden(message) => row(403, None, "Forbidden", message),
            Failure::AccountNotFound(id) => ErrorStatus {
                status: 403,
                substatus: Some(1008),
                code: "Forbidden",
                message: Cow::Owned(format!("Database Account {id} does not exist")),
            },
            Failure::WriteForbidden => row(403, Some(3), "Forbidden", WRITE_FORBIDDEN),
            Failure::NotFound(NotFoundKind::Resource) => row(404, None, "NotFound", NOT_FOUND),
            Failure::NotFound(NotFoundKind::Owner) => {
                row(404, Some(1003), "NotFound", OWNER_NOT_FOUND)
            }
            Failure::SessionNotAvailable(_) => {
                row(404, Some(1002), "NotFound", SESSION_NOT_AVAILABLE)
            }
            Failure::MethodNotAllowed => row(
                405,
                None,
                "MethodNotAllowed",
                "The requested verb is not supported.",
            ),
            Failure::Timeout => row(408, None, "RequestTimeout", "Request timed out."),
            Failure::OutcomeUnknown => row(408, None, "RequestTimeout", OUTCOME_UNKNOWN),
            Failure::Conflict(ConflictKind::Id) => row(409, None, "Conflict", ID_EXISTS),
            Failure::Conflict(ConflictKind::UniqueKey) => {
                row(409, Some(3301), "Conflict", UNIQUE_KEY_EXISTS)
            }
            Failure::Gone(GoneKind::PartitionKeyRange) => row(410, Some(1002), "Gone", GONE),
            Failure::Gone(GoneKind::ContainerOfName) => row(410, Some(1000), "Gone", GONE),
            Failure::Gone(GoneKind::ReplicaRange) => row(410, Some(1007), "Gone", GONE),
            Failure::PreconditionFailed => {
                row(412, None, "PreconditionFailed", PRECONDITION_FAILED)
            }
            Failure::PatchConditionFalse => {
                row(412, Some(1110), "PreconditionFailed", PRECONDITION_FAILED)
            }
            Failure::TooLarge(message) if message.starts_with(REQUEST_TOO_LARGE) => ErrorStatus {
                message: Cow::Owned(format!(
                    "Message: {{\"Errors\":[\"{REQUEST_TOO_LARGE}\"]}} {message}"
                )),
                ..row(413, None, "RequestEntityTooLarge", "")
            },
            Failure::TooLarge(message) => row(413, None, "RequestEntityTooLarge", message),
            Failure::AnswerTooLarge => row(
                413,
                Some(3402),
                "RequestEntityTooLarge",
                "The size of the response exceeded the maximum allowed size: the operations of one request may read \
                 4 MB together. Send those that are left in another request.",
            ),
            Failure::FailedDependency => row(
                424,
                None,
                "FailedDependency",
                "The operation was not carried out because another operation of the batch failed.",
            ),
            Failure::TooManyRequests { .. } => row(
                429,
                Some(3200),
                "TooManyRequests",
                "The request rate is too large. Please retry after sometime. Learn more: \
                 http://aka.ms/cosmosdb-error-429",
            ),
            Failure::BucketExceeded { .. } => row(
                429,
                Some(3212),
                "TooManyRequests",
                "The request rate of the throughput bucket is too large. Please retry after sometime.",
            ),
            Failure::BucketsChanging { .. } => row(
                429,
                Some(3213),
                "TooManyRequests",
                "The throughput buckets were changed less than 10 minutes ago. Please retry after sometime.",
            ),
            Failure::TooManyScripts { .. } => row(
                429,
                Some(3084),
                "TooManyRequests",
                "Too many scripts are running at the same time. Please retry after sometime.",
            ),
            Failure::ClientLimitExceeded { message, .. } => {
                row(429, None, "TooManyRequests", message)
            }
            Failure::ScriptCompile(message) => row(400, Some(65_535), "BadRequest", message),
            Failure::Script { message, number } => row(400, *number, "BadRequest", message),
            Failure::RetryWith => row(449, None, "RetryWith", RETRY_WITH),
            // The status is not 501: the Python SDK sends a request that failed with 5xx four
            // times.
            Failure::NotImplemented(message) => row(400, None, "NotImplemented", message),
            Failure::Unavailable(message) => row(503, None, "ServiceUnavailable", message),
            Failure::Internal(message) => row(500, None, "InternalServerError", message),
        }
    }
}

/// The body of a failed request.
pub fn error_body(failure: &Failure, activity_id: &str) -> Vec<u8> {
    let ErrorStatus { code, message, .. } = ErrorStatus::of(failure);
    if let Failure::AccountNotFound(id) = failure {
        return account_not_found_body(code, &message, id);
    }
    let agent = concat!("orrery/", env!("CARGO_PKG_VERSION"));
    let mut body = Vec::with_capacity(message.len() + 128);
    body.extend_from_slice(b"{\"code\":");
    write_string(code, &mut body);
    body.extend_from_slice(b",\"message\":");
    write_string(
        &format!("{message}\r\nActivityId: {activity_id}, {agent}"),
        &mut body,
    );
    if let Failure::NeedsPlan(plan) = failure {
        body.extend_from_slice(b",\"additionalErrorInfo\":");
        write_string(plan, &mut body);
    }
    body.push(b'}');
    body
}

/// The body of a missing account. An SDK that parses it as an account document finds no locations
/// in it.
fn account_not_found_body(code: &str, message: &str, id: &str) -> Vec<u8> {
    ObjectWriter::new()
        .text("code", code)
        .text("message", message)
        .raw("writableLocations", b"[]")
        .raw("readableLocations", b"[]")
        .text("id", id)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table() {
        let text = || "text".to_owned();
        for (failure, status, substatus, code, message) in [
            (Failure::BadRequest(text()), 400, None, "BadRequest", "text"),
            (
                Failure::MissingProperty("id"),
                400,
                None,
                "BadRequest",
                "The input content is invalid because the required properties - 'id; ' - are missing",
            ),
            (
                Failure::NeedsPlan(text()),
                400,
                Some(1004),
                "BadRequest",
                "The provided cross partition query can not be directly served by the gateway.",
            ),
            (
                Failure::PlanNotSupported(text()),
                400,
                Some(1004),
                "BadRequest",
                "text",
            ),
            (
                Failure::PartitionKeyMissing,
                400,
                None,
                "BadRequest",
                "PartitionKey value must be supplied for this operation.",
            ),
            (
                Failure::PartitionKeyMismatch,
                400,
                Some(1001),
                "BadRequest",
                PARTITION_KEY_MISMATCH,
            ),
            (
                Failure::ContainerRidMismatch,
                400,
                Some(1024),
                "BadRequest",
                "recreated",
            ),
            (
                Failure::InvalidContinuation,
                400,
                None,
                "BadRequest",
                "Invalid Continuation Token",
            ),
            (
                Failure::Unauthorized(text()),
                401,
                None,
                "Unauthorized",
                "text",
            ),
            (Failure::Forbidden(text()), 403, None, "Forbidden", "text"),
            (
                Failure::AccountNotFound(text()),
                403,
                Some(1008),
                "Forbidden",
                "Database Account text does not exist",
            ),
            (
                Failure::WriteForbidden,
                403,
                Some(3),
                "Forbidden",
                WRITE_FORBIDDEN,
            ),
            (
                Failure::NOT_FOUND,
                404,
                None,
                "NotFound",
                "https://aka.ms/cosmosdb-tsg-not-found",
            ),
            (
                Failure::NOT_FOUND,
                404,
                None,
                "NotFound",
                "Entity with the specified id does not exist",
            ),
            (
                Failure::OWNER_NOT_FOUND,
                404,
                Some(1003),
                "NotFound",
                "Resource Not Found",
            ),
            (
                Failure::SessionNotAvailable(text()),
                404,
                Some(1002),
                "NotFound",
                "The read session is not available for the input session token.",
            ),
            (
                Failure::SessionNotAvailable(text()),
                404,
                Some(1002),
                "NotFound",
                "The read/write session is not available",
            ),
            (
                Failure::MethodNotAllowed,
                405,
                None,
                "MethodNotAllowed",
                "The requested verb is not supported.",
            ),
            (
                Failure::Timeout,
                408,
                None,
                "RequestTimeout",
                "Request timed out.",
            ),
            (
                Failure::OutcomeUnknown,
                408,
                None,
                "RequestTimeout",
                OUTCOME_UNKNOWN,
            ),
            (
                Failure::Conflict(ConflictKind::Id),
                409,
                None,
                "Conflict",
                "Entity with the specified id already exists in the system.",
            ),
            (
                Failure::Conflict(ConflictKind::UniqueKey),
                409,
                Some(3301),
                "Conflict",
                "Resource with specified id, name, or unique index already exists.",
            ),
            (
                Failure::Gone(GoneKind::ContainerOfName),
                410,
                Some(1000),
                "Gone",
                GONE,
            ),
            (
                Failure::Gone(GoneKind::ReplicaRange),
                410,
                Some(1007),
                "Gone",
                GONE,
            ),
            (
                Failure::Gone(GoneKind::PartitionKeyRange),
                410,
                Some(1002),
                "Gone",
                "The requested resource is no longer available at the server.",
            ),
            (
                Failure::PreconditionFailed,
                412,
                None,
                "PreconditionFailed",
                "One of the specified pre-condition is not met",
            ),
            (
                Failure::PatchConditionFalse,
                412,
                Some(1110),
                "PreconditionFailed",
                "one of the specified precondition is not met.",
            ),
            (
                Failure::TooLarge(text()),
                413,
                None,
                "RequestEntityTooLarge",
                "text",
            ),
            (
                Failure::AnswerTooLarge,
                413,
                Some(3402),
                "RequestEntityTooLarge",
                "may read 4 MB together",
            ),
            (
                Failure::FailedDependency,
                424,
                None,
                "FailedDependency",
                "another operation",
            ),
            (
                Failure::TooManyRequests { retry_after_ms: 5 },
                429,
                Some(3200),
                "TooManyRequests",
                "The request rate is too large.",
            ),
            (
                Failure::BucketExceeded { retry_after_ms: 5 },
                429,
                Some(3212),
                "TooManyRequests",
                "throughput bucket",
            ),
            (
                Failure::BucketsChanging { retry_after_ms: 5 },
                429,
                Some(3213),
                "TooManyRequests",
                "less than 10 minutes ago",
            ),
            (
                Failure::TooManyScripts { retry_after_ms: 5 },
                429,
                Some(3084),
                "TooManyRequests",
                "Too many scripts",
            ),
            (
                Failure::ScriptCompile(text()),
                400,
                Some(65_535),
                "BadRequest",
                "text",
            ),
            (
                Failure::Script {
                    message: text(),
                    number: Some(409),
                },
                400,
                Some(409),
                "BadRequest",
                "text",
            ),
            (
                Failure::RetryWith,
                449,
                None,
                "RetryWith",
                "Retry the request.",
            ),
            (
                Failure::NotImplemented(text()),
                400,
                None,
                "NotImplemented",
                "text",
            ),
            (
                Failure::Unavailable(text()),
                503,
                None,
                "ServiceUnavailable",
                "text",
            ),
            (
                Failure::Internal(text()),
                500,
                None,
                "InternalServerError",
                "text",
            ),
        ] {
            let row = ErrorStatus::of(&failure);
            assert_eq!(
                (row.status, row.substatus, row.code),
                (status, substatus, code)
            );
            assert!(row.message.contains(message), "{failure:?}");
        }
    }

    #[test]
    fn a_region_that_left_the_account_names_no_locations() {
        let body = error_body(&Failure::AccountNotFound("a".to_owned()), "id-1");
        assert_eq!(
            String::from_utf8(body).unwrap(),
            r#"{"code":"Forbidden","message":"Database Account a does not exist","writableLocations":[],"readableLocations":[],"id":"a"}"#
        );
    }

    #[test]
    fn bodies_name_the_activity() {
        let body = error_body(&Failure::bad_request("a \"b\""), "id-1");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            String::from_utf8(body).unwrap(),
            format!(
                r#"{{"code":"BadRequest","message":"a \"b\"\r\nActivityId: id-1, orrery/{version}"}}"#
            )
        );
    }

    #[test]
    fn a_refused_query_takes_its_plan_along() {
        let body = error_body(&Failure::NeedsPlan(r#"{"top":1}"#.to_owned()), "id-1");
        let body = String::from_utf8(body).unwrap();
        let plan = r#","additionalErrorInfo":"{\"top\":1}"}"#;
        assert!(
            body.starts_with(
                r#"{"code":"BadRequest","message":"The provided cross partition query"#
            )
        );
        assert!(body.ends_with(plan), "{body}");
    }
}
