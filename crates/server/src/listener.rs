//! A region behind its listener.

use std::net::SocketAddr;
use std::sync::Arc;

use orrery_account::Region;
use orrery_model::AccountKeys;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, Answer, Answers, Call};
use crate::governor::Connection;
use crate::hosts::Hosts;
use crate::service::handle;
use crate::state::State;
use crate::{Error, ServerOptions, tls};

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    state: Arc<State>,
}

/// Reaches into a running server.
#[derive(Clone)]
pub struct ServerHandle {
    state: Arc<State>,
}

impl ServerHandle {
    /// From now on these keys sign requests, and no others.
    pub fn set_keys(&self, keys: &AccountKeys) {
        self.state.set_keys(keys);
    }

    /// From now on this signs resource tokens; those that another secret signed are refused.
    pub fn set_token_secret(&self, secret: &[u8]) {
        self.state.set_token_secret(secret);
    }
}

impl Server {
    /// Takes an address before there is a region to answer there.
    pub async fn reserve(address: SocketAddr) -> Result<TcpListener, Error> {
        let failed = |source| Error::Listen { address, source };
        TcpListener::bind(address).await.map_err(failed)
    }

    pub async fn bind(region: Arc<Region>, options: ServerOptions) -> Result<Server, Error> {
        let listener = Server::reserve(options.listen).await?;
        Server::on(listener, region, options)
    }

    /// Answers for a region on an address that was reserved.
    pub fn on(
        listener: TcpListener,
        region: Arc<Region>,
        options: ServerOptions,
    ) -> Result<Server, Error> {
        let acceptor = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let address = listener.local_addr().map_err(|source| Error::Listen {
            address: options.listen,
            source,
        })?;
        let state = State::new(region, options, address.ip().is_loopback());
        Ok(Server {
            listener,
            address,
            acceptor,
            state: Arc::new(state),
        })
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            state: Arc::clone(&self.state),
        }
    }

    /// Serves until `shutdown` is ready; returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let governor = &self.state.governor;
        let door = accept::Door {
            listener: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.clients()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
        };
        accept::run(door, self.state, shutdown).await;
    }
}

impl Answers for State {
    async fn answer(&self, call: Call, connection: &Connection) -> Answer {
        handle(self, call, connection).await
    }
}
