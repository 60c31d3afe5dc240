//! The plan as JSON, in the format that clients parse.
//!
//! Clients make different assumptions about absent fields: some read the length of an absent array,
//! some have other defaults than the service. So the plan always contains every field.

use orrery_json::{Object, Value};
use orrery_sql::ast::SortDirection;

use crate::plan::{DistinctType, HybridInfo, QueryInfo, QueryPlan};
use crate::{AggregateKind, PlannedRange};

const VERSION: i64 = 2;

/// The way in which clients combine scores: reciprocal rank fusion, the only one there is.
const SCORE_COMBINATION: &str = "Rrf";

impl QueryPlan {
    /// The response body of a plan request.
    pub fn to_json(&self) -> Value {
        let mut plan = Object::default();
        plan.insert(
            "partitionedQueryExecutionInfoVersion".to_owned(),
            Value::from(VERSION),
        );
        if let Some(info) = &self.info {
            plan.insert("queryInfo".to_owned(), query_info(info));
        }
        let ranges = self.ranges.iter().map(range).collect();
        plan.insert("queryRanges".to_owned(), Value::Array(ranges));
        if let Some(hybrid) = &self.hybrid {
            plan.insert("hybridSearchQueryInfo".to_owned(), hybrid_info(hybrid));
        }
        Value::Object(plan)
    }
}

fn query_info(info: &QueryInfo) -> Value {
    let aliases = info.group_by_aliases.iter();
    object([
        ("distinctType", distinct(info.distinct)),
        ("top", number(info.top)),
        ("offset", number(info.offset)),
        ("limit", number(info.limit)),
        ("orderBy", array(&info.order_by, |item| direction(*item))),
        ("orderByExpressions", texts(&info.order_by_expressions)),
        ("groupByExpressions", texts(&info.group_by_expressions)),
        (
            "groupByAliases",
            array(&info.group_by_aliases, |(alias, _)| {
                Value::from(alias.as_str())
            }),
        ),
        (
            "aggregates",
            array(&info.aggregates, |kind| aggregate(*kind)),
        ),
        (
            "groupByAliasToAggregateType",
            Value::Object(
                aliases
                    .map(|(alias, kind)| (alias.clone(), kind.map_or(Value::Null, aggregate)))
                    .collect(),
            ),
        ),
        ("rewrittenQuery", Value::from(info.rewritten_query.as_str())),
        ("hasSelectValue", Value::from(info.has_select_value)),
        ("dCountInfo", distinct_count(info.distinct_count.as_deref())),
        (
            "hasNonStreamingOrderBy",
            Value::from(info.has_non_streaming_order_by),
        ),
    ])
}

/// The JSON of a hybrid search plan. The fields for queries without payload are always empty,
/// because no plan uses them.
fn hybrid_info(hybrid: &HybridInfo) -> Value {
    object([
        (
            "globalStatisticsQuery",
            Value::from(hybrid.global_statistics_query.as_str()),
        ),
        (
            "componentQueryInfos",
            array(&hybrid.component_queries, query_info),
        ),
        (
            "componentWithoutPayloadQueryInfos",
            Value::Array(Vec::new()),
        ),
        ("projectionQueryInfo", Value::Null),
        (
            "componentWeights",
            array(&hybrid.component_weights, |weight| Value::from(*weight)),
        ),
        ("skip", number(hybrid.skip)),
        ("take", number(hybrid.take)),
        (
            "requiresGlobalStatistics",
            Value::from(hybrid.requires_global_statistics),
        ),
        ("scoreCombinationKind", Value::from(SCORE_COMBINATION)),
    ])
}

/// The JSON of an EPK range. A point has equal bounds, both of them inclusive.
fn range(range: &PlannedRange) -> Value {
    object([
        ("min", Value::from(range.min.to_string())),
        ("max", Value::from(range.max.to_string())),
        ("isMinInclusive", Value::from(true)),
        ("isMaxInclusive", Value::from(range.is_max_inclusive)),
    ])
}

fn distinct(distinct: DistinctType) -> Value {
    Value::from(match distinct {
        DistinctType::None => "None",
        DistinctType::Ordered => "Ordered",
        DistinctType::Unordered => "Unordered",
    })
}

fn distinct_count(alias: Option<&str>) -> Value {
    alias.map_or(Value::Null, |alias| {
        object([("dCountAlias", Value::from(alias))])
    })
}

fn direction(direction: SortDirection) -> Value {
    Value::from(match direction {
        SortDirection::Ascending => "Ascending",
        SortDirection::Descending => "Descending",
    })
}

fn aggregate(aggregate: AggregateKind) -> Value {
    Value::from(aggregate.plan_name())
}

fn number(number: Option<u32>) -> Value {
    number.map_or(Value::Null, |number| Value::from(i64::from(number)))
}

fn texts(texts: &[String]) -> Value {
    array(texts, |text| Value::from(text.as_str()))
}

fn array<T>(items: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(value).collect())
}

fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    Value::Object(
        properties
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}
