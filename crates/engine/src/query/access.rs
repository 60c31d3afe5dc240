//! How the documents of a page are found: the planner is asked over the view the page reads.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_exec::{DocumentPath, Narrowing, PathStep, Predicate, Program, Resume, Shape};
use orrery_index::{
    AccessKind, AccessPlan, AccessRequest, AccessTag, Extreme, IndexDefinition, IndexHash,
    IndexUsage, OrderTerm, QueryShape, plan_access, resume_access,
};
use orrery_model::{Failure, IndexingMode};
use orrery_partition::{Container, View, ViewStatistics};
use orrery_sql::ast::Direction;

use super::stopped;
use crate::{CompiledQuery, FeedRequest, continuation};

/// The plan of a page, with the indexes it was made for.
pub(crate) struct PlannedAccess<'a> {
    pub(crate) definition: Cow<'a, IndexDefinition>,
    pub(crate) plan: AccessPlan,
    /// Of those who ask for a report.
    pub(crate) usage: IndexUsage,
    pub(crate) took: Duration,
}

/// What a query says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) outline: Arc<Outline>,
    narrowing: Narrowing,
    rows_max: Option<u64>,
}

/// What is the same for all values of its parameters.
#[derive(Debug)]
pub(crate) struct Outline {
    shape: QueryShape,
    order: Vec<OrderTerm>,
    reads_only: Option<DocumentPath>,
    reads_nothing: bool,
    extreme: Option<Extreme>,
}

impl Outline {
    fn of(program: &Program) -> Outline {
        let order = program.order_terms().into_iter().map(|term| OrderTerm {
            path: term.path,
            descending: term.direction == Direction::Descending,
        });
        let reads_only = program.reads_only();
        let extreme = program
            .extreme()
            .filter(|(path, _)| Some(path) == reads_only.as_ref());
        Outline {
            shape: match program.shape() {
                Shape::Stream => QueryShape::Stream,
                Shape::Sorted => QueryShape::Sorted,
                Shape::Distinct => QueryShape::Distinct,
                Shape::Grouped => QueryShape::Grouped,
            },
            order: order.collect(),
            reads_only,
            reads_nothing: program.reads_nothing(),
            extreme: extreme.map(|(_, direction)| match direction {
                Direction::Ascending => Extreme::Min,
                Direction::Descending => Extreme::Max,
            }),
        }
    }
}

impl Profile {
    pub(crate) fn of(program: &Program) -> Profile {
        Profile::with_outline(program, Arc::new(Outline::of(program)))
    }

    pub(crate) fn with_outline(program: &Program, outline: Arc<Outline>) -> Profile {
        Profile {
            outline,
            narrowing: program.narrowing(),
            rows_max: program.rows_max(),
        }
    }

    pub(crate) fn is_sorted(&self) -> bool {
        self.outline.shape == QueryShape::Sorted
    }

    /// Refuses a filter over a container without any index, unless it is on its keys alone.
    pub(crate) fn check_index(&self, container: &Container) -> Result<(), Failure> {
        let definition = &container.definition;
        if definition.indexing.mode == IndexingMode::Consistent {
            return Ok(());
        }
        let keys = definition.key().paths().iter();
        let keys: Vec<DocumentPath> = keys
            .map(|path| {
                DocumentPath(
                    path.segments()
                        .iter()
                        .cloned()
                        .map(PathStep::Name)
                        .collect(),
                )
            })
            .chain([DocumentPath(vec![PathStep::Name("id".to_owned())])])
            .collect();
        if asks_only(&self.narrowing.predicate, &keys) {
            return Ok(());
        }
        Err(Failure::bad_request(
            "An invalid query has been specified with filters against path(s) excluded from indexing. \
             Consider adding allow scan header in the request.",
        ))
    }

    /// Chooses an access, or finds the one that the page before had.
    pub(crate) fn plan<'a>(
        &self,
        view: &'a View,
        container: &Container,
        feed: &FeedRequest,
        tag: Option<AccessTag>,
    ) -> Result<PlannedAccess<'a>, Failure> {
        let begun = Instant::now();
        let outline = &self.outline;
        let definition = if feed.without_index {
            Cow::Owned(IndexDefinition::nothing())
        } else {
            view.index()?
        };
        let statistics = ViewStatistics::new(view, &definition);
        // An item that has expired still has its entries.
        let entries_are_documents = container.default_ttl().is_none();
        let page_rows = u64::try_from(feed.items_max).unwrap_or(u64::MAX);
        let request = AccessRequest {
            definition: &definition,
            statistics: &statistics,
            narrowing: &self.narrowing,
            shape: outline.shape,
            is_one_partition: view.is_one_partition() && !feed.without_index,
            order: &outline.order,
            covering: outline
                .reads_only
                .as_ref()
                .filter(|_| entries_are_documents),
            reads_nothing: outline.reads_nothing,
            extreme: outline.extreme.filter(|_| entries_are_documents),
            page_rows: Some(self.rows_max.map_or(page_rows, |rows| rows.min(page_rows))),
        };
        let plan = match tag.filter(|_| outline.shape == QueryShape::Stream) {
            Some(tag) => resume_access(&request, tag).ok_or_else(index_is_gone)?,
            None => plan_access(&request),
        };
        let took = begun.elapsed();
        let usage = if feed.wants_report {
            IndexUsage::of(&request)
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

/// Whether nothing but these paths is asked for.
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

/// Where a page begins that a client asks for with a token, and how its documents were found.
///
/// ```text
/// access kind (1) | hash of the index (8, big endian) | state of the program
/// ```
pub(crate) fn read_resume(
    owner: u64,
    token: Option<&str>,
) -> Result<Option<(AccessTag, Resume)>, Failure> {
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
    let resume = Resume::decode(rest).map_err(|error| stopped(&error))?;
    Ok(Some((tag, resume)))
}

/// Whether a token goes on in the order of stored keys, or in an order that is made anew for every
/// page: what a script has written meanwhile has its place in both.
pub(crate) fn is_place_order(
    container: &Container,
    query: &CompiledQuery,
    token: &str,
) -> Result<bool, Failure> {
    if query.bound.profile.outline.shape != QueryShape::Stream {
        return Ok(true);
    }
    let resume = read_resume(query.owner(container), Some(token))?;
    Ok(resume.is_none_or(|(tag, _)| tag == AccessTag::PLACE_ORDER))
}

pub(crate) fn write_resume(owner: u64, tag: AccessTag, resume: &Resume) -> String {
    let mut state = vec![tag.kind.code()];
    state.extend_from_slice(&tag.index.0.to_be_bytes());
    state.extend_from_slice(&resume.encode());
    continuation::write(owner, &state)
}
