//! From an operator's request to its answer.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use orrery_account::{ControlError, Order, RegionState};
use orrery_memory::Share;
use tokio::sync::oneshot;

use super::call::{Call, NewRegion};
use super::refusal::Refusal;
use super::{Addition, Operators, body, call, key, names, orders};
use crate::accept::{self, Answers};
use crate::governor::{Client, Connection};
use crate::{explorer, metrics};

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; version=0.0.4";

struct Answer {
    status: u16,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Answers for Operators {
    async fn answer(&self, call: accept::Call, connection: &Connection) -> accept::Answer {
        let share = self.governor.share(Client::Operator);
        let response = self.respond(call, connection, &share).await;
        // The loan is empty: an answer to an operator is small, and the operator must receive it
        // even when no memory is left.
        let loan = share.loan();
        accept::Answer { response, loan }
    }
}

impl Operators {
    async fn respond(
        &self,
        call: accept::Call,
        connection: &Connection,
        share: &Share,
    ) -> Response<Bytes> {
        let (parts, incoming) = (call.parts, call.body);
        // Files without secrets, which ask for the key themselves.
        if let Some(page) = explorer::answer_operator(&parts) {
            return page;
        }
        let answered = if key::is_sent(&parts.headers, &self.key) {
            connection.trust();
            let stall_time = self.governor.limits().stall_time;
            let mut loan = share.loan();
            match crate::body::read(incoming, &mut loan, stall_time).await {
                Ok(body) => match Call::parse(&parts.method, parts.uri.path(), &body) {
                    Ok(call) => self.carry_out(call).await,
                    Err(refusal) => Err(refusal),
                },
                Err(failure) => Err(Refusal::wrong(failure.to_string())),
            }
        } else {
            crate::body::drain(incoming).await;
            Err(Refusal::unauthorized())
        };
        let answer = answered.unwrap_or_else(|refusal| Answer {
            status: refusal.status,
            content_type: JSON,
            body: refusal.body(),
        });
        if parts.method != Method::GET {
            let (method, path) = (&parts.method, parts.uri.path());
            tracing::info!(%method, path, status = answer.status, "an operator's order");
        }
        answer.into_response()
    }
}

impl Operators {
    async fn carry_out(&self, call: Call) -> Result<Answer, Refusal> {
        match call {
            Call::Report => {}
            Call::Metrics => {
                let report = self.account.report();
                return Ok(Answer {
                    status: 200,
                    content_type: TEXT,
                    body: metrics::regions_text(&report).into_bytes(),
                });
            }
            Call::FalseProgress { region } => return self.false_progress(&region),
            Call::Add(region) => return self.add(region).await,
            Call::Failover(failover) => {
                let order = match &failover.partition {
                    Some(partition) => {
                        if failover.accepts_loss || !failover.offline.is_empty() {
                            return Err(Refusal::wrong(
                                "a failover of a partition takes \"to\", \"partition\" and \"forced\" only",
                            ));
                        }
                        Order::MovePartition {
                            to: self.resolve(&failover.to)?,
                            partition: call::address(partition)?,
                            forced: failover.forced,
                        }
                    }
                    None => orders::failover(&failover, &self.names())?,
                };
                self.account.carry_out(order).await?;
            }
            Call::Remove { region, forced } => {
                let region = self.resolve(&region)?;
                let order = Order::Remove { region, forced };
                self.account.carry_out(order).await?;
            }
            Call::TakeDown { region, partition } => {
                let region = self.resolve(&region)?;
                let order = match partition {
                    Some(partition) => Order::TakeDownPartition { region, partition },
                    None => Order::TakeDown { region },
                };
                self.account.carry_out(order).await?;
            }
            Call::BringUp { region, partition } => {
                let region = self.resolve(&region)?;
                let order = match partition {
                    Some(partition) => Order::BringUpPartition { region, partition },
                    None => Order::BringUp { region },
                };
                self.account.carry_out(order).await?;
            }
            Call::Link { from, to, order } => {
                for order in orders::links(&from, &to, order, &self.names())? {
                    match self.account.carry_out(order).await {
                        // Every link that begins here is meant, not those of other processes.
                        Err(ControlError::Elsewhere(..)) if from == orders::ANY => {}
                        done => done?,
                    }
                }
            }
        }
        Ok(Answer::json(200, body::report(&self.account.report())))
    }

    async fn add(&self, region: NewRegion) -> Result<Answer, Refusal> {
        let (reply, endpoint) = oneshot::channel();
        let addition = Addition {
            name: region.name.clone(),
            listen: region.listen,
            reply,
        };
        let sent = self.additions.send(addition).await;
        sent.map_err(|_| Refusal::stopping())?;
        let endpoint = endpoint.await.map_err(|_| Refusal::stopping())??;
        Ok(Answer::json(201, body::added(&region.name, &endpoint)))
    }

    /// Lines of JSON, one for each item that was written or removed.
    fn false_progress(&self, region: &str) -> Result<Answer, Refusal> {
        let region = self.resolve(region)?;
        let lines = self.account.false_progress(&region);
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
        Ok(Answer {
            status: 200,
            content_type: LINES,
            body: text.into_bytes(),
        })
    }

    fn resolve(&self, written: &str) -> Result<String, Refusal> {
        Ok(names::resolve(written, &self.names())?.to_owned())
    }

    /// A region that left takes no orders.
    fn names(&self) -> Vec<String> {
        let regions = self.account.report().regions.into_iter();
        let there = regions.filter(|region| region.state != RegionState::Removed);
        there.map(|region| region.name).collect()
    }
}

impl Answer {
    fn json(status: u16, body: Vec<u8>) -> Answer {
        Answer {
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
