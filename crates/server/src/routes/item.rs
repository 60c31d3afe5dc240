//! `/dbs/{db}/colls/{coll}/docs/{id}`: read, replace, patch and delete one item.

use bytes::Bytes;
use hyper::Method;
use orrery_engine::{Container, TriggerNames};
use orrery_model::{
    ChargedResult, ConsistencyLevel, Document, Etag, Failure, ItemAddress, Operation,
    OperationKind, OperationOutcome, PartitionLsn, RegionSession,
};
use orrery_wire::{
    SessionPosition, check_session_token, operation_status_code, parse_patch,
    without_excluded_properties,
};

use crate::authority::{AuthorizedKey, AuthorizedScope};
use crate::exchange::{Exchange, ResolvedContainer};
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
    found: &ResolvedContainer,
    address: ItemAddress<'_>,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let key = access.key()?;
    // The session wait comes before the resource id is resolved, since resolving it reads the item.
    if *exchange.method == Method::GET {
        exchange.admit_read().await?;
        await_session(exchange, found, || key.scope()).await?;
    }
    let id = match address {
        // The gateway of Cosmos DB creates an item with a slash in its id and never finds it again.
        ItemAddress::Name { id, .. } if id.contains('/') => return Err(Failure::NOT_FOUND),
        ItemAddress::Name { id, .. } => id.to_owned(),
        ItemAddress::Rid(rid) => access.item_id(&key, rid).await?,
    };
    let located = |reply: Reply| Reply {
        location: exchange.location(None).filter(|_| reply.failure.is_none()),
        ..reply
    };
    match *exchange.method {
        Method::GET => read(exchange, found, &key, &id).map(located),
        Method::PUT => {
            let document = Document::parse(&exchange.body)?;
            let kind = OperationKind::Replace {
                id: id.clone(),
                document,
            };
            let reply = write(exchange, found, key, kind).await?;
            // The engine compares keys before it looks for the item, and Cosmos DB the other way
            // round.
            if reply.failure == Some(Failure::PartitionKeyMismatch) {
                return refused_key(exchange, found, &id, reply);
            }
            Ok(located(reply))
        }
        Method::PATCH => {
            let patch = parse_patch(&exchange.body)?;
            let kind = OperationKind::Patch { id, patch };
            write(exchange, found, key, kind).await.map(located)
        }
        Method::DELETE => write(exchange, found, key, OperationKind::Delete { id }).await,
        _ => Err(Failure::MethodNotAllowed),
    }
}

fn read(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    key: &AuthorizedKey,
    id: &str,
) -> Result<Reply, Failure> {
    let budget = exchange.read_budget()?;
    // The level decides whether the session token counts.
    let level = budget.level;
    let if_none_match = exchange.headers.if_none_match();
    let container = &found.entry.container;
    // Taken before the read: a session taken afterwards could be newer than the item that was read.
    let session = exchange.session();
    let access = found.item_access(exchange);
    let mut answer = access.read_item(key, id, if_none_match.as_ref(), budget);
    if let Some(partition_lsn) = answer.partition_lsn
        && let Err(failure) = check_session(exchange, &session, level, container, partition_lsn)
    {
        answer.result = Err(failure);
    }
    let item_count = answer.result.is_ok().then_some(1);
    Ok(Reply {
        item_count,
        ..reply(exchange, answer, false)
    })
}

/// Answers a replace whose document has another partition key than the request. If the request
/// names no existing item, the client receives 404, as from Cosmos DB.
fn refused_key(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    id: &str,
    mismatch: Reply,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let current = access.read_item(&access.key()?, id, None, exchange.read_budget()?);
    match current.result {
        Err(failure @ Failure::NotFound(_)) => Ok(Reply {
            charge: current.charge,
            partition_lsn: current.partition_lsn,
            ..Reply::failed(failure)
        }),
        _ => Ok(mismatch),
    }
}

/// Carries out one write and returns its answer.
pub(super) async fn write(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    key: AuthorizedKey,
    kind: OperationKind,
) -> Result<Reply, Failure> {
    let budget = exchange.request_budget()?;
    exchange.admit_write().await?;
    let operation = Operation {
        kind,
        if_match: exchange.headers.if_match(),
        if_none_match: exchange.headers.if_none_match(),
        indexing: exchange.headers.indexing,
        excludes_system_properties: exchange.headers.exclude_system_properties,
    };
    let access = found.item_access(exchange);
    let answer = access
        .write_item(key, operation, &triggers(exchange), budget)
        .await;
    let mut log = None;
    let answer = answer.map(|written| {
        log = written.log;
        written.outcome
    });
    Ok(Reply {
        script_log: log,
        ..reply(exchange, answer, exchange.headers.prefers_minimal)
    })
}

fn reply(
    exchange: &Exchange<'_>,
    answer: ChargedResult<OperationOutcome>,
    drops_body: bool,
) -> Reply {
    let excludes = exchange.headers.exclude_system_properties;
    // A failed write has a charge and a position as well, so both outcomes set these fields below.
    let base = match answer.result {
        Ok(outcome) => {
            let body = match outcome.body.filter(|_| !drops_body) {
                // An item that was written with these properties keeps them for every reader.
                Some(body) if excludes && outcome.excludes_system_properties => {
                    without_excluded_properties(&body)
                }
                body => body.unwrap_or_else(Bytes::new),
            };
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
        partition_lsn: answer.partition_lsn,
        ..base
    }
}

/// Checks that a partition, in the state of `session`, has reached the records that the client has
/// seen. Only the levels that promise this check it.
pub(super) fn check_session(
    exchange: &Exchange<'_>,
    session: &RegionSession,
    level: ConsistencyLevel,
    container: &Container,
    partition_lsn: PartitionLsn,
) -> Result<(), Failure> {
    let Some(token) = exchange.headers.session_token else {
        return Ok(());
    };
    match level {
        ConsistencyLevel::Strong
        | ConsistencyLevel::BoundedStaleness
        | ConsistencyLevel::Session => {
            let partition = container.partition(partition_lsn.range);
            let position = SessionPosition {
                range: partition_lsn.range,
                ancestors: partition.map_or(&[], |partition| &partition.ancestors),
                session,
                lsn: partition_lsn.lsn,
            };
            check_session_token(token, position)
        }
        ConsistencyLevel::ConsistentPrefix | ConsistencyLevel::Eventual => Ok(()),
    }
}

/// Waits briefly for records that the client has seen and that are in transit to the partitions of
/// a read. The read itself then checks whether the records arrived.
pub(super) async fn await_session(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    scope: impl FnOnce() -> AuthorizedScope,
) -> Result<(), Failure> {
    let region = &exchange.state.region;
    if exchange.headers.session_token.is_none() || !region.hears_others() {
        return Ok(());
    }
    let level = exchange.level()?;
    let container = &found.entry.container;
    let Ok(partitions) = found.item_access(exchange).partitions_of(&scope()) else {
        // The read fails with the same error and reports it.
        return Ok(());
    };
    let has_reached = |session: &RegionSession| {
        let mut partition_lsns = partitions.iter().map(|partition| partition.partition_lsn());
        partition_lsns.all(|partition_lsn| {
            check_session(exchange, session, level, container, partition_lsn).is_ok()
        })
    };
    region.wait_shortly(exchange.engine(), has_reached).await;
    Ok(())
}

/// The triggers that the request names.
pub(super) fn triggers(exchange: &Exchange<'_>) -> TriggerNames {
    let owned = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
    TriggerNames {
        pre: owned(&exchange.headers.pre_triggers),
        post: owned(&exchange.headers.post_triggers),
        wants_log: exchange.headers.script_logging,
    }
}
