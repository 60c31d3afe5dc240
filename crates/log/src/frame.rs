//! The frame of one record.
//!
//! One 128-bit hash serves as checksum and as chain link. The hash covers every other byte of the
//! frame, including the predecessor's hash, and its seed is the key of the segment. So a frame is
//! valid only in one life of one segment. A second, shorter checksum would give a weaker guarantee
//! for the same bytes and cost a second pass.
//!
//! Each frame records up to which position the log was durable when the frame was written. From
//! this position recovery distinguishes an unfinished write from damage: if a later frame says that
//! the broken frame was durable, the broken frame was once complete.

use xxhash_rust::xxh3::xxh3_128_with_seed;

pub(crate) const FRAME_HEADER_BYTES: usize = 56;
/// Frames begin at multiples of this, so the search for later frames examines only every eighth
/// offset.
pub(crate) const FRAME_ALIGNMENT: usize = 8;
/// Bytes of zeros after the last frame. They distinguish a clean end from a torn write, even where
/// bytes of the segment's earlier life follow.
pub(crate) const TERMINATOR_BYTES: usize = FRAME_HEADER_BYTES;
/// Maximum size of a record. The limit bounds the memory of recovery when a length field is
/// damaged.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

const MARKER: u32 = u32::from_le_bytes(*b"OREC");
const HASH_BYTES: usize = 16;
pub(crate) const MARKER_OFFSET: usize = HASH_BYTES;

#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameHeader {
    pub(crate) hash: u128,
    /// Length of the payload, without padding.
    pub(crate) length: usize,
    pub(crate) position: u64,
    /// Every record up to this position was durable when the frame was written.
    pub(crate) durable: u64,
    pub(crate) predecessor: u128,
}

impl FrameHeader {
    /// Decodes a frame header without checking the hash. `None` if the bytes cannot be a frame
    /// header.
    pub(crate) fn decode(bytes: &[u8]) -> Option<FrameHeader> {
        let mut bytes = bytes;
        let hash = u128::from_le_bytes(take(&mut bytes)?);
        let marker = u32::from_le_bytes(take(&mut bytes)?);
        let length = u32::from_le_bytes(take(&mut bytes)?);
        let position = u64::from_le_bytes(take(&mut bytes)?);
        let durable = u64::from_le_bytes(take(&mut bytes)?);
        let predecessor = u128::from_le_bytes(take(&mut bytes)?);
        let length = usize::try_from(length).ok()?;
        (marker == MARKER && length <= RECORD_BYTES_MAX).then_some(FrameHeader {
            hash,
            length,
            position,
            durable,
            predecessor,
        })
    }

    /// Distance from the first byte of this frame to the first byte of the next frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        frame_bytes(self.length)
    }
}

/// Whether `frame` (header and payload without padding) is complete and belongs to the segment.
pub(crate) fn is_intact(frame: &[u8], header: &FrameHeader, segment_key: u64) -> bool {
    xxh3_128_with_seed(&frame[HASH_BYTES..], segment_key) == header.hash
}

pub(crate) fn may_begin_at(bytes: &[u8], offset: usize) -> bool {
    bytes.get(offset + MARKER_OFFSET..offset + MARKER_OFFSET + 4)
        == Some(MARKER.to_le_bytes().as_slice())
}

/// Number of bytes that a record with this payload occupies in the log.
pub fn frame_bytes(payload_bytes: usize) -> usize {
    (FRAME_HEADER_BYTES + payload_bytes).next_multiple_of(FRAME_ALIGNMENT)
}

/// Appends an incomplete frame to `buffer`. [`seal`] adds the fields that depend on the segment.
pub(crate) fn push(buffer: &mut Vec<u8>, position: u64, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.resize(start + FRAME_HEADER_BYTES, 0);
    encode(buffer);
    let length = buffer
        .len()
        .checked_sub(start + FRAME_HEADER_BYTES)
        .expect("the encoder of a record only appends to the buffer");
    assert!(
        length <= RECORD_BYTES_MAX,
        "a record of {length} bytes is beyond the limit"
    );
    let stored = u32::try_from(length).expect("the limit of a record fits 32 bits");
    buffer[start + 16..start + 20].copy_from_slice(&MARKER.to_le_bytes());
    buffer[start + 20..start + 24].copy_from_slice(&stored.to_le_bytes());
    buffer[start + 24..start + 32].copy_from_slice(&position.to_le_bytes());
    buffer.resize(buffer.len().next_multiple_of(FRAME_ALIGNMENT), 0);
}

/// Completes all frames of `buffer` and returns the hash of the last one. `predecessor` is the hash
/// of the record before the first frame.
pub(crate) fn seal(buffer: &mut [u8], segment_key: u64, durable: u64, predecessor: u128) -> u128 {
    let mut hash = predecessor;
    let mut rest = buffer;
    while !rest.is_empty() {
        let header = FrameHeader::decode(rest).expect("pending frames were made by push");
        let (frame, following) = rest.split_at_mut(header.frame_bytes());
        frame[32..40].copy_from_slice(&durable.to_le_bytes());
        frame[40..56].copy_from_slice(&hash.to_le_bytes());
        let covered = &frame[HASH_BYTES..FRAME_HEADER_BYTES + header.length];
        hash = xxh3_128_with_seed(covered, segment_key);
        frame[..HASH_BYTES].copy_from_slice(&hash.to_le_bytes());
        rest = following;
    }
    hash
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_valid_in_its_own_segment_only() {
        let mut buffer = Vec::new();
        push(&mut buffer, 7, |out| out.extend_from_slice(b"abc"));
        push(&mut buffer, 8, |_| {});
        let hash = seal(&mut buffer, 42, 6, 99);

        let first = FrameHeader::decode(&buffer).unwrap();
        assert_eq!(
            (first.position, first.durable, first.predecessor),
            (7, 6, 99)
        );
        let covered = &buffer[..FRAME_HEADER_BYTES + 3];
        assert!(is_intact(covered, &first, 42));
        assert!(!is_intact(covered, &first, 43));

        let second = FrameHeader::decode(&buffer[first.frame_bytes()..]).unwrap();
        assert_eq!(
            (second.position, second.predecessor, second.hash),
            (8, first.hash, hash)
        );
    }

    #[test]
    fn every_byte_before_the_padding_is_covered() {
        let mut buffer = Vec::new();
        push(&mut buffer, 1, |out| out.extend_from_slice(b"abc"));
        seal(&mut buffer, 1, 0, 0);
        for index in 0..FRAME_HEADER_BYTES + 3 {
            let mut damaged = buffer.clone();
            damaged[index] ^= 0x10;
            let accepted = FrameHeader::decode(&damaged).is_some_and(|header| {
                damaged
                    .get(..FRAME_HEADER_BYTES + header.length)
                    .is_some_and(|frame| is_intact(frame, &header, 1))
            });
            assert!(!accepted, "byte {index}");
        }
    }

    #[test]
    fn zeros_are_not_a_frame() {
        assert!(FrameHeader::decode(&[0; TERMINATOR_BYTES]).is_none());
    }
}
