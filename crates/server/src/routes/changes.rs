//! The change feed: `GET …/docs` with `A-IM`.

use orrery_engine::{ChangeKind, ChangeMode, ChangesRequest, ChangesStart, Container, ItemChange};
use orrery_json::{Object, Value, write_value};
use orrery_keys::Component;
use orrery_model::{Failure, Precondition, limits};
use orrery_wire::{
    CHANGED_ITEM_BYTES, ChangeDescription, ChangeEvent, ChangeFeedMode, ChangeOperation, FeedKind,
    FeedWriter, change_envelope, session_token, write_changed_item,
};

use super::item::{await_session, check_session};
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn page(
    exchange: &Exchange<'_>,
    found: &Found,
    mode: ChangeFeedMode,
) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let terms = exchange.terms()?;
    let reach = found.reach(exchange);
    let area = reach.area(None, true)?;
    exchange.admit_read().await?;
    await_session(exchange, found, || area.clone()).await?;
    let session = exchange.session();
    let partitions = reach.partitions_of(&area)?;
    for partition in &partitions {
        check_session(
            exchange,
            &session,
            terms.level,
            container,
            partition.stamp(),
        )?;
    }
    if let Some(other) = reach.named_beside_a_key(&area)?
        && partitions.iter().all(|partition| partition.id != other.id)
    {
        let position = exchange.engine().change_position(other.stamp().lsn);
        return Ok(Reply::not_modified(format!("\"{position}\"")));
    }
    let mode = match mode {
        ChangeFeedMode::LatestVersion => ChangeMode::Latest,
        ChangeFeedMode::AllVersionsAndDeletes => ChangeMode::All,
    };
    let request = |scope| ChangesRequest {
        scope,
        mode,
        start: match headers.if_none_match() {
            None => ChangesStart::Beginning,
            Some(Precondition::Any) => ChangesStart::Now,
            Some(Precondition::Etag(position)) => ChangesStart::After(position),
        },
        since_seconds: headers.if_modified_since.map(|date| date.0),
        items_max: headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
        terms,
    };
    let answer = reach.changes(area, request).await;
    let page = match answer.result {
        Ok(page) => page,
        Err(failure) => {
            return Ok(Reply {
                charge: answer.charge,
                stamp: answer.stamp,
                ..Reply::failed(failure)
            });
        }
    };
    let etag = format!("\"{}\"", page.position);
    let base = if page.changes.is_empty() {
        Reply::not_modified(etag)
    } else {
        let envelopes = headers.change_feed_envelopes || mode == ChangeMode::All;
        let bodies = if envelopes {
            envelope_feed(container, &page.changes, mode)
        } else {
            item_feed(container, &page.changes)
        };
        Reply {
            item_count: Some(page.changes.len()),
            ..Reply::new(200, bodies).with_etag(etag)
        }
    };
    Ok(Reply {
        charge: answer.charge,
        stamp: answer.stamp,
        session_token: Some(session_token(&exchange.session(), &page.stamps)),
        ..base
    })
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

fn envelope_feed(container: &Container, changes: &[ItemChange], mode: ChangeMode) -> Vec<u8> {
    let mut feed = FeedWriter::new(container.rid, FeedKind::Items, 0);
    for change in changes {
        let envelope = envelope(container, change, mode);
        feed.element().extend_from_slice(&envelope);
    }
    feed.finish()
}

fn envelope(container: &Container, change: &ItemChange, mode: ChangeMode) -> Vec<u8> {
    let id = String::from_utf8_lossy(&change.id);
    let operation = match change.kind {
        ChangeKind::Create => ChangeOperation::Create,
        ChangeKind::Replace => ChangeOperation::Replace,
        ChangeKind::Delete => ChangeOperation::Delete,
        ChangeKind::Expiry => ChangeOperation::Expiry,
    };
    let partition_key = match change.current {
        None => partition_key(container, change),
        Some(_) => Vec::new(),
    };
    let event = ChangeEvent {
        operation,
        previous: change.previous.as_ref(),
        previous_lsn: change.previous_lsn,
        id: &id,
        partition_key: &partition_key,
    };
    change_envelope(&ChangeDescription {
        lsn: change.lsn,
        seconds: change.seconds,
        current: change.current.as_ref(),
        event: (mode == ChangeMode::All).then_some(event),
    })
}

/// The partition key of an item that is gone, by the names of its levels.
fn partition_key(container: &Container, change: &ItemChange) -> Vec<u8> {
    let definition = container.definition.key();
    let value = change.previous.as_ref();
    let value = value.and_then(|text| orrery_json::parse(text).ok());
    let key = value.and_then(|value| definition.extract(&value).ok());
    let mut object = Object::default();
    if let Some(key) = key {
        for (path, component) in definition.paths().iter().zip(key.components()) {
            let name = path.to_string();
            let value = match component {
                Component::Null | Component::Undefined => Value::Null,
                Component::Bool(value) => Value::Bool(*value),
                Component::Number(value) => Value::from(*value),
                Component::String(value) => Value::String(value.clone()),
            };
            object.insert(name.trim_start_matches('/').to_owned(), value);
        }
    }
    let mut out = Vec::new();
    write_value(&Value::Object(object), &mut out);
    out
}
