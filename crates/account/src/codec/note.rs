//! Records of the account stream without data, as the log and the state of a region store them.

use bytes::Bytes;
use orrery_regions::{RecordBody, SnapshotMetadata};

use super::VERSION;
use super::reader::read_whole;
use super::writer::Encode;

/// A record's body with the lineage and members from that record on.
pub fn encode_note(head: &SnapshotMetadata, body: &RecordBody) -> Bytes {
    let mut out = vec![VERSION];
    head.write(&mut out);
    body.write(&mut out);
    out.into()
}

pub fn decode_note(bytes: &[u8]) -> Option<(SnapshotMetadata, RecordBody)> {
    let (version, rest) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    read_whole::<(SnapshotMetadata, RecordBody)>(Bytes::copy_from_slice(rest))
}

#[cfg(test)]
mod tests {
    use orrery_regions::{Epoch, Lineage, Sequence};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::codec::arbitrary::{bodies, heads};

    proptest! {
        #[test]
        fn notes_read_back(head in heads(), body in bodies()) {
            let bytes = encode_note(&head, &body);
            prop_assert_eq!(decode_note(&bytes), Some((head, body)));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode_note(&bytes[..cut]), None);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(rest in vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..200)) {
            let bytes = [vec![VERSION], rest].concat();
            if let Some((head, body)) = decode_note(&bytes) {
                prop_assert_eq!(encode_note(&head, &body), bytes);
            }
        }
    }

    /// Epochs that begin before they could would make arithmetic with them fail.
    #[test]
    fn lineages_rise() {
        for (entries, is_valid) in [
            (vec![], true),
            (vec![(256, 1), (512, 2)], true),
            (vec![(256, 0)], false),
            (vec![(0, 1)], false),
            (vec![(256, 2), (512, 2)], false),
            (vec![(256, 2), (512, 1)], false),
            (vec![(512, 1), (256, 2)], false),
        ] {
            let entries: Vec<(Epoch, Sequence)> = entries
                .into_iter()
                .map(|(epoch, first)| (Epoch(epoch), Sequence(first)))
                .collect();
            let mut bytes = Vec::new();
            entries.write(&mut bytes);
            let read = read_whole::<Lineage>(bytes.into());
            assert_eq!(read.is_some(), is_valid, "{entries:?}");
        }
    }
}
