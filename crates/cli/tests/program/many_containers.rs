//! A server with a thousand containers restarts as quickly as a server with few.

use std::fs;
use std::time::{Duration, Instant};

use crate::process::{Server, check, orrery};

const CONTAINERS: usize = 1_000;

fn seed() -> String {
    let container = |number| {
        format!(r#"{{"id":"c{number}","partitionKey":"/a","items":[{{"id":"1","a":2}}]}}"#)
    };
    let containers: Vec<_> = (0..CONTAINERS).map(container).collect();
    let containers = containers.join(",");
    format!(r#"{{"databases":[{{"id":"db","containers":[{containers}]}}]}}"#)
}

#[test]
fn a_thousand_containers_start_again_quickly() {
    let directory = tempfile::tempdir().unwrap();
    let (seed_file, data) = (
        directory.path().join("seed.json"),
        directory.path().join("data"),
    );
    fs::write(&seed_file, seed()).unwrap();
    let serve = || {
        let mut command = orrery(["serve", "--data"]);
        command.arg(&data);
        command
    };
    let mut seeding = serve();
    seeding.arg("--seed").arg(&seed_file);
    assert_eq!(Server::start(seeding).stop("-TERM").0, Some(0));

    // Without optimisation and beside other tests; an optimised server needs a fraction.
    let mut tries = 0;
    loop {
        let started = Instant::now();
        let server = Server::start(serve());
        let elapsed = started.elapsed();
        assert_eq!(server.get("/ready").0, "HTTP/1.1 200 OK");
        server.stop("-TERM");
        if elapsed < Duration::from_secs(5) {
            break;
        }
        tries += 1;
        assert!(tries < 4, "{elapsed:?}");
    }
    assert_eq!(check(&data).status.code(), Some(0));
}
