//! Clients that request large answers and read few bytes of them or none.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::attack::Outcome;
use crate::attacks::outcome;
use crate::http2::Connection;
use crate::rest::{Client, Request};
use crate::target::{CONTAINER, DATABASE, LARGE_ITEM, Target};

const KEY_HEADER: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"mine\"]");
/// The number of requests on one connection, whose answers together exceed the socket buffers.
const PIPELINED: usize = 20;
/// The number of streams on one HTTP/2 connection.
const STREAMS: usize = 100;

/// The path of the item of 2 MB.
fn large_path() -> String {
    format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs/{LARGE_ITEM}")
}

/// Sends requests one after the other and reads no answer.
pub(super) async fn unread_http1(target: Arc<Target>) -> Outcome {
    let mut client = Client::with_token(target.address, &target.read_token);
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let path = large_path();
    let request = Request {
        method: "GET",
        path: &path,
        headers: &[KEY_HEADER],
        body: b"",
    };
    for _ in 0..PIPELINED {
        if client.begin(request, 0).await.is_err() {
            return Outcome::Closed;
        }
    }
    // Each second the client sends a line end, which fails once the server has closed the connection.
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if client.send(b"\r\n").await.is_err() {
            return Outcome::Closed;
        }
    }
}

/// Requests large answers, and keeps the flow-control window of every stream at zero.
pub(super) async fn closed_window(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = large_reads(&target).await else {
        return Outcome::NotConnected;
    };
    while connection.receive().await.is_ok() {}
    Outcome::Closed
}

/// Opens the window of each stream by one byte per second.
pub(super) async fn dripping_window(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = large_reads(&target).await else {
        return Outcome::NotConnected;
    };
    // One byte for each stream and second is far below the rate that the server demands.
    loop {
        // Streams that a client opens have odd numbers.
        for stream in (1..2 * STREAMS).step_by(2) {
            let stream = u32::try_from(stream).expect("few streams");
            if connection.window_update(stream, 1).await.is_err() {
                return Outcome::Closed;
            }
        }
        // The client also reads, so that a GOAWAY frame or the end of the connection ends the
        // round.
        let second = tokio::time::sleep(Duration::from_secs(1));
        tokio::pin!(second);
        loop {
            tokio::select! {
                () = &mut second => break,
                received = connection.receive() => if received.is_err() {
                    return Outcome::Closed;
                },
            }
        }
    }
}

/// Requests the large item on many streams with a window of 0, so that the server may send no byte
/// of the answers.
async fn large_reads(target: &Target) -> anyhow::Result<Connection> {
    let mut connection = Connection::open(target.address, 0).await?;
    let mut signer = Client::with_token(target.address, &target.read_token);
    let path = large_path();
    let lines = String::from_utf8(signer.authorization("GET", &path))?;
    let host = target.address.to_string();
    let mut headers = vec![
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", host.as_str()),
        (":path", path.as_str()),
        ("x-ms-version", "2020-07-15"),
        KEY_HEADER,
    ];
    headers.extend(lines.lines().filter_map(|line| line.split_once(": ")));
    for _ in 0..STREAMS {
        // The server may close the connection before the client has sent all requests.
        if connection.request(&headers, None).await.is_err() {
            break;
        }
    }
    Ok(connection)
}

/// Requests one large item a hundred times in one bulk, so the answer would exceed any limit.
pub(super) async fn repeated_reads(target: Arc<Target>) -> Outcome {
    let operation = json!({
        "operationType": "Read",
        "id": LARGE_ITEM,
        "partitionKey": "[\"mine\"]",
    });
    let body = serde_json::Value::Array(vec![operation; 100]).to_string();
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs");
    let mut client = Client::with_token(target.address, &target.write_token);
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    let request = Request {
        method: "POST",
        path: &path,
        headers: &[
            KEY_HEADER,
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", "False"),
            ("x-ms-cosmos-batch-continue-on-error", "True"),
            ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ],
        body: body.as_bytes(),
    };
    outcome(client.request(request).await)
}
