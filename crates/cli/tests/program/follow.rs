//! The shell follows the changes of a container while its partitions split.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use orrery_client::{Key, RequestDate, SignaturePayload, Signer};

use crate::process::{Server, orrery};
use crate::shell::library;

const WAIT_MAX: Duration = Duration::from_mins(1);

#[test]
fn no_change_is_lost_in_a_split() {
    let (_directory, server) = library();
    let place = ["-d", "my db", "-n", "books", "-o", "json"];
    let mut command = orrery(["shell", "-c", &server.ready.endpoint]);
    command
        .args(place)
        .args(["-e", "watch every 0.05 changes from beginning"]);
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let (send, items) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let write = |ids: std::ops::Range<u32>| {
        let statements: Vec<String> = ids
            .map(|n| format!(r#"create {{"id":"{n}","shelf":"s{n}"}}"#))
            .collect();
        let mut command = orrery(["shell", "-c", &server.ready.endpoint]);
        let output = command
            .args(place)
            .args(["-e", &statements.join(";")])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let take = |count: usize| -> Vec<String> {
        let next = || items.recv_timeout(WAIT_MAX).expect("another change");
        (0..count).map(|_| next()).collect()
    };
    assert_eq!(take(2).len(), 2);
    write(10..20);
    assert_eq!(take(10).len(), 10);
    split(&server);
    write(20..40);
    let after = take(20);
    for n in 20..40 {
        let name = format!(r#""id":"{n}""#);
        let times = after.iter().filter(|line| line.contains(&name)).count();
        assert_eq!(times, 1, "{n} in {after:?}");
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// Cuts the first partition of the container in two.
fn split(server: &Server) {
    let date = RequestDate::now();
    let key: Key = server.ready.key.as_ref().unwrap().parse().unwrap();
    let signed = SignaturePayload {
        verb: "post",
        resource_type: "partitions",
        link: "dbs/my db/colls/books",
    };
    let authorization = Signer::new(&key).authorization(signed, date.lower_case());
    let date = date.header();
    let body = r#"{"split":{"id":"0","at":"keys"}}"#;
    let address = server.ready.endpoint.trim_start_matches("http://");
    let address = address.trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /_orrery/dbs/my%20db/colls/books/partitions HTTP/1.1\r\nhost: {address}\r\n\
         authorization: {authorization}\r\nx-ms-date: {date}\r\n\
         x-ms-version: 2020-07-15\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
