//! Unique keys in a multi-write account, where each region checks only its own state.
//!
//! The visible documents follow from the winning versions (`orrery_regions::unique_key_losers`). A
//! winning version that is hidden because of a unique key is *contested*: its row has a flag, and a
//! claims row for each of its values contains its id, so that it is found when the holder of the
//! value goes away. All documents connected by claims are decided together. In a container without
//! unique keys, or without contested documents, that is only the document itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use orrery_regions::unique_key_losers;

use super::versioned_item::{ApplyContext, VersionedItem};
use crate::Error;
use crate::keyspaces::{CLAIMS, UNIQUE};
use crate::overlay::Overlay;
use crate::stored_item::Digest;
use crate::unique;

/// Replaces the claims of an item by new claims.
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

/// The hidden documents that claim a value.
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

/// Writes an item whose versions have changed, together with all documents whose visibility changes
/// with it.
pub(super) fn write_item(to: &mut ApplyContext<'_, '_>, item: VersionedItem) -> Result<(), Error> {
    let mut digests = item.winning_digests()?;
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
    // The common case: no other document holds or claims any of the values, so the item can be
    // written alone.
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

/// Decides the visibility of all documents that claim these values, after their holders have
/// changed.
pub(super) fn resolve_entries(
    to: &mut ApplyContext<'_, '_>,
    prefix: &Bytes,
    entries: Vec<Bytes>,
) -> Result<(), Error> {
    let mut items = BTreeMap::new();
    gather(to.overlay, prefix, entries, &mut items)?;
    write_all(to, items, None)
}

/// Collects all items that are connected with these entries by claims, transitively.
fn gather(
    overlay: &Overlay<'_>,
    prefix: &Bytes,
    entries: Vec<Bytes>,
    items: &mut BTreeMap<Bytes, VersionedItem>,
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
            let item = VersionedItem::load(overlay, key.clone())?;
            for digest in item.winning_digests()? {
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

/// Writes the items that change. Items that become hidden come first, so that a value has at most
/// one holder at any time.
fn write_all(
    to: &mut ApplyContext<'_, '_>,
    items: BTreeMap<Bytes, VersionedItem>,
    changed: Option<&Bytes>,
) -> Result<(), Error> {
    let winning = items.iter();
    let winning = winning.filter_map(|(key, item)| Some((key.clone(), item.siblings.visible()?)));
    let hidden = unique_key_losers(winning);
    let mut phases: [Vec<VersionedItem>; 3] = Default::default();
    for (key, item) in items {
        let will_be_visible = item.siblings.visible().is_some() && !hidden.contains(&key);
        let is_changed = changed == Some(&key);
        let is_unchanged = item.is_visible() == will_be_visible
            && item.is_contested() == hidden.contains(&key)
            && !is_changed;
        if is_unchanged {
            continue;
        }
        let phase = match (item.is_visible(), will_be_visible) {
            (_, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
        };
        phases[phase].push(item);
    }
    for item in phases.into_iter().flatten() {
        let is_contested = hidden.contains(&item.key);
        item.write(to, is_contested)?;
    }
    Ok(())
}

/// The key prefix of an item's logical partition.
fn prefix_of(item: &VersionedItem) -> Option<Bytes> {
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
