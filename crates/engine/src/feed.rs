//! Pages of items: the read feed and queries, over a whole container or a part of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_exec::{Continuation, PageLimits, PositionKey, UserFunctions};
use orrery_index::{AccessPlan, AccessTag, IndexDefinition};
use orrery_keys::{EpkRange, PartitionKey};
use orrery_memory::Loan;
use orrery_model::{
    Charge, ChargedResult, Failure, GoneKind, PartitionLsn, QueryWork, RangeId, limits,
};
use orrery_partition::{Container, Partition, ScanRange, View, Visit};
use tokio::task::spawn_blocking;

use crate::engine::stopping_failure;
use crate::query::{
    AccessWork, CancelGuard, LaneClient, PageSchedule, RowFeeder, exec_failure, read_continuation,
    row_text, write_continuation,
};
use crate::{CompiledQuery, Engine, QueryReport, RequestBudget, continuation, out_of_memory};

/// Time limit of one page that scans every document of its scope.
const WHOLE_SCOPE_TIME_MAX: Duration = Duration::from_mins(1);

/// The part of a container that a page reads.
#[derive(Debug, Clone)]
pub enum FeedScope {
    Container,
    /// A logical partition; with fewer components, all logical partitions with this key prefix.
    Key(PartitionKey),
    /// The keys that begin with these components, within a part of the key space.
    KeyPrefix(PartitionKey, EpkRange),
    /// One physical partition, or a part of its range.
    Range(RangeId, Option<EpkRange>),
    Epk(EpkRange),
}

#[derive(Debug, Clone)]
pub struct FeedRequest {
    pub scope: FeedScope,
    pub query: Option<Arc<CompiledQuery>>,
    pub items_max: usize,
    pub continuation: Option<String>,
    /// The longest continuation token that the client accepts, if the client sends a limit.
    pub continuation_bytes_max: Option<usize>,
    pub budget: RequestBudget,
    /// Whether the page includes a report of its plan and costs.
    pub wants_report: bool,
    /// Scans every document instead of using an index, for comparison.
    pub without_index: bool,
    /// Whether a scan may answer a filter in a container without any index.
    pub enable_scan: bool,
}

#[derive(Debug)]
pub struct FeedPage {
    /// JSON texts in order.
    pub items: Vec<Bytes>,
    pub continuation: Option<String>,
    /// The physical partitions that contributed to the page, at least one. The page ended in the
    /// last of these partitions.
    pub partition_lsns: Vec<PartitionLsn>,
    /// The report of a query's page, if the request asked for it.
    pub report: Option<QueryReport>,
    /// Memory borrowed for the items and for the server's response with these items.
    pub loan: Loan,
}

impl Engine {
    /// Reads one page. A page ends at its item count, at 4 MB, or at its time limit; a continuation
    /// names the start of the next page.
    pub async fn feed(
        self: &Arc<Self>,
        container: &Arc<Container>,
        request: FeedRequest,
    ) -> ChargedResult<FeedPage> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let share = &request.budget.share;
        let bytes = request
            .query
            .as_ref()
            .map_or(0, |query| query.parameter_bytes);
        // The parameters stay charged to the client for the whole page.
        let held = match share.borrow(bytes) {
            Ok(held) => held,
            Err(exhausted) => return ChargedResult::refused(out_of_memory(exhausted)),
        };
        let client = LaneClient {
            container: container.rid.id(),
            client: share.id(),
        };
        // The function turn is taken before the page lane. In the other order pages with
        // user-defined functions would occupy lanes while they wait for script threads.
        let turn = match &request.query {
            Some(query) if !query.bound.program.functions_used().is_empty() => {
                self.start_script_runtime().await;
                match self.lanes.begin_functions(client).await {
                    Ok(slot) => Some(slot),
                    Err(failure) => return ChargedResult::refused(failure),
                }
            }
            _ => None,
        };
        let slot = match self.lanes.begin(client).await {
            Ok(slot) => slot,
            Err(failure) => return ChargedResult::refused(failure),
        };
        // The guard raises its flag when the client disconnects and this future is dropped.
        let cancel_guard = CancelGuard::default();
        let is_cancelled = cancel_guard.flag();
        let calls_functions = turn.is_some();
        let work = move || {
            let (_turn, _held) = (turn, held);
            let lanes = &engine.lanes;
            let schedule =
                PageSchedule::new(lanes, client, slot, &is_cancelled, WHOLE_SCOPE_TIME_MAX);
            engine.page(&container, &request, &schedule)
        };
        // A scan may take seconds, so it must not occupy a thread of the asynchronous runtime.
        let page = if calls_functions {
            self.function_threads.spawn(work)
        } else {
            spawn_blocking(work)
        };
        let page = page.await;
        page.unwrap_or_else(|_| ChargedResult::refused(stopping_failure()))
    }

    /// The physical partitions that a scope reaches.
    pub fn partitions_of(
        container: &Container,
        scope: &FeedScope,
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
        schedule: &PageSchedule<'_>,
    ) -> ChargedResult<FeedPage> {
        let (scope, metering) = (&request.scope, request.budget.metering);
        self.metered_page(container, scope, metering, |partitions| {
            let mut charge = Charge::ZERO;
            match self.read_page(container, partitions, request, schedule, &mut charge) {
                Ok(page) => ChargedResult {
                    partition_lsn: page.partition_lsns.last().copied(),
                    result: Ok(page),
                    charge,
                },
                // The client pays for the work of a query also when the query fails.
                Err(failure) => ChargedResult {
                    charge: charge.max(failure.charge()),
                    ..ChargedResult::refused(failure)
                },
            }
        })
    }

    fn read_page(
        &self,
        container: &Arc<Container>,
        partitions: &[Arc<Partition>],
        request: &FeedRequest,
        schedule: &PageSchedule<'_>,
        charge: &mut Charge,
    ) -> Result<FeedPage, Failure> {
        let (range, _) = scan_range(container, &request.scope)?;
        // The LSNs are read before the view opens, so the view contains every write up to them. A
        // later LSN could name a write that the page does not show.
        let partition_lsns: Vec<PartitionLsn> = partitions
            .iter()
            .map(|partition| partition.partition_lsn())
            .collect();
        let view = self.store.view(container, &range, self.now_seconds());
        let rows = self.rows(
            container,
            request,
            &view,
            partitions.len(),
            schedule,
            charge,
        )?;
        let bytes: usize = rows.items.iter().map(Bytes::len).sum();
        // The server copies the rows into its response, so the page borrows twice their size.
        let loan = request.budget.share.borrow(2 * bytes);
        Ok(FeedPage {
            items: rows.items,
            continuation: rows.continuation,
            partition_lsns: visited_partitions(container, partition_lsns, rows.visited),
            report: rows.report,
            loan: loan.map_err(out_of_memory)?,
        })
    }

    /// The rows of a page over a view of its scope. On failure too, `charge` receives the price of
    /// the work that the query has done.
    pub(crate) fn rows(
        &self,
        container: &Arc<Container>,
        request: &FeedRequest,
        view: &View,
        partitions: usize,
        schedule: &PageSchedule<'_>,
        charge: &mut Charge,
    ) -> Result<PageRows, Failure> {
        let factor = request.budget.level.read_factor();
        let Some(query) = &request.query else {
            let (rows, item_bytes) = items_page(container, request, view)?;
            *charge = Charge::feed_page(item_bytes.into_iter(), factor);
            return Ok(rows);
        };
        let mut work = QueryWork::none(request.continuation.is_none(), factor);
        let page = QueryContext {
            container,
            request,
            view,
            query,
            schedule,
        };
        let rows = self.query_page(&page, &mut work);
        *charge = match &rows {
            Ok(_) => charge_of_pages(work, partitions),
            // A query that fails at once costs the minimum charge of a refusal.
            Err(_) => Charge::query_page(QueryWork {
                is_first_page: false,
                ..work
            }),
        };
        rows
    }

    /// Looks in `range` for the row at which the previous page ended, and returns its whole key. The
    /// partition of that row has split since: another child has the row, and the token of an ordered
    /// page holds only the beginning of a long key.
    fn find_position_key(
        &self,
        page: &QueryContext<'_>,
        functions: Option<&dyn UserFunctions>,
        resume: Option<(Continuation, AccessTag)>,
        range: EpkRange,
        spent: &mut QueryWork,
    ) -> Result<Option<PositionKey>, Failure> {
        let container = page.container;
        let stored_range = ScanRange::of_epk_range(container, &range);
        let view = self
            .store
            .view(container, &stored_range, self.now_seconds());
        let request = FeedRequest {
            scope: FeedScope::Epk(range),
            items_max: 1,
            wants_report: false,
            ..page.request.clone()
        };
        let page = QueryContext {
            view: &view,
            request: &request,
            ..*page
        };
        let is_late = || page.schedule.yield_and_check();
        let page_limits = PageLimits {
            items_max: 1,
            bytes_max: limits::RESPONSE_PAGE_BYTES_MAX,
            deadline: Some(&is_late),
            now_ticks: self.now_ticks(),
            position_bytes_max: 0,
        };
        let (resume, tag) = resume.unzip();
        let input = &page.query.bound.planner_input;
        let planned = input.plan(&view, container, &request, tag)?;
        let mut search = page.feeder(&planned.definition, functions, resume, page_limits)?;
        let fed = search.feed(&planned.plan);
        let mut work = QueryWork::none(false, spent.factor);
        search.report_work(&mut work);
        *spent = spent.with_search(work);
        let _ = fed?;
        Ok(search.page.position_key())
    }

    /// Runs a query over a view: plans the access, feeds the program, and encodes the continuation.
    fn query_page(
        &self,
        page: &QueryContext<'_>,
        spent: &mut QueryWork,
    ) -> Result<PageRows, Failure> {
        let QueryContext {
            container,
            request,
            view,
            query,
            schedule,
        } = *page;
        // The owner binds the token to this query and container.
        let owner = query.owner(container);
        let resume = read_continuation(owner, request.continuation.as_deref())?;
        let from = resume
            .as_ref()
            .and_then(|(_, resume)| resume.scan_position());
        let from = from.map(<[u8]>::to_vec);
        let (tag, resume) = resume.map_or((None, None), |(tag, resume)| (Some(tag), Some(resume)));
        let is_late = || schedule.yield_and_check();
        let page_limits = PageLimits {
            items_max: request.items_max,
            bytes_max: limits::RESPONSE_PAGE_BYTES_MAX,
            deadline: Some(&is_late),
            now_ticks: self.now_ticks(),
            position_bytes_max: continuation::position_bytes(request.continuation_bytes_max),
        };
        if !request.enable_scan {
            query.bound.planner_input.check_index(container)?;
        }
        let planned = query
            .bound
            .planner_input
            .plan(view, container, request, tag)?;
        let mut plan = planned.plan;
        let functions = match query.bound.program.functions_used() {
            [] => None,
            names => Some(self.open_functions(container, names, &request.budget.share)?),
        };
        let functions = functions
            .as_ref()
            .map(|functions| functions as &dyn UserFunctions);
        // The page may be fed several times, so the construction is repeatable.
        let feeder = |resume| page.feeder(&planned.definition, functions, resume, page_limits);
        let mut run = feeder(resume.clone())?;
        // The reason of an interrupted page is kept in `schedule`; the program only reports that it
        // stopped.
        let cause = |failure: Failure| schedule.refusal().unwrap_or(failure);
        let mut searched = QueryWork::none(false, spent.factor);
        if query.bound.program.reads_documents() {
            let fed = run.feed(&plan);
            run.report_work(spent);
            if fed.map_err(cause)?.is_err() {
                plan = AccessPlan::scan();
                run = feeder(resume.clone())?;
                // An index entry could not stand in for its document, so the page begins again as a
                // scan. A scan reads whole documents and never needs this step.
                let fed = run.feed(&plan);
                run.report_work(spent);
                let _ = fed.map_err(cause)?;
            }
            if run.page.seeks_position()
                && let Some(range) = range_of_relatives(container, &request.scope)?
            {
                run.report_work(&mut searched);
                let resume = resume.zip(tag);
                let key =
                    self.find_position_key(page, functions, resume.clone(), range, &mut searched);
                if let (Some(key), Some((resume, _))) = (key.map_err(cause)?, resume) {
                    run = feeder(Some(resume))?;
                    run.page.complete_position(&key);
                    let fed = run.feed(&plan);
                    run.report_work(spent);
                    let _ = fed.map_err(cause)?;
                }
            }
        }
        let (finished, work) = run.finish().map_err(cause)?;
        let report = request.wants_report.then(|| QueryReport {
            total_time: schedule.elapsed() + query.compile_time,
            compile_time: query.compile_time,
            plan_time: planned.took,
            usage: planned.usage.clone(),
            ..QueryReport::new(&plan, &work, &finished.work)
        });
        // An ordered access delivers rows in order, so only a sort in the program costs extra.
        let is_sorted_here = query.bound.planner_input.is_sorted() && !plan.access.is_ordered();
        spent.bytes_output = usize::try_from(finished.work.row_bytes).unwrap_or(usize::MAX);
        spent.steps = finished.work.steps;
        spent.function_calls = finished.work.calls;
        spent.rows_sorted = if is_sorted_here { work.documents } else { 0 };
        *spent = spent.with_search(searched);
        // Only stored-key order tells which partitions a page has visited.
        let is_in_key_order = plan.tag == AccessTag::KEY_ORDER && query.is_stream();
        let to = finished
            .continuation
            .as_ref()
            .and_then(Continuation::scan_position);
        let visited_range = is_in_key_order.then(|| VisitedRange {
            from,
            to: to.map(<[u8]>::to_vec),
        });
        Ok(PageRows {
            visited: visited_range,
            items: finished.rows.into_iter().map(row_text).collect(),
            continuation: finished
                .continuation
                .map(|resume| write_continuation(owner, plan.tag, &resume)),
            report,
        })
    }
}

/// Reads a page of the read feed; also returns the sizes of its items.
fn items_page(
    container: &Container,
    request: &FeedRequest,
    view: &View,
) -> Result<(PageRows, Vec<usize>), Failure> {
    let owner = u64::from(container.rid.id());
    let start = request.continuation.as_deref();
    let start = start
        .map(|token| continuation::read(owner, token))
        .transpose()?;
    let (mut items, mut item_bytes, mut bytes_output) = (Vec::new(), Vec::new(), 0);
    let next = view.documents(start.as_deref(), &mut |scanned| {
        let bytes = scanned.item.text_bytes();
        let full = bytes_output + bytes > limits::RESPONSE_PAGE_BYTES_MAX;
        // The first item always fits, or a page could end without progress.
        if items.len() >= request.items_max || (full && !items.is_empty()) {
            return Visit::Full;
        }
        bytes_output += bytes;
        item_bytes.push(bytes);
        items.push(scanned.item.text());
        Visit::Taken
    })?;
    let visited_range = VisitedRange {
        from: start,
        to: next.as_ref().map(|key_position| key_position.to_vec()),
    };
    let rows = PageRows {
        items,
        visited: Some(visited_range),
        continuation: next.map(|key_position| continuation::write(owner, &key_position)),
        report: None,
    };
    Ok((rows, item_bytes))
}

/// The inputs of one page of a query.
#[derive(Clone, Copy)]
struct QueryContext<'a> {
    container: &'a Arc<Container>,
    request: &'a FeedRequest,
    view: &'a View,
    query: &'a CompiledQuery,
    schedule: &'a PageSchedule<'a>,
}

impl<'a> QueryContext<'a> {
    /// A feeder of one page of the query over its view.
    fn feeder<'b>(
        &self,
        definition: &'b IndexDefinition,
        functions: Option<&'b dyn UserFunctions>,
        resume: Option<Continuation>,
        page_limits: PageLimits<'b>,
    ) -> Result<RowFeeder<'b, 'b>, Failure>
    where
        'a: 'b,
    {
        let program = &self.query.bound.program;
        let page = match functions {
            Some(functions) => program.page_with_functions(resume, page_limits, functions),
            None => program.page(resume, page_limits),
        };
        Ok(RowFeeder {
            program,
            page: page
                .map_err(|error| exec_failure(&error))?
                .borrowing(&self.request.budget.share),
            view: self.view,
            definition,
            schedule: self.schedule,
            patience: self.request.budget.patience,
            work: AccessWork::default(),
            entries_seen: 0,
            is_timed: self.request.wants_report,
            only_indexed: self
                .query
                .bound
                .planner_input
                .sees_only_indexed(self.container, self.request),
        })
    }
}

/// The rows of one page with its continuation.
pub(crate) struct PageRows {
    pub(crate) items: Vec<Bytes>,
    pub(crate) continuation: Option<String>,
    report: Option<QueryReport>,
    /// The visited keys; absent if the rows may have come from the whole scope.
    visited: Option<VisitedRange>,
}

/// The range of stored keys that a page has visited. An absent bound is the bound of the scope.
struct VisitedRange {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

/// Selects the partition LSNs of a scope that one page has visited.
fn visited_partitions(
    container: &Container,
    partition_lsns: Vec<PartitionLsn>,
    visited_range: Option<VisitedRange>,
) -> Vec<PartitionLsn> {
    let Some(VisitedRange { from, to }) = visited_range.filter(|_| partition_lsns.len() > 1) else {
        return partition_lsns;
    };
    let index = |key_position: &[u8]| {
        let range = container.partition_at(key_position).id;
        partition_lsns
            .iter()
            .position(|partition_lsn| partition_lsn.range == range)
    };
    let first = from.as_deref().and_then(index).unwrap_or(0);
    let last = to
        .as_deref()
        .and_then(index)
        .unwrap_or(partition_lsns.len() - 1);
    match partition_lsns.get(first..=last) {
        Some(some) if !some.is_empty() => some.to_vec(),
        _ => partition_lsns,
    }
}

/// Adds the start cost of each further partition to the first page.
fn charge_of_pages(work: QueryWork, partitions: usize) -> Charge {
    let further = if work.is_first_page {
        partitions.saturating_sub(1)
    } else {
        0
    };
    let start = Charge::query_page(QueryWork::none(true, work.factor));
    (0..further).fold(Charge::query_page(work), |sum, _| sum + start)
}

/// The range of the partitions that come from the same ancestors as those of a scope, if that range
/// is wider than the scope. A page of one of these ancestors may have ended at a row anywhere in the
/// range.
fn range_of_relatives(
    container: &Container,
    scope: &FeedScope,
) -> Result<Option<EpkRange>, Failure> {
    let (FeedScope::Range(..) | FeedScope::Epk(_)) = scope else {
        return Ok(None);
    };
    let (_, epk) = scan_range(container, scope)?;
    let lineage = |partition: &Partition| {
        let ids = partition.ancestors.iter().copied();
        ids.chain([partition.id]).collect::<Vec<_>>()
    };
    let within = container.partitions.iter();
    let within = within.filter(|partition| partition.range.overlaps(&epk));
    let known: Vec<RangeId> = within.flat_map(|partition| lineage(partition)).collect();
    let is_related =
        |partition: &&Arc<Partition>| lineage(partition).iter().any(|id| known.contains(id));
    let related = || container.partitions.iter().filter(is_related);
    let (Some(first), Some(last)) = (related().next(), related().next_back()) else {
        return Ok(None);
    };
    let range = EpkRange::new(first.range.min.clone(), last.range.max.clone());
    Ok((range != epk).then_some(range))
}

/// The range of stored keys of a scope, and its range of effective partition keys.
pub(crate) fn scan_range(
    container: &Container,
    scope: &FeedScope,
) -> Result<(ScanRange, EpkRange), Failure> {
    let definition = container.definition.key();
    let by_epk = |epk: EpkRange| (ScanRange::of_epk_range(container, &epk), epk);
    match scope {
        FeedScope::Container => Ok(by_epk(EpkRange::full())),
        FeedScope::Key(key) => {
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
        FeedScope::KeyPrefix(key, part) => {
            let range = ScanRange::of_first_levels(container, part, key);
            Ok((range, part.clone()))
        }
        FeedScope::Range(id, part) => {
            let partition = container
                .partition(*id)
                .ok_or(Failure::Gone(GoneKind::PartitionKeyRange))?;
            match part {
                None => Ok(by_epk(partition.range.clone())),
                Some(part) if part.is_subset(&partition.range) => Ok(by_epk(part.clone())),
                Some(_) => Err(Failure::Gone(GoneKind::PartitionKeyRange)),
            }
        }
        FeedScope::Epk(range) => Ok(by_epk(range.clone())),
    }
}
