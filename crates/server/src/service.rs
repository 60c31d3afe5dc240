//! From a request to its response.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use orrery_engine::{Engine, out_of_memory};
use orrery_memory::Loan;
use orrery_model::Failure;
use orrery_wire::{RequestHeaders, RequestPath, Resource, names};
use tokio::time::timeout;

use crate::accept::{Answer, Call};
use crate::authority::{Authorized, authorize};
use crate::exchange::Exchange;
use crate::governor::{Client, Connection};
use crate::metrics::Operation;
use crate::reply::Reply;
use crate::state::State;
use crate::{body, gates, public, routes};

const METRICS_PATH: &str = "/metrics";
/// Longest activity id that is echoed.
const ACTIVITY_ID_BYTES_MAX: usize = 128;

/// What a request holds until its answer is taken, beside the body of that: its headers, its task.
const ANSWER_BYTES: usize = 4 * 1024;
/// The part of a connection's own loan that is for an answer over HTTP/1.1.
const ANSWER_BYTES_FREE: usize = 8 * 1024;

/// Headers that need no loan of their own, and what each takes beside its text.
const HEAD_BYTES_FREE: usize = 8 * 1024;
const HEADER_BYTES: usize = 96;

pub(crate) async fn handle(state: &State, call: Call, connection: &Connection) -> Answer {
    let begun = Instant::now();
    let Call {
        scheme,
        parts,
        body: incoming,
    } = call;
    let present = gates::check_present(&state.region);
    if present.is_ok()
        && let Some(response) = public::answer(state, &parts)
    {
        return for_a_stranger(state, response, connection);
    }
    let activity_id = activity_id(state, &parts);
    let engine = state.region.engine();
    if present.is_ok() && parts.uri.path() == METRICS_PATH {
        let response = match authorize_metrics(state, &parts) {
            Ok(()) => public::metrics(state),
            Err(failure) => {
                Reply::failed(failure).into_response(state, &engine, &activity_id, begun.elapsed())
            }
        };
        return for_a_stranger(state, response, connection);
    }
    let asked = Asked {
        state,
        engine: &engine,
        scheme,
        parts: &parts,
        activity_id: &activity_id,
        connection,
    };
    let Answered {
        operation,
        mut loan,
        result,
    } = asked.answer(present, incoming).await;
    let mut reply = result.unwrap_or_else(Reply::failed);
    // The loan that paid for the request now pays for the answer.
    let bytes = ANSWER_BYTES + reply.body.len();
    // HTTP/1.1 sends one answer of a connection at a time, and the loan of the connection covers a small one.
    let is_prepaid = parts.version != Version::HTTP_2 && bytes <= ANSWER_BYTES_FREE;
    if let Err(refused) = loan.resize(if is_prepaid { 0 } else { bytes }) {
        reply = if operation == Operation::WriteItem && reply.failure.is_none() {
            // It is written, and saying otherwise would make the client write it again.
            Reply {
                body: Bytes::new(),
                ..reply
            }
        } else {
            Reply {
                charge: reply.charge,
                ..Reply::failed(out_of_memory(refused))
            }
        };
        loan = refusal_loan(state, connection);
    }
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
    let response = reply.into_response(state, &engine, &activity_id, elapsed);
    Answer { response, loan }
}

/// An answer that needs no credential.
fn for_a_stranger(state: &State, response: Response<Bytes>, connection: &Connection) -> Answer {
    let share = state.governor.share(Client::Stranger);
    match share.borrow(ANSWER_BYTES + response.body().len()) {
        Ok(loan) => Answer { response, loan },
        Err(_) => {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            let loan = refusal_loan(state, connection);
            Answer { response, loan }
        }
    }
}

/// A refusal needs memory, too. If no memory is left for it, this call closes the connection.
fn refusal_loan(state: &State, connection: &Connection) -> Loan {
    let share = state.governor.share(Client::Stranger);
    share.borrow(ANSWER_BYTES).unwrap_or_else(|_| {
        connection.close();
        share.loan()
    })
}

/// A request before its body is read.
struct Asked<'r> {
    state: &'r State,
    engine: &'r Arc<Engine>,
    scheme: &'static str,
    parts: &'r Parts,
    activity_id: &'r str,
    connection: &'r Connection,
}

struct Answered {
    operation: Operation,
    /// From the share of the client, or from that of strangers if no credential tells the client.
    loan: Loan,
    result: Result<Reply, Failure>,
}

/// A request whose headers are valid and whose sender may make it.
struct Allowed<'r> {
    headers: RequestHeaders<'r>,
    authorized: Authorized<'r>,
}

impl<'r> Asked<'r> {
    /// Checks the headers before the server reads the body, so that a refused request takes no
    /// memory for a body.
    async fn answer(&self, present: Result<(), Failure>, incoming: Incoming) -> Answered {
        let path = RequestPath::parse(self.parts.uri.path());
        let path = present.and_then(|()| path.as_ref().map_err(Failure::clone));
        let allowed = match path.and_then(|path| self.check(path)) {
            Ok(allowed) => allowed,
            Err(failure) => {
                let mut loan = self.state.governor.share(Client::Stranger).into_loan();
                if self.pay_head(&mut loan).is_ok() {
                    self.refuse(incoming).await;
                }
                return Answered {
                    operation: Operation::Refused,
                    loan,
                    result: Err(failure),
                };
            }
        };
        let Authorized {
            client, resource, ..
        } = allowed.authorized;
        let mut loan = self.state.governor.share(client).into_loan();
        let operation = Operation::of(&self.parts.method, resource, &allowed.headers);
        let limit = self.state.governor.limits().request_time;
        let result = {
            let mut work = pin!(self.carry_out(allowed, &mut loan, incoming));
            // A point read ends here, and a request that ends here needs no timer.
            match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
                Poll::Ready(result) => result,
                Poll::Pending => timeout(limit, work).await.unwrap_or(Err(Failure::Timeout)),
            }
        };
        Answered {
            operation,
            loan,
            result,
        }
    }

    /// Borrows for headers that are larger than most.
    fn pay_head(&self, loan: &mut Loan) -> Result<(), Failure> {
        let headers = self.parts.headers.iter();
        let bytes = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
        let bytes: usize = bytes.sum();
        if bytes <= HEAD_BYTES_FREE {
            return Ok(());
        }
        loan.grow(bytes).map_err(out_of_memory)
    }

    fn check(&self, path: &'r RequestPath<'r>) -> Result<Allowed<'r>, Failure> {
        let mut headers = RequestHeaders::parse(&self.parts.headers)?;
        let now = self.engine.now_seconds();
        let method = &self.parts.method;
        let authorized = authorize(self.state, self.engine, method, path, &mut headers, now)?;
        if authorized.resource != Resource::Addresses {
            self.connection.trust();
        }
        Ok(Allowed {
            headers,
            authorized,
        })
    }

    /// Reads and discards the body for a while, so that an HTTP/1 client that is still sending it
    /// receives the refusal. A client that sends `Expect` waits before it sends the body, and with
    /// HTTP/2 a client receives the refusal in any case.
    async fn refuse(&self, incoming: Incoming) {
        let waits = self.parts.headers.contains_key(EXPECT);
        if self.parts.version != Version::HTTP_2 && !waits {
            body::drain(incoming).await;
        }
    }

    async fn carry_out(
        &self,
        allowed: Allowed<'_>,
        loan: &mut Loan,
        incoming: Incoming,
    ) -> Result<Reply, Failure> {
        if let Err(failure) = self.pay_head(loan) {
            self.refuse(incoming).await;
            return Err(failure);
        }
        let Allowed {
            headers,
            authorized,
        } = allowed;
        let Authorized {
            action,
            resource,
            authority,
            ..
        } = authorized;
        if resource != Resource::Addresses {
            let region = &self.state.region;
            let method = &self.parts.method;
            let checked =
                gates::check_action(region, self.engine, action, method, resource, &headers).await;
            if let Err(failure) = checked {
                self.refuse(incoming).await;
                return Err(failure);
            }
        }
        let stall_time = self.state.governor.limits().stall_time;
        let body = body::read(incoming, loan, stall_time).await?;
        let exchange = Exchange {
            state: self.state,
            engine: Arc::clone(self.engine),
            method: &self.parts.method,
            headers: &headers,
            authority,
            body,
            activity_id: self.activity_id,
            scheme: self.scheme,
            request: self.parts,
            share: loan.share(),
        };
        routes::dispatch(&exchange, resource).await
    }
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
