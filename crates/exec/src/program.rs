//! A compiled query: the work to do over the documents of a scope, page by page.

use std::sync::Arc;

use orrery_json::{FieldMask, Value};
use orrery_sql::Query;
use orrery_sql::ast::{Collection, FromSource};

use crate::compile_options::CompileOptions;
use crate::computed::ComputedProperties;
use crate::order;
use crate::page::{Page, PageLimits};
use crate::parameters::Parameters;
use crate::planner_info::ResultShape;
use crate::projection::RowProjection;
use crate::query_block::QueryBlock;
use crate::reads;
use crate::resume_filter::ResumeFilter;
use crate::sargable;
use crate::scope::{ContainerName, Scope};
use crate::skip_take::SkipTake;
use crate::sort_key::OrderColumn;
use crate::user_functions::{FunctionNames, UserFunctions};
use crate::{CompileError, Continuation, ExecError, SargableFilter};

/// A query bound to its parameters. It holds no run state and can be shared.
#[derive(Debug, Clone)]
pub struct Program {
    body: Arc<Body>,
    /// Parameter values, indexed by slot.
    parameters: Vec<Value>,
    skip_take: SkipTake,
    resume_filter: Option<ResumeFilter>,
}

/// The part of a program that all parameter values share.
#[derive(Debug)]
pub(crate) struct Body {
    block: QueryBlock,
    order: Vec<OrderColumn>,
    shape: ResultShape,
    /// The fields that the program reads; `None` when it reads the whole document.
    fields: Option<FieldMask>,
    reads_documents: bool,
    counts_distinct_rows: bool,
    /// The user-defined functions that the query calls, indexed by function number.
    functions: Vec<String>,
}

impl Program {
    /// Binds the names of `query` and the values of its parameters. Supplied parameters that the
    /// query does not use are ignored.
    pub fn compile(query: &Query, parameters: &[(String, Value)]) -> Result<Program, CompileError> {
        Program::compile_with_options(query, parameters, CompileOptions::default())
    }

    /// Like [`Program::compile`], over documents with computed properties.
    pub fn compile_with(
        query: &Query,
        parameters: &[(String, Value)],
        computed: &ComputedProperties,
    ) -> Result<Program, CompileError> {
        let options = CompileOptions {
            computed: Some(computed),
            ..CompileOptions::default()
        };
        Program::compile_with_options(query, parameters, options)
    }

    /// Like [`Program::compile`], with the computed properties and functions of a container.
    pub fn compile_with_options(
        query: &Query,
        parameters: &[(String, Value)],
        options: CompileOptions<'_>,
    ) -> Result<Program, CompileError> {
        let window = SkipTake::compile(query, parameters)?;
        let body = Body::compile(query, Parameters::Values(parameters), options)?;
        Ok(Program::new(Arc::new(body), Vec::new(), window))
    }

    pub(crate) fn new(body: Arc<Body>, parameters: Vec<Value>, skip_take: SkipTake) -> Program {
        Program {
            body,
            parameters,
            skip_take,
            resume_filter: None,
        }
    }

    /// Starts an ordered result at `values`, one for each column, in the encoding of clients. With
    /// `rid` the result starts at that document among rows with equal values. `exclude` starts
    /// behind that row.
    pub fn with_resume_filter(
        self,
        values: &[Value],
        rid: Option<u64>,
        exclude: bool,
    ) -> Result<Program, CompileError> {
        let filter = ResumeFilter::new(&self.body.order, values, rid, exclude);
        Ok(Program {
            resume_filter: Some(filter.ok_or(CompileError::ResumeFilter)?),
            ..self
        })
    }

    /// Whether a condition or an order of the query asks for values of documents, so that an index
    /// of these values could answer it.
    pub fn asks_for_values(&self) -> bool {
        let block = self.block();
        self.reads_documents() && (block.filter.is_some() || !self.order().is_empty())
    }

    /// The predicate that every document with a row satisfies, for the planner.
    pub fn sargable_filter(&self) -> SargableFilter {
        sargable::sargable_filter(self)
    }

    /// The fields that the program reads, so that the rest need not be parsed; `None` when it reads
    /// the whole document.
    pub fn fields(&self) -> Option<&FieldMask> {
        self.body.fields.as_ref()
    }

    /// The user-defined functions that the query calls, each once, indexed by function number.
    pub fn functions_used(&self) -> &[String] {
        &self.body.functions
    }

    /// The operator that makes the pages.
    pub fn shape(&self) -> ResultShape {
        self.body.shape
    }

    /// Whether every row is a stored document, so that rows are texts.
    pub fn selects_whole_document(&self) -> bool {
        self.body.block.grouping.is_none()
            && matches!(self.body.block.projection, RowProjection::Document)
    }

    /// Whether every page examines all documents: `ORDER BY`, `GROUP BY`, aggregates, `DISTINCT`.
    pub fn needs_whole_scope(&self) -> bool {
        self.body.shape != ResultShape::Stream
    }

    /// Whether rows are ordered. The order of an aggregate's single row is ignored.
    pub fn is_ordered(&self) -> bool {
        !self.body.order.is_empty()
    }

    /// False without `FROM`: the query then has one row, whatever the scope contains.
    pub fn reads_documents(&self) -> bool {
        self.body.reads_documents
    }

    /// Begins the first page, or the page behind `resume`.
    pub fn page<'a>(
        &'a self,
        resume: Option<Continuation>,
        limits: PageLimits<'a>,
    ) -> Result<Page<'a>, ExecError> {
        Page::new(self, resume, limits, None)
    }

    /// Like [`Program::page`], for a program with user-defined functions.
    pub fn page_with_functions<'a>(
        &'a self,
        resume: Option<Continuation>,
        limits: PageLimits<'a>,
        functions: &'a dyn UserFunctions,
    ) -> Result<Page<'a>, ExecError> {
        Page::new(self, resume, limits, Some(functions))
    }

    pub(crate) fn block(&self) -> &QueryBlock {
        &self.body.block
    }

    pub(crate) fn order(&self) -> &[OrderColumn] {
        &self.body.order
    }

    pub(crate) fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    pub(crate) fn skip_take(&self) -> SkipTake {
        self.skip_take
    }

    pub(crate) fn resume_filter(&self) -> Option<&ResumeFilter> {
        self.resume_filter.as_ref()
    }

    /// Whether copies of a distinct row may occur at several places of the order, because the row
    /// does not determine the values that order it.
    pub(crate) fn copies_have_several_keys(&self) -> bool {
        let block = self.block();
        let mut columns = self.order().iter();
        block.distinct && !columns.all(|column| block.projection.determines(&column.scalar))
    }

    /// Whether the query counts rows that are distinct over all documents. Counts of parts of a
    /// container do not add up then.
    pub(crate) fn counts_distinct_rows(&self) -> bool {
        self.body.counts_distinct_rows
    }
}

impl Body {
    /// Compiles everything that does not depend on the row counts of `TOP`, `OFFSET` and `LIMIT`.
    pub(crate) fn compile(
        query: &Query,
        parameters: Parameters<'_>,
        options: CompileOptions<'_>,
    ) -> Result<Body, CompileError> {
        let functions = options.functions.map(FunctionNames::new);
        let reads_documents = reads_documents(query);
        let container = if query.from.is_empty() {
            ContainerName::Absent
        } else {
            ContainerName::Unnamed
        };
        let scope = Scope::with(container, parameters)
            .with_computed(options.computed)
            .with_functions(functions.as_ref());
        let items = order::items(query)?;
        let exprs: Vec<_> = items.iter().map(|item| &item.expr).collect();
        let (block, scalars) = QueryBlock::compile(query, &scope, &exprs)?;
        let order = order::columns(items, scalars, &block)?;
        // A grouped query passes its rows to the sort or distinct step itself, so the group decides
        // first.
        let shape = if block.grouping.is_some() {
            ResultShape::Grouped
        } else if !order.is_empty() {
            ResultShape::Sorted
        } else if block.distinct {
            ResultShape::Distinct
        } else {
            ResultShape::Stream
        };
        let counts_distinct_rows = counts_distinct_rows(query, &block);
        let fields = reads::of(&block, &order);
        Ok(Body {
            block,
            order,
            shape,
            fields: Some(fields).filter(|fields| !fields.is_whole()),
            reads_documents,
            counts_distinct_rows,
            functions: functions.map(FunctionNames::into_used).unwrap_or_default(),
        })
    }
}

/// False without `FROM`, and for a count over a distinct subquery without `FROM`: that subquery has
/// one row, whatever the container holds.
fn reads_documents(query: &Query) -> bool {
    match query.from.as_slice() {
        [] => false,
        [
            FromSource::Value {
                collection: Collection::Subquery(inner),
                ..
            },
        ] => !(inner.select.distinct && inner.from.is_empty()),
        _ => true,
    }
}

/// Recognises `SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)`. No other subquery is
/// distinct over all documents rather than within each document.
fn counts_distinct_rows(query: &Query, block: &QueryBlock) -> bool {
    let is_distinct = match query.from.as_slice() {
        [
            FromSource::Value {
                collection: Collection::Subquery(inner),
                ..
            },
        ] => inner.select.distinct,
        _ => false,
    };
    let has_one_group = block
        .grouping
        .as_ref()
        .is_some_and(|grouping| grouping.keys.is_empty());
    is_distinct && has_one_group
}
