//! Answers an operator's request.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use orrery_account::{ControlError, OperatorOrder, RegionState};
use orrery_memory::MemoryShare;
use tokio::sync::oneshot;

use super::refusal::Refusal;
use super::request::{ManagementRequest, NewRegion};
use super::{Addition, ManagementService, body, key, names, orders, request};
use crate::accept::{self, RequestHandler};
use crate::governor::{ClientIdentity, Connection};
use crate::{explorer, metrics};

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; version=0.0.4";

struct ManagementResponse {
    status: u16,
    content_type: &'static str,
    body: Vec<u8>,
}

impl RequestHandler for ManagementService {
    async fn answer(
        &self,
        request: accept::IncomingRequest,
        connection: &Connection,
    ) -> accept::LoanedResponse {
        let share = self.governor.share(ClientIdentity::Operator);
        let response = self.respond(request, connection, &share).await;
        // The loan is empty: an answer to an operator is small, and the operator must receive it
        // even when no memory is left.
        let loan = share.loan();
        accept::LoanedResponse { response, loan }
    }
}

impl ManagementService {
    async fn respond(
        &self,
        request: accept::IncomingRequest,
        connection: &Connection,
        share: &MemoryShare,
    ) -> Response<Bytes> {
        let (parts, incoming) = (request.parts, request.body);
        // The page has no secrets and asks the user for the key, so it needs no key itself.
        if let Some(page) = explorer::answer_operator(&parts) {
            return page;
        }
        let answered = if key::is_sent(&parts.headers, &self.key) {
            // Authenticated connections have a longer idle limit.
            connection.mark_authenticated();
            let stall_time = self.governor.limits().stall_time;
            let mut loan = share.loan();
            match crate::body::read(incoming, &mut loan, stall_time).await {
                Ok(body) => {
                    match ManagementRequest::parse(&parts.method, parts.uri.path(), &body) {
                        Ok(request) => self.carry_out(request).await,
                        Err(refusal) => Err(refusal),
                    }
                }
                Err(failure) => Err(Refusal::wrong(failure.to_string())),
            }
        } else {
            // The body is discarded unread: nothing of a request without the key is parsed.
            crate::body::drain(incoming).await;
            Err(Refusal::unauthorized())
        };
        let answer = answered.unwrap_or_else(|refusal| ManagementResponse {
            status: refusal.status,
            content_type: JSON,
            body: refusal.body(),
        });
        // Orders change the account, so the log has each of them with its outcome.
        if parts.method != Method::GET {
            let (method, path) = (&parts.method, parts.uri.path());
            tracing::info!(%method, path, status = answer.status, "an operator's order");
        }
        answer.into_response()
    }
}

impl ManagementService {
    /// Carries out a request. Every order is answered with the report of the account after it.
    async fn carry_out(&self, request: ManagementRequest) -> Result<ManagementResponse, Refusal> {
        match request {
            ManagementRequest::Report => {}
            ManagementRequest::Metrics => {
                let report = self.account.report();
                return Ok(ManagementResponse {
                    status: 200,
                    content_type: TEXT,
                    body: metrics::regions_text(&report).into_bytes(),
                });
            }
            ManagementRequest::DivergedSuffix { region } => return self.diverged_suffix(&region),
            ManagementRequest::Add(region) => return self.add(region).await,
            ManagementRequest::Failover(failover) => {
                let order = match &failover.partition {
                    Some(partition) => {
                        // Both fields concern whole regions, so a partition failover would ignore
                        // them.
                        if failover.accepts_loss || !failover.offline.is_empty() {
                            return Err(Refusal::wrong(
                                "a failover of a partition takes \"to\", \"partition\" and \"forced\" only",
                            ));
                        }
                        OperatorOrder::MovePartition {
                            to: self.resolve(&failover.to)?,
                            partition: request::address(partition)?,
                            forced: failover.forced,
                        }
                    }
                    None => orders::failover(&failover, &self.names())?,
                };
                self.account.carry_out(order).await?;
            }
            ManagementRequest::Remove { region, forced } => {
                let region = self.resolve(&region)?;
                let order = OperatorOrder::Remove { region, forced };
                self.account.carry_out(order).await?;
            }
            ManagementRequest::TakeDown { region, partition } => {
                let region = self.resolve(&region)?;
                let order = match partition {
                    Some(partition) => OperatorOrder::TakeDownPartition { region, partition },
                    None => OperatorOrder::TakeDown { region },
                };
                self.account.carry_out(order).await?;
            }
            ManagementRequest::BringUp { region, partition } => {
                let region = self.resolve(&region)?;
                let order = match partition {
                    Some(partition) => OperatorOrder::BringUpPartition { region, partition },
                    None => OperatorOrder::BringUp { region },
                };
                self.account.carry_out(order).await?;
            }
            ManagementRequest::Link { from, to, order } => {
                // Region names are read for each request, because operators add and remove regions.
                for order in orders::links(&from, &to, order, &self.names())? {
                    match self.account.carry_out(order).await {
                        // With `*` an operator means every link that begins in this process; links
                        // of other processes are not an error.
                        Err(ControlError::Elsewhere(..)) if from == orders::ANY => {}
                        done => done?,
                    }
                }
            }
        }
        Ok(ManagementResponse::json(
            200,
            body::report(&self.account.report()),
        ))
    }

    /// Passes the order to the owner of the listeners, and waits until the new region answers.
    async fn add(&self, region: NewRegion) -> Result<ManagementResponse, Refusal> {
        let (reply, endpoint) = oneshot::channel();
        let addition = Addition {
            name: region.name.clone(),
            listen: region.listen,
            reply,
        };
        let sent = self.additions.send(addition).await;
        sent.map_err(|_| Refusal::stopping())?;
        let endpoint = endpoint.await.map_err(|_| Refusal::stopping())??;
        Ok(ManagementResponse::json(
            201,
            body::added(&region.name, &endpoint),
        ))
    }

    /// The diverged suffix as lines of JSON, one line for each item that was written or removed.
    fn diverged_suffix(&self, region: &str) -> Result<ManagementResponse, Refusal> {
        let region = self.resolve(region)?;
        let lines = self.account.diverged_suffix(&region);
        let lines = lines.ok_or_else(|| {
            Refusal::wrong(format!(
                "region '{region}' is not in this process; ask the process that has it"
            ))
        })?;
        let lines = lines.map_err(|error| {
            Refusal::from(ControlError::Failed(format!(
                "false progress cannot be read: {error}"
            )))
        })?;
        let mut text = lines.join("\n");
        text.push_str(if lines.is_empty() { "" } else { "\n" });
        Ok(ManagementResponse {
            status: 200,
            content_type: LINES,
            body: text.into_bytes(),
        })
    }

    fn resolve(&self, written: &str) -> Result<String, Refusal> {
        Ok(names::resolve(written, &self.names())?.to_owned())
    }

    /// The names of all regions that take orders: a region that left the account takes none.
    fn names(&self) -> Vec<String> {
        let regions = self.account.report().regions.into_iter();
        let remaining = regions.filter(|region| region.state != RegionState::Removed);
        remaining.map(|region| region.name).collect()
    }
}

impl ManagementResponse {
    fn json(status: u16, body: Vec<u8>) -> ManagementResponse {
        ManagementResponse {
            status,
            content_type: JSON,
            body,
        }
    }

    fn into_response(self) -> Response<Bytes> {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::new(Bytes::from(self.body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
