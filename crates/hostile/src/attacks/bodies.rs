//! Clients that send bodies which the server must not store.

use std::sync::Arc;
use std::time::Duration;

use crate::attack::Outcome;
use crate::rest::{Client, Credential, Request};
use crate::target::{CONTAINER, DATABASE, Target};

/// The announced length. It is not a multiple of [`PIECE_BYTES`], so the body stays incomplete.
const BODY_BYTES: usize = 2_000_000;
/// The announced length of a query. Half of the query arrives at once.
const UNFINISHED_BYTES: usize = 1_000_000;
const PIECE_BYTES: usize = 64 * 1024;

/// Sends two megabytes without the last byte, under a wrong signature.
pub(super) async fn unsigned(target: Arc<Target>) -> Outcome {
    let token = "type=master&ver=1.0&sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let mut client = Client::new(target.address, Credential::Token(token.to_owned()));
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs");
    let request = Request {
        method: "POST",
        path: &path,
        headers: &[("x-ms-documentdb-partitionkey", "[\"mine\"]")],
        body: b"",
    };
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    if client.begin(request, BODY_BYTES).await.is_err() {
        return Outcome::Closed;
    }
    // The server may refuse the signature before the body is complete. Sending then fails.
    let piece = vec![b'x'; PIECE_BYTES];
    for _ in 0..BODY_BYTES / PIECE_BYTES {
        if client.send(&piece).await.is_err() {
            return Outcome::Closed;
        }
    }
    wait(&mut client).await
}

/// Begins a query that the token allows, and then sends one byte each second.
pub(super) async fn unfinished(target: Arc<Target>) -> Outcome {
    let mut client = Client::with_token(target.address, &target.read_token);
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs");
    let request = Request {
        method: "POST",
        path: &path,
        headers: &[
            ("x-ms-documentdb-partitionkey", "[\"mine\"]"),
            ("x-ms-documentdb-isquery", "true"),
            ("content-type", "application/query+json"),
        ],
        body: b"",
    };
    if client.connect().await.is_err() {
        return Outcome::NotConnected;
    }
    if client.begin(request, UNFINISHED_BYTES).await.is_err() {
        return Outcome::Closed;
    }
    // White space is valid before a JSON value, so a parser finds no mistake in this body.
    let piece = vec![b' '; UNFINISHED_BYTES / 2];
    if client.send(&piece).await.is_err() {
        return Outcome::Closed;
    }
    loop {
        // At one byte per second the rest of the body would take days.
        tokio::time::sleep(Duration::from_secs(1)).await;
        if client.send(b" ").await.is_err() {
            return Outcome::Closed;
        }
    }
}

/// Waits until the server closes the connection. The outcome is the status of its first answer.
async fn wait(client: &mut Client) -> Outcome {
    let mut received = client.receive().await;
    let status = received.as_ref().ok().and_then(|bytes| {
        let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
        std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()
    });
    while received.is_ok_and(|bytes| !bytes.is_empty()) {
        received = client.receive().await;
    }
    status.map_or(Outcome::Closed, Outcome::Status)
}
