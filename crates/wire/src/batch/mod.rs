//! Batch requests: many item operations in one request, as JSON or as the `HybridRow` records of
//! the .NET SDK.

mod hybrid_row;
mod json;
mod operation;
mod result;

use orrery_model::{Failure, limits};

pub use operation::BatchOperation;
pub use result::{BatchResult, operation_status_code};

/// The encoding of the request. The response has the same encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchEncoding {
    Json,
    HybridRow,
}

/// The body of a batch request.
#[derive(Debug)]
pub struct BatchRequest {
    pub encoding: BatchEncoding,
    pub operations: Vec<BatchOperation>,
}

impl BatchRequest {
    /// Parses the body. Fails if the batch as a whole is malformed. An operation with invalid
    /// content contains its failure, because the answer reports the failure at the position of the
    /// operation.
    pub fn parse(body: &[u8]) -> Result<BatchRequest, Failure> {
        if body.len() > limits::REQUEST_BYTES_MAX {
            return Err(Failure::TooLarge(format!(
                "Request size is too large. A batch may have {} bytes.",
                limits::REQUEST_BYTES_MAX
            )));
        }
        let (encoding, operations) = match body.first() {
            // No JSON text begins with this byte.
            Some(&hybrid_row::VERSION) => (BatchEncoding::HybridRow, hybrid_row::parse(body)?),
            _ => (BatchEncoding::Json, json::parse(body)?),
        };
        if operations.is_empty() {
            return Err(Failure::bad_request("Batch request has no operations."));
        }
        if operations.len() > limits::BATCH_OPERATIONS_MAX {
            return Err(Failure::bad_request(
                "Batch request has more operations than what is supported.",
            ));
        }
        let operations = operations
            .into_iter()
            .map(operation::RawOperation::into_operation)
            .collect::<Result<_, _>>()?;
        Ok(BatchRequest {
            encoding,
            operations,
        })
    }
}

impl BatchEncoding {
    /// The body of the response: one result for each operation, in order.
    pub fn response_body(self, results: &[BatchResult]) -> Vec<u8> {
        match self {
            BatchEncoding::Json => json::write(results),
            BatchEncoding::HybridRow => hybrid_row::write(results),
        }
    }
}

/// The status of the whole response. A transactional batch is 207 also if one of its reads found no
/// newer version, even though its operations were carried out.
pub fn batch_status(results: &[BatchResult], is_atomic: bool) -> u16 {
    let limit = if is_atomic { 300 } else { 400 };
    if results.iter().any(|result| result.status >= limit) {
        207
    } else {
        200
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_batches_that_are_refused() {
        let many = format!(
            "[{}]",
            vec![r#"{"operationType":"Read","id":"a"}"#; 101].join(",")
        );
        for (body, expected) in [
            ("[]", "Batch request has no operations."),
            (
                many.as_str(),
                "Batch request has more operations than what is supported.",
            ),
        ] {
            let failure = BatchRequest::parse(body.as_bytes()).unwrap_err();
            assert_eq!(failure, Failure::bad_request(expected));
        }
        let large = vec![b' '; limits::REQUEST_BYTES_MAX + 1];
        assert!(matches!(
            BatchRequest::parse(&large),
            Err(Failure::TooLarge(_))
        ));
        for body in [
            "",
            "{}",
            "[1]",
            "[{}]",
            r#"[{"operationType":"Execute","id":"a"}]"#,
        ] {
            let failure = BatchRequest::parse(body.as_bytes()).unwrap_err();
            assert!(matches!(failure, Failure::BadRequest(_)), "{body}");
        }
    }

    #[test]
    fn statuses() {
        let result = |status| BatchResult {
            status,
            ..BatchResult::default()
        };
        for (statuses, is_atomic, expected) in [
            (vec![200, 201, 204], true, 200),
            (vec![200, 304], true, 207),
            (vec![200, 304], false, 200),
            (vec![424, 409], true, 207),
            (vec![200, 409], false, 207),
        ] {
            let results: Vec<_> = statuses.iter().copied().map(result).collect();
            assert_eq!(batch_status(&results, is_atomic), expected, "{statuses:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(body in proptest::collection::vec(any::<u8>(), 0..128)) {
            let _ = BatchRequest::parse(&body);
        }
    }
}
