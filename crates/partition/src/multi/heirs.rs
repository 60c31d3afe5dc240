//! Who has taken over a physical partition, where every region writes.
//!
//! A split or a merge comes with the account stream, to each region at another moment, and a record
//! that was made before it may arrive after it. It names the partition that held its documents where
//! it was made. So of every partition that retires a row of the catalogue says who has what it held,
//! and stays for as long as the container does. A record never names a partition that is not known
//! yet: it depends on what its author had applied of the account stream.
//!
//! What partitions count is each region's own, and so are their LSNs. The row says which share falls
//! to whom, and every region divides what it has.

use bytes::Bytes;
use orrery_model::RangeId;

use super::codec::{take, take_long};
use super::merge::counters_of;
use crate::counters::counters_key;
use crate::document_key::container_of;
use crate::overlay::Overlay;
use crate::record::Change;
use crate::reshape::inherited;
use crate::spaces::{CATALOGUE, META, RETIRED};
use crate::{Container, Counters, Error, Reshape, Standing};

/// A partition that has taken over some of another one, or all of it.
#[derive(Debug, Clone, PartialEq)]
struct Heir {
    id: RangeId,
    share: f64,
    /// Where its range begins.
    first: Bytes,
}

/// What a split or a merge puts into the catalogue of an account that every region writes.
pub fn retirement_changes(reshape: &Reshape) -> Vec<Change> {
    let heirs: Vec<Heir> = reshape
        .heirs
        .iter()
        .map(|heir| Heir {
            id: heir.partition.id,
            share: heir.share,
            first: Bytes::copy_from_slice(heir.partition.range.min.significant_bytes()),
        })
        .collect();
    let retired = reshape.retired.iter();
    let change = |id| (row_key(reshape.container, id), Some(encode(&heirs)));
    retired.map(|partition| change(partition.id)).collect()
}

/// Removes what [`retirement_changes`] have put, for a container that goes.
pub fn retirement_removals(container: &Container) -> Vec<Change> {
    let partitions = container.partitions.iter();
    let mut retired: Vec<RangeId> = partitions
        .flat_map(|partition| partition.ancestors.iter().copied())
        .collect();
    retired.sort_unstable();
    retired.dedup();
    let removal = |id| (row_key(container.rid.id(), id), None);
    retired.into_iter().map(removal).collect()
}

/// Lets partitions retire, if a change of the catalogue says so: their heirs go on with what they
/// have counted here.
pub(super) fn retire(overlay: &mut Overlay<'_>, (key, value): &Change) -> Result<(), Error> {
    let (Some((container, id)), Some(row)) = (decode_key(key), value) else {
        return Ok(());
    };
    let heirs = decode(id, row)?;
    let before = counters_of(overlay, (container, id))?;
    if before.standing == Standing::Retired {
        return Err(Error::Damaged(format!("partition {id} retires twice")));
    }
    let gone = Counters {
        lsn: before.lsn,
        standing: Standing::Retired,
        ..Counters::default()
    };
    put(overlay, container, id, gone);
    let shares: Vec<f64> = heirs.iter().map(|heir| heir.share).collect();
    for (heir, part) in heirs.iter().zip(inherited(&[before], &shares)) {
        // Of a merge it has the part of the other one already.
        let has = overlay.get(META, &counters_row(container, heir.id))?;
        let has = has.map(|row| Counters::decode(&row)).transpose()?;
        put(overlay, container, heir.id, sum(has, part));
    }
    Ok(())
}

fn sum(has: Option<Counters>, part: Counters) -> Counters {
    let Some(has) = has else {
        return part;
    };
    let are_exact = has.standing == Standing::Exact && part.standing == Standing::Exact;
    Counters {
        lsn: has.lsn.max(part.lsn),
        items: has.items.wrapping_add(part.items),
        bytes: has.bytes.wrapping_add(part.bytes),
        standing: if are_exact {
            Standing::Exact
        } else {
            Standing::Estimated
        },
        ..has
    }
}

/// The partition that holds a place now, of one that held it when and where a record was made.
pub(super) fn holder(
    overlay: &Overlay<'_>,
    container: u32,
    range: RangeId,
    place: &[u8],
) -> Result<RangeId, Error> {
    let mut holder = range;
    while let Some(row) = overlay.get(CATALOGUE, &row_key(container, holder))? {
        let heirs = decode(holder, &row)?;
        let after = heirs.partition_point(|heir| heir.first <= place);
        let heir = heirs.get(after.saturating_sub(1));
        holder = heir.ok_or_else(|| damaged(holder))?.id;
    }
    Ok(holder)
}

/// Whether a partition has retired.
pub(super) fn is_retired(
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
    [&[RETIRED][..], &container, &range].concat().into()
}

fn decode_key(key: &[u8]) -> Option<(u32, RangeId)> {
    let numbers = key.strip_prefix(&[RETIRED])?;
    let range = numbers.get(4..)?.first_chunk().copied();
    Some((container_of(numbers)?, RangeId(u32::from_be_bytes(range?))))
}

/// For each heir, in the order of their ranges: number 4 | share 8 | length 2 | where it begins.
fn encode(heirs: &[Heir]) -> Bytes {
    let mut row = Vec::new();
    for Heir { id, share, first } in heirs {
        row.extend_from_slice(&id.0.to_le_bytes());
        row.extend_from_slice(&share.to_bits().to_le_bytes());
        let length = u16::try_from(first.len()).expect("a hash has a few bytes");
        row.extend_from_slice(&length.to_le_bytes());
        row.extend_from_slice(first);
    }
    row.into()
}

/// The heirs of a partition. They have greater numbers, so that whoever goes from heir to heir comes
/// to an end.
fn decode(retired: RangeId, row: &Bytes) -> Result<Vec<Heir>, Error> {
    let mut bytes = &row[..];
    let mut heirs = Vec::new();
    while !bytes.is_empty() {
        let heir = take_heir(&mut bytes);
        let heir = heir.filter(|heir| heir.id > retired && heir.share.is_finite());
        heirs.push(heir.ok_or_else(|| damaged(retired))?);
    }
    if heirs.is_empty() {
        return Err(damaged(retired));
    }
    Ok(heirs)
}

fn take_heir(bytes: &mut &[u8]) -> Option<Heir> {
    let id = RangeId(u32::from_le_bytes(*take(bytes)?));
    let share = f64::from_bits(take_long(bytes)?);
    let length = usize::from(u16::from_le_bytes(*take(bytes)?));
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Heir {
        id,
        share,
        first: Bytes::copy_from_slice(first),
    })
}

fn damaged(retired: RangeId) -> Error {
    Error::Damaged(format!("the heirs of partition {retired} do not decode"))
}

#[cfg(test)]
mod tests {
    use orrery_model::Lsn;
    use orrery_storage::Storage;

    use super::*;
    use crate::spaces::NAMES;

    fn heir(id: u32, share: f64, first: &'static [u8]) -> Heir {
        Heir {
            id: RangeId(id),
            share,
            first: Bytes::from_static(first),
        }
    }

    /// Does to an overlay what the change of the catalogue does.
    fn reshape(overlay: &mut Overlay<'_>, retired: &[u32], heirs: &[Heir]) {
        for id in retired {
            let change = (row_key(7, RangeId(*id)), Some(encode(heirs)));
            retire(overlay, &change).unwrap();
            overlay.put(CATALOGUE, change.0, change.1.unwrap());
        }
    }

    fn counters(overlay: &Overlay<'_>, id: u32) -> (u64, u64, Standing) {
        let counters = counters_of(overlay, (7, RangeId(id))).unwrap();
        (counters.lsn.0, counters.items, counters.standing)
    }

    #[test]
    fn rows_read_back_and_lead_nowhere_back() {
        let heirs = [heir(3, 0.25, b""), heir(4, 0.75, b"\x10\x20")];
        let row = encode(&heirs);
        assert_eq!(decode(RangeId(2), &row).unwrap(), heirs);
        assert!(decode(RangeId(3), &row).is_err(), "an heir of itself");
        for cut in 0..row.len() {
            let cut_row = row.slice(..cut);
            // The first heir alone is a row too.
            assert_eq!(decode(RangeId(2), &cut_row).is_ok(), cut == 14, "{cut}");
        }
        let key = row_key(7, RangeId(9));
        assert_eq!(decode_key(&key), Some((7, RangeId(9))));
        assert_eq!(decode_key(&key[..8]), None);
        assert_eq!(decode_key(b"c\0\0\0\x01"), None);
    }

    #[test]
    fn heirs_hold_what_was_there_and_go_on_counting() {
        let storage = Storage::in_memory(&NAMES);
        let mut overlay = Overlay::new(&storage);
        let before = Counters {
            lsn: Lsn(9),
            items: 10,
            ..Counters::default()
        };
        put(&mut overlay, 7, RangeId(0), before);
        reshape(
            &mut overlay,
            &[0],
            &[heir(1, 0.3, b""), heir(2, 0.7, b"\x80")],
        );
        assert_eq!(counters(&overlay, 0), (9, 0, Standing::Retired));
        assert_eq!(counters(&overlay, 1), (9, 3, Standing::Estimated));
        assert_eq!(counters(&overlay, 2), (9, 7, Standing::Estimated));
        for (place, range) in [
            (&b"\x10"[..], 1),
            (b"\x7F\xFF", 1),
            (b"\x80", 2),
            (b"\xFF", 2),
        ] {
            let holder = holder(&overlay, 7, RangeId(0), place).unwrap();
            assert_eq!(holder, RangeId(range), "{place:?}");
        }
        let more = Counters {
            lsn: Lsn(12),
            ..counters_of(&overlay, (7, RangeId(2))).unwrap()
        };
        put(&mut overlay, 7, RangeId(2), more);
        reshape(&mut overlay, &[1, 2], &[heir(3, 1.0, b"")]);
        assert_eq!(counters(&overlay, 3), (12, 10, Standing::Estimated));
        for from in 0..=3 {
            let holder = holder(&overlay, 7, RangeId(from), b"\x90").unwrap();
            assert_eq!(holder, RangeId(3));
        }
        let again = (row_key(7, RangeId(0)), Some(encode(&[heir(4, 1.0, b"")])));
        assert!(retire(&mut overlay, &again).is_err());
    }
}
