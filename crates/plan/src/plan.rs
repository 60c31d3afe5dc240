//! The plan, and the one function that makes it.

use orrery_sql::ast::Direction;

use crate::ranges::{PlannedRange, ranges};
use crate::rewrite::{Shape, shape};
use crate::{Aggregate, Features, PlanError, PlanRequest, bind};

/// What a client does to run a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// Absent for hybrid search.
    pub info: Option<QueryInfo>,
    pub hybrid: Option<HybridInfo>,
    /// In their order, at least one, none overlapping another.
    pub ranges: Vec<PlannedRange>,
}

/// What a client does with the rows of one query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryInfo {
    pub distinct: Distinct,
    pub top: Option<u32>,
    pub offset: Option<u32>,
    pub limit: Option<u32>,
    pub order_by: Vec<Direction>,
    pub order_by_expressions: Vec<String>,
    pub group_by_expressions: Vec<String>,
    /// The properties of a row in their order, each with how it is combined, or as it is. Empty
    /// unless there are groups or aggregates, and for `SELECT VALUE`.
    pub group_by_aliases: Vec<(String, Option<Aggregate>)>,
    /// Of `SELECT VALUE` alone.
    pub aggregates: Vec<Aggregate>,
    /// Empty if the user's text is sent.
    pub rewritten_query: String,
    pub has_select_value: bool,
    /// The rows are distinct ones of which the user asked for the number: under this name, or with
    /// no name as the value itself.
    pub distinct_count: Option<String>,
    /// The rows come in no order that can be merged page by page.
    pub has_non_streaming_order_by: bool,
}

/// How a client finds duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distinct {
    #[default]
    None,
    /// Equal rows follow each other.
    Ordered,
    Unordered,
}

/// The parts of `ORDER BY RANK`.
#[derive(Debug, Clone, PartialEq)]
pub struct HybridInfo {
    pub global_statistics_query: String,
    pub component_queries: Vec<QueryInfo>,
    /// Absolute; empty without weights.
    pub component_weights: Vec<f64>,
    pub skip: Option<u32>,
    pub take: Option<u32>,
    pub requires_global_statistics: bool,
}

/// Plans a query, or says what is wrong with it.
pub fn plan(request: &PlanRequest<'_>) -> Result<QueryPlan, PlanError> {
    bind::check(request.query, request.functions)?;
    let ranges = ranges(request);
    let shape = shape(request, is_single_point(&ranges))?;
    let plan = match shape {
        Shape::Ordinary(info) => QueryPlan {
            info: Some(info),
            hybrid: None,
            ranges,
        },
        Shape::Hybrid(hybrid) => QueryPlan {
            info: None,
            hybrid: Some(hybrid),
            ranges,
        },
    };
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
    /// Whether one logical partition has all the rows, so that nothing fans out.
    pub fn is_single_point(&self) -> bool {
        is_single_point(&self.ranges)
    }

    /// Whether pages of partitions, one after the other, are not yet the answer.
    pub fn has_state(&self) -> bool {
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
            || info.distinct != Distinct::None
    }

    /// What the client must be able to do.
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
    fn required_features(&self) -> Features {
        let of_list: Vec<Aggregate> = self
            .group_by_aliases
            .iter()
            .filter_map(|(_, aggregate)| *aggregate)
            .collect();
        let all = || self.aggregates.iter().chain(&of_list);
        let uses = |wanted: &[Aggregate]| all().any(|aggregate| wanted.contains(aggregate));
        let is_paged = self.offset.is_some() || self.limit.is_some();
        [
            Features::AGGREGATE.when(!self.aggregates.is_empty()),
            Features::NON_VALUE_AGGREGATE.when(!of_list.is_empty()),
            Features::MULTIPLE_AGGREGATES.when(all().count() > 1),
            Features::LIST_AND_SET_AGGREGATE.when(uses(&[Aggregate::MakeList, Aggregate::MakeSet])),
            Features::COUNT_IF.when(uses(&[Aggregate::CountIf])),
            Features::DISTINCT.when(self.distinct != Distinct::None),
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

fn is_single_point(ranges: &[PlannedRange]) -> bool {
    matches!(ranges, [range] if range.is_point())
}
