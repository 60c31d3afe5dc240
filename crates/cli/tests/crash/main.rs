//! A server that is killed under load, again and again, loses nothing that it acknowledged.
//!
//! Each worker owns its items and has one open request at a time. So a worker knows the items that
//! the server must have after a kill: the state after the last answer, or that state with the whole
//! effect of the one request without an answer. Requests are single writes, batches and stored
//! procedures, some of which throw at their end.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod client;
#[cfg(unix)]
mod limits;
mod random;
mod server;
mod worker;

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::random::Random;
use crate::server::Server;
use crate::worker::{PROCEDURE, Worker};

const ROUNDS: usize = 50;
const WORKERS: usize = 8;
const SEED: u64 = 1;

#[test]
fn every_acknowledged_write_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut random = Random::new(SEED);
    let mut server = Server::start(&data);
    prepare(&server);
    let mut workers: Vec<Worker> = (0..WORKERS).map(Worker::new).collect();
    let begun = Instant::now();
    let mut slowest = Duration::ZERO;
    for round in 1..=ROUNDS {
        thread::scope(|scope| {
            for worker in &mut workers {
                let client = server.client();
                scope.spawn(move || worker.work(client));
            }
            thread::sleep(Duration::from_millis(20 + random.below(280)));
            server.kill();
        });
        server = Server::start(&data);
        slowest = slowest.max(server.time_to_ready);
        thread::scope(|scope| {
            for worker in &mut workers {
                let client = server.client();
                scope.spawn(move || worker.verify(client));
            }
        });
        if round % 10 == 0 {
            println!(
                "round {round}: {} writes acknowledged, {} of {} unanswered ones happened, ready in {:?}",
                sum(&workers, |worker| worker.acknowledged),
                sum(&workers, |worker| worker.unanswered_happened),
                sum(&workers, |worker| worker.unanswered),
                server.time_to_ready,
            );
        }
    }
    for worker in &mut workers {
        worker.read_each(server.client());
    }
    let items = sum(&workers, Worker::items);
    // Right after a kill the state may lack records that only the log has; the records that the
    // state has must be whole.
    server.kill();
    let state = server::check(&data);
    assert!(state.ends_with(" documents, clean"), "{state}");
    #[cfg(unix)]
    {
        server = Server::start(&data);
        server.stop();
        assert_eq!(server::check(&data), format!("{items} documents, clean"));
    }
    println!(
        "{ROUNDS} kills in {:?}: {} acknowledged writes checked, {items} items left, slowest start {slowest:?}",
        begun.elapsed(),
        sum(&workers, |worker| worker.acknowledged),
    );
}

fn sum(workers: &[Worker], count: impl Fn(&Worker) -> usize) -> usize {
    workers.iter().map(count).sum()
}

fn prepare(server: &Server) {
    let mut client: Client = server.client();
    let database = client
        .send("POST", "/dbs", "dbs", "", &[], r#"{"id":"d"}"#)
        .unwrap();
    assert_eq!(database.status, 201, "{}", database.body);
    let definition = r#"{"id":"c","partitionKey":{"paths":["/p"],"kind":"Hash","version":2}}"#;
    let throughput = [("x-ms-offer-throughput", "18000")];
    let container = client
        .send(
            "POST",
            "/dbs/d/colls",
            "colls",
            "dbs/d",
            &throughput,
            definition,
        )
        .unwrap();
    assert_eq!(container.status, 201, "{}", container.body);
    let procedure = serde_json::json!({"id": "s", "body": PROCEDURE}).to_string();
    let (path, link) = ("/dbs/d/colls/c/sprocs", "dbs/d/colls/c");
    let script = client.send("POST", path, "sprocs", link, &[], &procedure);
    let script = script.unwrap();
    let activity = script.header("x-ms-activity-id").unwrap();
    assert_eq!(script.status, 201, "{activity}: {}", script.body);
}
