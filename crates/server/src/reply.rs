//! An answer before it becomes headers and bytes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use orrery_engine::Engine;
use orrery_model::{Charge, Failure, Lsn, PartitionLsn};
use orrery_wire::{ContainerUsage, ErrorStatus, OwnerHeaders, ResponseHeaders, error_body, names};

use crate::state::State;

/// One year.
const HSTS: &str = "max-age=31536000";

/// The answer of a route.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) charge: Charge,
    pub(crate) partition_lsn: Option<PartitionLsn>,
    /// A session token in place of the token of `partition_lsn`.
    pub(crate) session_token: Option<String>,
    pub(crate) owner: Option<OwnerHeaders>,
    /// Whether a batch failed because an item does not exist. Its answer then names its owner like
    /// an answer of 404.
    pub(crate) is_of_missing_item: bool,
    /// The URL of the item in the answer.
    pub(crate) location: Option<HeaderValue>,
    pub(crate) etag: Option<String>,
    pub(crate) item_lsn: Option<Lsn>,
    pub(crate) item_count: Option<usize>,
    pub(crate) continuation: Option<String>,
    /// The usage of a container, for clients that ask for its quota.
    pub(crate) usage: Option<ContainerUsage>,
    /// How many scripts of each kind the container has.
    pub(crate) script_counts: Option<[usize; 3]>,
    pub(crate) min_throughput: Option<u32>,
    /// Whether partitions still have to split before an offer takes effect.
    pub(crate) is_offer_pending: bool,
    /// Whether the rows are complete, for a client that asked for direct execution of its query.
    pub(crate) is_complete: bool,
    /// What the answer reports about a query, with the names of the headers.
    pub(crate) reports: Vec<(&'static str, String)>,
    /// What a stored procedure logged.
    pub(crate) script_log: Option<String>,
    pub(crate) failure: Option<Failure>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Reply {
        Reply {
            status,
            body: body.into(),
            charge: Charge::MIN,
            ..Reply::default()
        }
    }

    pub(crate) fn not_modified(etag: impl Into<String>) -> Reply {
        Reply {
            etag: Some(etag.into()),
            ..Reply::new(304, Bytes::new())
        }
    }

    /// The reply to a failed request, with the least charge of its kind.
    pub(crate) fn failed(failure: Failure) -> Reply {
        let status = ErrorStatus::of(&failure).status;
        Reply {
            charge: failure.charge(),
            failure: Some(failure),
            ..Reply::new(status, Bytes::new())
        }
    }

    pub(crate) fn with_etag(mut self, etag: impl Into<String>) -> Reply {
        self.etag = Some(etag.into());
        self
    }

    pub(crate) fn with_owner(mut self, owner: OwnerHeaders) -> Reply {
        self.owner = Some(owner);
        self
    }

    /// Writes the headers and the body. Headers depend on the state of the server at the end of the
    /// request.
    pub(crate) fn into_response(
        self,
        state: &State,
        engine: &Arc<Engine>,
        activity_id: &str,
        elapsed: Duration,
    ) -> Response<Bytes> {
        let mut headers = ResponseHeaders::new(activity_id, self.charge, elapsed)
            .server_state(state.next_request_number(), &state.started);
        let region = &state.region;
        headers = headers.read_regions(region.readable_count().saturating_sub(1));
        // The position of this region means nothing to a client that must write in another region.
        let is_elsewhere = matches!(self.failure, Some(Failure::WriteForbidden));
        if let Some(partition_lsn) = self.partition_lsn.filter(|_| !is_elsewhere) {
            // The session is read after the operation: a position under an older version would
            // promise less.
            headers = headers.partition_lsn(partition_lsn, &region.session(engine));
        }
        if let Some(token) = &self.session_token {
            headers = headers.session_token(token);
        }
        if let Some(owner) = &self.owner {
            headers = headers.owner(owner);
        }
        if let Some(counts) = self.script_counts {
            headers = headers.script_quota(counts);
        }
        if let Some(location) = self.location {
            headers = headers.content_location(location);
        }
        if let Some(etag) = &self.etag {
            headers = headers.feed_etag(etag);
        }
        if let Some(lsn) = self.item_lsn {
            headers = headers.item_lsn(lsn);
        }
        if let Some(count) = self.item_count {
            headers = headers.item_count(count);
        }
        if let Some(usage) = self.usage {
            headers = headers.container_quota(usage);
        }
        if let Some(minimum) = self.min_throughput {
            headers = headers.offer(minimum, self.is_offer_pending);
        }
        if self.is_complete {
            headers = headers.with(names::QUERY_REQUIRES_DISTRIBUTION, "False");
        }
        for (name, value) in &self.reports {
            headers = headers.with(name, value);
        }
        if let Some(log) = &self.script_log {
            headers = headers.script_log(log);
        }
        if state.hsts {
            headers = headers.with(names::STRICT_TRANSPORT_SECURITY, HSTS);
        }
        if self.is_of_missing_item {
            // After `owner`, which sets this header.
            headers = headers.without_content_path();
        }
        headers = headers.continuation(self.continuation.as_deref());
        let body = match &self.failure {
            Some(failure) => {
                // Last, because a failure removes headers that the reply may have set.
                headers = headers.failure(failure);
                error_body(failure, activity_id).into()
            }
            None => self.body,
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = headers.into_map();
        response
    }
}
