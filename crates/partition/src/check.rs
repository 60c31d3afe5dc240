//! The offline check of a data directory: the hash chain of the log, the agreement of log and
//! state, every row of every keyspace, and the agreement of derived rows with their documents.
//!
//! Each keyspace is read once, in key order, with point reads into the other keyspaces. Memory
//! grows with the number of containers and not with their contents. Records in the log after the
//! applied position do not matter: the state is consistent by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use bytes::Bytes;
use orrery_index::{IndexHash, PathStatistics};
use orrery_log::Position;
use orrery_model::{Lsn, RangeId};
use orrery_storage::{KeyspaceId, Snapshot, Storage, StorageOptions};

use crate::data_directory::DataDirectory;
use crate::document_key::{container_of, prefix_end};
use crate::index_state::IndexState;
use crate::indexing::IndexedVersion;
use crate::keyspaces::{
    CATALOGUE, CLAIMS, DOCUMENTS, EXPIRY, FEED, HISTORY, INDEX, INDEX_BYTES_IN_MEMORY, META, NAMES,
    REMOVAL_MARK, STATISTICS, UNIQUE, VERSIONS,
};
use crate::multi_write::{VersionsRow, decode_claims};
use crate::statistics::{
    ENTRY_PREFIX_BYTES, Slots, StatisticsReader, StatisticsRow, entry_prefix, is_only_counted,
    slot_key,
};
use crate::stored_item::{DIGEST_BYTES, StoredItem};
use crate::{Error, expiry, feed_entry, unique};

/// Index entries are looked up one by one in random order, each through the large block index of
/// its table.
const CACHE_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of listed problems.
const PROBLEMS_MAX: usize = 1_000;

type RowCheck = fn(&mut Check, &Bytes, &Bytes) -> RowResult;

/// The row name and the row check of each keyspace, in the order in which the checks depend on each
/// other.
const MAPS: [(KeyspaceId, &str, RowCheck); 11] = [
    (CATALOGUE, "catalogue entry", Check::catalogue_entry),
    (DOCUMENTS, "document", Check::document),
    (UNIQUE, "unique key entry", Check::unique_entry),
    (VERSIONS, "row of versions", Check::versions_row),
    (CLAIMS, "row of claims", Check::claims_row),
    (EXPIRY, "expiry entry", Check::expiry_entry),
    (FEED, "feed entry", Check::feed_entry),
    (HISTORY, "history entry", Check::history_entry),
    (META, "meta entry", Check::meta_entry),
    (INDEX, "index entry", Check::index_entry),
    (STATISTICS, "statistics entry", Check::statistics_entry),
];

/// The result of checking a part of a keyspace.
#[derive(Debug, Default)]
pub(crate) struct PartialCheck {
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
    pub(crate) problems: Vec<String>,
    /// Start key of the next part; `None` at the end of the keyspace.
    pub(crate) next: Option<Vec<u8>>,
}

/// What [`check`] found.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub documents: u64,
    pub document_bytes: u64,
    /// Number of rows read in each keyspace.
    pub rows: Vec<(&'static str, u64)>,
    pub log_segments: usize,
    pub log_records: u64,
    /// The last record of the log, the last record in the state, and the last record that the
    /// watermark calls durable.
    pub log_last: Position,
    pub applied: Position,
    pub watermark: Position,
    /// One sentence for each problem; empty for an intact directory.
    pub problems: Vec<String>,
}

/// Checks a data directory that no server has open. The check changes only what opening the storage
/// engine changes.
pub fn check(path: &Path) -> Result<CheckReport, Error> {
    if !DataDirectory::format_path(path).exists() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        return Err(Error::io("find a data directory at", path)(missing));
    }
    let directory = DataDirectory::open(path)?;
    let log = orrery_log::verify(&directory.log())?;
    let options = StorageOptions {
        cache_bytes: CACHE_BYTES,
        cached_keyspace: DOCUMENTS,
        buffered_keyspace: INDEX,
        run_buffer_bytes: INDEX_BYTES_IN_MEMORY,
        required_keyspaces: directory.required_keyspaces(),
    };
    let storage = Storage::open(&directory.state(), &NAMES, options)?;
    let mut check = Check::new(storage.snapshot())?;
    check.log(&directory, &log);
    for (space, name, verdict) in MAPS {
        check.every(space, name, verdict);
    }
    check.totals();
    Ok(check.finish())
}

pub(crate) struct Check {
    pub(crate) snapshot: Snapshot,
    /// Deleted containers that are being purged. Their remaining rows carry no guarantees.
    pub(crate) purging: BTreeSet<u32>,
    /// Totals of each container: from its documents, and from its counters.
    found: BTreeMap<u32, Totals>,
    pub(crate) counted: BTreeMap<u32, Totals>,
    indexes: BTreeMap<u32, IndexState>,
    /// Documents that statistics count without an index entry, by container and index.
    only_counted: BTreeMap<Bytes, u64>,
    /// Containers in the catalogue.
    pub(crate) named: BTreeSet<u32>,
    /// The newest change of each partition in its feed and history.
    pub(crate) newest: BTreeMap<(u32, RangeId), Lsn>,
    pub(crate) report: CheckReport,
    unlisted: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    items: u64,
    bytes: u64,
    /// Number of index entries: expected from documents, or found in the index.
    entries: u64,
    /// Number of feed entries, one for each document.
    feed: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, items: u64, bytes: u64) {
        // Damaged counters may have any value, so the sum must not overflow.
        self.items = self.items.wrapping_add(items);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// The index state of each container.
fn index_states(snapshot: &Snapshot) -> Result<BTreeMap<u32, IndexState>, Error> {
    let mut states = BTreeMap::new();
    for row in snapshot.range(META, b"i", Some(b"j")) {
        let (key, value) = row?;
        if let Some(container) = container_of(&key[1..]) {
            states.insert(container, IndexState::decode(&value)?);
        }
    }
    Ok(states)
}

/// The problem of a row.
pub(crate) struct RowProblem(pub(crate) String);

pub(crate) type RowResult = Result<(), RowProblem>;

impl From<&str> for RowProblem {
    fn from(what: &str) -> RowProblem {
        RowProblem(what.to_owned())
    }
}

impl<E: Into<Error>> From<E> for RowProblem {
    fn from(error: E) -> RowProblem {
        RowProblem(error.into().chain())
    }
}

impl Check {
    pub(crate) fn new(snapshot: Snapshot) -> Result<Check, Error> {
        let marks = snapshot.range(CATALOGUE, &[REMOVAL_MARK], Some(&[REMOVAL_MARK + 1]));
        let leaving = marks.filter_map(|entry| match entry {
            Ok((key, _)) => container_of(&key[1..]).map(Ok),
            Err(error) => Some(Err(error)),
        });
        Ok(Check {
            purging: leaving.collect::<Result<_, _>>()?,
            indexes: index_states(&snapshot)?,
            snapshot,
            found: BTreeMap::new(),
            counted: BTreeMap::new(),
            only_counted: BTreeMap::new(),
            named: BTreeSet::new(),
            newest: BTreeMap::new(),
            report: CheckReport::default(),
            unlisted: 0,
        })
    }

    pub(crate) fn problem(&mut self, problem: String) {
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    fn finish(mut self) -> CheckReport {
        if self.unlisted > 0 {
            self.report.problems.push(format!(
                "{} more problems are not listed here",
                self.unlisted
            ));
        }
        self.report
    }

    /// Checks rows of one keyspace from a key on: about `bytes_max` bytes, and one row in `sample`.
    /// A partial check omits all checks that need every row of a keyspace, such as the comparison
    /// of counts.
    pub(crate) fn part(
        mut self,
        space: KeyspaceId,
        from: &[u8],
        bytes_max: usize,
        sample: usize,
    ) -> PartialCheck {
        let (_, name, verdict) = MAPS[MAPS.iter().position(|map| map.0 == space).unwrap_or(0)];
        // Statistics rows count the rows of the index keyspace, which a partial check does not
        // read.
        let verdict = (space != STATISTICS).then_some(verdict);
        let mut part = PartialCheck::default();
        for entry in self.snapshot.range(space, from, None) {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let cause = Error::from(error).chain();
                    part.problems
                        .push(format!("no {name} can be read from here on: {cause}"));
                    return part;
                }
            };
            if part.bytes >= bytes_max {
                part.next = Some(key.to_vec());
                break;
            }
            part.rows += 1;
            part.bytes += key.len() + value.len();
            if part.rows % sample != 0 {
                continue;
            }
            if let Some(Err(RowProblem(what))) =
                verdict.map(|verdict| verdict(&mut self, &key, &value))
            {
                part.problems
                    .push(format!("{name} {}: {what}", key.escape_ascii()));
            }
        }
        part
    }

    fn every(&mut self, space: KeyspaceId, name: &str, verdict: RowCheck) {
        let mut rows = 0;
        for entry in self.snapshot.range(space, &[], None) {
            rows += 1;
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let cause = Error::from(error).chain();
                    self.problem(format!("no {name} can be read from here on: {cause}"));
                    break;
                }
            };
            if let Err(RowProblem(what)) = verdict(self, &key, &value) {
                self.problem(format!("{name} {}: {what}", key.escape_ascii()));
            }
        }
        self.report.rows.push((NAMES[usize::from(space.0)], rows));
    }

    fn document(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        self.report.documents += 1;
        self.report.document_bytes += value.len() as u64;
        let Some(container) = container_of(key) else {
            return Err("its key is too short to name a container".into());
        };
        let item = StoredItem::decode(value.clone())?;
        let found = self.found.entry(container).or_default();
        found.add(1, item.text_bytes() as u64);
        found.feed += 1;
        let Some((prefix, id)) = key.split_at_checked(usize::from(item.header.prefix_bytes)) else {
            return Err("its key is shorter than its header says".into());
        };
        if let Err(error) = orrery_json::parse(&item.text()) {
            return Err(RowProblem(format!("its text is not JSON: {error}")));
        }
        if self.purging.contains(&container) {
            return Ok(());
        }
        let index = self.index_of(container, key, &item);
        for digest in item.digests() {
            let entry = unique::entry_key(prefix, &digest);
            if self.snapshot.get(UNIQUE, &entry)?.as_deref() != Some(id) {
                return Err("a unique key entry does not name it".into());
            }
        }
        let second = item.header.expiry_entry;
        let entry = expiry::entry_key(second, key);
        if second != 0 && self.snapshot.get(EXPIRY, &entry)?.is_none() {
            return Err("it has no expiry entry although its header names one".into());
        }
        index
    }

    /// Whether a document has all index entries that follow from its text.
    fn index_of(&mut self, container: u32, key: &Bytes, item: &StoredItem) -> RowResult {
        let Some(state) = self.indexes.get(&container) else {
            return Ok(());
        };
        let version = IndexedVersion::of_stored(state.index_at(key), key, item)?;
        let found = self.found.entry(container).or_default();
        let mut is_whole = true;
        for (_, entry) in version.entries.iter() {
            if is_only_counted(&entry) {
                let prefix = entry.slice(..ENTRY_PREFIX_BYTES);
                *self.only_counted.entry(prefix).or_default() += 1;
                continue;
            }
            found.entries += 1;
            is_whole &= self.snapshot.get(INDEX, &entry)?.is_some();
        }
        if is_whole {
            Ok(())
        } else {
            Err("it lacks an index entry".into())
        }
    }

    /// Counts an index entry. Every expected entry was found by the document checks, so equal
    /// counts mean that no entry lacks its document.
    fn index_entry(&mut self, key: &Bytes, _: &Bytes) -> RowResult {
        let Some(container) = container_of(key) else {
            return Err("it is too short".into());
        };
        self.counted.entry(container).or_default().entries += 1;
        Ok(())
    }

    fn statistics_entry(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        let Some(container) = container_of(key) else {
            return Err("it is too short".into());
        };
        if self.purging.contains(&container) {
            return Ok(());
        }
        match StatisticsRow::of(key, value)? {
            StatisticsRow::Page => {
                for (_, index, statistics) in Slots::of(value)?.iter() {
                    self.statistics_of(container, index, &statistics)?;
                }
            }
            StatisticsRow::Slot(index, _) => {
                let found =
                    StatisticsReader::default().of_index(&self.snapshot, container, index)?;
                if found.entries == 0 {
                    return Err("it leads to a page without its index".into());
                }
            }
            StatisticsRow::Next => {}
        }
        Ok(())
    }

    fn statistics_of(
        &self,
        container: u32,
        index: IndexHash,
        statistics: &PathStatistics,
    ) -> RowResult {
        let key = entry_prefix(container, index);
        let mut found = PathStatistics::default();
        if is_only_counted(&key) {
            let count = self.only_counted.get(&key[..]);
            found.entries = count.copied().unwrap_or_default();
        } else {
            let end = prefix_end(&key);
            for entry in self.snapshot.range(INDEX, &key, end.as_deref()) {
                found.add(&entry?.0[ENTRY_PREFIX_BYTES..]);
            }
        }
        let counts = |of: &PathStatistics| (of.entries, of.non_scalar);
        if counts(&found) != counts(statistics) {
            return Err("it counts other entries than there are".into());
        }
        let slot = slot_key(container, index);
        if self.snapshot.get(STATISTICS, &slot)?.is_none() {
            return Err("it has an index that cannot be found in it".into());
        }
        Ok(())
    }

    fn unique_entry(&mut self, key: &Bytes, id: &Bytes) -> RowResult {
        let Some((prefix, digest)) = key.split_last_chunk::<DIGEST_BYTES>() else {
            return Err("it is too short".into());
        };
        self.derived(&[prefix, id].concat(), |item| {
            usize::from(item.header.prefix_bytes) == prefix.len()
                && item.digests().any(|held| held == *digest)
        })
    }

    /// A row must contain hidden versions, and none of them may be the visible version.
    fn versions_row(&mut self, key: &Bytes, row: &Bytes) -> RowResult {
        let row = VersionsRow::decode(row)?;
        let visible = self.snapshot.get(DOCUMENTS, key)?;
        let visible = visible.map(StoredItem::decode).transpose()?;
        if row.versions.is_empty() {
            return Err("it has no version".into());
        }
        // A contested document claims a unique value that another document holds, so no version of
        // it is visible.
        if row.is_contested && visible.is_some() {
            return Err("it is contested and visible".into());
        }
        let version_id =
            visible.and_then(|visible| visible.header.version.map(|version| version.id));
        if row
            .versions
            .iter()
            .any(|version| Some(version.id) == version_id)
        {
            return Err("a version is visible and hidden".into());
        }
        Ok(())
    }

    /// Every document in a claims row must exist and be contested.
    fn claims_row(&mut self, key: &Bytes, row: &Bytes) -> RowResult {
        let Some((prefix, _)) = key.split_last_chunk::<DIGEST_BYTES>() else {
            return Err("it is too short".into());
        };
        if container_of(prefix).is_some_and(|container| self.purging.contains(&container)) {
            return Ok(());
        }
        let Some(ids) = decode_claims(row) else {
            return Err("it does not decode".into());
        };
        for id in ids {
            let document = [prefix, &id[..]].concat();
            let row = self.snapshot.get(VERSIONS, &document)?;
            let row = row.map(|row| VersionsRow::decode(&row)).transpose()?;
            if !row.is_some_and(|row| row.is_contested) {
                return Err("a document that it names is not contested".into());
            }
        }
        Ok(())
    }

    fn expiry_entry(&mut self, key: &Bytes, _: &Bytes) -> RowResult {
        let Some(due) = expiry::decode_entry(key) else {
            return Err("it is too short".into());
        };
        self.derived(&due.key, |item| item.header.expiry_entry == due.second)
    }

    fn feed_entry(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        let (Some(container), Some((_, key_position))) =
            (container_of(key), feed_entry::decode_value(value))
        else {
            return Err("it is too short".into());
        };
        self.counted.entry(container).or_default().feed += 1;
        self.note_change(key);
        let document = [&container.to_be_bytes()[..], &key_position].concat();
        self.derived(&document, |item| {
            let (range, lsn, ordinal) = item.feed_position();
            feed_entry::entry_key(container, range, lsn, ordinal) == *key
        })
    }

    /// Whether the document of a derived row exists and has this row.
    fn derived(&self, document: &[u8], has_it: impl FnOnce(&StoredItem) -> bool) -> RowResult {
        if container_of(document).is_some_and(|container| self.purging.contains(&container)) {
            return Ok(());
        }
        let Some(value) = self.snapshot.get(DOCUMENTS, document)? else {
            return Err("the document it names is not there".into());
        };
        if has_it(&StoredItem::decode(value)?) {
            Ok(())
        } else {
            Err("the document it names does not have it".into())
        }
    }

    fn totals(&mut self) {
        self.positions_of_partitions();
        let containers: BTreeSet<u32> = self
            .found
            .keys()
            .chain(self.counted.keys())
            .copied()
            .collect();
        for container in containers.difference(&self.purging.clone()) {
            let totals =
                |of: &BTreeMap<u32, Totals>| of.get(container).copied().unwrap_or_default();
            let (found, counted) = (totals(&self.found), totals(&self.counted));
            if found != counted {
                self.problem(format!(
                    "container {container}: its counters say {} items of {} bytes, but it has {} of {}; it has {} \
                     index entries and should have {}; it has {} feed entries and should have {}",
                    counted.items,
                    counted.bytes,
                    found.items,
                    found.bytes,
                    counted.entries,
                    found.entries,
                    counted.feed,
                    found.feed
                ));
            }
        }
    }
}
