//! The change feed: `GET …/docs` with `A-IM`.

use bytes::Bytes;
use orrery_engine::{
    ChangeFeedRequest, ChangeFeedStart, ChangeKind, ChangeMode, CompiledQuery, Container,
    ItemChange, query_resources,
};
use orrery_json::{Object, Value, write_value};
use orrery_keys::KeyComponent;
use orrery_model::{Failure, Precondition, limits};
use orrery_wire::{
    CHANGED_ITEM_BYTES, ChangeDescription, ChangeEvent, ChangeFeedMode, ChangeOperation, FeedKind,
    FeedWriter, change_envelope, feed_body, write_changed_item,
};

use super::feed::query_text;
use super::item::{await_session, check_session};
use super::not_built;
use crate::authority::FormerRanges;
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

/// Answers one page of the change feed.
pub(super) async fn page(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    mode: ChangeFeedMode,
    query: Option<CompiledQuery>,
) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let budget = exchange.request_budget()?;
    let access = found.item_access(exchange);
    let scope = access.scope(None, true, FormerRanges::Gone)?;
    // The waits follow the authorization, so that a forbidden request does not wait.
    exchange.admit_read().await?;
    await_session(exchange, found, || scope.clone()).await?;
    // The session is read first, so that the partitions are at least as new as the session.
    let session = exchange.session();
    let partitions = access.partitions_of(&scope)?;
    for partition in &partitions {
        check_session(
            exchange,
            &session,
            budget.level,
            container,
            partition.partition_lsn(),
        )?;
    }
    // The Go SDK sends a request for one key to every partition; a partition without the key
    // reports no changes.
    if let Some(other) = access.named_beside_a_key(&scope)?
        && partitions.iter().all(|partition| partition.id != other.id)
    {
        let position = exchange.engine().change_position(other.partition_lsn().lsn);
        return Ok(nothing_new(format!("\"{position}\"")));
    }
    let mode = match mode {
        ChangeFeedMode::LatestVersion => ChangeMode::LatestVersion,
        ChangeFeedMode::AllVersionsAndDeletes => ChangeMode::AllVersionsAndDeletes,
    };
    let request = |scope| ChangeFeedRequest {
        scope,
        mode,
        start: match headers.if_none_match() {
            None => ChangeFeedStart::Beginning,
            Some(Precondition::Any) => ChangeFeedStart::Now,
            Some(Precondition::Etag(position)) => ChangeFeedStart::After(position),
        },
        // SDKs keep sending their start time together with the position that they reached; the
        // position wins.
        since_seconds: headers
            .if_modified_since
            .filter(|_| headers.if_none_match().is_none())
            .map(|date| date.0),
        items_max: headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
        budget,
    };
    let answer = access.changes(scope, request).await;
    let page = match answer.result {
        Ok(page) => page,
        Err(failure) => {
            return Ok(Reply {
                charge: answer.charge,
                partition_lsn: answer.partition_lsn,
                ..Reply::failed(failure)
            });
        }
    };
    // The etag of a page is the position after it, which the client sends with its next request.
    let etag = format!("\"{}\"", page.position);
    let base = if page.changes.is_empty() {
        nothing_new(etag)
    } else {
        let envelopes = headers.change_feed_envelopes || mode == ChangeMode::AllVersionsAndDeletes;
        let (count, body) = if let Some(query) = query {
            let rows = rows(&query, &page.changes, exchange.engine().now_ticks())?;
            let body = feed_body(container.rid, FeedKind::Items, &rows);
            (rows.len(), body)
        } else if envelopes {
            let envelopes = Envelopes {
                container,
                mode,
                writes_everywhere: exchange.engine().region().is_some(),
            };
            (page.changes.len(), envelopes.feed(&page.changes))
        } else {
            (page.changes.len(), item_feed(container, &page.changes))
        };
        Reply {
            item_count: Some(count),
            ..Reply::new(200, body).with_etag(etag)
        }
    };
    Ok(Reply {
        charge: answer.charge,
        partition_lsn: answer.partition_lsn,
        session_token: exchange.token_of_ranges(&page.partition_lsns),
        ..base
    })
}

/// Compiles the query of a request that wants only some of the changes.
pub(super) fn compile(
    exchange: &Exchange<'_>,
    mode: ChangeFeedMode,
) -> Result<CompiledQuery, Failure> {
    if mode == ChangeFeedMode::AllVersionsAndDeletes || exchange.headers.change_feed_envelopes {
        return Err(not_built("A query over the changes in envelopes is"));
    }
    CompiledQuery::over_resources(&query_text(exchange)?)
}

/// The rows that a query returns for the changed items of one page.
fn rows(
    query: &CompiledQuery,
    changes: &[ItemChange],
    now_ticks: i64,
) -> Result<Vec<Bytes>, Failure> {
    let named = changes.iter().enumerate().map(|(number, change)| {
        let mut body = Vec::with_capacity(text(change).len() + CHANGED_ITEM_BYTES);
        write_changed_item(text(change), change.lsn, &mut body);
        // The names sort in the order of the changes.
        (format!("{number:010}"), body)
    });
    let named: Vec<_> = named.collect();
    let (rows, rest) = query_resources(query, &named, usize::MAX, None, now_ticks)?;
    match rest {
        None => Ok(rows),
        Some(_) => Err(Failure::TooLarge(
            "The rows of the query are too large for one page. Ask for fewer changes with x-ms-max-item-count."
                .to_owned(),
        )),
    }
}

/// A page without changes. The .NET SDK fails on a page without an item count, even if the page has
/// no body.
fn nothing_new(etag: String) -> Reply {
    Reply {
        item_count: Some(0),
        ..Reply::not_modified(etag)
    }
}

fn item_feed(container: &Container, changes: &[ItemChange]) -> Vec<u8> {
    let bytes = changes
        .iter()
        .map(|change| text(change).len() + CHANGED_ITEM_BYTES);
    let mut feed = FeedWriter::new(container.rid, FeedKind::Items, bytes.sum());
    for change in changes {
        write_changed_item(text(change), change.lsn, feed.element());
    }
    feed.finish()
}

fn text(change: &ItemChange) -> &[u8] {
    change.current.as_deref().unwrap_or(b"{}")
}

/// Writes the changes of a container as envelopes of the wire format `2021-09-15`.
struct Envelopes<'c> {
    container: &'c Container,
    mode: ChangeMode,
    writes_everywhere: bool,
}

impl Envelopes<'_> {
    fn feed(&self, changes: &[ItemChange]) -> Vec<u8> {
        let mut feed = FeedWriter::new(self.container.rid, FeedKind::Items, 0);
        for change in changes {
            feed.element().extend_from_slice(&self.envelope(change));
        }
        feed.finish()
    }

    fn envelope(&self, change: &ItemChange) -> Vec<u8> {
        let id = String::from_utf8_lossy(&change.id);
        let operation = match change.kind {
            ChangeKind::Create => ChangeOperation::Create,
            ChangeKind::Replace => ChangeOperation::Replace,
            ChangeKind::Delete => ChangeOperation::Delete,
            ChangeKind::Expiry => ChangeOperation::Expiry,
        };
        let partition_key = match change.current {
            None => partition_key(self.container, change),
            Some(_) => Vec::new(),
        };
        let previous = change.previous.as_ref();
        let event = ChangeEvent {
            operation,
            previous: previous.filter(|_| self.shows_previous(change.kind)),
            previous_lsn: change.previous_lsn,
            id: &id,
            partition_key: &partition_key,
        };
        change_envelope(&ChangeDescription {
            lsn: change.lsn,
            seconds: change.seconds,
            current: change.current.as_ref(),
            event: (self.mode == ChangeMode::AllVersionsAndDeletes).then_some(event),
        })
    }

    /// Whether an envelope contains the previous image of an item. The policy of a container may
    /// demand every previous image. Without this policy Cosmos DB sends the previous image of a
    /// deleted item only, and in a multi-write account it sends none.
    fn shows_previous(&self, kind: ChangeKind) -> bool {
        let is_asked_for = self.container.definition.change_feed.previous_images;
        match kind {
            ChangeKind::Create | ChangeKind::Replace => is_asked_for,
            ChangeKind::Delete | ChangeKind::Expiry => is_asked_for || !self.writes_everywhere,
        }
    }
}

/// The partition key of a deleted item, as an object with the names of its levels.
fn partition_key(container: &Container, change: &ItemChange) -> Vec<u8> {
    let definition = container.definition.key();
    let value = change.previous.as_ref();
    let value = value.and_then(|text| orrery_json::parse(text).ok());
    let key = value.map(|value| definition.extract(&value));
    let mut object = Object::default();
    if let Some(key) = key {
        for (path, component) in definition.paths().iter().zip(key.components()) {
            let name = path.to_string();
            let value = match component {
                KeyComponent::Null | KeyComponent::Undefined => Value::Null,
                KeyComponent::Bool(value) => Value::Bool(*value),
                KeyComponent::Number(value) => Value::from(*value),
                KeyComponent::String(value) => Value::String(value.clone()),
            };
            object.insert(name.trim_start_matches('/').to_owned(), value);
        }
    }
    let mut out = Vec::new();
    write_value(&Value::Object(object), &mut out);
    out
}
