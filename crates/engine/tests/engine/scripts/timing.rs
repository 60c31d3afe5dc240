//! What scripts cost beside batches. Run with `--release -- --ignored timing --nocapture`.

use std::time::{Duration, Instant};

use orrery_engine::ScriptKind;
use tempfile::TempDir;

use super::KEY;
use crate::support::{World, create, read, replace};

const ROUNDS: usize = 400;

const READ_AND_REPLACE: &str = "function (n) {
    const link = __.getAltLink() + '/docs/1';
    __.readDocument(link, (error, doc) => {
        if (error) throw error;
        doc.n = n;
        __.replaceDocument(link, doc, error => { if (error) throw error; });
    });
}";

const IMPORT: &str = "function (docs) {
    const link = __.getSelfLink();
    let count = 0;
    (function next() {
        if (count === docs.length) return __.response.setBody(count);
        const accepted = __.createDocument(link, docs[count], error => {
            if (error) throw error;
            count += 1;
            next();
        });
        if (!accepted) __.response.setBody(count);
    })();
}";

fn document(id: &str, n: usize) -> String {
    let filler = "x".repeat(600);
    format!(
        r#"{{"id":"{id}","p":"a","n":{n},"name":"{filler}","tags":["a","b","c"],"o":{{"q":{n}}}}}"#
    )
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn timing_of_a_read_and_replace() {
    for on_disk in [false, true] {
        let directory = TempDir::new().unwrap();
        let world = if on_disk {
            World::at(directory.path()).await
        } else {
            World::in_memory().await
        };
        let container = world.container("c", "").await;
        world.ok(&container, KEY, create(&document("1", 0))).await;
        let kind = ScriptKind::StoredProcedure;
        let script = world.register(kind, "s", READ_AND_REPLACE).await;
        let (mut scripts, mut batches) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let begun = Instant::now();
            let answer = world
                .execute(&container, &script, &format!("[{round}]"))
                .await;
            scripts.push(begun.elapsed());
            answer.result.unwrap();
            let begun = Instant::now();
            let operations = vec![read("1"), replace("1", &document("1", round))];
            let answer = world.batch(&container, KEY, operations).await;
            batches.push(begun.elapsed());
            answer.result.unwrap();
        }
        let (script, batch) = (median(scripts), median(batches));
        let ratio = script.as_secs_f64() / batch.as_secs_f64();
        println!("on disk {on_disk}: script {script:?}, batch {batch:?}, ratio {ratio:.2}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn timing_of_a_bulk_import() {
    for on_disk in [false, true] {
        let directory = TempDir::new().unwrap();
        let world = if on_disk {
            World::at(directory.path()).await
        } else {
            World::in_memory().await
        };
        let container = world.container("c", "").await;
        let script = world
            .register(ScriptKind::StoredProcedure, "s", IMPORT)
            .await;
        let calls = 100;
        let begun = Instant::now();
        for call in 0..calls {
            let documents = (0..100).map(|n| document(&format!("s{call}-{n}"), n));
            let text = format!("[[{}]]", documents.collect::<Vec<_>>().join(","));
            let answer = world.execute(&container, &script, &text).await;
            assert_eq!(answer.result.unwrap().body.as_deref(), Some("100"));
        }
        let scripts = begun.elapsed();
        let begun = Instant::now();
        for call in 0..calls {
            let operations = (0..100).map(|n| create(&document(&format!("b{call}-{n}"), n)));
            let answer = world.batch(&container, KEY, operations.collect()).await;
            assert!(answer.result.unwrap().iter().all(Result::is_ok));
        }
        let batches = begun.elapsed();
        let rate = |time: Duration| 100.0 * f64::from(calls) / time.as_secs_f64();
        let (scripts, batches) = (rate(scripts), rate(batches));
        let part = scripts / batches;
        println!("on disk {on_disk}: scripts {scripts:.0}/s, batches {batches:.0}/s, {part:.2}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn timing_of_a_function() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    for call in 0..1_000 {
        let operations = (0..100).map(|n| create(&document(&format!("{call}-{n}"), n)));
        let answer = world.batch(&container, KEY, operations.collect()).await;
        assert!(answer.result.unwrap().iter().all(Result::is_ok));
    }
    let kind = ScriptKind::Function;
    world
        .register(kind, "twice", "function (x) { return x * 2 }")
        .await;
    world
        .register(kind, "n", "function (doc) { return doc.n }")
        .await;
    let mut plain = Duration::ZERO;
    for text in [
        "SELECT VALUE COUNT(1) FROM c WHERE c.n * 2 > 50",
        "SELECT VALUE COUNT(1) FROM c WHERE udf.twice(c.n) > 50",
        "SELECT VALUE COUNT(1) FROM c WHERE udf.n(c.o) > 50",
    ] {
        let mut times = Vec::new();
        for _ in 0..5 {
            let begun = Instant::now();
            super::functions::rows(&world, &container, text)
                .await
                .unwrap();
            times.push(begun.elapsed());
        }
        let time = median(times);
        let added = time.saturating_sub(plain) / 100_000;
        println!("{text}: {time:?}, {added:?} an item more than the first");
        if plain.is_zero() {
            plain = time;
        }
    }
}
