//! The stored form of a document: a fixed header, the digests of its unique values, its JSON text.
//!
//! The text is the body of a point read, including system properties, so a read neither parses nor
//! copies it. The header has the facts that a transaction needs about the old version.

use bytes::Bytes;
use orrery_model::{Etag, Lsn, RangeId};
use orrery_regions::{Epoch, RegionId, Sequence, VersionId};

use crate::Error;
use crate::apply::split_rid_counter;

const VERSION: u8 = 1;
/// Version of a header that is followed by multi-write metadata.
const VERSION_WITH_ID: u8 = 2;
const HEADER_BYTES: usize = 44;
pub(crate) const DIGEST_BYTES: usize = 32;
const FLAG_NOT_INDEXED: u8 = 1;
/// The entity tag was created before the record had its LSN; the parts of the tag follow the
/// header.
const FLAG_OWN_TAG: u8 = 2;
/// The client wrote the item without `_self` and `_attachments`. The stored text
/// contains both properties, because a reader gets them unless it excludes them as well.
const FLAG_WITHOUT_LINKS: u8 = 4;
const OWN_TAG_BYTES: usize = 12;
const VERSION_BYTES: usize = 40;
/// Offsets of the sequence and the deciding epoch after the header.
const SEQUENCE_AT: usize = HEADER_BYTES + 8;
const DECIDING_EPOCH_AT: usize = HEADER_BYTES + 24;
/// Offsets of the ordinal in the record, the partition and the LSN in the header.
const ORDINAL_AT: usize = 6;
const RANGE_AT: usize = 12;
const LSN_AT: usize = 16;

pub(crate) type Digest = [u8; DIGEST_BYTES];

/// The metadata of a stored document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ItemHeader {
    pub(crate) indexed: bool,
    pub(crate) excludes_system_properties: bool,
    /// Length of the logical partition's prefix in the document key.
    pub(crate) prefix_bytes: u16,
    pub(crate) modified_seconds: u32,
    pub(crate) lsn: Lsn,
    pub(crate) rid_counter: u64,
    /// Partition and ordinal in the record. Together with the LSN they are the position in the
    /// change feed.
    pub(crate) range: RangeId,
    pub(crate) ordinal: u16,
    /// The parts of the entity tag, if they differ from partition and LSN.
    pub(crate) own_tag: Option<(RangeId, Lsn)>,
    /// The version metadata, in a multi-write store.
    pub(crate) version: Option<VersionMetadata>,
    /// Number of index terms of this version, for the charge of its removal.
    pub(crate) terms: u32,
    /// The item's own `ttl`; 0 without one.
    pub(crate) ttl: i32,
    /// The second of the document's expiry entry; 0 without an expiry entry.
    pub(crate) expiry_entry: u32,
}

/// The metadata of a version that are equal in all regions, unlike its feed position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct VersionMetadata {
    pub(crate) id: VersionId,
    /// The value that the conflict policy compares.
    pub(crate) number: f64,
    /// The epoch of the hub if the version decides a conflict; otherwise [`Epoch::NONE`].
    pub(crate) deciding_epoch: Epoch,
    pub(crate) tag: EtagParts,
}

/// The parts of an entity tag: the region and position at which the text was first written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EtagParts {
    pub(crate) region: RegionId,
    pub(crate) range: RangeId,
    pub(crate) lsn: Lsn,
    pub(crate) ordinal: u16,
}

/// A decoded version of a document.
#[derive(Debug, Clone)]
pub struct StoredItem {
    pub(crate) header: ItemHeader,
    bytes: Bytes,
    text_from: usize,
}

impl StoredItem {
    pub(crate) fn decode(bytes: Bytes) -> Result<StoredItem, Error> {
        let (header, unique_from, unique) = decode_header(&bytes).ok_or_else(|| {
            Error::Damaged(format!(
                "a stored document of {} bytes has no valid header",
                bytes.len()
            ))
        })?;
        let text_from = unique_from + unique * DIGEST_BYTES;
        if bytes.len() < text_from {
            return Err(Error::Damaged(
                "a stored document ends inside its unique keys".to_owned(),
            ));
        }
        Ok(StoredItem {
            header,
            bytes,
            text_from,
        })
    }

    /// JSON text of the item, including system properties.
    pub fn text(&self) -> Bytes {
        self.bytes.slice(self.text_from..)
    }

    pub fn text_bytes(&self) -> usize {
        self.bytes.len() - self.text_from
    }

    /// Whether readers that exclude `_self` and `_attachments` get the item without them.
    pub fn excludes_system_properties(&self) -> bool {
        self.header.excludes_system_properties
    }

    pub fn etag(&self) -> Etag {
        self.header.etag()
    }

    /// The part of the resource id that distinguishes the items of a container.
    pub fn rid_counter(&self) -> u64 {
        self.header.rid_counter
    }

    /// The time of the last write, as in `_ts`.
    pub fn modified_seconds(&self) -> u64 {
        u64::from(self.header.modified_seconds)
    }

    /// The partition that created the item, and its sequence number there.
    pub(crate) fn created_in(&self) -> Option<(RangeId, u64)> {
        let (range, number) = split_rid_counter(self.header.rid_counter);
        Some((RangeId(u32::try_from(range).ok()?), number))
    }

    /// The stored bytes.
    pub(crate) fn stored(&self) -> &Bytes {
        &self.bytes
    }

    pub fn lsn(&self) -> Lsn {
        self.header.lsn
    }

    /// Whether the item belongs into the index: its write did not leave it out.
    pub fn is_indexed(&self) -> bool {
        self.header.indexed
    }

    pub(crate) fn digests(&self) -> impl Iterator<Item = Digest> {
        let from = self.header.bytes();
        let (digests, _) = self.bytes[from..self.text_from].as_chunks::<DIGEST_BYTES>();
        digests.iter().copied()
    }

    /// The second from which this version is expired, under the container's default TTL.
    pub(crate) fn expires_at(&self, default_ttl: Option<i32>) -> Option<u64> {
        expires_at(self.header.modified_seconds, self.header.ttl, default_ttl)
    }

    pub fn is_visible(&self, default_ttl: Option<i32>, now_seconds: u64) -> bool {
        self.expires_at(default_ttl)
            .is_none_or(|expiry| now_seconds < expiry)
    }

    /// The same document with another expiry entry.
    pub(crate) fn with_expiry_entry(&self, expiry_entry: u32) -> Bytes {
        let mut header = self.header;
        header.expiry_entry = expiry_entry;
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let unique = (self.text_from - header.bytes()) / DIGEST_BYTES;
        #[expect(clippy::cast_possible_truncation, reason = "at most UNIQUE_KEYS_MAX")]
        header.encode(unique as u8, &mut bytes);
        bytes.extend_from_slice(&self.bytes[header.bytes()..]);
        bytes.into()
    }

    /// The position of the version in the change feed.
    pub(crate) fn feed_position(&self) -> (RangeId, Lsn, u16) {
        (self.header.range, self.header.lsn, self.header.ordinal)
    }
}

/// The stored bytes of a script's version with the final position of its record. The entity tag
/// stays as the script has seen it.
pub(crate) fn with_record_position(value: &Bytes, range: RangeId, lsn: Lsn) -> Bytes {
    let mut bytes = value.to_vec();
    bytes[RANGE_AT..RANGE_AT + 4].copy_from_slice(&range.0.to_le_bytes());
    bytes[LSN_AT..LSN_AT + 8].copy_from_slice(&lsn.0.to_le_bytes());
    bytes.into()
}

/// The stored bytes of a version with another feed position in this store.
pub(crate) fn with_feed_position(value: &Bytes, range: RangeId, lsn: Lsn, ordinal: u16) -> Bytes {
    let mut bytes = value.to_vec();
    bytes[ORDINAL_AT..ORDINAL_AT + 2].copy_from_slice(&ordinal.to_le_bytes());
    bytes[RANGE_AT..RANGE_AT + 4].copy_from_slice(&range.0.to_le_bytes());
    bytes[LSN_AT..LSN_AT + 8].copy_from_slice(&lsn.0.to_le_bytes());
    bytes.into()
}

/// The stored bytes of a multi-write version with another version id of this region.
pub(crate) fn with_version_id(
    value: &Bytes,
    version_id: VersionId,
    deciding_epoch: Epoch,
) -> Bytes {
    let mut bytes = value.to_vec();
    bytes[HEADER_BYTES] = version_id.origin.0;
    bytes[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&version_id.sequence.0.to_le_bytes());
    bytes[DECIDING_EPOCH_AT..DECIDING_EPOCH_AT + 8]
        .copy_from_slice(&deciding_epoch.0.to_le_bytes());
    bytes.into()
}

/// The expiry second of an item: its own `ttl` overrides the container's default. `None` when TTL
/// is off.
pub(crate) fn expires_at(modified_seconds: u32, ttl: i32, default_ttl: Option<i32>) -> Option<u64> {
    let default_ttl = default_ttl?;
    let seconds = if ttl == 0 { default_ttl } else { ttl };
    u64::try_from(seconds)
        .ok()
        .map(|seconds| u64::from(modified_seconds) + seconds)
}

impl ItemHeader {
    pub(crate) fn etag(&self) -> Etag {
        if let Some(VersionMetadata { tag, .. }) = self.version {
            let seconds = u64::from(self.modified_seconds);
            let EtagParts {
                region,
                range,
                lsn,
                ordinal,
            } = tag;
            return Etag::of_region_write(region.0, range.0, lsn.0, ordinal, seconds);
        }
        let (range, lsn) = self.own_tag.unwrap_or((self.range, self.lsn));
        Etag::of_write(
            range.0,
            lsn.0,
            self.ordinal,
            u64::from(self.modified_seconds),
        )
    }

    fn bytes(&self) -> usize {
        let tag = self.own_tag.map_or(0, |_| OWN_TAG_BYTES);
        HEADER_BYTES + tag + self.version.map_or(0, |_| VERSION_BYTES)
    }

    /// Appends the header. The caller appends the digests and the text.
    pub(crate) fn encode(&self, unique: u8, out: &mut Vec<u8>) {
        let mut flags = if self.indexed { 0 } else { FLAG_NOT_INDEXED };
        flags |= self.own_tag.map_or(0, |_| FLAG_OWN_TAG);
        if self.excludes_system_properties {
            flags |= FLAG_WITHOUT_LINKS;
        }
        debug_assert!(self.own_tag.is_none() || self.version.is_none());
        let version = self.version.map_or(VERSION, |_| VERSION_WITH_ID);
        out.extend_from_slice(&[version, flags, unique, 0]);
        out.extend_from_slice(&self.prefix_bytes.to_le_bytes());
        out.extend_from_slice(&self.ordinal.to_le_bytes());
        out.extend_from_slice(&self.modified_seconds.to_le_bytes());
        out.extend_from_slice(&self.range.0.to_le_bytes());
        out.extend_from_slice(&self.lsn.0.to_le_bytes());
        out.extend_from_slice(&self.rid_counter.to_le_bytes());
        out.extend_from_slice(&self.terms.to_le_bytes());
        out.extend_from_slice(&self.ttl.to_le_bytes());
        out.extend_from_slice(&self.expiry_entry.to_le_bytes());
        if let Some((range, lsn)) = self.own_tag {
            out.extend_from_slice(&range.0.to_le_bytes());
            out.extend_from_slice(&lsn.0.to_le_bytes());
        }
        if let Some(version) = &self.version {
            version.encode(out);
        }
    }
}

impl VersionMetadata {
    fn encode(&self, out: &mut Vec<u8>) {
        let EtagParts {
            region,
            range,
            lsn,
            ordinal,
        } = self.tag;
        out.extend_from_slice(&[self.id.origin.0, region.0]);
        out.extend_from_slice(&ordinal.to_le_bytes());
        out.extend_from_slice(&range.0.to_le_bytes());
        out.extend_from_slice(&self.id.sequence.0.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.deciding_epoch.0.to_le_bytes());
        out.extend_from_slice(&lsn.0.to_le_bytes());
    }

    fn decode(bytes: &[u8; VERSION_BYTES]) -> Option<VersionMetadata> {
        let (&[origin, region, o0, o1, r0, r1, r2, r3], rest) = bytes.split_first_chunk::<8>()?;
        let (words, _) = rest.as_chunks::<8>();
        let &[sequence, number, deciding_epoch, lsn] = words else {
            return None;
        };
        Some(VersionMetadata {
            id: VersionId {
                origin: RegionId(origin),
                sequence: Sequence(u64::from_le_bytes(sequence)),
            },
            number: f64::from_le_bytes(number),
            deciding_epoch: Epoch(u64::from_le_bytes(deciding_epoch)),
            tag: EtagParts {
                region: RegionId(region),
                range: RangeId(u32::from_le_bytes([r0, r1, r2, r3])),
                lsn: Lsn(u64::from_le_bytes(lsn)),
                ordinal: u16::from_le_bytes([o0, o1]),
            },
        })
    }
}

/// The header, the offset of the digests, and their number.
fn decode_header(bytes: &[u8]) -> Option<(ItemHeader, usize, usize)> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
    let [version @ (VERSION | VERSION_WITH_ID), flags, unique, 0] = *header.first_chunk::<4>()?
    else {
        return None;
    };
    let half = |at: usize| {
        header[at..]
            .first_chunk::<2>()
            .copied()
            .map(u16::from_le_bytes)
    };
    let word = |at: usize| {
        header[at..]
            .first_chunk::<4>()
            .copied()
            .map(u32::from_le_bytes)
    };
    let long = |at: usize| {
        header[at..]
            .first_chunk::<8>()
            .copied()
            .map(u64::from_le_bytes)
    };
    let own_tag = if flags & FLAG_OWN_TAG == 0 {
        None
    } else {
        let (range, lsn) = bytes.get(HEADER_BYTES..)?.split_first_chunk::<4>()?;
        let lsn = u64::from_le_bytes(*lsn.first_chunk()?);
        Some((RangeId(u32::from_le_bytes(*range)), Lsn(lsn)))
    };
    let version = if version == VERSION {
        None
    } else {
        let bytes = bytes.get(HEADER_BYTES..)?.first_chunk()?;
        Some(VersionMetadata::decode(bytes).filter(|_| own_tag.is_none())?)
    };
    let header = ItemHeader {
        indexed: flags & FLAG_NOT_INDEXED == 0,
        excludes_system_properties: flags & FLAG_WITHOUT_LINKS != 0,
        prefix_bytes: half(4)?,
        ordinal: half(6)?,
        modified_seconds: word(8)?,
        range: RangeId(word(RANGE_AT)?),
        lsn: Lsn(long(LSN_AT)?),
        own_tag,
        version,
        rid_counter: long(24)?,
        terms: word(32)?,
        ttl: word(36)?.cast_signed(),
        expiry_entry: word(40)?,
    };
    Some((header, header.bytes(), usize::from(unique)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ItemHeader {
        ItemHeader {
            indexed: false,
            excludes_system_properties: true,
            prefix_bytes: 21,
            modified_seconds: 1_700_000_000,
            lsn: Lsn(42),
            rid_counter: 7,
            range: RangeId(3),
            ordinal: 2,
            own_tag: None,
            version: None,
            terms: 10,
            ttl: -1,
            expiry_entry: 9,
        }
    }

    #[test]
    fn a_document_reads_back() {
        let mut bytes = Vec::new();
        header().encode(1, &mut bytes);
        assert_eq!(bytes.len(), HEADER_BYTES);
        bytes.extend_from_slice(&[5; DIGEST_BYTES]);
        bytes.extend_from_slice(b"{}");
        let item = StoredItem::decode(bytes.into()).unwrap();
        assert_eq!(item.header, header());
        assert_eq!(item.digests().collect::<Vec<_>>(), [[5; DIGEST_BYTES]]);
        assert_eq!(item.text(), "{}");
        let moved = StoredItem::decode(item.with_expiry_entry(11)).unwrap();
        assert_eq!(moved.header.expiry_entry, 11);
        assert_eq!(moved.text(), "{}");
    }

    #[test]
    fn a_script_version_gets_its_record_position_and_keeps_its_etag() {
        let told = ItemHeader {
            own_tag: Some((RangeId(3), Lsn(42))),
            ..header()
        };
        let mut bytes = Vec::new();
        told.encode(1, &mut bytes);
        bytes.extend_from_slice(&[5; DIGEST_BYTES]);
        bytes.extend_from_slice(b"{}");
        let placed = with_record_position(&bytes.into(), RangeId(8), Lsn(50));
        let item = StoredItem::decode(placed).unwrap();
        assert_eq!(item.feed_position(), (RangeId(8), Lsn(50), 2));
        assert_eq!(item.etag(), header().etag());
        assert_eq!(item.digests().count(), 1);
        let moved = StoredItem::decode(item.with_expiry_entry(11)).unwrap();
        assert_eq!(moved.etag(), header().etag());
        assert_eq!(moved.text(), "{}");
    }

    #[test]
    fn a_version_keeps_its_identity_at_every_feed_position() {
        let tag = EtagParts {
            region: RegionId(2),
            range: RangeId(1),
            lsn: Lsn(9),
            ordinal: 5,
        };
        let version_id = |origin, sequence| VersionId {
            origin: RegionId(origin),
            sequence: Sequence(sequence),
        };
        let version = VersionMetadata {
            id: version_id(2, 77),
            number: -1.5,
            deciding_epoch: Epoch::NONE,
            tag,
        };
        let header = ItemHeader {
            version: Some(version),
            ..header()
        };
        let mut bytes = Vec::new();
        header.encode(1, &mut bytes);
        assert_eq!(bytes.len(), HEADER_BYTES + VERSION_BYTES);
        bytes.extend_from_slice(&[5; DIGEST_BYTES]);
        bytes.extend_from_slice(b"{}");
        let bytes = Bytes::from(bytes);
        let item = StoredItem::decode(bytes.clone()).unwrap();
        assert_eq!((item.header, item.text()), (header, "{}".into()));
        let moved = with_feed_position(&bytes, RangeId(4), Lsn(11), 8);
        let moved =
            StoredItem::decode(with_version_id(&moved, version_id(3, 1), Epoch(6))).unwrap();
        assert_eq!(moved.feed_position(), (RangeId(4), Lsn(11), 8));
        assert_eq!(moved.etag(), item.etag());
        let deciding_epoch = moved.header.version.unwrap();
        assert_eq!(
            (deciding_epoch.id, deciding_epoch.deciding_epoch),
            (version_id(3, 1), Epoch(6))
        );
        assert_eq!((deciding_epoch.number, deciding_epoch.tag), (-1.5, tag));
        assert_eq!(moved.digests().count(), 1);
        assert!(StoredItem::decode(bytes.slice(..HEADER_BYTES + 9)).is_err());
    }

    #[test]
    fn short_or_foreign_bytes_are_damage() {
        for bytes in [&b""[..], &[1; 10], &[2; 60], &[1; HEADER_BYTES + 5]] {
            assert!(StoredItem::decode(Bytes::copy_from_slice(bytes)).is_err());
        }
    }

    #[test]
    fn own_ttl_goes_before_the_default() {
        let cases = [
            (None, 5, None),
            (Some(-1), 0, None),
            (Some(-1), 5, Some(105)),
            (Some(10), 0, Some(110)),
            (Some(10), -1, None),
            (Some(10), 5, Some(105)),
        ];
        for (default_ttl, ttl, expected) in cases {
            assert_eq!(
                expires_at(100, ttl, default_ttl),
                expected,
                "{default_ttl:?} {ttl}"
            );
        }
    }
}
