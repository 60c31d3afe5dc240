//! The address of a whole account. The listener forwards each request to a region of this process
//! that is available.
//!
//! A client reads the account document from the URL in its configuration, at its start and
//! repeatedly while it runs, and it uses this URL for requests that have no better region. The
//! address of one region fails with that region; the address of the account does not. If no region
//! of the process takes writes, a write to this address is refused as in a read region, and the
//! refusal makes the client read the account document again.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use hyper::{Response, StatusCode};
use orrery_account::{Availability, Region};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, IncomingRequest, LoanedResponse, RequestHandler};
use crate::governor::{ClientIdentity, Connection, Governor};
use crate::hosts::Hosts;
use crate::service::handle;
use crate::state::State;
use crate::{Error, Server, TlsIdentity, tls};

pub struct AccountServer {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    regions: AccountServerHandle,
}

/// A handle to a running account listener.
#[derive(Clone)]
pub struct AccountServerHandle {
    states: Arc<Regions>,
    is_loopback: bool,
}

/// The regions behind the listener, in order of failover.
struct Regions {
    governor: Governor,
    states: RwLock<Vec<Arc<State>>>,
}

impl AccountServer {
    /// Makes the server on an address that was reserved. `tls` is None for plain HTTP.
    pub fn on(
        listener: TcpListener,
        tls: Option<&TlsIdentity>,
        governor: Governor,
    ) -> Result<AccountServer, Error> {
        let acceptor = tls.map(tls::acceptor).transpose()?;
        let address = listener.local_addr().map_err(|source| Error::Listen {
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            source,
        })?;
        Ok(AccountServer {
            listener,
            address,
            acceptor,
            regions: AccountServerHandle {
                states: Arc::new(Regions {
                    governor,
                    states: RwLock::default(),
                }),
                is_loopback: address.ip().is_loopback(),
            },
        })
    }

    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The handle through which regions are added, before and while the listener runs.
    pub fn handle(&self) -> AccountServerHandle {
        self.regions.clone()
    }

    /// Serves until `shutdown` is ready. Returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let regions = self.regions.states;
        let governor = &regions.governor;
        let listener = accept::Listener {
            socket: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.clients()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
            // Low priority until a client has shown a key, as at the address of a region.
            low_priority: Some(governor.clone()),
        };
        accept::run(listener, regions, shutdown).await;
    }
}

impl AccountServerHandle {
    /// Adds a region, which may answer from now on. Earlier regions precede later ones in the order
    /// of failover.
    pub fn add(&self, server: &Server) {
        let state = server.state();
        if !self.is_loopback {
            // The region's own listener may be on loopback; through this one other machines reach
            // it.
            state.reached_from_outside();
        }
        let mut states = self
            .states
            .states
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        states.push(Arc::clone(state));
    }
}

impl RequestHandler for Regions {
    async fn answer(&self, request: IncomingRequest, connection: &Connection) -> LoanedResponse {
        // The lock is released before the request is handled.
        let chosen = {
            let states = self.states.read().unwrap_or_else(PoisonError::into_inner);
            states
                .iter()
                // The rank is computed for every request, since a failover changes it at any time.
                .min_by_key(|state| rank(&state.region))
                .cloned()
        };
        match chosen {
            Some(state) => handle(&state, request, connection).await,
            None => {
                let mut response = Response::new(Bytes::new());
                // No region, so no credential can be verified: the answer is paid by the share for
                // all clients without a credential.
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                let loan = self.governor.share(ClientIdentity::Unauthenticated).loan();
                LoanedResponse { response, loan }
            }
        }
    }
}

/// The rank of a region: the write region first. If two regions consider themselves the write
/// region, the one with the newer version is right.
fn rank(region: &Region) -> impl Ord + use<> {
    let absence = match region.availability() {
        Availability::Serving => 0,
        Availability::Returning => 1,
        Availability::Down => 2,
        Availability::Removed => 3,
    };
    let version = region.token_version(&region.engine());
    (absence, !region.is_write_region(), Reverse(version))
}
