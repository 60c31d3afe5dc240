//! Queries: from text to a program, and to the plan that a client asks for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::{
    CompileError, ComputedProperties, ExecError, Program, Row, evaluate_function, function_arity,
};
use orrery_json::{Value, write_value};
use orrery_keys::PartitionKey;
use orrery_model::{ContainerDefinition, DistanceFunction, Failure};
use orrery_partition::Container;
use orrery_plan::{
    Arity, Features, Functions, PlanError, PlanRequest, VectorEmbedding, check, plan,
};
use orrery_sql::ast::{OrderBy, Query};
use xxhash_rust::xxh3::xxh3_64;

use crate::out_of_memory;

mod access;
mod cache;
mod lane;
mod pace;
mod parameters;
mod report;
mod run;
mod shape;

pub(crate) use access::{Profile, is_place_order, read_resume, write_resume};
pub(crate) use cache::QueryCache;
pub use cache::QueryCacheCounts;
pub(crate) use lane::Asker;
pub use pace::QueryLaneCounts;
pub(crate) use pace::{Leaving, Pace, QueryLanes};
pub use report::QueryReport;
pub(crate) use run::{Feeder, Work};
use shape::Shape;

/// A query as a client sends it.
#[derive(Debug, Clone)]
pub struct QueryText {
    pub text: String,
    /// Names with their `@`.
    pub parameters: Vec<(String, Value)>,
    pub resume: Option<ResumeAt>,
}

/// Where a client that merges sorted pages wants an ordered query to begin.
#[derive(Debug, Clone)]
pub struct ResumeAt {
    pub values: Vec<Value>,
    /// The number of an item among those equal to the values.
    pub rid_counter: Option<u64>,
    pub exclude: bool,
}

/// A query with the values of its parameters.
#[derive(Debug, Clone)]
pub struct CompiledQuery {
    pub(crate) bound: Arc<Bound>,
    /// What it took to get it, which is little when its text was asked before.
    pub(crate) compile_time: Duration,
    /// Bytes of memory that the parameters take, with a copy of the largest one for each use of a
    /// parameter.
    pub(crate) parameter_bytes: usize,
}

/// What a query with values is made of; the same for whoever asks the same.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) program: Program,
    /// The one partition key that every row must have, if the filter says so.
    pinned: Option<PartitionKey>,
    /// Continuation tokens are bound to it.
    pub(crate) fingerprint: u64,
    pub(crate) profile: Profile,
}

impl CompiledQuery {
    /// Compiles a query over the items of a container without user-defined functions.
    pub fn over_items(
        query: &QueryText,
        definition: &ContainerDefinition,
    ) -> Result<CompiledQuery, Failure> {
        let begun = Instant::now();
        let parameter_bytes = parameters::bytes(query)?;
        let (_, bound) = Shape::over_items(query, definition, Vec::new())?;
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
        check(&syntax, &BuiltIn).map_err(refuse)?;
        let program = Program::compile(&syntax, &query.parameters);
        let program = program
            .and_then(|program| begin_at(program, query.resume.as_ref()))
            .map_err(|error| refuse_program(&error))?;
        Ok(CompiledQuery {
            bound: Arc::new(Bound {
                profile: Profile::of(&program),
                program,
                pinned: None,
                fingerprint: fingerprint(&syntax, &query.text),
            }),
            compile_time: begun.elapsed(),
            parameter_bytes,
        })
    }

    /// What its continuation tokens belong to.
    pub(crate) fn owner(&self, container: &Container) -> u64 {
        u64::from(container.rid.id()) ^ self.bound.fingerprint
    }

    /// The one partition key that every row must have, if the filter says so.
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

/// The plan a client asks for; `features` is what it says it can do.
pub fn query_plan(
    query: &QueryText,
    definition: &ContainerDefinition,
    features: Option<&str>,
) -> Result<Value, Failure> {
    parameters::bytes(query)?;
    let syntax = parse(&query.text)?;
    let vectors = vectors(definition);
    let features = features.map(Features::parse);
    let plan = plan(&request(&syntax, query, definition, &vectors, features)).map_err(refuse)?;
    Ok(plan.to_json())
}

/// What a continuation token belongs to. Clients that resume an ordered query change its filter,
/// so only the order counts there.
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

pub(crate) fn row_text(row: Row) -> Bytes {
    match row {
        Row::Text(text) => text,
        Row::Value(value) => {
            let mut text = Vec::new();
            write_value(&value, &mut text);
            text.into()
        }
    }
}

/// How a page that could not be finished looks to a client.
pub(crate) fn stopped(error: &ExecError) -> Failure {
    match error {
        ExecError::Cardinality | ExecError::LimitExceeded { .. } | ExecError::Function { .. } => {
            Failure::BadRequest(error.to_string())
        }
        ExecError::TooMuchMemory { .. } => Failure::TooLarge(error.to_string()),
        ExecError::Exhausted(exhausted) => out_of_memory(*exhausted),
        ExecError::Timeout => Failure::Timeout,
        ExecError::InvalidResume => Failure::InvalidContinuation,
    }
}

fn parse(text: &str) -> Result<Query, Failure> {
    orrery_sql::parse(text).map_err(|error| refuse(PlanError::from(error)))
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
        functions: &BuiltIn,
        vectors,
    }
}

/// The container's computed properties. They were checked when the container was made, as far as
/// the container could; what is wrong beyond that is told to whoever queries.
fn computed(definition: &ContainerDefinition) -> Result<ComputedProperties, Failure> {
    let parsed = definition.computed.iter().map(|property| {
        let query = parse(&property.query)?;
        Ok((property.name.clone(), query))
    });
    let parsed: Vec<_> = parsed.collect::<Result<_, Failure>>()?;
    ComputedProperties::compile(&parsed).map_err(|error| refuse_program(&error))
}

fn refuse_program(error: &CompileError) -> Failure {
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

/// The service's message, which clients search for the errors inside.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err asks for")]
fn refuse(error: PlanError) -> Failure {
    Failure::BadRequest(format!("Message: {error}"))
}

/// The functions that `exec` has, as `plan` asks for them.
struct BuiltIn;

impl Functions for BuiltIn {
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
