//! Pages of items: the read feed and queries, over any part of a container.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_json::{Value, parse, write_value};
use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{Answer, Charge, ConsistencyLevel, Failure, GoneKind, RangeId, Stamp, limits};
use orrery_partition::{Container, Partition, ScanRange, StoredItem, Visit};
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::{CompiledQuery, Engine, continuation};

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
        let (mut range, _) = scan_range(container, &request.scope)?;
        let number = container.rid.id();
        if let Some(token) = &request.continuation {
            let place = continuation::read(number, token)?;
            range = range.resume(&place).ok_or(Failure::InvalidContinuation)?;
        }
        let partitions = Engine::partitions_of(container, &request.scope)?;
        let stamps = partitions
            .iter()
            .map(|partition| partition.stamp())
            .collect();
        let mut page = Page::new(request);
        let mut failed = None;
        let next = self
            .store
            .scan(container, &range, self.now_seconds(), &mut |_, item| {
                page.take(item).unwrap_or_else(|failure| {
                    failed = Some(failure);
                    Visit::Full
                })
            })?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        let charge = page.charge(partitions.len());
        let continuation = next.map(|place| continuation::write(number, &place));
        Ok((
            FeedPage {
                items: page.items,
                continuation,
                stamps,
            },
            charge,
        ))
    }
}

/// A page while it fills.
struct Page<'a> {
    request: &'a FeedRequest,
    items: Vec<Bytes>,
    item_bytes: Vec<usize>,
    bytes_loaded: usize,
    bytes_output: usize,
    deadline: Instant,
}

impl<'a> Page<'a> {
    fn new(request: &'a FeedRequest) -> Page<'a> {
        Page {
            request,
            items: Vec::new(),
            item_bytes: Vec::new(),
            bytes_loaded: 0,
            bytes_output: 0,
            deadline: Instant::now() + Duration::from_secs(limits::EXECUTION_SECONDS_MAX),
        }
    }

    fn take(&mut self, item: &StoredItem) -> Result<Visit, Failure> {
        if self.items.len() >= self.request.items_max
            || (self.bytes_loaded > 0 && Instant::now() >= self.deadline)
        {
            return Ok(Visit::Full);
        }
        let row = match &self.request.query {
            None => Some(item.text()),
            Some(query) => row(query, item)?,
        };
        if let Some(row) = row {
            let bytes_after = self.bytes_output + row.len();
            if bytes_after > limits::RESPONSE_PAGE_BYTES_MAX && !self.items.is_empty() {
                return Ok(Visit::Full);
            }
            self.bytes_output = bytes_after;
            self.item_bytes.push(item.text_bytes());
            self.items.push(row);
        }
        self.bytes_loaded += item.text_bytes();
        Ok(Visit::Taken)
    }

    fn charge(&self, partitions: usize) -> Charge {
        let factor = self.request.level.read_factor();
        if self.request.query.is_none() {
            return Charge::feed_page(self.item_bytes.iter().copied(), factor);
        }
        let first_page = self.request.continuation.is_none();
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

fn row(query: &CompiledQuery, item: &StoredItem) -> Result<Option<Bytes>, Failure> {
    let text = item.text();
    let document: Value = parse(&text)
        .map_err(|error| Failure::Internal(format!("a stored document does not parse: {error}")))?;
    if query.selects_whole_document() {
        return Ok(query.matches(&document).then_some(text));
    }
    Ok(query.row(&document).map(|row| {
        let mut text = Vec::new();
        write_value(&row, &mut text);
        text.into()
    }))
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
