//! The HTTP server: listener, TLS, authentication, and one route file for each kind of resource.
//!
//! `wire` parses a request, `engine` carries it out, and `wire` writes the answer; this crate
//! defines the order of these steps.

mod accept;
mod account_listener;
mod activity;
mod answer_body;
mod authority;
mod body;
mod browser;
mod direct;
mod error;
mod exchange;
mod explorer;
mod gates;
mod governor;
mod health;
mod hosts;
mod listener;
mod management;
mod metrics;
mod options;
mod owner_header_cache;
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
pub use options::{QueryPlans, ServerOptions, TlsMaterial};
pub use self_signed::{check_self_signed, self_signed};
pub use tls::TlsIdentity;
