//! The result of one operation of a batch.

use bytes::Bytes;
use orrery_model::{Charge, Failure, OperationOutcome, OperationStatus};

use crate::status::{ErrorStatus, error_body};

#[derive(Debug, Clone, Default)]
pub struct BatchResult {
    pub status: u16,
    pub substatus: Option<u32>,
    pub charge: Charge,
    pub etag: Option<String>,
    /// JSON text.
    pub body: Option<Bytes>,
    pub retry_after_ms: Option<u64>,
}

impl BatchResult {
    pub fn of_outcome(outcome: &OperationOutcome, drops_body: bool) -> BatchResult {
        BatchResult {
            status: operation_status_code(outcome.status),
            substatus: None,
            charge: outcome.charge,
            etag: outcome.etag.as_ref().map(|etag| etag.as_str().to_owned()),
            body: outcome.body.clone().filter(|_| !drops_body),
            retry_after_ms: None,
        }
    }

    pub fn of_failure(failure: &Failure, charge: Charge, activity_id: &str) -> BatchResult {
        let ErrorStatus {
            status, substatus, ..
        } = ErrorStatus::of(failure);
        let explains = *failure != Failure::FailedDependency;
        BatchResult {
            status,
            substatus,
            charge,
            etag: None,
            body: explains.then(|| Bytes::from(error_body(failure, activity_id))),
            retry_after_ms: match failure {
                Failure::TooManyRequests { retry_after_ms }
                | Failure::BucketExceeded { retry_after_ms }
                | Failure::BucketsChanging { retry_after_ms }
                | Failure::TooManyScripts { retry_after_ms }
                | Failure::TooMuchHeld { retry_after_ms, .. } => Some(*retry_after_ms),
                _ => None,
            },
        }
    }
}

/// The status of an item operation that was carried out.
pub fn operation_status_code(status: OperationStatus) -> u16 {
    match status {
        OperationStatus::Ok => 200,
        OperationStatus::Created => 201,
        OperationStatus::Deleted => 204,
        OperationStatus::NotModified => 304,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_explain_themselves_but_for_those_that_depend() {
        let result = |failure: Failure| BatchResult::of_failure(&failure, Charge::ZERO, "a");
        let dependent = result(Failure::FailedDependency);
        assert_eq!((dependent.status, dependent.body), (424, None));
        let throttled = result(Failure::TooManyRequests { retry_after_ms: 9 });
        assert_eq!((throttled.status, throttled.substatus), (429, Some(3200)));
        assert_eq!(throttled.retry_after_ms, Some(9));
        assert!(
            throttled
                .body
                .unwrap()
                .starts_with(b"{\"code\":\"TooManyRequests\"")
        );
    }
}
