//! Transactions: the operations of one request on one logical partition, executed atomically.

use std::sync::Arc;

use bytes::Bytes;
use orrery_index::Entries;
use orrery_json::{Value, parse};
use orrery_keys::{ItemRid, PartitionKey, write_item_rid};
use orrery_model::{
    Charge, ConflictKind, Document, Failure, IndexingDirective, Lsn, OperationOutcome,
    OperationStatus, Patch, Precondition, ReadWork, WriteWork, limits,
};
use orrery_regions::{Epoch, VersionId};

use crate::apply::{ChangeContext, apply_change, rid_counter};
use crate::index_state::IndexStateCache;
use crate::indexing::{IndexedVersion, PrecomputedEntries};
use crate::keyspaces::{DOCUMENTS, UNIQUE};
use crate::multi_write::rid_of_region;
use crate::overlay::Overlay;
use crate::prepare::{
    OperationContext, PreparedDocument, PreparedKind, PreparedOperation, prepare_document,
};
use crate::record::{KeyChange, RecordHeader};
use crate::stored_item::{
    DIGEST_BYTES, EtagParts, ItemHeader, StoredItem, VersionMetadata, expires_at,
};
use crate::{Container, Counters, Error, LogicalPartition, Partition, unique};

/// Maximum bytes that one transaction may write. The response size limits reads as well.
const TRANSACTION_BYTES_MAX: usize = 2 * limits::RESPONSE_PAGE_BYTES_MAX;

/// A request in the queue of the committer.
#[derive(Debug)]
pub struct ItemTransaction {
    pub container: Arc<Container>,
    pub partition: Arc<Partition>,
    pub logical: LogicalPartition,
    pub key: PartitionKey,
    pub operations: Vec<PreparedOperation>,
    pub now_seconds: u64,
    /// The factor by which the consistency level multiplies the charge of reads.
    pub read_factor: f64,
}

impl ItemTransaction {
    /// Whether the transaction may write data, apart from deletions.
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

/// The result of a transaction. `changes` is empty if the transaction failed or only read.
pub(crate) struct TransactionDecision {
    pub(crate) results: Vec<Result<OperationOutcome, Failure>>,
    /// The charge of operations that were rolled back.
    pub(crate) undone: Charge,
    pub(crate) changes: Vec<KeyChange>,
    /// The ordinals of changes that remove expired documents.
    pub(crate) expired: Vec<u16>,
    pub(crate) counters: Counters,
}

/// A rejection of the client's request, or a failure of this node.
pub(crate) enum TransactionError {
    Refused(Failure),
    Broken(Error),
}

impl From<Failure> for TransactionError {
    fn from(failure: Failure) -> TransactionError {
        TransactionError::Refused(failure)
    }
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> TransactionError {
        TransactionError::Broken(error)
    }
}

/// Runs a transaction over the overlay. If an operation is rejected, the overlay is unchanged.
pub(crate) fn decide(
    transaction: ItemTransaction,
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    before: Counters,
    version_id: Option<VersionId>,
) -> Result<TransactionDecision, Error> {
    let count = transaction.operations.len();
    if !transaction.container.is_alive() {
        // The container may have been deleted while the request was queued.
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
    let mut run = TransactionExecutor {
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
        changes: TransactionChanges::default(),
        items: RidSource::InTurn,
        version_id,
    };
    let mut results = Vec::with_capacity(count);
    let mut bytes_read = 0;
    for (index, operation) in operations.into_iter().enumerate() {
        let is_read = matches!(operation.kind, PreparedKind::Read { .. });
        let outcome = match run.operation(operation) {
            Ok(outcome) => {
                let body = outcome.body.as_ref().filter(|_| is_read);
                // All bodies of reads go into one response, so their sum is limited.
                bytes_read += body.map_or(0, Bytes::len);
                if bytes_read > limits::RESPONSE_PAGE_BYTES_MAX {
                    run.overlay.roll_back(savepoint);
                    let undone = charge_of(&results);
                    let decision = refused(count, index, Failure::AnswerTooLarge, before);
                    return Ok(TransactionDecision { undone, ..decision });
                }
                outcome
            }
            Err(TransactionError::Refused(failure)) => {
                run.overlay.roll_back(savepoint);
                let undone = charge_of(&results);
                let decision = refused(count, index, failure, before);
                return Ok(TransactionDecision { undone, ..decision });
            }
            Err(TransactionError::Broken(error)) => {
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
    Ok(TransactionDecision {
        results,
        undone: Charge::ZERO,
        changes: run.changes.list,
        expired: run.changes.expired,
        counters,
    })
}

fn charge_of(results: &[Result<OperationOutcome, Failure>]) -> Charge {
    let done = results.iter().flatten();
    done.map(|outcome| outcome.charge).sum()
}

fn refused(
    count: usize,
    index: usize,
    failure: Failure,
    counters: Counters,
) -> TransactionDecision {
    let mut results: Vec<_> = (0..count).map(|_| Err(Failure::FailedDependency)).collect();
    results[index] = Err(failure);
    TransactionDecision {
        results,
        undone: Charge::ZERO,
        changes: Vec::new(),
        expired: Vec::new(),
        counters,
    }
}

/// The changes of the operations so far.
#[derive(Default)]
pub(crate) struct TransactionChanges {
    pub(crate) list: Vec<KeyChange>,
    /// The ordinals of changes that remove expired documents.
    pub(crate) expired: Vec<u16>,
    /// Bytes of the changes.
    pub(crate) bytes: usize,
    /// The known index entries of each change; `None` if the caller does not need them.
    pub(crate) versions: Option<Vec<EntryVersions>>,
}

/// The known index entries of a document before and after a change.
#[derive(Debug, Default)]
pub(crate) struct EntryVersions {
    pub(crate) old: Option<IndexedVersion>,
    pub(crate) new: Option<IndexedVersion>,
}

/// The source of sequence numbers for new items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RidSource {
    /// The next number of the partition. Only the committer uses this source, so no other item gets
    /// the number.
    InTurn,
    /// A number that the partition reserves for a script in advance.
    Reserved,
}

pub(crate) struct TransactionExecutor<'a, 'b> {
    pub(crate) container: &'a Container,
    pub(crate) partition: &'a Partition,
    pub(crate) logical: &'a LogicalPartition,
    pub(crate) key: &'a PartitionKey,
    pub(crate) now_seconds: u64,
    pub(crate) read_factor: f64,
    pub(crate) overlay: &'a mut Overlay<'b>,
    pub(crate) states: &'a mut IndexStateCache,
    pub(crate) counters: Counters,
    pub(crate) changes: TransactionChanges,
    pub(crate) items: RidSource,
    /// The version id, in a multi-write store. The sequence of a script's version id is assigned at
    /// its commit.
    pub(crate) version_id: Option<VersionId>,
}

impl TransactionExecutor<'_, '_> {
    pub(crate) fn operation(
        &mut self,
        operation: PreparedOperation,
    ) -> Result<OperationOutcome, TransactionError> {
        let PreparedOperation {
            kind,
            if_match,
            if_none_match,
            indexing,
        } = operation;
        let conditions = Preconditions {
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

    fn existing(
        &self,
        id: &str,
        conditions: &Preconditions,
    ) -> Result<StoredItem, TransactionError> {
        let current = self
            .current(&self.logical.document_key(id))?
            .ok_or(Failure::NOT_FOUND)?;
        conditions.check(&current)?;
        Ok(current)
    }

    fn create(
        &mut self,
        document: &PreparedDocument,
    ) -> Result<OperationOutcome, TransactionError> {
        let key = self.logical.document_key(&document.id);
        if self.current(&key)?.is_some() {
            return Err(Failure::Conflict(ConflictKind::Id).into());
        }
        self.insert(key, document)
    }

    fn upsert(
        &mut self,
        document: &PreparedDocument,
        conditions: &Preconditions,
    ) -> Result<OperationOutcome, TransactionError> {
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
    ) -> Result<OperationOutcome, TransactionError> {
        let sequence = match self.items {
            RidSource::InTurn => self.counters.next_rid.max(1),
            RidSource::Reserved => self.partition.take_script_rid(),
        };
        let work = WriteWork {
            terms_changed: document.charged_terms(),
            unique_keys: document.digests.len(),
            ..WriteWork::default()
        };
        let sequence = match self.version_id {
            None => sequence,
            Some(version_id) => rid_of_region(sequence, version_id.origin),
        };
        let rid = rid_counter(self.partition.id, sequence);
        // The check may remove an expired holder of a value, so it comes before the document is
        // written.
        self.check_unique(document, &key)?;
        self.put(key, document, None, rid, OperationStatus::Created, work)
    }

    fn read(
        &self,
        id: &str,
        conditions: &Preconditions,
    ) -> Result<OperationOutcome, TransactionError> {
        let current = self
            .current(&self.logical.document_key(id))?
            .ok_or(Failure::NOT_FOUND)?;
        let etag = current.etag();
        // Clients have one field for the entity tag of a batch operation, called `If-Match`. On a
        // read it means: return the body only if the item has changed.
        let known = conditions.if_match.as_ref();
        let known = known.filter(|tag| **tag != Precondition::Any);
        let mut tags = conditions.if_none_match.iter().chain(known);
        let unchanged = tags.any(|tag| tag.matches(&etag));
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
            excludes_system_properties: current.excludes_system_properties(),
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
    ) -> Result<OperationOutcome, TransactionError> {
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
        // With another id the document moves to another key. The old row is removed first, which
        // frees its unique values for the check below.
        if renamed {
            self.change(old_key, None, PrecomputedEntries::default(), false)?;
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
    ) -> Result<PreparedDocument, TransactionError> {
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
        let context = OperationContext {
            container: self.container,
            key: self.key,
            logical: self.logical,
            now_seconds: self.now_seconds,
        };
        match prepare_document(context, &document, indexing) {
            Err(Failure::PartitionKeyMismatch) => {
                Err(Failure::bad_request("The partition key of an item cannot be patched.").into())
            }
            other => Ok(PreparedDocument {
                excludes_system_properties: current.header.excludes_system_properties,
                ..other?
            }),
        }
    }

    fn delete(
        &mut self,
        id: &str,
        conditions: &Preconditions,
    ) -> Result<OperationOutcome, TransactionError> {
        let current = self.existing(id, conditions)?;
        let work = WriteWork {
            bytes_removed: Some(current.text_bytes()),
            terms_changed: usize::try_from(current.header.terms).unwrap_or(usize::MAX),
            ..WriteWork::default()
        };
        let key = self.logical.document_key(id);
        self.change(key, None, PrecomputedEntries::default(), false)?;
        Ok(OperationOutcome {
            status: OperationStatus::Deleted,
            body: None,
            excludes_system_properties: false,
            etag: None,
            item_lsn: self.counters.lsn,
            charge: Charge::write(work),
        })
    }

    /// Rejects values that another visible document of the logical partition holds.
    fn check_unique(
        &mut self,
        document: &PreparedDocument,
        key: &Bytes,
    ) -> Result<(), TransactionError> {
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
            // The holder has expired but is not yet removed, so this transaction removes it.
            self.change(holder, None, PrecomputedEntries::default(), true)?;
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
    ) -> Result<OperationOutcome, TransactionError> {
        let modified_seconds = u32::try_from(self.now_seconds).unwrap_or(u32::MAX);
        let expiry = expires_at(modified_seconds, document.ttl, self.container.default_ttl());
        let ordinal = u16::try_from(self.changes.list.len()).map_err(|_| too_large())?;
        let version = self.version_id.map(|version_id| VersionMetadata {
            id: version_id,
            number: document.number.unwrap_or(f64::from(modified_seconds)),
            deciding_epoch: Epoch::NONE,
            tag: EtagParts {
                region: version_id.origin,
                range: self.partition.id,
                lsn: self.counters.lsn,
                ordinal,
            },
        });
        let header = ItemHeader {
            indexed: document.indexed,
            excludes_system_properties: document.excludes_system_properties,
            prefix_bytes: u16::try_from(self.logical.prefix().len())
                .expect("partition keys are bounded far below 64 KB"),
            modified_seconds,
            lsn: self.counters.lsn,
            rid_counter: rid,
            range: self.partition.id,
            ordinal,
            version,
            own_tag: match self.items {
                _ if self.version_id.is_some() => None,
                RidSource::InTurn => None,
                RidSource::Reserved => Some((self.partition.id, self.counters.lsn)),
            },
            terms: u32::try_from(document.charged_terms()).unwrap_or(u32::MAX),
            ttl: document.ttl,
            expiry_entry: expiry.map_or(0, |second| u32::try_from(second).unwrap_or(u32::MAX)),
        };
        let value = self.stored_bytes(&header, document);
        let item = StoredItem::decode(value.clone())?;
        let known = PrecomputedEntries {
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
            excludes_system_properties: header.excludes_system_properties,
            etag: Some(header.etag()),
            item_lsn: header.lsn,
            charge: Charge::write(work),
        })
    }

    fn stored_bytes(&self, header: &ItemHeader, document: &PreparedDocument) -> Bytes {
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
        known: PrecomputedEntries<'_>,
        is_expiry: bool,
    ) -> Result<(), TransactionError> {
        let bytes = self.changes.bytes + key.len() + value.as_ref().map_or(0, Bytes::len);
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(too_large().into());
        }
        let header = RecordHeader {
            container: self.container.rid.id(),
            range: self.partition.id,
            lsn: self.counters.lsn,
            seconds: u32::try_from(self.now_seconds).unwrap_or(u32::MAX),
            is_expiry: false,
            version_id: self.version_id,
            deciding_epoch: Epoch::NONE,
        };
        let ordinal = self.changes.list.len();
        apply_change(
            self.overlay,
            self.states,
            ChangeContext {
                header,
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
            versions.push(EntryVersions {
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

struct Preconditions {
    if_match: Option<Precondition>,
    if_none_match: Option<Precondition>,
}

impl Preconditions {
    /// For writes: `If-Match` must match the current version, and `If-None-Match` must not match
    /// it.
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
