//! Partition keys and scopes that an authority covers. Only this module makes these values; the
//! other modules of the server receive them.

use orrery_engine::{CompiledQuery, Container, FeedScope};
use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{Failure, GoneKind, RangeId};
use orrery_wire::{Grant, Selection, token_forbidden};

const CROSS_PARTITION_DISABLED: &str = "Cross partition query is required but disabled. Please set \
     x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise \
     your query to avoid this exception.";

/// A partition key that the sender of the request may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizedKey(pub(super) PartitionKey);

/// The items that the sender of the request may read.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizedScope(pub(super) FeedScope);

/// What a scope makes of a physical partition that a split or a merge has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormerRanges {
    /// Status 410 makes the client read the list of partitions again and query the child
    /// partitions.
    Gone,
    /// The scope is the key range that the partition had.
    Answered,
}

impl FormerRanges {
    /// The key range of a physical partition, or the key range that it had.
    fn bounds(self, container: &Container, id: RangeId) -> Option<&EpkRange> {
        match container.partition(id) {
            Some(partition) => Some(&partition.range),
            None if self == FormerRanges::Answered => container.former_range(id),
            None => None,
        }
    }
}

impl AuthorizedKey {
    pub(crate) fn is(&self, other: &PartitionKey) -> bool {
        self.0 == *other
    }

    pub(crate) fn scope(&self) -> AuthorizedScope {
        AuthorizedScope(FeedScope::Key(self.0.clone()))
    }
}

impl AuthorizedScope {
    /// Whether neither the headers nor the filter of a query select a part of the container.
    pub(crate) fn is_whole_container(&self) -> bool {
        matches!(self.0, FeedScope::Container)
    }
}

/// Makes the value for a partition key that the grant covers.
pub(super) fn authorize_key(
    grant: Option<&Grant>,
    key: PartitionKey,
) -> Result<AuthorizedKey, Failure> {
    if grant.is_none_or(|grant| grant.covers_key(&key)) {
        Ok(AuthorizedKey(key))
    } else {
        Err(token_forbidden("is for another partition key"))
    }
}

/// The scope of a feed or a query: the items that the headers select and that the token grants.
pub(super) fn authorize_scope(
    grant: Option<&Grant>,
    selection: &Selection<'_>,
    container: &Container,
    query: Option<&CompiledQuery>,
    enable_cross_partition: bool,
    former: FormerRanges,
) -> Result<AuthorizedScope, Failure> {
    // Feeds do not check resource ids, so a token for single items cannot read them.
    if grant.is_some_and(|grant| grant.items().is_some()) {
        return Err(token_forbidden(
            "covers single items, which are read by their ids",
        ));
    }
    let granted = grant.and_then(|grant| Some((grant, grant.partition_key.as_ref()?)));
    let scope = match granted {
        Some((grant, key)) => scope_within(grant, key, selection, container, query, former)?,
        None => selected_scope(selection, container, query, enable_cross_partition, former)?,
    };
    Ok(AuthorizedScope(scope))
}

/// The items that the headers select. Without such headers the items of the partition key that the
/// filter of the query names, or else the whole container.
fn selected_scope(
    selection: &Selection<'_>,
    container: &Container,
    query: Option<&CompiledQuery>,
    enable_cross_partition: bool,
    former: FormerRanges,
) -> Result<FeedScope, Failure> {
    // If the headers have a range of effective partition keys too, the range decides.
    let epk = selection.epk_range()?;
    if let Some(key) = selection.partition_key()?
        && epk.is_none()
    {
        return Ok(FeedScope::Key(key));
    }
    match (selection.range()?, epk) {
        (Some(range), part) => match former.bounds(container, range) {
            Some(bounds) if container.partition(range).is_none() => {
                let epk = part.map_or(Some(bounds.clone()), |part| bounds.intersect(&part));
                let epk = epk.ok_or(Failure::Gone(GoneKind::PartitionKeyRange))?;
                Ok(FeedScope::Epk(epk))
            }
            _ => Ok(FeedScope::Range(range, part)),
        },
        (None, Some(range)) => Ok(FeedScope::Epk(range)),
        (None, None) => query.map_or(Ok(FeedScope::Container), |query| match query.pinned_key() {
            Some(key) => Ok(FeedScope::Key(key.clone())),
            // A query without FROM reads no items, so it needs no permission to cross partitions.
            None if enable_cross_partition || !query.reads_items() => Ok(FeedScope::Container),
            None => Err(Failure::bad_request(CROSS_PARTITION_DISABLED)),
        }),
    }
}

/// The counterpart of [`selected_scope`] for a grant with a partition key. The request must name
/// the granted key, a key whose first components are the granted key, or a range of effective
/// partition keys that lies within those of the granted key. If the request names a key and a
/// range, the scope is the intersection of both.
fn scope_within(
    grant: &Grant,
    granted: &PartitionKey,
    selection: &Selection<'_>,
    container: &Container,
    query: Option<&CompiledQuery>,
    former: FormerRanges,
) -> Result<FeedScope, Failure> {
    let definition = container.definition.key();
    let (range, epk) = (selection.range()?, selection.epk_range()?);
    let named = match selection.partition_key()? {
        None if range.is_none() && epk.is_none() => {
            query.and_then(CompiledQuery::pinned_key).cloned()
        }
        named => named,
    };
    // Without a named key only a range that lies within the granted key is allowed.
    let key = match (named, &epk) {
        (Some(key), _) => authorize_key(Some(grant), key)?.0,
        (None, Some(epk)) if epk.is_subset(&definition.prefix_range(granted)) => granted.clone(),
        (None, _) => {
            return Err(token_forbidden(
                "is for one partition key. Name it in x-ms-documentdb-partitionkey",
            ));
        }
    };
    let Some(epk) = epk else {
        return Ok(FeedScope::Key(key));
    };
    let both = definition.prefix_range(&key).intersect(&epk);
    let both = both.ok_or_else(|| {
        token_forbidden(
            "is for another partition key: the range of effective partition keys is outside of it",
        )
    })?;
    if definition.check_complete(&key).is_ok() {
        // Other partition keys may have the same effective partition key, so the scope is the
        // granted key itself and not a range of effective partition keys.
        return Ok(FeedScope::Key(key));
    }
    // A client that knows only the partitions before a split must refresh them, or the scope would
    // miss items.
    if let Some(range) = range {
        let bounds = former.bounds(container, range);
        let is_inside = bounds.is_some_and(|bounds| both.is_subset(bounds));
        if !is_inside {
            return Err(Failure::Gone(GoneKind::PartitionKeyRange));
        }
    }
    Ok(FeedScope::KeyPrefix(key, both))
}
