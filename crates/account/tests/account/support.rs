//! An account of several regions in this process, and shorthands for orders and requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_account::{
    Account, AccountMode, AccountOptions, LinkOrder, OperatorOrder, PeerOptions, Region,
    RegionOptions, StalenessPolicy, StartError,
};
use orrery_engine::{
    ApplyAfter, Container, Durability, EngineOptions, FeedRequest, FeedScope, KeyAccess,
    NewContainer, PartitionLimits, Position, ScriptOptions, SubscriptionRead, SystemClock,
    ThroughputMode, ThroughputOptions,
};
use orrery_json::{Number, parse};
use orrery_keys::PartitionKey;
use orrery_model::{
    ConsistencyLevel, ContainerAddress, ContainerDefinition, DatabaseAddress, Document, Failure,
    JsonPointer, Operation, OperationKind, Patch, PatchAction, PatchOperation, Throughput,
};
use tokio::task::JoinHandle;

/// A timeout for operations that take milliseconds, on a machine that may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Of staleness where it is bounded.
const BOUND_SECONDS: u64 = 5;

/// What to do with an item.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Create,
    Upsert,
    Replace,
    Delete,
}

pub(crate) struct World {
    pub(crate) account: Account,
    directory: Option<PathBuf>,
    level: ConsistencyLevel,
    names: Vec<&'static str>,
    plan: Plan,
}

#[derive(Clone, Copy)]
struct Plan {
    writes: Writes,
    kept_bytes_max: Option<u64>,
    bound_seconds: u64,
}

/// Which regions take writes. Without automatic failover only operators change the write region:
/// the regions of a machine that pauses for some seconds are silent to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    One,
    /// Another region is promoted when the write region is silent.
    OneManaged,
    Every,
    /// The hub is replaced when it is silent.
    EveryManaged,
    /// One of each partition.
    PerPartition,
    /// The same, and partitions that are down or silent move without an order.
    PerPartitionManaged,
}

impl From<Writes> for Plan {
    fn from(writes: Writes) -> Plan {
        Plan {
            writes,
            kept_bytes_max: None,
            bound_seconds: BOUND_SECONDS,
        }
    }
}

impl World {
    pub(crate) fn in_memory(level: ConsistencyLevel, names: &[&'static str]) -> World {
        World::open(None, level, names)
    }

    /// Every region writes.
    pub(crate) fn multi(directory: Option<&Path>, names: &[&'static str]) -> World {
        World::multi_at(directory, ConsistencyLevel::Session, names)
    }

    pub(crate) fn multi_at(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
    ) -> World {
        World::start(directory, level, names, Writes::Every.into())
    }

    /// A multi-write account that retains few records for disconnected regions.
    pub(crate) fn forgetful(
        directory: Option<&Path>,
        names: &[&'static str],
        kept_bytes_max: u64,
    ) -> World {
        let plan = Plan {
            kept_bytes_max: Some(kept_bytes_max),
            ..Plan::from(Writes::Every)
        };
        World::start(directory, ConsistencyLevel::Session, names, plan)
    }

    /// The same of an account in memory in which one region writes.
    pub(crate) fn forgetful_with_one_writer(names: &[&'static str], kept_bytes_max: u64) -> World {
        let plan = Plan {
            kept_bytes_max: Some(kept_bytes_max),
            ..Plan::from(Writes::One)
        };
        World::start(None, ConsistencyLevel::Session, names, plan)
    }

    /// Staleness is bounded by versions, and by a time that no test reaches.
    pub(crate) fn bounded_by_versions(names: &[&'static str], writes: Writes) -> World {
        let plan = Plan {
            bound_seconds: 3_600,
            ..Plan::from(writes)
        };
        World::start(None, ConsistencyLevel::BoundedStaleness, names, plan)
    }

    pub(crate) fn with_writes(
        directory: Option<&Path>,
        names: &[&'static str],
        writes: Writes,
    ) -> World {
        World::start(directory, ConsistencyLevel::Session, names, writes.into())
    }

    pub(crate) fn open(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
    ) -> World {
        World::start(directory, level, names, Writes::One.into())
    }

    /// The others replace the write region by themselves.
    pub(crate) fn managed(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
    ) -> World {
        World::start(directory, level, names, Writes::OneManaged.into())
    }

    fn start(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
        plan: Plan,
    ) -> World {
        let regions = names
            .iter()
            .map(|name| region_options(directory, name, level));
        let options = account_options(level, regions.collect(), plan);
        World {
            account: Account::start(options).unwrap(),
            directory: directory.map(Path::to_owned),
            level,
            names: names.to_vec(),
            plan,
        }
    }

    /// The part of an account that one process has of several.
    pub(crate) async fn among(
        directory: &Path,
        name: &'static str,
        peers: PeerOptions,
        writes: Writes,
        kept_bytes_max: Option<u64>,
    ) -> World {
        let started = World::try_among(directory, name, peers, writes, kept_bytes_max).await;
        started.unwrap()
    }

    pub(crate) async fn try_among(
        directory: &Path,
        name: &'static str,
        peers: PeerOptions,
        writes: Writes,
        kept_bytes_max: Option<u64>,
    ) -> Result<World, StartError> {
        let region = region_options(Some(directory), name, ConsistencyLevel::Session);
        let plan = Plan {
            kept_bytes_max,
            ..Plan::from(writes)
        };
        World::with_region(directory, name, region, peers, plan).await
    }

    /// One whose log has lost records that were durable, and whose operator accepts that.
    pub(crate) async fn among_after_loss(
        directory: &Path,
        name: &'static str,
        peers: PeerOptions,
    ) -> World {
        let mut region = region_options(Some(directory), name, ConsistencyLevel::Session);
        region.engine.maintenance.accept_loss = true;
        let plan = Plan::from(Writes::One);
        let started = World::with_region(directory, name, region, peers, plan).await;
        started.unwrap()
    }

    async fn with_region(
        directory: &Path,
        name: &'static str,
        region: RegionOptions,
        peers: PeerOptions,
        plan: Plan,
    ) -> Result<World, StartError> {
        let level = ConsistencyLevel::Session;
        let options = account_options(level, vec![region], plan);
        Ok(World {
            account: Account::start_among(options, peers).await?,
            directory: Some(directory.to_owned()),
            level,
            names: vec![name],
            plan,
        })
    }

    pub(crate) fn region(&self, name: &str) -> Arc<Region> {
        let mut regions = self.account.regions().into_iter();
        regions.find(|region| region.name() == name).unwrap()
    }

    pub(crate) fn options(&self, name: &'static str) -> RegionOptions {
        region_options(self.directory.as_deref(), name, self.level)
    }

    /// Creates database and container where writes are taken.
    pub(crate) async fn create_container(&self, region: &str) {
        self.create_container_with(region, 400).await;
    }

    /// More throughput is more partitions.
    pub(crate) async fn create_container_with(&self, region: &str, throughput: u32) {
        let region = self.region(region);
        eventually("the region writes", || region.check_write().is_ok()).await;
        let engine = region.engine();
        patiently(|| engine.create_database("d", None)).await;
        let definition = parse(br#"{"id":"c","partitionKey":{"paths":["/p"]}}"#).unwrap();
        let definition = ContainerDefinition::parse(&definition).unwrap();
        patiently(|| {
            let new = NewContainer {
                definition: definition.clone(),
                throughput: Some(Throughput::Manual(throughput)),
            };
            engine.create_container(DatabaseAddress::Name("d"), new)
        })
        .await;
    }

    pub(crate) fn has_container(&self, region: &str) -> bool {
        container(&self.region(region)).is_some()
    }

    /// Writes an item with a number in a region, as a request does.
    pub(crate) async fn write(&self, region: &str, id: &str, number: u64) -> Result<(), Failure> {
        self.write_large(region, id, number, 0).await
    }

    /// The same with a body of `bytes` bytes of text.
    pub(crate) async fn write_large(
        &self,
        region: &str,
        id: &str,
        number: u64,
        bytes: usize,
    ) -> Result<(), Failure> {
        let region = self.region(region);
        region.check_write()?;
        let engine = region.engine();
        let container = container(&region).ok_or(Failure::OWNER_NOT_FOUND)?;
        let text = match "x".repeat(bytes) {
            filling if bytes > 0 => {
                format!(r#"{{"id":"{id}","p":"{id}","n":{number},"x":"{filling}"}}"#)
            }
            _ => format!(r#"{{"id":"{id}","p":"{id}","n":{number}}}"#),
        };
        let document = Document::parse(text.as_bytes()).unwrap();
        let operation = Operation::new(OperationKind::Upsert(document));
        let written = engine.write_item(&container, key(id), operation, self.level);
        written.await.result.map(drop)
    }

    /// Adds one to the number of an item.
    pub(crate) async fn increment(&self, region: &str, id: &str) -> Result<(), Failure> {
        let region = self.region(region);
        region.check_write()?;
        let container = container(&region).ok_or(Failure::OWNER_NOT_FOUND)?;
        let increment = PatchOperation {
            path: JsonPointer::parse("/n").unwrap(),
            action: PatchAction::Increment(Number::Int(1)),
        };
        let patch = Patch {
            operations: vec![increment],
            condition: None,
        };
        let id = id.to_owned();
        let (key, operation) = (key(&id), Operation::new(OperationKind::Patch { id, patch }));
        let engine = region.engine();
        let written = engine.write_item(&container, key, operation, self.level);
        written.await.result.map(drop)
    }

    /// Begins a write without waiting for it; the task returns the LSN. The store receives the
    /// write before writes that begin later.
    pub(crate) fn begin(
        &self,
        region: &str,
        id: &'static str,
        kind: Kind,
        number: u64,
    ) -> JoinHandle<Result<u64, Failure>> {
        let region = self.region(region);
        let level = self.level;
        let mut write = Box::pin(async move {
            let engine = region.engine();
            let container = container(&region).ok_or(Failure::OWNER_NOT_FOUND)?;
            drop(region);
            let text = format!(r#"{{"id":"{id}","p":"{id}","n":{number}}}"#);
            let document = Document::parse(text.as_bytes()).unwrap();
            let (partition, id) = (key(id), id.to_owned());
            let operation = Operation::new(match kind {
                Kind::Create => OperationKind::Create(document),
                Kind::Upsert => OperationKind::Upsert(document),
                Kind::Replace => OperationKind::Replace { id, document },
                Kind::Delete => OperationKind::Delete { id },
            });
            let written = engine.write_item(&container, partition, operation, level);
            let answer = written.await;
            let lsn = answer.partition_lsn.map_or(0, |stamp| stamp.lsn.0);
            answer.result.map(|_| lsn)
        });
        let mut context = Context::from_waker(Waker::noop());
        match write.as_mut().poll(&mut context) {
            Poll::Ready(answer) => tokio::spawn(std::future::ready(answer)),
            Poll::Pending => tokio::spawn(write),
        }
    }

    /// Repeats a write until it succeeds.
    pub(crate) async fn write_patiently(&self, region: &str, id: &str, number: u64) {
        let begun = Instant::now();
        while let Err(failure) = self.write(region, id, number).await {
            assert!(begun.elapsed() < PATIENCE, "{failure}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The number of an item in a region's current state, without any consistency check.
    pub(crate) fn peek(&self, region: &str, id: &str) -> Option<u64> {
        let region = self.region(region);
        let container = container(&region)?;
        let engine = region.engine();
        let answer = engine.read_item(&container, &key(id), id, None, ConsistencyLevel::Eventual);
        let body = answer.result.ok()?.body?;
        let text = String::from_utf8(body.to_vec()).unwrap();
        let (_, rest) = text.split_once(r#""n":"#)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }

    /// Reads at a level, as a request does.
    pub(crate) async fn read(
        &self,
        region: &str,
        id: &str,
        level: ConsistencyLevel,
    ) -> Result<Option<u64>, Failure> {
        self.region(region).check_read(level).await?;
        Ok(self.peek(region, id))
    }

    /// The same, repeated until it succeeds: a region that was silent may refuse reads for a
    /// moment.
    pub(crate) async fn read_patiently(
        &self,
        region: &str,
        id: &str,
        level: ConsistencyLevel,
    ) -> Option<u64> {
        let begun = Instant::now();
        loop {
            match self.read(region, id, level).await {
                Ok(seen) => return seen,
                Err(failure) => assert!(begun.elapsed() < PATIENCE, "{region}: {failure}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Records in the log of a region.
    pub(crate) fn kept(&self, region: &str) -> u64 {
        let regions = self.account.report().regions.into_iter();
        let mut regions = regions.filter(|report| report.name == region);
        regions.next().unwrap().appended.unwrap()
    }

    pub(crate) async fn sees(&self, region: &str, id: &str, number: u64) {
        let what = format!("{region} sees {id} = {number}");
        eventually(&what, || self.peek(region, id) == Some(number)).await;
    }

    /// The id of the partition of an item.
    pub(crate) fn range_of(&self, region: &str, id: &str) -> u32 {
        let container = container(&self.region(region)).unwrap();
        let logical = container.logical_partition(&key(id));
        container.partition_of(&logical).id.0
    }

    /// Whether a region refuses the writes of an item at once.
    pub(crate) fn is_closed(&self, region: &str, id: &str) -> bool {
        let region = self.region(region);
        let container = container(&region).unwrap();
        let access = region.engine().access_of(&container, &key(id));
        access == KeyAccess::Closed
    }

    /// The versions that lost, as a region lists them.
    pub(crate) fn conflicts(&self, region: &str) -> Vec<String> {
        let region = self.region(region);
        let container = container(&region).unwrap();
        let engine = region.engine();
        let page = engine.conflicts(&container, &FeedScope::Container, 100, None);
        let conflicts = page.unwrap().conflicts.into_iter();
        let text = |content: Bytes| String::from_utf8(content.to_vec()).unwrap();
        conflicts.map(|conflict| text(conflict.content)).collect()
    }

    pub(crate) async fn order(&self, order: OperatorOrder) {
        self.account.carry_out(order).await.unwrap();
    }

    pub(crate) async fn fail_over(&self, to: &str) {
        let order = OperatorOrder::Failover {
            to: to.to_owned(),
            forced: false,
            accepts_loss: false,
            offline: Vec::new(),
        };
        self.order(order).await;
    }

    pub(crate) async fn link(&self, from: &str, to: &str, order: LinkOrder) {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.order(OperatorOrder::Link { from, to, order }).await;
    }

    /// Cuts the links of a region in both directions.
    pub(crate) async fn isolate(&self, region: &str) {
        self.link(region, "*", LinkOrder::Cut).await;
        self.link("*", region, LinkOrder::Cut).await;
    }

    pub(crate) async fn connect(&self, region: &str) {
        self.link(region, "*", LinkOrder::Resume).await;
        self.link("*", region, LinkOrder::Resume).await;
    }

    pub(crate) fn writer(&self) -> Option<String> {
        self.account.report().write_region
    }

    /// Ends the account and opens it again.
    pub(crate) async fn reopen(self) -> World {
        let World {
            account,
            directory,
            level,
            names,
            plan,
        } = self;
        end(account).await;
        World::start(directory.as_deref(), level, &names, plan)
    }

    /// Waits until a region takes writes into the container.
    pub(crate) async fn writes(&self, region: &str) {
        let what = format!("{region} writes");
        eventually(&what, || {
            self.region(region).check_write().is_ok() && self.has_container(region)
        })
        .await;
    }

    /// Waits until all have applied the same of every stream, and compares everything that they show.
    pub(crate) async fn is_the_same_everywhere(&self, regions: &[&str]) {
        let progress = |region: &&str| self.region(region).engine().version_vector();
        eventually("all have applied the same", || {
            let mut all = regions.iter().map(progress);
            let first = all.next();
            all.all(|other| Some(other) == first)
        })
        .await;
        let mut shown = Vec::new();
        for region in regions {
            shown.push(self.items(region).await);
        }
        assert!(shown.windows(2).all(|two| two[0] == two[1]), "{shown:#?}");
    }

    /// All items of a region, as text.
    pub(crate) async fn items(&self, region: &str) -> Vec<String> {
        let region = self.region(region);
        let container = container(&region).unwrap();
        let mut items = Vec::new();
        let mut continuation = None;
        loop {
            let request = FeedRequest {
                scope: FeedScope::Container,
                query: None,
                items_max: 1_000,
                continuation,
                continuation_bytes_max: None,
                budget: self.level.into(),
                wants_report: false,
                without_index: false,
                enable_scan: false,
            };
            let page = region.engine().feed(&container, request).await;
            let page = page.result.unwrap();
            let texts = page.items.iter();
            items.extend(texts.map(|item| String::from_utf8(item.to_vec()).unwrap()));
            continuation = page.continuation;
            if continuation.is_none() {
                return items;
            }
        }
    }
}

/// Closes an account after its tasks have ended.
pub(crate) async fn end(account: Account) {
    account.stop();
    let begun = Instant::now();
    while !account.is_alone() {
        assert!(begun.elapsed() < PATIENCE, "tasks go on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    account.close().unwrap();
}

/// Writes until the logs do not have what was written first: regions that are away must be copied.
pub(crate) async fn outrun(world: &World, regions: &[&str], name: &str, bytes: usize) {
    let mut firsts = Vec::new();
    for region in regions {
        firsts.push(world.region(region).engine().applied());
    }
    let has_forgotten = |region: &str, first: Position| {
        let mut log = world.region(region).engine().subscribe(first, 0);
        matches!(log.records_after(first, 1), Ok(SubscriptionRead::Trimmed))
    };
    let begun = Instant::now();
    let forget = || {
        let mut regions = regions.iter().zip(&firsts);
        regions.all(|(region, first)| has_forgotten(region, *first))
    };
    while !forget() {
        assert!(begun.elapsed() < PATIENCE, "nothing is forgotten");
        for region in regions {
            let id = format!("{region}-{name}-filling");
            patiently(|| world.write_large(region, &id, 0, bytes)).await;
        }
    }
    for number in 0..50 {
        for region in regions {
            let id = format!("{region}-{name}-{number}");
            world.write_patiently(region, &id, number).await;
        }
    }
}

fn account_options(
    level: ConsistencyLevel,
    regions: Vec<RegionOptions>,
    plan: Plan,
) -> AccountOptions {
    let (mode, managed) = match plan.writes {
        Writes::One => (AccountMode::OneRegionWrites, false),
        Writes::OneManaged => (AccountMode::OneRegionWrites, true),
        Writes::Every => (AccountMode::EveryRegionWrites, false),
        Writes::EveryManaged => (AccountMode::EveryRegionWrites, true),
        Writes::PerPartition => (AccountMode::ByOwner, false),
        Writes::PerPartitionManaged => (AccountMode::ByOwner, true),
    };
    AccountOptions {
        level,
        bound: StalenessPolicy {
            versions: 20,
            seconds: plan.bound_seconds,
        },
        regions,
        mode,
        service_managed_failover: managed,
        kept_bytes_max: plan.kept_bytes_max,
    }
}

fn region_options(directory: Option<&Path>, name: &str, level: ConsistencyLevel) -> RegionOptions {
    let durability = if directory.is_some() {
        Durability::Sync
    } else {
        Durability::None
    };
    RegionOptions {
        name: name.to_owned(),
        engine: EngineOptions {
            directory: directory.map(|path| path.join(name)),
            durability,
            cache_bytes: 4 << 20,
            apply_after: ApplyAfter::Durable,
            multi_write: None,
            sweeps: true,
            maintenance: orrery_engine::MaintenanceOptions::default(),
            consistency: level,
            partitions: PartitionLimits::default(),
            scripts: ScriptOptions::default(),
            throughput: ThroughputOptions {
                mode: ThroughputMode::Off,
                burst_capacity: false,
                bulk_patience: Duration::ZERO,
            },
            clock: Arc::new(SystemClock),
        },
    }
}

pub(crate) fn container(region: &Region) -> Option<Arc<Container>> {
    let catalogue = region.engine().catalogue();
    let address = ContainerAddress::Name {
        database: "d",
        container: "c",
    };
    let (_, entry) = catalogue.container(address).ok()?;
    Some(Arc::clone(&entry.container))
}

pub(crate) fn key(text: &str) -> PartitionKey {
    PartitionKey::parse_header(&format!(r#"["{text}"]"#)).unwrap()
}

pub(crate) async fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Repeats an operation until it succeeds: a region that has just begun may refuse it.
async fn patiently<T, F: Future<Output = Result<T, Failure>>>(mut attempt: impl FnMut() -> F) -> T {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(result) => return result,
            Err(failure) => assert!(begun.elapsed() < PATIENCE, "{failure}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The directory of a name, however deep.
pub(crate) fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let mut directories = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir());
    directories.find_map(|path| {
        let is_it = path.file_name().is_some_and(|found| found == name);
        if is_it { Some(path) } else { find(&path, name) }
    })
}
