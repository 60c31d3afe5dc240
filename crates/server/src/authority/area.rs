//! Partition keys and scopes that an authority covers. Only this module makes them; the other
//! modules of the server receive them as values.

use orrery_engine::{CompiledQuery, Container, Scope};
use orrery_keys::PartitionKey;
use orrery_model::{Failure, GoneKind};
use orrery_wire::{Grant, Selection, refused};

const CROSS_PARTITION_DISABLED: &str = "Cross partition query is required but disabled. Please set \
     x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise \
     your query to avoid this exception.";

/// A partition key that the sender of the request may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(pub(super) PartitionKey);

/// Items that the sender of the request may read.
#[derive(Debug, Clone)]
pub(crate) struct Area(pub(super) Scope);

impl Key {
    pub(crate) fn is(&self, other: &PartitionKey) -> bool {
        self.0 == *other
    }

    pub(crate) fn area(&self) -> Area {
        Area(Scope::Key(self.0.clone()))
    }
}

pub(super) fn covered_key(grant: Option<&Grant>, key: PartitionKey) -> Result<Key, Failure> {
    if grant.is_none_or(|grant| grant.covers_key(&key)) {
        Ok(Key(key))
    } else {
        Err(refused("is for another partition key"))
    }
}

/// What a feed or a query reads: what its headers select, and under a token no more than was granted.
pub(super) fn covered_area(
    grant: Option<&Grant>,
    selection: &Selection<'_>,
    container: &Container,
    query: Option<&CompiledQuery>,
    enable_cross_partition: bool,
) -> Result<Area, Failure> {
    if grant.is_some_and(|grant| grant.items().is_some()) {
        return Err(refused("covers single items, which are read by their ids"));
    }
    let granted = grant.and_then(|grant| Some((grant, grant.partition_key.as_ref()?)));
    let scope = match granted {
        Some((grant, key)) => scope_within(grant, key, selection, container, query)?,
        None => selected_scope(selection, query, enable_cross_partition)?,
    };
    Ok(Area(scope))
}

/// The items that the headers select; without such headers the items with the partition key that
/// the filter of the query names, or else the whole container.
fn selected_scope(
    selection: &Selection<'_>,
    query: Option<&CompiledQuery>,
    enable_cross_partition: bool,
) -> Result<Scope, Failure> {
    let epk = selection.epk_range()?;
    if let Some(key) = selection.partition_key()?
        && epk.is_none()
    {
        return Ok(Scope::Key(key));
    }
    match (selection.range()?, epk) {
        (Some(range), part) => Ok(Scope::Range(range, part)),
        (None, Some(range)) => Ok(Scope::Epk(range)),
        (None, None) => query.map_or(Ok(Scope::Container), |query| match query.pinned_key() {
            Some(key) => Ok(Scope::Key(key.clone())),
            None if enable_cross_partition => Ok(Scope::Container),
            None => Err(Failure::bad_request(CROSS_PARTITION_DISABLED)),
        }),
    }
}

/// The counterpart of [`selected_scope`] for a grant with a partition key. The request must name
/// the granted key, a key whose first components are the granted key, or a range of effective
/// partition keys that lies within those of the granted key. If the request names a key and a
/// range, the scope is what both have in common.
fn scope_within(
    grant: &Grant,
    granted: &PartitionKey,
    selection: &Selection<'_>,
    container: &Container,
    query: Option<&CompiledQuery>,
) -> Result<Scope, Failure> {
    let definition = container.definition.key();
    let (range, epk) = (selection.range()?, selection.epk_range()?);
    let named = match selection.partition_key()? {
        None if range.is_none() && epk.is_none() => {
            query.and_then(CompiledQuery::pinned_key).cloned()
        }
        named => named,
    };
    let key = match (named, &epk) {
        (Some(key), _) => covered_key(Some(grant), key)?.0,
        (None, Some(epk)) if epk.is_subset(&definition.prefix_range(granted)) => granted.clone(),
        (None, _) => {
            return Err(refused(
                "is for one partition key. Name it in x-ms-documentdb-partitionkey",
            ));
        }
    };
    let Some(epk) = epk else {
        return Ok(Scope::Key(key));
    };
    let both = definition.prefix_range(&key).intersect(&epk);
    let both = both.ok_or_else(|| {
        refused(
            "is for another partition key: the range of effective partition keys is outside of it",
        )
    })?;
    if definition.check_complete(&key).is_ok() {
        // Other partition keys may have the same effective partition key, so the scope is the
        // granted key itself and not a range of effective partition keys.
        return Ok(Scope::Key(key));
    }
    if let Some(range) = range {
        let partition = container.partition(range);
        let is_inside = partition.is_some_and(|partition| both.is_subset(&partition.range));
        if !is_inside {
            return Err(Failure::Gone(GoneKind::PartitionKeyRange));
        }
    }
    Ok(Scope::FirstLevels(key, both))
}
