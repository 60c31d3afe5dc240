//! One region: an engine with its share of the mesh, and the messages on its links.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{
    AccountOutcome, AccountStreamWriter, ApplyAfter, Clock, Durability, Engine, EngineOptions,
    PartitionLimits, ReplicationRole, ScriptOptions, SnapshotInstaller, StoreError, StreamRead,
    StreamReader, ThroughputMode, ThroughputOptions,
};
use orrery_model::{ConsistencyLevel, Failure};
use orrery_regions::{
    Millis, MultiWriteEffect, MultiWriteMessage, MultiWriteReplica, MultiWriteSettings, RegionId,
    Sequence, StreamId, VersionVector,
};

use crate::random::Random;
use crate::support::{START_SECONDS, TestClock, eventually};

/// The records of the account stream; their sequence starts at 1.
pub(crate) type AccountLog = Arc<Mutex<Vec<Bytes>>>;

pub(crate) struct Region {
    pub(crate) id: RegionId,
    pub(crate) engine: Arc<Engine>,
    pub(crate) mesh: MultiWriteReplica,
    reader: StreamReader,
    pub(crate) clock: Arc<TestClock>,
    directory: Option<PathBuf>,
    account: AccountLog,
    millis: u64,
}

/// Appends changes to the account stream and applies them to this engine at once.
struct Hub {
    log: AccountLog,
    engine: Weak<Engine>,
}

impl AccountStreamWriter for Hub {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let sequence = {
                let mut log = self.log.lock().unwrap();
                log.push(data.clone());
                Sequence(log.len() as u64)
            };
            let engine = self.engine.upgrade().unwrap();
            let applied = engine.apply_account_record(sequence, Some(data)).await;
            assert_eq!(applied, Ok(AccountOutcome::Applied));
            Ok(())
        })
    }
}

impl Region {
    pub(crate) fn open(
        id: u8,
        members: &[RegionId],
        directory: Option<&Path>,
        account: &AccountLog,
    ) -> Region {
        let clock = TestClock(AtomicU64::new(START_SECONDS + u64::from(id)));
        let clock = Arc::new(clock);
        let options = options(RegionId(id), directory, &clock);
        let engine = Engine::open(options).unwrap();
        Region::over(engine, members, directory, account, clock)
    }

    fn over(
        engine: Arc<Engine>,
        members: &[RegionId],
        directory: Option<&Path>,
        account: &AccountLog,
        clock: Arc<TestClock>,
    ) -> Region {
        let id = engine.region().unwrap();
        let mut reader = engine.stream_reader(u64::MAX).unwrap();
        let progress = engine.version_vector();
        let bases = reader.bases(&progress).unwrap();
        let settings = MultiWriteSettings {
            retry_ms: 3,
            heartbeat_ms: 1,
            ..MultiWriteSettings::default()
        };
        engine.set_account_writer(Some(Arc::new(Hub {
            log: Arc::clone(account),
            engine: Arc::downgrade(&engine),
        })));
        Region {
            id,
            mesh: MultiWriteReplica::new(id, settings, members.to_vec(), progress, bases),
            engine,
            reader,
            clock,
            directory: directory.map(Path::to_owned),
            account: Arc::clone(account),
            millis: 0,
        }
    }

    /// Restarts the region after a close or a kill.
    pub(crate) async fn restart(self, members: &[RegionId], is_killed: bool) -> Region {
        let Region {
            id,
            engine,
            reader,
            clock,
            directory,
            account,
            millis,
            ..
        } = self;
        drop(reader);
        eventually("background work lets go of the engine", || {
            Arc::strong_count(&engine) == 1
        })
        .await;
        let before = engine.version_vector();
        if is_killed {
            drop(engine);
        } else {
            Engine::close(engine).unwrap();
        }
        let engine = Engine::open(options(id, directory.as_deref(), &clock)).unwrap();
        assert_eq!(engine.version_vector(), before);
        let region = Region::over(engine, members, directory.as_deref(), &account, clock);
        Region { millis, ..region }
    }

    /// Creates a region from a snapshot of this region.
    pub(crate) fn fill(&self, id: u8, members: &[RegionId], directory: Option<&Path>) -> Region {
        let clock = Arc::new(TestClock(AtomicU64::new(self.clock.now_seconds())));
        let mut stream = self.engine.snapshot_stream().unwrap();
        let made = || options(RegionId(id), directory, &clock);
        let mut filling: SnapshotInstaller =
            Engine::install_snapshot(&made(), stream.position()).unwrap();
        while let Some(piece) = stream.next_chunk(10_000).unwrap() {
            filling.add(piece).unwrap();
        }
        let engine =
            Engine::with_store(filling.finish().unwrap(), made(), ReplicationRole::Writer).unwrap();
        Region::over(engine, members, directory, &self.account, clock)
    }

    /// A follower of this region, made from a snapshot.
    pub(crate) fn follower(&self) -> Arc<Engine> {
        let made = || options(self.id, None, &self.clock);
        let mut stream = self.engine.snapshot_stream().unwrap();
        let mut filling = Engine::install_snapshot(&made(), stream.position()).unwrap();
        while let Some(piece) = stream.next_chunk(10_000).unwrap() {
            filling.add(piece).unwrap();
        }
        Engine::with_store(filling.finish().unwrap(), made(), ReplicationRole::Follower).unwrap()
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.directory.is_some()
    }

    /// Closes a region for good.
    pub(crate) async fn close(self) {
        drop(self.reader);
        let engine = self.engine;
        eventually("background work lets go of the engine", || {
            Arc::strong_count(&engine) == 1
        })
        .await;
        Engine::close(engine).unwrap();
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Reports local writes to the mesh.
    pub(crate) fn noted(&mut self) {
        let own = StreamId::Region(self.id);
        self.mesh.applied(own, self.engine.version_vector().of(own));
    }

    /// Applies the records of the account stream up to a position.
    pub(crate) async fn follow_account(&mut self, upto: usize) {
        let log = self.account.lock().unwrap().clone();
        let from = self.engine.version_vector().of(StreamId::Account).0;
        for (at, data) in log.into_iter().enumerate().take(upto) {
            let sequence = Sequence(at as u64 + 1);
            if sequence.0 > from {
                let applied = self.engine.apply_account_record(sequence, Some(data)).await;
                assert_eq!(applied, Ok(AccountOutcome::Applied));
            }
            self.mesh.applied(StreamId::Account, sequence);
        }
    }

    /// Advances the time and returns the messages to send.
    pub(crate) fn tick(&mut self, random: &mut Random) -> Vec<(RegionId, MultiWriteMessage)> {
        self.millis += 1;
        self.mesh.tick(Millis(self.millis));
        self.effects(random)
    }

    pub(crate) fn receive(
        &mut self,
        from: RegionId,
        message: MultiWriteMessage,
        random: &mut Random,
    ) -> Vec<(RegionId, MultiWriteMessage)> {
        self.mesh.receive(Millis(self.millis), from, message);
        self.effects(random)
    }

    fn effects(&mut self, random: &mut Random) -> Vec<(RegionId, MultiWriteMessage)> {
        let mut messages = Vec::new();
        for effect in self.mesh.take_effects() {
            match effect {
                MultiWriteEffect::Send { to, message } => messages.push((to, message)),
                MultiWriteEffect::SendPage {
                    to,
                    stream,
                    after,
                    asked,
                    ..
                } => {
                    let bytes_max = usize::try_from(random.below(4_000)).unwrap();
                    let piece = self.reader.records_after(stream, after, bytes_max).unwrap();
                    let StreamRead::Records(records) = piece else {
                        // Messages overtake each other, so the asking region may already have these
                        // records.
                        let is_had = self.mesh.stable_prefix().includes(stream, after.next());
                        assert!(is_had, "{stream} after {after} is gone");
                        continue;
                    };
                    let message = MultiWriteMessage::Page {
                        have: self.mesh.progress().clone(),
                        stream,
                        after,
                        asked,
                        records,
                    };
                    messages.push((to, message));
                }
                MultiWriteEffect::FetchSnapshot { .. } => panic!("nothing was trimmed"),
            }
        }
        messages
    }

    /// Merges the ready records, some of them in one call. Returns whether any record was ready.
    pub(crate) async fn merge_ready(&mut self, random: &mut Random) -> bool {
        let records = self.mesh.take_ready(1 + random.below(2_000));
        if records.is_empty() {
            return false;
        }
        let mut given = records.clone();
        if random.chance(10) {
            // The engine skips records that it has already applied.
            given.extend(records.iter().cloned());
        }
        let progress = self.engine.merge_records(given).await.unwrap();
        for record in records {
            assert!(progress.includes(record.stream, record.sequence));
            self.mesh.applied(record.stream, record.sequence);
        }
        true
    }

    pub(crate) async fn prune(&mut self) {
        let horizon: VersionVector = self.mesh.horizon();
        self.engine.prune(&horizon).await.unwrap();
    }

    pub(crate) fn acknowledge(&mut self) {
        let held = self.mesh.stable_prefix();
        self.reader.acknowledge(&held).unwrap();
    }

    pub(crate) fn reader(&mut self) -> &mut StreamReader {
        &mut self.reader
    }
}

/// Opens a directory as a region, or as an account without regions.
pub(crate) fn open_as(id: Option<RegionId>, directory: &Path) -> Result<Arc<Engine>, StoreError> {
    let clock = Arc::new(TestClock(AtomicU64::new(START_SECONDS)));
    Engine::open(EngineOptions {
        multi_write: id,
        ..options(RegionId(0), Some(directory), &clock)
    })
}

fn options(id: RegionId, directory: Option<&Path>, clock: &Arc<TestClock>) -> EngineOptions {
    EngineOptions {
        apply_after: ApplyAfter::Durable,
        multi_write: Some(id),
        sweeps: false,
        maintenance: orrery_engine::MaintenanceOptions::default(),
        throughput: ThroughputOptions {
            mode: ThroughputMode::default(),
            burst_capacity: false,
            bulk_patience: Duration::ZERO,
        },
        directory: directory.map(Path::to_owned),
        durability: match directory {
            Some(_) => Durability::Sync,
            None => Durability::None,
        },
        cache_bytes: 4 << 20,
        consistency: ConsistencyLevel::Session,
        partitions: PartitionLimits::default(),
        scripts: ScriptOptions {
            wall_time: Duration::from_secs(20),
            ..ScriptOptions::default()
        },
        clock: Arc::clone(clock) as Arc<dyn Clock>,
    }
}
