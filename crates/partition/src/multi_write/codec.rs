//! The encoding of version ids and version vectors in log records and rows.
//!
//! ```text
//! envelope:  origin 1 | epoch 8 | sequence 8 | what was applied
//! progress:  count 1 | for each: stream 1 (0 account, 1 region) | region 1 | sequence 8
//! body:      deciding epoch 8 | count 2 | positions of changes that are expiries, 2 each | record
//! ```
//!
//! The body is the part that regions send to each other, as the data of a stream record.

use orrery_regions::{Epoch, RegionId, Sequence, StreamId, VersionId, VersionVector};

use super::StreamHeader;

const ACCOUNT: u8 = 0;
const REGION: u8 = 1;

pub(crate) fn encode_progress(progress: &VersionVector, out: &mut Vec<u8>) {
    let count = u8::try_from(progress.iter().count()).expect("regions are numbered in a byte");
    out.push(count);
    for (stream, sequence) in progress.iter() {
        match stream {
            StreamId::Account => out.extend_from_slice(&[ACCOUNT, 0]),
            StreamId::Region(region) => out.extend_from_slice(&[REGION, region.0]),
        }
        out.extend_from_slice(&sequence.0.to_le_bytes());
    }
}

pub(crate) fn decode_progress(bytes: &mut &[u8]) -> Option<VersionVector> {
    let [count] = *take::<1>(bytes)?;
    let mut progress = VersionVector::default();
    for _ in 0..count {
        let stream = match *take::<2>(bytes)? {
            [ACCOUNT, 0] => StreamId::Account,
            [REGION, region] => StreamId::Region(RegionId(region)),
            _ => return None,
        };
        progress.advance(stream, Sequence(take_long(bytes)?));
    }
    Some(progress)
}

pub(crate) fn encode_stream_header(stream_header: &StreamHeader, out: &mut Vec<u8>) {
    out.push(stream_header.version_id.origin.0);
    out.extend_from_slice(&stream_header.epoch.0.to_le_bytes());
    out.extend_from_slice(&stream_header.version_id.sequence.0.to_le_bytes());
    encode_progress(&stream_header.deps, out);
    out.extend_from_slice(&stream_header.deciding_epoch.0.to_le_bytes());
    let count =
        u16::try_from(stream_header.expired.len()).expect("changes are counted in two bytes");
    out.extend_from_slice(&count.to_le_bytes());
    for ordinal in &stream_header.expired {
        out.extend_from_slice(&ordinal.to_le_bytes());
    }
}

/// Decodes the stream header of a record. The changes follow it.
pub(crate) fn decode_stream_header(bytes: &mut &[u8]) -> Option<StreamHeader> {
    let (version_id, epoch, deps) = decode_envelope(bytes)?;
    let (deciding_epoch, expired) = decode_body(bytes)?;
    Some(StreamHeader {
        version_id,
        epoch,
        deps,
        deciding_epoch,
        expired,
    })
}

/// Decodes the part outside the data of a stream record.
pub(super) fn decode_envelope(bytes: &mut &[u8]) -> Option<(VersionId, Epoch, VersionVector)> {
    let [origin] = *take::<1>(bytes)?;
    let epoch = Epoch(take_long(bytes)?);
    let version_id = VersionId {
        origin: RegionId(origin),
        sequence: Sequence(take_long(bytes)?),
    };
    Some((version_id, epoch, decode_progress(bytes)?))
}

/// Decodes the part before the record in the data of a stream record.
pub(super) fn decode_body(bytes: &mut &[u8]) -> Option<(Epoch, Vec<u16>)> {
    let deciding_epoch = Epoch(take_long(bytes)?);
    let count = u16::from_le_bytes(*take(bytes)?);
    let mut expired = Vec::new();
    for _ in 0..count {
        expired.push(u16::from_le_bytes(*take(bytes)?));
    }
    Some((deciding_epoch, expired))
}

pub(super) fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(head)
}

pub(super) fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).copied().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_headers_read_back() {
        let deps: VersionVector = [
            (StreamId::Account, Sequence(7)),
            (StreamId::Region(RegionId(3)), Sequence(u64::MAX)),
        ]
        .into_iter()
        .collect();
        let stream_header = StreamHeader {
            version_id: VersionId {
                origin: RegionId(3),
                sequence: Sequence(12),
            },
            epoch: Epoch(0x101),
            deps,
            deciding_epoch: Epoch(5),
            expired: vec![0, 300],
        };
        let mut bytes = Vec::new();
        encode_stream_header(&stream_header, &mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(decode_stream_header(&mut rest), Some(stream_header));
        assert!(rest.is_empty());
        for cut in 0..bytes.len() {
            assert_eq!(decode_stream_header(&mut &bytes[..cut]), None, "{cut}");
        }
    }
}
