//! The server of one region: its listener and its state.

use std::net::SocketAddr;
use std::sync::Arc;

use orrery_account::Region;
use orrery_model::AccountKeys;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, IncomingRequest, LoanedResponse, RequestHandler};
use crate::direct::DirectListener;
use crate::governor::Connection;
use crate::hosts::Hosts;
use crate::service::handle;
use crate::state::State;
use crate::{Error, ServerOptions, TlsIdentity, tls};

/// A region's listener for clients, bound and not yet serving.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    direct: Option<DirectListener>,
    state: Arc<State>,
}

/// A handle to a running server.
#[derive(Clone)]
pub struct ServerHandle {
    state: Arc<State>,
}

impl ServerHandle {
    /// Replaces the account keys. From now on only these keys sign requests.
    pub fn set_keys(&self, keys: &AccountKeys) {
        self.state.set_keys(keys);
    }

    /// Replaces the secret of resource tokens. Tokens that another secret signed are refused.
    pub fn set_token_secret(&self, secret: &[u8]) {
        self.state.set_token_secret(secret);
    }
}

impl Server {
    /// Binds an address before the region that answers there exists.
    pub async fn reserve(address: SocketAddr) -> Result<TcpListener, Error> {
        let failed = |source| Error::Listen { address, source };
        TcpListener::bind(address).await.map_err(failed)
    }

    /// Binds the address of the options and makes the server of a region.
    pub async fn bind(region: Arc<Region>, options: ServerOptions) -> Result<Server, Error> {
        let listener = Server::reserve(options.listen).await?;
        Server::on(listener, region, options)
    }

    /// Makes the server of a region on an address that was reserved.
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
            direct: None,
            state: Arc::new(state),
        })
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// The bound address, which has a port also if the options had port 0.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// A handle for changes while the server runs.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            state: Arc::clone(&self.state),
        }
    }

    /// Listens for clients in direct mode too, always with TLS. Returns the bound address.
    pub async fn listen_direct(
        &mut self,
        address: SocketAddr,
        identity: &TlsIdentity,
    ) -> Result<SocketAddr, Error> {
        let listener = DirectListener::bind(address, identity).await?;
        let address = listener.address();
        // Set once: the addresses that clients have received stay valid.
        let _ = self.state.direct_port.set(address.port());
        self.direct = Some(listener);
        Ok(address)
    }

    /// Serves until `shutdown` is ready. Returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let (stop, stopped) = oneshot::channel::<()>();
        let direct = self.direct.map(|listener| {
            let state = Arc::clone(&self.state);
            listener.run(state, async { drop(stopped.await) })
        });
        let direct = async {
            if let Some(direct) = direct {
                direct.await;
            }
        };
        let shutdown = async {
            shutdown.await;
            drop(stop);
        };
        let governor = &self.state.governor;
        let listener = accept::Listener {
            socket: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.clients()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
            low_priority: Some(governor.clone()),
        };
        tokio::join!(accept::run(listener, self.state, shutdown), direct);
    }
}

impl RequestHandler for State {
    async fn answer(&self, request: IncomingRequest, connection: &Connection) -> LoanedResponse {
        handle(self, request, connection).await
    }
}
