//! Frames of two SDKs and of a server that satisfied them: they read and write to the same bytes.
//!
//! A line of `data/exchanges.txt` has a name, a request and its response in hexadecimal.

#![expect(clippy::unwrap_used, reason = "tests of known frames")]

use bytes::BytesMut;
use orrery_rntbd::{
    ContextRequest, FrameLimits, OperationType, RequestReader, RequestToken, ResourceType,
    Response, ResponseToken, Step, TokenName,
};

const LIMITS: FrameLimits = FrameLimits {
    head_bytes: 1 << 16,
    payload_bytes: 1 << 20,
};

fn exchanges() -> impl Iterator<Item = (&'static str, Vec<u8>, Vec<u8>)> {
    let lines = include_str!("data/exchanges.txt").lines();
    lines.map(|line| {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap();
        let mut frame = || bytes(fields.next().unwrap());
        (name, frame(), frame())
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(pair).collect()
}

#[test]
fn frames_are_read_and_written_to_the_same_bytes() {
    let mut count = 0;
    for (name, request, response) in exchanges() {
        count += 1;
        let mut buffer = BytesMut::from(&request[..]);
        let step = RequestReader::new(LIMITS).next(&mut buffer).unwrap();
        let Step::Request(head, payload) = step else {
            panic!("{name}: {step:?}");
        };
        assert!(buffer.is_empty(), "{name}");
        let mut written = BytesMut::new();
        head.write(&payload, &mut written);
        assert_eq!(written, request, "{name}");

        let is_context = head.is_context();
        let mut buffer = BytesMut::from(&response[..]);
        let answer = Response::take(&mut buffer, is_context).unwrap().unwrap();
        assert!(buffer.is_empty(), "{name}");
        let mut written = BytesMut::new();
        answer.write(&mut written);
        assert_eq!(written, response, "{name}");

        assert_eq!(answer.activity_id, head.activity_id, "{name}");
        assert!(ResourceType::of_id(head.resource).is_some(), "{name}");
        assert!(OperationType::of_id(head.operation).is_some(), "{name}");
        if is_context {
            ContextRequest::of(&head).unwrap();
            continue;
        }
        // The SDKs send every token in the type that the table declares.
        for token in head.tokens.iter() {
            let known = RequestToken::of_id(token.id).unwrap();
            assert_eq!(known.declared_type(), token.kind, "{name}: {known:?}");
        }
        for token in answer.tokens.iter() {
            let known = ResponseToken::of_id(token.id).unwrap();
            assert_eq!(known.declared_type(), token.kind, "{name}: {known:?}");
        }
        let sent = head.tokens.get(RequestToken::TransportRequestId).unwrap();
        let echoed = answer
            .tokens
            .get(ResponseToken::TransportRequestId)
            .unwrap();
        assert_eq!(sent.number(), echoed.number(), "{name}");
    }
    assert!(count > 40, "{count}");
}

#[test]
fn a_frame_in_pieces_is_the_same_frame() {
    for (name, request, _) in exchanges() {
        let mut whole = BytesMut::from(&request[..]);
        let expected = RequestReader::new(LIMITS).next(&mut whole).unwrap();
        let mut reader = RequestReader::new(LIMITS);
        let mut buffer = BytesMut::new();
        for (index, byte) in request.iter().enumerate() {
            buffer.extend_from_slice(&[*byte]);
            let step = reader.next(&mut buffer).unwrap();
            if index + 1 < request.len() {
                let Step::Needs(needed) = step else {
                    panic!("{name}: {index}");
                };
                assert!(needed > buffer.len(), "{name}: {index}");
            } else {
                assert_eq!(step, expected, "{name}");
            }
        }
    }
}
