//! Frames on a stream of bytes: each behind its length, and the regions it goes from and to.

use bytes::{Buf, Bytes, BytesMut};
use orrery_regions::RegionId;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::error::Broken;
use super::queue::Envelope;
use crate::{decode_frame, encode_frame};

/// Pages have 4 MB, or one record that is larger.
pub(super) const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
const LENGTH_BYTES: usize = 4;
/// Of a greeting: a few names.
const GREETING_BYTES_MAX: usize = 4096;

/// A frame without anything: what was sent is read.
pub(super) const HEARD: [u8; LENGTH_BYTES] = [0; LENGTH_BYTES];

/// Appends a frame; false if it is too large to be sent, and nothing is appended.
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
    for (place, byte) in out[start..].iter_mut().zip(length.to_le_bytes()) {
        *place = byte;
    }
    true
}

/// Takes the first frame off what was read; none if it is not there as a whole.
pub(super) fn take_envelope(buffer: &mut BytesMut) -> Result<Option<Envelope>, Broken> {
    let Some(length) = buffer.first_chunk() else {
        return Ok(None);
    };
    let length = length_of(*length, FRAME_BYTES_MAX)?;
    if buffer.len() - LENGTH_BYTES < length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    let mut bytes = buffer.split_to(length).freeze();
    let mut region = || bytes.try_get_u8().map(RegionId);
    let (Ok(from), Ok(to)) = (region(), region()) else {
        return Err(Broken::Unreadable);
    };
    let frame = decode_frame(bytes).ok_or(Broken::Unreadable)?;
    Ok(Some(Envelope { from, to, frame }))
}

pub(super) async fn write_greeting(
    stream: &mut (impl AsyncWrite + Unpin),
    greeting: &[u8],
) -> Result<(), Broken> {
    let length = u32::try_from(greeting.len()).map_err(|_| Broken::TooLarge(greeting.len()))?;
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(greeting).await?;
    stream.flush().await?;
    Ok(())
}

pub(super) async fn read_greeting(stream: &mut (impl AsyncRead + Unpin)) -> Result<Bytes, Broken> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length).await?;
    let mut greeting = vec![0; length_of(length, GREETING_BYTES_MAX)?];
    stream.read_exact(&mut greeting).await?;
    Ok(greeting.into())
}

fn length_of(bytes: [u8; LENGTH_BYTES], max: usize) -> Result<usize, Broken> {
    let length = usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX);
    if length > max {
        return Err(Broken::TooLarge(length));
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
