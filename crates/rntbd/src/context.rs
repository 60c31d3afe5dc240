//! The negotiation of a connection: the first request of a client, and the answer to it.

use bytes::{BufMut, Bytes, BytesMut};

use crate::{ContextRequestToken, ContextResponseToken, Malformed, RequestHead, ResponseHead};

/// The version of the protocol that this crate speaks.
const PROTOCOL_VERSION: i64 = 1;

/// What a client says of itself before its first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRequest {
    /// The version of the REST protocol, which counts for every request of the connection.
    pub client_version: String,
    pub user_agent: String,
}

impl ContextRequest {
    /// Reads the negotiation out of the first frame of a connection.
    pub fn of(frame: &RequestHead) -> Result<ContextRequest, Malformed> {
        if !frame.is_context() {
            return Err(Malformed::NoContext);
        }
        let token = |name: ContextRequestToken| {
            let token = frame.tokens.get(name);
            token.ok_or(Malformed::Missing(name as u16))
        };
        let version = token(ContextRequestToken::ProtocolVersion)?.number()?;
        if version != PROTOCOL_VERSION {
            return Err(Malformed::Version(version));
        }
        let text = |name| Ok::<_, Malformed>(token(name)?.text()?.to_owned());
        Ok(ContextRequest {
            client_version: text(ContextRequestToken::ClientVersion)?,
            user_agent: text(ContextRequestToken::UserAgent)?,
        })
    }
}

/// What a server says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextResponse<'c> {
    pub server_agent: &'c str,
    pub server_version: &'c str,
    /// How long the server keeps a connection without requests.
    pub idle_seconds: u32,
    /// How long the server keeps a connection without a request that it authorized.
    pub unauthenticated_seconds: u32,
}

impl ContextResponse<'_> {
    /// Writes the answer to a negotiation.
    pub fn write(&self, frame: &RequestHead, request: &ContextRequest) -> Bytes {
        let mut head = ResponseHead::new(200, frame.activity_id);
        let tokens = &mut head.tokens;
        tokens.number(ContextResponseToken::ProtocolVersion, PROTOCOL_VERSION);
        tokens.text(ContextResponseToken::ClientVersion, &request.client_version);
        tokens.text(ContextResponseToken::ServerAgent, self.server_agent);
        tokens.text(ContextResponseToken::ServerVersion, self.server_version);
        tokens.number(
            ContextResponseToken::IdleTimeoutInSeconds,
            i64::from(self.idle_seconds),
        );
        tokens.number(
            ContextResponseToken::UnauthenticatedTimeoutInSeconds,
            i64::from(self.unauthenticated_seconds),
        );
        head.without_payload().freeze()
    }
}

/// Writes the refusal of a negotiation. Its JSON object follows without a token that announces it.
pub fn refuse_context(frame: &RequestHead, status: u32, object: &[u8]) -> Bytes {
    let head = ResponseHead::new(status, frame.activity_id);
    let mut out: BytesMut = head.without_payload();
    out.put_u32_le(u32::try_from(object.len()).unwrap_or(u32::MAX));
    out.put_slice(object);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameLimits, RequestReader, Step};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex
            .chars()
            .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] * 16 + pair[1])
            .collect()
    }

    #[test]
    fn the_published_example() {
        let mut buffer = BytesMut::from(
            &bytes(
                "330000000000000033221100554477668899aabbccddeeff000002010000000100070a323032302d30372d3135020007027561",
            )[..],
        );
        let mut reader = RequestReader::new(FrameLimits {
            head_bytes: 1_000,
            payload_bytes: 0,
        });
        let Step::Request(frame, _) = reader.next(&mut buffer).unwrap() else {
            panic!("the frame is whole");
        };
        let request = ContextRequest::of(&frame).unwrap();
        assert_eq!(request.client_version, "2020-07-15");
        assert_eq!(request.user_agent, "ua");
        let response = ContextResponse {
            server_agent: "Orrery",
            server_version: "1.0",
            idle_seconds: 1_800,
            unauthenticated_seconds: 10,
        };
        assert_eq!(
            response.write(&frame, &request),
            bytes(
                "4c000000c800000033221100554477668899aabbccddeeff000002010000000100070a323032302d30372d3135020007064f727265727903000703312e30040002080700000500020a000000"
            )
        );
    }
}
