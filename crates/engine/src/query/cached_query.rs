//! A query before its parameters have values: its text, parsed and checked once.
//!
//! This part depends only on the text and the container's definition. Values decide the rest: the
//! partition key that the filter pins, the sargable filter, and the number of wanted rows. A text
//! without parameters is bound once.

use std::sync::Arc;

use orrery_exec::PreparedQuery;
use orrery_json::Value;
use orrery_keys::{PartitionKey, PartitionKeyDefinition};
use orrery_model::{ContainerDefinition, Failure};
use orrery_plan::{KeyScope, PlanRequest, check, ranges};

use super::access::{PlannerInput, SharedPlannerInput};
use super::{BoundQuery, ExecFunctions, QueryText, begin_at};
use super::{compile_failure, computed, fingerprint, parse, plan_failure};
use crate::order_by_check;

pub(crate) struct CachedQuery {
    template: PreparedQuery,
    key: PartitionKeyDefinition,
    fingerprint: u64,
    /// The planner input that is independent of values; absent if values can change it.
    planner_input: Option<Arc<SharedPlannerInput>>,
    /// The bound query of a text without parameters.
    bound: Option<Arc<BoundQuery>>,
}

impl CachedQuery {
    /// Compiles a query over the items of a container with these user-defined functions, and binds
    /// its first values.
    pub(crate) fn over_items(
        query: &QueryText,
        definition: &ContainerDefinition,
        functions: Vec<String>,
    ) -> Result<(CachedQuery, Arc<BoundQuery>), Failure> {
        let syntax = parse(&query.text)?;
        check(&syntax, &query.parameters, &ExecFunctions).map_err(plan_failure)?;
        let fingerprint = fingerprint(&syntax, &query.text);
        let mut shape = CachedQuery {
            template: PreparedQuery::new(syntax, computed(definition)?, functions),
            key: definition.key().clone(),
            fingerprint,
            planner_input: None,
            bound: None,
        };
        let bound = shape.bind_checked(query)?;
        // A query with an aggregate returns one row and ignores its order, so the order needs no
        // index.
        if bound.program.is_ordered() {
            order_by_check::check_query(definition, shape.template.query())?;
        }
        if shape.template.is_shared() {
            shape.planner_input = Some(Arc::clone(&bound.planner_input.shared));
        }
        // Every parameter name begins with `@`, so a text without `@` has the same meaning for all
        // requests.
        if !query.text.contains('@') && query.resume.is_none() {
            shape.bound = Some(Arc::clone(&bound));
        }
        Ok((shape, bound))
    }

    /// Binds values to the query. Its text must be the text of this cached query.
    pub(crate) fn bind(&self, query: &QueryText) -> Result<Arc<BoundQuery>, Failure> {
        if let (Some(bound), None) = (&self.bound, &query.resume) {
            return Ok(Arc::clone(bound));
        }
        // For such a query the validity also depends on values, so the check repeats.
        if !self.template.is_shared() {
            check(self.template.query(), &query.parameters, &ExecFunctions)
                .map_err(plan_failure)?;
        }
        let bound = self.bind_checked(query);
        if bound.is_err() {
            // A value that is no count gets the message that it gets with a new text.
            check(self.template.query(), &query.parameters, &ExecFunctions)
                .map_err(plan_failure)?;
        }
        bound
    }

    fn bind_checked(&self, query: &QueryText) -> Result<Arc<BoundQuery>, Failure> {
        let program = self.template.bind(&query.parameters);
        let program = program
            .and_then(|program| begin_at(program, query.resume.as_ref()))
            .map_err(|error| compile_failure(&error))?;
        Ok(Arc::new(BoundQuery {
            planner_input: match &self.planner_input {
                Some(outline) => PlannerInput::with_shared(&program, Arc::clone(outline)),
                None => PlannerInput::of(&program),
            },
            program,
            pinned: self.pinned(&query.parameters),
            fingerprint: self.fingerprint,
        }))
    }

    /// The single partition key that the filter pins, if it pins one.
    fn pinned(&self, parameters: &[(String, Value)]) -> Option<PartitionKey> {
        let request = PlanRequest {
            query: self.template.query(),
            parameters,
            key: Some(&self.key),
            features: None,
            functions: &ExecFunctions,
            vectors: &[],
        };
        let mut ranges = ranges(&request).into_iter();
        match (ranges.next()?.key, ranges.next()) {
            (KeyScope::Point(key), None) => Some(key),
            _ => None,
        }
    }
}
