//! An account of several regions in this process, and short ways to say what to do with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_account::{
    Account, AccountOptions, Bound, LinkOrder, Order, Peers, Region, RegionOptions,
};
use orrery_engine::{
    Container, Durability, EngineOptions, NewContainer, PartitionLimits, ScriptOptions,
    SystemClock, ThroughputMode, ThroughputOptions,
};
use orrery_json::parse;
use orrery_keys::PartitionKey;
use orrery_model::{
    ConsistencyLevel, ContainerAddress, ContainerDefinition, DatabaseAddress, Document, Failure,
    Operation, OperationKind, Throughput,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct World {
    pub(crate) account: Account,
    directory: Option<PathBuf>,
    level: ConsistencyLevel,
    names: Vec<&'static str>,
    multi_write: bool,
}

impl World {
    pub(crate) fn in_memory(level: ConsistencyLevel, names: &[&'static str]) -> World {
        World::open(None, level, names)
    }

    /// Every region writes.
    pub(crate) fn multi(directory: Option<&Path>, names: &[&'static str]) -> World {
        World::start(directory, ConsistencyLevel::Session, names, true)
    }

    pub(crate) fn open(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
    ) -> World {
        World::start(directory, level, names, false)
    }

    fn start(
        directory: Option<&Path>,
        level: ConsistencyLevel,
        names: &[&'static str],
        multi_write: bool,
    ) -> World {
        let regions = names
            .iter()
            .map(|name| region_options(directory, name, level));
        let options = account_options(level, regions.collect(), multi_write);
        World {
            account: Account::start(options).unwrap(),
            directory: directory.map(Path::to_owned),
            level,
            names: names.to_vec(),
            multi_write,
        }
    }

    /// The part of an account that one process has of several.
    pub(crate) async fn among(directory: &Path, name: &'static str, peers: Peers) -> World {
        let level = ConsistencyLevel::Session;
        let region = region_options(Some(directory), name, level);
        let options = account_options(level, vec![region], false);
        World {
            account: Account::start_among(options, peers).await.unwrap(),
            directory: Some(directory.to_owned()),
            level,
            names: vec![name],
            multi_write: false,
        }
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
        let region = self.region(region);
        eventually("the region writes", || region.check_write().is_ok()).await;
        let engine = region.engine();
        patiently(|| engine.create_database("d", None)).await;
        let definition = parse(br#"{"id":"c","partitionKey":{"paths":["/p"]}}"#).unwrap();
        let definition = ContainerDefinition::parse(&definition).unwrap();
        patiently(|| {
            let new = NewContainer {
                definition: definition.clone(),
                throughput: Some(Throughput::Manual(400)),
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
        let region = self.region(region);
        region.check_write()?;
        let engine = region.engine();
        let container = container(&region).ok_or(Failure::OWNER_NOT_FOUND)?;
        let text = format!(r#"{{"id":"{id}","p":"{id}","n":{number}}}"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        let operation = Operation::new(OperationKind::Upsert(document));
        let written = engine.write_item(&container, key(id), operation, self.level);
        written.await.result.map(drop)
    }

    /// Writes, again and again if need be.
    pub(crate) async fn write_patiently(&self, region: &str, id: &str, number: u64) {
        let begun = Instant::now();
        while let Err(failure) = self.write(region, id, number).await {
            assert!(begun.elapsed() < PATIENCE, "{failure}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The number of an item as a region sees it now, without a look at consistency.
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

    pub(crate) async fn sees(&self, region: &str, id: &str, number: u64) {
        let what = format!("{region} sees {id} = {number}");
        eventually(&what, || self.peek(region, id) == Some(number)).await;
    }

    pub(crate) async fn order(&self, order: Order) {
        self.account.carry_out(order).await.unwrap();
    }

    pub(crate) async fn fail_over(&self, to: &str) {
        let order = Order::Failover {
            to: to.to_owned(),
            forced: false,
            accepts_loss: false,
            offline: Vec::new(),
        };
        self.order(order).await;
    }

    pub(crate) async fn link(&self, from: &str, to: &str, order: LinkOrder) {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.order(Order::Link { from, to, order }).await;
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
            multi_write,
        } = self;
        end(account).await;
        World::start(directory.as_deref(), level, &names, multi_write)
    }
}

/// Closes an account whose tasks have let go of it.
pub(crate) async fn end(account: Account) {
    account.stop();
    let begun = Instant::now();
    while !account.is_alone() {
        assert!(begun.elapsed() < PATIENCE, "tasks go on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    account.close().unwrap();
}

fn account_options(
    level: ConsistencyLevel,
    regions: Vec<RegionOptions>,
    multi_write: bool,
) -> AccountOptions {
    AccountOptions {
        level,
        bound: Bound {
            versions: 20,
            seconds: 5,
        },
        regions,
        multi_write,
        service_managed_failover: true,
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
            holds_back: false,
            multi_write: None,
            consistency: level,
            partitions: PartitionLimits::default(),
            scripts: ScriptOptions::default(),
            throughput: ThroughputOptions {
                mode: ThroughputMode::Off,
                burst_capacity: false,
            },
            clock: Arc::new(SystemClock),
        },
    }
}

fn container(region: &Region) -> Option<Arc<Container>> {
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

/// Until it works: a region that has just begun may not be able to.
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
