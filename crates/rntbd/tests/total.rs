//! Reading is total: any bytes are a frame, the begin of one, or malformed.

#![expect(clippy::unwrap_used, reason = "tests of known frames")]

use bytes::BytesMut;
use orrery_rntbd::{
    FrameLimits, Guid, Malformed, RequestHead, RequestReader, RequestToken, Response, Step,
    TokenWriter,
};
use proptest::prelude::*;

const LIMITS: FrameLimits = FrameLimits {
    head_bytes: 4_096,
    payload_bytes: 8_192,
};

/// Reads all frames of `bytes`. A reader never asks for more than its limits allow.
fn read(bytes: &[u8]) -> Result<usize, Malformed> {
    let mut reader = RequestReader::new(LIMITS);
    let mut buffer = BytesMut::from(bytes);
    let mut frames = 0;
    loop {
        let before = buffer.len();
        match reader.next(&mut buffer)? {
            Step::Needs(needed) => {
                assert!(needed <= LIMITS.payload_bytes + 4);
                return Ok(frames);
            }
            Step::Request(head, payload) => {
                frames += 1;
                assert!(buffer.len() < before || payload.is_empty());
                for token in head.tokens.iter() {
                    let _ = (token.number(), token.double(), token.guid());
                    let _ = (token.text(), token.bytes());
                }
            }
        }
    }
}

fn captured() -> Vec<Vec<u8>> {
    let lines = include_str!("data/exchanges.txt").lines();
    let frame = |hex: &str| {
        let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(pair).collect()
    };
    lines
        .flat_map(|line| line.split(' ').skip(1))
        .map(frame)
        .collect()
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes);
        let _ = Response::take(&mut BytesMut::from(&bytes[..]), false);
        let _ = Response::take(&mut BytesMut::from(&bytes[..]), true);
    }

    #[test]
    fn any_tokens_behind_an_honest_length(
        tokens in proptest::collection::vec(any::<u8>(), 0..600),
        payload in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = u32::try_from(24 + tokens.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend([3, 0, 3, 0]);
        bytes.extend([7; 16]);
        bytes.extend(tokens);
        bytes.extend(payload);
        let _ = read(&bytes);
    }

    #[test]
    fn mutated_captures(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let captured = captured();
        let mut bytes = captured[which.index(captured.len())].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read(&bytes);
        let _ = read(&bytes[..cut.index(bytes.len())]);
        let _ = Response::take(&mut BytesMut::from(&bytes[..]), false);
    }

    #[test]
    fn written_requests_are_read(
        id in any::<u32>(),
        name in "\\PC{0,40}",
        payload in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut tokens = TokenWriter::default();
        tokens.number(RequestToken::PayloadPresent, i64::from(!payload.is_empty()));
        tokens.number(RequestToken::TransportRequestId, i64::from(id));
        assert!(tokens.text(RequestToken::DocumentName, &name));
        let head = RequestHead::new((3, 3), Guid([1; 16]), tokens).unwrap();
        let mut bytes = BytesMut::new();
        head.write(&payload, &mut bytes);
        let step = RequestReader::new(LIMITS).next(&mut bytes).unwrap();
        let Step::Request(read, body) = step else { panic!("{step:?}") };
        prop_assert_eq!(&read, &head);
        prop_assert_eq!(&body[..], &payload[..]);
        let token = read.tokens.get(RequestToken::DocumentName).unwrap();
        prop_assert_eq!(token.text().unwrap(), name);
        let token = read.tokens.get(RequestToken::TransportRequestId).unwrap();
        prop_assert_eq!(token.number().unwrap(), i64::from(id));
    }
}

#[test]
fn frames_beyond_the_limits_are_refused_by_their_heads() {
    let head = |length: u32| length.to_le_bytes().to_vec();
    for (bytes, expected) in [
        (head(0), Malformed::Cut),
        (head(23), Malformed::Cut),
        (head(4_097), Malformed::TooLarge),
        (head(u32::MAX), Malformed::TooLarge),
    ] {
        assert_eq!(read(&bytes), Err(expected), "{bytes:?}");
    }
    let mut tokens = TokenWriter::default();
    tokens.number(RequestToken::PayloadPresent, 1);
    let request = RequestHead::new((3, 1), Guid::default(), tokens).unwrap();
    let mut bytes = BytesMut::new();
    request.write(&[], &mut bytes);
    bytes.extend_from_slice(&8_193_u32.to_le_bytes());
    assert_eq!(read(&bytes), Err(Malformed::TooLarge));
}
