//! Header names, in lower case, as they are compared.

pub const A_IM: &str = "a-im";
pub const ACTIVITY_ID: &str = "x-ms-activity-id";
pub const ALT_CONTENT_PATH: &str = "x-ms-alt-content-path";
pub const AUTHORIZATION: &str = "authorization";
pub const BATCH_ATOMIC: &str = "x-ms-cosmos-batch-atomic";
pub const BATCH_CONTINUE_ON_ERROR: &str = "x-ms-cosmos-batch-continue-on-error";
pub const BATCH_ORDERED: &str = "x-ms-cosmos-batch-ordered";
/// Orrery's own: the sender is a page in a browser. Browsers repeat a request with status 408 by
/// themselves.
pub const BROWSER: &str = "x-orrery-browser";
pub const CHANGE_FEED_WIRE_FORMAT: &str = "x-ms-cosmos-changefeed-wire-format-version";
pub const CONSISTENCY_LEVEL: &str = "x-ms-consistency-level";
pub const CONTENT_LOCATION: &str = "content-location";
pub const CONTENT_PATH: &str = "x-ms-content-path";
pub const CONTENT_TYPE: &str = "content-type";
pub const CONTINUATION: &str = "x-ms-continuation";
pub const CONTINUATION_LIMIT_KB: &str = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
pub const DATE: &str = "date";
pub const ENABLE_CROSS_PARTITION: &str = "x-ms-documentdb-query-enablecrosspartition";
pub const ENABLE_SCAN: &str = "x-ms-documentdb-query-enable-scan";
pub const END_EPK: &str = "x-ms-end-epk";
pub const ETAG: &str = "etag";
pub const EXCLUDE_SYSTEM_PROPERTIES: &str = "x-ms-exclude-system-properties";
pub const EXPIRY_SECONDS: &str = "x-ms-documentdb-expiry-seconds";
/// Orrery's own: the client requests the plan of its query.
pub const EXPLAIN: &str = "x-orrery-explain";
/// Orrery's own: the client requests all rows of a query from the server, even if it could carry
/// out a plan.
pub const WHOLE_QUERY: &str = "x-orrery-whole-query";
pub const GATEWAY_VERSION: &str = "x-ms-gatewayversion";
pub const GLOBAL_COMMITTED_LSN: &str = "x-ms-global-committed-lsn";
pub const HUB_REGION_ONLY: &str = "x-ms-cosmos-hub-region-processing-only";
pub const IF_MATCH: &str = "if-match";
pub const IF_MODIFIED_SINCE: &str = "if-modified-since";
pub const IF_NONE_MATCH: &str = "if-none-match";
pub const INDEX_METRICS: &str = "x-ms-cosmos-populateindexmetrics";
pub const INDEX_METRICS_V2: &str = "x-ms-cosmos-populateindexmetrics-v2";
pub const INDEX_TRANSFORMATION_PROGRESS: &str =
    "x-ms-documentdb-collection-index-transformation-progress";
pub const INDEX_UTILIZATION: &str = "x-ms-cosmos-index-utilization";
pub const INDEXING_DIRECTIVE: &str = "x-ms-indexing-directive";
pub const INTENDED_COLLECTION_RID: &str = "x-ms-cosmos-intended-collection-rid";
pub const INTERNAL_PARTITION_ID: &str = "x-ms-cosmos-internal-partition-id";
pub const IS_BATCH: &str = "x-ms-cosmos-is-batch-request";
pub const IS_QUERY: &str = "x-ms-documentdb-isquery";
pub const IS_QUERY_GO: &str = "x-ms-documentdb-query";
pub const IS_QUERY_PLAN: &str = "x-ms-cosmos-is-query-plan-request";
pub const IS_UPSERT: &str = "x-ms-documentdb-is-upsert";
pub const ITEM_COUNT: &str = "x-ms-item-count";
pub const ITEM_LLSN: &str = "x-ms-cosmos-item-llsn";
pub const ITEM_LSN: &str = "x-ms-item-lsn";
pub const LAST_STATE_CHANGE: &str = "x-ms-last-state-change-utc";
pub const LLSN: &str = "x-ms-cosmos-llsn";
pub const LSN: &str = "lsn";
pub const MAX_ITEM_COUNT: &str = "x-ms-max-item-count";
pub const MAX_MEDIA_STORAGE_USAGE_MB: &str = "x-ms-max-media-storage-usage-mb";
pub const MEDIA_STORAGE_USAGE_MB: &str = "x-ms-media-storage-usage-mb";
pub const MIGRATE_TO_AUTOSCALE: &str = "x-ms-cosmos-migrate-offer-to-autopilot";
pub const MIGRATE_TO_MANUAL: &str = "x-ms-cosmos-migrate-offer-to-manual-throughput";
pub const MIN_THROUGHPUT: &str = "x-ms-cosmos-min-throughput";
pub const NUMBER_OF_READ_REGIONS: &str = "x-ms-number-of-read-regions";
pub const OFFER_AUTOSCALE: &str = "x-ms-cosmos-offer-autopilot-settings";
pub const OFFER_REPLACE_PENDING: &str = "x-ms-offer-replace-pending";
pub const OFFER_THROUGHPUT: &str = "x-ms-offer-throughput";
pub const OPTIMISTIC_DIRECT_EXECUTE: &str = "x-ms-cosmos-query-optimisticdirectexecute";
pub const PARALLELIZE_CROSS_PARTITION: &str =
    "x-ms-documentdb-query-parallelizecrosspartitionquery";
pub const PARTITION_KEY: &str = "x-ms-documentdb-partitionkey";
pub const PARTITION_KEY_RANGE_ID: &str = "x-ms-documentdb-partitionkeyrangeid";
pub const POPULATE_QUERY_METRICS: &str = "x-ms-documentdb-populatequerymetrics";
pub const POPULATE_QUOTA: &str = "x-ms-documentdb-populatequotainfo";
pub const POPULATE_STATISTICS: &str = "x-ms-documentdb-populatepartitionstatistics";
pub const POST_TRIGGER_INCLUDE: &str = "x-ms-documentdb-post-trigger-include";
pub const PRE_TRIGGER_INCLUDE: &str = "x-ms-documentdb-pre-trigger-include";
pub const PREFER: &str = "prefer";
pub const PRIORITY_LEVEL: &str = "x-ms-cosmos-priority-level";
pub const QUERY_EXECUTION_INFO: &str = "x-ms-cosmos-query-execution-info";
pub const QUERY_METRICS: &str = "x-ms-documentdb-query-metrics";
/// Orrery's own: the answer to [`EXPLAIN`].
pub const QUERY_PLAN: &str = "x-orrery-query-plan";
pub const QUERY_REQUIRES_DISTRIBUTION: &str = "x-ms-cosmos-query-requiresdistribution";
pub const QUERY_VERSION: &str = "x-ms-cosmos-query-version";
pub const QUORUM_ACKED_LLSN: &str = "x-ms-cosmos-quorum-acked-llsn";
pub const QUORUM_ACKED_LSN: &str = "x-ms-quorum-acked-lsn";
pub const READ_CONSISTENCY_STRATEGY: &str = "x-ms-cosmos-read-consistency-strategy";
pub const READ_KEY_TYPE: &str = "x-ms-read-key-type";
pub const REQUEST_CHARGE: &str = "x-ms-request-charge";
pub const REQUEST_DURATION_MS: &str = "x-ms-request-duration-ms";
pub const RESOURCE_QUOTA: &str = "x-ms-resource-quota";
pub const RESOURCE_USAGE: &str = "x-ms-resource-usage";
pub const RETRY_AFTER_MS: &str = "x-ms-retry-after-ms";
pub const SCHEMA_VERSION: &str = "x-ms-schemaversion";
pub const SCRIPT_ENABLE_LOGGING: &str = "x-ms-documentdb-script-enable-logging";
pub const SCRIPT_LOG_RESULTS: &str = "x-ms-documentdb-script-log-results";
pub const SERVER: &str = "server";
pub const SERVICE_VERSION: &str = "x-ms-serviceversion";
pub const SESSION_TOKEN: &str = "x-ms-session-token";
pub const SHARE_THROUGHPUT: &str = "x-ms-share-throughput";
pub const START_EPK: &str = "x-ms-start-epk";
/// Orrery's own: the status that a request with [`BROWSER`] would have received without that
/// header.
pub const STATUS: &str = "x-orrery-status";
pub const STRICT_TRANSPORT_SECURITY: &str = "strict-transport-security";
pub const SUBSTATUS: &str = "x-ms-substatus";
pub const SUPPORTED_QUERY_FEATURES: &str = "x-ms-cosmos-supported-query-features";
pub const THROUGHPUT_BUCKET: &str = "x-ms-cosmos-throughput-bucket";
pub const TRANSPORT_REQUEST_ID: &str = "x-ms-transport-request-id";
pub const VERSION: &str = "x-ms-version";
pub const WWW_AUTHENTICATE: &str = "www-authenticate";
pub const X_MS_DATE: &str = "x-ms-date";
