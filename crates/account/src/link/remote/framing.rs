//! Frames on a byte stream: each has its length, sender and receiver in front.

use bytes::{Buf, Bytes, BytesMut};
use orrery_regions::RegionId;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::error::ConnectionError;
use super::queue::Envelope;
use crate::{decode_frame, encode_frame};

/// A page has at most 4 MB, or one record that is larger.
pub(super) const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
const LENGTH_BYTES: usize = 4;
/// The size limit of a greeting, which contains a few names.
const GREETING_BYTES_MAX: usize = 4096;

/// An empty frame, which confirms that the receiver has read something.
pub(super) const READ_RECEIPT: [u8; LENGTH_BYTES] = [0; LENGTH_BYTES];

/// Appends a frame. False if the frame exceeds the limit; then nothing is appended.
pub(super) fn write_envelope(envelope: &Envelope, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    out.extend_from_slice(&[envelope.from.0, envelope.to.0]);
    encode_frame(&envelope.frame, out);
    let length = out.len() - start - LENGTH_BYTES;
    if length > FRAME_BYTES_MAX {
        out.truncate(start);
        return false;
    }
    let length = u32::try_from(length).expect("the limit is smaller");
    for (target, byte) in out[start..].iter_mut().zip(length.to_le_bytes()) {
        *target = byte;
    }
    true
}

/// Takes the first frame from the read buffer; none if the frame is incomplete.
pub(super) fn take_envelope(buffer: &mut BytesMut) -> Result<Option<Envelope>, ConnectionError> {
    let Some(length) = buffer.first_chunk() else {
        return Ok(None);
    };
    // The length is checked before any byte of the frame is awaited, so that a peer cannot announce
    // a frame larger than the limit.
    let length = length_of(*length, FRAME_BYTES_MAX)?;
    if buffer.len() - LENGTH_BYTES < length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    let mut bytes = buffer.split_to(length).freeze();
    let mut region = || bytes.try_get_u8().map(RegionId);
    let (Ok(from), Ok(to)) = (region(), region()) else {
        return Err(ConnectionError::Unreadable);
    };
    let frame = decode_frame(bytes).ok_or(ConnectionError::Unreadable)?;
    Ok(Some(Envelope { from, to, frame }))
}

pub(super) async fn write_greeting(
    stream: &mut (impl AsyncWrite + Unpin),
    greeting: &[u8],
) -> Result<(), ConnectionError> {
    let length =
        u32::try_from(greeting.len()).map_err(|_| ConnectionError::TooLarge(greeting.len()))?;
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(greeting).await?;
    stream.flush().await?;
    Ok(())
}

pub(super) async fn read_greeting(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Bytes, ConnectionError> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length).await?;
    let mut greeting = vec![0; length_of(length, GREETING_BYTES_MAX)?];
    stream.read_exact(&mut greeting).await?;
    Ok(greeting.into())
}

fn length_of(bytes: [u8; LENGTH_BYTES], max: usize) -> Result<usize, ConnectionError> {
    let length = usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX);
    if length > max {
        return Err(ConnectionError::TooLarge(length));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::testing::page;

    #[test]
    fn frames_are_found_in_any_pieces() {
        let envelopes: Vec<Envelope> = (0..9)
            .map(|after| Envelope {
                from: RegionId(1),
                to: RegionId(2),
                frame: page(after, after + 1..=2 * after),
            })
            .collect();
        let mut bytes = Vec::new();
        for envelope in &envelopes {
            assert!(write_envelope(envelope, &mut bytes));
        }
        for step in [1, 2, 7, 100, bytes.len()] {
            let (mut buffer, mut taken) = (BytesMut::new(), Vec::new());
            for piece in bytes.chunks(step) {
                buffer.extend_from_slice(piece);
                while let Some(envelope) = take_envelope(&mut buffer).unwrap() {
                    taken.push(envelope);
                }
            }
            assert_eq!((taken, buffer.len()), (envelopes.clone(), 0));
        }
    }

    #[test]
    fn what_is_no_frame_breaks_the_connection() {
        for (bytes, is_broken) in [
            (&[0, 0, 0][..], false),
            (&[9, 0, 0, 0, 1], false),
            (&[0, 0, 0, 0], true),
            (&[1, 0, 0, 0, 1], true),
            (&[3, 0, 0, 0, 1, 2, 99], true),
            (&[1, 0, 0, 4], true),
            (&[255; 4], true),
        ] {
            let taken = take_envelope(&mut BytesMut::from(bytes));
            assert_eq!(taken.is_err(), is_broken, "{bytes:?}");
        }
    }
}
