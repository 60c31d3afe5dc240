//! Chooses how a page finds its documents: the planner sees the same view that the page reads.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_exec::{
    Continuation, DocumentPath, PathStep, Predicate, Program, ResultShape, SargableFilter,
    ValueRange,
};
use orrery_index::{
    AccessKind, AccessPlan, AccessRequest, AccessTag, IndexDefinition, IndexHash, IndexUsage,
    MinMax, OrderTerm, QueryShape, plan_access, resume_access,
};
use orrery_json::Value;
use orrery_keys::KeyComponent;
use orrery_model::{Failure, IndexingMode};
use orrery_partition::{Container, View, ViewStatistics};
use orrery_sql::ast::SortDirection;

use super::exec_failure;
use crate::{CompiledQuery, FeedRequest, FeedScope, continuation};

/// The access plan of a page, with the index definition of that plan.
pub(crate) struct PlannedAccess<'a> {
    pub(crate) definition: Cow<'a, IndexDefinition>,
    pub(crate) plan: AccessPlan,
    /// Index usage; filled only if the client asks for a report.
    pub(crate) usage: IndexUsage,
    pub(crate) took: Duration,
}

/// The planner's input from one query with values.
#[derive(Debug, Clone)]
pub(crate) struct PlannerInput {
    pub(crate) shared: Arc<SharedPlannerInput>,
    sargable_filter: SargableFilter,
    rows_max: Option<u64>,
}

/// The part of the planner's input that does not depend on parameter values.
#[derive(Debug)]
pub(crate) struct SharedPlannerInput {
    shape: QueryShape,
    order: Vec<OrderTerm>,
    covering_path: Option<DocumentPath>,
    reads_nothing: bool,
    min_max: Option<MinMax>,
    asks_for_values: bool,
}

impl SharedPlannerInput {
    fn of(program: &Program) -> SharedPlannerInput {
        let order = program.order_terms().into_iter().map(|term| OrderTerm {
            path: term.path,
            descending: term.direction == SortDirection::Descending,
        });
        let covering_path = program.covering_path();
        // Index entries give an extreme only if the query reads no other path.
        let min_max = program
            .extreme()
            .filter(|(path, _)| Some(path) == covering_path.as_ref());
        SharedPlannerInput {
            shape: match program.shape() {
                ResultShape::Stream => QueryShape::Stream,
                ResultShape::Sorted => QueryShape::Sorted,
                ResultShape::Distinct => QueryShape::Distinct,
                ResultShape::Grouped => QueryShape::Grouped,
            },
            order: order.collect(),
            covering_path,
            reads_nothing: program.reads_nothing(),
            asks_for_values: program.asks_for_values(),
            min_max: min_max.map(|(_, direction)| match direction {
                SortDirection::Ascending => MinMax::Min,
                SortDirection::Descending => MinMax::Max,
            }),
        }
    }
}

impl PlannerInput {
    pub(crate) fn of(program: &Program) -> PlannerInput {
        PlannerInput::with_shared(program, Arc::new(SharedPlannerInput::of(program)))
    }

    pub(crate) fn with_shared(program: &Program, shared: Arc<SharedPlannerInput>) -> PlannerInput {
        PlannerInput {
            shared,
            sargable_filter: program.sargable_filter(),
            rows_max: program.rows_max(),
        }
    }

    pub(crate) fn is_sorted(&self) -> bool {
        self.shared.shape == QueryShape::Sorted
    }

    /// Refuses a filter over a container without an index, unless the filter uses only key paths.
    pub(crate) fn check_index(&self, container: &Container) -> Result<(), Failure> {
        let definition = &container.definition;
        if definition.indexing.mode == IndexingMode::Consistent {
            return Ok(());
        }
        let id = DocumentPath(vec![PathStep::Name("id".to_owned())]);
        let keys: Vec<DocumentPath> = key_paths(container).chain([id]).collect();
        if asks_only(&self.sargable_filter.predicate, &keys) {
            return Ok(());
        }
        Err(Failure::bad_request(
            "An invalid query has been specified with filters against path(s) excluded from indexing. \
             Consider adding allow scan header in the request.",
        ))
    }

    /// Whether the query passes over items that their writes left out of the index: it has a filter
    /// or an order, and the client did not ask for a scan. The rows do not depend on the access that
    /// the planner chooses.
    pub(crate) fn sees_only_indexed(&self, container: &Container, feed: &FeedRequest) -> bool {
        self.shared.asks_for_values
            && !feed.enable_scan
            && container.definition.indexing.mode == IndexingMode::Consistent
    }

    /// The key path and the filter of a query that only counts the items of one partition key. The
    /// entries of that path can then be counted instead of documents.
    fn count_of_key(
        &self,
        container: &Container,
        scope: &FeedScope,
    ) -> Option<(DocumentPath, SargableFilter)> {
        let outline = &self.shared;
        let counts_all = outline.reads_nothing
            && outline.shape == QueryShape::Grouped
            && self.sargable_filter.is_exact
            && self.sargable_filter.predicate == Predicate::Anything;
        let (FeedScope::Key(key), true) = (scope, counts_all) else {
            return None;
        };
        let mut paths = key_paths(container);
        let (path, [component]) = (paths.next()?, key.components()) else {
            return None;
        };
        let value = match component {
            // Different values may share this partition key, so the entries of one value are not
            // the items of the key.
            other if !container.definition.key().determines_value(other) => return None,
            KeyComponent::String(text) => Value::from(text.as_str()),
            // Larger integers share a floating-point key with their neighbours.
            KeyComponent::Number(number) if number.abs() < 2_f64.powi(53) => Value::from(*number),
            _ => return None,
        };
        let predicate = Predicate::Value {
            path: path.clone(),
            ranges: vec![ValueRange::Equal(value)],
        };
        let narrowing = SargableFilter {
            predicate,
            is_exact: true,
        };
        paths.next().is_none().then_some((path, narrowing))
    }

    /// Plans the access of a page, or restores the access of the previous page from its tag.
    pub(crate) fn plan<'a>(
        &self,
        view: &'a View,
        container: &Container,
        feed: &FeedRequest,
        tag: Option<AccessTag>,
    ) -> Result<PlannedAccess<'a>, Failure> {
        let begun = Instant::now();
        let outline = &self.shared;
        let definition = if feed.without_index {
            Cow::Owned(IndexDefinition::nothing())
        } else {
            view.index()?
        };
        let statistics = ViewStatistics::new(view, &definition);
        let of_key = self.count_of_key(container, &feed.scope);
        let narrowing = of_key
            .as_ref()
            .map_or(&self.sargable_filter, |(_, key)| key);
        let covering = of_key.as_ref().map(|(path, _)| path);
        // An expired item keeps its index entries until the sweep removes it, so entries cannot
        // stand in for documents in a container with TTL.
        let entries_are_documents = container.default_ttl().is_none();
        let page_rows = u64::try_from(feed.items_max).unwrap_or(u64::MAX);
        let request = AccessRequest {
            definition: &definition,
            statistics: &statistics,
            sargable_filter: narrowing,
            shape: outline.shape,
            is_one_partition: view.is_one_partition() && !feed.without_index,
            order: &outline.order,
            covering: covering
                .or(outline.covering_path.as_ref())
                .filter(|_| entries_are_documents),
            reads_nothing: outline.reads_nothing,
            min_max: outline.min_max.filter(|_| entries_are_documents),
            only_indexed: self.sees_only_indexed(container, feed),
            page_rows: Some(self.rows_max.map_or(page_rows, |rows| rows.min(page_rows))),
        };
        // A stream's continuation is a position in the order of its access, so the access must stay
        // the same.
        let plan = match tag.filter(|_| outline.shape == QueryShape::Stream) {
            Some(tag) => resume_access(&request, tag).ok_or_else(index_is_gone)?,
            None => plan_access(&request),
        };
        let took = begun.elapsed();
        let usage = if feed.wants_report {
            let usage = IndexUsage::of(&request);
            match feed.scope {
                FeedScope::Key(_) | FeedScope::KeyPrefix(..) => {
                    usage.with_keys(key_paths(container))
                }
                FeedScope::Container | FeedScope::Range(..) | FeedScope::Epk(_) => usage,
            }
        } else {
            IndexUsage::default()
        };
        Ok(PlannedAccess {
            definition,
            plan,
            usage,
            took,
        })
    }
}

fn key_paths(container: &Container) -> impl Iterator<Item = DocumentPath> {
    let paths = container.definition.key().paths().iter();
    paths.map(|path| {
        let names = path.segments().iter().cloned();
        DocumentPath(names.map(PathStep::Name).collect())
    })
}

/// Whether a predicate refers to these paths only.
fn asks_only(predicate: &Predicate, paths: &[DocumentPath]) -> bool {
    match predicate {
        Predicate::Anything | Predicate::Nothing => true,
        Predicate::And(all) | Predicate::Or(all) => all.iter().all(|one| asks_only(one, paths)),
        Predicate::Value { path, .. } => paths.contains(path),
        Predicate::Spatial { .. } => false,
    }
}

fn index_is_gone() -> Failure {
    Failure::bad_request(
        "The continuation token was made with an index that the container no longer has. Run the \
         query again from its beginning.",
    )
}

/// Reads the start of a page from a token: the access of the previous page, and the program's
/// state.
///
/// ```text
/// access kind (1) | hash of the index (8, big endian) | state of the program
/// ```
pub(crate) fn read_continuation(
    owner: u64,
    token: Option<&str>,
) -> Result<Option<(AccessTag, Continuation)>, Failure> {
    let Some(token) = token else {
        return Ok(None);
    };
    let state = continuation::read(owner, token)?;
    let parts = || {
        let (kind, rest) = state.split_first()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let tag = AccessTag {
            kind: AccessKind::from_code(*kind)?,
            index: IndexHash(u64::from_be_bytes(*hash)),
        };
        Some((tag, rest))
    };
    let (tag, rest) = parts().ok_or(Failure::InvalidContinuation)?;
    let resume = Continuation::decode(rest).map_err(|error| exec_failure(&error))?;
    Ok(Some((tag, resume)))
}

/// Whether a token continues in stored-key order, or in an order that each page computes again. In
/// both cases a page shows what a script has written since the previous page.
pub(crate) fn is_key_order(
    container: &Container,
    query: &CompiledQuery,
    token: &str,
) -> Result<bool, Failure> {
    if query.bound.planner_input.shared.shape != QueryShape::Stream {
        return Ok(true);
    }
    let resume = read_continuation(query.owner(container), Some(token))?;
    Ok(resume.is_none_or(|(tag, _)| tag == AccessTag::KEY_ORDER))
}

pub(crate) fn write_continuation(owner: u64, tag: AccessTag, resume: &Continuation) -> String {
    let mut state = vec![tag.kind.code()];
    state.extend_from_slice(&tag.index.0.to_be_bytes());
    state.extend_from_slice(&resume.encode());
    continuation::write(owner, &state)
}
