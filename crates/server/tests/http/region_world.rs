//! An account of several regions in memory, a server for each, and one for operators.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_account::{
    Account, AccountMode, AccountOptions, AccountReport, LinkOrder, OperatorOrder, RegionOptions,
    StalenessPolicy,
};
use orrery_model::{ConsistencyLevel, Secret};
use orrery_server::{
    AccountServer, Addition, Governor, Limits, Management, ManagementOptions, Server,
};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::support::{Client, TestClock, engine_options, options};

pub(crate) const WEST: &str = "West US";
pub(crate) const NORTH: &str = "North Europe";
pub(crate) const KEY: &str = "key-of-operators";
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

pub(crate) struct RegionWorld {
    pub(crate) account: Arc<Account>,
    pub(crate) operators: SocketAddr,
    /// Regions that operators asked for; nobody adds them here.
    pub(crate) additions: mpsc::Receiver<Addition>,
    servers: Vec<(&'static str, SocketAddr)>,
    /// Of the account as a whole.
    whole: SocketAddr,
    clock: Arc<TestClock>,
    runtime: Option<Runtime>,
}

/// West US writes; both have the database `d` and the container `c`.
pub(crate) fn start_regions(level: ConsistencyLevel) -> RegionWorld {
    start(level, None)
}

/// Both write, West US is the hub; `c` has this conflict policy.
pub(crate) fn start_multi_write(policy: &Value) -> RegionWorld {
    start(ConsistencyLevel::Session, Some(policy))
}

fn start(level: ConsistencyLevel, policy: Option<&Value>) -> RegionWorld {
    let clock = TestClock::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let inside = runtime.enter();
    let region = |name: &str| RegionOptions {
        name: name.to_owned(),
        engine: engine_options(level, &clock),
    };
    let account = Account::start(AccountOptions {
        level,
        bound: StalenessPolicy {
            versions: 1_000,
            seconds: 60,
        },
        regions: vec![region(WEST), region(NORTH)],
        mode: if policy.is_some() {
            AccountMode::EveryRegionWrites
        } else {
            AccountMode::OneRegionWrites
        },
        service_managed_failover: true,
        kept_bytes_max: None,
    });
    drop(inside);
    let account = Arc::new(account.unwrap());
    let listener = runtime.block_on(Server::reserve((Ipv4Addr::LOCALHOST, 0).into()));
    let governor = Governor::new(Limits::default());
    let whole = AccountServer::on(listener.unwrap(), None, governor.clone()).unwrap();
    let mut servers = Vec::new();
    for (region, name) in account.regions().into_iter().zip([WEST, NORTH]) {
        assert_eq!(region.name(), name);
        let options = orrery_server::ServerOptions {
            account: Arc::downgrade(&account),
            governor: governor.clone(),
            ..options(Ipv4Addr::LOCALHOST)
        };
        let server = runtime.block_on(Server::bind(Arc::clone(&region), options));
        let server = server.unwrap();
        region.set_endpoint(&format!("http://{}/", server.local_address()));
        servers.push((name, server.local_address()));
        whole.handle().add(&server);
        runtime.spawn(server.run(std::future::pending()));
    }
    let whole_address = whole.local_address();
    runtime.spawn(whole.run(std::future::pending()));
    let (sender, additions) = mpsc::channel(1);
    let management = runtime.block_on(Management::bind(ManagementOptions {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        tls: None,
        key: Secret::new(KEY.as_bytes().to_vec()),
        account: Arc::clone(&account),
        additions: sender,
        governor,
    }));
    let management = management.unwrap();
    let operators = management.local_address();
    runtime.spawn(management.run(std::future::pending()));
    let world = RegionWorld {
        account,
        operators,
        additions,
        servers,
        whole: whole_address,
        clock,
        runtime: Some(runtime),
    };
    world.fill(policy);
    world
}

impl RegionWorld {
    fn fill(&self, policy: Option<&Value>) {
        let client = self.client(WEST);
        // A create without an answer in time may have succeeded.
        let is_made = |status: u16| [201, 409].contains(&status);
        eventually(|| is_made(client.post("/dbs", r#"{"id":"d"}"#).status));
        let mut definition = json!({
            "id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}
        });
        if let Some(policy) = policy {
            definition["conflictResolutionPolicy"] = policy.clone();
            let regions = self.account.regions();
            eventually(|| regions.iter().all(|region| region.check_write().is_ok()));
        }
        let definition = definition.to_string();
        eventually(|| is_made(client.post("/dbs/d/colls", &definition).status));
        let other = self.client(NORTH);
        eventually(|| other.get("/dbs/d/colls/c").status == 200);
    }

    pub(crate) fn client(&self, region: &str) -> Client {
        Client::at(self.address(region), &self.clock)
    }

    /// Through the address of the account.
    pub(crate) fn client_of_account(&self) -> Client {
        Client::at(self.whole, &self.clock)
    }

    pub(crate) fn address(&self, region: &str) -> SocketAddr {
        let mut servers = self.servers.iter();
        let (_, address) = servers.find(|(name, _)| *name == region).unwrap();
        *address
    }

    pub(crate) fn endpoint(&self, region: &str) -> String {
        format!("http://{}/", self.address(region))
    }

    pub(crate) fn report(&self) -> AccountReport {
        self.account.report()
    }

    #[track_caller]
    pub(crate) fn order(&self, order: OperatorOrder) {
        let runtime = self.runtime.as_ref().unwrap();
        runtime.block_on(self.account.carry_out(order)).unwrap();
    }

    /// From West US to North Europe.
    pub(crate) fn link(&self, order: LinkOrder) {
        self.order(OperatorOrder::Link {
            from: WEST.to_owned(),
            to: NORTH.to_owned(),
            order,
        });
    }

    /// In both directions.
    pub(crate) fn links(&self, order: LinkOrder) {
        let any = || "*".to_owned();
        self.order(OperatorOrder::Link {
            from: any(),
            to: any(),
            order,
        });
    }

    pub(crate) fn fail_over(&self) {
        self.order(OperatorOrder::Failover {
            to: NORTH.to_owned(),
            forced: false,
            accepts_loss: false,
            offline: Vec::new(),
        });
    }
}

impl Drop for RegionWorld {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[track_caller]
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < WAIT_MAX, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
