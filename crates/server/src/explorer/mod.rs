//! `/_explorer/`: the pages of the explorer, and of operators, which the server carries in itself.
//!
//! These are only files. The explorer is a client like any other: it signs its requests in the
//! browser and asks what the protocol offers; so is the page of operators, which the listener for
//! operators serves. Their links are relative, so that they also work behind a proxy that puts a path
//! in front and on ports that are mapped.

mod asset;
mod config;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};

use crate::state::State;
use asset::Asset;

const FOLDER: &str = "/_explorer/";
const EXPLORER: &str = "index.html";
const REGIONS: &str = "regions.html";

/// Nothing from anywhere else, and no script that is not one of the files. The sheets of the editor
/// are constructed, which needs no exception; attributes do, because browsers write some when
/// coloured text is typed over.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
                      img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The name of such a file changes with its content.
const FOREVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// The answer to a path of the explorer; none if the path is not one.
pub(crate) fn answer(state: &State, parts: &Parts) -> Option<Response<Bytes>> {
    if parts.uri.path().strip_prefix(FOLDER) == Some("config.json") {
        let body = config::body(state).into();
        return Some(with_body("application/json", ASK_AGAIN, body));
    }
    page(EXPLORER, parts)
}

/// The same for the page of operators.
pub(crate) fn answer_operator(parts: &Parts) -> Option<Response<Bytes>> {
    let only_reads = matches!(parts.method, Method::GET | Method::HEAD);
    page(REGIONS, parts).filter(|_| only_reads)
}

/// The files of one page; the other one would not find here what it asks for.
fn page(index: &'static str, parts: &Parts) -> Option<Response<Bytes>> {
    let path = parts.uri.path();
    match path.strip_prefix(FOLDER) {
        Some(name) => {
            let name = if name.is_empty() { index } else { name };
            let is_other = [EXPLORER, REGIONS].contains(&name) && name != index;
            let found = asset::find(name).filter(|_| !is_other);
            Some(found.map_or_else(not_found, |asset| serve(asset, parts)))
        }
        // Relative, as a proxy may have taken a part of the path away.
        None if path == "/_explorer" => Some(redirect("_explorer/")),
        None if path == "/" && is_person(&parts.headers) => Some(redirect("_explorer/")),
        None => None,
    }
}

/// Clients ask for JSON; only a browser that somebody typed the address into asks for a page.
fn is_person(headers: &HeaderMap) -> bool {
    !headers.contains_key(AUTHORIZATION)
        && headers
            .get(ACCEPT)
            .and_then(|accepted| accepted.to_str().ok())
            .is_some_and(|accepted| accepted.contains("text/html"))
}

fn serve(asset: &'static Asset, parts: &Parts) -> Response<Bytes> {
    let accepted = parts.headers.get(ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    let (encoding, bytes) = asset.encoded(accepted.unwrap_or_default());
    let tag = asset.entity_tag(encoding);
    let known = parts.headers.get(IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag));
    let body = if is_known || parts.method == Method::HEAD {
        Bytes::new()
    } else {
        Bytes::from_static(bytes)
    };
    let caching = if asset.is_named_by_content() {
        FOREVER
    } else {
        ASK_AGAIN
    };
    let mut response = with_body(asset.content_type(), caching, body);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    if let Some(name) = encoding.header_value() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response
}

fn redirect(to: &'static str) -> Response<Bytes> {
    let mut response = with_body("text/plain", ASK_AGAIN, Bytes::new());
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    response
        .headers_mut()
        .insert(LOCATION, HeaderValue::from_static(to));
    response
}

fn not_found() -> Response<Bytes> {
    let text = Bytes::from_static(b"the explorer has no such file\n");
    let mut response = with_body("text/plain", ASK_AGAIN, text);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn with_body(content_type: &'static str, caching: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    let rows: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, caching),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in rows {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
