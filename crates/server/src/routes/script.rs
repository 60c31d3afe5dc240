//! One stored procedure, trigger or user-defined function: read, replace, delete; a procedure also
//! runs.

use hyper::Method;
use orrery_engine::ProcedureRequest;
use orrery_keys::ChildRid;
use orrery_model::{ContainerAddress, Etag, Failure, Script, ScriptKind};
use orrery_wire::parse_arguments;

use super::scripts::{complete, owner, parse, reply};
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

const ECHO: &str = "__.sys.echo";
/// The counter in the resource id of the built-in procedure. Counters of other scripts begin at one
/// and never reach this number.
const COUNTER_OF_ECHO: u64 = (1 << 60) - 1;

pub(super) async fn route(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    kind: ScriptKind,
    segment: &str,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = answer(exchange, &found, container, kind, segment).await;
    Ok(complete(exchange, &found, answered))
}

async fn answer(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
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
            // The script is resolved once, with its check, and then addressed by resource id:
            // another script may get its name meanwhile.
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
            // A token must cover this procedure like every other script.
            match system_procedure(found, segment) {
                Some(procedure) => {
                    exchange.authority.check_script(procedure.rid)?;
                    execute(exchange, found, &procedure).await
                }
                None => execute(exchange, found, &*script()?).await,
            }
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// A built-in procedure that every container has and no feed lists: it returns its first argument.
fn system_procedure(found: &ResolvedContainer, id: &str) -> Option<Script> {
    let kind = ScriptKind::StoredProcedure;
    (id == ECHO).then(|| Script {
        rid: ChildRid::new(
            found.entry.container.rid,
            kind.child_kind(),
            COUNTER_OF_ECHO,
        ),
        kind,
        id: ECHO.to_owned(),
        body: "function (value) { getContext().getResponse().setBody(value); }".to_owned(),
        etag: Etag::from_stored(""),
        modified_seconds: 0,
        trigger: None,
    })
}

/// Runs a stored procedure and returns its response body.
async fn execute(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    script: &Script,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let key = access.key()?;
    let arguments = parse_arguments(&exchange.body)?;
    let budget = exchange.request_budget()?;
    let request = |key| ProcedureRequest {
        key,
        arguments,
        budget,
        wants_log: exchange.headers.script_logging,
    };
    // After the body was parsed: a malformed request must not wait.
    exchange.admit_write().await?;
    let answer = access.execute(script, key, request).await;
    let base = match answer.result {
        Ok(executed) => Reply {
            script_log: executed.log,
            ..Reply::new(200, executed.body.unwrap_or_default())
        },
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        partition_lsn: answer.partition_lsn,
        ..base
    })
}
