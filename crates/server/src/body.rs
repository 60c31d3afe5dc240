//! Reads the body of a request, with limits on bytes, memory and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use orrery_engine::out_of_memory;
use orrery_memory::Loan;
use orrery_model::{Failure, limits};
use tokio::time::{Instant, timeout_at};

use crate::governor::STALL_RATE;

/// The bytes of a refused body that the server still reads and discards, so that the client
/// receives the refusal.
const DRAIN_BYTES_MAX: usize = 16 * 1024 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(3);

/// The memory that a parsed JSON value takes, beside its text.
const VALUE_BYTES: usize = 64;

/// The body of a request.
pub(crate) enum RequestBody {
    /// A body of HTTP, which the server reads once it has authorized the request.
    Incoming(Incoming),
    /// The body of a request in direct mode, which came with its frame.
    Whole(Bytes),
}

/// Reads the body of a request that authorization has allowed. The loan grows by the memory of the
/// body and of the JSON values that a parser makes from it. A client that sends fewer bytes than
/// [`STALL_RATE`] requires for `stall_time` has stalled, and the call fails with
/// [`Failure::Timeout`].
pub(crate) async fn read(
    body: RequestBody,
    loan: &mut Loan,
    stall_time: Duration,
) -> Result<Bytes, Failure> {
    let mut body = match body {
        RequestBody::Incoming(body) => body,
        RequestBody::Whole(bytes) if bytes.len() > limits::REQUEST_BYTES_MAX => {
            return Err(too_large());
        }
        RequestBody::Whole(bytes) => {
            borrow_for(&bytes, loan)?;
            return Ok(bytes);
        }
    };
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match collect(&mut body, loan, stall_time).await {
        Ok(bytes) => Ok(bytes),
        // A stalled client sends no more bytes to drain.
        Err(Failure::Timeout) => Err(Failure::Timeout),
        Err(failure) => {
            // The drain can take seconds, so the loan is returned first.
            loan.shrink(usize::MAX);
            drain_incoming(body).await;
            Err(failure)
        }
    }
}

async fn collect(
    body: &mut Incoming,
    loan: &mut Loan,
    stall_time: Duration,
) -> Result<Bytes, Failure> {
    let announced = body.size_hint().exact();
    let announced = announced.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    // A body that announces too many bytes is refused before the first byte is read.
    if announced.is_some_and(|length| length > limits::REQUEST_BYTES_MAX) {
        return Err(too_large());
    }
    // `first` is the only piece so far; `rest` is the buffer from the second piece on.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut pace = Pace::new(stall_time);
    loop {
        // The deadline moves with the received bytes, so that a slow client ends here, however long
        // its body is.
        let frame = timeout_at(pace.deadline, body.frame()).await;
        let Some(frame) = frame.map_err(|_| Failure::Timeout)? else {
            break;
        };
        let frame = frame.map_err(|error| {
            Failure::BadRequest(format!(
                "The body of the request could not be read: {error}."
            ))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        pace.came(data.len());
        let length = first.len() + rest.len() + data.len();
        // A body without an announced length is limited here.
        if length > limits::REQUEST_BYTES_MAX {
            return Err(too_large());
        }
        // Most bodies arrive in one piece, and one piece is not copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
            continue;
        }
        if rest.capacity() < length {
            // An announced length avoids regrowing; it is at most the limit that was checked above.
            let capacity = announced.unwrap_or(0).max(length.next_power_of_two());
            // The loan grows before the buffer: when no memory is left, the request fails instead
            // of the process.
            loan.grow(capacity - rest.capacity())
                .map_err(out_of_memory)?;
            rest.reserve(capacity - rest.len());
        }
        rest.extend_from_slice(&std::mem::take(&mut first));
        rest.extend_from_slice(&data);
    }
    let bytes = if rest.is_empty() {
        first
    } else {
        rest.freeze()
    };
    // Until here the first piece is memory of the connection and needs no loan of the request.
    borrow_for(&bytes, loan)?;
    Ok(bytes)
}

/// Borrows memory for a body and for the values in it.
fn borrow_for(bytes: &Bytes, loan: &mut Loan) -> Result<(), Failure> {
    let values = values_in(bytes);
    loan.grow(bytes.len() + values * VALUE_BYTES)
        .map_err(out_of_memory)
}

/// Reads and discards a body that the server has refused, for up to [`DRAIN_TIME`]: a client that
/// is still sending would not read the answer with the refusal.
pub(crate) async fn drain(body: RequestBody) {
    if let RequestBody::Incoming(body) = body {
        drain_incoming(body).await;
    }
}

async fn drain_incoming(mut body: Incoming) {
    let end = Instant::now() + DRAIN_TIME;
    let mut length = 0;
    while length < DRAIN_BYTES_MAX && !body.is_end_stream() {
        match timeout_at(end, body.frame()).await {
            Ok(Some(Ok(frame))) => length += frame.data_ref().map_or(0, Bytes::len),
            _ => break,
        }
    }
}

/// Counts `,`, `[` and `{`, which bounds the number of values in a JSON text: an array or object of
/// `n` values has one opening bracket and `n - 1` commas.
fn values_in(text: &[u8]) -> usize {
    let is_mark = |byte: &&u8| matches!(**byte, b',' | b'[' | b'{');
    text.iter().filter(is_mark).count()
}

/// Measures whether a body arrives fast enough.
struct Pace {
    stall_time: Duration,
    deadline: Instant,
    bytes: u64,
}

impl Pace {
    fn new(stall_time: Duration) -> Pace {
        Pace {
            stall_time,
            deadline: Instant::now() + stall_time,
            bytes: 0,
        }
    }

    /// Counts received bytes. The deadline moves only when a whole stretch of time has its bytes,
    /// so a client that sends one byte now and then still times out.
    fn came(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= self.stall_time.as_secs().max(1) * STALL_RATE {
            self.bytes = 0;
            self.deadline = Instant::now() + self.stall_time;
        }
    }
}

fn too_large() -> Failure {
    Failure::TooLarge(format!(
        "Request size is too large. The body has more than {} bytes.",
        limits::REQUEST_BYTES_MAX
    ))
}
