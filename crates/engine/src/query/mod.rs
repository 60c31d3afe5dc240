//! Queries: compiles text into a program, and makes the plan that a client requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::{
    CompileError, ComputedProperties, ExecError, Program, ResultRow, evaluate_function,
    function_arity,
};
use orrery_json::{Value, write_value};
use orrery_keys::PartitionKey;
use orrery_model::{ContainerDefinition, DistanceFunction, Failure};
use orrery_partition::Container;
use orrery_plan::{
    Arity, BuiltinFunctions, Features, PlanError, PlanRequest, VectorEmbedding, check, plan,
};
use orrery_sql::ast::{OrderBy, Query};
use xxhash_rust::xxh3::xxh3_64;

use crate::out_of_memory;

mod access;
mod cache;
mod cached_query;
mod lane;
mod merging;
mod parameters;
mod report;
mod row_feeder;
mod schedule;

pub(crate) use access::{PlannerInput, is_key_order, read_continuation, write_continuation};
pub(crate) use cache::QueryCache;
pub use cache::QueryCacheCounts;
use cached_query::CachedQuery;
pub(crate) use lane::LaneClient;
pub use report::QueryReport;
pub(crate) use row_feeder::{AccessWork, RowFeeder};
pub use schedule::QueryLaneCounts;
pub(crate) use schedule::{CancelGuard, PageSchedule, QueryLanes};

/// A client's query.
#[derive(Debug, Clone)]
pub struct QueryText {
    pub text: String,
    /// Parameter names include their `@`.
    pub parameters: Vec<(String, Value)>,
    pub resume: Option<ResumeAt>,
}

/// The position at which a client that merges sorted pages resumes an ordered query.
#[derive(Debug, Clone)]
pub struct ResumeAt {
    pub values: Vec<Value>,
    /// The resource id counter of an item among items with equal values.
    pub rid_counter: Option<u64>,
    pub exclude: bool,
}

/// A query with the values of its parameters.
#[derive(Debug, Clone)]
pub struct CompiledQuery {
    pub(crate) bound: Arc<BoundQuery>,
    /// The time of the compilation, which is short for a cached text.
    pub(crate) compile_time: Duration,
    /// Memory of the parameters, including a copy of the largest one for each use of a parameter.
    pub(crate) parameter_bytes: usize,
}

/// The immutable part of a query with values; requests with the same text and values may share it.
#[derive(Debug)]
pub(crate) struct BoundQuery {
    pub(crate) program: Program,
    /// The single partition key that the filter pins, if it pins one.
    pinned: Option<PartitionKey>,
    /// Identifies the query in its continuation tokens.
    pub(crate) fingerprint: u64,
    pub(crate) planner_input: PlannerInput,
}

impl CompiledQuery {
    /// Compiles a query over the items of a container without user-defined functions.
    pub fn over_items(
        query: &QueryText,
        definition: &ContainerDefinition,
    ) -> Result<CompiledQuery, Failure> {
        let begun = Instant::now();
        let parameter_bytes = parameters::bytes(query)?;
        let (_, bound) = CachedQuery::over_items(query, definition, Vec::new())?;
        Ok(CompiledQuery {
            bound,
            compile_time: begun.elapsed(),
            parameter_bytes,
        })
    }

    /// Compiles a query over resources that have no partition key.
    pub fn over_resources(query: &QueryText) -> Result<CompiledQuery, Failure> {
        let begun = Instant::now();
        let parameter_bytes = parameters::bytes(query)?;
        let syntax = parse(&query.text)?;
        check(&syntax, &query.parameters, &ExecFunctions).map_err(plan_failure)?;
        let program = Program::compile(&syntax, &query.parameters);
        let program = program
            .and_then(|program| begin_at(program, query.resume.as_ref()))
            .map_err(|error| compile_failure(&error))?;
        Ok(CompiledQuery {
            bound: Arc::new(BoundQuery {
                planner_input: PlannerInput::of(&program),
                program,
                pinned: None,
                fingerprint: fingerprint(&syntax, &query.text),
            }),
            compile_time: begun.elapsed(),
            parameter_bytes,
        })
    }

    /// The owner of this query's continuation tokens: the query and its container.
    pub(crate) fn owner(&self, container: &Container) -> u64 {
        u64::from(container.rid.id()) ^ self.bound.fingerprint
    }

    /// False without `FROM`: the query then has one row, whatever partition it runs on.
    pub fn reads_items(&self) -> bool {
        self.bound.program.reads_documents()
    }

    /// Whether rows leave in the order in which documents are read.
    pub(crate) fn is_stream(&self) -> bool {
        !self.bound.program.needs_whole_scope()
    }

    /// The single partition key that the filter pins, if it pins one.
    pub fn pinned_key(&self) -> Option<&PartitionKey> {
        self.bound.pinned.as_ref()
    }
}

fn begin_at(program: Program, resume: Option<&ResumeAt>) -> Result<Program, CompileError> {
    match resume {
        Some(ResumeAt {
            values,
            rid_counter,
            exclude,
        }) => program.with_resume_filter(values, *rid_counter, *exclude),
        None => Ok(program),
    }
}

/// Makes the plan that a client requests; `features` lists what the client supports.
pub fn query_plan(
    query: &QueryText,
    definition: &ContainerDefinition,
    features: Option<&str>,
) -> Result<Value, Failure> {
    parameters::bytes(query)?;
    let syntax = parse(&query.text)?;
    let vectors = vectors(definition);
    let features = features.map(Features::parse);
    let plan =
        plan(&request(&syntax, query, definition, &vectors, features)).map_err(plan_failure)?;
    Ok(plan.to_json())
}

/// The fingerprint of a query in its continuation tokens. A client that resumes an ordered query
/// changes the filter, so only the order counts for ordered queries.
fn fingerprint(syntax: &Query, text: &str) -> u64 {
    match &syntax.order_by {
        Some(OrderBy::Items(items)) => {
            let order = items
                .iter()
                .map(|item| format!("{} {:?},", item.expr, item.direction));
            xxh3_64(order.collect::<String>().as_bytes())
        }
        Some(OrderBy::Rank(_)) | None => xxh3_64(text.as_bytes()),
    }
}

pub(crate) fn row_text(row: ResultRow) -> Bytes {
    match row {
        ResultRow::Text(text) => text,
        ResultRow::Value(value) => {
            let mut text = Vec::new();
            write_value(&value, &mut text);
            text.into()
        }
    }
}

/// Converts an execution error of a page into the failure that the client receives.
pub(crate) fn exec_failure(error: &ExecError) -> Failure {
    match error {
        ExecError::Function {
            number: Some(number),
            ..
        } => Failure::Script {
            message: error.to_string(),
            number: Some(*number),
        },
        ExecError::Cardinality
        | ExecError::LimitExceeded { .. }
        | ExecError::Function { .. }
        | ExecError::UnknownFunction { .. } => Failure::BadRequest(error.to_string()),
        ExecError::TooMuchMemory { .. } => Failure::TooLarge(error.to_string()),
        ExecError::Exhausted(exhausted) => out_of_memory(*exhausted),
        ExecError::Timeout => Failure::Timeout,
        ExecError::InvalidContinuation => Failure::InvalidContinuation,
    }
}

fn parse(text: &str) -> Result<Query, Failure> {
    orrery_sql::parse(text).map_err(|error| plan_failure(PlanError::from(error)))
}

fn request<'a>(
    syntax: &'a Query,
    query: &'a QueryText,
    definition: &'a ContainerDefinition,
    vectors: &'a [VectorEmbedding],
    features: Option<Features>,
) -> PlanRequest<'a> {
    PlanRequest {
        query: syntax,
        parameters: &query.parameters,
        key: Some(definition.key()),
        features,
        functions: &ExecFunctions,
        vectors,
    }
}

/// Compiles the container's computed properties. The container's creation validates them only in
/// part; remaining errors reach the client that queries.
fn computed(definition: &ContainerDefinition) -> Result<ComputedProperties, Failure> {
    let parsed = definition.computed.iter().map(|property| {
        let query = parse(&property.query)?;
        Ok((property.name.clone(), query))
    });
    let parsed: Vec<_> = parsed.collect::<Result<_, Failure>>()?;
    ComputedProperties::compile(&parsed).map_err(|error| compile_failure(&error))
}

fn compile_failure(error: &CompileError) -> Failure {
    match error {
        CompileError::Unsupported { .. } => Failure::NotImplemented(error.to_string()),
        other => Failure::BadRequest(other.to_string()),
    }
}

fn vectors(definition: &ContainerDefinition) -> Vec<VectorEmbedding> {
    let embedding = |embedding: &orrery_model::VectorEmbedding| VectorEmbedding {
        path: embedding.path.path().clone(),
        distance_function: match embedding.distance {
            DistanceFunction::Cosine => orrery_plan::DistanceFunction::Cosine,
            DistanceFunction::DotProduct => orrery_plan::DistanceFunction::DotProduct,
            DistanceFunction::Euclidean => orrery_plan::DistanceFunction::Euclidean,
        },
    };
    definition.vector_embeddings.iter().map(embedding).collect()
}

/// Wraps the message as the service does; clients search the wrapped text for errors.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err asks for")]
fn plan_failure(error: PlanError) -> Failure {
    let message = format!("Message: {error}");
    match error {
        PlanError::Features { .. } => Failure::PlanNotSupported(message),
        _ => Failure::BadRequest(message),
    }
}

/// Gives `plan` access to the functions of `exec`, so that the two crates do not depend on each
/// other.
struct ExecFunctions;

impl BuiltinFunctions for ExecFunctions {
    fn arity(&self, name: &str) -> Option<Arity> {
        function_arity(name).map(|(low, high)| match high {
            Some(high) if high == low => Arity::Exactly(low),
            Some(high) => Arity::Between(low, high),
            None => Arity::AtLeast(low),
        })
    }

    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        evaluate_function(name, arguments)
    }
}
