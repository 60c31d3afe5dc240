//! `/_explorer/`: the files of the explorer and of the operators' page, which the server binary
//! contains.
//!
//! These routes serve only files. The explorer is a client like any other: it signs its requests in
//! the browser and uses the REST protocol. The operators' page works in the same way with the
//! listener for operators, which serves it. Links in the pages are relative, so that they work
//! behind a proxy that adds a path, and on mapped ports.

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

/// The content security policy: no content from other origins, and no script other than the files.
/// The style sheets of the editor are constructed by its script, which needs no exception; style
/// attributes need one, because browsers write some when a user types over coloured text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
                      img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The caching of a file whose name changes with its content.
const FOREVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// The answer to a path of the explorer. None for any other path.
pub(crate) fn answer(state: &State, parts: &Parts) -> Option<Response<Bytes>> {
    if parts.uri.path().strip_prefix(FOLDER) == Some("config.json") {
        let body = config::body(state).into();
        return Some(with_body("application/json", ASK_AGAIN, body));
    }
    page(EXPLORER, parts)
}

/// The answer of the operators' listener to a path of the operators' page. None for any other path.
pub(crate) fn answer_operator(parts: &Parts) -> Option<Response<Bytes>> {
    let only_reads = matches!(parts.method, Method::GET | Method::HEAD);
    page(REGIONS, parts).filter(|_| only_reads)
}

/// A file of one page. The index of the other page is not found, because that page needs the other
/// listener.
fn page(index: &'static str, parts: &Parts) -> Option<Response<Bytes>> {
    let path = parts.uri.path();
    match path.strip_prefix(FOLDER) {
        Some(name) => {
            let name = if name.is_empty() { index } else { name };
            let is_other = [EXPLORER, REGIONS].contains(&name) && name != index;
            let found = asset::find(name).filter(|_| !is_other);
            Some(found.map_or_else(not_found, |asset| serve(asset, parts)))
        }
        // The redirect is relative, since a proxy may have removed a part of the path.
        None if path == "/_explorer" => Some(redirect("_explorer/")),
        None if path == "/" && is_person(&parts.headers) => Some(redirect("_explorer/")),
        None => None,
    }
}

/// Whether a person typed the address into a browser. Clients of the protocol ask for JSON, and a
/// browser asks for a page.
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
    // A list of tags, as a cache with several encodings sends it.
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
    // A shared cache must not give a compressed file to a client that cannot read it.
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
