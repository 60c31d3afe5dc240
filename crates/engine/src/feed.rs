//! Pages of items: the read feed and queries, over any part of a container.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::PageLimits;
use orrery_index::AccessPlan;
use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{Answer, Charge, Failure, GoneKind, QueryWork, RangeId, Stamp, limits};
use orrery_partition::{Container, Partition, ScanRange, View, Visit};
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::query::{Feeder, Work, read_resume, row_text, stopped, write_resume};
use crate::{CompiledQuery, Engine, QueryReport, Terms, continuation};

/// How long one page may take that has to look at every document of its scope.
const WHOLE_SCOPE_TIME_MAX: Duration = Duration::from_mins(1);

/// Which items a page is taken from.
#[derive(Debug, Clone)]
pub enum Scope {
    Container,
    /// A logical partition, or by fewer components all that begin with them.
    Key(PartitionKey),
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
        let turn = match &request.query {
            Some(query) if !query.bound.program.functions_used().is_empty() => {
                let pages = Arc::clone(&self.function_pages);
                Some(pages.acquire_owned().await)
            }
            _ => None,
        };
        // Scans may take seconds: they must not keep other requests from their thread.
        let page = spawn_blocking(move || {
            let _turn = turn;
            engine.page(&container, &request)
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

    fn page(&self, container: &Arc<Container>, request: &FeedRequest) -> Answer<FeedPage> {
        let (scope, metering) = (&request.scope, request.terms.metering);
        self.metered_page(container, scope, metering, |partitions| {
            match self.read_page(container, partitions, request) {
                Ok((page, charge)) => Answer {
                    stamp: page.stamps.first().copied(),
                    result: Ok(page),
                    charge,
                },
                Err(failure) => Answer::refused(failure),
            }
        })
    }

    fn read_page(
        &self,
        container: &Arc<Container>,
        partitions: &[Arc<Partition>],
        request: &FeedRequest,
    ) -> Result<(FeedPage, Charge), Failure> {
        let (range, _) = scan_range(container, &request.scope)?;
        let stamps = partitions
            .iter()
            .map(|partition| partition.stamp())
            .collect();
        let view = self.store.view(container, &range, self.now_seconds());
        let rows = self.rows(container, request, &view, WHOLE_SCOPE_TIME_MAX)?;
        let charge = rows.charge(request, partitions.len());
        let page = FeedPage {
            items: rows.items,
            continuation: rows.continuation,
            stamps,
            report: rows.report,
        };
        Ok((page, charge))
    }

    /// The rows of a page over a view of its scope.
    pub(crate) fn rows(
        &self,
        container: &Container,
        request: &FeedRequest,
        view: &View,
        whole_scope_time_max: Duration,
    ) -> Result<Rows, Failure> {
        match &request.query {
            None => items_page(container, request, view),
            Some(query) => self.query_page(container, request, view, query, whole_scope_time_max),
        }
    }

    fn query_page(
        &self,
        container: &Container,
        request: &FeedRequest,
        view: &View,
        query: &CompiledQuery,
        whole_scope_time_max: Duration,
    ) -> Result<Rows, Failure> {
        let begun = Instant::now();
        let owner = query.owner(container);
        let resume = read_resume(owner, request.continuation.as_deref())?;
        let (tag, resume) = resume.map_or((None, None), |(tag, resume)| (Some(tag), Some(resume)));
        let is_late = || begun.elapsed() >= whole_scope_time_max;
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
                page: page.map_err(|error| stopped(&error))?,
                view,
                definition: &planned.definition,
                begun,
                work: Work::default(),
                is_timed: request.wants_report,
            })
        };
        let mut run = feeder(resume.clone())?;
        if query.bound.program.reads_documents() && run.feed(&plan)?.is_err() {
            plan = AccessPlan::scan();
            run = feeder(resume)?;
            // Documents stand for themselves.
            let _ = run.feed(&plan)?;
        }
        let (finished, work) = run.finish()?;
        let report = request.wants_report.then(|| QueryReport {
            total_time: begun.elapsed() + query.compile_time,
            compile_time: query.compile_time,
            plan_time: planned.took,
            usage: planned.usage.clone(),
            ..QueryReport::new(&plan, &work, &finished.work)
        });
        let is_sorted_here = query.bound.profile.is_sorted() && !plan.access.is_ordered();
        Ok(Rows {
            work: QueryWork {
                bytes_loaded: to_usize(finished.work.document_bytes),
                bytes_output: to_usize(finished.work.row_bytes),
                seeks: work.seeks,
                entries_walked: work.entries,
                entries_instead: work.entries_instead,
                rows_sorted: if is_sorted_here { work.documents } else { 0 },
                function_calls: finished.work.calls,
                ..QueryWork::none(
                    request.continuation.is_none(),
                    request.terms.level.read_factor(),
                )
            },
            items: finished.rows.into_iter().map(row_text).collect(),
            continuation: finished
                .resume
                .map(|resume| write_resume(owner, plan.tag, &resume)),
            item_bytes: Vec::new(),
            report,
        })
    }
}

fn items_page(container: &Container, request: &FeedRequest, view: &View) -> Result<Rows, Failure> {
    let owner = u64::from(container.rid.id());
    let start = request.continuation.as_deref();
    let start = start
        .map(|token| continuation::read(owner, token))
        .transpose()?;
    let mut rows = Rows::new(request);
    let next = view.documents(start.as_deref(), &mut |scanned| {
        let bytes = scanned.item.text_bytes();
        let full = rows.work.bytes_output + bytes > limits::RESPONSE_PAGE_BYTES_MAX;
        if rows.items.len() >= request.items_max || (full && !rows.items.is_empty()) {
            return Visit::Full;
        }
        rows.work.bytes_output += bytes;
        rows.item_bytes.push(bytes);
        rows.items.push(scanned.item.text());
        Visit::Taken
    })?;
    rows.continuation = next.map(|place| continuation::write(owner, &place));
    Ok(rows)
}

/// What a page gives, and what it cost.
pub(crate) struct Rows {
    pub(crate) items: Vec<Bytes>,
    pub(crate) continuation: Option<String>,
    /// Of a read feed: the sizes of its items.
    item_bytes: Vec<usize>,
    work: QueryWork,
    report: Option<QueryReport>,
}

impl Rows {
    fn new(request: &FeedRequest) -> Rows {
        let factor = request.terms.level.read_factor();
        Rows {
            items: Vec::new(),
            continuation: None,
            item_bytes: Vec::new(),
            work: QueryWork::none(request.continuation.is_none(), factor),
            report: None,
        }
    }

    pub(crate) fn charge(&self, request: &FeedRequest, partitions: usize) -> Charge {
        let QueryWork {
            is_first_page,
            factor,
            ..
        } = self.work;
        if request.query.is_none() {
            return Charge::feed_page(self.item_bytes.iter().copied(), factor);
        }
        let further = if is_first_page {
            partitions.saturating_sub(1)
        } else {
            0
        };
        let start = Charge::query_page(QueryWork::none(true, factor));
        (0..further).fold(Charge::query_page(self.work), |sum, _| sum + start)
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
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
            Ok(by_epk(epk))
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
