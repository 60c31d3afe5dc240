//! The result of one operation of a batch.

use bytes::Bytes;
use orrery_model::{Charge, Failure, OperationOutcome, OperationStatus};

use crate::status::ErrorStatus;

/// The result of one operation, independent of the encoding of the answer.
#[derive(Debug, Clone, Default)]
pub struct BatchResult {
    pub status: u16,
    pub substatus: Option<u32>,
    pub charge: Charge,
    pub etag: Option<String>,
    /// The JSON text of an item. SDKs treat any body as an item, also beside a failure, so failures
    /// have none.
    pub body: Option<Bytes>,
    /// The reason of a refusal.
    pub message: Option<String>,
    pub retry_after_ms: Option<u64>,
}

impl BatchResult {
    /// The result of an operation that was carried out.
    pub fn of_outcome(outcome: &OperationOutcome, drops_body: bool) -> BatchResult {
        BatchResult {
            status: operation_status_code(outcome.status),
            substatus: None,
            charge: outcome.charge,
            etag: outcome.etag.as_ref().map(|etag| etag.as_str().to_owned()),
            body: outcome.body.clone().filter(|_| !drops_body),
            message: None,
            retry_after_ms: None,
        }
    }

    /// The result of an operation that failed.
    pub fn of_failure(failure: &Failure, charge: Charge) -> BatchResult {
        let ErrorStatus {
            status,
            substatus,
            message,
            ..
        } = ErrorStatus::of(failure);
        // A failed dependency reports no reason: the failed operation of the batch reports it.
        let explains = *failure != Failure::FailedDependency;
        BatchResult {
            status,
            substatus,
            charge,
            etag: None,
            body: None,
            message: explains.then(|| message.into()),
            retry_after_ms: match failure {
                Failure::TooManyRequests { retry_after_ms }
                | Failure::BucketExceeded { retry_after_ms }
                | Failure::BucketsChanging { retry_after_ms }
                | Failure::TooManyScripts { retry_after_ms }
                | Failure::ClientLimitExceeded { retry_after_ms, .. } => Some(*retry_after_ms),
                _ => None,
            },
        }
    }
}

/// The status code of an item operation that was carried out.
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
        let result = |failure: Failure| BatchResult::of_failure(&failure, Charge::ZERO);
        let dependent = result(Failure::FailedDependency);
        assert_eq!((dependent.status, dependent.message), (424, None));
        let throttled = result(Failure::TooManyRequests { retry_after_ms: 9 });
        assert_eq!((throttled.status, throttled.substatus), (429, Some(3200)));
        assert_eq!(throttled.retry_after_ms, Some(9));
        assert_eq!(throttled.body, None);
        assert!(throttled.message.unwrap().contains("request rate"));
    }
}
