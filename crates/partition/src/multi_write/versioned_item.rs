//! One item with all its versions: loads it from the state and writes it back.

use bytes::Bytes;
use orrery_regions::{Siblings, VersionId, VersionVector};

use super::unique_claims;
use super::versions::{ItemVersion, VersionBody, VersionsRow, put};
use crate::apply::{ChangeContext, write_document};
use crate::index_state::IndexStateCache;
use crate::indexing::PrecomputedEntries;
use crate::keyspaces::{DOCUMENTS, VERSIONS};
use crate::overlay::Overlay;
use crate::record::RecordHeader;
use crate::stored_item::{Digest, EtagParts, StoredItem, with_feed_position};
use crate::{Counters, Error};

/// An item with all its versions, as stored in the state.
#[derive(Debug)]
pub(super) struct VersionedItem {
    pub(super) key: Bytes,
    /// The visible document.
    visible: Option<StoredItem>,
    /// The row of hidden versions.
    row: Option<VersionsRow>,
    pub(super) siblings: Siblings<VersionBody>,
}

/// The target of changes that follow from a record.
pub(super) struct ApplyContext<'a, 'b> {
    pub(super) overlay: &'a mut Overlay<'b>,
    pub(super) states: &'a mut IndexStateCache,
    pub(super) header: RecordHeader,
    pub(super) counters: &'a mut Counters,
    /// The ordinal of the next change in the record.
    pub(super) ordinal: usize,
}

impl VersionedItem {
    pub(super) fn load(overlay: &Overlay<'_>, key: Bytes) -> Result<VersionedItem, Error> {
        let document = overlay.get(DOCUMENTS, &key)?;
        let row = overlay.get(VERSIONS, &key)?;
        VersionedItem::of(key, document, row)
    }

    pub(super) fn of(
        key: Bytes,
        document: Option<Bytes>,
        row: Option<Bytes>,
    ) -> Result<VersionedItem, Error> {
        let visible = document.map(StoredItem::decode).transpose()?;
        let row = row.map(|row| VersionsRow::decode(&row)).transpose()?;
        let mut versions = row.clone().unwrap_or_default().versions;
        if let Some(visible) = &visible {
            versions.push(put(visible.stored().clone())?);
        }
        let mut siblings = Siblings::default();
        for version in versions {
            // Stored versions are concurrent: a superseded version would not be stored.
            siblings.merge(version, &VersionVector::default());
        }
        Ok(VersionedItem {
            key,
            visible,
            row,
            siblings,
        })
    }

    /// Whether the winning version is hidden, because another document holds a unique value that it
    /// claims.
    pub(super) fn is_contested(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.is_contested)
    }

    /// Whether the item has this version and hides it.
    pub(super) fn has_hidden(&self, version_id: VersionId) -> bool {
        let row = self.row.iter().flat_map(|row| &row.versions);
        row.into_iter().any(|version| version.id == version_id)
    }

    pub(super) fn is_visible(&self) -> bool {
        self.visible.is_some()
    }

    pub(super) fn visible(&self) -> Option<&StoredItem> {
        self.visible.as_ref()
    }

    /// The unique digests of the winning version.
    pub(super) fn winning_digests(&self) -> Result<Vec<Digest>, Error> {
        digests_of(self.siblings.visible())
    }

    /// The unique digests in the state: of the visible document, or of the claims of a contested
    /// version.
    pub(super) fn stored_digests(&self) -> Result<Vec<Digest>, Error> {
        match (&self.visible, &self.row) {
            (Some(visible), _) => Ok(visible.digests().collect()),
            (None, Some(row)) if row.is_contested => row_digests(row),
            _ => Ok(Vec::new()),
        }
    }

    /// The length of the logical partition prefix in the key, if a version contains it.
    pub(super) fn prefix_bytes(&self) -> Option<usize> {
        let row = self.row.iter().flat_map(|row| &row.versions);
        let mut versions = self.siblings.versions().iter().chain(row);
        let stored = versions.find_map(|version| version.body.stored.clone());
        let item = stored.and_then(|stored| StoredItem::decode(stored).ok());
        let item = item.as_ref().or(self.visible.as_ref())?;
        Some(usize::from(item.header.prefix_bytes))
    }

    /// The hidden versions, as a row.
    pub(super) fn hidden(&self) -> VersionsRow {
        self.row_of(self.is_contested())
    }

    fn row_of(&self, is_contested: bool) -> VersionsRow {
        let visible = self.siblings.visible().filter(|_| !is_contested);
        let others = self.siblings.versions().iter();
        let others = others.filter(|version| Some(version.id) != visible.map(|one| one.id));
        VersionsRow {
            is_contested,
            versions: others.cloned().collect(),
        }
    }

    /// Writes the document, the versions row and the claims rows so that they match the versions.
    pub(super) fn write(
        self,
        to: &mut ApplyContext<'_, '_>,
        is_contested: bool,
    ) -> Result<(), Error> {
        let winning = self.siblings.visible();
        let is_contested = is_contested && winning.is_some();
        let visible = winning.filter(|_| !is_contested);
        let row = self.row_of(is_contested);
        let prefix_bytes = self.prefix_bytes().unwrap_or_default();
        let old_claims = self.row.as_ref().filter(|row| row.is_contested);
        let old_claims = old_claims.map_or(Ok(Vec::new()), row_digests)?;
        let new_claims = if is_contested {
            digests_of(winning)?
        } else {
            Vec::new()
        };
        unique_claims::change(
            to.overlay,
            &self.key,
            prefix_bytes,
            &old_claims,
            &new_claims,
        )?;
        if row.versions.is_empty() {
            if self.row.is_some() {
                to.overlay.delete(VERSIONS, self.key.clone());
            }
        } else if self.row.as_ref() != Some(&row) {
            to.overlay.put(VERSIONS, self.key.clone(), row.encode());
        }
        let visible = visible.and_then(|version| version.body.stored.clone());
        self.write_visible(to, visible)
    }

    fn write_visible(
        self,
        to: &mut ApplyContext<'_, '_>,
        visible: Option<Bytes>,
    ) -> Result<(), Error> {
        let version_id = |item: &StoredItem| item.header.version.map(|version| version.id);
        let value = match visible {
            Some(stored) => {
                let new = StoredItem::decode(stored.clone())?;
                match &self.visible {
                    Some(old) if version_id(old) == version_id(&new) => return Ok(()),
                    // A decision in favour of the visible version keeps its feed position, because
                    // its text is unchanged.
                    Some(old) if tag(old).is_some() && tag(old) == tag(&new) => {
                        let (range, lsn, ordinal) = old.feed_position();
                        Some(with_feed_position(&stored, range, lsn, ordinal))
                    }
                    _ => {
                        let ordinal = u16::try_from(to.ordinal).unwrap_or(u16::MAX);
                        let RecordHeader { range, lsn, .. } = to.header;
                        Some(with_feed_position(&stored, range, lsn, ordinal))
                    }
                }
            }
            None if self.visible.is_none() => return Ok(()),
            None => None,
        };
        let at = ChangeContext {
            header: to.header,
            ordinal: to.ordinal,
            is_expiry: to.header.is_expiry,
        };
        to.ordinal += 1;
        write_document(
            to.overlay,
            to.states,
            at,
            &self.key,
            value.as_ref(),
            PrecomputedEntries::default(),
            to.counters,
        )
    }
}

/// The parts of the entity tag.
fn tag(item: &StoredItem) -> Option<EtagParts> {
    item.header.version.map(|version| version.tag)
}

fn row_digests(row: &VersionsRow) -> Result<Vec<Digest>, Error> {
    let mut siblings = Siblings::default();
    for version in row.versions.clone() {
        siblings.merge(version, &VersionVector::default());
    }
    digests_of(siblings.visible())
}

fn digests_of(version: Option<&ItemVersion>) -> Result<Vec<Digest>, Error> {
    let stored = version.and_then(|version| version.body.stored.clone());
    let item = stored.map(StoredItem::decode).transpose()?;
    Ok(item.map_or(Vec::new(), |item| item.digests().collect()))
}
