//! What is answered in other forms than the protocol's, most of it without a key.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::explorer;
use crate::metrics;
use crate::state::State;

/// The answer to a public path; none if the path is not one.
pub(crate) fn answer(state: &State, parts: &Parts) -> Option<Response<Bytes>> {
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return None;
    }
    match parts.uri.path() {
        "/ready" | "/health" => Some(respond("application/json", br#"{"status":"ok"}"#)),
        "/_explorer/emulator.pem" => Some(match &state.tls {
            Some(identity) => {
                let pem = identity.certificate_pem();
                respond("application/x-pem-file", pem.as_bytes())
            }
            None => {
                let mut response = respond(
                    "text/plain",
                    b"this server runs without TLS and has no certificate\n",
                );
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }),
        _ => explorer::answer(state, parts),
    }
}

/// The counts of the server, as Prometheus reads them.
pub(crate) fn metrics(state: &State) -> Response<Bytes> {
    let report = state.account.upgrade().map(|account| account.report());
    let text = metrics::text(
        &state.metrics,
        &state.governor,
        &state.region.engine(),
        report.as_ref(),
    );
    respond("text/plain; version=0.0.4", text.as_bytes())
}

fn respond(content_type: &'static str, body: &[u8]) -> Response<Bytes> {
    let mut response = Response::new(Bytes::copy_from_slice(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
