//! Keeps browsers from sending a request a second time.
//!
//! A browser that receives 408 over a connection that it used before assumes that the request never
//! arrived, and sends the request again by itself, even if the request writes or runs a procedure.
//! No script of a page can forbid this. So the explorer says in a header that a browser sends its
//! requests. The answer to such a request has status 504, which browsers do not repeat, and the
//! true status in a header.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use orrery_wire::names;

/// Changes the answer to a request with these headers if a browser would repeat the request.
pub(crate) fn forbid_repeat(request: &HeaderMap, response: &mut Response<Bytes>) {
    if response.status() != StatusCode::REQUEST_TIMEOUT || !is_from_browser(request) {
        return;
    }
    let status = HeaderValue::from(response.status().as_u16());
    let name = HeaderName::from_static(names::STATUS);
    response.headers_mut().insert(name, status);
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
}

fn is_from_browser(request: &HeaderMap) -> bool {
    let value = request.get(names::BROWSER);
    value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}
