//! Every published limit, with its unit in its name.

pub const ITEM_BYTES_MAX: usize = 2 * 1024 * 1024;
pub const REQUEST_BYTES_MAX: usize = 2 * 1024 * 1024;
pub const RESPONSE_PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
pub const ITEM_ID_BYTES_MAX: usize = 1023;
/// The most distinct paths of an item in an index, and the most index entries of an item. Writing
/// the entries of one item delays the writes of every other client. Cosmos DB has no such limits.
pub const ITEM_INDEXED_PATHS_MAX: usize = 10_000;
pub const ITEM_INDEX_ENTRIES_MAX: usize = 200_000;
pub const RESOURCE_ID_CHARS_MAX: usize = 255;
pub const NESTING_LEVELS_MAX: usize = 128;
pub const BATCH_OPERATIONS_MAX: usize = 100;
pub const PATCH_OPERATIONS_MAX: usize = 10;
pub const PARTITION_KEY_PATHS_MAX: usize = 3;
pub const UNIQUE_KEYS_MAX: usize = 10;
pub const UNIQUE_KEY_PATHS_MAX: usize = 16;
pub const INDEX_PATHS_MAX: usize = 1_500;
pub const COMPOSITE_PROPERTIES_MAX: usize = 8;
pub const COMPOSITE_PATHS_MAX: usize = 100;
pub const COMPUTED_PROPERTIES_MAX: usize = 20;
pub const SHARED_DATABASE_CONTAINERS_MAX: usize = 25;
pub const STORED_PROCEDURES_MAX: usize = 100;
pub const TRIGGERS_MAX: usize = 25;
pub const FUNCTIONS_MAX: usize = 50;
pub const QUERY_TEXT_CHARS_MAX: usize = 256 * 1024;
pub const TTL_SECONDS_MAX: i64 = i32::MAX as i64;
pub const PAGE_ITEMS_DEFAULT: usize = 100;
pub const EXECUTION_SECONDS_MAX: u64 = 5;
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 15 * 60;
pub const RESOURCE_TOKEN_SECONDS_DEFAULT: u64 = 3_600;
pub const RESOURCE_TOKEN_SECONDS_MIN: u64 = 10;
pub const RESOURCE_TOKEN_SECONDS_MAX: u64 = 24 * 3_600;

/// Throughput limits, in request units a second.
pub const MANUAL_RUS_MIN: u32 = 400;
pub const MANUAL_RUS_STEP: u32 = 100;
pub const AUTOSCALE_RUS_MIN: u32 = 1_000;
pub const AUTOSCALE_RUS_STEP: u32 = 1_000;
pub const THROUGHPUT_RUS_MAX: u32 = 1_000_000;
/// The throughput up to which a new container has one physical partition.
pub const PARTITION_RUS_MAX: u32 = 10_000;
/// Above that limit a new container has one physical partition for each of these request units.
pub const PARTITION_RUS_PLANNED: u32 = 6_000;
/// The throughput of a physical partition of a serverless account.
pub const SERVERLESS_PARTITION_RUS: u32 = 5_000;
/// The throughput of catalogue reads, in the whole account.
pub const METADATA_RUS: u32 = 240;
/// The throughput that a physical partition can reach with saved throughput.
pub const BURST_RUS_MAX: u32 = 3_000;
/// The seconds of unused throughput that a partition can save.
pub const BURST_SECONDS_MAX: u64 = 300;
/// The throughput that a single partition can be given. The part above [`PARTITION_RUS_MAX`] waits
/// for a split.
pub const PARTITION_SHARE_RUS_MIN: u32 = 100;
pub const PARTITION_SHARE_RUS_MAX: u32 = 20_000;
/// The throughput buckets of a container have numbers from 1 to this.
pub const THROUGHPUT_BUCKETS_MAX: u8 = 5;
/// How long throughput buckets cannot be changed after a change.
pub const THROUGHPUT_BUCKETS_SECONDS_MIN: u64 = 10 * 60;

const _: () = assert!(ITEM_BYTES_MAX <= REQUEST_BYTES_MAX);
const _: () = assert!(REQUEST_BYTES_MAX <= RESPONSE_PAGE_BYTES_MAX);
const _: () = assert!(RESOURCE_TOKEN_SECONDS_DEFAULT <= RESOURCE_TOKEN_SECONDS_MAX);
