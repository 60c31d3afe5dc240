//! What an answer says of the query behind it, in headers.
//!
//! Each of the three is asked for by a header of its own: times and counts in the words of the
//! service, the indexes that served or would serve, and Orrery's own plan.

mod index_metrics;
mod metrics;
mod plan;

pub use index_metrics::{IndexMetrics, IndexMetricsForm};
pub use metrics::QueryMetrics;
pub use plan::{PlanCounts, PlanEstimate, PlanTimes, QueryPlanReport};
