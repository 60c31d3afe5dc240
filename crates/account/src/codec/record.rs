//! A record of a stream as it is kept.

use bytes::Bytes;
use orrery_regions::StreamRecord;

use super::reader::read_whole;
use super::writer::Write;

pub(crate) fn encode_record(record: &StreamRecord, out: &mut Vec<u8>) {
    record.write(out);
}

pub(crate) fn decode_record(bytes: &[u8]) -> Option<StreamRecord> {
    read_whole(Bytes::copy_from_slice(bytes))
}
