//! Throughput: budgets hold, refusals carry correct hints and have no effect.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orrery_engine::{
    ApplyAfter, Clock, Container, Durability, Engine, EngineOptions, FeedRequest, FeedScope,
    Metering, NewContainer, ProcedureRequest, QueryText, RequestBudget, ScriptKind, ScriptOptions,
    ThroughputKind, ThroughputMode, ThroughputOptions,
};
use orrery_json::Value;
use orrery_memory::MemoryShare;
use orrery_model::{
    Charge, ChargedResult, ConsistencyLevel, ContainerAddress, ContainerDefinition,
    DatabaseAddress, DistributionChange, Failure, OperationOutcome, PriorityLevel, Throughput,
};

use crate::support::{create, json, pk, read};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

struct ManualClock(AtomicU64);

impl Clock for ManualClock {
    fn now_seconds(&self) -> u64 {
        1_800_000_000 + self.monotonic_ms() / 1_000
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// An account with the database `d`.
struct Account {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
}

impl Account {
    fn open(mode: ThroughputMode, burst_capacity: bool) -> Account {
        Account::at(None, mode, burst_capacity)
    }

    fn at(directory: Option<&Path>, mode: ThroughputMode, burst_capacity: bool) -> Account {
        let clock = Arc::new(ManualClock(AtomicU64::new(0)));
        let engine = Engine::open(EngineOptions {
            multi_write: None,
            sweeps: true,
            maintenance: orrery_engine::MaintenanceOptions::default(),
            partitions: orrery_engine::PartitionLimits::default(),
            directory: directory.map(Path::to_owned),
            durability: Durability::None,
            cache_bytes: 4 << 20,
            apply_after: ApplyAfter::Durable,
            consistency: LEVEL,
            scripts: ScriptOptions::default(),
            throughput: ThroughputOptions {
                mode,
                burst_capacity,
                bulk_patience: Duration::ZERO,
            },
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
        });
        Account {
            engine: engine.unwrap(),
            clock,
        }
    }

    async fn provisioned() -> Account {
        let account = Account::open(ThroughputMode::Provisioned, false);
        account.engine.create_database("d", None).await.unwrap();
        account
    }

    fn advance_ms(&self, milliseconds: u64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    async fn container(&self, id: &str, throughput: Option<Throughput>) -> Arc<Container> {
        let definition = format!(r#"{{"id":"{id}","partitionKey":{{"paths":["/k"]}}}}"#);
        let new = NewContainer {
            definition: ContainerDefinition::parse(&json(&definition)).unwrap(),
            throughput,
        };
        let database = DatabaseAddress::Name("d");
        let entry = self.engine.create_container(database, new).await.unwrap();
        Arc::clone(&entry.container)
    }

    fn read(&self, container: &Container, key: &str) -> ChargedResult<OperationOutcome> {
        let key = pk(&format!(r#"["{key}"]"#));
        self.engine.read_item(container, &key, "none", None, LEVEL)
    }

    async fn write(&self, container: &Arc<Container>, id: u64) -> ChargedResult<OperationOutcome> {
        let operation = create(&format!(r#"{{"id":"{id}","k":"a"}}"#));
        let key = pk(r#"["a"]"#);
        let answer = self.engine.write_item(container, key, operation, LEVEL);
        answer.await
    }

    /// Uses up the budget of the present second.
    fn exhaust(&self, container: &Container) -> u64 {
        let mut reads = 0;
        while !is_refused(&self.read(container, "a")) {
            reads += 1;
        }
        reads
    }

    async fn query(&self, container: &Arc<Container>, scope: FeedScope) -> ChargedResult<usize> {
        let text = QueryText {
            text: "SELECT * FROM c".to_owned(),
            parameters: Vec::new(),
            resume: None,
        };
        let request = FeedRequest {
            scope,
            query: Some(self.engine.compile(&text, container).unwrap()),
            items_max: 100,
            continuation: None,
            continuation_bytes_max: None,
            budget: LEVEL.into(),
            wants_report: false,
            without_index: false,
            enable_scan: true,
        };
        let answer = self.engine.feed(container, request).await;
        ChargedResult {
            result: answer.result.map(|page| page.items.len()),
            charge: answer.charge,
            partition_lsn: answer.partition_lsn,
        }
    }
}

fn items(container: &Container) -> u64 {
    let counters = container
        .partitions
        .iter()
        .map(|part| part.counters().items);
    counters.sum()
}

fn is_refused<T>(answer: &ChargedResult<T>) -> bool {
    matches!(answer.result, Err(Failure::TooManyRequests { .. }))
}

fn retry_after_ms<T: std::fmt::Debug>(answer: &ChargedResult<T>) -> u64 {
    assert_eq!(answer.charge, Charge::ZERO);
    match answer.result {
        Err(Failure::TooManyRequests { retry_after_ms }) => retry_after_ms,
        ref other => panic!("not refused: {other:?}"),
    }
}

fn within(actual: f64, expected: f64) -> bool {
    (actual - expected).abs() <= expected * 0.05
}

#[tokio::test]
async fn ten_seconds_of_overload_get_ten_budgets() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    account.advance_ms(123_456);
    let (mut admitted, mut id) = (0.0, 0);
    for _ in 0..1_000 {
        // Alternates reads and writes beyond the budget of these ten milliseconds.
        for _ in 0..10 {
            let written = account.write(&container, id).await;
            id += u64::from(written.result.is_ok());
            let found = account.read(&container, "b");
            admitted += written.charge.units() + found.charge.units();
        }
        account.advance_ms(10);
    }
    assert!(within(admitted, 4_000.0), "{admitted}");
    let report = container.partitions[0]
        .meter()
        .report(account.clock.monotonic_ms());
    assert_eq!(report.charged, Charge::from_units(admitted));
    assert_eq!(items(&container), id);
}

#[tokio::test]
async fn a_refusal_says_when_to_come_back_and_leaves_nothing() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    account.advance_ms(5_250);
    assert_eq!(account.exhaust(&container), 400);
    account.advance_ms(400);
    let refused = account.write(&container, 1).await;
    assert_eq!(retry_after_ms(&refused), 600);
    assert_eq!(items(&container), 0);
    account.advance_ms(599);
    assert_eq!(retry_after_ms(&account.write(&container, 1).await), 1);
    account.advance_ms(1);
    assert!(account.write(&container, 1).await.result.is_ok());
}

#[tokio::test]
async fn every_operation_is_admitted_and_charged() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    let engine = &account.engine;
    let address = ContainerAddress::Name {
        database: "d",
        container: "c",
    };
    let body = "function f() { getContext().getResponse().setBody(1); }";
    let script = orrery_engine::NewScript {
        id: "p".to_owned(),
        body: body.to_owned(),
        trigger: None,
    };
    let kind = ScriptKind::StoredProcedure;
    let script = engine.create_script(address, kind, script).await.unwrap();
    let key = || pk(r#"["a"]"#);
    for is_exhausted in [false, true] {
        account.advance_ms(60_000);
        if is_exhausted {
            account.exhaust(&container);
        }
        let before = container.partitions[0]
            .meter()
            .report(account.clock.monotonic_ms());
        let batch = vec![Ok(create(r#"{"id":"1","k":"a"}"#)), Ok(read("1"))];
        let batch = engine.transact(&container, key(), batch, LEVEL).await;
        let bulk = vec![
            (key(), create(r#"{"id":"2","k":"a"}"#)),
            (key(), create(r#"{"id":"3","k":"a"}"#)),
        ];
        let bulk = engine.bulk(&container, bulk, LEVEL, false).await;
        let query = account.query(&container, FeedScope::Container).await;
        let request = ProcedureRequest {
            key: key(),
            arguments: Vec::<Value>::new(),
            budget: LEVEL.into(),
            wants_log: false,
        };
        let executed = engine.execute(&container, &script, request).await;
        let deleted = engine.delete_partition_key(&container, key(), LEVEL).await;
        let refused = [
            is_refused(&batch),
            bulk.iter().all(is_refused),
            is_refused(&query),
            is_refused(&executed),
            is_refused(&deleted),
        ];
        assert_eq!(refused, [is_exhausted; 5]);
        let bulk_charge: Charge = bulk.iter().map(|answer| answer.charge).sum();
        // A delete by key is charged for its items, here less than a tenth of a second.
        let deleted = deleted.charge.units() - f64::from(u8::from(!is_exhausted));
        let sum = batch.charge + bulk_charge + query.charge + executed.charge;
        let after = container.partitions[0]
            .meter()
            .report(account.clock.monotonic_ms());
        let counted = after.charged.units() - before.charged.units();
        assert!((counted - sum.units() - deleted).abs() < 0.005, "{counted}");
        assert_eq!(
            after.throttled - before.throttled,
            if is_exhausted { 6 } else { 0 }
        );
    }
}

#[tokio::test]
async fn operations_of_a_bulk_request_are_refused_one_by_one() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    let operations = (0..200).map(|id| {
        let text = format!(r#"{{"id":"{id}","k":"a"}}"#);
        (pk(r#"["a"]"#), create(&text))
    });
    let answers = account
        .engine
        .bulk(&container, operations.collect(), LEVEL, false);
    let answers = answers.await;
    let written = answers
        .iter()
        .filter(|answer| answer.result.is_ok())
        .count();
    // Each write is charged 5 request units in advance, and the remainder when it is written.
    assert!((50..=80).contains(&written), "{written}");
    assert!(answers[written..].iter().all(is_refused));
    let waits = answers[written..].iter().map(|answer| match answer.result {
        Err(Failure::TooManyRequests { retry_after_ms }) => retry_after_ms,
        _ => 0,
    });
    // The sum of the retry hints is the real wait, because some clients sleep the hints in
    // sequence.
    let waits: Vec<_> = waits.collect();
    assert_eq!(waits[0], 1_000);
    assert!(waits[1..].iter().all(|&wait_ms| wait_ms == 1));
    assert_eq!(items(&container), written as u64);
}

#[tokio::test]
async fn throughput_is_divided_equally_and_so_is_a_page() {
    let account = Account::provisioned().await;
    let container = account
        .container("c", Some(Throughput::Manual(18_000)))
        .await;
    assert_eq!(container.partitions.len(), 3);
    let units = |index: usize| container.partitions[index].meter().units();
    assert_eq!([units(0), units(1), units(2)], [Some(6_000); 3]);
    let page = account.query(&container, FeedScope::Container).await;
    let now_ms = account.clock.monotonic_ms();
    let charged = container.partitions.iter();
    let charged: Vec<_> = charged
        .map(|partition| partition.meter().report(now_ms).charged)
        .collect();
    assert_eq!(charged.iter().copied().sum::<Charge>(), page.charge);
    assert_eq!(charged[1], charged[2]);
    assert!(charged[1] > Charge::ZERO);
}

#[tokio::test]
async fn a_new_offer_counts_at_once() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    let engine = &account.engine;
    let catalogue = engine.catalogue();
    let offer = catalogue.offers.values().next().unwrap();
    let Value::Object(mut body) = offer.to_value() else {
        panic!("an offer is an object")
    };
    body.insert("content".to_owned(), json(r#"{"offerThroughput":1000}"#));
    let body = Value::Object(body);
    let replaced = engine.replace_offer(offer.rid, &body, None, None);
    replaced.await.unwrap();
    assert_eq!(account.exhaust(&container), 1_000);
}

#[tokio::test]
async fn autoscale_gives_its_maximum_and_reports_what_is_used() {
    let account = Account::provisioned().await;
    let throughput = Throughput::autoscale(1_000, None).unwrap();
    let container = account.container("c", Some(throughput)).await;
    let catalogue = account.engine.catalogue();
    let offer = catalogue.offers.values().next().unwrap();
    assert_eq!(account.engine.offer_current(offer), 100);
    for _ in 0..600 {
        account.read(&container, "a");
    }
    account.advance_ms(1_000);
    assert_eq!(account.engine.offer_current(offer), 600);
    assert_eq!(account.exhaust(&container), 1_000);
    account.advance_ms(1_000);
    assert_eq!(account.engine.offer_current(offer), 1_000);
    account.advance_ms(5_000);
    assert_eq!(account.engine.offer_current(offer), 100);
}

#[tokio::test]
async fn containers_of_a_database_share_one_pool() {
    let account = Account::open(ThroughputMode::Provisioned, false);
    account
        .engine
        .create_database("d", Some(Throughput::Manual(400)))
        .await
        .unwrap();
    let containers = [
        account.container("a", None).await,
        account.container("b", None).await,
        account
            .container("own", Some(Throughput::Manual(400)))
            .await,
    ];
    for _ in 0..150 {
        assert!(!is_refused(&account.read(&containers[0], "a")));
    }
    assert_eq!(account.exhaust(&containers[1]), 250);
    assert_eq!(account.exhaust(&containers[0]), 0);
    assert_eq!(account.exhaust(&containers[2]), 400);
    let kind = |index: usize| {
        account
            .engine
            .container_throughput(&containers[index])
            .unwrap()
            .kind
    };
    assert_eq!(kind(0), ThroughputKind::Shared);
    assert_eq!(kind(2), ThroughputKind::Manual);
}

#[tokio::test]
async fn serverless_has_a_fixed_rate_and_no_offers() {
    let account = Account::open(ThroughputMode::Serverless, false);
    let refused = account
        .engine
        .create_database("d", Some(Throughput::Manual(400)))
        .await;
    assert!(matches!(refused, Err(Failure::BadRequest(message)) if message.contains("serverless")));
    account.engine.create_database("d", None).await.unwrap();
    let container = account.container("c", None).await;
    assert!(account.engine.catalogue().offers.is_empty());
    assert_eq!(account.exhaust(&container), 5_000);
}

#[tokio::test]
async fn mode_off_admits_everything() {
    let account = Account::open(ThroughputMode::Off, false);
    account.engine.create_database("d", None).await.unwrap();
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    for _ in 0..5_000 {
        assert!(!is_refused(&account.read(&container, "a")));
        assert_eq!(account.engine.admit_metadata(), Ok(()));
    }
}

#[tokio::test]
async fn burst_capacity_spends_what_was_saved() {
    let account = Account::open(ThroughputMode::Provisioned, true);
    account.engine.create_database("d", None).await.unwrap();
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    account.advance_ms(10_000);
    // 4,000 units are saved: the first reads use this second's rate and 2,600 of them, later reads
    // the rest.
    let mut reads = Vec::new();
    for _ in 0..4 {
        reads.push(account.exhaust(&container));
        account.advance_ms(1_000);
    }
    assert_eq!(reads, [3_000, 1_800, 400, 400]);
}

#[tokio::test]
async fn low_priority_waits_first() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    let budget = |priority| RequestBudget {
        level: LEVEL,
        metering: Metering::Metered {
            priority,
            bucket: None,
        },
        share: MemoryShare::unlimited(),
        patience: RequestBudget::PATIENCE,
    };
    let read = |priority| {
        let key = pk(r#"["a"]"#);
        let engine = &account.engine;
        engine.read_item(&container, &key, "none", None, budget(priority))
    };
    let (mut high, mut low) = (0, 0);
    for round in 0..1_000 {
        for _ in 0..8 {
            low += u32::from(!is_refused(&read(PriorityLevel::Low)));
        }
        for _ in 0..3 {
            let is_admitted = !is_refused(&read(PriorityLevel::High));
            // The first second shows what is needed.
            assert!(is_admitted || round < 100, "{round}");
            high += u32::from(is_admitted);
        }
        account.advance_ms(10);
    }
    assert!((2_700..=3_000).contains(&high), "{high}");
    assert!(within(f64::from(high + low), 4_000.0), "{high} {low}");
}

#[tokio::test]
async fn reads_of_the_catalogue_have_a_budget_of_their_own() {
    let account = Account::provisioned().await;
    let container = account.container("c", Some(Throughput::Manual(400))).await;
    account.exhaust(&container);
    for _ in 0..240 {
        assert_eq!(account.engine.admit_metadata(), Ok(()));
    }
    assert_eq!(
        account.engine.admit_metadata(),
        Err(Failure::TooManyRequests {
            retry_after_ms: 1_000
        })
    );
    account.advance_ms(1_000);
    assert_eq!(account.engine.admit_metadata(), Ok(()));
}

#[tokio::test]
async fn hot_keys_are_named() {
    let account = Account::provisioned().await;
    let container = account
        .container("c", Some(Throughput::Manual(10_000)))
        .await;
    for number in 0..200 {
        account.read(&container, "hot");
        account.read(&container, &format!("cold {number}"));
    }
    let report = account.engine.container_throughput(&container).unwrap();
    let hottest = &report.partitions[0].hot_keys[0];
    assert_eq!(hottest.key, pk(r#"["hot"]"#));
    assert!((0.45..0.6).contains(&hottest.share), "{}", hottest.share);
}

#[tokio::test]
async fn shares_and_buckets_hold_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Account::at(Some(directory.path()), ThroughputMode::Provisioned, false);
    let address = ContainerAddress::Name {
        database: "d",
        container: "c",
    };
    let account = open();
    account.engine.create_database("d", None).await.unwrap();
    let throughput = Some(Throughput::Manual(12_000));
    drop(account.container("c", throughput).await);
    let change = json(
        r#"{"partitions":[{"id":"1","throughput":9000}],
            "buckets":[{"id":3,"maxThroughputPercentage":10}]}"#,
    );
    let change = DistributionChange::parse(&change).unwrap();
    account.engine.redistribute(address, change).await.unwrap();
    Engine::close(account.engine).unwrap();

    let account = open();
    let catalogue = account.engine.catalogue();
    let container = &catalogue.container(address).unwrap().1.container;
    let units: Vec<_> = container
        .partitions
        .iter()
        .map(|part| part.meter().units())
        .collect();
    assert_eq!(units, [Some(6_000), Some(9_000)]);
    let key = pk(r#"["a"]"#);
    let budget = RequestBudget {
        level: LEVEL,
        metering: Metering::Metered {
            priority: PriorityLevel::High,
            bucket: Some(3),
        },
        share: MemoryShare::unlimited(),
        patience: RequestBudget::PATIENCE,
    };
    let mut reads = 0;
    let refused = loop {
        let answer = account
            .engine
            .read_item(container, &key, "none", None, budget.clone());
        match answer.result {
            Err(Failure::BucketExceeded { retry_after_ms }) => break retry_after_ms,
            _ => reads += 1,
        }
    };
    assert!([600, 900].contains(&reads), "{reads}");
    assert_eq!(refused, 1_000);
}
