//! Unique keys where every region checks only what it knows.
//!
//! Which documents are shown follows from the versions that stand (`orrery_regions::clashes`). A
//! document that stands and is not shown is *contested*: its row says so, and each value that it
//! claims has a row with its id, so that it is found when the holder goes. Everything that is
//! connected by claims is looked at together; in a container without unique keys, and as long as
//! nothing is contested, that is nothing but the document itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use orrery_regions::clashes;

use super::item::{Item, Writing};
use crate::Error;
use crate::overlay::Overlay;
use crate::spaces::{CLAIMS, UNIQUE};
use crate::stored::Digest;
use crate::unique;

/// Moves an item from the claims that it had to those that it has.
pub(super) fn change(
    overlay: &mut Overlay<'_>,
    key: &Bytes,
    prefix_bytes: usize,
    old: &[Digest],
    new: &[Digest],
) -> Result<(), Error> {
    let (prefix, id) = key.split_at_checked(prefix_bytes).unwrap_or((key, &[]));
    for digest in old.iter().filter(|digest| !new.contains(digest)) {
        let entry = unique::entry_key(prefix, digest);
        let mut ids = claimants(overlay, &entry)?;
        ids.remove(id);
        if ids.is_empty() {
            overlay.delete(CLAIMS, entry);
        } else {
            overlay.put(CLAIMS, entry, encode(&ids));
        }
    }
    for digest in new.iter().filter(|digest| !old.contains(digest)) {
        let entry = unique::entry_key(prefix, digest);
        let mut ids = claimants(overlay, &entry)?;
        ids.insert(id.to_vec());
        overlay.put(CLAIMS, entry, encode(&ids));
    }
    Ok(())
}

/// Documents that claim a value and are not shown.
fn claimants(overlay: &Overlay<'_>, entry: &Bytes) -> Result<BTreeSet<Vec<u8>>, Error> {
    let Some(row) = overlay.get(CLAIMS, entry)? else {
        return Ok(BTreeSet::new());
    };
    decode(&row).ok_or_else(|| Error::Damaged("a row of claims does not decode".to_owned()))
}

pub(crate) fn decode(mut row: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let mut ids = BTreeSet::new();
    while let Some((length, rest)) = row.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length));
        let (id, rest) = rest.split_at_checked(length)?;
        ids.insert(id.to_vec());
        row = rest;
    }
    row.is_empty().then_some(ids)
}

fn encode(ids: &BTreeSet<Vec<u8>>) -> Bytes {
    let mut out = Vec::new();
    for id in ids {
        let length = u16::try_from(id.len()).expect("ids are bounded by limits");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(id);
    }
    out.into()
}

/// Writes an item whose versions have changed, and whatever else is shown or not because of it.
pub(super) fn write_item(to: &mut Writing<'_, '_>, item: Item) -> Result<(), Error> {
    let mut digests = item.standing_digests()?;
    for digest in item.stored_digests()? {
        if !digests.contains(&digest) {
            digests.push(digest);
        }
    }
    if digests.is_empty() {
        return item.write(to, false);
    }
    let Some(prefix) = prefix_of(&item) else {
        return item.write(to, false);
    };
    let entries = digests.iter();
    let entries: Vec<Bytes> = entries
        .map(|digest| unique::entry_key(&prefix, digest))
        .collect();
    let id = &item.key[prefix.len()..];
    let mut is_alone = !item.is_contested();
    for entry in &entries {
        let holder = to.overlay.get(UNIQUE, entry)?;
        is_alone &= holder.is_none_or(|holder| holder == id);
        is_alone &= to.overlay.get(CLAIMS, entry)?.is_none();
    }
    if is_alone {
        return item.write(to, false);
    }
    let changed = item.key.clone();
    let mut items = BTreeMap::new();
    items.insert(item.key.clone(), item);
    gather(to.overlay, &prefix, entries, &mut items)?;
    write_all(to, items, Some(&changed))
}

/// Shows and hides what the values at these entries decide, when their holders have changed.
pub(super) fn settle_entries(
    to: &mut Writing<'_, '_>,
    prefix: &Bytes,
    entries: Vec<Bytes>,
) -> Result<(), Error> {
    let mut items = BTreeMap::new();
    gather(to.overlay, prefix, entries, &mut items)?;
    write_all(to, items, None)
}

/// Collects everything that is connected with these entries by claims.
fn gather(
    overlay: &Overlay<'_>,
    prefix: &Bytes,
    entries: Vec<Bytes>,
    items: &mut BTreeMap<Bytes, Item>,
) -> Result<(), Error> {
    let mut seen: BTreeSet<Bytes> = entries.iter().cloned().collect();
    let mut waiting: VecDeque<Bytes> = entries.into();
    while let Some(entry) = waiting.pop_front() {
        let mut ids = claimants(overlay, &entry)?;
        ids.extend(overlay.get(UNIQUE, &entry)?.map(|holder| holder.to_vec()));
        for id in ids {
            let key = Bytes::from([prefix, &id[..]].concat());
            if items.contains_key(&key) {
                continue;
            }
            let item = Item::load(overlay, key.clone())?;
            for digest in item.standing_digests()? {
                let entry = unique::entry_key(prefix, &digest);
                if seen.insert(entry.clone()) {
                    waiting.push_back(entry);
                }
            }
            items.insert(key, item);
        }
    }
    Ok(())
}

/// Writes those of the items that change: what is shown no more before what takes its place.
fn write_all(
    to: &mut Writing<'_, '_>,
    items: BTreeMap<Bytes, Item>,
    changed: Option<&Bytes>,
) -> Result<(), Error> {
    let standing = items.iter();
    let standing = standing.filter_map(|(key, item)| Some((key.clone(), item.siblings.shown()?)));
    let hidden = clashes(standing);
    let mut turns: [Vec<Item>; 3] = Default::default();
    for (key, item) in items {
        let will_be_shown = item.siblings.shown().is_some() && !hidden.contains(&key);
        let is_changed = changed == Some(&key);
        let is_settled = item.is_shown() == will_be_shown
            && item.is_contested() == hidden.contains(&key)
            && !is_changed;
        if is_settled {
            continue;
        }
        let turn = match (item.is_shown(), will_be_shown) {
            (_, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
        };
        turns[turn].push(item);
    }
    for item in turns.into_iter().flatten() {
        let is_contested = hidden.contains(&item.key);
        item.write(to, is_contested)?;
    }
    Ok(())
}

/// The logical partition of an item.
fn prefix_of(item: &Item) -> Option<Bytes> {
    let bytes = item.prefix_bytes()?;
    (bytes <= item.key.len()).then(|| item.key.slice(..bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_claims_read_back() {
        let ids: BTreeSet<Vec<u8>> = [b"a".to_vec(), b"".to_vec(), b"bc".to_vec()].into();
        let row = encode(&ids);
        assert_eq!(decode(&row), Some(ids));
        assert_eq!(decode(&row[..row.len() - 1]), None);
        assert_eq!(decode(&[]), Some(BTreeSet::new()));
    }
}
