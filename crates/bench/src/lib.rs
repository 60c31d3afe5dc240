//! The load driver: speaks the REST protocol to any endpoint and says how fast it answers.
//!
//! Client and server usually share one machine, so every microsecond the client spends is taken
//! from what is measured. Hence a hand-written HTTP/1.1 client over one socket per connection
//! (`connection`, `response`), requests assembled in a reused buffer (`request`), signatures from a
//! precomputed HMAC state (`signature`), and single-threaded runtimes instead of work stealing
//! (`driver`). One request is in flight per connection: a closed loop.
//!
//! A number alone says little, so two workloads give it a yardstick: `read-vs-bare` alternates
//! point reads with the same client loop against a bare hyper server that answers the very same
//! bytes, and `postgres` inserts documents of the same shape into a default `PostgreSQL` cluster.
//!
//! The crate knows nothing of the server under test: no crate of the server is a dependency.

mod bare;
mod connection;
mod date;
mod driver;
mod endpoint;
mod item;
mod keyspace;
mod load;
mod operation;
mod options;
mod postgres;
mod progress;
mod random;
mod report;
mod request;
mod response;
mod run;
mod signature;
mod statistics;
mod workload;
mod zipfian;

pub use bare::{BARE_SUBCOMMAND, BareOptions, serve_bare};
pub use options::{Options, Progress, Workload};
pub use postgres::PostgresReport;
pub use report::{FailureReport, LoadReport, OperationReport, RatioReport, Report, SliceReport};
pub use run::run;
