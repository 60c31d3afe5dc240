//! Pages of items: the read feed and queries, over any part of a container.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_exec::PageLimits;
use orrery_index::AccessPlan;
use orrery_keys::{EpkRange, PartitionKey};
use orrery_memory::Loan;
use orrery_model::{Answer, Charge, Failure, GoneKind, QueryWork, RangeId, Stamp, limits};
use orrery_partition::{Container, Partition, ScanRange, View, Visit};
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::query::{
    Asker, Feeder, Leaving, Pace, Work, read_resume, row_text, stopped, write_resume,
};
use crate::{CompiledQuery, Engine, QueryReport, Terms, continuation, out_of_memory};

/// How long one page may take that has to look at every document of its scope.
const WHOLE_SCOPE_TIME_MAX: Duration = Duration::from_mins(1);

/// Which items a page is taken from.
#[derive(Debug, Clone)]
pub enum Scope {
    Container,
    /// A logical partition, or by fewer components all that begin with them.
    Key(PartitionKey),
    /// The keys that begin with these components, in a part of the key space.
    FirstLevels(PartitionKey, EpkRange),
    /// One physical partition, or a part of it.
    Range(RangeId, Option<EpkRange>),
    Epk(EpkRange),
}

#[derive(Debug, Clone)]
pub struct FeedRequest {
    pub scope: Scope,
    pub query: Option<Arc<CompiledQuery>>,
    pub items_max: usize,
    pub continuation: Option<String>,
    pub terms: Terms,
    /// Whether the page should say how it was made.
    pub wants_report: bool,
    /// Looks at every document, as if there were no index, to compare.
    pub without_index: bool,
    /// Whether a filter may be answered by a scan where the container has no index at all.
    pub enable_scan: bool,
}

#[derive(Debug)]
pub struct FeedPage {
    /// JSON texts in order.
    pub items: Vec<Bytes>,
    pub continuation: Option<String>,
    /// Every physical partition the page may have come from.
    pub stamps: Vec<Stamp>,
    /// How the page of a query was made, if that was asked.
    pub report: Option<QueryReport>,
    /// Memory borrowed for the items, and for an answer that the server makes of those items.
    pub loan: Loan,
}

impl Engine {
    /// One page. It ends at its item count, at 4 MB, or when its time is over; a continuation says
    /// where the next one begins.
    pub async fn feed(
        self: &Arc<Self>,
        container: &Arc<Container>,
        request: FeedRequest,
    ) -> Answer<FeedPage> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let share = &request.terms.share;
        let bytes = request
            .query
            .as_ref()
            .map_or(0, |query| query.parameter_bytes);
        let held = match share.borrow(bytes) {
            Ok(held) => held,
            Err(exhausted) => return Answer::refused(out_of_memory(exhausted)),
        };
        let asker = Asker {
            container: container.rid.id(),
            client: share.id(),
        };
        let turn = match &request.query {
            Some(query) if !query.bound.program.functions_used().is_empty() => {
                match self.lanes.begin_functions(asker).await {
                    Ok(place) => Some(place),
                    Err(failure) => return Answer::refused(failure),
                }
            }
            _ => None,
        };
        let place = match self.lanes.begin(asker).await {
            Ok(place) => place,
            Err(failure) => return Answer::refused(failure),
        };
        let leaving = Leaving::default();
        let is_left = leaving.flag();
        // Scans may take seconds: they must not keep other requests from their thread.
        let page = spawn_blocking(move || {
            let (_turn, _held) = (turn, held);
            let lanes = &engine.lanes;
            let pace = Pace::new(lanes, asker, place, &is_left, WHOLE_SCOPE_TIME_MAX);
            engine.page(&container, &request, &pace)
        })
        .await;
        page.unwrap_or_else(|_| Answer::refused(stopping()))
    }

    /// The physical partitions a scope reaches.
    pub fn partitions_of(
        container: &Container,
        scope: &Scope,
    ) -> Result<Vec<Arc<Partition>>, Failure> {
        let (_, epk) = scan_range(container, scope)?;
        let overlapping = |partition: &&Arc<Partition>| partition.range.overlaps(&epk);
        Ok(container
            .partitions
            .iter()
            .filter(overlapping)
            .cloned()
            .collect())
    }

    fn page(
        &self,
        container: &Arc<Container>,
        request: &FeedRequest,
        pace: &Pace<'_>,
    ) -> Answer<FeedPage> {
        let (scope, metering) = (&request.scope, request.terms.metering);
        self.metered_page(container, scope, metering, |partitions| {
            let mut charge = Charge::ZERO;
            match self.read_page(container, partitions, request, pace, &mut charge) {
                Ok(page) => Answer {
                    stamp: page.stamps.first().copied(),
                    result: Ok(page),
                    charge,
                },
                // The client pays for the work that the query has done, also when the query fails.
                Err(failure) => Answer {
                    charge: charge.max(failure.charge()),
                    ..Answer::refused(failure)
                },
            }
        })
    }

    fn read_page(
        &self,
        container: &Arc<Container>,
        partitions: &[Arc<Partition>],
        request: &FeedRequest,
        pace: &Pace<'_>,
        charge: &mut Charge,
    ) -> Result<FeedPage, Failure> {
        let (range, _) = scan_range(container, &request.scope)?;
        let stamps = partitions
            .iter()
            .map(|partition| partition.stamp())
            .collect();
        let view = self.store.view(container, &range, self.now_seconds());
        let rows = self.rows(container, request, &view, partitions.len(), pace, charge)?;
        let bytes: usize = rows.items.iter().map(Bytes::len).sum();
        let loan = request.terms.share.borrow(2 * bytes);
        Ok(FeedPage {
            items: rows.items,
            continuation: rows.continuation,
            stamps,
            report: rows.report,
            loan: loan.map_err(out_of_memory)?,
        })
    }

    /// The rows of a page over a view of its scope. On failure too, `charge` is the price of the
    /// work that the query has done.
    pub(crate) fn rows(
        &self,
        container: &Container,
        request: &FeedRequest,
        view: &View,
        partitions: usize,
        pace: &Pace<'_>,
        charge: &mut Charge,
    ) -> Result<Rows, Failure> {
        let factor = request.terms.level.read_factor();
        let Some(query) = &request.query else {
            let (rows, item_bytes) = items_page(container, request, view)?;
            *charge = Charge::feed_page(item_bytes.into_iter(), factor);
            return Ok(rows);
        };
        let mut work = QueryWork::none(request.continuation.is_none(), factor);
        let page = QueryPage {
            container,
            request,
            view,
            query,
            pace,
        };
        let rows = self.query_page(&page, &mut work);
        *charge = match &rows {
            Ok(_) => charge_of_pages(work, partitions),
            // A query that fails at once costs what any refusal does.
            Err(_) => Charge::query_page(QueryWork {
                is_first_page: false,
                ..work
            }),
        };
        rows
    }

    fn query_page(&self, page: &QueryPage<'_>, spent: &mut QueryWork) -> Result<Rows, Failure> {
        let QueryPage {
            container,
            request,
            view,
            query,
            pace,
        } = *page;
        let owner = query.owner(container);
        let resume = read_resume(owner, request.continuation.as_deref())?;
        let (tag, resume) = resume.map_or((None, None), |(tag, resume)| (Some(tag), Some(resume)));
        let is_late = || pace.is_over();
        let page_limits = PageLimits {
            items_max: request.items_max,
            bytes_max: limits::RESPONSE_PAGE_BYTES_MAX,
            deadline: Some(&is_late),
            now_ticks: self.now_ticks(),
        };
        if !request.enable_scan {
            query.bound.profile.check_index(container)?;
        }
        let planned = query.bound.profile.plan(view, container, request, tag)?;
        let mut plan = planned.plan;
        let functions = match query.bound.program.functions_used() {
            [] => None,
            names => Some(self.open_functions(container, names, &request.terms.share)?),
        };
        let feeder = |resume| {
            let page = match &functions {
                Some(functions) => {
                    let program = &query.bound.program;
                    program.page_with_functions(resume, page_limits, functions)
                }
                None => query.bound.program.page(resume, page_limits),
            };
            Ok(Feeder {
                program: &query.bound.program,
                page: page
                    .map_err(|error| stopped(&error))?
                    .borrowing(&request.terms.share),
                view,
                definition: &planned.definition,
                pace,
                work: Work::default(),
                entries_met: 0,
                is_timed: request.wants_report,
            })
        };
        let mut run = feeder(resume.clone())?;
        let told = |failure: Failure| pace.refusal().unwrap_or(failure);
        if query.bound.program.reads_documents() {
            let fed = run.feed(&plan);
            run.tell(spent);
            if fed.map_err(told)?.is_err() {
                plan = AccessPlan::scan();
                run = feeder(resume)?;
                // Documents stand for themselves.
                let fed = run.feed(&plan);
                run.tell(spent);
                let _ = fed.map_err(told)?;
            }
        }
        let (finished, work) = run.finish().map_err(told)?;
        let report = request.wants_report.then(|| QueryReport {
            total_time: pace.elapsed() + query.compile_time,
            compile_time: query.compile_time,
            plan_time: planned.took,
            usage: planned.usage.clone(),
            ..QueryReport::new(&plan, &work, &finished.work)
        });
        let is_sorted_here = query.bound.profile.is_sorted() && !plan.access.is_ordered();
        spent.bytes_output = usize::try_from(finished.work.row_bytes).unwrap_or(usize::MAX);
        spent.steps = finished.work.steps;
        spent.function_calls = finished.work.calls;
        spent.rows_sorted = if is_sorted_here { work.documents } else { 0 };
        Ok(Rows {
            items: finished.rows.into_iter().map(row_text).collect(),
            continuation: finished
                .resume
                .map(|resume| write_resume(owner, plan.tag, &resume)),
            report,
        })
    }
}

/// A page of the read feed, with the sizes of its items.
fn items_page(
    container: &Container,
    request: &FeedRequest,
    view: &View,
) -> Result<(Rows, Vec<usize>), Failure> {
    let owner = u64::from(container.rid.id());
    let start = request.continuation.as_deref();
    let start = start
        .map(|token| continuation::read(owner, token))
        .transpose()?;
    let (mut items, mut item_bytes, mut bytes_output) = (Vec::new(), Vec::new(), 0);
    let next = view.documents(start.as_deref(), &mut |scanned| {
        let bytes = scanned.item.text_bytes();
        let full = bytes_output + bytes > limits::RESPONSE_PAGE_BYTES_MAX;
        if items.len() >= request.items_max || (full && !items.is_empty()) {
            return Visit::Full;
        }
        bytes_output += bytes;
        item_bytes.push(bytes);
        items.push(scanned.item.text());
        Visit::Taken
    })?;
    let rows = Rows {
        items,
        continuation: next.map(|place| continuation::write(owner, &place)),
        report: None,
    };
    Ok((rows, item_bytes))
}

/// The parts from which the engine makes one page of a query.
#[derive(Clone, Copy)]
struct QueryPage<'a> {
    container: &'a Container,
    request: &'a FeedRequest,
    view: &'a View,
    query: &'a CompiledQuery,
    pace: &'a Pace<'a>,
}

/// What a page gives.
pub(crate) struct Rows {
    pub(crate) items: Vec<Bytes>,
    pub(crate) continuation: Option<String>,
    report: Option<QueryReport>,
}

/// The first page pays for its beginning in every partition that it reaches.
fn charge_of_pages(work: QueryWork, partitions: usize) -> Charge {
    let further = if work.is_first_page {
        partitions.saturating_sub(1)
    } else {
        0
    };
    let start = Charge::query_page(QueryWork::none(true, work.factor));
    (0..further).fold(Charge::query_page(work), |sum, _| sum + start)
}

/// The run of stored keys of a scope, and the effective partition keys it covers.
pub(crate) fn scan_range(
    container: &Container,
    scope: &Scope,
) -> Result<(ScanRange, EpkRange), Failure> {
    let definition = container.definition.key();
    let by_epk = |epk: EpkRange| (ScanRange::of_epk_range(container, &epk), epk);
    match scope {
        Scope::Container => Ok(by_epk(EpkRange::full())),
        Scope::Key(key) => {
            definition.check_prefix(key).map_err(|_| {
                Failure::bad_request(
                    "PartitionKey has more components than defined the collection resource.",
                )
            })?;
            let epk = definition.prefix_range(key);
            if definition.check_complete(key).is_ok() {
                let logical = container.logical_partition(key);
                return Ok((ScanRange::of_logical_partition(&logical), epk));
            }
            Ok((ScanRange::of_first_levels(container, &epk, key), epk))
        }
        Scope::FirstLevels(key, part) => {
            let range = ScanRange::of_first_levels(container, part, key);
            Ok((range, part.clone()))
        }
        Scope::Range(id, part) => {
            let partition = container
                .partition(*id)
                .ok_or(Failure::Gone(GoneKind::PartitionKeyRange))?;
            match part {
                None => Ok(by_epk(partition.range.clone())),
                Some(part) if part.is_subset(&partition.range) => Ok(by_epk(part.clone())),
                Some(_) => Err(Failure::Gone(GoneKind::PartitionKeyRange)),
            }
        }
        Scope::Epk(range) => Ok(by_epk(range.clone())),
    }
}
