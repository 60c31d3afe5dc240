//! Messages of the streams of regions.

use bytes::Bytes;
use orrery_regions::{Millis, MultiWriteMessage, Sequence, StreamId, VersionVector};

use super::parts::read_records;
use super::reader::Decode;
use super::writer::Encode;

const HAVE: u8 = 1;
const PULL: u8 = 2;
const PAGE: u8 = 3;
const TRIMMED: u8 = 4;

impl Encode for MultiWriteMessage {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            MultiWriteMessage::Have(have) => {
                HAVE.write(out);
                have.write(out);
            }
            MultiWriteMessage::Pull {
                have,
                stream,
                after,
                asked,
                bytes_max,
            } => {
                PULL.write(out);
                have.write(out);
                stream.write(out);
                after.write(out);
                asked.write(out);
                bytes_max.write(out);
            }
            MultiWriteMessage::Page {
                have,
                stream,
                after,
                asked,
                records,
            } => {
                PAGE.write(out);
                have.write(out);
                stream.write(out);
                after.write(out);
                asked.write(out);
                records.write(out);
            }
            MultiWriteMessage::Trimmed {
                have,
                stream,
                after,
            } => {
                TRIMMED.write(out);
                have.write(out);
                stream.write(out);
                after.write(out);
            }
        }
    }
}

impl Decode for MultiWriteMessage {
    const BYTES_MIN: usize = 5;

    fn read(input: &mut Bytes) -> Option<MultiWriteMessage> {
        let kind = u8::read(input)?;
        let have = VersionVector::read(input)?;
        Some(match kind {
            HAVE => MultiWriteMessage::Have(have),
            PULL => MultiWriteMessage::Pull {
                have,
                stream: StreamId::read(input)?,
                after: Sequence::read(input)?,
                asked: Millis::read(input)?,
                bytes_max: u64::read(input)?,
            },
            PAGE => {
                let stream = StreamId::read(input)?;
                let after = Sequence::read(input)?;
                let asked = Millis::read(input)?;
                let records = read_records(input, stream, after)?;
                MultiWriteMessage::Page {
                    have,
                    stream,
                    after,
                    asked,
                    records,
                }
            }
            TRIMMED => MultiWriteMessage::Trimmed {
                have,
                stream: StreamId::read(input)?,
                after: Sequence::read(input)?,
            },
            _ => return None,
        })
    }
}
