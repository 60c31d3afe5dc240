//! The account document, which every client reads first.

use orrery_model::{ConsistencyLevel, limits};

use super::{ObjectWriter, array_of};

/// What the account says of itself.
#[derive(Debug, Clone, Copy)]
pub struct AccountDescription<'r> {
    /// Not `localhost`: the JavaScript client then reads this document before every request.
    pub id: &'r str,
    /// In order of failover; the first takes the writes.
    pub regions: &'r [Region<'r>],
    pub consistency: ConsistencyLevel,
}

/// Where later requests go.
#[derive(Debug, Clone, Copy)]
pub struct Region<'r> {
    pub name: &'r str,
    /// Base URL as the client can reach it, with or without the slash at its end.
    pub endpoint: &'r str,
}

const REPLICATION: &[u8] =
    br#"{"asyncReplication":false,"minReplicaSetSize":3,"maxReplicasetSize":4}"#;
const SYSTEM_REPLICATION: &[u8] = br#"{"minReplicaSetSize":3,"maxReplicasetSize":4}"#;
const READ_POLICY: &[u8] = br#"{"primaryReadCoefficient":1,"secondaryReadCoefficient":1}"#;

impl AccountDescription<'_> {
    /// The body of `GET /`.
    pub fn to_body(&self) -> Vec<u8> {
        let readable = array_of(self.regions.iter().copied().map(Region::to_json));
        let writable = array_of(self.regions.iter().copied().take(1).map(Region::to_json));
        ObjectWriter::new()
            .text("_self", "")
            .text("id", self.id)
            .text("_rid", self.id)
            .text("media", "//media/")
            .text("addresses", "//addresses/")
            .text("_dbs", "//dbs/")
            .raw("writableLocations", &writable)
            .raw("readableLocations", &readable)
            .literal("enableMultipleWriteLocations", false)
            .literal("continuousBackupEnabled", false)
            .literal("enableNRegionSynchronousCommit", false)
            .literal("enablePerPartitionFailoverBehavior", false)
            .literal("disableCrossRegionalHedging", false)
            .raw("userReplicationPolicy", REPLICATION)
            .raw(
                "userConsistencyPolicy",
                &consistency_policy(self.consistency),
            )
            .raw("systemReplicationPolicy", SYSTEM_REPLICATION)
            .raw("readPolicy", READ_POLICY)
            .text("queryEngineConfiguration", &query_engine_configuration())
            .finish()
    }
}

impl Region<'_> {
    fn to_json(self) -> Vec<u8> {
        let endpoint = format!("{}/", self.endpoint.trim_end_matches('/'));
        ObjectWriter::new()
            .text("name", self.name)
            .text("databaseAccountEndpoint", &endpoint)
            .finish()
    }
}

fn consistency_policy(level: ConsistencyLevel) -> Vec<u8> {
    let policy = ObjectWriter::new().text("defaultConsistencyLevel", level.name());
    match level {
        ConsistencyLevel::BoundedStaleness => policy
            .literal("maxStalenessPrefix", 100)
            .literal("maxIntervalInSeconds", 5)
            .finish(),
        _ => policy.finish(),
    }
}

/// A JSON text inside a JSON string; the .NET client hands it to its query engine.
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

    #[test]
    fn endpoints_end_in_a_slash_and_the_configuration_is_json() {
        for endpoint in ["http://127.0.0.1:8081", "http://127.0.0.1:8081/"] {
            let regions = [Region {
                name: "Local",
                endpoint,
            }];
            let account = AccountDescription {
                id: "orrery",
                regions: &regions,
                consistency: ConsistencyLevel::Session,
            };
            let document = parse(&account.to_body()).unwrap();
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
