//! Turns a request into its response.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use orrery_engine::{Engine, out_of_memory};
use orrery_memory::Loan;
use orrery_model::Failure;
use orrery_wire::{Action, AddressesQuery, RequestHeaders, RequestPath, Resource, names};
use tokio::time::timeout;

use crate::accept::{IncomingRequest, LoanedResponse};
use crate::authority::{AuthorizedRequest, authorize, authorize_addresses};
use crate::body::RequestBody;
use crate::direct::ReplicaRequest;
use crate::exchange::Exchange;
use crate::governor::{ClientIdentity, Connection};
use crate::metrics::RequestKind;
use crate::reply::Reply;
use crate::state::State;
use crate::{body, browser, gates, public, routes};

const METRICS_PATH: &str = "/metrics";
/// The longest activity id that an answer repeats.
const ACTIVITY_ID_BYTES_MAX: usize = 128;

/// The memory of a request until its answer is taken, without the body of the answer: its headers,
/// its task.
const ANSWER_BYTES: usize = 4 * 1024;
/// The part of a connection's own loan that pays for an answer over HTTP/1.1.
const ANSWER_BYTES_FREE: usize = 8 * 1024;

/// Headers that need no loan of their own, and the memory of each header beside its text.
const HEAD_BYTES_FREE: usize = 8 * 1024;
const HEADER_BYTES: usize = 96;

pub(crate) async fn handle(
    state: &State,
    request: IncomingRequest,
    connection: &Connection,
) -> LoanedResponse {
    let started = Instant::now();
    let IncomingRequest {
        scheme,
        parts,
        body: incoming,
        replica,
    } = request;
    // The availability check comes before the public paths: a region that is down must fail its
    // health checks too.
    let available = gates::check_available(&state.region);
    if available.is_ok()
        && let Some(response) = public::answer(state, &parts)
    {
        return unauthenticated_response(state, response, connection);
    }
    let activity_id = activity_id(state, &parts);
    // One engine for the whole request: a copy may replace the engine of the region meanwhile.
    let engine = state.region.engine();
    if available.is_ok() && parts.uri.path() == METRICS_PATH {
        let response = match authorize_metrics(state, &parts) {
            Ok(()) => public::metrics(state),
            Err(failure) => Reply::failed(failure).into_response(
                state,
                &engine,
                &activity_id,
                started.elapsed(),
            ),
        };
        return unauthenticated_response(state, response, connection);
    }
    let received = ReceivedRequest {
        state,
        engine: &engine,
        scheme,
        parts: &parts,
        replica: replica.as_ref(),
        connection,
    };
    let RequestOutcome {
        operation,
        mut loan,
        result,
    } = received.answer(available, incoming).await;
    // The failure becomes a reply here and not in the routes, so that every failure has a charge
    // and headers.
    let mut reply = result.unwrap_or_else(Reply::failed);
    // The loan that paid for the request pays for the answer from here on.
    let bytes = ANSWER_BYTES + reply.body.len();
    // HTTP/1.1 sends one answer of a connection at a time, and the loan of the connection covers a
    // small answer.
    let is_prepaid = parts.version != Version::HTTP_2 && bytes <= ANSWER_BYTES_FREE;
    if let Err(refused) = loan.resize(if is_prepaid { 0 } else { bytes }) {
        reply = if operation == RequestKind::WriteItem && reply.failure.is_none() {
            // The item is written. A failure would make the client write it again, so only the body
            // is dropped.
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
    let elapsed = started.elapsed();
    state
        .metrics
        .count(operation, reply.status, reply.charge, elapsed);
    // Other failures are the client's, and logging them would let clients fill the log.
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
    state
        .request_log
        .record(started, &parts, &activity_id, &reply);
    let mut response = reply.into_response(state, &engine, &activity_id, elapsed);
    browser::forbid_repeat(&parts.headers, &mut response);
    LoanedResponse { response, loan }
}

/// Answers a request in direct mode whose frame names nothing that this server could carry out.
pub(crate) fn refuse(
    state: &State,
    failure: Failure,
    activity_id: &str,
    connection: &Connection,
) -> LoanedResponse {
    let reply = Reply::failed(failure);
    let (status, elapsed) = (reply.status, Duration::ZERO);
    state
        .metrics
        .count(RequestKind::Refused, status, reply.charge, elapsed);
    let engine = state.region.engine();
    let response = reply.into_response(state, &engine, activity_id, elapsed);
    unauthenticated_response(state, response, connection)
}

/// Loans the memory of an answer that needs no credential.
fn unauthenticated_response(
    state: &State,
    response: Response<Bytes>,
    connection: &Connection,
) -> LoanedResponse {
    let share = state.governor.share(ClientIdentity::Unauthenticated);
    match share.borrow(ANSWER_BYTES + response.body().len()) {
        Ok(loan) => LoanedResponse { response, loan },
        Err(_) => {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            let loan = refusal_loan(state, connection);
            LoanedResponse { response, loan }
        }
    }
}

/// A loan for a refusal, which needs memory too. If no memory is left, the connection is closed.
fn refusal_loan(state: &State, connection: &Connection) -> Loan {
    let share = state.governor.share(ClientIdentity::Unauthenticated);
    share.borrow(ANSWER_BYTES).unwrap_or_else(|_| {
        connection.close();
        share.loan()
    })
}

/// A request whose body is not yet read.
struct ReceivedRequest<'r> {
    state: &'r State,
    engine: &'r Arc<Engine>,
    scheme: &'static str,
    parts: &'r Parts,
    replica: Option<&'r ReplicaRequest>,
    connection: &'r Connection,
}

struct RequestOutcome {
    operation: RequestKind,
    /// Lent by the share of the client, or by the share of unauthenticated clients if no credential
    /// identifies the client.
    loan: Loan,
    result: Result<Reply, Failure>,
}

/// A request with valid headers whose sender is authorized.
struct CheckedRequest<'r> {
    headers: RequestHeaders<'r>,
    authorized: AuthorizedRequest<'r>,
    /// What a request for addresses looks for.
    addresses: Option<&'r AddressesQuery<'r>>,
}

impl<'r> ReceivedRequest<'r> {
    /// Checks the headers before the server reads the body, so that a refused request needs no
    /// memory for a body.
    async fn answer(
        &self,
        available: Result<(), Failure>,
        incoming: RequestBody,
    ) -> RequestOutcome {
        let path = RequestPath::of_uri(&self.parts.uri);
        let addresses = path.as_ref().ok().and_then(|path| self.addresses(path));
        // A request for addresses is one for the path whose replicas it looks for.
        let path = match &addresses {
            None => path,
            Some(query) => query
                .as_ref()
                .map_err(Failure::clone)
                .and_then(AddressesQuery::path),
        };
        let addresses = addresses.as_ref().and_then(|query| query.as_ref().ok());
        let path = path.as_ref().map_err(Failure::clone);
        let allowed = match available {
            Ok(()) => path.and_then(|path| self.check(path, addresses)),
            Err(absent) => Err(self.failure_of_absent_region(path, addresses, absent)),
        };
        let allowed = match allowed {
            Ok(allowed) => allowed,
            Err(failure) => {
                let mut loan = self
                    .state
                    .governor
                    .share(ClientIdentity::Unauthenticated)
                    .into_loan();
                // Without memory for the headers the body is not drained.
                if self.borrow_for_headers(&mut loan).is_ok() {
                    self.refuse(incoming).await;
                }
                return RequestOutcome {
                    operation: RequestKind::Refused,
                    loan,
                    result: Err(failure),
                };
            }
        };
        let AuthorizedRequest {
            client, resource, ..
        } = allowed.authorized;
        // From this point the client's memory share lends the memory, so that no single client
        // takes all memory.
        let mut loan = self.state.governor.share(client).into_loan();
        let operation = RequestKind::of(&self.parts.method, resource, &allowed.headers);
        let limit = self.state.governor.limits().request_time;
        let result = {
            let mut work = pin!(self.carry_out(allowed, &mut loan, incoming));
            // A point read is ready at the first poll, and a request that is ready at the first
            // poll needs no timer.
            match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
                Poll::Ready(result) => result,
                Poll::Pending => timeout(limit, work).await.unwrap_or(Err(Failure::Timeout)),
            }
        };
        RequestOutcome {
            operation,
            loan,
            result,
        }
    }

    /// The failure of a region that may not answer. A client looks for another write region when
    /// its write is forbidden (403/3), but not when the service is unavailable (503).
    fn failure_of_absent_region<'p>(
        &self,
        path: Result<&'p RequestPath<'p>, Failure>,
        addresses: Option<&'p AddressesQuery<'p>>,
        absent: Failure,
    ) -> Failure
    where
        'r: 'p,
    {
        if !self.state.region.is_replaced() {
            return absent;
        }
        match path.and_then(|path| self.check(path, addresses)) {
            Ok(allowed) if allowed.authorized.action == Action::Write => Failure::WriteForbidden,
            _ => absent,
        }
    }

    /// Borrows memory for headers that are larger than most.
    fn borrow_for_headers(&self, loan: &mut Loan) -> Result<(), Failure> {
        let headers = self.parts.headers.iter();
        let bytes = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
        let bytes: usize = bytes.sum();
        if bytes <= HEAD_BYTES_FREE {
            return Ok(());
        }
        loan.grow(bytes).map_err(out_of_memory)
    }

    /// Parses the headers and authorizes the request.
    fn check<'p>(
        &self,
        path: &'p RequestPath<'p>,
        addresses: Option<&'p AddressesQuery<'p>>,
    ) -> Result<CheckedRequest<'p>, Failure>
    where
        'r: 'p,
    {
        let mut headers = RequestHeaders::parse(&self.parts.headers)?;
        let now = self.engine.now_seconds();
        let method = &self.parts.method;
        let authorize = match addresses {
            None => authorize,
            Some(_) => authorize_addresses,
        };
        let authorized = authorize(self.state, self.engine, method, path, &mut headers, now)?;
        if authorized.resource != Resource::Addresses {
            self.connection.mark_authenticated();
        }
        if authorized.authority.has_key() {
            self.connection.mark_key_shown();
        }
        Ok(CheckedRequest {
            headers,
            authorized,
            addresses,
        })
    }

    /// What a request for addresses looks for; None for every other request, and for every request
    /// to a server without direct mode.
    fn addresses(&self, path: &RequestPath<'_>) -> Option<Result<AddressesQuery<'r>, Failure>> {
        self.state.direct_port.get()?;
        let is_for_addresses = path.resource() == Ok(Resource::Addresses);
        is_for_addresses.then(|| AddressesQuery::of_uri(&self.parts.uri))
    }

    /// Reads and discards the body for some time, so that an HTTP/1 client that is still sending it
    /// receives the refusal. A client with the `Expect` header waits before it sends the body, and
    /// with HTTP/2 a client receives the refusal in any case.
    async fn refuse(&self, incoming: RequestBody) {
        let waits = self.parts.headers.contains_key(EXPECT);
        if self.parts.version != Version::HTTP_2 && !waits {
            body::drain(incoming).await;
        }
    }

    /// Carries out an authorized request: gates, body, route.
    async fn carry_out(
        &self,
        allowed: CheckedRequest<'_>,
        loan: &mut Loan,
        incoming: RequestBody,
    ) -> Result<Reply, Failure> {
        // Before the body is read: large headers are paid first, or they would be free.
        if let Err(failure) = self.borrow_for_headers(loan) {
            self.refuse(incoming).await;
            return Err(failure);
        }
        let CheckedRequest {
            headers,
            authorized,
            addresses,
        } = allowed;
        let AuthorizedRequest {
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
        // The body is read last: every refusal above costs the client nothing but its headers.
        let body = body::read(incoming, loan, stall_time).await?;
        let exchange = Exchange {
            state: self.state,
            engine: Arc::clone(self.engine),
            method: &self.parts.method,
            headers: &headers,
            authority,
            body,
            scheme: self.scheme,
            request: self.parts,
            replica: self.replica.map(|replica| replica.path),
            share: loan.share(),
        };
        if let Some(query) = addresses {
            return routes::addresses(&exchange, resource, query);
        }
        if let Some(replica) = self.replica {
            replica.check(&exchange)?;
        }
        routes::dispatch(&exchange, resource).await
    }
}

/// Whether the sender may read the metrics.
fn authorize_metrics(state: &State, parts: &Parts) -> Result<(), Failure> {
    if parts.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    // Metrics have no documents, so on loopback they need no key.
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

/// The activity id of the request: the one from the client, or a new one.
fn activity_id(state: &State, parts: &Parts) -> String {
    let sent = parts
        .headers
        .get(names::ACTIVITY_ID)
        .and_then(|value| value.to_str().ok());
    // A client that adds the header twice sends both ids in one line.
    let first = sent.and_then(|ids| ids.split(',').next()).map(str::trim);
    match first.filter(|id| !id.is_empty() && id.len() <= ACTIVITY_ID_BYTES_MAX) {
        Some(id) => id.to_owned(),
        None => state.activity_ids.next(),
    }
}
