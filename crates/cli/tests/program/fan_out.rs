//! The shell against an endpoint that, like the service, does not run queries over several partitions:
//! a gate in front of a real server refuses them with 400/1004 and lets everything else through.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::process::{Server, orrery};

const REFUSAL: &str = r#"{"code":"BadRequest","message":"The provided cross partition query can not be directly served by the gateway."}"#;

#[test]
fn each_partition_is_asked_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let mut items = String::new();
    for n in 0..40 {
        let comma = if n > 0 { "," } else { "" };
        write!(items, r#"{comma}{{"id":"{n}","n":{n}}}"#).unwrap();
    }
    let seed = directory.path().join("seed.json");
    let text = format!(
        r#"{{"databases":[{{"id":"d","containers":[
            {{"id":"c","partitionKey":"/id","throughput":30000,"items":[{items}]}}]}}]}}"#
    );
    fs::write(&seed, text).unwrap();
    let mut command = orrery(["serve", "--memory", "--seed"]);
    command.arg(seed);
    let server = Server::start(command);
    let gate = gate(&server);
    let run = |statement: &str| {
        let place = [
            "shell", "-c", &gate, "-d", "d", "-n", "c", "-o", "json", "-e",
        ];
        orrery(place).arg(statement).output().unwrap()
    };

    let output = run("SELECT VALUE c.n FROM c WHERE c.n >= 0");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let out = String::from_utf8(output.stdout).unwrap();
    let mut found: Vec<u32> = out.lines().map(|line| line.parse().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, (0..40).collect::<Vec<u32>>());
    let partitions = run("partitions").stdout;
    let partitions = String::from_utf8(partitions).unwrap().lines().count();
    assert!(
        partitions > 1 && err.contains(&format!("{partitions} pages")),
        "{err}"
    );

    let output = run("SELECT VALUE c.n FROM c WHERE c.id = '7' ORDER BY c.n");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        err.contains("ORDER BY") && err.contains("query plan"),
        "{err}"
    );
    assert!(
        err.contains("400/1004") && err.contains("directly served"),
        "{err}"
    );

    let output = run(
        "key 7; SELECT VALUE c.n FROM c ORDER BY c.n; key \"7\"; SELECT VALUE c.n FROM c ORDER BY c.n",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7\n");
}

/// The address of a gate in front of a server.
fn gate(server: &Server) -> String {
    let address = server.ready.endpoint.trim_start_matches("http://");
    let address = address.trim_end_matches('/').to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            let address = address.clone();
            thread::spawn(move || pass(client.unwrap(), &address));
        }
    });
    gate
}

fn pass(client: TcpStream, address: &str) {
    let server = TcpStream::connect(address).unwrap();
    let mut from_client = BufReader::new(client.try_clone().unwrap());
    let mut from_server = BufReader::new(server.try_clone().unwrap());
    let (mut client, mut server) = (client, server);
    while let Some(request) = message(&mut from_client) {
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        let is_query = text.contains("x-ms-documentdb-isquery") && text.contains("/docs ");
        let names_partition = text.contains("x-ms-documentdb-partitionkey");
        if is_query && !names_partition {
            let length = REFUSAL.len();
            let head = "HTTP/1.1 400 Bad Request\r\nx-ms-substatus: 1004";
            let refusal = format!("{head}\r\ncontent-length: {length}\r\n\r\n{REFUSAL}");
            client.write_all(refusal.as_bytes()).unwrap();
        } else {
            server.write_all(&request).unwrap();
            let Some(answer) = message(&mut from_server) else {
                return;
            };
            client.write_all(&answer).unwrap();
        }
    }
}

/// Head and body of one message; nothing at the end of the connection.
fn message(from: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        message.extend_from_slice(line.as_bytes());
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    message.extend(body);
    Some(message)
}
