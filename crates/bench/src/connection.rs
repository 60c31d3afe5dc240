//! One keep-alive connection with at most one open request.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::endpoint::Endpoint;
use crate::response::{BodyLength, Head, decode_chunks};

/// Larger than an ordinary answer: a read that does not fill its buffer tells the runtime that the
/// socket is drained, which saves a system call.
const BUFFER_BYTES: usize = 16 * 1024;

pub(crate) struct Connection {
    endpoint: Endpoint,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
    decoded: Vec<u8>,
}

/// A whole response, borrowed from the buffers of its connection.
pub(crate) struct Response<'a> {
    pub(crate) head: Head,
    pub(crate) head_bytes: &'a [u8],
    pub(crate) body: &'a [u8],
    pub(crate) received_bytes: usize,
}

/// The end of the response in the buffer of the connection.
struct Layout {
    head: Head,
    received_bytes: usize,
}

impl Connection {
    pub(crate) async fn open(endpoint: Endpoint) -> io::Result<Self> {
        let stream = Some(endpoint.connect().await?);
        Ok(Self {
            endpoint,
            stream,
            buffer: vec![0; BUFFER_BYTES],
            decoded: Vec::new(),
        })
    }

    /// Sends a request and waits for its response. After an error, and after a server that closes,
    /// the next call opens a new connection.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> io::Result<Response<'_>> {
        // The stream leaves `self` for the exchange: an error, or a cancelled future, drops it, so
        // that a half-read response cannot be taken for the next one.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.endpoint.connect().await?,
        };
        stream.write_all(request).await?;
        let layout = self.receive(&mut stream).await?;
        if !layout.head.close {
            self.stream = Some(stream);
        }
        let (head_bytes, rest) = self.buffer.split_at(layout.head.bytes);
        let body = match layout.head.body {
            BodyLength::Known(length) => &rest[..length],
            BodyLength::Chunked => &self.decoded,
        };
        let received_bytes = layout.received_bytes;
        Ok(Response {
            head: layout.head,
            head_bytes,
            body,
            received_bytes,
        })
    }

    /// Reads until the response is complete.
    async fn receive(&mut self, stream: &mut TcpStream) -> io::Result<Layout> {
        let mut filled = 0;
        let mut head = None;
        loop {
            // Doubling keeps the number of copies of a large body logarithmic.
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let count = stream.read(&mut self.buffer[filled..]).await?;
            // The server closed the connection within a response.
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            filled += count;
            let received = &self.buffer[..filled];
            // A head is parsed once; a body may arrive in many reads.
            if head.is_none() {
                head = Head::parse(received)?;
            }
            let Some(head) = head else { continue };
            let body = &received[head.bytes..];
            // None while the body is incomplete.
            let body_bytes = match head.body {
                BodyLength::Known(length) => (body.len() >= length).then_some(length),
                // `decode_chunks` keeps no state between calls, so every read decodes the body from
                // its start.
                BodyLength::Chunked => decode_chunks(body, &mut self.decoded)?,
            };
            if let Some(body_bytes) = body_bytes {
                return Ok(Layout {
                    head,
                    received_bytes: head.bytes + body_bytes,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each request with the pieces of the next script, each piece in its own segment.
    async fn serve(listener: TcpListener, scripts: Vec<Vec<Vec<u8>>>) {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = [0; 64];
        for pieces in scripts {
            assert!(stream.read(&mut request).await.unwrap() > 0);
            for piece in pieces {
                stream.write_all(&piece).await.unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn responses_in_pieces() {
        let large = [
            b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".to_vec(),
            vec![b'a'; 100_000],
        ];
        let scripts = vec![
            vec![
                b"HTTP/1.1 200 OK\r\nconte".to_vec(),
                b"nt-length: 3\r\n\r\nab".to_vec(),
                b"c".to_vec(),
            ],
            vec![
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n".to_vec(),
                b"1\r\nc\r\n0\r".to_vec(),
                b"\n\r\n".to_vec(),
            ],
            large.to_vec(),
            vec![b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()],
        ];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(serve(listener, scripts));

        let mut connection = Connection::open(Endpoint::parse(&url).unwrap())
            .await
            .unwrap();
        for (status, length) in [(200, 3), (200, 3), (200, 100_000), (204, 0)] {
            let response = connection.exchange(b"request").await.unwrap();
            assert_eq!(
                (response.head.status, response.body.len()),
                (status, length)
            );
        }
        server.await.unwrap();
        assert!(connection.exchange(b"request").await.is_err());
    }
}
