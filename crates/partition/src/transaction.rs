//! The operations of one request on one logical partition: all of them or none.

use std::sync::Arc;

use bytes::Bytes;
use orrery_index::Entries;
use orrery_json::{Value, parse};
use orrery_keys::{ItemRid, PartitionKey, write_item_rid};
use orrery_model::{
    Charge, ConflictKind, Document, Failure, IndexingDirective, Lsn, OperationOutcome,
    OperationStatus, Patch, Precondition, ReadWork, WriteWork, limits,
};
use orrery_regions::{Epoch, Stamp};

use crate::apply::{ChangeAt, apply_change, rid_counter};
use crate::index_state::IndexStates;
use crate::indexing::{IndexedVersion, Known};
use crate::multi::of_region;
use crate::overlay::Overlay;
use crate::prepare::{Place, PreparedDocument, PreparedKind, PreparedOperation, prepare_document};
use crate::record::{Change, Moment};
use crate::spaces::{DOCUMENTS, UNIQUE};
use crate::stored::{DIGEST_BYTES, Header, StoredItem, Tag, VersionStamp, expires_at};
use crate::{Container, Counters, Error, LogicalPartition, Partition, unique};

/// Bytes of documents one transaction may write; what an answer may carry bounds it.
const TRANSACTION_BYTES_MAX: usize = 2 * limits::RESPONSE_PAGE_BYTES_MAX;

/// A request as it waits for its turn.
#[derive(Debug)]
pub struct ItemTransaction {
    pub container: Arc<Container>,
    pub partition: Arc<Partition>,
    pub logical: LogicalPartition,
    pub key: PartitionKey,
    pub operations: Vec<PreparedOperation>,
    pub now_seconds: u64,
    /// What the consistency level multiplies reads with.
    pub read_factor: f64,
}

impl ItemTransaction {
    /// Whether it writes anything but removals.
    pub(crate) fn may_grow(&self) -> bool {
        let mut kinds = self.operations.iter().map(|operation| &operation.kind);
        kinds.any(|kind| match kind {
            PreparedKind::Create(_)
            | PreparedKind::Upsert(_)
            | PreparedKind::Replace { .. }
            | PreparedKind::Patch { .. } => true,
            PreparedKind::Refused(_) | PreparedKind::Read { .. } | PreparedKind::Delete { .. } => {
                false
            }
        })
    }
}

/// What a transaction decided. `changes` is empty when it failed or only read.
pub(crate) struct Decision {
    pub(crate) results: Vec<Result<OperationOutcome, Failure>>,
    pub(crate) changes: Vec<Change>,
    /// Which of the changes remove what had expired.
    pub(crate) expired: Vec<u16>,
    pub(crate) counters: Counters,
}

/// Either the client is refused, or this node cannot go on.
pub(crate) enum Stop {
    Refused(Failure),
    Broken(Error),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Refused(failure)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Broken(error)
    }
}

/// Runs a transaction over the overlay. When an operation is refused, the overlay is as before.
pub(crate) fn decide(
    transaction: ItemTransaction,
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    before: Counters,
    stamp: Option<Stamp>,
) -> Result<Decision, Error> {
    let count = transaction.operations.len();
    if !transaction.container.is_alive() {
        return Ok(refused(count, 0, Failure::NOT_FOUND, before));
    }
    let savepoint = overlay.savepoint();
    let ItemTransaction {
        container,
        partition,
        logical,
        key,
        operations,
        now_seconds,
        read_factor,
    } = transaction;
    let mut run = Run {
        container: &container,
        partition: &partition,
        logical: &logical,
        key: &key,
        now_seconds,
        read_factor,
        overlay,
        states,
        counters: Counters {
            lsn: Lsn(before.lsn.0 + 1),
            ..before
        },
        changes: Changes::default(),
        items: ItemNumbers::InTurn,
        stamp,
    };
    let mut results = Vec::with_capacity(count);
    let mut bytes_read = 0;
    for (index, operation) in operations.into_iter().enumerate() {
        let is_read = matches!(operation.kind, PreparedKind::Read { .. });
        let outcome = match run.operation(operation) {
            Ok(outcome) if outcome.status == OperationStatus::NotModified && count > 1 => {
                run.overlay.roll_back(savepoint);
                let mut decision = refused(count, index, Failure::FailedDependency, before);
                decision.results[index] = Ok(outcome);
                return Ok(decision);
            }
            Ok(outcome) => {
                let body = outcome.body.as_ref().filter(|_| is_read);
                bytes_read += body.map_or(0, Bytes::len);
                if bytes_read > limits::RESPONSE_PAGE_BYTES_MAX {
                    run.overlay.roll_back(savepoint);
                    let failure = Failure::AnswerTooLarge;
                    return Ok(refused(count, index, failure, before));
                }
                outcome
            }
            Err(Stop::Refused(failure)) => {
                run.overlay.roll_back(savepoint);
                return Ok(refused(count, index, failure, before));
            }
            Err(Stop::Broken(error)) => {
                run.overlay.roll_back(savepoint);
                return Err(error);
            }
        };
        results.push(Ok(outcome));
    }
    let counters = if run.changes.list.is_empty() {
        before
    } else {
        run.counters
    };
    Ok(Decision {
        results,
        changes: run.changes.list,
        expired: run.changes.expired,
        counters,
    })
}

fn refused(count: usize, index: usize, failure: Failure, counters: Counters) -> Decision {
    let mut results: Vec<_> = (0..count).map(|_| Err(Failure::FailedDependency)).collect();
    results[index] = Err(failure);
    Decision {
        results,
        changes: Vec::new(),
        expired: Vec::new(),
        counters,
    }
}

/// What the operations so far have changed.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) list: Vec<Change>,
    /// Which of the list remove what had expired.
    pub(crate) expired: Vec<u16>,
    /// Bytes of the list.
    pub(crate) bytes: usize,
    /// For each of the list the entries that are known, if they are asked for.
    pub(crate) versions: Option<Vec<Versions>>,
}

/// The entries of a document before and after a change, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    pub(crate) old: Option<IndexedVersion>,
    pub(crate) new: Option<IndexedVersion>,
}

/// Where the numbers of new items come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ItemNumbers {
    /// The next of the partition, which nobody else can take meanwhile.
    InTurn,
    /// One of those that the partition gives out ahead of time.
    Taken,
}

pub(crate) struct Run<'a, 'b> {
    pub(crate) container: &'a Container,
    pub(crate) partition: &'a Partition,
    pub(crate) logical: &'a LogicalPartition,
    pub(crate) key: &'a PartitionKey,
    pub(crate) now_seconds: u64,
    pub(crate) read_factor: f64,
    pub(crate) overlay: &'a mut Overlay<'b>,
    pub(crate) states: &'a mut IndexStates,
    pub(crate) counters: Counters,
    pub(crate) changes: Changes,
    pub(crate) items: ItemNumbers,
    /// In a multi-write store. That of a script is known when it is committed.
    pub(crate) stamp: Option<Stamp>,
}

impl Run<'_, '_> {
    pub(crate) fn operation(
        &mut self,
        operation: PreparedOperation,
    ) -> Result<OperationOutcome, Stop> {
        let PreparedOperation {
            kind,
            if_match,
            if_none_match,
            indexing,
        } = operation;
        let conditions = Conditions {
            if_match,
            if_none_match,
        };
        match kind {
            PreparedKind::Refused(failure) => Err(failure.into()),
            PreparedKind::Create(document) => self.create(&document),
            PreparedKind::Upsert(document) => self.upsert(&document, &conditions),
            PreparedKind::Read { id } => self.read(&id, &conditions),
            PreparedKind::Replace { id, document } => {
                let current = self.existing(&id, &conditions)?;
                self.replace(&id, &current, &document, 0)
            }
            PreparedKind::Patch {
                id,
                patch,
                condition,
            } => {
                let current = self.existing(&id, &conditions)?;
                let document = self.patched(&current, &patch, condition.as_ref(), indexing)?;
                self.replace(&id, &current, &document, patch.operations.len())
            }
            PreparedKind::Delete { id } => self.delete(&id, &conditions),
        }
    }

    /// The visible version of a document.
    fn current(&self, key: &Bytes) -> Result<Option<StoredItem>, Error> {
        let item = self
            .overlay
            .get(DOCUMENTS, key)?
            .map(StoredItem::decode)
            .transpose()?;
        Ok(item.filter(|item| item.is_visible(self.container.default_ttl(), self.now_seconds)))
    }

    fn existing(&self, id: &str, conditions: &Conditions) -> Result<StoredItem, Stop> {
        let current = self
            .current(&self.logical.document_key(id))?
            .ok_or(Failure::NOT_FOUND)?;
        conditions.check(&current)?;
        Ok(current)
    }

    fn create(&mut self, document: &PreparedDocument) -> Result<OperationOutcome, Stop> {
        let key = self.logical.document_key(&document.id);
        if self.current(&key)?.is_some() {
            return Err(Failure::Conflict(ConflictKind::Id).into());
        }
        self.insert(key, document)
    }

    fn upsert(
        &mut self,
        document: &PreparedDocument,
        conditions: &Conditions,
    ) -> Result<OperationOutcome, Stop> {
        let key = self.logical.document_key(&document.id);
        match self.current(&key)? {
            Some(current) => {
                conditions.check(&current)?;
                self.replace(&document.id, &current, document, 0)
            }
            None => self.insert(key, document),
        }
    }

    fn insert(
        &mut self,
        key: Bytes,
        document: &PreparedDocument,
    ) -> Result<OperationOutcome, Stop> {
        let sequence = match self.items {
            ItemNumbers::InTurn => self.counters.next_rid.max(1),
            ItemNumbers::Taken => self.partition.take_script_rid(),
        };
        let work = WriteWork {
            terms_changed: document.charged_terms(),
            unique_keys: document.digests.len(),
            ..WriteWork::default()
        };
        let sequence = match self.stamp {
            None => sequence,
            Some(stamp) => of_region(sequence, stamp.origin),
        };
        let rid = rid_counter(self.partition.id, sequence);
        self.check_unique(document, &key)?;
        self.put(key, document, None, rid, OperationStatus::Created, work)
    }

    fn read(&self, id: &str, conditions: &Conditions) -> Result<OperationOutcome, Stop> {
        let current = self
            .current(&self.logical.document_key(id))?
            .ok_or(Failure::NOT_FOUND)?;
        let etag = current.etag();
        let unchanged = conditions
            .if_none_match
            .as_ref()
            .is_some_and(|tag| tag.matches(&etag));
        let (status, body, charge) = if unchanged {
            (
                OperationStatus::NotModified,
                None,
                Charge::empty_read(self.read_factor),
            )
        } else {
            let work = ReadWork {
                bytes: current.text_bytes(),
                factor: self.read_factor,
            };
            (
                OperationStatus::Ok,
                Some(current.text()),
                Charge::point_read(work),
            )
        };
        Ok(OperationOutcome {
            status,
            body,
            etag: Some(etag),
            item_lsn: current.lsn(),
            charge,
        })
    }

    fn replace(
        &mut self,
        id: &str,
        current: &StoredItem,
        document: &PreparedDocument,
        patch_operations: usize,
    ) -> Result<OperationOutcome, Stop> {
        let key = self.logical.document_key(&document.id);
        let renamed = document.id != id;
        if renamed && self.current(&key)?.is_some() {
            return Err(Failure::Conflict(ConflictKind::Id).into());
        }
        let old_key = self.logical.document_key(id);
        let old = IndexedVersion::of_stored(self.container.index(), &old_key, current)?;
        let old_digests: Vec<_> = current.digests().collect();
        let work = WriteWork {
            bytes_removed: Some(current.text_bytes()),
            terms_changed: Entries::charged_difference(&old.entries, &document.version.entries),
            unique_keys: document
                .digests
                .iter()
                .filter(|digest| !old_digests.contains(digest))
                .count(),
            patch_operations,
            ..WriteWork::default()
        };
        if renamed {
            self.change(old_key, None, Known::default(), false)?;
        }
        self.check_unique(document, &key)?;
        self.put(
            key,
            document,
            Some(&old).filter(|_| !renamed),
            current.header.rid_counter,
            OperationStatus::Ok,
            work,
        )
    }

    fn patched(
        &self,
        current: &StoredItem,
        patch: &Patch,
        condition: Option<&orrery_exec::Condition>,
        indexing: IndexingDirective,
    ) -> Result<PreparedDocument, Stop> {
        let mut value = parse_stored(current)?;
        if let Some(condition) = condition {
            let holds = condition.holds(&value).map_err(|error| {
                Failure::BadRequest(format!(
                    "The condition of the patch cannot be evaluated: {error}"
                ))
            })?;
            if !holds {
                return Err(Failure::PatchConditionFalse.into());
            }
        }
        let id = value.get("id").clone();
        crate::patch::apply_patch(&mut value, &patch.operations)?;
        let document = Document::from_value(value)?;
        if *document.value().get("id") != id {
            return Err(Failure::bad_request("The property 'id' cannot be patched.").into());
        }
        let place = Place {
            container: self.container,
            key: self.key,
            logical: self.logical,
            now_seconds: self.now_seconds,
        };
        match prepare_document(place, &document, indexing) {
            Err(Failure::PartitionKeyMismatch) => {
                Err(Failure::bad_request("The partition key of an item cannot be patched.").into())
            }
            other => Ok(other?),
        }
    }

    fn delete(&mut self, id: &str, conditions: &Conditions) -> Result<OperationOutcome, Stop> {
        let current = self.existing(id, conditions)?;
        let work = WriteWork {
            bytes_removed: Some(current.text_bytes()),
            terms_changed: usize::try_from(current.header.terms).unwrap_or(usize::MAX),
            ..WriteWork::default()
        };
        let key = self.logical.document_key(id);
        self.change(key, None, Known::default(), false)?;
        Ok(OperationOutcome {
            status: OperationStatus::Deleted,
            body: None,
            etag: None,
            item_lsn: self.counters.lsn,
            charge: Charge::write(work),
        })
    }

    /// Refuses values that another visible document of the logical partition holds.
    fn check_unique(&mut self, document: &PreparedDocument, key: &Bytes) -> Result<(), Stop> {
        for digest in &document.digests {
            let entry = unique::entry_key(self.logical.prefix(), digest);
            let Some(holder) = self.overlay.get(UNIQUE, &entry)? else {
                continue;
            };
            let holder: Bytes = [self.logical.prefix(), &holder].concat().into();
            if holder == *key {
                continue;
            }
            if self.current(&holder)?.is_some() {
                return Err(Failure::Conflict(ConflictKind::UniqueKey).into());
            }
            // The holder has expired and waits for its removal, which happens now.
            self.change(holder, None, Known::default(), true)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        key: Bytes,
        document: &PreparedDocument,
        old: Option<&IndexedVersion>,
        rid: u64,
        status: OperationStatus,
        work: WriteWork,
    ) -> Result<OperationOutcome, Stop> {
        let modified_seconds = u32::try_from(self.now_seconds).unwrap_or(u32::MAX);
        let expiry = expires_at(modified_seconds, document.ttl, self.container.default_ttl());
        let ordinal = u16::try_from(self.changes.list.len()).map_err(|_| too_large())?;
        let version = self.stamp.map(|stamp| VersionStamp {
            stamp,
            number: document.number.unwrap_or(f64::from(modified_seconds)),
            decided: Epoch::NONE,
            tag: Tag {
                region: stamp.origin,
                range: self.partition.id,
                lsn: self.counters.lsn,
                ordinal,
            },
        });
        let header = Header {
            indexed: document.indexed,
            prefix_bytes: u16::try_from(self.logical.prefix().len())
                .expect("partition keys are bounded far below 64 KB"),
            modified_seconds,
            lsn: self.counters.lsn,
            rid_counter: rid,
            range: self.partition.id,
            ordinal,
            version,
            own_tag: match self.items {
                _ if self.stamp.is_some() => None,
                ItemNumbers::InTurn => None,
                ItemNumbers::Taken => Some((self.partition.id, self.counters.lsn)),
            },
            terms: u32::try_from(document.charged_terms()).unwrap_or(u32::MAX),
            ttl: document.ttl,
            expiry_entry: expiry.map_or(0, |second| u32::try_from(second).unwrap_or(u32::MAX)),
        };
        let value = self.stored_bytes(&header, document);
        let item = StoredItem::decode(value.clone())?;
        let known = Known {
            old,
            new: Some(&document.version),
        };
        self.change(key, Some(value), known, false)?;
        let work = WriteWork {
            bytes_added: Some(item.text_bytes()),
            ..work
        };
        Ok(OperationOutcome {
            status,
            body: Some(item.text()),
            etag: Some(header.etag()),
            item_lsn: header.lsn,
            charge: Charge::write(work),
        })
    }

    fn stored_bytes(&self, header: &Header, document: &PreparedDocument) -> Bytes {
        let link = &self.container.self_link;
        let mut bytes = Vec::with_capacity(
            384 + document.digests.len() * DIGEST_BYTES + document.open_text.len() + link.len(),
        );
        let unique = u8::try_from(document.digests.len()).expect("at most UNIQUE_KEYS_MAX");
        header.encode(unique, &mut bytes);
        for digest in &document.digests {
            bytes.extend_from_slice(digest);
        }
        bytes.extend_from_slice(&document.open_text);
        let rid = ItemRid::new(self.container.rid, header.rid_counter);
        bytes.extend_from_slice(b",\"_rid\":\"");
        write_item_rid(&rid, &mut bytes);
        bytes.extend_from_slice(b"\",\"_self\":\"");
        bytes.extend_from_slice(link.as_bytes());
        bytes.extend_from_slice(b"docs/");
        write_item_rid(&rid, &mut bytes);
        bytes.extend_from_slice(b"/\",\"_etag\":");
        orrery_json::write_string(header.etag().as_str(), &mut bytes);
        bytes.extend_from_slice(b",\"_attachments\":\"attachments/\",\"_ts\":");
        orrery_json::write_number(i64::from(header.modified_seconds).into(), &mut bytes);
        bytes.push(b'}');
        bytes.into()
    }

    fn change(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        known: Known<'_>,
        is_expiry: bool,
    ) -> Result<(), Stop> {
        let bytes = self.changes.bytes + key.len() + value.as_ref().map_or(0, Bytes::len);
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(too_large().into());
        }
        let moment = Moment {
            container: self.container.rid.id(),
            range: self.partition.id,
            lsn: self.counters.lsn,
            seconds: u32::try_from(self.now_seconds).unwrap_or(u32::MAX),
            is_expiry: false,
            stamp: self.stamp,
            decided: Epoch::NONE,
        };
        let ordinal = self.changes.list.len();
        apply_change(
            self.overlay,
            self.states,
            ChangeAt {
                moment,
                ordinal,
                is_expiry,
            },
            &key,
            value.as_ref(),
            known,
            &mut self.counters,
        )?;
        self.changes.bytes = bytes;
        self.changes.list.push((key, value));
        if is_expiry {
            let ordinal = u16::try_from(ordinal).map_err(|_| too_large())?;
            self.changes.expired.push(ordinal);
        }
        if let Some(versions) = &mut self.changes.versions {
            versions.push(Versions {
                old: known.old.cloned(),
                new: known.new.cloned(),
            });
        }
        Ok(())
    }
}

fn too_large() -> Failure {
    Failure::TooLarge(format!(
        "Request size is too large. A transaction may write {TRANSACTION_BYTES_MAX} bytes."
    ))
}

fn parse_stored(item: &StoredItem) -> Result<Value, Error> {
    parse(&item.text())
        .map_err(|error| Error::Damaged(format!("a stored document does not parse: {error}")))
}

struct Conditions {
    if_match: Option<Precondition>,
    if_none_match: Option<Precondition>,
}

impl Conditions {
    /// For writes: `If-Match` must match the current version and `If-None-Match` must not.
    fn check(&self, current: &StoredItem) -> Result<(), Failure> {
        let etag = current.etag();
        let differs = self
            .if_match
            .as_ref()
            .is_some_and(|tag| !tag.matches(&etag));
        let hit = self
            .if_none_match
            .as_ref()
            .is_some_and(|tag| tag.matches(&etag));
        if differs || hit {
            Err(Failure::PreconditionFailed)
        } else {
            Ok(())
        }
    }
}
