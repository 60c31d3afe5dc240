//! The socket of a connection. It counts the bytes that it reads and writes in the [`Connection`].
//!
//! The socket lies below TLS, so the bytes of a handshake count too.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use orrery_memory::Loan;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::AdmittedConnection;
use super::connection::Connection;
use super::rules::Reason;

/// Bytes of headers that need no loan of their own: the memory that every connection borrows when
/// the register admits it includes them.
const HEAD_BYTES_FREE: usize = 16 * 1024;

pub(crate) struct Socket {
    stream: TcpStream,
    admitted: AdmittedConnection,
    /// The loan for bytes of headers beyond [`HEAD_BYTES_FREE`].
    head: Option<Loan>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, admitted: AdmittedConnection) -> Socket {
        Socket {
            stream,
            admitted,
            head: None,
        }
    }

    fn connection(&self) -> &Arc<Connection> {
        self.admitted.connection()
    }

    /// Counts received bytes, and borrows memory for headers that exceed the free bytes.
    fn count_received(&mut self, bytes: usize) -> io::Result<()> {
        let head_bytes = self.connection().count_head_bytes(bytes);
        if head_bytes <= HEAD_BYTES_FREE {
            // Small or complete headers need no loan.
            self.head = None;
            return Ok(());
        }
        let share = self.admitted.memory();
        let loan = self.head.get_or_insert_with(|| share.loan());
        loan.resize(head_bytes - HEAD_BYTES_FREE)
            .map_err(|refused| {
                // The connection ends with an error, so the reason must be counted here.
                self.admitted.refuse(Reason::Memory);
                io::Error::new(ErrorKind::OutOfMemory, refused)
            })
    }

    /// Records what the socket did with the bytes of a write.
    fn written(&self, poll: &Poll<io::Result<usize>>) {
        match poll {
            Poll::Ready(Ok(bytes)) => self.connection().wrote(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.connection().stalls(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = read {
            let bytes = buffer.filled().len() - before;
            if bytes > 0 {
                return Poll::Ready(self.count_received(bytes));
            }
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(&poll);
        poll
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(&poll);
        poll
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
