//! Rid counters of new items that are unique across regions.
//!
//! Regions create items without coordination, so each region has its own part of the numbers of
//! every partition: eight bits of the number, below the script bit, hold the region. Numbers of
//! other regions are counted as well: a region that lost its state copies another region's, and
//! must continue after its own last number.

use bytes::Bytes;
use orrery_model::RangeId;
use orrery_regions::RegionId;

use crate::document_key::prefix_end;
use crate::keyspaces::META;
use crate::overlay::Overlay;
use crate::stored_item::StoredItem;
use crate::{Counters, Error};

const REGION_SHIFT: u32 = 31;
const REGION_BITS: u64 = 0xFF << REGION_SHIFT;

/// Inserts the region into a sequence number.
pub(crate) fn rid_of_region(sequence: u64, region: RegionId) -> u64 {
    sequence & !REGION_BITS | u64::from(region.0) << REGION_SHIFT
}

/// The region that assigned a number.
pub(crate) fn region_of(sequence: u64) -> RegionId {
    RegionId(((sequence & REGION_BITS) >> REGION_SHIFT).to_le_bytes()[0])
}

/// The number without its region.
pub(crate) fn sequence_of(sequence: u64) -> u64 {
    sequence & !REGION_BITS
}

/// Counts the number of an item that another region created.
pub(super) fn note_created(
    overlay: &mut Overlay<'_>,
    container: u32,
    item: &StoredItem,
) -> Result<(), Error> {
    let Some((range, number)) = item.created_in() else {
        return Ok(());
    };
    let key = row_key(container, region_of(number), range);
    let mut next = overlay
        .get(META, &key)?
        .and_then(|row| decode(&row))
        .unwrap_or_default();
    let before = next;
    next.count(sequence_of(number));
    if next != before {
        overlay.put(META, key, next.encode());
    }
    Ok(())
}

/// A partition of a container.
pub(crate) type PartitionRef = (u32, RangeId);

/// The next numbers of a region in each partition, as another region has counted them.
pub(crate) fn next_rids_from(
    rows: impl Iterator<Item = Result<(Bytes, Bytes), Error>>,
    region: RegionId,
) -> Result<Vec<(PartitionRef, NextRids)>, Error> {
    let mut found = Vec::new();
    for row in rows {
        let (key, value) = row?;
        if let (Some((partition, of)), Some(next)) = (decode_key(&key), decode(&value))
            && of == region
        {
            found.push((partition, next));
        }
    }
    Ok(found)
}

/// The key range of all rows of this kind.
pub(crate) fn rows_range() -> (Vec<u8>, Option<Vec<u8>>) {
    (ROW.to_vec(), prefix_end(ROW))
}

/// The key range of the rows of one container.
pub(crate) fn rows_of(container: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    let prefix = [ROW, &container.to_be_bytes()].concat();
    let end = prefix_end(&prefix);
    (prefix, end)
}

const ROW: &[u8] = b"r";

/// The lowest unassigned numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NextRids {
    rid: u64,
    script_rid: u64,
}

impl NextRids {
    fn count(&mut self, sequence: u64) {
        let next = if sequence < crate::apply::SCRIPT_SEQUENCE_MIN {
            &mut self.rid
        } else {
            &mut self.script_rid
        };
        *next = (*next).max(sequence + 1);
    }

    /// Raises counters to at least these numbers.
    pub(crate) fn raise(self, counters: Counters) -> Counters {
        Counters {
            next_rid: counters.next_rid.max(self.rid),
            next_script_rid: counters.next_script_rid.max(self.script_rid),
            ..counters
        }
    }

    fn encode(self) -> Bytes {
        Bytes::from([self.rid.to_le_bytes(), self.script_rid.to_le_bytes()].concat())
    }
}

fn decode(row: &[u8]) -> Option<NextRids> {
    let (&[rid, script_rid], []) = row.as_chunks::<8>().0.split_first_chunk::<2>()? else {
        return None;
    };
    Some(NextRids {
        rid: u64::from_le_bytes(rid),
        script_rid: u64::from_le_bytes(script_rid),
    })
}

fn row_key(container: u32, region: RegionId, range: RangeId) -> Bytes {
    let range = range.0.to_be_bytes();
    [ROW, &container.to_be_bytes(), &[region.0], &range]
        .concat()
        .into()
}

fn decode_key(key: &[u8]) -> Option<((u32, RangeId), RegionId)> {
    let key = key.strip_prefix(ROW)?;
    let (container, rest) = key.split_first_chunk()?;
    let (&[region], rest) = rest.split_first_chunk()?;
    let range = RangeId(u32::from_be_bytes(*rest.first_chunk()?));
    Some(((u32::from_be_bytes(*container), range), RegionId(region)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_never_give_out_the_same_number() {
        for sequence in [1, 5, crate::apply::SCRIPT_SEQUENCE_MIN + 9] {
            for region in [0, 1, 255] {
                let number = rid_of_region(sequence, RegionId(region));
                assert_eq!(region_of(number), RegionId(region));
                assert_eq!(sequence_of(number), sequence);
            }
        }
        let key = row_key(7, RegionId(2), RangeId(9));
        assert_eq!(decode_key(&key), Some(((7, RangeId(9)), RegionId(2))));
        let next = NextRids {
            rid: 4,
            script_rid: 5,
        };
        assert_eq!(decode(&next.encode()), Some(next));
    }
}
