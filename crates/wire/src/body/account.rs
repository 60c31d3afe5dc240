//! The account document, which every client reads first.

use orrery_model::{ConsistencyLevel, limits};

use super::{ObjectWriter, array_of};

/// The content of the account document.
#[derive(Debug, Clone, Copy)]
pub struct AccountDescription<'r> {
    /// The id of the account. It is not `localhost`: with that id the JavaScript SDK reads this
    /// document before every request.
    pub id: &'r str,
    /// The regions that take writes, the hub first.
    pub writable: &'r [RegionLocation<'r>],
    /// The regions that answer reads, in order of failover.
    pub readable: &'r [RegionLocation<'r>],
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// Whether clients look for another region for the writes of a single partition.
    pub per_partition_failover: bool,
    pub consistency: ConsistencyLevel,
    /// The staleness bound, which the document contains at bounded staleness.
    pub staleness: Staleness,
}

/// How far a region may be behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    pub versions: u64,
    pub seconds: u64,
}

/// A region, as clients address it.
#[derive(Debug, Clone, Copy)]
pub struct RegionLocation<'r> {
    pub name: &'r str,
    /// The base URL under which clients reach the region, with or without the slash at its end.
    pub endpoint: &'r str,
}

/// A partition has one replica, so that a client in direct mode reads it with one request at every
/// consistency level.
const REPLICATION: &[u8] =
    br#"{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":1}"#;
const SYSTEM_REPLICATION: &[u8] = br#"{"minReplicaSetSize":1,"maxReplicasetSize":1}"#;
const READ_POLICY: &[u8] = br#"{"primaryReadCoefficient":1,"secondaryReadCoefficient":1}"#;

impl AccountDescription<'_> {
    /// The body of `GET /`.
    pub fn to_body(&self) -> Vec<u8> {
        let locations = |regions: &[RegionLocation<'_>]| {
            array_of(regions.iter().copied().map(RegionLocation::to_json))
        };
        ObjectWriter::new()
            .text("_self", "")
            .text("id", self.id)
            .text("_rid", self.id)
            .text("media", "//media/")
            .text("addresses", "//addresses/")
            .text("_dbs", "//dbs/")
            .raw("writableLocations", &locations(self.writable))
            .raw("readableLocations", &locations(self.readable))
            .literal("enableMultipleWriteLocations", self.multi_write)
            .literal("continuousBackupEnabled", false)
            .literal("enableNRegionSynchronousCommit", false)
            .literal(
                "enablePerPartitionFailoverBehavior",
                self.per_partition_failover,
            )
            .literal("disableCrossRegionalHedging", false)
            .raw("userReplicationPolicy", REPLICATION)
            .raw(
                "userConsistencyPolicy",
                &consistency_policy(self.consistency, self.staleness),
            )
            .raw("systemReplicationPolicy", SYSTEM_REPLICATION)
            .raw("readPolicy", READ_POLICY)
            .text("queryEngineConfiguration", &query_engine_configuration())
            .finish()
    }
}

impl RegionLocation<'_> {
    fn to_json(self) -> Vec<u8> {
        // SDKs append paths to this URL, so it always ends in one slash.
        let endpoint = format!("{}/", self.endpoint.trim_end_matches('/'));
        ObjectWriter::new()
            .text("name", self.name)
            .text("databaseAccountEndpoint", &endpoint)
            .finish()
    }
}

fn consistency_policy(level: ConsistencyLevel, staleness: Staleness) -> Vec<u8> {
    let policy = ObjectWriter::new().text("defaultConsistencyLevel", level.name());
    match level {
        ConsistencyLevel::BoundedStaleness => policy
            .literal("maxStalenessPrefix", staleness.versions)
            .literal("maxIntervalInSeconds", staleness.seconds)
            .finish(),
        // Only bounded staleness has bounds; other levels have none in their answer.
        _ => policy.finish(),
    }
}

/// A JSON text inside a JSON string, which the .NET SDK passes to its query engine.
fn query_engine_configuration() -> String {
    let configuration = ObjectWriter::new()
        .literal("maxSqlQueryInputLength", limits::QUERY_TEXT_CHARS_MAX)
        .literal("maxJoinsPerSqlQuery", 10)
        .literal("maxLogicalAndPerSqlQuery", 2_000)
        .literal("maxLogicalOrPerSqlQuery", 2_000)
        .literal("maxUdfRefPerSqlQuery", 10)
        .literal("maxInExpressionItemsCount", 16_000)
        .literal("queryMaxInMemorySortDocumentCount", 500)
        .literal("maxQueryRequestTimeoutFraction", 0.9)
        .literal("sqlAllowNonFiniteNumbers", false)
        .literal("sqlAllowAggregateFunctions", true)
        .literal("sqlAllowSubQuery", true)
        .literal("sqlAllowScalarSubQuery", true)
        .literal("allowNewKeywords", true)
        .literal("sqlAllowLike", true)
        .literal("sqlAllowGroupByClause", true)
        .literal("maxSpatialQueryCells", 12)
        .literal("spatialMaxGeometryPointCount", 256)
        .literal("sqlAllowTop", true)
        .literal("enableSpatialIndexing", true)
        .finish();
    String::from_utf8_lossy(&configuration).into_owned()
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;

    use super::*;

    const ACCOUNT: AccountDescription<'_> = AccountDescription {
        id: "orrery",
        writable: &[],
        readable: &[],
        multi_write: false,
        per_partition_failover: false,
        consistency: ConsistencyLevel::Session,
        staleness: Staleness {
            versions: 100_000,
            seconds: 300,
        },
    };

    fn document(account: &AccountDescription<'_>) -> orrery_json::Value {
        parse(&account.to_body()).unwrap()
    }

    #[test]
    fn regions_are_listed_in_their_order() {
        let [west, north] = ["West US", "North Europe"].map(|name| RegionLocation {
            name,
            endpoint: "https://h",
        });
        let (west_first, north_only) = ([west, north], [north]);
        let west_text = r#"{"name":"West US","databaseAccountEndpoint":"https://h/"}"#;
        let north_text = r#"{"name":"North Europe","databaseAccountEndpoint":"https://h/"}"#;
        let both = format!("[{west_text},{north_text}]");
        let one = format!("[{north_text}]");
        for (multi_write, writable, expected) in
            [(true, &west_first[..], &both), (false, &north_only, &one)]
        {
            let document = document(&AccountDescription {
                writable,
                readable: &west_first,
                multi_write,
                ..ACCOUNT
            });
            let text = |name: &str| document.get(name).to_string();
            assert_eq!(text("writableLocations"), *expected);
            assert_eq!(text("readableLocations"), both);
            assert_eq!(
                text("enableMultipleWriteLocations"),
                multi_write.to_string()
            );
        }
    }

    #[test]
    fn the_bound_is_told_where_there_is_one() {
        for (consistency, expected) in [
            (
                ConsistencyLevel::BoundedStaleness,
                r#"{"defaultConsistencyLevel":"BoundedStaleness","maxStalenessPrefix":100000,"maxIntervalInSeconds":300}"#,
            ),
            (
                ConsistencyLevel::Strong,
                r#"{"defaultConsistencyLevel":"Strong"}"#,
            ),
        ] {
            let document = document(&AccountDescription {
                consistency,
                ..ACCOUNT
            });
            let policy = document.get("userConsistencyPolicy").to_string();
            assert_eq!(policy, expected);
        }
    }

    #[test]
    fn endpoints_end_in_a_slash_and_the_configuration_is_json() {
        for endpoint in ["http://127.0.0.1:8081", "http://127.0.0.1:8081/"] {
            let regions = [RegionLocation {
                name: "Local",
                endpoint,
            }];
            let document = document(&AccountDescription {
                writable: &regions,
                readable: &regions,
                ..ACCOUNT
            });
            for locations in ["writableLocations", "readableLocations"] {
                let location = document.get(locations).at(0);
                assert_eq!(
                    location.to_string(),
                    r#"{"name":"Local","databaseAccountEndpoint":"http://127.0.0.1:8081/"}"#
                );
            }
            let policy = document.get("userConsistencyPolicy");
            assert_eq!(
                policy.to_string(),
                r#"{"defaultConsistencyLevel":"Session"}"#
            );
            let configuration = document.get("queryEngineConfiguration").as_str().unwrap();
            let configuration = parse(configuration.as_bytes()).unwrap();
            assert_eq!(
                configuration.get("maxSqlQueryInputLength").to_string(),
                "262144"
            );
            assert_eq!(configuration.as_object().unwrap().len(), 19);
        }
    }
}
