//! Frames: a head, tokens, and a payload for some frames.
//!
//! ```text
//! request   u32 length | u16 resource type | u16 operation type | 16 bytes activity id | tokens | payload
//! response  u32 length | u32 status                             | 16 bytes activity id | tokens | payload
//! payload   u32 length | bytes, if the token PayloadPresent is 1
//! ```
//!
//! The length of a frame counts the head and the tokens, and not the payload.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::{Guid, Malformed, RequestToken, ResponseToken, TokenWriter, Tokens};

/// The bytes of a head, its length field included.
pub const HEAD_BYTES: usize = 24;
/// The bytes that state the length of a payload.
const LENGTH_BYTES: usize = 4;

/// The sizes that a reader of frames accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// The head and the tokens together.
    pub head_bytes: usize,
    pub payload_bytes: usize,
}

/// A request without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub resource: u16,
    pub operation: u16,
    pub activity_id: Guid,
    pub tokens: Tokens,
}

impl RequestHead {
    /// A request as a client makes it.
    pub fn new(
        (resource, operation): (u16, u16),
        activity_id: Guid,
        tokens: TokenWriter,
    ) -> Result<RequestHead, Malformed> {
        Ok(RequestHead {
            resource,
            operation,
            activity_id,
            tokens: Tokens::check(tokens.into_bytes().freeze())?,
        })
    }

    /// Whether the frame negotiates the context of its connection.
    pub fn is_context(&self) -> bool {
        self.resource == 0 && self.operation == 0
    }

    fn announces_payload(&self) -> Result<bool, Malformed> {
        let token = self.tokens.get(RequestToken::PayloadPresent);
        // In a context request the same id is the user agent, and such a request has no payload.
        match token.filter(|_| !self.is_context()) {
            Some(token) => Ok(token.number()? != 0),
            None => Ok(false),
        }
    }

    /// Writes the frame with a payload. An empty payload is written as no payload.
    pub fn write(&self, payload: &[u8], out: &mut BytesMut) {
        let start = out.len();
        out.put_u32_le(0);
        out.put_u16_le(self.resource);
        out.put_u16_le(self.operation);
        out.put_slice(&self.activity_id.0);
        self.tokens.iter().for_each(|token| token.write(out));
        let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        if let Some(field) = out.get_mut(start..start + LENGTH_BYTES) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        write_payload(payload, out);
    }
}

/// What a reader of requests found in its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The frame needs as many bytes in all before the next step.
    Needs(usize),
    /// A whole request with its payload.
    Request(RequestHead, Bytes),
}

/// Reads the requests of one connection, frame by frame.
#[derive(Debug)]
pub struct RequestReader {
    limits: FrameLimits,
    /// A head that waits for its payload.
    waiting: Option<RequestHead>,
}

impl RequestReader {
    pub fn new(limits: FrameLimits) -> RequestReader {
        RequestReader {
            limits,
            waiting: None,
        }
    }

    /// Whether the reader has a head whose payload is still missing.
    pub fn is_inside_frame(&self) -> bool {
        self.waiting.is_some()
    }

    /// Takes the next frame out of `buffer`, without a copy of its bytes. Refuses a frame as soon
    /// as its head shows that it is larger than the limits.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Step, Malformed> {
        let head = match self.waiting.take() {
            Some(head) => head,
            None => match self.head(buffer)? {
                Ok(head) => head,
                Err(needed) => return Ok(Step::Needs(needed)),
            },
        };
        if !head.announces_payload()? {
            return Ok(Step::Request(head, Bytes::new()));
        }
        let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else {
            self.waiting = Some(head);
            return Ok(Step::Needs(LENGTH_BYTES));
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > self.limits.payload_bytes {
            return Err(Malformed::TooLarge);
        }
        if buffer.len() < LENGTH_BYTES + length {
            self.waiting = Some(head);
            return Ok(Step::Needs(LENGTH_BYTES + length));
        }
        buffer.advance(LENGTH_BYTES);
        Ok(Step::Request(head, buffer.split_to(length).freeze()))
    }

    /// Takes the head and the tokens of a frame, or tells how many bytes they need.
    fn head(&self, buffer: &mut BytesMut) -> Result<Result<RequestHead, usize>, Malformed> {
        let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else {
            return Ok(Err(HEAD_BYTES));
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length < HEAD_BYTES {
            return Err(Malformed::Cut);
        }
        if length > self.limits.head_bytes {
            return Err(Malformed::TooLarge);
        }
        if buffer.len() < length {
            return Ok(Err(length));
        }
        let mut frame = buffer.split_to(length).freeze();
        frame.advance(LENGTH_BYTES);
        let (resource, operation) = (frame.get_u16_le(), frame.get_u16_le());
        let mut activity_id = Guid::default();
        frame.copy_to_slice(&mut activity_id.0);
        Ok(Ok(RequestHead {
            resource,
            operation,
            activity_id,
            tokens: Tokens::check(frame)?,
        }))
    }
}

/// A response that a server writes. Its payload is not copied: the server sends it after the bytes
/// of [`ResponseHead::finish`].
#[derive(Debug)]
pub struct ResponseHead {
    status: u32,
    activity_id: Guid,
    pub tokens: TokenWriter,
}

impl ResponseHead {
    pub fn new(status: u32, activity_id: Guid) -> ResponseHead {
        ResponseHead {
            status,
            activity_id,
            tokens: TokenWriter::after_head(HEAD_BYTES),
        }
    }

    /// The bytes before a payload of `payload_bytes`, with the token that announces the payload and
    /// the length of the payload.
    pub fn finish(mut self, payload_bytes: usize) -> Bytes {
        let present = ResponseToken::PayloadPresent;
        self.tokens.number(present, i64::from(payload_bytes > 0));
        let mut out = self.without_payload();
        if payload_bytes > 0 {
            out.put_u32_le(u32::try_from(payload_bytes).unwrap_or(u32::MAX));
        }
        out.freeze()
    }

    /// The bytes of a frame whose tokens do not speak of a payload.
    pub(crate) fn without_payload(self) -> BytesMut {
        let mut out = self.tokens.into_bytes();
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        if let Some(head) = out.get_mut(..HEAD_BYTES) {
            let mut head = head;
            head.put_u32_le(length);
            head.put_u32_le(self.status);
            head.put_slice(&self.activity_id.0);
        }
        out
    }
}

/// A response that a client has read, for tests of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u32,
    pub activity_id: Guid,
    pub tokens: Tokens,
    pub payload: Bytes,
}

impl Response {
    /// Takes the next response out of `buffer`, if the buffer has all of it. `context` says whether
    /// it answers the negotiation of a context, whose refusal has a payload that no token announces.
    pub fn take(buffer: &mut BytesMut, context: bool) -> Result<Option<Response>, Malformed> {
        let mut whole: &[u8] = buffer;
        let Some(length) = whole.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length < HEAD_BYTES {
            return Err(Malformed::Cut);
        }
        if whole.len() < length {
            return Ok(None);
        }
        whole.advance(LENGTH_BYTES);
        let status = whole.get_u32_le();
        let mut activity_id = Guid::default();
        whole.copy_to_slice(&mut activity_id.0);
        let bytes = whole.get(..length - HEAD_BYTES).ok_or(Malformed::Cut)?;
        let tokens = Tokens::check(Bytes::copy_from_slice(bytes))?;
        let present = tokens.get(ResponseToken::PayloadPresent);
        let has_payload = match present.filter(|_| !context) {
            Some(token) => token.number()? != 0,
            None => context && status >= 400,
        };
        let mut used = length;
        let mut payload = Bytes::new();
        if has_payload {
            let rest = buffer.get(length..).ok_or(Malformed::Cut)?;
            let Some(size) = rest.first_chunk::<LENGTH_BYTES>() else {
                return Ok(None);
            };
            let size = usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX);
            let Some(bytes) = rest.get(LENGTH_BYTES..).and_then(|rest| rest.get(..size)) else {
                return Ok(None);
            };
            payload = Bytes::copy_from_slice(bytes);
            used += LENGTH_BYTES + size;
        }
        buffer.advance(used);
        Ok(Some(Response {
            status,
            activity_id,
            tokens,
            payload,
        }))
    }

    /// Writes the response as it was read.
    pub fn write(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32_le(0);
        out.put_u32_le(self.status);
        out.put_slice(&self.activity_id.0);
        self.tokens.iter().for_each(|token| token.write(out));
        let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        if let Some(field) = out.get_mut(start..start + LENGTH_BYTES) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        write_payload(&self.payload, out);
    }
}

fn write_payload(payload: &[u8], out: &mut BytesMut) {
    if !payload.is_empty() {
        out.put_u32_le(u32::try_from(payload.len()).unwrap_or(u32::MAX));
        out.put_slice(payload);
    }
}
