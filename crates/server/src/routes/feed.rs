//! Feeds of what is in the catalogue: paging and queries over bodies that are already written.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use orrery_engine::CompiledQuery;
use orrery_json::{parse, write_value};
use orrery_model::Failure;
use orrery_wire::{FeedKind, QueryBody, feed_body};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Resources a page has when the client does not say.
const PAGE_RESOURCES_DEFAULT: usize = 1_000;

/// Answers a read feed. `resources` are names and bodies, in the order of names.
pub(super) fn read(
    exchange: &Exchange<'_>,
    parent_rid: &str,
    kind: FeedKind,
    resources: Vec<(String, Vec<u8>)>,
) -> Result<Reply, Failure> {
    page(exchange, parent_rid, kind, resources, None)
}

/// Answers a query over the same resources.
pub(super) fn query(
    exchange: &Exchange<'_>,
    parent_rid: &str,
    kind: FeedKind,
    resources: Vec<(String, Vec<u8>)>,
) -> Result<Reply, Failure> {
    let body = QueryBody::parse(&exchange.body)?;
    let query = CompiledQuery::compile(&body.text, &body.parameters)?;
    page(exchange, parent_rid, kind, resources, Some(&query))
}

fn page(
    exchange: &Exchange<'_>,
    parent_rid: &str,
    kind: FeedKind,
    resources: Vec<(String, Vec<u8>)>,
    query: Option<&CompiledQuery>,
) -> Result<Reply, Failure> {
    let after = exchange
        .headers
        .continuation
        .map(read_continuation)
        .transpose()?;
    let size = exchange
        .headers
        .max_item_count
        .unwrap_or(PAGE_RESOURCES_DEFAULT);
    let mut elements: Vec<Bytes> = Vec::new();
    let mut last = None;
    let mut continuation = None;
    for (name, body) in resources {
        if after.as_ref().is_some_and(|after| name <= *after) {
            continue;
        }
        let Some(row) = row(query, body)? else {
            continue;
        };
        if elements.len() == size {
            continuation = last.as_deref().map(write_continuation);
            break;
        }
        elements.push(row);
        last = Some(name);
    }
    let count = elements.len();
    Ok(Reply {
        item_count: Some(count),
        continuation,
        ..Reply::new(200, feed_body(parent_rid, kind, &elements))
    })
}

fn row(query: Option<&CompiledQuery>, body: Vec<u8>) -> Result<Option<Bytes>, Failure> {
    let Some(query) = query else {
        return Ok(Some(body.into()));
    };
    let value = parse(&body).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(query.row(&value).map(|row| {
        let mut text = Vec::new();
        write_value(&row, &mut text);
        text.into()
    }))
}

fn write_continuation(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

fn read_continuation(token: &str) -> Result<String, Failure> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| Failure::InvalidContinuation)?;
    String::from_utf8(bytes).map_err(|_| Failure::InvalidContinuation)
}
