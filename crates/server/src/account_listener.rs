//! The address of a whole account: each request is answered by a region of this process that is there.
//!
//! Clients read the account document where they were sent to, now and again for as long as they run, and go there
//! with whatever they know no better place for. The address of one region is lost with that region; this
//! one is not. A write that comes here while no region of the process takes it is refused as in any region that
//! does not, which makes clients read the account again.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use hyper::{Response, StatusCode};
use orrery_account::{Availability, Region};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, Answer, Answers, Call};
use crate::governor::{Client, Connection, Governor};
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

/// Reaches into a running server.
#[derive(Clone)]
pub struct AccountServerHandle {
    states: Arc<Regions>,
    is_loopback: bool,
}

/// In order of failover.
struct Regions {
    governor: Governor,
    states: RwLock<Vec<Arc<State>>>,
}

impl AccountServer {
    /// On an address that was reserved; `tls` is none for plain HTTP.
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

    pub fn handle(&self) -> AccountServerHandle {
        self.regions.clone()
    }

    /// Serves until `shutdown` is ready; returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let regions = self.regions.states;
        let governor = &regions.governor;
        let door = accept::Door {
            listener: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.clients()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
        };
        accept::run(door, regions, shutdown).await;
    }
}

impl AccountServerHandle {
    /// From now on this region may answer, after those that were added before.
    pub fn add(&self, server: &Server) {
        let state = server.state();
        if !self.is_loopback {
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

impl Answers for Regions {
    async fn answer(&self, call: Call, connection: &Connection) -> Answer {
        let chosen = {
            let states = self.states.read().unwrap_or_else(PoisonError::into_inner);
            states
                .iter()
                .min_by_key(|state| rank(&state.region))
                .cloned()
        };
        match chosen {
            Some(state) => handle(&state, call, connection).await,
            None => {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                let loan = self.governor.share(Client::Stranger).loan();
                Answer { response, loan }
            }
        }
    }
}

/// The write region first. Of two that both think so the one that was chosen later is right.
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
