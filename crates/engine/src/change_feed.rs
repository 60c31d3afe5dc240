//! Pages of the change feed, over a whole container or a part of it.

use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::EpkRange;
use orrery_memory::{Loan, LoanError};
use orrery_model::{Charge, ChargedResult, Failure, Lsn, PartitionLsn, limits};
use orrery_partition::{
    ChangeMode, ChangeReader, Container, ItemChange, Partition, ScanRange, Visit,
};
use tokio::task::spawn_blocking;

use crate::change_feed_position::{ChangeFeedPosition, ChangeOrder};
use crate::engine::stopping_failure;
use crate::feed::scan_range;
use crate::{Engine, FeedScope, ReplicationRole, RequestBudget, out_of_memory};

#[derive(Debug, Clone)]
pub struct ChangeFeedRequest {
    pub scope: FeedScope,
    pub mode: ChangeMode,
    pub start: ChangeFeedStart,
    /// Skips changes up to and including this second.
    pub since_seconds: Option<u64>,
    pub items_max: usize,
    pub budget: RequestBudget,
}

/// Position at which a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeFeedStart {
    Beginning,
    Now,
    /// The position that an earlier page returned.
    After(String),
}

#[derive(Debug)]
pub struct ChangeFeedPage {
    pub changes: Vec<ItemChange>,
    /// The position at which the next page begins.
    pub position: String,
    /// The physical partitions that contributed to the page, at least one. The page ended in the
    /// last of these partitions.
    pub partition_lsns: Vec<PartitionLsn>,
    /// Memory borrowed for the changes of the page.
    pub loan: Loan,
}

impl Engine {
    /// Reads one page of changes. A page ends at its item count or at 4 MB, but never between
    /// changes of one transaction.
    pub async fn changes(
        self: &Arc<Self>,
        container: &Arc<Container>,
        request: ChangeFeedRequest,
    ) -> ChargedResult<ChangeFeedPage> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        // A page may read from disk, so it runs outside of the asynchronous worker threads.
        let page = spawn_blocking(move || engine.changes_page(&container, &request)).await;
        page.unwrap_or_else(|_| ChargedResult::refused(stopping_failure()))
    }

    /// A change feed position that covers all partitions, in the text form of
    /// [`ChangeFeedPage::position`].
    pub fn change_position(&self, lsn: Lsn) -> String {
        ChangeFeedPosition::One(lsn).write(self.order())
    }

    /// The change order of this region. An account with one write region has a single, unnamed
    /// order.
    fn order(&self) -> Option<ChangeOrder> {
        let region = self.region()?;
        Some(ChangeOrder {
            region,
            copied: self.copied_from(),
        })
    }

    /// Reads and meters a page on a blocking thread.
    fn changes_page(
        &self,
        container: &Arc<Container>,
        request: &ChangeFeedRequest,
    ) -> ChargedResult<ChangeFeedPage> {
        let RequestBudget {
            level, metering, ..
        } = request.budget;
        self.metered_page(container, &request.scope, metering, |partitions| match self
            .read_changes(container, partitions, request)
        {
            Ok(page) => {
                let bytes = page.changes.iter().map(text_bytes);
                ChargedResult {
                    charge: Charge::feed_page(bytes, level.read_factor()),
                    partition_lsn: page.partition_lsns.last().copied(),
                    result: Ok(page),
                }
            }
            Err(failure) => ChargedResult::refused(failure),
        })
    }

    /// Reads the parts of all partitions in key order into one page.
    fn read_changes(
        &self,
        container: &Arc<Container>,
        partitions: &[Arc<Partition>],
        request: &ChangeFeedRequest,
    ) -> Result<ChangeFeedPage, Failure> {
        if request.mode == ChangeMode::AllVersionsAndDeletes {
            check_all_versions(container, request)?;
        }
        let (_, epk) = scan_range(container, &request.scope)?;
        let known = match &request.start {
            ChangeFeedStart::After(position) => ChangeFeedPosition::parse(self.order(), position)?,
            _ => ChangeFeedPosition::One(Lsn(0)),
        };
        let reader = self.store.changes(container);
        let mut page = ChangePageBuilder {
            request,
            changes: Vec::new(),
            bytes: 0,
            is_full: false,
            loan: request.budget.share.loan(),
            refused: None,
        };
        let mut reached = Vec::with_capacity(partitions.len());
        let mut partition_lsns = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let Some(part) = partition.range.intersect(&epk) else {
                // This partition lies outside of the requested scope.
                continue;
            };
            // Partitions behind the page's end still need a position, or the next page would skip
            // them. They contribute no session LSN.
            let is_reached = !page.is_full;
            for (part, after) in known.within(&part) {
                let start = self.start_of(&reader, partition, request, after)?;
                // A start at `Now` returns no changes; the page only records the present position.
                let lsn = if page.is_full || request.start == ChangeFeedStart::Now {
                    start
                } else {
                    page.read(&reader, container, partition, &part, start)?
                };
                if let Some(refused) = page.refused {
                    return Err(out_of_memory(refused));
                }
                reached.push((part, lsn));
            }
            if is_reached {
                partition_lsns.push(PartitionLsn {
                    range: partition.id,
                    lsn: reader.lsn(partition)?,
                });
            }
        }
        Ok(ChangeFeedPage {
            changes: page.changes,
            position: ChangeFeedPosition::of(reached).write(self.order()),
            partition_lsns,
            loan: page.loan,
        })
    }

    /// The LSN behind which one partition is read.
    fn start_of(
        &self,
        reader: &ChangeReader,
        partition: &Partition,
        request: &ChangeFeedRequest,
        after: Lsn,
    ) -> Result<Lsn, Failure> {
        let now = || reader.lsn(partition);
        let start = match (&request.start, request.since_seconds) {
            (ChangeFeedStart::Now, _) => now()?,
            (ChangeFeedStart::After(_), _) => {
                let now = now()?;
                if after > now && self.has_all_changes() {
                    return Err(position_ahead());
                }
                // A replica that lags clamps the position to its own LSN: the reader may see
                // changes twice and misses none.
                after.min(now)
            }
            (ChangeFeedStart::Beginning, Some(seconds)) => {
                let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
                reader.position_at(partition, seconds)?
            }
            (ChangeFeedStart::Beginning, None) => Lsn(0),
        };
        // History in front of this LSN is gone. A resumed reader would miss deletes and old
        // versions without a hint.
        if request.mode == ChangeMode::AllVersionsAndDeletes
            && start < reader.trimmed_upto(partition)?
        {
            return Err(Failure::bad_request(
                "The continuation is older than what is kept. You must read the change feed from within the retention \
                 period.",
            ));
        }
        Ok(start)
    }

    /// Whether this replica has every LSN that a client can have read. A follower or one region of
    /// a multi-write account may lag behind the region that the client read before.
    fn has_all_changes(&self) -> bool {
        self.role() == ReplicationRole::Writer && self.region().is_none()
    }
}

/// All versions and deletes are available only with a retention policy, and only from now or from a
/// continuation: earlier history is not complete.
fn check_all_versions(container: &Container, request: &ChangeFeedRequest) -> Result<(), Failure> {
    if !container.keeps_history() {
        return Err(Failure::bad_request(
            "The change feed of all versions and deletes needs a container with a retention: set \
             changeFeedPolicy.retentionDuration (minutes) in its definition.",
        ));
    }
    if request.since_seconds.is_some() || request.start == ChangeFeedStart::Beginning {
        return Err(Failure::bad_request(
            "The change feed of all versions and deletes can be read from now or from a continuation, not from the \
             beginning or from a time. You must read the change feed from within the retention period.",
        ));
    }
    Ok(())
}

/// Refuses a position ahead of the partition. A restart from the present would skip intermediate
/// changes.
fn position_ahead() -> Failure {
    Failure::bad_request(
        "The If-None-Match header is a continuation of the change feed that is ahead of the container. Leave it out \
         to begin anew.",
    )
}

/// Collects the changes of a page within its limits.
struct ChangePageBuilder<'r> {
    request: &'r ChangeFeedRequest,
    changes: Vec<ItemChange>,
    bytes: usize,
    is_full: bool,
    loan: Loan,
    /// The refused loan, if a transaction does not fit into the request memory.
    refused: Option<LoanError>,
}

impl ChangePageBuilder<'_> {
    /// Adds the changes of one partition that fit; returns the LSN at which the page ended.
    fn read(
        &mut self,
        reader: &ChangeReader,
        container: &Arc<Container>,
        partition: &Partition,
        part: &EpkRange,
        after: Lsn,
    ) -> Result<Lsn, Failure> {
        let request = self.request;
        let since = request.since_seconds.unwrap_or(0);
        let mut last = None;
        let mut visit = |change: ItemChange| {
            // A change that is too old still advances the position.
            if u64::from(change.seconds) <= since && request.since_seconds.is_some() {
                return Visit::Taken;
            }
            let bytes = text_bytes(&change);
            let is_full = self.changes.len() >= request.items_max
                || (self.bytes + bytes > limits::RESPONSE_PAGE_BYTES_MAX && self.bytes > 0);
            // A page may end only between transactions: the position cannot point into an LSN.
            if is_full && last != Some(change.lsn) {
                self.is_full = true;
                return Visit::Full;
            }
            let held = [&change.current, &change.previous].into_iter().flatten();
            if let Err(refused) = self.loan.grow(held.map(Bytes::len).sum()) {
                // Without memory for more, the page ends here, unless that would cut a transaction
                // in two.
                let may_end = !self.changes.is_empty() && last != Some(change.lsn);
                self.is_full = true;
                self.refused = (!may_end).then_some(refused);
                return Visit::Full;
            }
            last = Some(change.lsn);
            self.bytes += bytes;
            self.changes.push(change);
            Visit::Taken
        };
        // A single key has its own feed path, which reads only the changes of that logical
        // partition.
        if let (FeedScope::Key(key), ChangeMode::LatestVersion) = (&request.scope, request.mode)
            && container.definition.key().check_complete(key).is_ok()
        {
            let logical = container.logical_partition(key);
            return reader.changes_of_key(partition, &logical, after, &mut visit);
        }
        let scope = match &request.scope {
            FeedScope::Key(key) if container.definition.key().check_complete(key).is_ok() => {
                ScanRange::of_logical_partition(&container.logical_partition(key))
            }
            FeedScope::Key(key) | FeedScope::KeyPrefix(key, _) => {
                ScanRange::of_first_levels(container, part, key)
            }
            FeedScope::Container | FeedScope::Range(..) | FeedScope::Epk(_) => {
                ScanRange::of_epk_range(container, part)
            }
        };
        reader.changes(request.mode, partition, &scope, after, &mut visit)
    }
}

fn text_bytes(change: &ItemChange) -> usize {
    let text = change.current.as_ref().or(change.previous.as_ref());
    text.map_or(0, Bytes::len)
}
