//! The listener for operators: what the account's regions do, and orders to them.
//!
//! It stands apart from the listeners of the regions because it must answer when a region does not,
//! and because its key may do what no key of the account may. A request becomes a [`call::Call`]
//! (pure), the call one or more [`orrery_account::Order`]s (pure), and these go to the account.

mod body;
mod call;
mod key;
mod names;
mod orders;
mod refusal;
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
    /// Whoever sends it may do everything.
    pub key: Secret,
    pub account: Arc<Account>,
    /// Where regions are added: it takes a listener and a directory, which others know of.
    pub additions: mpsc::Sender<Addition>,
    /// Of the process.
    pub governor: Governor,
}

/// An operator wants another region in this process.
pub struct Addition {
    pub name: String,
    /// None takes any free port.
    pub listen: Option<SocketAddr>,
    /// Takes the endpoint of the new region.
    pub reply: oneshot::Sender<Result<String, ControlError>>,
}

pub struct Management {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    operators: Operators,
}

/// What every request needs.
struct Operators {
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
            operators: Operators {
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
        let door = accept::Door {
            listener: self.listener,
            acceptor: self.acceptor,
            register: Arc::clone(governor.operators()),
            hosts: Hosts::new(self.address.ip(), &governor.limits().allowed_hosts),
        };
        accept::run(door, operators, shutdown).await;
    }
}
