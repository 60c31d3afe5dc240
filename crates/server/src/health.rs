//! `GET /ready` and `GET /health`: the state of the store for load balancers and supervisors.
//!
//! `/ready` says whether clients should send requests here: 200 while the server takes reads and
//! writes, 503 while it refuses writes; `/ready?for=reads` stays 200 then. `/health` says whether a
//! restart would help: 503 when the store has failed, else 200. Both bodies contain the state of
//! the store and, on a loopback address, the cause.

use bytes::Bytes;
use hyper::{Response, StatusCode};
use orrery_engine::StoreStatus;
use orrery_json::{Object, Value, write_value};

use crate::public::respond;
use crate::state::State;

const FOR_READS: &str = "for=reads";

pub(crate) fn ready(state: &State, query: Option<&str>) -> Response<Bytes> {
    let status = state.region.engine().store_status();
    // A load balancer for reads can keep a server whose disk is full.
    let is_for_reads = query.is_some_and(|query| query.split('&').any(|part| part == FOR_READS));
    let is_ready = is_for_reads || status == StoreStatus::Writable;
    answer(state, &status, is_ready)
}

pub(crate) fn health(state: &State) -> Response<Bytes> {
    let status = state.region.engine().store_status();
    // A restart does not help against a full disk, so refused writes are healthy here.
    let is_well = !matches!(status, StoreStatus::Failed(_));
    answer(state, &status, is_well)
}

fn answer(state: &State, status: &StoreStatus, is_good: bool) -> Response<Bytes> {
    let findings = state.region.engine().scrub().findings;
    let mut response = respond(
        "application/json",
        &body(status, findings, state.is_loopback()),
    );
    if !is_good {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// `{"status":"ok"}`, or the problem: `reads`, `writes`, the cause of refused writes, and whether
/// damage was found. A cause may contain paths of this machine, so a server includes it only on a
/// loopback address.
fn body(status: &StoreStatus, findings: u64, tells_cause: bool) -> Vec<u8> {
    let (word, cause) = match status {
        StoreStatus::Writable if findings > 0 => ("damaged", None),
        StoreStatus::Writable => ("ok", None),
        StoreStatus::Refusing(cause) => ("refusing writes", Some(cause)),
        StoreStatus::Failed(cause) => ("failed", Some(cause)),
    };
    let mut object = Object::default();
    let mut put = |name: &str, text: &str| {
        object.insert(name.to_owned(), Value::String(text.to_owned()));
    };
    put("status", word);
    if let Some(cause) = cause {
        put("reads", "served");
        put("writes", "refused");
        put(
            "cause",
            if tells_cause {
                cause
            } else {
                "the log of the server says it"
            },
        );
    }
    if findings > 0 {
        put(
            "damage",
            "stored data is damaged; see the log of the server and run `orrery check`",
        );
    }
    let mut out = Vec::new();
    write_value(&Value::Object(object), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_tell_what_is_wrong() {
        let text = |status: StoreStatus, findings| {
            String::from_utf8(body(&status, findings, true)).expect("JSON is text")
        };
        assert_eq!(text(StoreStatus::Writable, 0), r#"{"status":"ok"}"#);
        assert!(text(StoreStatus::Writable, 2).starts_with(r#"{"status":"damaged","damage":"#));
        assert_eq!(
            text(StoreStatus::Refusing("no room".to_owned()), 0),
            r#"{"status":"refusing writes","reads":"served","writes":"refused","cause":"no room"}"#
        );
        assert!(text(StoreStatus::Failed("x".to_owned()), 0).contains(r#""status":"failed""#));
        let outside = body(&StoreStatus::Failed("/secret/path".to_owned()), 0, false);
        assert!(!String::from_utf8_lossy(&outside).contains("secret"));
    }
}
