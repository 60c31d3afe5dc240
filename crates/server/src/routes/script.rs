//! One stored procedure, trigger or user-defined function: read, replace, delete; a procedure also
//! runs.

use hyper::Method;
use orrery_engine::ProcedureRequest;
use orrery_model::{ContainerAddress, Failure, Script, ScriptKind};
use orrery_wire::parse_arguments;

use super::scripts::{owner, parse, reply};
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn route(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    kind: ScriptKind,
    segment: &str,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = answer(exchange, &found, container, kind, segment).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn answer(
    exchange: &Exchange<'_>,
    found: &Found,
    container: ContainerAddress<'_>,
    kind: ScriptKind,
    segment: &str,
) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let if_match = exchange.headers.if_match();
    let script = || found.script(exchange, container, kind, segment);
    match *exchange.method {
        Method::GET => {
            let script = script()?;
            let known = exchange.headers.if_none_match();
            if known.is_some_and(|known| known.matches(&script.etag)) {
                return Ok(Reply::not_modified(script.etag.as_str()));
            }
            Ok(reply(200, &script))
        }
        Method::PUT => {
            let new = parse(exchange, kind)?;
            let rid = script()?.rid.to_string();
            let script = engine
                .replace_script(found.address(), kind, &rid, new, if_match.as_ref())
                .await?;
            Ok(reply(200, &script))
        }
        Method::DELETE => {
            let rid = script()?.rid.to_string();
            engine
                .delete_script(found.address(), kind, &rid, if_match.as_ref())
                .await?;
            Ok(Reply::new(204, ""))
        }
        Method::POST if kind == ScriptKind::StoredProcedure => {
            execute(exchange, found, &*script()?).await
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

async fn execute(
    exchange: &Exchange<'_>,
    found: &Found,
    script: &Script,
) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let key = reach.key()?;
    let arguments = parse_arguments(&exchange.body)?;
    let terms = exchange.terms()?;
    let request = |key| ProcedureRequest {
        key,
        arguments,
        terms,
        wants_log: exchange.headers.script_logging,
    };
    exchange.admit_write().await?;
    let answer = reach.execute(script, key, request).await;
    let base = match answer.result {
        Ok(executed) => Reply {
            script_log: executed.log,
            ..Reply::new(200, executed.body.unwrap_or_default())
        },
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        stamp: answer.stamp,
        ..base
    })
}
