//! What a script asks of the database, over the transaction of its run.

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
use orrery_memory::{Loan, Share};
use orrery_model::{
    CONTAINER_KILOBYTES_STATED, Charge, Document, Failure, IndexingDirective, Operation,
    OperationKind, OperationOutcome, OperationStatus, Precondition, limits,
};
use orrery_partition::{ScriptCommit, ScriptPlace, ScriptTransaction, Visit};
use orrery_script::{
    CollectionSize, DocumentRef, FeedPage, Host, HostError, IndexAction, JsonText, PageRequest,
    Query, ReadDocument, SpatialFunction, WriteOptions,
};

use super::failure::host_error;
use crate::engine::stopping;
use crate::query::{Pace, is_place_order};
use crate::{CompiledQuery, Engine, FeedRequest, QueryText, Scope, Terms, out_of_memory};

/// How long one page of a query may take that has to look at every document.
const PAGE_TIME_MAX: Duration = Duration::from_secs(limits::EXECUTION_SECONDS_MAX);

/// How often a run holds a byte that it has written: in the document, in what its reads see, in its index
/// entries, and in its record.
const COPIES_OF_WRITES: usize = 4;

/// Bytes of rows that are remembered; an item that is forgotten is searched for.
const ROWS_BYTES_MAX: usize = limits::RESPONSE_PAGE_BYTES_MAX;

/// One run of a script, or of the scripts around one write.
pub(crate) struct ScriptHost {
    // Not the engine itself: a script that nobody waits for must not keep it open.
    engine: Weak<Engine>,
    /// Gone when nobody waits for the run any more.
    client: Weak<()>,
    place: ScriptPlace,
    alt_link: String,
    /// Of the pages that the run reads: it is charged for them at its end.
    terms: Terms,
    /// Begun by the first operation, so that a run that waits for its thread reads what is new.
    transaction: Option<ScriptTransaction>,
    charge: Charge,
    /// Operations that the charge is of.
    operations: u64,
    /// What the run may use, if that is limited; it may start no operation that would likely exceed it.
    charge_max: Option<Charge>,
    /// Time spent here.
    time: Duration,
    /// Time that scripts took, the time spent here included.
    run_time: Duration,
    known: KnownItems,
    /// The item whose conflict the run settles.
    settles: Option<Bytes>,
    /// For what the run has written.
    held: Loan,
}

/// Items that the script has met, by the numbers in their resource ids. Scripts pass the `_self`
/// of what they have read; items are stored by their ids.
#[derive(Default)]
struct KnownItems {
    ids: HashMap<u64, String>,
    /// Rows of queries that nobody has looked at yet.
    rows: Vec<Bytes>,
}

impl ScriptHost {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        client: &Arc<()>,
        place: ScriptPlace,
        alt_link: String,
        terms: Terms,
        charge_max: Option<Charge>,
    ) -> ScriptHost {
        let held = terms.share.loan();
        ScriptHost {
            engine: Arc::downgrade(engine),
            client: Arc::downgrade(client),
            place,
            alt_link,
            terms,
            transaction: None,
            charge: Charge::ZERO,
            operations: 0,
            charge_max,
            time: Duration::ZERO,
            run_time: Duration::ZERO,
            known: KnownItems::default(),
            settles: None,
            held,
        }
    }

    /// Lets the run settle the conflict of an item. It watches its partition from here on.
    pub(super) fn settles(&mut self, item: Bytes) -> Result<(), Failure> {
        self.settles = Some(item);
        self.transaction().map(|_| ())
    }

    /// What the memory of the run is borrowed from.
    pub(super) fn share(&self) -> &Share {
        &self.terms.share
    }

    /// Leaves a host without anything in its place.
    pub(crate) fn lend(&mut self) -> ScriptHost {
        let empty = ScriptHost {
            engine: Weak::clone(&self.engine),
            client: Weak::clone(&self.client),
            place: self.place.clone(),
            alt_link: String::new(),
            terms: self.terms.clone(),
            transaction: None,
            charge: Charge::ZERO,
            operations: 0,
            charge_max: self.charge_max,
            time: Duration::ZERO,
            run_time: Duration::ZERO,
            known: KnownItems::default(),
            settles: None,
            held: self.terms.share.loan(),
        };
        std::mem::replace(self, empty)
    }

    /// What the operations of the script would cost from outside.
    pub(crate) fn charge(&self) -> Charge {
        self.charge
    }

    /// Time that scripts took themselves, whatever became of them.
    pub(crate) fn own_time(&self) -> Duration {
        self.run_time.saturating_sub(self.time)
    }

    /// A run that was given up has had all its time.
    pub(super) fn ran_at_least(&mut self, time: Duration) {
        self.run_time = self.run_time.max(time);
    }

    /// Documents of the container, and their kilobytes.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let counters = || {
            self.place
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

    /// What is left to commit, if anything.
    pub(crate) fn finish(&mut self) -> Option<ScriptCommit> {
        let transaction = self.transaction.take()?;
        match self.settles.take() {
            Some(item) => Some(transaction.finish_settling(item)),
            None => transaction.finish(),
        }
    }

    /// Carries out the operation that triggers are around.
    pub(crate) fn direct(&mut self, operation: Operation) -> Result<OperationOutcome, Failure> {
        self.transaction()?.carry_out(operation)
    }

    fn transaction(&mut self) -> Result<&mut ScriptTransaction, Failure> {
        if self.transaction.is_none() {
            let engine = self.engine.upgrade().ok_or_else(stopping)?;
            self.transaction = Some(engine.store.begin_script(self.place.clone())?);
        }
        Ok(self.transaction.as_mut().expect("begun above"))
    }

    /// Does something for the script: counts its time and turns a failure into the script's words.
    fn serve<T>(
        &mut self,
        work: impl FnOnce(&mut ScriptHost) -> Result<T, Failure>,
    ) -> Result<T, HostError> {
        if self.client.strong_count() == 0 {
            return Err(HostError::new(500, "The client has gone away."));
        }
        let begun = Instant::now();
        let result = work(self);
        self.time += begun.elapsed();
        result.map_err(|failure| host_error(&failure))
    }

    fn carry_out(&mut self, operation: Operation) -> Result<OperationOutcome, Failure> {
        // The run borrows here the memory for the writes of the operation before, whose size nobody
        // knew in advance.
        let written = self.transaction()?.written_bytes();
        self.held
            .resize(written * COPIES_OF_WRITES)
            .map_err(out_of_memory)?;
        let result = self.transaction()?.carry_out(operation);
        let outcome = result.as_ref();
        self.pay(outcome.map_or(Charge::MIN, |outcome| outcome.charge));
        result
    }

    fn pay(&mut self, charge: Charge) {
        self.charge = self.charge + charge;
        self.operations += 1;
    }

    fn write(&mut self, operation: Operation) -> Result<JsonText, Failure> {
        let outcome = self.carry_out(operation)?;
        let body = outcome.body.unwrap_or_default();
        Ok(body.to_vec())
    }

    /// The id of the document that a link names. `hint` is where to look first.
    fn id_of(&mut self, document: &DocumentRef, hint: Option<&str>) -> Result<String, Failure> {
        let text = match document {
            DocumentRef::Id(id) => return Ok(id.clone()),
            DocumentRef::Rid(text) => text,
        };
        let container = self.place.container.rid;
        let rid = ItemRid::parse(text).ok();
        let Some(rid) = rid.filter(|rid| rid.container() == container) else {
            return Ok(text.clone());
        };
        let counter = rid.counter();
        if let Some(hint) = hint {
            let item = self.transaction()?.item(hint)?;
            if item.is_some_and(|item| item.rid_counter() == counter) {
                return Ok(hint.to_owned());
            }
        }
        if let Some(id) = self.known.id(counter) {
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
        // A self link with an id appended to it is what some scripts make.
        let id = found.unwrap_or_else(|| text.clone());
        self.known.ids.insert(counter, id.clone());
        Ok(id)
    }

    fn page(
        &mut self,
        query: Option<Arc<CompiledQuery>>,
        page: &PageRequest,
    ) -> Result<FeedPage, Failure> {
        let engine = self.engine.upgrade().ok_or_else(stopping)?;
        let request = FeedRequest {
            scope: Scope::Key(self.place.key.clone()),
            query,
            items_max: page.items_max.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
            continuation: page.continuation.clone().filter(|token| !token.is_empty()),
            terms: self.terms.clone(),
            wants_report: false,
            without_index: false,
            enable_scan: page.enable_scan,
        };
        let container = Arc::clone(&self.place.container);
        let transaction = self.transaction()?;
        // A page that goes on in the order of an index goes on over what the first one read.
        let view = match (&request.query, request.continuation.as_deref()) {
            (Some(query), Some(token)) if !is_place_order(&container, query, token)? => {
                transaction.snapshot_view()
            }
            _ => transaction.view(),
        };
        let (pace, mut charge) = (Pace::alone(PAGE_TIME_MAX), Charge::ZERO);
        let rows = engine.rows(&container, &request, &view, 1, &pace, &mut charge);
        self.pay(charge);
        let rows = rows?;
        self.known.add(&rows.items);
        Ok(FeedPage {
            items: rows.items.iter().map(|item| item.to_vec()).collect(),
            continuation: rows.continuation,
        })
    }
}

impl Host for ScriptHost {
    fn self_link(&self) -> &str {
        &self.place.container.self_link
    }

    fn alt_link(&self) -> &str {
        &self.alt_link
    }

    fn new_id(&mut self) -> String {
        new_id()
    }

    /// The next operation is taken to cost what those before it did on average.
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
        query: &Query,
        page: &PageRequest,
    ) -> Result<FeedPage, HostError> {
        self.serve(|host| {
            let engine = host.engine.upgrade().ok_or_else(stopping)?;
            let text = QueryText {
                text: query.text.clone(),
                parameters: query.parameters.clone(),
                resume: None,
            };
            let compiled = engine.compile(&text, &host.place.container)?;
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
                // The number of the item now belongs to another id.
                host.known = KnownItems::default();
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

impl KnownItems {
    fn add(&mut self, rows: &[Bytes]) {
        let bytes: usize = self.rows.iter().map(Bytes::len).sum();
        if bytes > ROWS_BYTES_MAX {
            self.rows.clear();
        }
        self.rows.extend(rows.iter().cloned());
    }

    fn id(&mut self, counter: u64) -> Option<&str> {
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

/// A random id in the form of a GUID. It has to be unlike all others, not secret.
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
