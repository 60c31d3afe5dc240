//! Container bodies: the definition of the client, followed by the properties of the server.

use orrery_json::Value;
use orrery_keys::ContainerRid;
use orrery_model::{Etag, RangeId};

use super::{ObjectWriter, array_of};

/// The properties of a container that clients cannot set.
#[derive(Debug, Clone, Copy)]
pub struct ContainerSystem<'r> {
    pub rid: ContainerRid,
    pub etag: &'r Etag,
    pub modified_seconds: u64,
}

/// The size of one physical partition, for clients that ask for statistics.
#[derive(Debug, Clone, Copy)]
pub struct RangeStatistics {
    pub range: RangeId,
    pub kilobytes: u64,
    pub documents: u64,
}

/// The link of a container by resource ids.
pub fn container_self_link(rid: ContainerRid) -> String {
    format!("dbs/{}/colls/{rid}/", rid.database())
}

/// The body of a container. `definition` is the output of
/// [`ContainerDefinition::to_value`](orrery_model::ContainerDefinition::to_value).
pub fn container_body(
    definition: &Value,
    system: ContainerSystem<'_>,
    statistics: Option<&[RangeStatistics]>,
) -> Vec<u8> {
    let body = ObjectWriter::of(definition)
        .display("_rid", system.rid)
        .literal("_ts", system.modified_seconds)
        .text("_self", &container_self_link(system.rid))
        .text("_etag", system.etag.as_str())
        .text("_docs", "docs/")
        .text("_sprocs", "sprocs/")
        .text("_triggers", "triggers/")
        .text("_udfs", "udfs/")
        .text("_conflicts", "conflicts/");
    match statistics {
        Some(ranges) => body
            .raw("statistics", &array_of(ranges.iter().map(statistics_json)))
            .finish(),
        None => body.finish(),
    }
}

/// The statistics of one physical partition.
fn statistics_json(range: &RangeStatistics) -> Vec<u8> {
    ObjectWriter::new()
        .display("id", range.range)
        .literal("sizeInKB", range.kilobytes)
        .literal("documentCount", range.documents)
        .raw("partitionKeys", b"[]")
        .finish()
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;
    use orrery_keys::DatabaseRid;
    use orrery_model::ContainerDefinition;

    use super::*;

    #[test]
    fn container_bodies() {
        let text = br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        let definition = ContainerDefinition::parse(&parse(text).unwrap()).unwrap();
        let definition = definition.to_value();
        let rid = ContainerRid::new(DatabaseRid::new(1), 1);
        let etag = Etag::of_write(0, 1, 0, 2);
        let system = ContainerSystem {
            rid,
            etag: &etag,
            modified_seconds: 7,
        };
        let ranges = [RangeStatistics {
            range: RangeId(0),
            kilobytes: 1,
            documents: 2,
        }];
        let body = parse(&container_body(&definition, system, Some(&ranges))).unwrap();
        let names: Vec<&str> = body
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = [
            "id",
            "partitionKey",
            "indexingPolicy",
            "uniqueKeyPolicy",
            "conflictResolutionPolicy",
            "geospatialConfig",
            "_rid",
            "_ts",
            "_self",
            "_etag",
            "_docs",
            "_sprocs",
            "_triggers",
            "_udfs",
            "_conflicts",
            "statistics",
        ];
        assert_eq!(names, expected);
        let link = format!("dbs/{}/colls/{rid}/", DatabaseRid::new(1));
        assert_eq!(body.get("_self").as_str(), Some(link.as_str()));
        assert_eq!(
            body.get("statistics").to_string(),
            r#"[{"id":"0","sizeInKB":1,"documentCount":2,"partitionKeys":[]}]"#
        );
    }
}
