//! The child partitions that own the range of a superseded partition, in a multi-write account.
//!
//! A split or a merge arrives with the account stream, in each region at a different time, and a
//! record made before it may arrive after it. Such a record names the partition that owned its
//! documents in the region of its origin. So for every superseded partition a catalogue row lists
//! the child partitions, and the row exists as long as the container. A record never names an
//! unknown partition, because it depends on the account records that its origin had applied.
//!
//! Each region counts its partitions and assigns LSNs on its own. The row contains the share of
//! each child, and every region divides its own counters by these shares.

use bytes::Bytes;
use orrery_model::RangeId;

use super::codec::{take, take_long};
use super::merge::counters_of;
use crate::counters::counters_key;
use crate::document_key::container_of;
use crate::keyspaces::{CATALOGUE, META, SUPERSEDED};
use crate::overlay::Overlay;
use crate::record::KeyChange;
use crate::repartitioning::child_counters;
use crate::{Container, CounterStatus, Counters, Error, Repartitioning};

/// A child partition that owns a part or the whole of a superseded partition's range.
#[derive(Debug, Clone, PartialEq)]
struct ChildRow {
    id: RangeId,
    share: f64,
    /// The lower bound of its range.
    first: Bytes,
}

/// The catalogue rows of a split or a merge in a multi-write account.
pub fn supersession_changes(repartitioning: &Repartitioning) -> Vec<KeyChange> {
    let children: Vec<ChildRow> = repartitioning
        .children
        .iter()
        .map(|child| ChildRow {
            id: child.partition.id,
            share: child.share,
            first: Bytes::copy_from_slice(child.partition.range.min.significant_bytes()),
        })
        .collect();
    let parents = repartitioning.parents.iter();
    let change = |id| {
        (
            row_key(repartitioning.container, id),
            Some(encode(&children)),
        )
    };
    parents.map(|partition| change(partition.id)).collect()
}

/// Removes the rows of [`supersession_changes`] when a container is deleted.
pub fn supersession_removals(container: &Container) -> Vec<KeyChange> {
    let partitions = container.partitions.iter();
    let mut parents: Vec<RangeId> = partitions
        .flat_map(|partition| partition.ancestors.iter().copied())
        .collect();
    parents.sort_unstable();
    parents.dedup();
    let removal = |id| (row_key(container.rid.id(), id), None);
    parents.into_iter().map(removal).collect()
}

/// Applies a catalogue change of a superseded partition: marks the partition and gives its counters
/// to the child partitions.
pub(super) fn supersede(overlay: &mut Overlay<'_>, (key, value): &KeyChange) -> Result<(), Error> {
    let (Some((container, id)), Some(row)) = (decode_key(key), value) else {
        return Ok(());
    };
    let children = decode(id, row)?;
    let before = counters_of(overlay, (container, id))?;
    if before.status == CounterStatus::Superseded {
        return Err(Error::Damaged(format!(
            "partition {id} is superseded twice"
        )));
    }
    let superseded = Counters {
        lsn: before.lsn,
        status: CounterStatus::Superseded,
        ..Counters::default()
    };
    put(overlay, container, id, superseded);
    let shares: Vec<f64> = children.iter().map(|child| child.share).collect();
    for (child, part) in children.iter().zip(child_counters(&[before], &shares)) {
        // In a merge, the child has the counters of the other parent already.
        let has = overlay.get(META, &counters_row(container, child.id))?;
        let has = has.map(|row| Counters::decode(&row)).transpose()?;
        put(overlay, container, child.id, sum(has, part));
    }
    Ok(())
}

fn sum(has: Option<Counters>, part: Counters) -> Counters {
    let Some(has) = has else {
        return part;
    };
    let are_exact = has.status == CounterStatus::Exact && part.status == CounterStatus::Exact;
    Counters {
        lsn: has.lsn.max(part.lsn),
        items: has.items.wrapping_add(part.items),
        bytes: has.bytes.wrapping_add(part.bytes),
        status: if are_exact {
            CounterStatus::Exact
        } else {
            CounterStatus::Estimated
        },
        ..has
    }
}

/// The partition that owns a key position now, starting from the partition that owned it at the
/// origin of a record.
pub(super) fn holder(
    overlay: &Overlay<'_>,
    container: u32,
    range: RangeId,
    key_position: &[u8],
) -> Result<RangeId, Error> {
    let mut holder = range;
    while let Some(row) = overlay.get(CATALOGUE, &row_key(container, holder))? {
        let children = decode(holder, &row)?;
        let after = children.partition_point(|child| child.first <= key_position);
        let child = children.get(after.saturating_sub(1));
        holder = child.ok_or_else(|| damaged(holder))?.id;
    }
    Ok(holder)
}

/// Whether a partition is superseded.
pub(super) fn is_superseded(
    overlay: &Overlay<'_>,
    container: u32,
    range: RangeId,
) -> Result<bool, Error> {
    let row = overlay.get(CATALOGUE, &row_key(container, range))?;
    Ok(row.is_some())
}

fn put(overlay: &mut Overlay<'_>, container: u32, range: RangeId, counters: Counters) {
    overlay.put(META, counters_row(container, range), counters.encode());
}

fn counters_row(container: u32, range: RangeId) -> Bytes {
    Bytes::copy_from_slice(&counters_key(container, range))
}

fn row_key(container: u32, range: RangeId) -> Bytes {
    let (container, range) = (container.to_be_bytes(), range.0.to_be_bytes());
    [&[SUPERSEDED][..], &container, &range].concat().into()
}

fn decode_key(key: &[u8]) -> Option<(u32, RangeId)> {
    let numbers = key.strip_prefix(&[SUPERSEDED])?;
    let range = numbers.get(4..)?.first_chunk().copied();
    Some((container_of(numbers)?, RangeId(u32::from_be_bytes(range?))))
}

/// Encodes the children in range order, each as: number 4 | share 8 | length 2 | lower bound.
fn encode(children: &[ChildRow]) -> Bytes {
    let mut row = Vec::new();
    for ChildRow { id, share, first } in children {
        row.extend_from_slice(&id.0.to_le_bytes());
        row.extend_from_slice(&share.to_bits().to_le_bytes());
        let length = u16::try_from(first.len()).expect("a hash has a few bytes");
        row.extend_from_slice(&length.to_le_bytes());
        row.extend_from_slice(first);
    }
    row.into()
}

/// Decodes the children of a partition. Children have greater numbers than their parents, so
/// following children always terminates.
fn decode(parent: RangeId, row: &Bytes) -> Result<Vec<ChildRow>, Error> {
    let mut bytes = &row[..];
    let mut children = Vec::new();
    while !bytes.is_empty() {
        let child = take_child(&mut bytes);
        let child = child.filter(|child| child.id > parent && child.share.is_finite());
        children.push(child.ok_or_else(|| damaged(parent))?);
    }
    if children.is_empty() {
        return Err(damaged(parent));
    }
    Ok(children)
}

fn take_child(bytes: &mut &[u8]) -> Option<ChildRow> {
    let id = RangeId(u32::from_le_bytes(*take(bytes)?));
    let share = f64::from_bits(take_long(bytes)?);
    let length = usize::from(u16::from_le_bytes(*take(bytes)?));
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(ChildRow {
        id,
        share,
        first: Bytes::copy_from_slice(first),
    })
}

fn damaged(parent: RangeId) -> Error {
    Error::Damaged(format!(
        "the child partitions of partition {parent} do not decode"
    ))
}

#[cfg(test)]
mod tests {
    use orrery_model::Lsn;
    use orrery_storage::Storage;

    use super::*;
    use crate::keyspaces::NAMES;

    fn child(id: u32, share: f64, first: &'static [u8]) -> ChildRow {
        ChildRow {
            id: RangeId(id),
            share,
            first: Bytes::from_static(first),
        }
    }

    /// Changes an overlay like the catalogue change does.
    fn repartition(overlay: &mut Overlay<'_>, parents: &[u32], children: &[ChildRow]) {
        for id in parents {
            let change = (row_key(7, RangeId(*id)), Some(encode(children)));
            supersede(overlay, &change).unwrap();
            overlay.put(CATALOGUE, change.0, change.1.unwrap());
        }
    }

    fn counters(overlay: &Overlay<'_>, id: u32) -> (u64, u64, CounterStatus) {
        let counters = counters_of(overlay, (7, RangeId(id))).unwrap();
        (counters.lsn.0, counters.items, counters.status)
    }

    #[test]
    fn rows_round_trip_and_children_have_greater_numbers() {
        let children = [child(3, 0.25, b""), child(4, 0.75, b"\x10\x20")];
        let row = encode(&children);
        assert_eq!(decode(RangeId(2), &row).unwrap(), children);
        assert!(decode(RangeId(3), &row).is_err(), "a child of itself");
        for cut in 0..row.len() {
            let cut_row = row.slice(..cut);
            // A row with only the first child is valid as well.
            assert_eq!(decode(RangeId(2), &cut_row).is_ok(), cut == 14, "{cut}");
        }
        let key = row_key(7, RangeId(9));
        assert_eq!(decode_key(&key), Some((7, RangeId(9))));
        assert_eq!(decode_key(&key[..8]), None);
        assert_eq!(decode_key(b"c\0\0\0\x01"), None);
    }

    #[test]
    fn children_share_the_counters_of_their_parents() {
        let storage = Storage::in_memory(&NAMES);
        let mut overlay = Overlay::new(&storage);
        let before = Counters {
            lsn: Lsn(9),
            items: 10,
            ..Counters::default()
        };
        put(&mut overlay, 7, RangeId(0), before);
        repartition(
            &mut overlay,
            &[0],
            &[child(1, 0.3, b""), child(2, 0.7, b"\x80")],
        );
        assert_eq!(counters(&overlay, 0), (9, 0, CounterStatus::Superseded));
        assert_eq!(counters(&overlay, 1), (9, 3, CounterStatus::Estimated));
        assert_eq!(counters(&overlay, 2), (9, 7, CounterStatus::Estimated));
        for (key_position, range) in [
            (&b"\x10"[..], 1),
            (b"\x7F\xFF", 1),
            (b"\x80", 2),
            (b"\xFF", 2),
        ] {
            let holder = holder(&overlay, 7, RangeId(0), key_position).unwrap();
            assert_eq!(holder, RangeId(range), "{key_position:?}");
        }
        let more = Counters {
            lsn: Lsn(12),
            ..counters_of(&overlay, (7, RangeId(2))).unwrap()
        };
        put(&mut overlay, 7, RangeId(2), more);
        repartition(&mut overlay, &[1, 2], &[child(3, 1.0, b"")]);
        assert_eq!(counters(&overlay, 3), (12, 10, CounterStatus::Estimated));
        for from in 0..=3 {
            let holder = holder(&overlay, 7, RangeId(from), b"\x90").unwrap();
            assert_eq!(holder, RangeId(3));
        }
        let again = (row_key(7, RangeId(0)), Some(encode(&[child(4, 1.0, b"")])));
        assert!(supersede(&mut overlay, &again).is_err());
    }
}
