//! From a request to its response.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use orrery_engine::Engine;
use orrery_model::Failure;
use orrery_wire::{RequestHeaders, RequestPath, Resource, names};

use crate::authority::{Authorized, authorize};
use crate::exchange::Exchange;
use crate::metrics::Operation;
use crate::reply::Reply;
use crate::state::State;
use crate::{body, gates, public, routes};

const METRICS_PATH: &str = "/metrics";
/// Longest activity id that is echoed.
const ACTIVITY_ID_BYTES_MAX: usize = 128;

pub(crate) async fn handle(
    state: &State,
    scheme: &'static str,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let (parts, incoming) = request.into_parts();
    let present = gates::check_present(&state.region);
    if present.is_ok()
        && let Some(response) = public::answer(state, &parts)
    {
        return response;
    }
    let activity_id = activity_id(state, &parts);
    if present.is_ok() && parts.uri.path() == METRICS_PATH {
        return match authorize_metrics(state, &parts) {
            Ok(()) => public::metrics(state),
            Err(failure) => {
                let engine = state.region.engine();
                Reply::failed(failure).into_response(state, &engine, &activity_id, begun.elapsed())
            }
        };
    }
    let engine = state.region.engine();
    let (operation, answered) = answer(
        state,
        &engine,
        present,
        scheme,
        &parts,
        incoming,
        &activity_id,
    )
    .await;
    let reply = answered.unwrap_or_else(Reply::failed);
    let elapsed = begun.elapsed();
    state
        .metrics
        .count(operation, reply.status, reply.charge, elapsed);
    if let Some(failure @ Failure::Internal(_)) = &reply.failure {
        tracing::error!(activity_id, %failure, "a request failed");
    }
    tracing::debug!(
        activity_id,
        method = %parts.method,
        status = reply.status,
        charge = %reply.charge,
        elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        "request"
    );
    state.request_log.note(begun, &parts, &activity_id, &reply);
    reply.into_response(state, &engine, &activity_id, elapsed)
}

async fn answer(
    state: &State,
    engine: &Arc<Engine>,
    present: Result<(), Failure>,
    scheme: &'static str,
    parts: &Parts,
    incoming: Incoming,
    activity_id: &str,
) -> (Operation, Result<Reply, Failure>) {
    let path = RequestPath::parse(parts.uri.path());
    let path = present.and_then(|()| path.as_ref().map_err(Failure::clone));
    let checked = async {
        let path = path?;
        let mut headers = RequestHeaders::parse(&parts.headers)?;
        let now = engine.now_seconds();
        let authorized = authorize(state, engine, &parts.method, path, &mut headers, now)?;
        if authorized.resource != Resource::Addresses {
            gates::check_action(
                &state.region,
                engine,
                authorized.action,
                &parts.method,
                authorized.resource,
                &headers,
            )
            .await?;
        }
        Ok((headers, authorized))
    };
    let checked = checked.await;
    // The body is read in any case: a client that is still sending would not hear a refusal.
    let body = body::read(incoming).await;
    let (headers, authorized) = match checked {
        Ok(checked) => checked,
        Err(failure) => return (Operation::Refused, Err(failure)),
    };
    let Authorized {
        resource,
        authority,
        ..
    } = authorized;
    let operation = Operation::of(&parts.method, resource, &headers);
    let body = match body {
        Ok(body) => body,
        Err(failure) => return (operation, Err(failure)),
    };
    let exchange = Exchange {
        state,
        engine: Arc::clone(engine),
        method: &parts.method,
        headers: &headers,
        authority,
        body,
        activity_id,
        scheme,
        request: parts,
    };
    (operation, routes::dispatch(&exchange, resource).await)
}

fn authorize_metrics(state: &State, parts: &Parts) -> Result<(), Failure> {
    if parts.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    if state.is_loopback() {
        return Ok(());
    }
    let path = RequestPath::parse(parts.uri.path())?;
    let mut headers = RequestHeaders::parse(&parts.headers)?;
    let engine = state.region.engine();
    let now = engine.now_seconds();
    authorize(state, &engine, &parts.method, &path, &mut headers, now)?;
    Ok(())
}

fn activity_id(state: &State, parts: &Parts) -> String {
    let sent = parts
        .headers
        .get(names::ACTIVITY_ID)
        .and_then(|value| value.to_str().ok());
    match sent.filter(|id| !id.is_empty() && id.len() <= ACTIVITY_ID_BYTES_MAX) {
        Some(id) => id.to_owned(),
        None => state.activity_ids.next(),
    }
}
