//! A record of a stream as it is kept, and what a state says that it has of all streams.

use bytes::Bytes;
use orrery_regions::{Progress, StreamRecord};

use super::reader::read_whole;
use super::writer::Write;

pub(crate) fn encode_record(record: &StreamRecord, out: &mut Vec<u8>) {
    record.write(out);
}

pub(crate) fn decode_record(bytes: &[u8]) -> Option<StreamRecord> {
    read_whole(Bytes::copy_from_slice(bytes))
}

pub(crate) fn encode_progress(progress: &Progress) -> Bytes {
    let mut out = Vec::new();
    progress.write(&mut out);
    out.into()
}

pub(crate) fn decode_progress(bytes: &Bytes) -> Option<Progress> {
    read_whole(bytes.clone())
}
