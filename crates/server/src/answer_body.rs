//! The body of an answer, which holds the loan for its bytes until the client has taken the last
//! one.
//!
//! It is handed out in pieces: what waits in the buffers of a connection is one piece for each
//! request, whatever the size of the answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use orrery_memory::Loan;

use crate::governor::Open;

/// Larger than most answers, and small beside what a connection may hold.
const PIECE_BYTES: usize = 32 * 1024;

/// The open request and the loan, which both end when the client has taken the last byte.
pub(crate) struct Held {
    open: Open,
    _loan: Loan,
}

impl Held {
    pub(crate) fn new(mut open: Open, loan: Loan) -> Held {
        open.answered();
        Held { open, _loan: loan }
    }
}

pub(crate) struct AnswerBody {
    rest: Bytes,
    held: Holding,
}

enum Holding {
    Alone(Held),
    /// Held by the body and by each piece that hyper is still sending.
    Shared(Arc<Held>),
    Nothing,
}

/// A part of the body that hyper has taken and is sending to the client.
pub(crate) struct Piece {
    bytes: Bytes,
    held: Holding,
}

impl AnswerBody {
    pub(crate) fn new(bytes: Bytes, held: Held) -> AnswerBody {
        let held = if bytes.len() > PIECE_BYTES {
            Holding::Shared(Arc::new(held))
        } else {
            Holding::Alone(held)
        };
        AnswerBody { rest: bytes, held }
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
        let length = self.rest.len().min(PIECE_BYTES);
        let bytes = self.rest.split_to(length);
        let held = match &self.held {
            Holding::Shared(held) if !self.rest.is_empty() => Holding::Shared(Arc::clone(held)),
            _ => std::mem::replace(&mut self.held, Holding::Nothing),
        };
        Poll::Ready(Some(Ok(Frame::data(Piece { bytes, held }))))
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
        match &self.held {
            Holding::Alone(held) => held.open.took(count),
            Holding::Shared(held) => held.open.took(count),
            Holding::Nothing => {}
        }
        self.bytes.advance(count);
    }
}
