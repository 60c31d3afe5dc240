//! Sessions continue from the LSN of an answer, so that LSN must cover the contents of the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orrery_keys::PartitionKey;
use orrery_model::ConsistencyLevel;

use crate::support::{World, upsert};

const KEY: &str = r#"["a"]"#;
const WRITES: usize = 3_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_is_never_ahead_of_its_position() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    let write = || world.ok(&container, KEY, upsert(r#"{"id":"1","p":"a"}"#));
    write().await;
    let is_over = Arc::new(AtomicBool::new(false));
    let reading = {
        let (engine, container) = (Arc::clone(&world.engine), Arc::clone(&container));
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let key = PartitionKey::parse_header(KEY).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let level = ConsistencyLevel::Session;
                let answer = engine.read_item(&container, &key, "1", None, level);
                let (stamp, outcome) = (answer.partition_lsn.unwrap(), answer.result.unwrap());
                assert!(stamp.lsn >= outcome.item_lsn, "{stamp:?} {outcome:?}");
            }
        })
    };
    for _ in 0..WRITES {
        write().await;
    }
    is_over.store(true, Ordering::Relaxed);
    reading.join().unwrap();
}
