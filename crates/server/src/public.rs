//! Answers in other forms than the protocol's, most of which need no key.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::metrics;
use crate::state::State;
use crate::{explorer, health};

/// The answer to a public path. None for any other path.
pub(crate) fn answer(state: &State, parts: &Parts) -> Option<Response<Bytes>> {
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return None;
    }
    match parts.uri.path() {
        "/ready" => Some(health::ready(state, parts.uri.query())),
        "/health" => Some(health::health(state)),
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

/// The metrics of the server, in the text format of Prometheus.
pub(crate) fn metrics(state: &State) -> Response<Bytes> {
    let report = state.account.upgrade().map(|account| account.report());
    let text = metrics::text(
        &state.metrics,
        &state.direct_counts,
        &state.governor,
        &state.region.engine(),
        report.as_ref(),
    );
    respond("text/plain; version=0.0.4", text.as_bytes())
}

/// A response with status 200.
pub(crate) fn respond(content_type: &'static str, body: &[u8]) -> Response<Bytes> {
    let mut response = Response::new(Bytes::copy_from_slice(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
