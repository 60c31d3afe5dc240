//! Clients that take what they can get: the process stays within its memory and its files, and an honest
//! client is served meanwhile.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use orrery_client::RequestDate;

use crate::client::Client;
use crate::process::{Server, orrery};

const MEBIBYTE: u64 = 1024 * 1024;
const WAIT_MAX: Duration = Duration::from_mins(1);
const DOCS: &str = "/dbs/d/colls/c/docs";
const CONTAINER: &str = "dbs/d/colls/c";
const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", r#"["p"]"#);

fn address(server: &Server) -> SocketAddr {
    let address = server.ready.endpoint.strip_prefix("http://").unwrap();
    address.trim_end_matches('/').parse().unwrap()
}

fn honest(server: &Server) -> Client {
    let mut client = Client::connect(address(server), WAIT_MAX).unwrap();
    let mut made = |path, kind, link, body| {
        let answer = client.send("POST", path, kind, link, &[], body);
        assert_eq!(answer.unwrap().status, 201);
    };
    made("/dbs", "dbs", "", r#"{"id":"d"}"#);
    let definition = r#"{"id":"c","partitionKey":{"paths":["/p"],"kind":"Hash","version":2}}"#;
    made("/dbs/d/colls", "colls", "dbs/d", definition);
    client
}

fn write(client: &mut Client, id: &str, bytes: usize) {
    let body = format!(r#"{{"id":"{id}","p":"p","t":"{}"}}"#, "x".repeat(bytes));
    let begun = Instant::now();
    loop {
        let answer = client.send("POST", DOCS, "docs", CONTAINER, &[KEY], &body);
        let answer = answer.unwrap();
        // The attackers use the same key as this client, and the server frees their share only when
        // it has noticed that they are gone.
        if answer.status != 429 || begun.elapsed() > WAIT_MAX {
            assert_eq!(answer.status, 201, "{}", answer.body);
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The most memory that the process has had, of the kind that no file stands behind.
fn peak_bytes(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.ready.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// HTTP/2 by hand: a client that lets the server send nothing of its answers.
fn with_window_zero(address: SocketAddr, requests: u32) -> TcpStream {
    let date = RequestDate::now();
    let date = date.header();
    let authority = address.to_string();
    let authorization = crate::client::authorization("GET", "docs", CONTAINER, date);
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", DOCS),
        (":authority", &authority),
        ("x-ms-date", date),
        ("authorization", &authorization),
    ] {
        // A literal that no table remembers; no length here is above 126.
        for text in [name, value] {
            if text == name {
                block.push(0);
            }
            let length = text.len();
            if length < 127 {
                block.push(u8::try_from(length).unwrap());
            } else {
                block.extend([127, u8::try_from(length - 127).unwrap()]);
            }
            block.extend_from_slice(text.as_bytes());
        }
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE = 0
    bytes.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    for request in 0..requests {
        // HEADERS with END_STREAM and END_HEADERS
        bytes.extend(frame(1, 5, 2 * request + 1, &block));
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&bytes).unwrap();
    stream
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn the_process_stays_within_its_memory() {
    let mut command = orrery(["serve", "--memory", "--memory-for-requests=64MiB"]);
    command.args(["--cache=1MiB", "--connections=400"]);
    let server = Server::start(command);
    let mut client = honest(&server);
    for id in ["a", "b"] {
        write(&mut client, id, 1_900_000);
    }
    let before = peak_bytes(&server);
    let address = address(&server);
    let mut attackers = Vec::new();
    // Bodies of 300 MB that nobody may send.
    for _ in 0..150 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(WAIT_MAX)).unwrap();
        let head = "POST /dbs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000001\r\n\r\n";
        // The server may have hung up.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'x'; 2_000_000]);
        attackers.push(stream);
        read(&mut client);
    }
    // Answers of 600 MB that nobody reads.
    for _ in 0..8 {
        attackers.push(with_window_zero(address, 20));
        read(&mut client);
    }
    for _ in 0..300 {
        attackers.push(TcpStream::connect(address).unwrap());
    }
    for _ in 0..50 {
        read(&mut client);
    }
    let grown = peak_bytes(&server) - before;
    assert!(grown < 160 * MEBIBYTE, "{} MiB", grown / MEBIBYTE);
    drop(attackers);
    write(&mut client, "c", 10);
}

fn read(client: &mut Client) {
    let path = format!("{DOCS}/a");
    let link = format!("{CONTAINER}/docs/a");
    let answer = client.send("GET", &path, "docs", &link, &[KEY], "");
    let answer = answer.unwrap();
    // The attackers use the same key as this client, so they may have used up the share of this
    // key.
    let is_told_to_wait = answer.status == 429 && answer.header("x-ms-retry-after-ms").is_some();
    assert!(answer.status == 200 || is_told_to_wait, "{}", answer.body);
}

#[test]
fn the_process_may_open_as_many_files_as_the_system_has_for_it() {
    let program = orrery([]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 64 && exec \"$0\" \"$@\""]);
    command
        .arg(program.get_program())
        .args(["serve", "--memory"]);
    let server = Server::start(command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.ready.pid)).unwrap();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let mut words = files.unwrap().split_whitespace().skip(3);
    assert_eq!(words.next(), words.next());
}

#[test]
fn silent_connections_leave_files_to_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let program = orrery([]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 128 && exec \"$0\" \"$@\""]);
    command.arg(program.get_program());
    command.args(["serve", "--durability=none", "--data"]);
    command.arg(directory.path());
    let server = Server::start(command);
    let mut client = honest(&server);
    let mut silent = Vec::new();
    for item in 0..60 {
        for _ in 0..5 {
            silent.push(TcpStream::connect(address(&server)).unwrap());
        }
        // Enough for new segments of the log.
        write(&mut client, &item.to_string(), 1_900_000);
        // Clients also come.
        let mut other = Client::connect(address(&server), WAIT_MAX).unwrap();
        let answer = other.send("GET", "/dbs/d", "dbs", "dbs/d", &[], "");
        assert_eq!(answer.unwrap().status, 200);
    }
}
