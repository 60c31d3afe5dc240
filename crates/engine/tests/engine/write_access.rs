//! Keys whose writes another region takes: every form of write is refused, and reads continue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{
    AccessTable, Container, Engine, KeyAccess, KeyRange, NewScript, ProcedureRequest, ScriptKind,
    TriggerNames, TriggerSettings,
};
use orrery_model::{ConsistencyLevel, Failure, JsonPointer, PatchAction, PatchOperation};
use orrery_regions::{RegionId, StreamId};

use crate::support::{PATIENCE, World, address, create, delete, patch, pk, replace, upsert};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

/// A region with a container `c` of several partitions, and keys of two partitions.
async fn start() -> (World, Arc<Container>, [String; 2]) {
    let plain = World::in_memory().await;
    let mut options = plain.options_at(None);
    options.multi_write = Some(RegionId(0));
    let world = plain.over(Engine::open(options).unwrap());
    world.engine.set_hub(true);
    world.engine.create_database("d", None).await.unwrap();
    let definition = r#"{"id":"c","partitionKey":{"paths":["/p"]},"defaultTtl":-1}"#;
    let container = world.create(definition, 30_000).await;
    let of = |key: &str| {
        let logical = container.logical_partition(&pk(key));
        container.partition_of(&logical).id
    };
    let mut keys = (0..).map(|number| format!(r#"["k{number}"]"#));
    let first = keys.next().unwrap();
    let second = keys.find(|key| of(key) != of(&first)).unwrap();
    (world, container, [first, second])
}

fn range_of(container: &Container, key: &str) -> KeyRange {
    let logical = container.logical_partition(&pk(key));
    KeyRange::of(container, container.partition_of(&logical))
}

/// An access table that opens all keys except the partition of one key.
fn table(container: &Container, key: &str, access: KeyAccess) -> AccessTable {
    AccessTable {
        default: KeyAccess::Open,
        ranges: vec![(range_of(container, key), access)],
    }
}

fn item(id: &str, key: &str) -> String {
    let value = key.trim_matches(['[', ']']);
    format!(r#"{{"id":"{id}","p":{value},"n":1}}"#)
}

/// The outcome of every form of write to the item `1` of a key.
async fn attempts(
    world: &World,
    container: &Arc<Container>,
    key: &str,
) -> Vec<(&'static str, Result<(), Failure>)> {
    let engine = &world.engine;
    let entry = engine.catalogue();
    let (_, entry) = entry.container(address("c")).unwrap();
    let procedure = entry.scripts.get(ScriptKind::StoredProcedure, "s").unwrap();
    let increment = PatchOperation {
        path: JsonPointer::parse("/n").unwrap(),
        action: PatchAction::Increment(orrery_json::Number::Int(1)),
    };
    let triggers = TriggerNames {
        pre: vec!["t".to_owned()],
        post: Vec::new(),
        wants_log: false,
    };
    let request = ProcedureRequest {
        key: pk(key),
        arguments: vec![orrery_json::parse(item("3", key).as_bytes()).unwrap()],
        budget: LEVEL.into(),
        wants_log: false,
    };
    let one = |id: &str| upsert(&item(id, key));
    let mut found = Vec::new();
    for (name, operation) in [
        ("upsert", one("1")),
        ("replace", replace("1", &item("1", key))),
        ("patch", patch("1", vec![increment])),
        ("create", create(&item("2", key))),
        ("delete", delete("2")),
    ] {
        let answer = world.write(container, key, operation).await;
        found.push((name, answer.result.map(drop)));
    }
    let batch = world.batch(container, key, vec![one("4"), one("5")]).await;
    found.push(("batch", batch.result.map(drop)));
    let operations = vec![(pk(key), one("6")), (pk(key), one("7"))];
    for answer in engine.bulk(container, operations, LEVEL, false).await {
        found.push(("bulk", answer.result.map(drop)));
    }
    let triggered = engine.write_item_with_triggers(container, pk(key), one("8"), &triggers, LEVEL);
    found.push(("trigger", triggered.await.result.map(drop)));
    let executed = engine.execute(container, procedure, request).await;
    found.push(("procedure", executed.result.map(drop)));
    let deleted = engine.delete_partition_key(container, pk(key), LEVEL);
    found.push(("delete by key", deleted.await.result));
    found
}

async fn register(world: &World) {
    for (kind, id, body, trigger) in [
        (
            ScriptKind::StoredProcedure,
            "s",
            "function (item) { __.createDocument(__.getSelfLink(), item); }",
            None,
        ),
        (
            ScriptKind::Trigger,
            "t",
            "function () {}",
            TriggerSettings::read("Pre", "All"),
        ),
    ] {
        let new = NewScript {
            id: id.to_owned(),
            body: body.to_owned(),
            trigger,
        };
        let created = world.engine.create_script(address("c"), kind, new).await;
        created.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_to_write_is_refused_and_reads_go_on() {
    let (world, container, [key, other]) = start().await;
    register(&world).await;
    for (name, result) in attempts(&world, &container, &key).await {
        assert_eq!(result, Ok(()), "{name}: nothing is divided");
    }
    for key in [&key, &other] {
        world.ok(&container, key, upsert(&item("1", key))).await;
    }
    let closed = table(&container, &key, KeyAccess::Closed);
    world.engine.set_access(closed).await;
    let before = world.engine.version_vector();
    for (name, result) in attempts(&world, &container, &key).await {
        assert_eq!(result, Err(Failure::WriteForbidden), "{name}");
    }
    assert_eq!(world.engine.version_vector(), before);
    assert!(world.read(&container, &key, "1").is_ok());
    let down = table(&container, &key, KeyAccess::Down);
    world.engine.set_access(down).await;
    for (name, result) in attempts(&world, &container, &key).await {
        let is_down = matches!(result, Err(Failure::Unavailable(_)));
        assert!(is_down, "{name}: {result:?}");
    }
    let read = world.read(&container, &key, "1");
    assert!(matches!(read, Err(Failure::Unavailable(_))), "{read:?}");
    for (name, result) in attempts(&world, &container, &other).await {
        assert_eq!(result, Ok(()), "{name}: the other partition");
    }
    let open = table(&container, &key, KeyAccess::Open);
    world.engine.set_access(open).await;
    for (name, result) in attempts(&world, &container, &key).await {
        assert_eq!(result, Ok(()), "{name}: open again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_for_a_key_that_is_about_to_be_taken_over() {
    let (world, container, [key, _]) = start().await;
    let soon = table(&container, &key, KeyAccess::TakingOver);
    for (decided, expected) in [
        (KeyAccess::Open, Ok(())),
        (KeyAccess::Closed, Err(Failure::WriteForbidden)),
    ] {
        loop {
            world.engine.set_access(soon.clone()).await;
            let begun = Instant::now();
            let writing = world.write(&container, &key, upsert(&item("1", &key)));
            let deciding = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let decided = table(&container, &key, decided);
                world.engine.set_access(decided).await;
            };
            let (written, ()) = tokio::join!(writing, deciding);
            // A write waits for three seconds.
            if begun.elapsed() < Duration::from_secs(3) {
                assert_eq!(written.result.map(drop), expected);
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_removes_what_has_expired() {
    let (world, container, [key, other]) = start().await;
    // More expired items of another region than one sweep step reads, in front of this region's own
    // item.
    for number in 0..600 {
        let text = item(&number.to_string(), &key).replace(r#""n":1"#, r#""ttl":5"#);
        world.ok(&container, &key, upsert(&text)).await;
    }
    let text = item("1", &other).replace(r#""n":1"#, r#""ttl":6"#);
    world.ok(&container, &other, upsert(&text)).await;
    let held = || -> u64 {
        let partitions = container.partitions.iter();
        partitions.map(|partition| partition.counters().items).sum()
    };
    let closed = table(&container, &key, KeyAccess::Closed);
    world.engine.set_access(closed).await;
    world.engine.set_hub(false);
    world.advance(10);
    world.engine.remove_expired().await.unwrap();
    assert_eq!(held(), 600, "those of the other region wait for it");
    let open = table(&container, &key, KeyAccess::Open);
    world.engine.set_access(open).await;
    world.engine.remove_expired().await.unwrap();
    assert_eq!(held(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expires_by_another_definition_is_removed_by_a_later_owner() {
    let (world, container, [key, _]) = start().await;
    world.ok(&container, &key, upsert(&item("1", &key))).await;
    let closed = table(&container, &key, KeyAccess::Closed);
    world.engine.set_access(closed).await;
    world.advance(100);
    let held = || -> u64 {
        let partitions = container.partitions.iter();
        partitions.map(|partition| partition.counters().items).sum()
    };
    // The item has already expired when the new definition arrives.
    world.set_default_ttl("c", Some(5)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.engine.remove_expired().await.unwrap();
    assert_eq!(held(), 1, "another region removes it");
    let open = table(&container, &key, KeyAccess::Open);
    world.engine.set_access(open).await;
    // The background enters it for expiry.
    let begun = Instant::now();
    while held() > 0 {
        assert!(begun.elapsed() < PATIENCE, "it is still there");
        world.engine.remove_expired().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_after_keys_were_closed() {
    let (world, container, [key, _]) = start().await;
    let world = Arc::new(world);
    for round in 0..20 {
        let open = table(&container, &key, KeyAccess::Open);
        world.engine.set_access(open).await;
        let writes = (0..50).map(|number| {
            let (world, container, key) = (Arc::clone(&world), Arc::clone(&container), key.clone());
            tokio::spawn(async move {
                let operation = upsert(&item(&format!("{round}-{number}"), &key));
                drop(world.write(&container, &key, operation).await);
            })
        });
        let writes: Vec<_> = writes.collect();
        let closed = table(&container, &key, KeyAccess::Closed);
        world.engine.set_access(closed).await;
        let own = StreamId::Region(RegionId(0));
        let place = world.engine.version_vector().of(own);
        for write in writes {
            write.await.unwrap();
        }
        assert_eq!(world.engine.version_vector().of(own), place, "{round}");
    }
}
