//! One request with everything a route may want to know of it.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::Authority as UriAuthority;
use orrery_engine::{Catalogue, ContainerEntry, DatabaseEntry, Engine, Metering, ReadTerms, Terms};
use orrery_memory::Share;
use orrery_model::{ConsistencyLevel, ContainerAddress, Failure, Script, ScriptKind, Session};
use orrery_wire::{Owner, OwnerHeaders, ReadStrategy, RequestHeaders, has_reached};

use crate::authority::{Authority, Reach};
use crate::reply::Reply;
use crate::state::State;

pub(crate) struct Exchange<'r> {
    pub(crate) state: &'r State,
    /// Of this request; another one may answer the next.
    pub(crate) engine: Arc<Engine>,
    pub(crate) method: &'r Method,
    pub(crate) headers: &'r RequestHeaders<'r>,
    /// What its sender may touch.
    pub(crate) authority: Authority<'r>,
    pub(crate) body: Bytes,
    pub(crate) activity_id: &'r str,
    pub(crate) scheme: &'static str,
    pub(crate) request: &'r Parts,
    /// What the client borrows memory through.
    pub(crate) share: &'r Share,
}

/// A container that a request resolved, with its place in the tree.
pub(crate) struct Found {
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

    /// Finds a container, and refuses a client that remembers another one of that name.
    pub(crate) fn container(&self, address: ContainerAddress<'_>) -> Result<Found, Failure> {
        let catalogue = self.catalogue();
        let (database, entry) = catalogue.container(address)?;
        self.authority.check_container(entry.container.rid)?;
        self.headers.check_intended_container(entry.container.rid)?;
        Ok(Found {
            database: Arc::clone(database),
            entry: Arc::clone(entry),
        })
    }

    /// Scheme and host that the client used: `https://localhost:8081`.
    pub(crate) fn base_url(&self) -> String {
        let host = self
            .request
            .headers
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        let authority = self.request.uri.authority().map(UriAuthority::as_str);
        format!(
            "{}://{}",
            self.scheme,
            host.or(authority).unwrap_or("localhost")
        )
    }

    /// What the request says of its consistency, priority and throughput bucket.
    pub(crate) fn terms(&self) -> Result<Terms, Failure> {
        let ReadTerms { level, metering } = self.read_terms()?;
        Ok(Terms {
            level,
            metering,
            share: self.share.clone(),
        })
    }

    /// The same for a point read.
    pub(crate) fn read_terms(&self) -> Result<ReadTerms, Failure> {
        Ok(ReadTerms {
            level: self.level()?,
            metering: Metering::Metered {
                priority: self.headers.priority.unwrap_or_default(),
                bucket: self.headers.throughput_bucket,
            },
        })
    }

    /// Waits until this region may answer a read at the level of the request.
    pub(crate) async fn admit_read(&self) -> Result<(), Failure> {
        // What this region has committed it has here: there is nothing to wait for.
        if self.headers.strategy == Some(ReadStrategy::LatestCommitted) {
            return Ok(());
        }
        self.state.region.check_read(self.level()?).await
    }

    /// Where every region writes, waits until what the author of a write has seen elsewhere is here:
    /// whoever sees the write then sees that too.
    pub(crate) async fn admit_write(&self) -> Result<(), Failure> {
        let Some(token) = self.headers.session_token else {
            return Ok(());
        };
        let region = &self.state.region;
        let is_reached = |session: &Session| has_reached(session, token);
        if region.wait_until(&self.engine, is_reached).await {
            Ok(())
        } else {
            Err(Failure::SessionNotAvailable(token.to_owned()))
        }
    }

    /// What session tokens say now. To be asked before a read that it is compared with, and after the
    /// operation for the answer.
    pub(crate) fn session(&self) -> Session {
        self.state.region.session(&self.engine)
    }

    pub(crate) fn level(&self) -> Result<ConsistencyLevel, Failure> {
        self.headers.effective_consistency(self.engine.consistency)
    }
}

impl Found {
    /// The items in it that the sender of the request may touch.
    pub(crate) fn reach<'x>(&'x self, exchange: &'x Exchange<'_>) -> Reach<'x> {
        exchange
            .authority
            .reach(&exchange.engine, &self.entry.container)
    }

    /// A script by the last segment of its path.
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

    /// The address by resource id, which never leads to another container that gets the same name
    /// later.
    pub(crate) fn address(&self) -> ContainerAddress<'static> {
        ContainerAddress::Rid(self.entry.container.rid)
    }

    /// Headers that name the container as the owner of items.
    pub(crate) fn owner(&self, exchange: &Exchange<'_>) -> OwnerHeaders {
        let rid = self.entry.container.rid;
        exchange.state.owners.of(rid, || {
            OwnerHeaders::new(Owner::Container {
                rid,
                database: &self.database.database.id,
                name: &self.entry.container.definition.id,
            })
        })
    }

    /// What every answer about items says, failures included: whose they are, and which partition
    /// answered. Clients that miss either forget what they know of the container.
    pub(crate) fn complete(&self, exchange: &Exchange<'_>, reply: Reply) -> Reply {
        let container = &self.entry.container;
        let stamp = reply.stamp.or_else(|| {
            let addressed = exchange.authority.addressed_partition(container);
            addressed.or_else(|| Some(container.partitions.first()?.stamp()))
        });
        Reply {
            stamp,
            owner: Some(self.owner(exchange)),
            ..reply
        }
    }

    /// Headers that name the database as the owner of the container.
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
