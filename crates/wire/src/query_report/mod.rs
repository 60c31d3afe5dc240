//! The reports about a query in the headers of its answer.
//!
//! A header of its own requests each of the three reports: times and counts in the form of Cosmos
//! DB, the indexes that served or would serve, and Orrery's own plan.

mod index_metrics;
mod metrics;
mod plan;

pub use index_metrics::{IndexMetrics, IndexMetricsForm};
pub use metrics::QueryMetrics;
pub use plan::{PlanCounts, PlanEstimate, PlanTimes, QueryPlanReport};
