//! The program within limits of the system, which let its writes and its opens fail in the middle of a
//! run, those of the embedded engine as well: files that may not grow beyond a size, and few files.
//!
//! Whatever fails, the server answers or ends with a message, and nothing that it acknowledged is lost.
//! `ORRERY_LIMITS` is how many limits are tried of each kind. Other systems have no such limits.

use std::path::Path;
use std::time::Duration;

use crate::client::Client;
use crate::prepare;
use crate::server::{self, Server};

const LIMITS: &str = "ORRERY_LIMITS";
const LIMITS_DEFAULT: usize = 3;
const FILES: &str = "ulimit -n ";
/// Longer than any answer takes.
const WAIT_MAX: Duration = Duration::from_secs(20);
const ITEMS: usize = 90;
const ITEM_BYTES: usize = 400_000;

/// Blocks of 512 bytes, from what a start needs to what nobody needs.
fn file_sizes(count: usize) -> impl Iterator<Item = usize> {
    let (least, most) = (4_000, 72_000);
    (0..count).map(move |number| least + (most - least) * number / count.max(1))
}

fn path(number: usize) -> String {
    format!("/dbs/d/colls/c/docs/{number}")
}

fn write(client: &mut Client, number: usize) -> std::io::Result<u16> {
    let text = "x".repeat(ITEM_BYTES);
    let body = format!(r#"{{"id":"{number}","p":"p","x":"{text}"}}"#);
    let headers = [("x-ms-documentdb-partitionkey", r#"["p"]"#)];
    let answer = client.send(
        "POST",
        "/dbs/d/colls/c/docs",
        "docs",
        "dbs/d/colls/c",
        &headers,
        &body,
    );
    answer.map(|answer| answer.status)
}

fn is_there(client: &mut Client, number: usize) -> bool {
    let headers = [("x-ms-documentdb-partitionkey", r#"["p"]"#)];
    let path = path(number);
    let answer = client.send("GET", &path, "docs", &path[1..], &headers, "");
    let answer = answer.unwrap();
    answer.status == 200 && answer.body.contains(&"x".repeat(ITEM_BYTES))
}

/// Fills a store within a limit, until it refuses, ends, or has all; gives what it acknowledged.
fn fill(server: &mut Server, limit: &str) -> Vec<usize> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = server.client_with(WAIT_MAX) else {
        return acknowledged;
    };
    for number in 0..ITEMS {
        match write(&mut client, number) {
            Ok(201) => acknowledged.push(number),
            Ok(503) => {}
            Ok(status) => panic!("a write ended with {status}"),
            // A server without a free file handle cannot accept the connection, so the client waits
            // in vain while the server goes on.
            Err(_) if limit.starts_with(FILES) => break,
            Err(_) => {
                let begun = std::time::Instant::now();
                while server.runs() && begun.elapsed() < Duration::from_mins(1) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                assert!(
                    !server.runs(),
                    "the server answers no more and does not end"
                );
                break;
            }
        }
    }
    acknowledged
}

fn check_limit(limit: &str, root: &Path) -> bool {
    let data = root.join("data");
    let mut server = Server::start(&data);
    prepare(&server);
    server.stop();
    let mut acknowledged = Vec::new();
    match Server::start_within(limit, &data) {
        Ok(mut limited) => {
            acknowledged = fill(&mut limited, limit);
            limited.kill();
        }
        Err(said) => assert!(said.to_lowercase().contains("error"), "{limit}: {said}"),
    }
    let mut server = Server::start(&data);
    let mut client = server.client();
    for number in &acknowledged {
        assert!(
            is_there(&mut client, *number),
            "{limit}: item {number} is gone"
        );
    }
    drop(client);
    server.stop();
    let state = server::check(&data);
    assert!(state.ends_with(" documents, clean"), "{limit}: {state}");
    acknowledged.len() < ITEMS
}

#[test]
fn nothing_acknowledged_is_lost_when_files_may_not_grow() {
    let count = std::env::var(LIMITS).map_or(LIMITS_DEFAULT, |count| count.parse().unwrap());
    let mut refused = 0;
    for blocks in file_sizes(count) {
        let root = tempfile::tempdir().unwrap();
        refused += usize::from(check_limit(&format!("ulimit -f {blocks}"), root.path()));
    }
    assert!(refused > 0, "no limit was met");
}

#[test]
fn nothing_acknowledged_is_lost_when_files_run_out() {
    let count = std::env::var(LIMITS).map_or(LIMITS_DEFAULT, |count| count.parse().unwrap());
    for number in 0..count {
        let root = tempfile::tempdir().unwrap();
        let files = 14 + number * 30 / count;
        check_limit(&format!("{FILES}{files}"), root.path());
    }
}
