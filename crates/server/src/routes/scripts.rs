//! `/dbs/{db}/colls/{coll}/sprocs`, `/triggers` and `/udfs`: register, list, query.

use hyper::Method;
use orrery_engine::NewScript;
use orrery_model::{ContainerAddress, Failure, Script, ScriptKind};
use orrery_wire::{FeedKind, FeedPost, ScriptRequest, script_body};

use super::feed;
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

/// Answers requests to the feed of one kind of scripts.
pub(super) async fn route(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    kind: ScriptKind,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = answer(exchange, &found, kind).await;
    Ok(complete(exchange, &found, answered))
}

async fn answer(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    kind: ScriptKind,
) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let container = found.address();
    let list = || {
        let scripts = engine.scripts(container, kind)?;
        let bodies = scripts
            .iter()
            .map(|script| (script.id.clone(), script_body(script)));
        Ok(bodies.collect::<Vec<_>>())
    };
    let rid = found.entry.container.rid.to_string();
    match *exchange.method {
        Method::GET => feed::read(exchange, &rid, FeedKind::Scripts(kind), list()?),
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => feed::query(exchange, &rid, FeedKind::Scripts(kind), &list()?),
            FeedPost::Create => {
                let new = parse(exchange, kind)?;
                let script = engine.create_script(container, kind, new).await?;
                Ok(reply(201, &script))
            }
            FeedPost::Upsert => {
                let new = parse(exchange, kind)?;
                let (script, created) = engine.upsert_script(container, kind, new).await?;
                Ok(reply(if created { 201 } else { 200 }, &script))
            }
            FeedPost::Batch | FeedPost::QueryPlan => Err(Failure::MethodNotAllowed),
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Adds the headers that every answer about scripts has.
pub(super) fn complete(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    answered: Result<Reply, Failure>,
) -> Reply {
    let reply = found.complete(exchange, answered.unwrap_or_else(Reply::failed));
    // A token for a part of the container must not learn about the rest.
    let sees_all = exchange.authority.covers_whole_containers();
    Reply {
        script_counts: sees_all.then(|| counts(exchange, found)),
        ..reply
    }
}

/// The number of scripts of each kind that the container has now.
fn counts(exchange: &Exchange<'_>, found: &ResolvedContainer) -> [usize; 3] {
    let catalogue = exchange.catalogue();
    // Read again, because the request itself may have added a script.
    let entry = catalogue.container(found.address());
    let entry = entry.map_or(&found.entry, |(_, entry)| entry);
    [
        ScriptKind::StoredProcedure,
        ScriptKind::Trigger,
        ScriptKind::Function,
    ]
    .map(|kind| entry.scripts.of_kind(kind).count())
}

/// Finds the container of scripts. A missing container is reported as the missing owner of the
/// scripts.
pub(super) fn owner(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<ResolvedContainer, Failure> {
    exchange
        .container(container)
        .map_err(|failure| match failure {
            Failure::NotFound(_) => Failure::OWNER_NOT_FOUND,
            other => other,
        })
}

/// Parses a script from the body.
pub(super) fn parse(exchange: &Exchange<'_>, kind: ScriptKind) -> Result<NewScript, Failure> {
    let request = ScriptRequest::parse(kind, &exchange.body)?;
    Ok(NewScript {
        id: request.id,
        body: request.body,
        trigger: request.trigger,
    })
}

/// The answer with one script.
pub(super) fn reply(status: u16, script: &Script) -> Reply {
    Reply::new(status, script_body(script)).with_etag(script.etag.as_str())
}
