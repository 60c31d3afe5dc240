//! The listener for operators, which reports the state of the regions and takes orders for them.
//!
//! A separate listener answers operators even when a region does not answer, and its key allows
//! orders that no account key allows. The path of an order: a request becomes a
//! [`request::ManagementRequest`] (pure), the request one or more
//! [`orrery_account::OperatorOrder`]s (pure), and the account carries the orders out.

mod body;
mod key;
mod names;
mod orders;
mod refusal;
mod request;
mod service;

use std::net::SocketAddr;
use std::sync::Arc;

use orrery_account::{Account, ControlError};
use orrery_model::Secret;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

use crate::hosts::Hosts;
use crate::{Error, Governor, TlsIdentity, accept, tls};

pub struct ManagementOptions {
    pub listen: SocketAddr,
    /// None serves plain HTTP.
    pub tls: Option<TlsIdentity>,
    /// A client with this key may give every order.
    pub key: Secret,
    pub account: Arc<Account>,
    /// Receives orders to add a region. Adding needs a listener and a directory, which the receiver
    /// manages.
    pub additions: mpsc::Sender<Addition>,
    /// The governor of the process.
    pub governor: Governor,
}

/// An order to add a region to this process.
pub struct Addition {
    pub name: String,
    /// The address of the new region. None takes any free port.
    pub listen: Option<SocketAddr>,
    /// Receives the endpoint of the new region.
    pub reply: oneshot::Sender<Result<String, ControlError>>,
}

pub struct Management {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    operators: ManagementService,
}

/// The state that every request to the listener needs.
struct ManagementService {
    key: Secret,
    account: Arc<Account>,
    additions: mpsc::Sender<Addition>,
    governor: Governor,
}

impl Management {
    pub async fn bind(options: ManagementOptions) -> Result<Management, Error> {
        let acceptor = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let failed = |source| Error::ListenForOperators {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Management {
            listener,
            address,
            acceptor,
            operators: ManagementService {
                key: options.key,
                account: options.account,
                additions: options.additions,
                governor: options.governor,
            },
        })
    }

    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready; returns when the open requests have ended.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let operators = Arc::new(self.operators);
        let governor = &operators.governor;
        let listener = accept::Listener {
            socket: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.operators()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
            low_priority: None,
        };
        accept::run(listener, operators, shutdown).await;
    }
}
