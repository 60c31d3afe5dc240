//! The load driver: speaks the REST protocol to any endpoint and says how fast it answers.
//!
//! Client and server usually share one machine, so every microsecond that the client spends is
//! taken from the server. Therefore the driver has a hand-written HTTP/1.1 client over one socket
//! per connection (`connection`, `response`), assembles requests in a reused buffer (`request`),
//! signs with a precomputed HMAC state (`client`), and uses single-threaded runtimes instead of
//! work stealing (`driver`). Each connection has one open request: a closed loop.
//!
//! A number alone says little, so two workloads give it a yardstick: `read-vs-bare` alternates
//! point reads with the same client loop against a bare hyper server that answers the very same
//! bytes, and `postgres` inserts documents of the same shape into a default `PostgreSQL` cluster.
//! `suite` measures all that has a target in one run and says whether it is met, `query-suite`
//! asks queries in turns with `PostgreSQL` and checks every answer, `scripts` compares scripts with
//! the same work without them, `partitions` streams change feeds and splits partitions under load,
//! and `regions` measures what an account in several regions costs and how it changes its write region.
//!
//! No crate of the server is a dependency: the driver starts the server as a process (`program`,
//! `server`) and knows it through its command line and the protocol.

mod bare;
mod client_pool;
mod connection;
mod driver;
mod endpoint;
mod item;
mod item_keys;
mod load;
mod machine;
mod markdown;
mod median;
mod operation;
mod options;
mod overload;
mod partitions;
mod plan;
mod postgres;
mod processors;
mod program;
mod progress;
mod query;
mod random;
mod regions;
mod report;
mod request;
mod resident;
mod response;
mod run;
mod scripts;
mod server;
mod start;
mod statistics;
mod suite;
mod suite_report;
mod targets;
mod workload;
mod zipfian;

pub use bare::{BARE_SUBCOMMAND, BareOptions, serve_bare};
pub use machine::Machine;
pub use options::{Options, Progress, RegionsPart, Workload};
pub use partitions::{
    BigReport, BudgetReport, KeysReport, LatencyReport, PairReport, PartitionsReport,
    RepartitioningReport, ThrottleReport,
};
pub use postgres::PostgresReport;
pub use program::ServerProgram;
pub use query::{
    BulkReport, Case, CaseReport, CompileReport, MetricsReport, OrderedReport, PostgresFigures,
    PostgresLoad, QueryReport, RoundReport, SliceFigures,
};
pub use regions::{
    CatchUpReport, FailoverReport, LagReport, LocalReport, PauseReport, RegionsReport,
    SpreadReport, StrongReport,
};
pub use report::{FailureReport, LoadReport, OperationReport, RatioReport, Report, SliceReport};
pub use run::run;
pub use scripts::{
    FunctionReport, ImportReport, InterferenceReport, ReadReplaceReport, ReadsReport, ScriptReport,
};
pub use server::{PeerPlan, RegionsPlan, ServerReport, ServerSettings};
pub use start::{StartReport, StartTimes};
pub use suite_report::{CreateRound, Parts, SuiteReport};
pub use targets::{TargetReport, Verdict};
