//! A query, compiled: what to run over the documents of a scope, page by page.

use std::sync::Arc;

use orrery_json::{Fields, Value};
use orrery_sql::Query;
use orrery_sql::ast::{Collection, Source};

use crate::block::Block;
use crate::compile_options::CompileOptions;
use crate::computed::ComputedProperties;
use crate::narrow;
use crate::order;
use crate::page::{Page, PageLimits};
use crate::parameters::Parameters;
use crate::projection::Selection;
use crate::reads;
use crate::resume_filter::ResumeFilter;
use crate::scope::{Container, Scope};
use crate::shape::Shape;
use crate::sort_key::OrderColumn;
use crate::user_functions::{FunctionNames, Functions};
use crate::window::Window;
use crate::{CompileError, ExecError, Narrowing, Resume};

/// A query bound to its parameters. It holds no state of a run and may be shared.
#[derive(Debug, Clone)]
pub struct Program {
    body: Arc<Body>,
    /// The values of parameters, by their slots.
    parameters: Vec<Value>,
    window: Window,
    resume_filter: Option<ResumeFilter>,
}

/// What is the same for all values that the parameters of a query may have.
#[derive(Debug)]
pub(crate) struct Body {
    block: Block,
    order: Vec<OrderColumn>,
    shape: Shape,
    /// None when the whole document is read.
    fields: Option<Fields>,
    reads_documents: bool,
    counts_distinct_rows: bool,
    /// The user-defined functions that are called, by their numbers.
    functions: Vec<String>,
}

impl Program {
    /// Binds the names of `query` and the values of its parameters. Parameters that the query
    /// does not use are ignored.
    pub fn compile(query: &Query, parameters: &[(String, Value)]) -> Result<Program, CompileError> {
        Program::compile_with_options(query, parameters, CompileOptions::default())
    }

    /// As [`Program::compile`], over documents with computed properties.
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

    /// As [`Program::compile`], over the documents of a container with more than documents.
    pub fn compile_with_options(
        query: &Query,
        parameters: &[(String, Value)],
        options: CompileOptions<'_>,
    ) -> Result<Program, CompileError> {
        let window = Window::compile(query, parameters)?;
        let body = Body::compile(query, Parameters::Values(parameters), options)?;
        Ok(Program::new(Arc::new(body), Vec::new(), window))
    }

    pub(crate) fn new(body: Arc<Body>, parameters: Vec<Value>, window: Window) -> Program {
        Program {
            body,
            parameters,
            window,
            resume_filter: None,
        }
    }

    /// Begins an ordered result at `values`, one for each column, encoded as clients do. With
    /// `rid` it begins among the rows equal to them at that document. `exclude` begins behind.
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

    /// What every document that gives a row satisfies, for an index to be asked first.
    pub fn narrowing(&self) -> Narrowing {
        narrow::narrowing(self)
    }

    /// What the program reads of a document, so that the rest need not be parsed; none when it
    /// reads all of it.
    pub fn fields(&self) -> Option<&Fields> {
        self.body.fields.as_ref()
    }

    /// The user-defined functions that are called, each once, in the order of the numbers they are
    /// called by.
    pub fn functions_used(&self) -> &[String] {
        &self.body.functions
    }

    /// Which operator makes the pages.
    pub fn shape(&self) -> Shape {
        self.body.shape
    }

    /// Whether every row is a document as it is stored, so that rows are texts.
    pub fn selects_whole_document(&self) -> bool {
        self.body.block.grouping.is_none()
            && matches!(self.body.block.selection, Selection::Document)
    }

    /// Whether every page looks at all documents: `ORDER BY`, `GROUP BY`, aggregates, `DISTINCT`.
    pub fn needs_whole_scope(&self) -> bool {
        self.body.shape != Shape::Stream
    }

    /// False without `FROM`: there is one row, whatever the scope holds.
    pub fn reads_documents(&self) -> bool {
        self.body.reads_documents
    }

    /// Begins a page, the first one or the one after `resume`.
    pub fn page<'a>(
        &'a self,
        resume: Option<Resume>,
        limits: PageLimits<'a>,
    ) -> Result<Page<'a>, ExecError> {
        Page::new(self, resume, limits, None)
    }

    /// As [`Program::page`], for a program that uses functions.
    pub fn page_with_functions<'a>(
        &'a self,
        resume: Option<Resume>,
        limits: PageLimits<'a>,
        functions: &'a dyn Functions,
    ) -> Result<Page<'a>, ExecError> {
        Page::new(self, resume, limits, Some(functions))
    }

    pub(crate) fn block(&self) -> &Block {
        &self.body.block
    }

    pub(crate) fn order(&self) -> &[OrderColumn] {
        &self.body.order
    }

    pub(crate) fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    pub(crate) fn resume_filter(&self) -> Option<&ResumeFilter> {
        self.resume_filter.as_ref()
    }

    /// Whether the rows of a subquery that are counted are distinct over all documents, so that
    /// counts of parts of a container do not add up.
    pub(crate) fn counts_distinct_rows(&self) -> bool {
        self.body.counts_distinct_rows
    }
}

impl Body {
    pub(crate) fn compile(
        query: &Query,
        parameters: Parameters<'_>,
        options: CompileOptions<'_>,
    ) -> Result<Body, CompileError> {
        let functions = options.functions.map(FunctionNames::new);
        let reads_documents = !query.from.is_empty();
        let container = if reads_documents {
            Container::Unnamed
        } else {
            Container::Absent
        };
        let scope = Scope::with(container, parameters)
            .with_computed(options.computed)
            .with_functions(functions.as_ref());
        let items = order::items(query)?;
        let exprs: Vec<_> = items.iter().map(|item| &item.expr).collect();
        let (block, scalars) = Block::compile(query, &scope, &exprs)?;
        let order = order::columns(items, scalars, &block)?;
        let shape = if block.grouping.is_some() {
            Shape::Grouped
        } else if !order.is_empty() {
            Shape::Sorted
        } else if block.distinct {
            Shape::Distinct
        } else {
            Shape::Stream
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

/// `SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)`: the one subquery that is distinct
/// over all documents, and not over each.
fn counts_distinct_rows(query: &Query, block: &Block) -> bool {
    let is_distinct = match query.from.as_slice() {
        [
            Source::Value {
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
