//! The stored form of a stream record, and the version vector of a state.

use bytes::Bytes;
use orrery_regions::{StreamRecord, VersionVector};

use super::reader::read_whole;
use super::writer::Encode;

pub(crate) fn encode_record(record: &StreamRecord, out: &mut Vec<u8>) {
    record.write(out);
}

pub(crate) fn decode_record(bytes: &[u8]) -> Option<StreamRecord> {
    read_whole(Bytes::copy_from_slice(bytes))
}

pub(crate) fn encode_progress(progress: &VersionVector) -> Bytes {
    let mut out = Vec::new();
    progress.write(&mut out);
    out.into()
}

pub(crate) fn decode_progress(bytes: &Bytes) -> Option<VersionVector> {
    read_whole(bytes.clone())
}
