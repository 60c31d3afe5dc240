//! Pages of items: the read feed and queries, over any part of a container.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_exec::{Document, Finished, Flow, PageLimits};
use orrery_json::parse;
use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{Answer, Charge, ConsistencyLevel, Failure, GoneKind, RangeId, Stamp, limits};
use orrery_partition::{Container, Partition, ScanRange, Scanned, Visit};
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::query::{read_resume, row_text, stopped};
use crate::{CompiledQuery, Engine, continuation};

/// How long one page may take that has to look at every document of its scope.
const WHOLE_SCOPE_TIME_MAX: Duration = Duration::from_secs(60);

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
    pub query: Option<CompiledQuery>,
    pub items_max: usize,
    pub continuation: Option<String>,
    pub level: ConsistencyLevel,
}

#[derive(Debug)]
pub struct FeedPage {
    /// JSON texts in order.
    pub items: Vec<Bytes>,
    pub continuation: Option<String>,
    /// Every physical partition the page may have come from.
    pub stamps: Vec<Stamp>,
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
        // Scans may take seconds: they must not keep other requests from their thread.
        let page = spawn_blocking(move || engine.page(&container, &request)).await;
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

    fn page(&self, container: &Container, request: &FeedRequest) -> Answer<FeedPage> {
        match self.read_page(container, request) {
            Ok((page, charge)) => {
                let stamp = page.stamps.first().copied();
                Answer {
                    result: Ok(page),
                    charge,
                    stamp,
                }
            }
            Err(failure) => Answer::refused(failure),
        }
    }

    fn read_page(
        &self,
        container: &Container,
        request: &FeedRequest,
    ) -> Result<(FeedPage, Charge), Failure> {
        let (range, _) = scan_range(container, &request.scope)?;
        let partitions = Engine::partitions_of(container, &request.scope)?;
        let stamps = partitions
            .iter()
            .map(|partition| partition.stamp())
            .collect();
        let rows = match &request.query {
            None => self.items_page(container, request, range)?,
            Some(query) => self.query_page(container, request, range, query)?,
        };
        let charge = rows.charge(request, partitions.len());
        let page = FeedPage {
            items: rows.items,
            continuation: rows.continuation,
            stamps,
        };
        Ok((page, charge))
    }

    fn items_page(
        &self,
        container: &Container,
        request: &FeedRequest,
        mut range: ScanRange,
    ) -> Result<Rows, Failure> {
        let owner = u64::from(container.rid.id());
        if let Some(token) = &request.continuation {
            let place = continuation::read(owner, token)?;
            range = range.resume(&place).ok_or(Failure::InvalidContinuation)?;
        }
        let mut rows = Rows::default();
        let next = self
            .store
            .scan(container, &range, self.now_seconds(), &mut |scanned| {
                let bytes = scanned.item.text_bytes();
                let full = rows.bytes_output + bytes > limits::RESPONSE_PAGE_BYTES_MAX;
                if rows.items.len() >= request.items_max || (full && !rows.items.is_empty()) {
                    return Visit::Full;
                }
                rows.bytes_output += bytes;
                rows.item_bytes.push(bytes);
                rows.items.push(scanned.item.text());
                Visit::Taken
            })?;
        rows.continuation = next.map(|place| continuation::write(owner, &place));
        Ok(rows)
    }

    fn query_page(
        &self,
        container: &Container,
        request: &FeedRequest,
        mut range: ScanRange,
        query: &CompiledQuery,
    ) -> Result<Rows, Failure> {
        let owner = u64::from(container.rid.id()) ^ query.fingerprint;
        let resume = read_resume(owner, request.continuation.as_deref())?;
        let program = &query.program;
        let begun = Instant::now();
        let is_late = || begun.elapsed() >= WHOLE_SCOPE_TIME_MAX;
        let page_limits = PageLimits {
            items_max: request.items_max,
            bytes_max: limits::RESPONSE_PAGE_BYTES_MAX,
            deadline: Some(&is_late),
            now_ticks: self.now_ticks(),
        };
        let page = program.page(resume, page_limits);
        let mut page = page.map_err(|error| stopped(&error))?;
        if let Some(place) = page.start_place() {
            range = range.resume(place).ok_or(Failure::InvalidContinuation)?;
        }
        let mut failed = None;
        if program.reads_documents() {
            let page_time = Duration::from_secs(limits::EXECUTION_SECONDS_MAX);
            let mut loaded = 0_u64;
            self.store
                .scan(container, &range, self.now_seconds(), &mut |scanned| {
                    // A page of a stream may end anywhere; at least one document must be behind it.
                    let interruptible = !program.needs_whole_scope() && loaded > 0;
                    loaded += 1;
                    if interruptible
                        && u64::is_multiple_of(loaded, 64)
                        && begun.elapsed() >= page_time
                    {
                        page.interrupt(scanned.place);
                        return Visit::Full;
                    }
                    match push(&mut page, scanned) {
                        Ok(Flow::More) => Visit::Taken,
                        Ok(Flow::Full) => Visit::Full,
                        Err(failure) => {
                            failed = Some(failure);
                            Visit::Full
                        }
                    }
                })?;
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        let finished = page.finish().map_err(|error| stopped(&error))?;
        Ok(Rows::of_query(finished, owner))
    }
}

fn push(page: &mut orrery_exec::Page<'_>, scanned: Scanned<'_>) -> Result<Flow, Failure> {
    let text = scanned.item.text();
    let value = parse(&text)
        .map_err(|error| Failure::Internal(format!("a stored document does not parse: {error}")))?;
    let document = Document {
        value: &value,
        rid: scanned.item.rid_counter(),
        text: &text,
        place: scanned.place,
    };
    page.push(document).map_err(|error| stopped(&error))
}

/// What a page gives, and what it cost.
#[derive(Default)]
struct Rows {
    items: Vec<Bytes>,
    continuation: Option<String>,
    /// Of a read feed: the sizes of its items.
    item_bytes: Vec<usize>,
    bytes_loaded: usize,
    bytes_output: usize,
}

impl Rows {
    fn of_query(finished: Finished, owner: u64) -> Rows {
        Rows {
            items: finished.rows.into_iter().map(row_text).collect(),
            continuation: finished
                .resume
                .map(|resume| continuation::write(owner, &resume.encode())),
            item_bytes: Vec::new(),
            bytes_loaded: usize::try_from(finished.work.document_bytes).unwrap_or(usize::MAX),
            bytes_output: usize::try_from(finished.work.row_bytes).unwrap_or(usize::MAX),
        }
    }

    fn charge(&self, request: &FeedRequest, partitions: usize) -> Charge {
        let factor = request.level.read_factor();
        if request.query.is_none() {
            return Charge::feed_page(self.item_bytes.iter().copied(), factor);
        }
        let first_page = request.continuation.is_none();
        let work = Charge::query_page(self.bytes_loaded, self.bytes_output, first_page, factor);
        let further = if first_page {
            partitions.saturating_sub(1)
        } else {
            0
        };
        let starts = (0..further).map(|_| Charge::query_page(0, 0, true, factor));
        starts.fold(work, |sum, start| sum + start)
    }
}

/// The run of stored keys of a scope, and the effective partition keys it covers.
fn scan_range(container: &Container, scope: &Scope) -> Result<(ScanRange, EpkRange), Failure> {
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
