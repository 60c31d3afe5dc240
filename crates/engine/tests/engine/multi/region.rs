//! One region: an engine with its part in the mesh, and what links bring to it.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{
    AccountOutcome, AccountWriter, Clock, Durability, Engine, EngineOptions, Filling,
    PartitionLimits, Role, ScriptOptions, Seen, StoreError, StreamPiece, StreamReader,
    ThroughputMode, ThroughputOptions,
};
use orrery_model::{ConsistencyLevel, Failure};
use orrery_regions::{
    Mesh, MeshEffect, MeshMessage, MeshSettings, Millis, Progress, RegionId, Sequence, StreamId,
};
use tokio::runtime::{Builder, Runtime};

use crate::random::Random;
use crate::support::{START_SECONDS, TestClock, eventually};

/// The account stream: what each record says, the first is 1.
pub(crate) type AccountLog = Arc<Mutex<Vec<Bytes>>>;

pub(crate) struct Region {
    pub(crate) id: RegionId,
    pub(crate) engine: Arc<Engine>,
    pub(crate) mesh: Mesh,
    reader: StreamReader,
    pub(crate) clock: Arc<TestClock>,
    directory: Option<PathBuf>,
    account: AccountLog,
    millis: u64,
}

/// Brings changes into the account stream and applies them here at once.
struct Hub {
    log: AccountLog,
    engine: Weak<Engine>,
}

impl AccountWriter for Hub {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let sequence = {
                let mut log = self.log.lock().unwrap();
                log.push(data.clone());
                Sequence(log.len() as u64)
            };
            let engine = self.engine.upgrade().unwrap();
            let applied = engine.apply_account(sequence, Some(data)).await;
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
        let engine = unswept(|| Engine::open(options));
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
        let progress = engine.progress();
        let bases = reader.bases(&progress).unwrap();
        let settings = MeshSettings {
            retry_ms: 3,
            beat_ms: 1,
            ..MeshSettings::default()
        };
        engine.set_account_writer(Some(Arc::new(Hub {
            log: Arc::clone(account),
            engine: Arc::downgrade(&engine),
        })));
        Region {
            id,
            mesh: Mesh::new(id, settings, members.to_vec(), progress, bases),
            engine,
            reader,
            clock,
            directory: directory.map(Path::to_owned),
            account: Arc::clone(account),
            millis: 0,
        }
    }

    /// The region as it comes up again: after it was closed, or after it was killed.
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
        let before = engine.progress();
        if is_killed {
            drop(engine);
        } else {
            Engine::close(engine).unwrap();
        }
        let engine = Engine::open(options(id, directory.as_deref(), &clock)).unwrap();
        assert_eq!(engine.progress(), before);
        let region = Region::over(engine, members, directory.as_deref(), &account, clock);
        Region { millis, ..region }
    }

    /// A region with the state of this one.
    pub(crate) fn fill(&self, id: u8, members: &[RegionId], directory: Option<&Path>) -> Region {
        let clock = Arc::new(TestClock(AtomicU64::new(self.clock.now_seconds())));
        let mut stream = self.engine.snapshot_stream().unwrap();
        let made = || options(RegionId(id), directory, &clock);
        let mut filling: Filling = Engine::fill(&made(), stream.position()).unwrap();
        while let Some(piece) = stream.next_piece(10_000).unwrap() {
            filling.add(piece).unwrap();
        }
        let engine = Engine::over(filling.finish().unwrap(), made(), Role::Writer).unwrap();
        Region::over(engine, members, directory, &self.account, clock)
    }

    /// A copy of this region that follows it.
    pub(crate) fn follower(&self) -> Arc<Engine> {
        let made = || options(self.id, None, &self.clock);
        let mut stream = self.engine.snapshot_stream().unwrap();
        let mut filling = Engine::fill(&made(), stream.position()).unwrap();
        while let Some(piece) = stream.next_piece(10_000).unwrap() {
            filling.add(piece).unwrap();
        }
        Engine::over(filling.finish().unwrap(), made(), Role::Follower).unwrap()
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.directory.is_some()
    }

    /// Lets go of a region for good.
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

    /// The mesh hears of what was written here.
    pub(crate) fn noted(&mut self) {
        let own = StreamId::Region(self.id);
        self.mesh.applied(own, self.engine.progress().of(own));
    }

    /// Applies what the account stream has, up to a record.
    pub(crate) async fn follow_account(&mut self, upto: usize) {
        let log = self.account.lock().unwrap().clone();
        let from = self.engine.progress().of(StreamId::Account).0;
        for (at, data) in log.into_iter().enumerate().take(upto) {
            let sequence = Sequence(at as u64 + 1);
            if sequence.0 > from {
                let applied = self.engine.apply_account(sequence, Some(data)).await;
                assert_eq!(applied, Ok(AccountOutcome::Applied));
            }
            self.mesh.applied(StreamId::Account, sequence);
        }
    }

    /// Time passes; gives what is to be sent.
    pub(crate) fn tick(&mut self, random: &mut Random) -> Vec<(RegionId, MeshMessage)> {
        self.millis += 1;
        self.mesh.tick(Millis(self.millis));
        self.effects(random)
    }

    pub(crate) fn receive(
        &mut self,
        from: RegionId,
        message: MeshMessage,
        random: &mut Random,
    ) -> Vec<(RegionId, MeshMessage)> {
        self.mesh.receive(Millis(self.millis), from, message);
        self.effects(random)
    }

    fn effects(&mut self, random: &mut Random) -> Vec<(RegionId, MeshMessage)> {
        let mut messages = Vec::new();
        for effect in self.mesh.take_effects() {
            match effect {
                MeshEffect::Send { to, message } => messages.push((to, message)),
                MeshEffect::SendPage {
                    to,
                    stream,
                    after,
                    asked,
                    ..
                } => {
                    let bytes_max = usize::try_from(random.below(4_000)).unwrap();
                    let piece = self.reader.records_after(stream, after, bytes_max).unwrap();
                    let StreamPiece::Records(records) = piece else {
                        // Messages overtake each other here: whoever asked may have it by now.
                        let is_had = self.mesh.held().has(stream, after.next());
                        assert!(is_had, "{stream} after {after} is gone");
                        continue;
                    };
                    let message = MeshMessage::Page {
                        have: self.mesh.progress().clone(),
                        stream,
                        after,
                        asked,
                        records,
                    };
                    messages.push((to, message));
                }
                MeshEffect::FetchSnapshot { .. } => panic!("nothing was trimmed"),
            }
        }
        messages
    }

    /// Merges what is ready, some of it together. Gives whether there was anything.
    pub(crate) async fn merge_ready(&mut self, random: &mut Random) -> bool {
        let records = self.mesh.take_ready(1 + random.below(2_000));
        if records.is_empty() {
            return false;
        }
        let mut given = records.clone();
        if random.chance(10) {
            // What is here already is passed over.
            given.extend(records.iter().cloned());
        }
        let progress = self.engine.merge(given).await.unwrap();
        for record in records {
            assert!(progress.has(record.stream, record.sequence));
            self.mesh.applied(record.stream, record.sequence);
        }
        true
    }

    pub(crate) async fn prune(&mut self) {
        let horizon: Progress = self.mesh.horizon();
        self.engine.prune(&horizon).await.unwrap();
    }

    pub(crate) fn acknowledge(&mut self) {
        let held = self.mesh.held();
        self.reader.acknowledge(&held).unwrap();
    }

    pub(crate) fn reader(&mut self) -> &mut StreamReader {
        &mut self.reader
    }
}

/// A new engine whose sweeps nobody drives: while it is the hub, a test knows what it has done. One that comes up again
/// has work left that must be driven.
fn unswept(open: impl FnOnce() -> Result<Arc<Engine>, StoreError>) -> Arc<Engine> {
    static NOBODY: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());
    let _entered = NOBODY.enter();
    open().unwrap()
}

/// Opens a directory as some region, or as none.
pub(crate) fn open_as(id: Option<RegionId>, directory: &Path) -> Result<Arc<Engine>, StoreError> {
    let clock = Arc::new(TestClock(AtomicU64::new(START_SECONDS)));
    Engine::open(EngineOptions {
        multi_write: id,
        ..options(RegionId(0), Some(directory), &clock)
    })
}

fn options(id: RegionId, directory: Option<&Path>, clock: &Arc<TestClock>) -> EngineOptions {
    EngineOptions {
        seen: Seen::Durable,
        multi_write: Some(id),
        upkeep: orrery_engine::Upkeep::default(),
        throughput: ThroughputOptions {
            mode: ThroughputMode::default(),
            burst_capacity: false,
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
