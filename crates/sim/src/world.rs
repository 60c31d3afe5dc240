//! A store with one container under random transactions, faults and crashes.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use orrery_fault_disk::{FaultDisk, Random};
use orrery_json::{Value, parse};
use orrery_keys::{ContainerRid, DatabaseRid, EpkRange, PartitionKey};
use orrery_log::Disk;
use orrery_model::{
    ContainerDefinition, Document, Failure, Lsn, Operation, OperationKind, RangeId,
};
use orrery_partition::{
    ApplyAfter, ChangeMode, Container, Durability, IndexPolicyState, ItemTransaction,
    MaintenanceOptions, OperationContext, Partition, ScanRange, StepOutcome, Store, StoreOptions,
    StoreSteps, TransactionOutcome, Visit, policy_change, prepare,
};
use orrery_storage::{Batch, KeyspaceId, Snapshot, Storage};

use crate::ledger::{Change, Changes, Items, Ledger, Outcome};
use crate::{PlantedBug, Violation};

const NUMBER: u32 = 7;
const NOW_SECONDS: u64 = 1_800_000_000;
const LOG_DIRECTORY: &str = "/log";
/// Small, so that a run fills, seals and trims many segments.
const SEGMENT_BYTES: u64 = 16 * 1024;
/// Few ids, so that transactions meet.
const IDS: usize = 12;
const CHANGES_MAX: usize = 4;
/// The versions of the state that a crash chooses from.
const STATES_MAX: usize = 64;

/// The map of the documents, by docs/format.md.
const DOCUMENTS: KeyspaceId = KeyspaceId(0);

/// What a run did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub transactions: usize,
    pub committed: usize,
    /// A change was impossible: the id existed, or did not exist.
    pub impossible: usize,
    /// The disk was full or failed.
    pub refused: usize,
    pub crashes: usize,
    pub checkpoints: usize,
}

pub struct World {
    random: Random,
    disk: FaultDisk,
    /// Versions of the state since its last save, the saved one first.
    states: VecDeque<Snapshot>,
    now: Instant,
    node: Node,
    ledger: Ledger,
    /// Transactions without an answer, oldest first.
    waiting: VecDeque<(usize, Receiver<TransactionOutcome>)>,
    last_lsn: u64,
    value: u64,
    planted: Option<PlantedBug>,
    report: Report,
}

/// The store of one start, and its container.
struct Node {
    store: Store,
    steps: StoreSteps,
    container: Arc<Container>,
}

impl World {
    /// Opens an empty store.
    pub fn new(seed: u64, planted: Option<PlantedBug>) -> Result<World, Violation> {
        let disk = FaultDisk::default();
        let now = Instant::now();
        let node = Node::open(Store::empty_state(), &disk, now)?;
        let states = VecDeque::from([node.steps.state()]);
        Ok(World {
            random: Random::new(seed),
            disk,
            states,
            now,
            node,
            ledger: Ledger::default(),
            waiting: VecDeque::new(),
            last_lsn: 0,
            value: 0,
            planted,
            report: Report::default(),
        })
    }

    /// Takes this number of random turns, and crashes at the end.
    pub fn run(mut self, turns: usize) -> Result<Report, Violation> {
        for _ in 0..turns {
            self.turn()?;
        }
        self.crash()?;
        Ok(self.report)
    }

    fn turn(&mut self) -> Result<(), Violation> {
        match self.random.below(100) {
            0..45 => self.submit(),
            45..85 => drop(self.step()?),
            85..90 => self.checkpoint(),
            90..93 => self.now += Duration::from_millis(self.random.number() % 2_000),
            93..95 => self.change_capacity(),
            95 => self.check_at_rest()?,
            96 => self.disk.fail_syncs(self.random.chance(30)),
            97 => self.close()?,
            _ => self.crash()?,
        }
        Ok(())
    }

    /// Gives the store a transaction.
    fn submit(&mut self) {
        let count = 1 + self.random.below(CHANGES_MAX);
        let changes: Changes = (0..count).map(|_| self.change()).collect();
        let (reply, answer) = channel();
        self.node.submit(&changes, reply);
        let number = self.ledger.submit(changes);
        self.waiting.push_back((number, answer));
        self.report.transactions += 1;
    }

    fn change(&mut self) -> Change {
        let id = format!("i{}", self.random.below(IDS));
        self.value += 1;
        match self.random.below(10) {
            0..3 => Change::Create(id, self.value),
            3..7 => Change::Upsert(id, self.value),
            7..9 => Change::Replace(id, self.value),
            _ => Change::Delete(id),
        }
    }

    /// One step of the committer, and the answers that it gave.
    fn step(&mut self) -> Result<StepOutcome, Violation> {
        self.disk
            .forget_syncs(self.planted == Some(PlantedBug::LyingSync));
        let outcome = self.node.steps.step(self.now);
        self.states.push_back(self.node.steps.state());
        if self.states.len() > STATES_MAX {
            // A crash may always find the saved state, so the versions after it go first.
            self.states.remove(1);
        }
        while let Some((number, answer)) = self.waiting.front() {
            let answered = match answer.try_recv() {
                Ok(answered) => answered,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Violation(format!("transaction {number} has no answer")));
                }
            };
            let outcome = outcome_of(&answered)?;
            match outcome {
                Outcome::Committed => {
                    self.report.committed += 1;
                    self.last_lsn = self.last_lsn.max(answered.partition_lsn.lsn.0);
                }
                Outcome::Impossible => self.report.impossible += 1,
                Outcome::Refused | Outcome::Pending => self.report.refused += 1,
            }
            self.ledger.answer(*number, outcome)?;
            self.waiting.pop_front();
        }
        Ok(outcome)
    }

    /// Saves the state if the committer has asked for that.
    fn checkpoint(&mut self) {
        // Other callers save the state too, without a request of the committer.
        if self.node.steps.checkpoint() || self.random.chance(30) {
            self.states.clear();
            self.states.push_back(self.node.steps.state());
            self.report.checkpoints += 1;
        }
    }

    /// Fills the disk up, or makes room again.
    fn change_capacity(&mut self) {
        let room = self
            .random
            .below(3 * usize::try_from(SEGMENT_BYTES).unwrap_or(usize::MAX));
        let is_full = self.random.chance(50);
        self.disk
            .set_capacity(is_full.then(|| self.disk.used() + room));
        self.node.steps.retry_log();
    }

    /// Lets the store finish its work, and compares everything that readers see with the ledger.
    fn check_at_rest(&mut self) -> Result<(), Violation> {
        while self.step()? == StepOutcome::Worked {}
        if self.ledger.pending() > 0 {
            return Err(Violation("a store at rest owes answers".to_owned()));
        }
        let (found, expected) = (self.node.items()?, self.ledger.acknowledged());
        if found != expected {
            return Err(Violation(format!(
                "readers see {found:?}, acknowledged are {expected:?}"
            )));
        }
        self.check_feed(&found)
    }

    /// The change feed has the newest version of each item, once each, in the order of their LSNs.
    fn check_feed(&self, items: &Items) -> Result<(), Violation> {
        let fed = self.node.feed()?;
        if fed != *items {
            return Err(Violation(format!(
                "the change feed has {fed:?}, the items are {items:?}"
            )));
        }
        let lsn = self.node.container.partitions[0].counters().lsn.0;
        if lsn < self.last_lsn {
            return Err(Violation(format!(
                "the LSN went back from {} to {lsn}",
                self.last_lsn
            )));
        }
        Ok(())
    }

    /// Ends the store in order, and opens it again: nothing is lost, and nothing is replayed.
    fn close(&mut self) -> Result<(), Violation> {
        let (reply, closed) = channel();
        let reply = move |result: Result<(), orrery_partition::Error>| {
            // The receiver lives as long as this function.
            let _ = reply.send(result.is_ok());
        };
        self.node.store.submit_close(Box::new(reply));
        while self.step()? != StepOutcome::Closed {}
        if closed.try_recv() == Ok(true) {
            // A store that closed in order has saved its state.
            self.states.clear();
            self.states.push_back(self.node.steps.state());
        }
        self.crash()
    }

    /// Takes the power away, opens what is left, and judges it.
    fn crash(&mut self) -> Result<(), Violation> {
        self.report.crashes += 1;
        let state = self.surviving_state();
        self.disk = self.disk.crash(&mut self.random);
        if self.planted == Some(PlantedBug::LostSegment)
            && let Some(newest) = self.disk.paths().into_iter().max()
        {
            self.disk.delete(&newest);
        }
        self.waiting.clear();
        let node = Node::open(state, &self.disk, self.now)?;
        self.node = node;
        self.states = VecDeque::from([self.node.steps.state()]);
        let found = self.node.items()?;
        self.ledger.recover(found.clone())?;
        self.check_feed(&found)
    }

    /// Any version of the state since its last save.
    fn surviving_state(&mut self) -> Storage {
        let chosen = self.random.below(self.states.len());
        let earlier = &self.states[chosen];
        let state = Storage::in_memory_of(earlier);
        let state = state.unwrap_or_else(Store::empty_state);
        if self.planted == Some(PlantedBug::TornBatch)
            && let Some(later) = self.states.back()
        {
            tear(&state, later);
        }
        state
    }
}

/// Gives a state the newest documents without the rows that belong to them.
fn tear(state: &Storage, later: &Snapshot) {
    let mut batch = Batch::default();
    for entry in later.range(DOCUMENTS, &[], None).flatten() {
        batch.put(DOCUMENTS, entry.0, entry.1);
    }
    // A failed write leaves the state whole, and then the run finds no violation and says so.
    let _ = state.write(batch);
}

impl Node {
    fn open(state: Storage, disk: &FaultDisk, now: Instant) -> Result<Node, Violation> {
        let options = StoreOptions {
            directory: None,
            durability: Durability::Sync,
            cache_bytes: 1 << 20,
            apply_after: ApplyAfter::Durable,
            multi_write: None,
            maintenance: MaintenanceOptions::default(),
        };
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let directory = Path::new(LOG_DIRECTORY);
        let opened = Store::open_in_steps(state, &disk, directory, SEGMENT_BYTES, &options);
        let (store, steps) =
            opened.map_err(|error| Violation(format!("the store does not open: {error}")))?;
        let container = container(&store)?;
        let mut node = Node {
            store,
            steps,
            container,
        };
        let state = node.store.index_policy_state(&node.container);
        if state.ok() == Some(IndexPolicyState::Mismatched) {
            node.create_container(now)?;
        }
        Ok(node)
    }

    /// Writes the catalogue rows of the container, as the first record of the log.
    fn create_container(&mut self, now: Instant) -> Result<(), Violation> {
        let (reply, answer) = channel();
        let reply = move |result: Result<(), Failure>| drop(reply.send(result));
        let change = policy_change(&self.container, true);
        self.store.submit_catalogue(vec![change], Box::new(reply));
        while self.steps.step(now) == StepOutcome::Worked {}
        match answer.try_recv() {
            Ok(Ok(())) => Ok(()),
            refused => Err(Violation(format!(
                "the container was not made: {refused:?}"
            ))),
        }
    }

    fn submit(&self, changes: &[Change], reply: std::sync::mpsc::Sender<TransactionOutcome>) {
        let key = key();
        let logical = self.container.logical_partition(&key);
        let context = OperationContext {
            container: &self.container,
            key: &key,
            logical: &logical,
            now_seconds: NOW_SECONDS,
        };
        let operations = changes
            .iter()
            .map(|change| prepare(context, Operation::new(operation(change))))
            .collect::<Result<_, _>>()
            .expect("the operations of a simulation are valid");
        let transaction = ItemTransaction {
            container: Arc::clone(&self.container),
            partition: Arc::clone(&self.container.partitions[0]),
            logical: logical.clone(),
            key: key.clone(),
            operations,
            now_seconds: NOW_SECONDS,
            read_factor: 1.0,
        };
        // The receiver is gone after a crash, as a client is that lost its connection.
        let reply = move |outcome| drop(reply.send(outcome));
        self.store.submit(transaction, Box::new(reply));
    }

    /// All items, by point reads.
    fn items(&self) -> Result<Items, Violation> {
        let logical = self.container.logical_partition(&key());
        let mut items = BTreeMap::new();
        for id in (0..IDS).map(|number| format!("i{number}")) {
            let read = self
                .store
                .read(&self.container, &logical, &id, NOW_SECONDS)
                .map_err(|failure| Violation(format!("item {id} is unreadable: {failure}")))?;
            if let Some(item) = read {
                items.insert(id, value_of(&item.text())?);
            }
        }
        Ok(items)
    }

    /// All items, by the change feed from its beginning.
    fn feed(&self) -> Result<Items, Violation> {
        let mut items = BTreeMap::new();
        let (mut last, mut problem) = (Lsn(0), None);
        let mut visit = |change: orrery_partition::ItemChange| {
            let id = String::from_utf8_lossy(&change.id).into_owned();
            let value = change.current.as_deref().map(value_of);
            match value {
                Some(Ok(value)) if change.lsn >= last && !items.contains_key(&id) => {
                    items.insert(id, value);
                    last = change.lsn;
                }
                _ => problem = Some(format!("the change feed has {change:?} after LSN {last}")),
            }
            Visit::Taken
        };
        let scope = ScanRange::of_whole(&self.container);
        let partition = &self.container.partitions[0];
        self.store
            .changes(&self.container)
            .changes(
                ChangeMode::LatestVersion,
                partition,
                &scope,
                Lsn(0),
                &mut visit,
            )
            .map_err(|failure| Violation(format!("the change feed is unreadable: {failure}")))?;
        match problem {
            Some(problem) => Err(Violation(problem)),
            None => Ok(items),
        }
    }
}

/// The container with the counters that the state has.
fn container(store: &Store) -> Result<Arc<Container>, Violation> {
    let counters = store.catalogue_state().counters(NUMBER, RangeId(0));
    let counters =
        counters.map_err(|error| Violation(format!("the counters are unreadable: {error}")))?;
    let partition = Partition::new(RangeId(0), EpkRange::full(), counters);
    let body = parse(br#"{"id":"c","partitionKey":{"paths":["/p"]}}"#);
    let definition = ContainerDefinition::parse(&body.expect("the definition is JSON"));
    Ok(Arc::new(Container::new(
        ContainerRid::new(DatabaseRid::new(1), NUMBER),
        definition.expect("the definition is valid"),
        vec![Arc::new(partition)],
        "dbs/d/colls/c/".to_owned(),
    )))
}

fn key() -> PartitionKey {
    PartitionKey::parse_header(r#"["a"]"#).expect("the header is a partition key")
}

fn operation(change: &Change) -> OperationKind {
    let document = |id: &str, value: u64| {
        let text = format!(r#"{{"id":"{id}","p":"a","v":{value}}}"#);
        Document::parse(text.as_bytes()).expect("the item is valid")
    };
    match change {
        Change::Create(id, value) => OperationKind::Create(document(id, *value)),
        Change::Upsert(id, value) => OperationKind::Upsert(document(id, *value)),
        Change::Replace(id, value) => OperationKind::Replace {
            id: id.clone(),
            document: document(id, *value),
        },
        Change::Delete(id) => OperationKind::Delete { id: id.clone() },
    }
}

/// The number in the property `v` of an item.
fn value_of(text: &[u8]) -> Result<u64, Violation> {
    let value = parse(text).ok();
    let number = value.as_ref().and_then(|value| match value {
        Value::Object(object) => object.get("v"),
        _ => None,
    });
    let number = match number {
        Some(Value::Number(number)) => number.as_i64(),
        _ => None,
    };
    match number.map(u64::try_from) {
        Some(Ok(number)) => Ok(number),
        _ => Err(Violation(format!(
            "an item is {}",
            String::from_utf8_lossy(text)
        ))),
    }
}

/// What a transaction did, by the results of its operations.
fn outcome_of(answer: &TransactionOutcome) -> Result<Outcome, Violation> {
    let failures: Vec<&Failure> = answer
        .results
        .iter()
        .filter_map(|result| result.as_ref().err())
        .collect();
    if failures.is_empty() {
        return Ok(Outcome::Committed);
    }
    let mut outcome = None;
    for failure in failures {
        match failure {
            Failure::Conflict(_) | Failure::NotFound(_) => outcome = Some(Outcome::Impossible),
            Failure::Unavailable(_) => outcome = Some(Outcome::Refused),
            // The other operations of a batch that a failed one undoes.
            Failure::FailedDependency => {}
            other => return Err(Violation(format!("a transaction ended with {other:?}"))),
        }
    }
    outcome.ok_or_else(|| Violation("a transaction failed without a cause".to_owned()))
}
