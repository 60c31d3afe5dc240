//! The plan, and the function that builds it.

use orrery_sql::ast::SortDirection;

use crate::ranges::{PlannedRange, planned_ranges};
use crate::rewrite::{PlanBody, plan_body};
use crate::{AggregateKind, Features, PlanError, PlanRequest, bind};

/// The instructions by which a client runs a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// `None` for hybrid search.
    pub info: Option<QueryInfo>,
    pub hybrid: Option<HybridInfo>,
    /// At least one range, in ascending order, without overlaps.
    pub ranges: Vec<PlannedRange>,
}

/// The instructions for the rows of one query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryInfo {
    pub distinct: DistinctType,
    pub top: Option<u32>,
    pub offset: Option<u32>,
    pub limit: Option<u32>,
    pub order_by: Vec<SortDirection>,
    pub order_by_expressions: Vec<String>,
    pub group_by_expressions: Vec<String>,
    /// The properties of a row in order, each with its aggregate or `None` for a plain value. Empty
    /// for queries without groups and aggregates, and for `SELECT VALUE`.
    pub group_by_aliases: Vec<(String, Option<AggregateKind>)>,
    /// The aggregate of a `SELECT VALUE` query.
    pub aggregates: Vec<AggregateKind>,
    /// Empty if the client sends the user's text.
    pub rewritten_query: String,
    pub has_select_value: bool,
    /// Set when the user counts distinct rows: the client counts the rows and returns the count
    /// under this name, or as a plain value if the name is empty.
    pub distinct_count: Option<String>,
    /// The rows arrive in no order that the client could merge page by page.
    pub has_non_streaming_order_by: bool,
}

/// The method by which a client removes duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DistinctType {
    #[default]
    None,
    /// Equal rows are adjacent.
    Ordered,
    Unordered,
}

/// The queries of an `ORDER BY RANK`.
#[derive(Debug, Clone, PartialEq)]
pub struct HybridInfo {
    pub global_statistics_query: String,
    pub component_queries: Vec<QueryInfo>,
    /// Absolute values of the weights; empty without weights.
    pub component_weights: Vec<f64>,
    pub skip: Option<u32>,
    /// The number of rows that remain after `skip`: `LIMIT`, or else `TOP`.
    pub take: Option<u32>,
    pub requires_global_statistics: bool,
}

/// Plans a query, or returns the problems of the query.
pub fn plan(request: &PlanRequest<'_>) -> Result<QueryPlan, PlanError> {
    // The binder runs first: the later steps rely on its checks, for instance on the argument
    // counts.
    bind::check(request.query, request.parameters, request.functions)?;
    let ranges = planned_ranges(request);
    let shape = plan_body(request, is_single_point(&ranges))?;
    let plan = match shape {
        PlanBody::Ordinary(info) => QueryPlan {
            info: Some(info),
            hybrid: None,
            ranges,
        },
        PlanBody::Hybrid(hybrid) => QueryPlan {
            info: None,
            hybrid: Some(hybrid),
            ranges,
        },
    };
    // A request without a features header skips this check.
    let missing = match request.features {
        Some(features) => plan.required_features().without(features),
        None => Features::NONE,
    };
    if missing.is_empty() {
        Ok(plan)
    } else {
        Err(PlanError::Features { missing })
    }
}

impl QueryPlan {
    /// Whether one logical partition contains all rows, so that the query does not fan out.
    pub fn is_single_point(&self) -> bool {
        is_single_point(&self.ranges)
    }

    /// Whether the client must process the rows further than by concatenating the pages of all
    /// partitions.
    pub fn needs_merge(&self) -> bool {
        let Some(info) = &self.info else {
            return true;
        };
        info.top.is_some()
            || info.offset.is_some()
            || info.limit.is_some()
            || !info.order_by.is_empty()
            || !info.aggregates.is_empty()
            || !info.group_by_aliases.is_empty()
            || !info.group_by_expressions.is_empty()
            || info.distinct != DistinctType::None
    }

    /// The features that a client needs to run the plan.
    pub fn required_features(&self) -> Features {
        if let Some(hybrid) = &self.hybrid {
            return Features::HYBRID_SEARCH
                .with(Features::WEIGHTED_RANK_FUSION.when(!hybrid.component_weights.is_empty()));
        }
        self.info
            .as_ref()
            .map_or(Features::NONE, QueryInfo::required_features)
    }
}

impl QueryInfo {
    /// The features that the plan of one query requires, one for each clause that the client must
    /// handle.
    fn required_features(&self) -> Features {
        let of_list: Vec<AggregateKind> = self
            .group_by_aliases
            .iter()
            .filter_map(|(_, aggregate)| *aggregate)
            .collect();
        let all = || self.aggregates.iter().chain(&of_list);
        let uses = |wanted: &[AggregateKind]| all().any(|aggregate| wanted.contains(aggregate));
        let is_paged = self.offset.is_some() || self.limit.is_some();
        [
            Features::AGGREGATE.when(!self.aggregates.is_empty()),
            Features::NON_VALUE_AGGREGATE.when(!of_list.is_empty()),
            Features::MULTIPLE_AGGREGATES.when(all().count() > 1),
            Features::LIST_AND_SET_AGGREGATE
                .when(uses(&[AggregateKind::MakeList, AggregateKind::MakeSet])),
            Features::COUNT_IF.when(uses(&[AggregateKind::CountIf])),
            Features::DISTINCT.when(self.distinct != DistinctType::None),
            Features::DISTINCT_COUNT.when(self.distinct_count.is_some()),
            Features::GROUP_BY.when(!self.group_by_expressions.is_empty()),
            Features::ORDER_BY.when(self.order_by.len() == 1),
            Features::MULTIPLE_ORDER_BY.when(self.order_by.len() > 1),
            Features::NON_STREAMING_ORDER_BY.when(self.has_non_streaming_order_by),
            Features::TOP.when(self.top.is_some()),
            Features::OFFSET_AND_LIMIT.when(is_paged),
        ]
        .into_iter()
        .fold(Features::NONE, Features::with)
    }
}

/// Whether the only range is a single partition key.
fn is_single_point(ranges: &[PlannedRange]) -> bool {
    matches!(ranges, [range] if range.is_point())
}
