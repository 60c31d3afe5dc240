//! The logs of this crate against the contract of `CommitLog`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_fault_disk::FaultDisk;
use orrery_log::{
    AppendError, Appended, CommitLog, CommitStatus, Durability, EncodedRecords, Error, LocalLog,
    Log, LogOptions, MemoryLog, Note, Position, RecordBatch, ReplicatedLog, Replication,
};
use orrery_log_conformance::{Random, Subject, Survivors, check};

const SEEDS: u64 = 150;
const STEPS: usize = 200;

/// A log in files on a disk with faults.
struct Local {
    disk: FaultDisk,
    durability: Durability,
}

impl Local {
    fn new(durability: Durability) -> Local {
        Local {
            disk: FaultDisk::default(),
            durability,
        }
    }

    fn log(&self) -> Log {
        let options = LogOptions {
            segment_bytes: 24 << 10,
            durability: self.durability,
            known_durable: Position::ZERO,
        };
        let disk = Arc::new(self.disk.clone());
        Log::open_on(disk, Path::new("log"), options).unwrap().0
    }
}

impl Subject for Local {
    fn open(&mut self, _: Position) -> Box<dyn CommitLog> {
        Box::new(LocalLog::new(self.log()))
    }

    fn survivors(&mut self) -> Survivors {
        let log = self.log();
        let first = log.first();
        let mut records = Vec::new();
        let read = log.replay(Position(first.0 - 1), &mut |_, record| {
            records.push(Bytes::copy_from_slice(record));
            Ok(())
        });
        read.unwrap();
        Survivors::Records(first, records)
    }

    fn disturb(&mut self, random: &mut Random) {
        self.disk.refuse_files(random.chance(30));
        let used = self.disk.used();
        let capacity = random.chance(30).then(|| used + random.below(30_000));
        self.disk.set_capacity(capacity);
        self.disk.fail_syncs(random.chance(5));
    }

    fn settle(&mut self) {
        self.disk.refuse_files(false);
        self.disk.set_capacity(None);
        self.disk.fail_syncs(false);
    }

    fn crash(&mut self, random: &mut Random) -> bool {
        self.disk = self.disk.crash(&mut Random::new(random.number()));
        true
    }
}

struct Memory;

impl Subject for Memory {
    fn open(&mut self, after: Position) -> Box<dyn CommitLog> {
        Box::new(MemoryLog::after(after))
    }

    fn survivors(&mut self) -> Survivors {
        Survivors::Nothing
    }
}

/// A local log whose records three other nodes confirm, each at its own time.
struct Replicated {
    local: Local,
    nodes: Nodes,
}

#[derive(Clone, Default)]
struct Nodes(Arc<Mutex<NodesState>>);

#[derive(Default)]
struct NodesState {
    durable: Position,
    committed: Position,
    notes: u8,
    refusal: Option<Refusal>,
}

#[derive(Clone, Copy)]
enum Refusal {
    Busy,
    NotOwner,
    Throttled,
}

impl Replication for Nodes {
    fn assign_positions(&mut self, _: Position, _: &[Bytes]) -> Result<Vec<Note>, AppendError> {
        let mut state = self.0.lock().unwrap();
        match state.refusal {
            Some(Refusal::Busy) => return Err(AppendError::Busy),
            Some(Refusal::NotOwner) => return Err(AppendError::NotOwner),
            Some(Refusal::Throttled) => return Err(AppendError::Throttled { retry_after_ms: 1 }),
            None => {}
        }
        let notes = 0..std::mem::take(&mut state.notes);
        let note = |number| Note {
            text: Bytes::from(vec![number]),
            record: Bytes::from(vec![b'n', number]),
        };
        Ok(notes.map(note).collect())
    }

    fn has_notes(&self) -> bool {
        self.0.lock().unwrap().notes > 0
    }

    fn on_durable(&mut self, upto: Position) {
        self.0.lock().unwrap().durable = upto;
    }

    fn commit_status(&mut self, upto: Position) -> CommitStatus {
        if upto <= self.0.lock().unwrap().committed {
            CommitStatus::Committed
        } else {
            CommitStatus::Pending
        }
    }

    fn on_applied(&mut self, upto: Position) {
        assert!(upto <= self.0.lock().unwrap().committed);
    }

    fn on_abandoned(&mut self) {}
}

impl Subject for Replicated {
    fn open(&mut self, after: Position) -> Box<dyn CommitLog> {
        let local = self.local.open(after);
        Box::new(ReplicatedLog::new(local, self.nodes.clone()))
    }

    fn survivors(&mut self) -> Survivors {
        self.local.survivors()
    }

    fn disturb(&mut self, random: &mut Random) {
        self.local.disturb(random);
        let mut state = self.nodes.0.lock().unwrap();
        let behind = state.durable.0 - state.committed.0;
        state.committed.0 += random.number() % (behind + 1);
        state.notes = u8::try_from(random.below(3)).unwrap();
        let refusals = [Refusal::Busy, Refusal::NotOwner, Refusal::Throttled];
        state.refusal = random.chance(30).then(|| refusals[random.below(3)]);
    }

    fn settle(&mut self) {
        self.local.settle();
        let mut state = self.nodes.0.lock().unwrap();
        state.refusal = None;
        state.committed = state.durable;
    }

    fn crash(&mut self, random: &mut Random) -> bool {
        self.local.crash(random)
    }
}

#[test]
fn local_logs_keep_the_contract() {
    for durability in [
        Durability::Sync,
        Durability::Interval(Duration::from_millis(20)),
        Durability::None,
    ] {
        for seed in 0..SEEDS {
            check(&mut Local::new(durability), seed, STEPS);
        }
    }
}

#[test]
fn a_memory_log_keeps_the_contract() {
    for seed in 0..SEEDS {
        check(&mut Memory, seed, STEPS);
    }
}

#[test]
fn a_replicated_log_keeps_the_contract() {
    for seed in 0..SEEDS {
        let mut subject = Replicated {
            local: Local::new(Durability::Sync),
            nodes: Nodes::default(),
        };
        check(&mut subject, seed, STEPS);
    }
}

/// A mistake in a log that the contract must find.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// An append answers that it has a batch of which it has written all but the last record.
    DropsARecord,
    /// The durable position is one ahead of the sync.
    CallsUnsyncedDurable,
    /// A refused batch is in the log.
    KeepsRefused,
    /// What was committed is pending later.
    TakesCommitsBack,
    /// A trim removes records after the requested position.
    TrimsTooMuch,
}

struct Mistaken {
    local: Local,
    mistake: Mistake,
}

struct MistakenLog {
    log: Box<dyn CommitLog>,
    mistake: Mistake,
    calls: usize,
}

impl MistakenLog {
    /// Whether this call is one of the mistaken ones.
    fn errs(&mut self, mistake: Mistake) -> bool {
        self.calls += 1;
        std::mem::discriminant(&self.mistake) == std::mem::discriminant(&mistake)
            && self.calls.is_multiple_of(5)
    }
}

impl CommitLog for MistakenLog {
    fn last(&self) -> Position {
        self.log.last()
    }

    fn durable(&self) -> Position {
        match self.mistake {
            Mistake::CallsUnsyncedDurable => self.log.last(),
            _ => self.log.durable(),
        }
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        self.log.reserve(bytes)
    }

    fn append(&mut self, records: &dyn RecordBatch) -> Result<Appended, AppendError> {
        if self.errs(Mistake::DropsARecord) && records.len() > 1 {
            let payloads = (0..records.len()).map(|index| records.payload(index));
            let payloads: Vec<Bytes> = payloads.collect();
            let (_, written) = payloads.split_last().unwrap();
            return self.log.append(&EncodedRecords(written));
        }
        let appended = self.log.append(records)?;
        if self.errs(Mistake::KeepsRefused) {
            return Err(AppendError::Busy);
        }
        Ok(appended)
    }

    fn append_copies(&mut self, records: &[Bytes]) -> Result<Position, Error> {
        self.log.append_copies(records)
    }

    fn commit_status(&mut self, upto: Position) -> CommitStatus {
        if self.errs(Mistake::TakesCommitsBack) {
            return CommitStatus::Pending;
        }
        self.log.commit_status(upto)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()
    }

    fn tick(&mut self, now: Instant) -> Result<Option<Duration>, Error> {
        self.log.tick(now)
    }

    fn retry_reserve(&mut self) -> Result<(), Error> {
        self.log.retry_reserve()
    }

    fn sealed(&self) -> Option<Position> {
        self.log.sealed()
    }

    fn bytes_since(&self, position: Position) -> u64 {
        self.log.bytes_since(position)
    }

    fn trim(&mut self, upto: Position) -> Result<(), Error> {
        let upto = match self.mistake {
            Mistake::TrimsTooMuch => self.log.last(),
            _ => upto,
        };
        self.log.trim(upto)
    }

    fn close(self: Box<Self>) -> Result<Position, Error> {
        self.log.close()
    }
}

impl Subject for Mistaken {
    fn open(&mut self, after: Position) -> Box<dyn CommitLog> {
        Box::new(MistakenLog {
            log: self.local.open(after),
            mistake: self.mistake,
            calls: 0,
        })
    }

    fn survivors(&mut self) -> Survivors {
        self.local.survivors()
    }

    fn settle(&mut self) {
        self.local.settle();
    }

    fn crash(&mut self, random: &mut Random) -> bool {
        self.local.crash(random)
    }
}

#[test]
fn the_contract_finds_planted_mistakes() {
    for mistake in [
        Mistake::DropsARecord,
        Mistake::CallsUnsyncedDurable,
        Mistake::KeepsRefused,
        Mistake::TakesCommitsBack,
        Mistake::TrimsTooMuch,
    ] {
        let is_found = |seed| {
            let local = Local::new(Durability::Interval(Duration::from_millis(20)));
            let run = || check(&mut Mistaken { local, mistake }, seed, STEPS);
            catch_unwind(AssertUnwindSafe(run)).is_err()
        };
        assert!((0..SEEDS).any(is_found), "{mistake:?}");
    }
}
