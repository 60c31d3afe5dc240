//! Physical partitions, in the form for clients.

use orrery_keys::{EpkRange, PartitionKeyRangeRid};
use orrery_model::{Etag, Lsn, RangeId};

use super::{ObjectWriter, array_of, container_self_link};

/// The facts about one physical partition that SDKs need for routing.
#[derive(Debug, Clone, Copy)]
pub struct PartitionKeyRangeDescription<'r> {
    pub rid: PartitionKeyRangeRid,
    pub id: RangeId,
    pub range: &'r EpkRange,
    /// All ancestors, not only the parents: SDKs merge their cached ranges with the new ones.
    pub ancestors: &'r [RangeId],
    /// The fraction of the container's throughput.
    pub throughput_fraction: f64,
    pub etag: &'r Etag,
    pub modified_seconds: u64,
    pub lsn: Lsn,
}

/// The body of a physical partition.
pub fn partition_key_range_body(range: &PartitionKeyRangeDescription<'_>) -> Vec<u8> {
    let link = container_self_link(range.rid.container());
    let ancestors = array_of(
        range
            .ancestors
            .iter()
            .map(|id| format!("\"{id}\"").into_bytes()),
    );
    ObjectWriter::new()
        .display("_rid", range.rid)
        .display("id", range.id)
        .text("_etag", range.etag.as_str())
        .display("minInclusive", &range.range.min)
        .display("maxExclusive", &range.range.max)
        .literal("ridPrefix", range.id)
        .text("_self", &format!("{link}pkranges/{}/", range.rid))
        .literal("throughputFraction", range.throughput_fraction)
        .text("status", "online")
        .raw("parents", &ancestors)
        .raw("ownedArchivalPKRangeIds", b"[]")
        .literal("_ts", range.modified_seconds)
        .literal("_lsn", range.lsn)
        .literal("lsn", range.lsn)
        .finish()
}

#[cfg(test)]
mod tests {
    use orrery_keys::{ContainerRid, DatabaseRid};

    use super::*;

    #[test]
    fn range_bodies() {
        let database = DatabaseRid::new(1);
        let container = ContainerRid::new(database, 1);
        let rid = PartitionKeyRangeRid::new(container, 4);
        let etag = Etag::of_write(0, 1, 0, 2);
        let description = PartitionKeyRangeDescription {
            rid,
            id: RangeId(3),
            range: &EpkRange::full(),
            ancestors: &[RangeId(0), RangeId(1)],
            throughput_fraction: 0.5,
            etag: &etag,
            modified_seconds: 7,
            lsn: Lsn(9),
        };
        let expected = format!(
            r#"{{"_rid":"{rid}","id":"3","_etag":"\"00000000-0001-0000-0000-000000020000\"","minInclusive":"","maxExclusive":"FF","ridPrefix":3,"_self":"dbs/{database}/colls/{container}/pkranges/{rid}/","throughputFraction":0.5,"status":"online","parents":["0","1"],"ownedArchivalPKRangeIds":[],"_ts":7,"_lsn":9,"lsn":9}}"#
        );
        assert_eq!(
            String::from_utf8(partition_key_range_body(&description)).unwrap(),
            expected
        );
    }
}
