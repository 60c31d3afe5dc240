//! Feeds of catalogue resources: paging and queries over bodies that are already written.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_engine::{CompiledQuery, QueryText, ResumeAt, query_resources, unreadable_continuation};
use orrery_keys::ItemRid;
use orrery_model::Failure;
use orrery_wire::{FeedKind, QueryBody, feed_body};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// The number of resources on a page if the client names none.
const PAGE_RESOURCES_DEFAULT: usize = 1_000;

/// Answers a read of a feed. `resources` are names and bodies, sorted by name.
pub(super) fn read(
    exchange: &Exchange<'_>,
    parent_rid: &str,
    kind: FeedKind,
    resources: Vec<(String, Vec<u8>)>,
) -> Result<Reply, Failure> {
    let after = exchange
        .headers
        .continuation
        .map(read_continuation)
        .transpose()?;
    let size = page_size(exchange);
    let mut left = resources
        .into_iter()
        // The continuation is a name and not an index, so that a page neither repeats nor skips
        // resources when others are created or deleted between two pages.
        .filter(|(name, _)| after.as_ref().is_none_or(|after| name > after))
        .peekable();
    let page: Vec<_> = left.by_ref().take(size).collect();
    // A last page that is exactly full has no continuation, so that the client sends no further
    // request.
    let more = left.peek().is_some();
    let continuation = page
        .last()
        .filter(|_| more)
        .map(|(name, _)| write_continuation(name));
    let bodies: Vec<_> = page.into_iter().map(|(_, body)| body).collect();
    Ok(reply(parent_rid, kind, &bodies, continuation))
}

/// Answers a query over the same resources.
pub(super) fn query(
    exchange: &Exchange<'_>,
    parent_rid: &str,
    kind: FeedKind,
    resources: &[(String, Vec<u8>)],
) -> Result<Reply, Failure> {
    let query = CompiledQuery::over_resources(&query_text(exchange)?)?;
    rows(exchange, &query, parent_rid, kind, resources)
}

/// Answers a query that was compiled before.
pub(super) fn rows(
    exchange: &Exchange<'_>,
    query: &CompiledQuery,
    parent_rid: &str,
    kind: FeedKind,
    resources: &[(String, Vec<u8>)],
) -> Result<Reply, Failure> {
    let token = exchange.headers.continuation;
    let (rows, continuation) = query_resources(
        query,
        resources,
        page_size(exchange),
        token,
        exchange.engine().now_ticks(),
    )?;
    Ok(reply(parent_rid, kind, &rows, continuation))
}

/// The query in the body of a request.
pub(super) fn query_text(exchange: &Exchange<'_>) -> Result<QueryText, Failure> {
    let body = QueryBody::parse(&exchange.body)?;
    Ok(QueryText {
        text: body.text,
        parameters: body.parameters,
        resume: body.resume.map(|resume| ResumeAt {
            values: resume.values,
            rid_counter: resume.rid.map(ItemRid::counter),
            exclude: resume.exclude,
        }),
    })
}

fn page_size(exchange: &Exchange<'_>) -> usize {
    exchange
        .headers
        .max_item_count
        .unwrap_or(PAGE_RESOURCES_DEFAULT)
}

fn reply<T: AsRef<[u8]>>(
    parent_rid: &str,
    kind: FeedKind,
    elements: &[T],
    continuation: Option<String>,
) -> Reply {
    Reply {
        item_count: Some(elements.len()),
        continuation,
        ..Reply::new(200, feed_body(parent_rid, kind, elements))
    }
}

fn write_continuation(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

fn read_continuation(token: &str) -> Result<String, Failure> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| unreadable_continuation(token))?;
    String::from_utf8(bytes).map_err(|_| Failure::InvalidContinuation)
}
