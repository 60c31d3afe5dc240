//! A real server on a port of its own, with a clock that stands still, and a client that speaks
//! plain HTTP/1.1 and signs what it sends.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use orrery_account::{Region, StalenessPolicy};
use orrery_engine::{
    ApplyAfter, Clock, Durability, Engine, EngineOptions, ScriptOptions, ThroughputMode,
    ThroughputOptions,
};
use orrery_model::{AccountKeyRole, AccountKeys, ConsistencyLevel, Secret};
use orrery_server::{
    Governor, Limits, QueryPlans, Server, ServerHandle, ServerOptions, TlsIdentity, TlsMaterial,
    self_signed,
};
use orrery_wire::HttpDate;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) use crate::connection::{Connection, Response};
use crate::signature::authorization;

pub(crate) const START_SECONDS: u64 = 1_800_000_000;
pub(crate) const PRIMARY: &[u8] = b"the primary key";
pub(crate) const SECONDARY: &[u8] = b"the secondary key";
pub(crate) const READ_ONLY: &[u8] = b"the read-only key";

pub(crate) const PK: &str = "x-ms-documentdb-partitionkey";
pub(crate) const RANGE_ID: &str = "x-ms-documentdb-partitionkeyrangeid";
pub(crate) const CROSS_PARTITION: &str = "x-ms-documentdb-query-enablecrosspartition";
pub(crate) const UPSERT: (&str, &str) = ("x-ms-documentdb-is-upsert", "True");
pub(crate) const QUERY: (&str, &str) = ("content-type", "application/query+json");

/// The container every server of a test has: partition key `/pk`, version 2.
pub(crate) const CONTAINER: &str = "/dbs/d/colls/c";
pub(crate) const ITEMS: &str = "/dbs/d/colls/c/docs";

pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn start() -> Arc<TestClock> {
        Arc::new(TestClock(AtomicU64::new(START_SECONDS)))
    }
}

impl Clock for TestClock {
    fn now_seconds(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A running server with the database `d` and the container `c`; it ends when this is dropped.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) handle: ServerHandle,
    /// The listener for direct mode and the certificate that it shows.
    pub(crate) direct: Option<(SocketAddr, TlsMaterial)>,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    clock: Arc<TestClock>,
    runtime: Option<Runtime>,
}

pub(crate) fn start() -> World {
    start_with(ConsistencyLevel::Session)
}

pub(crate) fn start_with(consistency: ConsistencyLevel) -> World {
    start_server(Start {
        consistency,
        ..Start::default()
    })
}

/// A server with direct mode.
pub(crate) fn start_direct(consistency: ConsistencyLevel, limits: Limits) -> World {
    start_server(Start {
        consistency,
        limits,
        direct: true,
        ..Start::default()
    })
}

/// A server whose scripts have other limits.
pub(crate) fn start_with_scripts(scripts: ScriptOptions) -> World {
    start_server(Start {
        scripts,
        ..Start::default()
    })
}

/// A server that enforces throughput.
pub(crate) fn start_enforcing(mode: ThroughputMode) -> World {
    start_server(Start {
        mode,
        ..Start::default()
    })
}

/// A server that can be reached from outside.
pub(crate) fn start_open() -> World {
    start_server(Start {
        listen: Ipv4Addr::UNSPECIFIED,
        ..Start::default()
    })
}

/// A server whose clients have other limits; `tls` is for one that speaks nothing else.
pub(crate) fn start_limited(limits: Limits, tls: Option<TlsIdentity>) -> World {
    start_server(Start {
        limits,
        tls,
        // The limits of scripts are so long that only the limits of the server end a script.
        scripts: ScriptOptions {
            wall_time: Duration::from_mins(10),
            accept_time: Duration::from_mins(8),
            ..ScriptOptions::default()
        },
        ..Start::default()
    })
}

struct Start {
    consistency: ConsistencyLevel,
    limits: Limits,
    tls: Option<TlsIdentity>,
    scripts: ScriptOptions,
    mode: ThroughputMode,
    listen: Ipv4Addr,
    direct: bool,
}

impl Default for Start {
    fn default() -> Start {
        Start {
            consistency: ConsistencyLevel::Session,
            // Nobody runs out of time because the machine is busy.
            scripts: ScriptOptions {
                wall_time: Duration::from_secs(30),
                accept_time: Duration::from_secs(20),
                ..ScriptOptions::default()
            },
            mode: ThroughputMode::Off,
            listen: Ipv4Addr::LOCALHOST,
            direct: false,
            limits: Limits::default(),
            tls: None,
        }
    }
}

fn start_server(start: Start) -> World {
    let Start {
        consistency,
        scripts,
        mode,
        listen,
        limits,
        tls,
        direct,
    } = start;
    let is_plain = tls.is_none();
    let clock = TestClock::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (server, direct) = runtime.block_on(async {
        let engine = Engine::open(EngineOptions {
            throughput: ThroughputOptions {
                mode,
                burst_capacity: false,
                bulk_patience: Duration::ZERO,
            },
            scripts,
            ..engine_options(consistency, &clock)
        })
        .unwrap();
        let region = Region::alone("South Central US", engine);
        let options = ServerOptions {
            governor: Governor::new(limits),
            tls,
            ..options(listen)
        };
        let mut server = Server::bind(region, options).await.unwrap();
        if !direct {
            return (server, None);
        }
        let material = self_signed(&["localhost".to_owned()], SystemTime::now()).unwrap();
        let identity = TlsIdentity::new(material.clone()).unwrap();
        let any_port = (Ipv4Addr::LOCALHOST, 0).into();
        let address = server.listen_direct(any_port, &identity).await.unwrap();
        (server, Some((address, material)))
    });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.local_address().port()));
    let handle = server.handle();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async { drop(stopped.await) }));
    let world = World {
        address,
        handle,
        direct,
        running: Some((stop, running)),
        clock,
        runtime: Some(runtime),
    };
    if is_plain {
        let client = world.client();
        client.post("/dbs", r#"{"id":"d"}"#).expect(201);
        client.create_container(&json!({
            "id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}
        }));
    }
    world
}

/// A store in memory whose throughput is not limited.
pub(crate) fn engine_options(
    consistency: ConsistencyLevel,
    clock: &Arc<TestClock>,
) -> EngineOptions {
    EngineOptions {
        throughput: ThroughputOptions {
            mode: ThroughputMode::Off,
            burst_capacity: false,
            bulk_patience: Duration::ZERO,
        },
        directory: None,
        durability: Durability::None,
        cache_bytes: 16 * 1024 * 1024,
        apply_after: ApplyAfter::Durable,
        multi_write: None,
        sweeps: true,
        maintenance: orrery_engine::MaintenanceOptions::default(),
        consistency,
        scripts: ScriptOptions::default(),
        partitions: orrery_engine::PartitionLimits::default(),
        clock: Arc::clone(clock) as Arc<dyn Clock>,
    }
}

pub(crate) fn options(listen: Ipv4Addr) -> ServerOptions {
    let key = |secret: &[u8], role| (Secret::new(secret.to_vec()), role);
    ServerOptions {
        listen: (listen, 0).into(),
        account: std::sync::Weak::new(),
        advertise: None,
        bound: StalenessPolicy {
            versions: 100,
            seconds: 5,
        },
        tls: None,
        keys: AccountKeys {
            keys: vec![
                key(PRIMARY, AccountKeyRole::ReadWrite),
                key(SECONDARY, AccountKeyRole::ReadWrite),
                key(READ_ONLY, AccountKeyRole::ReadOnly),
            ],
        },
        token_secret: b"secret of tokens".to_vec(),
        hsts: false,
        query_plans: QueryPlans::default(),
        governor: Governor::new(Limits::default()),
    }
}

impl World {
    pub(crate) fn client(&self) -> Client {
        self.client_of(PRIMARY)
    }

    pub(crate) fn client_of(&self, key: &[u8]) -> Client {
        self.client_with(Credential::Key(key.to_vec()))
    }

    pub(crate) fn client_with(&self, credential: Credential) -> Client {
        Client {
            address: self.address,
            clock: Arc::clone(&self.clock),
            credential,
            connection: RefCell::new(None),
        }
    }

    /// Stops the server, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        let (stop, running) = self.running.take().unwrap();
        stop.send(()).unwrap();
        let runtime = self.runtime.as_ref().unwrap();
        runtime.block_on(running).unwrap();
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// The page of metrics; `None` if the server closes the connection without an answer, because
    /// clients hold all places or all memory.
    pub(crate) fn metrics_if_answered(&self) -> Option<String> {
        let request = self
            .client()
            .bytes("GET", "/metrics", &[("connection", "close")], b"");
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.write_all(&request).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(answer)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) enum Credential {
    /// Signs with an account key.
    Key(Vec<u8>),
    /// Sends this resource token.
    Token(String),
    /// Sends only what the test itself adds.
    Nothing,
}

pub(crate) struct Client {
    address: SocketAddr,
    clock: Arc<TestClock>,
    credential: Credential,
    /// Kept alive from one request to the next.
    connection: RefCell<Option<Connection>>,
}

impl Client {
    /// Of any server with the keys of the tests.
    pub(crate) fn at(address: SocketAddr, clock: &Arc<TestClock>) -> Client {
        Client {
            address,
            clock: Arc::clone(clock),
            credential: Credential::Key(PRIMARY.to_vec()),
            connection: RefCell::new(None),
        }
    }

    /// Sends a signed request; headers that a test gives replace those of the client.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let bytes = self.bytes(method, path, headers, body.as_bytes());
        let mut slot = self.connection.borrow_mut();
        let mut connection = slot
            .take()
            .unwrap_or_else(|| Connection::open(self.address));
        connection.send(&bytes);
        let response = connection.receive(method);
        if response.header("connection") != Some("close") {
            *slot = Some(connection);
        }
        response
    }

    /// The bytes of a signed request.
    pub(crate) fn bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<u8> {
        let date = self.date();
        let mut all = vec![
            ("host", self.address.to_string()),
            ("x-ms-date", date.clone()),
            ("x-ms-version", "2020-07-15".to_owned()),
            (CROSS_PARTITION, "True".to_owned()),
        ];
        match &self.credential {
            Credential::Key(key) => {
                all.push(("authorization", authorization(key, method, path, &date)));
            }
            Credential::Token(token) => all.push(("authorization", token.clone())),
            Credential::Nothing => all.retain(|(name, _)| *name == "host"),
        }
        if !body.is_empty() {
            all.push(("content-type", "application/json".to_owned()));
        }
        all.push(("content-length", body.len().to_string()));
        all.retain(|(name, _)| !headers.iter().any(|(own, _)| own == name));
        all.extend(
            headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
        for (name, value) in all {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        bytes
    }

    /// The time of the server, as a client writes it.
    pub(crate) fn date(&self) -> String {
        HttpDate(self.clock.now_seconds()).to_string()
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.request("POST", path, &[], body)
    }

    pub(crate) fn put(&self, path: &str, body: &str) -> Response {
        self.request("PUT", path, &[], body)
    }

    pub(crate) fn delete(&self, path: &str) -> Response {
        self.request("DELETE", path, &[], "")
    }

    /// A query over a feed.
    pub(crate) fn query(&self, path: &str, text: &str) -> Response {
        let body = json!({"query": text, "parameters": []}).to_string();
        self.request("POST", path, &[QUERY], &body)
    }

    /// Creates a container in `d`.
    #[track_caller]
    pub(crate) fn create_container(&self, definition: &Value) -> Value {
        let body = definition.to_string();
        self.post("/dbs/d/colls", &body).expect(201).json()
    }

    /// Creates an item of `c` with this id and partition key, and these properties beside them.
    #[track_caller]
    pub(crate) fn create_item(&self, id: &str, pk: &str, rest: &Value) -> Response {
        let mut item = json!({"id": id, "pk": pk});
        for (name, value) in rest.as_object().unwrap() {
            item[name] = value.clone();
        }
        let key = json!([pk]).to_string();
        self.request("POST", ITEMS, &[(PK, &key)], &item.to_string())
            .expect(201)
    }

    /// One operation on an item of `c`.
    pub(crate) fn item(&self, method: &str, id: &str, pk: &str, body: &str) -> Response {
        let key = json!([pk]).to_string();
        self.request(method, &format!("{ITEMS}/{id}"), &[(PK, &key)], body)
    }
}
