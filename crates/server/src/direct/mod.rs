//! Direct mode: clients that speak RNTBD over TLS instead of HTTP.
//!
//! A request of such a client is a request of HTTP in another form. [`listener`] accepts its
//! connection and [`connection`] reads its frames; [`request`] writes a frame as the request line
//! and the headers that [`crate::service`] takes, and [`answer`] writes the response as a frame. So
//! both protocols share one authorization, one table of routes, one charge and one table of errors.
//!
//! ```text
//!   TLS -> context -> frame -> ReplicaRequest + Parts -> service::handle -> Response -> frame
//! ```
//!
//! The clients do the consistency: they compare the positions in the answers of several replicas. A
//! partition has one replica under several paths, and every answer, whatever its status, states one
//! position as that of all replicas, so that every read takes one request.

mod address;
mod answer;
mod connection;
mod counts;
mod listener;
mod replica;
mod request;

pub(crate) use counts::DirectCounts;
pub(crate) use listener::DirectListener;
pub(crate) use replica::ReplicaRequest;
