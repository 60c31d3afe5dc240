//! Listener, TLS, authentication, one route file for each kind of resource.
//!
//! A request is parsed by `wire`, carried out by `engine`, and answered by `wire` again; what is
//! here is the order of these steps. `async` ends here.

mod accept;
mod account_listener;
mod activity;
mod answer_body;
mod authority;
mod body;
mod error;
mod exchange;
mod explorer;
mod gates;
mod governor;
mod hosts;
mod listener;
mod management;
mod metrics;
mod options;
mod owners;
mod public;
mod reply;
mod request_log;
mod routes;
mod self_signed;
mod service;
mod state;
mod tls;

pub use account_listener::{AccountServer, AccountServerHandle};
pub use error::Error;
pub use governor::{Governor, Limits};
pub use listener::{Server, ServerHandle};
pub use management::{Addition, Management, ManagementOptions};
pub use options::{ServerOptions, TlsMaterial};
pub use self_signed::{check_self_signed, self_signed};
pub use tls::TlsIdentity;
