//! The host of a script: it serves the script's database operations inside the transaction of the
//! run.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::evaluate_function;
use orrery_json::{Value, parse};
use orrery_keys::ItemRid;
use orrery_memory::{Loan, MemoryShare};
use orrery_model::{
    CONTAINER_KILOBYTES_STATED, Charge, Document, Failure, IndexingDirective, Operation,
    OperationKind, OperationOutcome, OperationStatus, Precondition, limits,
};
use orrery_partition::{ScriptCommit, ScriptContext, ScriptTransaction, Visit};
use orrery_script::{
    CollectionSize, DocumentRef, FeedPage, Host, HostError, IndexAction, JsonText, PageRequest,
    ReadDocument, ScriptQuery, SpatialFunction, WriteOptions,
};

use super::failure::host_error;
use crate::engine::stopping_failure;
use crate::query::{PageSchedule, is_key_order};
use crate::{
    CompiledQuery, Engine, FeedRequest, FeedScope, QueryText, RequestBudget, out_of_memory,
};

/// Time limit of one query page that scans every document.
const PAGE_TIME_MAX: Duration = Duration::from_secs(limits::EXECUTION_SECONDS_MAX);

/// Copies that a run keeps of each written byte: the document, the overlay for its own reads, the
/// index entries, and the log record.
const COPIES_OF_WRITES: usize = 4;

/// Limit of remembered query rows. An item without a remembered row is searched in the partition.
const ROWS_BYTES_MAX: usize = limits::RESPONSE_PAGE_BYTES_MAX;

/// The host of one script run, or of the triggers around one write.
pub(crate) struct ScriptHost {
    // A strong reference would keep the engine open for a script whose caller has gone.
    engine: Weak<Engine>,
    /// Upgrades only while the client still waits for the run.
    client: Weak<()>,
    context: ScriptContext,
    alt_link: String,
    /// The budget of the pages that the run reads; the engine charges them at the end of the run.
    budget: RequestBudget,
    /// Begun by the first operation, so that a run that waited for its thread reads a recent
    /// snapshot.
    transaction: Option<ScriptTransaction>,
    charge: Charge,
    /// Number of operations in `charge`.
    operations: u64,
    /// Optional charge limit. The host refuses an operation that would probably exceed it.
    charge_max: Option<Charge>,
    /// Time spent in host operations.
    time: Duration,
    /// Elapsed time of the scripts, including `time`.
    run_time: Duration,
    item_ids: ItemIdCache,
    /// The item whose conflict the run resolves.
    resolves: Option<Bytes>,
    /// Memory borrowed for the writes of the run.
    loan: Loan,
}

/// Ids of items that the script has met, by the counters in their resource ids. Scripts pass the
/// `_self` of read items, while the store addresses items by id.
#[derive(Default)]
struct ItemIdCache {
    ids: HashMap<u64, String>,
    /// Rows that have not been parsed for ids yet. Most scripts never need the ids, so parsing
    /// waits.
    rows: Vec<Bytes>,
}

impl ScriptHost {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        client: &Arc<()>,
        context: ScriptContext,
        alt_link: String,
        budget: RequestBudget,
        charge_max: Option<Charge>,
    ) -> ScriptHost {
        let loan = budget.share.loan();
        ScriptHost {
            engine: Arc::downgrade(engine),
            client: Arc::downgrade(client),
            context,
            alt_link,
            budget,
            transaction: None,
            charge: Charge::ZERO,
            operations: 0,
            charge_max,
            time: Duration::ZERO,
            run_time: Duration::ZERO,
            item_ids: ItemIdCache::default(),
            resolves: None,
            loan,
        }
    }

    /// Makes the run resolve the conflict of an item. The transaction, and with it the watch on the
    /// logical partition, begins here.
    pub(super) fn resolve_conflict_of(&mut self, item: Bytes) -> Result<(), Failure> {
        self.resolves = Some(item);
        self.transaction().map(|_| ())
    }

    /// The memory share from which the run borrows.
    pub(super) fn share(&self) -> &MemoryShare {
        &self.budget.share
    }

    /// Moves the host out and leaves an empty host behind.
    pub(crate) fn detach(&mut self) -> ScriptHost {
        let empty = ScriptHost {
            engine: Weak::clone(&self.engine),
            client: Weak::clone(&self.client),
            context: self.context.clone(),
            alt_link: String::new(),
            budget: self.budget.clone(),
            transaction: None,
            charge: Charge::ZERO,
            operations: 0,
            charge_max: self.charge_max,
            time: Duration::ZERO,
            run_time: Duration::ZERO,
            item_ids: ItemIdCache::default(),
            resolves: None,
            loan: self.budget.share.loan(),
        };
        std::mem::replace(self, empty)
    }

    /// The sum that the script's operations would cost as separate requests.
    pub(crate) fn charge(&self) -> Charge {
        self.charge
    }

    /// Time of the script itself, without the host operations.
    pub(crate) fn own_time(&self) -> Duration {
        self.run_time.saturating_sub(self.time)
    }

    /// Sets the run time of an abandoned run to its full limit.
    pub(super) fn ran_at_least(&mut self, time: Duration) {
        self.run_time = self.run_time.max(time);
    }

    /// The number of documents of the container and their kilobytes.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let counters = || {
            self.context
                .container
                .partitions
                .iter()
                .map(|one| one.counters())
        };
        let bytes: u64 = counters().map(|counters| counters.bytes).sum();
        (
            counters().map(|counters| counters.items).sum(),
            bytes.div_ceil(1024),
        )
    }

    /// The uncommitted writes of the run, if the run has written anything.
    pub(crate) fn finish(&mut self) -> Option<ScriptCommit> {
        let transaction = self.transaction.take()?;
        match self.resolves.take() {
            Some(item) => Some(transaction.finish_resolving(item)),
            None => transaction.finish(),
        }
    }

    /// Carries out the operation that the triggers belong to.
    pub(crate) fn execute_triggering_operation(
        &mut self,
        operation: Operation,
    ) -> Result<OperationOutcome, Failure> {
        self.transaction()?.carry_out(operation)
    }

    fn transaction(&mut self) -> Result<&mut ScriptTransaction, Failure> {
        if self.transaction.is_none() {
            let engine = self.engine.upgrade().ok_or_else(stopping_failure)?;
            self.transaction = Some(engine.store.begin_script(self.context.clone())?);
        }
        Ok(self.transaction.as_mut().expect("begun above"))
    }

    /// Carries out one host operation: measures its time, and converts a failure into a script
    /// error.
    fn serve<T>(
        &mut self,
        work: impl FnOnce(&mut ScriptHost) -> Result<T, Failure>,
    ) -> Result<T, HostError> {
        // A disconnected client ends the script at its next operation.
        if self.client.strong_count() == 0 {
            return Err(HostError::new(500, "The client has gone away."));
        }
        let begun = Instant::now();
        let result = work(self);
        self.time += begun.elapsed();
        result.map_err(|failure| host_error(&failure))
    }

    fn carry_out(&mut self, operation: Operation) -> Result<OperationOutcome, Failure> {
        // The size of a write is known only afterwards, so each operation first borrows the memory
        // of its predecessor's writes.
        let written = self.transaction()?.written_bytes();
        self.loan
            .resize(written * COPIES_OF_WRITES)
            .map_err(out_of_memory)?;
        let result = self.transaction()?.carry_out(operation);
        let outcome = result.as_ref();
        self.add_charge(outcome.map_or(Charge::MIN, |outcome| outcome.charge));
        result
    }

    fn add_charge(&mut self, charge: Charge) {
        self.charge = self.charge + charge;
        self.operations += 1;
    }

    fn write(&mut self, operation: Operation) -> Result<JsonText, Failure> {
        let outcome = self.carry_out(operation)?;
        let body = outcome.body.unwrap_or_default();
        Ok(body.to_vec())
    }

    /// The id of the document that a link names. `hint` is the id to try first.
    fn id_of(&mut self, document: &DocumentRef, hint: Option<&str>) -> Result<String, Failure> {
        let text = match document {
            DocumentRef::Id(id) => return Ok(id.clone()),
            DocumentRef::Rid(text) => text,
        };
        let container = self.context.container.rid;
        let rid = ItemRid::parse(text).ok();
        let Some(rid) = rid.filter(|rid| rid.container() == container) else {
            return Ok(text.clone());
        };
        let counter = rid.counter();
        // A replace usually keeps the id, so the id of the new body is the best guess.
        if let Some(hint) = hint {
            let item = self.transaction()?.item(hint)?;
            if item.is_some_and(|item| item.rid_counter() == counter) {
                return Ok(hint.to_owned());
            }
        }
        if let Some(id) = self.item_ids.id(counter) {
            return Ok(id.to_owned());
        }
        let mut found = None;
        let view = self.transaction()?.view();
        view.documents(None, &mut |scanned| {
            if scanned.item.rid_counter() != counter {
                return Visit::Taken;
            }
            found = Some(String::from_utf8_lossy(scanned.id).into_owned());
            Visit::Full
        })?;
        // Some scripts append an id to a self link. The text then serves as the id itself.
        let id = found.unwrap_or_else(|| text.clone());
        self.item_ids.ids.insert(counter, id.clone());
        Ok(id)
    }

    fn page(
        &mut self,
        query: Option<Arc<CompiledQuery>>,
        page: &PageRequest,
    ) -> Result<FeedPage, Failure> {
        let engine = self.engine.upgrade().ok_or_else(stopping_failure)?;
        let request = FeedRequest {
            scope: FeedScope::Key(self.context.key.clone()),
            query,
            items_max: page.items_max.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
            continuation: page.continuation.clone().filter(|token| !token.is_empty()),
            continuation_bytes_max: None,
            budget: self.budget.clone(),
            wants_report: false,
            without_index: false,
            enable_scan: page.enable_scan,
        };
        let container = Arc::clone(&self.context.container);
        let transaction = self.transaction()?;
        // A continuation in index order must go on over the snapshot of its first page: writes of
        // the script itself are not in the index.
        let view = match (&request.query, request.continuation.as_deref()) {
            (Some(query), Some(token)) if !is_key_order(&container, query, token)? => {
                transaction.snapshot_view()
            }
            _ => transaction.view(),
        };
        let (schedule, mut charge) = (PageSchedule::without_lane(PAGE_TIME_MAX), Charge::ZERO);
        let rows = engine.rows(&container, &request, &view, 1, &schedule, &mut charge);
        // The failed page has cost work too, so the charge precedes the error check.
        self.add_charge(charge);
        let rows = rows?;
        self.item_ids.add(&rows.items);
        Ok(FeedPage {
            items: rows.items.iter().map(|item| item.to_vec()).collect(),
            continuation: rows.continuation,
        })
    }
}

impl Host for ScriptHost {
    fn self_link(&self) -> &str {
        &self.context.container.self_link
    }

    fn alt_link(&self) -> &str {
        &self.alt_link
    }

    fn new_id(&mut self) -> String {
        new_id()
    }

    /// Whether the script may start another operation. The next operation is assumed to cost the
    /// mean of the previous ones.
    fn accepts(&mut self) -> bool {
        let mean = self.charge.units() / self.operations.max(1) as f64;
        let expected = Charge::from_units(self.charge.units() + mean);
        let expected = Charge::script(expected, Duration::ZERO);
        self.charge_max.is_none_or(|max| expected <= max)
    }

    fn ended(&mut self, elapsed: Duration) {
        self.run_time += elapsed;
    }

    fn collection_size(&self) -> Option<CollectionSize> {
        Some(CollectionSize {
            current_mb: self.usage().1 as f64 / 1024.0,
            max_mb: CONTAINER_KILOBYTES_STATED as f64 / 1024.0,
        })
    }

    fn read_document(
        &mut self,
        document: &DocumentRef,
        if_none_match: Option<&str>,
    ) -> Result<ReadDocument, HostError> {
        self.serve(|host| {
            let id = host.id_of(document, None)?;
            let operation = Operation {
                if_none_match: if_none_match.map(precondition),
                ..Operation::new(OperationKind::Read { id })
            };
            let outcome = host.carry_out(operation)?;
            Ok(match outcome.status {
                OperationStatus::NotModified => ReadDocument::NotModified,
                OperationStatus::Ok | OperationStatus::Created | OperationStatus::Deleted => {
                    ReadDocument::Found(outcome.body.unwrap_or_default().to_vec())
                }
            })
        })
    }

    fn read_documents(&mut self, page: &PageRequest) -> Result<FeedPage, HostError> {
        self.serve(|host| host.page(None, page))
    }

    fn query_documents(
        &mut self,
        query: &ScriptQuery,
        page: &PageRequest,
    ) -> Result<FeedPage, HostError> {
        self.serve(|host| {
            let engine = host.engine.upgrade().ok_or_else(stopping_failure)?;
            let text = QueryText {
                text: query.text.clone(),
                parameters: query.parameters.clone(),
                resume: None,
            };
            let compiled = engine.compile(&text, &host.context.container)?;
            host.page(Some(compiled), page)
        })
    }

    fn create_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        self.serve(|host| {
            let document = Document::from_value(body)?;
            host.write(operation(OperationKind::Create(document), options))
        })
    }

    fn upsert_document(
        &mut self,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        self.serve(|host| {
            let document = Document::from_value(body)?;
            host.write(operation(OperationKind::Upsert(document), options))
        })
    }

    fn replace_document(
        &mut self,
        document: &DocumentRef,
        body: Value,
        options: &WriteOptions,
    ) -> Result<JsonText, HostError> {
        self.serve(|host| {
            let body = Document::from_value(body)?;
            let id = host.id_of(document, Some(body.id()))?;
            if id != body.id() {
                // The rename gives this resource id another id, so cached ids are stale.
                host.item_ids = ItemIdCache::default();
            }
            let kind = OperationKind::Replace { id, document: body };
            host.write(operation(kind, options))
        })
    }

    fn delete_document(
        &mut self,
        document: &DocumentRef,
        options: &WriteOptions,
    ) -> Result<(), HostError> {
        self.serve(|host| {
            let id = host.id_of(document, None)?;
            host.carry_out(operation(OperationKind::Delete { id }, options))?;
            Ok(())
        })
    }

    fn spatial(
        &mut self,
        function: SpatialFunction,
        arguments: &[Value],
    ) -> Result<Value, HostError> {
        let name = match function {
            SpatialFunction::Distance => "ST_DISTANCE",
            SpatialFunction::Intersects => "ST_INTERSECTS",
            SpatialFunction::Within => "ST_WITHIN",
            SpatialFunction::IsValid => "ST_ISVALID",
            SpatialFunction::IsValidDetailed => "ST_ISVALIDDETAILED",
        };
        evaluate_function(name, arguments)
            .ok_or_else(|| HostError::new(400, "The spatial function cannot be evaluated."))
    }
}

impl ItemIdCache {
    fn add(&mut self, rows: &[Bytes]) {
        let bytes: usize = self.rows.iter().map(Bytes::len).sum();
        if bytes > ROWS_BYTES_MAX {
            self.rows.clear();
        }
        self.rows.extend(rows.iter().cloned());
    }

    fn id(&mut self, counter: u64) -> Option<&str> {
        // Parsing happens once per row; `drain` moves every row into the id table.
        for row in self.rows.drain(..) {
            let Ok(row) = parse(&row) else { continue };
            let rid = row
                .get("_rid")
                .as_str()
                .and_then(|rid| ItemRid::parse(rid).ok());
            if let (Some(rid), Some(id)) = (rid, row.get("id").as_str()) {
                self.ids.insert(rid.counter(), id.to_owned());
            }
        }
        self.ids.get(&counter).map(String::as_str)
    }
}

fn operation(kind: OperationKind, options: &WriteOptions) -> Operation {
    Operation {
        if_match: options.etag.as_deref().map(precondition),
        indexing: match options.index_action {
            IndexAction::Default => IndexingDirective::Default,
            IndexAction::Include => IndexingDirective::Include,
            IndexAction::Exclude => IndexingDirective::Exclude,
        },
        ..Operation::new(kind)
    }
}

fn precondition(text: &str) -> Precondition {
    match text {
        "*" => Precondition::Any,
        etag => Precondition::Etag(etag.to_owned()),
    }
}

/// A random id in GUID form. It must be unique but need not be secret.
fn new_id() -> String {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (high, low) = (SEED.hash_one((count, 0)), SEED.hash_one((count, 1)));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFF,
        0x8000 | ((low >> 48) & 0x3FFF),
        low & 0xFFFF_FFFF_FFFF
    )
}
