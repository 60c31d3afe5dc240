//! Reads the body of a request, bounded.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use orrery_model::{Failure, limits};

/// What is read at most of a body that is refused, so that its sender hears the refusal.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;

pub(crate) async fn read(mut body: Incoming) -> Result<Bytes, Failure> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let mut first: Option<Bytes> = None;
    let mut rest = BytesMut::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Failure::BadRequest(format!(
                "The body of the request could not be read: {error}."
            ))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length += data.len();
        if length > DRAIN_BYTES_MAX {
            break;
        }
        if length > limits::REQUEST_BYTES_MAX {
            continue;
        }
        // Most bodies come in one piece, which is then not copied.
        match &first {
            None => first = Some(data),
            Some(start) => {
                if rest.is_empty() {
                    rest.extend_from_slice(start);
                }
                rest.extend_from_slice(&data);
            }
        }
    }
    if length > limits::REQUEST_BYTES_MAX {
        return Err(Failure::TooLarge(format!(
            "Request size is too large. The body has more than {} bytes.",
            limits::REQUEST_BYTES_MAX
        )));
    }
    Ok(if rest.is_empty() {
        first.unwrap_or_default()
    } else {
        rest.freeze()
    })
}
