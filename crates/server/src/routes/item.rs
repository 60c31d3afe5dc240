//! `/dbs/{db}/colls/{coll}/docs/{id}`: read, replace, patch and delete one item.

use bytes::Bytes;
use hyper::Method;
use orrery_engine::{Container, Triggers};
use orrery_model::{
    Answer, ConsistencyLevel, Document, Etag, Failure, ItemAddress, Operation, OperationKind,
    OperationOutcome, Session, Stamp,
};
use orrery_wire::{SessionPosition, check_session_token, operation_status_code, parse_patch};

use crate::authority::{Area, Key};
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn route(
    exchange: &Exchange<'_>,
    address: ItemAddress<'_>,
) -> Result<Reply, Failure> {
    let found = exchange.container(address.container())?;
    let answered = answer(exchange, &found, address).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn answer(
    exchange: &Exchange<'_>,
    found: &Found,
    address: ItemAddress<'_>,
) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let key = reach.key()?;
    if *exchange.method == Method::GET {
        exchange.admit_read().await?;
        await_session(exchange, found, || key.area()).await?;
    }
    let id = match address {
        ItemAddress::Name { id, .. } => id.to_owned(),
        ItemAddress::Rid(rid) => reach.item_id(&key, rid).await?,
    };
    match *exchange.method {
        Method::GET => read(exchange, found, &key, &id),
        Method::PUT => {
            let document = Document::parse(&exchange.body)?;
            write(
                exchange,
                found,
                key,
                OperationKind::Replace { id, document },
            )
            .await
        }
        Method::PATCH => {
            let patch = parse_patch(&exchange.body)?;
            write(exchange, found, key, OperationKind::Patch { id, patch }).await
        }
        Method::DELETE => write(exchange, found, key, OperationKind::Delete { id }).await,
        _ => Err(Failure::MethodNotAllowed),
    }
}

fn read(exchange: &Exchange<'_>, found: &Found, key: &Key, id: &str) -> Result<Reply, Failure> {
    let terms = exchange.read_terms()?;
    let level = terms.level;
    let if_none_match = exchange.headers.if_none_match();
    let container = &found.entry.container;
    let session = exchange.session();
    let reach = found.reach(exchange);
    let mut answer = reach.read_item(key, id, if_none_match.as_ref(), terms);
    if let Some(stamp) = answer.stamp
        && let Err(failure) = check_session(exchange, &session, level, container, stamp)
    {
        answer.result = Err(failure);
    }
    let item_count = answer.result.is_ok().then_some(1);
    Ok(Reply {
        item_count,
        ..reply(answer, false)
    })
}

/// Carries out one write and answers it.
pub(super) async fn write(
    exchange: &Exchange<'_>,
    found: &Found,
    key: Key,
    kind: OperationKind,
) -> Result<Reply, Failure> {
    let terms = exchange.terms()?;
    exchange.admit_write().await?;
    let operation = Operation {
        kind,
        if_match: exchange.headers.if_match(),
        if_none_match: exchange.headers.if_none_match(),
        indexing: exchange.headers.indexing,
    };
    let reach = found.reach(exchange);
    let answer = reach
        .write_item(key, operation, &triggers(exchange), terms)
        .await;
    let mut log = None;
    let answer = answer.map(|written| {
        log = written.log;
        written.outcome
    });
    Ok(Reply {
        script_log: log,
        ..reply(answer, exchange.headers.prefers_minimal)
    })
}

fn reply(answer: Answer<OperationOutcome>, drops_body: bool) -> Reply {
    let base = match answer.result {
        Ok(outcome) => {
            let body = outcome
                .body
                .filter(|_| !drops_body)
                .unwrap_or_else(Bytes::new);
            Reply {
                etag: outcome.etag.map(Etag::into_string),
                item_lsn: Some(outcome.item_lsn),
                ..Reply::new(operation_status_code(outcome.status), body)
            }
        }
        Err(failure) => Reply::failed(failure),
    };
    Reply {
        charge: answer.charge,
        stamp: answer.stamp,
        ..base
    }
}

/// Has this partition, as it was with `session`, reached what the client has seen? Asked only at levels
/// that promise it.
pub(super) fn check_session(
    exchange: &Exchange<'_>,
    session: &Session,
    level: ConsistencyLevel,
    container: &Container,
    stamp: Stamp,
) -> Result<(), Failure> {
    let Some(token) = exchange.headers.session_token else {
        return Ok(());
    };
    match level {
        ConsistencyLevel::Strong
        | ConsistencyLevel::BoundedStaleness
        | ConsistencyLevel::Session => {
            let partition = container.partition(stamp.range);
            let position = SessionPosition {
                range: stamp.range,
                ancestors: partition.map_or(&[], |partition| &partition.ancestors),
                session,
                lsn: stamp.lsn,
            };
            check_session_token(token, position)
        }
        ConsistencyLevel::ConsistentPrefix | ConsistencyLevel::Eventual => Ok(()),
    }
}

/// Waits a moment for what the client has seen, if that is under way to the partitions of a read.
/// Whoever reads then looks whether it came.
pub(super) async fn await_session(
    exchange: &Exchange<'_>,
    found: &Found,
    area: impl FnOnce() -> Area,
) -> Result<(), Failure> {
    let region = &exchange.state.region;
    if exchange.headers.session_token.is_none() || !region.hears_others() {
        return Ok(());
    }
    let level = exchange.level()?;
    let container = &found.entry.container;
    let Ok(partitions) = found.reach(exchange).partitions_of(&area()) else {
        // The read says what is wrong with it.
        return Ok(());
    };
    let has_reached = |session: &Session| {
        let mut stamps = partitions.iter().map(|partition| partition.stamp());
        stamps.all(|stamp| check_session(exchange, session, level, container, stamp).is_ok())
    };
    region.wait_shortly(exchange.engine(), has_reached).await;
    Ok(())
}

/// The triggers that the request names.
pub(super) fn triggers(exchange: &Exchange<'_>) -> Triggers {
    let owned = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
    Triggers {
        pre: owned(&exchange.headers.pre_triggers),
        post: owned(&exchange.headers.post_triggers),
        wants_log: exchange.headers.script_logging,
    }
}
