//! Listener, TLS, authentication, one route file for each kind of resource.
//!
//! A request is parsed by `wire`, carried out by `engine`, and answered by `wire` again; what is
//! here is the order of these steps. `async` ends here.

mod accept;
mod account_listener;
mod activity;
mod authorize;
mod body;
mod error;
mod exchange;
mod explorer;
mod gates;
mod health;
mod listener;
mod management;
mod metrics;
mod options;
mod owners;
mod public;
mod reply;
mod request_log;
mod routes;
mod service;
mod state;
mod tls;

pub use account_listener::{AccountServer, AccountServerHandle};
pub use error::Error;
pub use listener::{Server, ServerHandle};
pub use management::{Addition, Management, ManagementOptions};
pub use options::{ServerOptions, TlsMaterial};
pub use tls::self_signed;
