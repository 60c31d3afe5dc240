//! One request, with everything that a route may read about it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::Method;
use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority as UriAuthority;
use orrery_engine::{
    Catalogue, ContainerEntry, DatabaseEntry, Engine, Metering, ReadBudget, RequestBudget,
};
use orrery_memory::MemoryShare;
use orrery_model::{
    ConsistencyLevel, ContainerAddress, Failure, PartitionLsn, RegionSession, Script, ScriptKind,
};
use orrery_wire::{
    FeedPost, Owner, OwnerHeaders, ReadStrategy, ReplicaPath, RequestHeaders, SdkCapabilities,
    encode_component, has_reached, parse_session_token, session_token,
};

use crate::QueryPlans;
use crate::authority::{Authority, ItemAccess};
use crate::reply::Reply;
use crate::state::State;

/// Clients in direct mode stop waiting after five or six seconds and send the request again.
const DIRECT_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Exchange<'r> {
    pub(crate) state: &'r State,
    /// The engine that answers this request. A region may open another engine after a copy, so the
    /// next request may have another one.
    pub(crate) engine: Arc<Engine>,
    pub(crate) method: &'r Method,
    pub(crate) headers: &'r RequestHeaders<'r>,
    /// What the sender of the request may touch.
    pub(crate) authority: Authority<'r>,
    pub(crate) body: Bytes,
    pub(crate) scheme: &'static str,
    pub(crate) request: &'r Parts,
    /// The replica that a client in direct mode asks; None for a request over HTTP.
    pub(crate) replica: Option<ReplicaPath>,
    /// The share through which the client of the request borrows memory.
    pub(crate) share: &'r MemoryShare,
}

/// A container that a request resolved, with its database.
pub(crate) struct ResolvedContainer {
    pub(crate) database: Arc<DatabaseEntry>,
    pub(crate) entry: Arc<ContainerEntry>,
}

impl Exchange<'_> {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.engine.catalogue()
    }

    /// Finds a container, and refuses a client that has cached another container of that name.
    pub(crate) fn container(
        &self,
        address: ContainerAddress<'_>,
    ) -> Result<ResolvedContainer, Failure> {
        let catalogue = self.catalogue();
        let (database, entry) = catalogue.container(address)?;
        // The authority is checked against the resource id and not the name, which may belong to
        // another container by now.
        self.authority.check_container(entry.container.rid)?;
        self.headers.check_intended_container(entry.container.rid)?;
        Ok(ResolvedContainer {
            database: Arc::clone(database),
            entry: Arc::clone(entry),
        })
    }

    /// Scheme and host of the URL that the client used: `https://localhost:8081`.
    pub(crate) fn base_url(&self) -> String {
        format!("{}://{}", self.scheme, self.host())
    }

    /// The host as the client wrote it: HTTP/1.1 has a header, HTTP/2 an authority.
    pub(crate) fn host(&self) -> &str {
        let host = self.request.headers.get(HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let authority = self.request.uri.authority().map(UriAuthority::as_str);
        host.or(authority).unwrap_or("localhost")
    }

    /// The URL of an item: the path of the request, or, for a request to a feed, this path and the
    /// id of the item.
    pub(crate) fn location(&self, below_feed: Option<&str>) -> Option<HeaderValue> {
        let uri = &self.request.uri;
        // A question mark in the id of an item looks like the begin of a query string.
        let path = match (below_feed, uri.path_and_query()) {
            (None, Some(whole)) => whole.as_str(),
            _ => uri.path(),
        };
        let (host, path) = (self.host(), path.trim_end_matches('/'));
        let child = below_feed.map(encode_component);
        let child = child.as_deref().unwrap_or_default();
        let bytes = self.scheme.len() + host.len() + path.len() + child.len() + 4;
        let mut location = BytesMut::with_capacity(bytes);
        let slash = if below_feed.is_some() { "/" } else { "" };
        for piece in [self.scheme, "://", host, path, slash, child] {
            location.extend_from_slice(piece.as_bytes());
        }
        HeaderValue::from_maybe_shared(location.freeze()).ok()
    }

    /// The consistency level, the priority and the throughput bucket of the request.
    pub(crate) fn request_budget(&self) -> Result<RequestBudget, Failure> {
        let ReadBudget { level, metering } = self.read_budget()?;
        Ok(RequestBudget {
            level,
            metering,
            share: self.share.clone(),
            patience: match self.replica {
                None => RequestBudget::PATIENCE,
                Some(_) => DIRECT_PATIENCE,
            },
        })
    }

    /// The same for a point read.
    pub(crate) fn read_budget(&self) -> Result<ReadBudget, Failure> {
        Ok(ReadBudget {
            level: self.level()?,
            metering: Metering::Metered {
                priority: self.headers.priority.unwrap_or_default(),
                bucket: self.headers.throughput_bucket,
            },
        })
    }

    /// Waits until this region may answer a read at the consistency level of the request.
    pub(crate) async fn admit_read(&self) -> Result<(), Failure> {
        // A read of the latest committed version reads what this region has committed, so it has
        // nothing to wait for.
        if self.headers.strategy == Some(ReadStrategy::LatestCommitted) {
            return Ok(());
        }
        self.state.region.check_read(self.level()?).await
    }

    /// In a multi-write account, waits until this region has the records that the author of a write
    /// has seen in other regions. A client that later reads the write can then read those records
    /// too.
    pub(crate) async fn admit_write(&self) -> Result<(), Failure> {
        let Some(token) = self.headers.session_token else {
            return Ok(());
        };
        // A malformed token is an error, and waiting for it would end only with the timeout.
        if let Some(failure) = parse_session_token(token).find_map(Result::err) {
            return Err(failure);
        }
        let region = &self.state.region;
        let is_reached = |session: &RegionSession| has_reached(session, token);
        if region.wait_until(&self.engine, is_reached).await {
            Ok(())
        } else {
            Err(Failure::SessionNotAvailable(token.to_owned()))
        }
    }

    /// The session state of the region now. A read calls this before it reads, to compare; an
    /// answer calls it after the operation, for its session token.
    pub(crate) fn session(&self) -> RegionSession {
        self.state.region.session(&self.engine)
    }

    /// The capabilities of the SDK that sent the request.
    pub(crate) fn sdk_capabilities(&self) -> SdkCapabilities {
        SdkCapabilities::of(&self.request.headers)
    }

    /// Whether the request is a query of an SDK that requests ranges again that have ended.
    pub(crate) fn answers_former_ranges(&self) -> bool {
        *self.method == Method::POST
            && self.headers.feed_post() == FeedPost::Query
            && self.headers.change_feed.is_none()
            && self.sdk_capabilities().repeats_former_ranges
    }

    /// Whether the client carries out a query plan if rows of several partition keys need merging.
    pub(crate) fn expects_plan(&self) -> bool {
        let query = &self.headers.query;
        let is_able = || self.sdk_capabilities().carries_out_plans;
        !query.whole
            && match self.state.query_plans {
                QueryPlans::Sdks => query.supported_features.is_some() || is_able(),
                QueryPlans::Everyone => true,
                QueryPlans::Nobody => false,
            }
    }

    /// The session token of an answer that came from several partition key ranges, for a client
    /// that reads all parts of a token. Every other client receives the token of the one position
    /// of the answer.
    pub(crate) fn token_of_ranges(&self, partition_lsns: &[PartitionLsn]) -> Option<String> {
        let is_list = partition_lsns.len() > 1 && self.sdk_capabilities().reads_token_lists;
        is_list.then(|| session_token(&self.session(), partition_lsns))
    }

    pub(crate) fn level(&self) -> Result<ConsistencyLevel, Failure> {
        self.headers.effective_consistency(self.engine.consistency)
    }
}

impl ResolvedContainer {
    /// The access to the items of this container that the sender of the request has.
    pub(crate) fn item_access<'x>(&'x self, exchange: &'x Exchange<'_>) -> ItemAccess<'x> {
        exchange
            .authority
            .item_access(&exchange.engine, &self.entry.container)
    }

    /// Finds a script by the last segment of its path.
    pub(crate) fn script(
        &self,
        exchange: &Exchange<'_>,
        container: ContainerAddress<'_>,
        kind: ScriptKind,
        segment: &str,
    ) -> Result<Arc<Script>, Failure> {
        let script = self.entry.scripts.find(container, kind, segment)?;
        exchange.authority.check_script(script.rid)?;
        Ok(Arc::clone(script))
    }

    /// The address of the container by resource id, which never leads to another container that
    /// gets the same name later.
    pub(crate) fn address(&self) -> ContainerAddress<'static> {
        ContainerAddress::Rid(self.entry.container.rid)
    }

    /// The headers that name the container as the owner of items.
    pub(crate) fn owner(&self, exchange: &Exchange<'_>) -> OwnerHeaders {
        let container = &self.entry.container;
        let rid = container.rid;
        let now_seconds = exchange.engine.now_seconds();
        let headers = exchange.state.owners.of(rid, now_seconds, || {
            let owner = OwnerHeaders::new(Owner::Container {
                rid,
                database: &self.database.database.id,
                name: &container.definition.id,
            });
            let counters = container
                .partitions
                .iter()
                .map(|partition| partition.counters());
            let sums = counters.fold((0, 0), |(items, bytes), counters| {
                (items + counters.items, bytes + counters.bytes)
            });
            owner.with_usage(sums.0, sums.1.div_ceil(1024))
        });
        // Counts and sizes of all items are not for a token of some items.
        if exchange.authority.covers_whole_containers() {
            headers
        } else {
            headers.without_usage()
        }
    }

    /// Adds the headers that every answer about items has, failures included: the owner of the
    /// items, and the partition that answered. A client that misses one of these headers discards
    /// its cached data of the container.
    pub(crate) fn complete(&self, exchange: &Exchange<'_>, reply: Reply) -> Reply {
        let container = &self.entry.container;
        let partition_lsn = reply.partition_lsn.or_else(|| {
            let addressed = exchange.authority.addressed_partition(container);
            addressed.or_else(|| Some(container.partitions.first()?.partition_lsn()))
        });
        Reply {
            partition_lsn,
            owner: Some(self.owner(exchange)),
            ..reply
        }
    }

    /// The headers that name the database as the owner of the container.
    pub(crate) fn database_owner(&self) -> OwnerHeaders {
        database_owner(&self.database)
    }
}

pub(crate) fn database_owner(database: &DatabaseEntry) -> OwnerHeaders {
    OwnerHeaders::new(Owner::Database {
        rid: database.database.rid,
        name: &database.database.id,
    })
}
