//! Frames.

use bytes::Bytes;
use orrery_model::Secret;
use orrery_regions::{MultiWriteMessage, ReplicaMessage};

use super::VERSION;
use super::reader::{Decode, read_whole};
use super::writer::Encode;
use crate::{LinkFrame, PartitionsFrame, SnapshotFrame};

const ACCOUNT: u8 = 1;
const MULTI_WRITE: u8 = 2;
const SNAPSHOT: u8 = 3;
const ENDPOINT: u8 = 4;
const TOKEN_SECRET: u8 = 5;
const PARTITIONS: u8 = 6;
const PROBLEM: u8 = 7;

const ASK: u8 = 1;
const METADATA: u8 = 2;
const NEXT: u8 = 3;
const PIECE: u8 = 4;
const ENDS: u8 = 5;
const NOT_FOUND: u8 = 6;

/// Appends the encoded frame to the send buffer.
pub fn encode_frame(frame: &LinkFrame, out: &mut Vec<u8>) {
    VERSION.write(out);
    frame.write(out);
}

/// Decodes a whole frame; payloads are slices of the input, not copies.
pub fn decode_frame(mut bytes: Bytes) -> Option<LinkFrame> {
    if u8::read(&mut bytes)? != VERSION {
        return None;
    }
    read_whole(bytes)
}

impl Encode for LinkFrame {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            LinkFrame::Account(message) => {
                ACCOUNT.write(out);
                message.write(out);
            }
            LinkFrame::MultiWrite(message) => {
                MULTI_WRITE.write(out);
                message.write(out);
            }
            LinkFrame::Snapshot(snapshot) => {
                SNAPSHOT.write(out);
                snapshot.write(out);
            }
            LinkFrame::Endpoint(url) => {
                ENDPOINT.write(out);
                url.write(out);
            }
            LinkFrame::TokenSecret(secret) => {
                TOKEN_SECRET.write(out);
                Bytes::copy_from_slice(secret.expose()).write(out);
            }
            LinkFrame::Problem(cause) => {
                PROBLEM.write(out);
                cause.write(out);
            }
            LinkFrame::Partitions(partitions) => {
                PARTITIONS.write(out);
                partitions.write(out);
            }
        }
    }
}

impl Decode for LinkFrame {
    const BYTES_MIN: usize = 5;

    fn read(input: &mut Bytes) -> Option<LinkFrame> {
        Some(match u8::read(input)? {
            ACCOUNT => LinkFrame::Account(ReplicaMessage::read(input)?),
            MULTI_WRITE => LinkFrame::MultiWrite(MultiWriteMessage::read(input)?),
            SNAPSHOT => LinkFrame::Snapshot(SnapshotFrame::read(input)?),
            ENDPOINT => LinkFrame::Endpoint(String::read(input)?),
            TOKEN_SECRET => LinkFrame::TokenSecret(Secret::new(Bytes::read(input)?.to_vec())),
            PROBLEM => LinkFrame::Problem(String::read(input)?),
            PARTITIONS => LinkFrame::Partitions(PartitionsFrame::read(input)?),
            _ => return None,
        })
    }
}

impl Encode for SnapshotFrame {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            SnapshotFrame::Ask { copy } => (ASK, *copy).write(out),
            SnapshotFrame::Metadata {
                copy,
                position,
                note,
            } => {
                (METADATA, *copy).write(out);
                position.write(out);
                note.write(out);
            }
            SnapshotFrame::Next { copy, piece } => {
                (NEXT, *copy).write(out);
                piece.write(out);
            }
            SnapshotFrame::Piece {
                copy,
                piece,
                space,
                entries,
            } => {
                (PIECE, *copy).write(out);
                (*piece, *space).write(out);
                entries.write(out);
            }
            SnapshotFrame::Ends { copy, pieces } => {
                (ENDS, *copy).write(out);
                pieces.write(out);
            }
            SnapshotFrame::NotFound { copy } => (NOT_FOUND, *copy).write(out),
        }
    }
}

impl Decode for SnapshotFrame {
    const BYTES_MIN: usize = 9;

    fn read(input: &mut Bytes) -> Option<SnapshotFrame> {
        let (kind, copy) = <(u8, u64)>::read(input)?;
        Some(match kind {
            ASK => SnapshotFrame::Ask { copy },
            METADATA => SnapshotFrame::Metadata {
                copy,
                position: u64::read(input)?,
                note: Bytes::read(input)?,
            },
            NEXT => SnapshotFrame::Next {
                copy,
                piece: u64::read(input)?,
            },
            PIECE => SnapshotFrame::Piece {
                copy,
                piece: u64::read(input)?,
                space: u8::read(input)?,
                entries: Vec::read(input)?,
            },
            ENDS => SnapshotFrame::Ends {
                copy,
                pieces: u64::read(input)?,
            },
            NOT_FOUND => SnapshotFrame::NotFound { copy },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::codec::arbitrary::frames;
    use crate::link::testing::page;

    fn encoded(frame: &LinkFrame) -> Bytes {
        let mut bytes = Vec::new();
        encode_frame(frame, &mut bytes);
        bytes.into()
    }

    /// A decoded frame must encode to the same bytes.
    fn check_canonical(bytes: &[u8]) {
        if let Some(frame) = decode_frame(Bytes::copy_from_slice(bytes)) {
            assert_eq!(encoded(&frame), bytes);
        }
    }

    proptest! {
        #[test]
        fn frames_read_back(frame in frames()) {
            let bytes = encoded(&frame);
            prop_assert_eq!(decode_frame(bytes.clone()), Some(frame));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode_frame(bytes.slice(..cut)), None);
            }
            let longer = [&bytes[..], &[0]].concat();
            prop_assert_eq!(decode_frame(longer.into()), None);
        }

        #[test]
        fn a_changed_byte_gives_another_frame_or_none(
            frame in frames(),
            index in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut bytes = encoded(&frame).to_vec();
            let index = index.index(bytes.len());
            bytes[index] = byte;
            check_canonical(&bytes);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            kinds in vec(1..13u8, 0..3),
            rest in vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..200),
        ) {
            check_canonical(&[vec![VERSION], kinds, rest].concat());
        }
    }

    #[test]
    fn a_count_beyond_the_input_takes_no_memory() {
        let mut bytes = vec![VERSION, SNAPSHOT, PIECE];
        bytes.extend_from_slice(&[0; 17]);
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode_frame(bytes.into()), None);
    }

    #[test]
    fn records_of_a_page_follow_each_other() {
        for (after, sequences, is_valid) in [
            (4, vec![5, 6], true),
            (4, vec![5, 7], false),
            (4, vec![6], false),
            (5, vec![5], false),
            (u64::MAX, vec![0], false),
        ] {
            let bytes = encoded(&page(after, sequences.clone()));
            assert_eq!(
                decode_frame(bytes).is_some(),
                is_valid,
                "{after} {sequences:?}"
            );
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let mut bytes = encoded(&LinkFrame::Endpoint("a".to_owned())).to_vec();
        bytes[0] = VERSION + 1;
        assert_eq!(decode_frame(bytes.into()), None);
    }
}
