//! A client of the protocol: signed requests to an account, and requests to the operators' listener of a server.
//!
//! The crate knows the server only through REST. [`Client`] has one connection, signs each request
//! with the account key, repeats throttled requests, and stores the session tokens of each container.
//! [`Signer`] and [`RequestDate`] are for programs that write their own requests, such as the load
//! driver.
//!
//! Other crates have the statements and pages of queries (`shell`), the loads (`bench`), and the
//! attacks (`hostile`).

mod client;
mod date;
mod endpoint;
mod error;
mod key;
mod management;
mod percent;
mod refusal;
mod request;
mod server_connection;
mod session_tokens;
mod signature;
mod trust;

pub use client::{Answer, Client};
pub use date::RequestDate;
pub use endpoint::Endpoint;
pub use error::Error;
pub use key::Key;
pub use management::ManagementClient;
pub use percent::decoded as percent_decoded;
pub use refusal::{Location, Mistake, Refusal};
pub use request::Request;
pub use signature::{SignaturePayload, Signer};
pub use trust::TrustArguments;
// A request takes a method, so users of this crate need no HTTP crate of their own.
pub use hyper::Method;
