//! Messages of the streams of regions.

use bytes::Bytes;
use orrery_regions::{MeshMessage, Millis, Progress, Sequence, StreamId};

use super::parts::read_records;
use super::reader::Read;
use super::writer::Write;

const HAVE: u8 = 1;
const PULL: u8 = 2;
const PAGE: u8 = 3;
const TRIMMED: u8 = 4;

impl Write for MeshMessage {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            MeshMessage::Have(have) => {
                HAVE.write(out);
                have.write(out);
            }
            MeshMessage::Pull {
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
            MeshMessage::Page {
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
            MeshMessage::Trimmed {
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

impl Read for MeshMessage {
    const BYTES_MIN: usize = 5;

    fn read(input: &mut Bytes) -> Option<MeshMessage> {
        let kind = u8::read(input)?;
        let have = Progress::read(input)?;
        Some(match kind {
            HAVE => MeshMessage::Have(have),
            PULL => MeshMessage::Pull {
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
                MeshMessage::Page {
                    have,
                    stream,
                    after,
                    asked,
                    records,
                }
            }
            TRIMMED => MeshMessage::Trimmed {
                have,
                stream: StreamId::read(input)?,
                after: Sequence::read(input)?,
            },
            _ => return None,
        })
    }
}
