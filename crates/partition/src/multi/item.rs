//! One item with all its versions, read from the state and written back.

use bytes::Bytes;
use orrery_regions::{Progress, Siblings, Stamp};

use super::claims;
use super::versions::{ItemVersion, Kept, Row, put};
use crate::apply::{ChangeAt, write_document};
use crate::index_state::IndexStates;
use crate::indexing::Known;
use crate::overlay::Overlay;
use crate::record::Moment;
use crate::spaces::{DOCUMENTS, VERSIONS};
use crate::stored::{Digest, StoredItem, Tag, at_place};
use crate::{Counters, Error};

/// An item as it is in the state.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) key: Bytes,
    /// The document that is shown.
    shown: Option<StoredItem>,
    /// What the row says.
    row: Option<Row>,
    pub(super) siblings: Siblings<Kept>,
}

/// Where changes that follow from a record go.
pub(super) struct Writing<'a, 'b> {
    pub(super) overlay: &'a mut Overlay<'b>,
    pub(super) states: &'a mut IndexStates,
    pub(super) moment: Moment,
    pub(super) counters: &'a mut Counters,
    /// The position of the next change in the record.
    pub(super) ordinal: usize,
}

impl Item {
    pub(super) fn load(overlay: &Overlay<'_>, key: Bytes) -> Result<Item, Error> {
        let document = overlay.get(DOCUMENTS, &key)?;
        let row = overlay.get(VERSIONS, &key)?;
        Item::of(key, document, row)
    }

    pub(super) fn of(
        key: Bytes,
        document: Option<Bytes>,
        row: Option<Bytes>,
    ) -> Result<Item, Error> {
        let shown = document.map(StoredItem::decode).transpose()?;
        let row = row.map(|row| Row::decode(&row)).transpose()?;
        let mut versions = row.clone().unwrap_or_default().versions;
        if let Some(shown) = &shown {
            versions.push(put(shown.stored().clone())?);
        }
        let mut siblings = Siblings::default();
        for version in versions {
            // What is stored has not seen each other, or it would not be stored.
            siblings.merge(version, &Progress::default());
        }
        Ok(Item {
            key,
            shown,
            row,
            siblings,
        })
    }

    /// Whether the version that stands is not shown, because another document holds what it claims.
    pub(super) fn is_contested(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.is_contested)
    }

    /// Whether a version is one of its own and not shown.
    pub(super) fn hides(&self, stamp: Stamp) -> bool {
        let row = self.row.iter().flat_map(|row| &row.versions);
        row.into_iter().any(|version| version.stamp == stamp)
    }

    pub(super) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    pub(super) fn shown(&self) -> Option<&StoredItem> {
        self.shown.as_ref()
    }

    /// The digests of the version that stands, as it would be written now.
    pub(super) fn standing_digests(&self) -> Result<Vec<Digest>, Error> {
        digests_of(self.siblings.shown())
    }

    /// The digests that it has in the state: as a document, or as a claim.
    pub(super) fn stored_digests(&self) -> Result<Vec<Digest>, Error> {
        match (&self.shown, &self.row) {
            (Some(shown), _) => Ok(shown.digests().collect()),
            (None, Some(row)) if row.is_contested => row_digests(row),
            _ => Ok(Vec::new()),
        }
    }

    /// The length of the logical partition in the key, if any version tells it.
    pub(super) fn prefix_bytes(&self) -> Option<usize> {
        let row = self.row.iter().flat_map(|row| &row.versions);
        let mut versions = self.siblings.versions().iter().chain(row);
        let stored = versions.find_map(|version| version.body.stored.clone());
        let item = stored.and_then(|stored| StoredItem::decode(stored).ok());
        let item = item.as_ref().or(self.shown.as_ref())?;
        Some(usize::from(item.header.prefix_bytes))
    }

    /// What is not shown, as the versions are now.
    pub(super) fn hidden(&self) -> Row {
        self.row_of(self.is_contested())
    }

    fn row_of(&self, is_contested: bool) -> Row {
        let shown = self.siblings.shown().filter(|_| !is_contested);
        let others = self.siblings.versions().iter();
        let others = others.filter(|version| Some(version.stamp) != shown.map(|one| one.stamp));
        Row {
            is_contested,
            versions: others.cloned().collect(),
        }
    }

    /// Makes the state say what the versions say.
    pub(super) fn write(self, to: &mut Writing<'_, '_>, is_contested: bool) -> Result<(), Error> {
        let standing = self.siblings.shown();
        let is_contested = is_contested && standing.is_some();
        let shown = standing.filter(|_| !is_contested);
        let row = self.row_of(is_contested);
        let prefix_bytes = self.prefix_bytes().unwrap_or_default();
        let old_claims = self.row.as_ref().filter(|row| row.is_contested);
        let old_claims = old_claims.map_or(Ok(Vec::new()), row_digests)?;
        let new_claims = if is_contested {
            digests_of(standing)?
        } else {
            Vec::new()
        };
        claims::change(
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
        let shown = shown.and_then(|version| version.body.stored.clone());
        self.show(to, shown)
    }

    fn show(self, to: &mut Writing<'_, '_>, shown: Option<Bytes>) -> Result<(), Error> {
        let stamp = |item: &StoredItem| item.header.version.map(|version| version.stamp);
        let value = match shown {
            Some(stored) => {
                let new = StoredItem::decode(stored.clone())?;
                match &self.shown {
                    Some(old) if stamp(old) == stamp(&new) => return Ok(()),
                    // A decision for what is shown: nobody sees a difference.
                    Some(old) if tag(old).is_some() && tag(old) == tag(&new) => {
                        let (range, lsn, ordinal) = old.moment();
                        Some(at_place(&stored, range, lsn, ordinal))
                    }
                    _ => {
                        let ordinal = u16::try_from(to.ordinal).unwrap_or(u16::MAX);
                        let Moment { range, lsn, .. } = to.moment;
                        Some(at_place(&stored, range, lsn, ordinal))
                    }
                }
            }
            None if self.shown.is_none() => return Ok(()),
            None => None,
        };
        let at = ChangeAt {
            moment: to.moment,
            ordinal: to.ordinal,
            is_expiry: to.moment.is_expiry,
        };
        to.ordinal += 1;
        write_document(
            to.overlay,
            to.states,
            at,
            &self.key,
            value.as_ref(),
            Known::default(),
            to.counters,
        )
    }
}

/// What an entity tag is made of.
fn tag(item: &StoredItem) -> Option<Tag> {
    item.header.version.map(|version| version.tag)
}

fn row_digests(row: &Row) -> Result<Vec<Digest>, Error> {
    let mut siblings = Siblings::default();
    for version in row.versions.clone() {
        siblings.merge(version, &Progress::default());
    }
    digests_of(siblings.shown())
}

fn digests_of(version: Option<&ItemVersion>) -> Result<Vec<Digest>, Error> {
    let stored = version.and_then(|version| version.body.stored.clone());
    let item = stored.map(StoredItem::decode).transpose()?;
    Ok(item.map_or(Vec::new(), |item| item.digests().collect()))
}
