//! A random workload of all operations on an account.

use std::collections::HashMap;
use std::sync::Arc;

use orrery_engine::{
    ChangeFeedRequest, ChangeFeedStart, ChangeMode, Container, FeedScope, NewScript,
    ProcedureRequest, ScriptKind, SplitMethod,
};
use orrery_json::Value;
use orrery_keys::ContainerRid;
use orrery_model::{ConsistencyLevel, DatabaseAddress, Failure};

use crate::model::expected::Expected;
use crate::model::operations::{self, Step};
use crate::random::Random;
use crate::support::{World, address, json, pk};

const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;

const NAMES: [&str; 3] = ["a", "b", "c"];

const SETTINGS: [&str; 4] = [
    "",
    r#","defaultTtl":6"#,
    r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}"#,
    r#","changeFeedPolicy":{"retentionDuration":60},"defaultTtl":-1"#,
];

const POLICIES: [&str; 3] = [
    r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/u/?"}]}"#,
    r#"{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]}"#,
    r#"{"includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/u"}]]}"#,
];

/// Creates an item from a script, and reads another item.
const PROCEDURE: &str = "function (n) {
    const c = getContext().getCollection();
    c.createDocument(c.getSelfLink(), { id: 's' + n, p: 'a', n: n }, function (error) {
        if (error) throw error;
        getContext().getResponse().setBody(n);
    });
}";

#[derive(Default)]
pub(crate) struct RandomWorkload {
    count: u32,
    /// The start of the history, for containers with a retention.
    histories: HashMap<ContainerRid, String>,
}

impl RandomWorkload {
    pub(crate) fn history_begins(&self, container: ContainerRid) -> Option<&str> {
        self.histories.get(&container).map(String::as_str)
    }

    pub(crate) async fn step(&mut self, world: &World, random: &mut Random) {
        self.count += 1;
        let name = *random.pick(&NAMES);
        let catalogue = world.engine.catalogue();
        let Ok((_, entry)) = catalogue.container(address(name)) else {
            return self.create(world, name, random).await;
        };
        let container = Arc::clone(&entry.container);
        drop(catalogue);
        match random.below(100) {
            0..62 => write(world, &container, random).await,
            62..68 => split(world, &container, random).await,
            68..72 => merge(world, &container, random).await,
            72..77 => redefine(world, &container, random).await,
            77..80 => world.delete_container(name).await,
            80..86 => run_script(world, name, self.count).await,
            86..90 => {
                let key = pk(operations::key(random, &expected()));
                let removed = world.engine.delete_partition_key(&container, key, LEVEL);
                removed.await.result.unwrap();
            }
            90..92 => {
                let id = format!("u{}", self.count);
                let user = world.engine.create_user(DatabaseAddress::Name("d"), &id);
                user.await.unwrap();
            }
            _ => {
                world.advance(1 + random.below(4));
                world.engine.remove_expired().await.unwrap();
            }
        }
    }

    async fn create(&mut self, world: &World, name: &str, random: &mut Random) {
        let settings = random.pick(&SETTINGS);
        let container = world.container(name, settings).await;
        if container.keeps_history() {
            let request = ChangeFeedRequest {
                scope: FeedScope::Container,
                mode: ChangeMode::AllVersionsAndDeletes,
                start: ChangeFeedStart::Now,
                since_seconds: None,
                items_max: 1,
                budget: LEVEL.into(),
            };
            let page = world.engine.changes(&container, request).await;
            let position = page.result.unwrap().position;
            self.histories.insert(container.rid, position);
        }
    }
}

/// Creates the item `s` and a numbered item by a stored procedure.
pub(crate) async fn run_script(world: &World, name: &str, number: u32) {
    let container = world.find(name);
    let new = NewScript {
        id: "s".to_owned(),
        body: format!("{PROCEDURE} // {number}"),
        trigger: None,
    };
    let kind = ScriptKind::StoredProcedure;
    let created = world.engine.upsert_script(address(name), kind, new).await;
    let (script, _) = created.unwrap();
    let request = ProcedureRequest {
        key: pk(r#"["a"]"#),
        arguments: vec![Value::from(i64::from(number))],
        budget: LEVEL.into(),
        wants_log: false,
    };
    let ran = world.engine.execute(&container, &script, request).await;
    // A unique key may be taken.
    assert!(
        matches!(ran.result, Ok(_) | Err(Failure::Script { .. })),
        "{ran:?}"
    );
}

fn expected() -> Expected {
    Expected::new("", "", 400, &["p"], &[], None)
}

async fn write(world: &World, container: &Arc<Container>, random: &mut Random) {
    let expected = expected();
    let key = operations::key(random, &expected);
    let count = 1 + random.below(4);
    let steps: Vec<Step> = (0..count)
        .map(|_| operations::step(random, &expected, key))
        .collect();
    let operations = steps.iter().map(Step::operation).collect();
    world
        .batch(container, key, operations)
        .await
        .result
        .unwrap();
}

async fn split(world: &World, container: &Arc<Container>, random: &mut Random) {
    if container.partitions.len() > 4 {
        return;
    }
    let range = random.pick(&container.partitions).id;
    let cut = random
        .pick(&[SplitMethod::MiddleOfData, SplitMethod::MiddleOfRange])
        .clone();
    let at = address(&container.definition.id);
    match world.engine.split_partition(at, range, cut).await {
        Ok(_) | Err(Failure::BadRequest(_)) => {}
        Err(failure) => panic!("{failure:?}"),
    }
}

async fn merge(world: &World, container: &Arc<Container>, random: &mut Random) {
    let pairs = container.partitions.windows(2);
    let pairs: Vec<_> = pairs.map(|pair| [pair[0].id, pair[1].id]).collect();
    if !pairs.is_empty() {
        let at = address(&container.definition.id);
        let pair = *random.pick(&pairs);
        world.engine.merge_partitions(at, pair).await.unwrap();
    }
}

async fn redefine(world: &World, container: &Arc<Container>, random: &mut Random) {
    let Value::Object(mut body) = container.definition.to_value() else {
        panic!("a definition is an object");
    };
    if random.chance(50) {
        let policy = json(random.pick::<&str>(&POLICIES));
        body.insert("indexingPolicy".to_owned(), policy);
    } else {
        let ttl = *random.pick(&[-1_i64, 4, 9]);
        body.insert("defaultTtl".to_owned(), ttl.into());
    }
    let at = address(&container.definition.id);
    let body = Value::Object(body);
    let replaced = world.engine.replace_container(at, &body, None);
    replaced.await.unwrap();
}
