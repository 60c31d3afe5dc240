//! The body of an answer. The body owns the loan for its bytes until the client has taken the last
//! byte.
//!
//! The body is sent in pieces, so that one piece of each answer waits in the buffers of a
//! connection, whatever the size of the answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use orrery_memory::Loan;

use crate::governor::OpenRequest;

/// The size of a piece: larger than most answers, and small compared with the memory that a
/// connection may use.
const PIECE_BYTES: usize = 32 * 1024;

/// The open request and the loan, which both end when the client has taken the last byte.
pub(crate) struct ResponseGuard {
    open: OpenRequest,
    _loan: Loan,
}

impl ResponseGuard {
    pub(crate) fn new(mut open: OpenRequest, loan: Loan) -> ResponseGuard {
        // The client may read from now on, so the register begins to measure its rate.
        open.answered();
        ResponseGuard { open, _loan: loan }
    }

    /// Counts bytes of the answer that were written to the connection.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.open.count_written(bytes);
    }
}

pub(crate) struct AnswerBody {
    rest: Bytes,
    guard: GuardHandle,
}

enum GuardHandle {
    Alone(ResponseGuard),
    /// Shared by the body and by each piece that hyper is still sending.
    Shared(Arc<ResponseGuard>),
    Nothing,
}

/// A part of the body that hyper has taken and is sending to the client.
pub(crate) struct Piece {
    bytes: Bytes,
    guard: GuardHandle,
}

impl AnswerBody {
    pub(crate) fn new(bytes: Bytes, guard: ResponseGuard) -> AnswerBody {
        // One piece needs no reference count, and most answers are one piece.
        let guard = if bytes.len() > PIECE_BYTES {
            GuardHandle::Shared(Arc::new(guard))
        } else {
            GuardHandle::Alone(guard)
        };
        AnswerBody { rest: bytes, guard }
    }
}

impl Body for AnswerBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        // `split_to` shares the buffer, so pieces copy no bytes.
        let length = self.rest.len().min(PIECE_BYTES);
        let bytes = self.rest.split_to(length);
        let guard = match &self.guard {
            GuardHandle::Shared(guard) if !self.rest.is_empty() => {
                GuardHandle::Shared(Arc::clone(guard))
            }
            // The last piece takes the guard from the body: hyper may drop the body as soon as it
            // has all pieces, while the last piece is still being sent.
            _ => std::mem::replace(&mut self.guard, GuardHandle::Nothing),
        };
        Poll::Ready(Some(Ok(Frame::data(Piece { bytes, guard }))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        // `advance` is called for bytes that the connection accepted, so this measures the rate of
        // the client.
        match &self.guard {
            GuardHandle::Alone(guard) => guard.count_written(count),
            GuardHandle::Shared(guard) => guard.count_written(count),
            GuardHandle::Nothing => {}
        }
        self.bytes.advance(count);
    }
}
