//! Selects the cross-partition queries that the service leaves to the client to merge.
//!
//! The service's gateway only concatenates pages of partitions. It refuses a query with `TOP`,
//! `OFFSET`, an order, groups, aggregates or distinct rows and returns the plan of the query; the
//! client then asks each range and merges. The engine could merge such rows itself, but a client
//! that follows the service expects the refusal.

use orrery_model::{ContainerDefinition, Failure};
use orrery_plan::{QueryInfo, QueryPlan, plan};

use super::{CompiledQuery, QueryText, parameters, parse, plan_failure, request, vectors};

impl CompiledQuery {
    /// Refuses a query that selects no single partition key and needs merging, as the service does.
    pub fn check_client_merge(
        &self,
        query: &QueryText,
        definition: &ContainerDefinition,
    ) -> Result<(), Failure> {
        let program = &self.bound.program;
        // A query that streams rows needs no merge, so the common case does without the plan.
        if !program.needs_whole_scope() && program.rows_max().is_none() {
            return Ok(());
        }
        parameters::bytes(query)?;
        let syntax = parse(&query.text)?;
        let vectors = vectors(definition);
        let plan =
            plan(&request(&syntax, query, definition, &vectors, None)).map_err(plan_failure)?;
        match &plan.info {
            _ if plan.is_single_point() || !plan.needs_merge() || counts_distinct(&plan) => Ok(()),
            Some(info) if has_unnamed_aggregate(info) => Err(Failure::bad_request(
                "Cross partition query only supports 'VALUE <AggregateFunc>' for aggregates.",
            )),
            _ => Err(Failure::NeedsPlan(plan.to_json().to_string())),
        }
    }
}

/// Whether the plan counts distinct values. The service lets such a plan pass for every client; a
/// client that does not know it returns the distinct rows instead of their count.
fn counts_distinct(plan: &QueryPlan) -> bool {
    let info = plan.info.as_ref();
    info.is_some_and(|info| info.distinct_count.is_some())
}

/// Whether an aggregate is one property of a row rather than the whole row.
fn has_unnamed_aggregate(info: &QueryInfo) -> bool {
    let mut properties = info.group_by_aliases.iter();
    properties.any(|(_, aggregate)| aggregate.is_some())
}
