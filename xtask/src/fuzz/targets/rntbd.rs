//! The frames of clients in direct mode.

use bytes::BytesMut;
use orrery_rntbd::{FrameLimits, Malformed, RequestReader, Step};

const LIMITS: FrameLimits = FrameLimits {
    head_bytes: 64 * 1024,
    payload_bytes: 64 * 1024,
};

/// Frames that arrive in two pieces are the frames that arrive at once.
pub(super) fn frames(input: &[u8]) -> bool {
    let whole = read(&[input]);
    for cut in [1, input.len() / 2, input.len().saturating_sub(1)] {
        let (first, second) = input.split_at(cut.min(input.len()));
        assert!(
            read(&[first, second]) == whole,
            "a cut at {cut} changes the frames"
        );
    }
    whole.is_ok_and(|frames| frames > 0)
}

/// Reads every frame and every token, and returns the number of frames.
fn read(pieces: &[&[u8]]) -> Result<usize, Malformed> {
    let mut reader = RequestReader::new(LIMITS);
    let (mut buffer, mut frames) = (BytesMut::new(), 0);
    for piece in pieces {
        buffer.extend_from_slice(piece);
        while let Step::Request(head, _) = reader.next(&mut buffer)? {
            frames += 1;
            for token in head.tokens.iter() {
                let _ = (token.number(), token.double(), token.guid());
                let _ = (token.text(), token.bytes());
            }
        }
    }
    Ok(frames)
}
