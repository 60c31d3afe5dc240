//! Segment files: their names and their header.
//!
//! The header fills a page of its own, so that appending never rewrites it. Its checksum is the
//! seed of every frame hash in the segment. The checksum covers sequence, first position and chain
//! hash, so it differs between the lives of a recycled file.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::SegmentFault;

pub(crate) const SEGMENT_HEADER_BYTES: usize = 4096;
pub(crate) const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"ORRERYLG";
const CHECKSUM_OFFSET: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) sequence: u64,
    pub(crate) first: u64,
    /// Hash of the record before `first`; zero for the first record of the log.
    pub(crate) predecessor: u128,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.fields();
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.resize(SEGMENT_HEADER_BYTES, 0);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<SegmentHeader, SegmentFault> {
        let bytes = bytes
            .get(..SEGMENT_HEADER_BYTES)
            .ok_or(SegmentFault::Header)?;
        if bytes[..8] != MAGIC {
            return Err(SegmentFault::Header);
        }
        let version = u32::from_le_bytes(array(bytes, 8));
        if version != FORMAT_VERSION {
            return Err(SegmentFault::Version(version));
        }
        if xxh3_64(&bytes[..CHECKSUM_OFFSET]) != u64::from_le_bytes(array(bytes, CHECKSUM_OFFSET)) {
            return Err(SegmentFault::Header);
        }
        Ok(SegmentHeader {
            sequence: u64::from_le_bytes(array(bytes, 16)),
            first: u64::from_le_bytes(array(bytes, 24)),
            predecessor: u128::from_le_bytes(array(bytes, 32)),
        })
    }

    /// The seed for the hashes of this segment's frames.
    pub(crate) fn key(&self) -> u64 {
        xxh3_64(&self.fields())
    }

    fn fields(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.predecessor.to_le_bytes());
        bytes
    }
}

/// The kind of a file in the log directory, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment(u64),
    /// A file for reuse as a segment; its contents are meaningless.
    Spare(u64),
}

pub(crate) fn segment_path(dir: &Path, sequence: u64) -> PathBuf {
    dir.join(format!("{sequence:020}.segment"))
}

pub(crate) fn spare_path(dir: &Path, sequence: u64) -> PathBuf {
    dir.join(format!("{sequence:020}.spare"))
}

/// `None` for files that do not belong to the log.
pub(crate) fn file_kind(path: &Path) -> Option<FileKind> {
    let stem = path.file_stem()?.to_str()?;
    if stem.len() != 20 || !stem.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sequence = stem.parse().ok()?;
    match path.extension()?.to_str()? {
        "segment" => Some(FileKind::Segment(sequence)),
        "spare" => Some(FileKind::Spare(sequence)),
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    *bytes[offset..]
        .first_chunk()
        .expect("fields lie within the header page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_their_keys_differ() {
        let header = SegmentHeader {
            sequence: 3,
            first: 17,
            predecessor: 1 << 100,
        };
        assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
        let next_life = SegmentHeader {
            sequence: 4,
            ..header
        };
        assert_ne!(header.key(), next_life.key());
    }

    #[test]
    fn damaged_headers_are_named() {
        let whole = SegmentHeader {
            sequence: 1,
            first: 1,
            predecessor: 0,
        }
        .encode();
        for (index, expected) in [
            (0, SegmentFault::Header),
            (8, SegmentFault::Version(0)),
            (24, SegmentFault::Header),
            (50, SegmentFault::Header),
        ] {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            assert_eq!(
                SegmentHeader::decode(&damaged),
                Err(expected),
                "byte {index}"
            );
        }
        assert_eq!(
            SegmentHeader::decode(&whole[..100]),
            Err(SegmentFault::Header)
        );
    }

    #[test]
    fn file_names_parse_back() {
        let dir = Path::new("d");
        assert_eq!(file_kind(&segment_path(dir, 7)), Some(FileKind::Segment(7)));
        assert_eq!(file_kind(&spare_path(dir, 8)), Some(FileKind::Spare(8)));
        for other in [
            "lock",
            "7.segment",
            "00000000000000000007.tmp",
            "+0000000000000000007.spare",
        ] {
            assert_eq!(file_kind(&dir.join(other)), None, "{other}");
        }
    }
}
