//! Key ranges, their owners, and the ranges that are down.

use bytes::Bytes;
use orrery_engine::KeyRange;
use orrery_regions::{RegionId, Sequence};

use super::VERSION;
use super::reader::{Decode, read_whole};
use super::writer::Encode;
use crate::PartitionsFrame;
use crate::partitions::RangeMove;

/// The prefix that marks an ownership record. A catalogue change has the sequence of the preceding
/// change in these bytes, and no sequence is this large.
const MARK: [u8; 8] = [0xFF; 8];

/// The data of a record of the account stream.
pub(crate) fn encode_move(range_move: &RangeMove) -> Bytes {
    let mut out = MARK.to_vec();
    VERSION.write(&mut out);
    range_move.keys.write(&mut out);
    range_move.owner.write(&mut out);
    range_move.is_automatic.write(&mut out);
    out.into()
}

/// Decodes an ownership record; none if the data is a catalogue change.
pub(crate) fn decode_move(data: &Bytes) -> Option<RangeMove> {
    let rest = data.strip_prefix(&MARK)?;
    let mut rest = data.slice_ref(rest);
    if u8::read(&mut rest)? != VERSION {
        return None;
    }
    let ((keys, owner), is_automatic) = read_whole::<((KeyRange, Option<RegionId>), bool)>(rest)?;
    Some(RangeMove {
        keys,
        owner,
        is_automatic,
    })
}

impl Encode for KeyRange {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(self.container).write(out);
        self.min.write(out);
        self.max.write(out);
    }
}

impl Decode for KeyRange {
    const BYTES_MIN: usize = 16;

    fn read(input: &mut Bytes) -> Option<KeyRange> {
        Some(KeyRange {
            container: u32::try_from(u64::read(input)?).ok()?,
            min: Bytes::read(input)?,
            max: Bytes::read(input)?,
        })
    }
}

impl Encode for PartitionsFrame {
    fn write(&self, out: &mut Vec<u8>) {
        self.down.write(out);
        self.opened.write(out);
    }
}

impl Decode for PartitionsFrame {
    const BYTES_MIN: usize = 12;

    fn read(input: &mut Bytes) -> Option<PartitionsFrame> {
        Some(PartitionsFrame {
            down: Vec::read(input)?,
            opened: Sequence::read(input)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_read_back() {
        for (owner, is_automatic) in [(None, true), (Some(RegionId(3)), false)] {
            let range_move = RangeMove {
                keys: KeyRange {
                    container: 9,
                    min: Bytes::new(),
                    max: Bytes::from_static(b"\x10"),
                },
                owner,
                is_automatic,
            };
            let data = encode_move(&range_move);
            for cut in 0..data.len() {
                assert_eq!(decode_move(&data.slice(..cut)), None);
            }
            assert_eq!(decode_move(&data), Some(range_move));
        }
        assert_eq!(decode_move(&Bytes::from_static(&[0; 40])), None);
    }
}
