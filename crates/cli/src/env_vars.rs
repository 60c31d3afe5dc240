//! The environment variables that the server reads. The shell reads further variables
//! (`shell/src/paths.rs`).

/// TOML file with further settings, as `--config`.
pub(crate) const CONFIG: &str = "ORRERY_CONFIG";
/// Address and port, as `--listen`.
pub(crate) const LISTEN: &str = "ORRERY_LISTEN";
/// Address for clients, as `--advertise`.
pub(crate) const ADVERTISE: &str = "ORRERY_ADVERTISE";
/// `off` to refuse clients in direct mode, as `--direct`.
pub(crate) const DIRECT: &str = "ORRERY_DIRECT";
/// Address and port for clients in direct mode, as `--direct-listen`.
pub(crate) const DIRECT_LISTEN: &str = "ORRERY_DIRECT_LISTEN";
/// Certificate, as `--tls`.
pub(crate) const TLS: &str = "ORRERY_TLS";
/// Data directory, as `--data`.
pub(crate) const DATA: &str = "ORRERY_DATA";
/// `true` for a server in memory, as `--memory`.
pub(crate) const MEMORY: &str = "ORRERY_MEMORY";
/// Primary key, as `--key`; `orrery explain` and the shell sign with it. Unlike the flag it does not show in the
/// list of processes.
pub(crate) const KEY: &str = "ORRERY_KEY";
/// Secondary key, as `--secondary-key`.
pub(crate) const SECONDARY_KEY: &str = "ORRERY_SECONDARY_KEY";
/// Primary key for reading, as `--read-only-key`.
pub(crate) const READ_ONLY_KEY: &str = "ORRERY_READ_ONLY_KEY";
/// Secondary key for reading, as `--secondary-read-only-key`.
pub(crate) const SECONDARY_READ_ONLY_KEY: &str = "ORRERY_SECONDARY_READ_ONLY_KEY";
/// File with the keys, as `--key-file`.
pub(crate) const KEY_FILE: &str = "ORRERY_KEY_FILE";
/// `true` to serve the well-known key on any address, as `--allow-well-known-key`.
pub(crate) const ALLOW_WELL_KNOWN_KEY: &str = "ORRERY_ALLOW_WELL_KNOWN_KEY";
/// When writes are answered, as `--durability`.
pub(crate) const DURABILITY: &str = "ORRERY_DURABILITY";
/// Memory for data read from disk, as `--cache`.
pub(crate) const CACHE: &str = "ORRERY_CACHE";
/// Memory for requests and answers, as `--memory-for-requests`.
pub(crate) const MEMORY_FOR_REQUESTS: &str = "ORRERY_MEMORY_FOR_REQUESTS";
/// Connections of clients, as `--connections`.
pub(crate) const CONNECTIONS: &str = "ORRERY_CONNECTIONS";
/// Time for headers, as `--header-time`.
pub(crate) const HEADER_TIME: &str = "ORRERY_HEADER_TIME";
/// Time for bodies and answers to move on, as `--stall-time`.
pub(crate) const STALL_TIME: &str = "ORRERY_STALL_TIME";
/// Time of idle connections, as `--idle-time`.
pub(crate) const IDLE_TIME: &str = "ORRERY_IDLE_TIME";
/// Time of a request, as `--request-time`.
pub(crate) const REQUEST_TIME: &str = "ORRERY_REQUEST_TIME";
/// Names of a server on a loopback address as `--allowed-host`, with commas between them.
pub(crate) const ALLOWED_HOST: &str = "ORRERY_ALLOWED_HOST";
/// `true` for HSTS, as `--hsts`.
pub(crate) const HSTS: &str = "ORRERY_HSTS";
/// Who must carry out query plans, as `--query-plans`.
pub(crate) const QUERY_PLANS: &str = "ORRERY_QUERY_PLANS";
/// Room on the disk that is kept free, as `--disk-reserve`.
pub(crate) const DISK_RESERVE: &str = "ORRERY_DISK_RESERVE";
/// How fast stored data is read to find damage, as `--scrub`.
pub(crate) const SCRUB: &str = "ORRERY_SCRUB";
/// Whether throughput is enforced, as `--throughput`.
pub(crate) const THROUGHPUT: &str = "ORRERY_THROUGHPUT";
/// `true` for an account without provisioned throughput, as `--serverless`.
pub(crate) const SERVERLESS: &str = "ORRERY_SERVERLESS";
/// `true` to save unused throughput, as `--burst-capacity`.
pub(crate) const BURST_CAPACITY: &str = "ORRERY_BURST_CAPACITY";
/// Size of a physical partition, as `--partition-size`.
pub(crate) const PARTITION_SIZE: &str = "ORRERY_PARTITION_SIZE";
/// Throughput of a physical partition, as `--partition-throughput`.
pub(crate) const PARTITION_THROUGHPUT: &str = "ORRERY_PARTITION_THROUGHPUT";
/// Size of a logical partition, as `--logical-partition-size`.
pub(crate) const LOGICAL_PARTITION_SIZE: &str = "ORRERY_LOGICAL_PARTITION_SIZE";
/// Threads for scripts, as `--script-threads`.
pub(crate) const SCRIPT_THREADS: &str = "ORRERY_SCRIPT_THREADS";
/// Time of a script, as `--script-time`.
pub(crate) const SCRIPT_TIME: &str = "ORRERY_SCRIPT_TIME";
/// Steps of a script, as `--script-steps`.
pub(crate) const SCRIPT_STEPS: &str = "ORRERY_SCRIPT_STEPS";
/// Memory of a script, as `--script-heap`.
pub(crate) const SCRIPT_HEAP: &str = "ORRERY_SCRIPT_HEAP";
/// Stack of a script, as `--script-stack`.
pub(crate) const SCRIPT_STACK: &str = "ORRERY_SCRIPT_STACK";
/// Memory of one value of a script, as `--script-value`.
pub(crate) const SCRIPT_VALUE: &str = "ORRERY_SCRIPT_VALUE";
/// Answer of a script, as `--script-response`.
pub(crate) const SCRIPT_RESPONSE: &str = "ORRERY_SCRIPT_RESPONSE";
/// Log of a script, as `--script-log`.
pub(crate) const SCRIPT_LOG: &str = "ORRERY_SCRIPT_LOG";
/// Data to load at the start, as `--seed`.
pub(crate) const SEED: &str = "ORRERY_SEED";
/// Consistency of the account, as `--consistency`.
pub(crate) const CONSISTENCY: &str = "ORRERY_CONSISTENCY";
/// Versions of bounded staleness, as `--bounded-versions`.
pub(crate) const BOUNDED_VERSIONS: &str = "ORRERY_BOUNDED_VERSIONS";
/// Seconds of bounded staleness, as `--bounded-seconds`.
pub(crate) const BOUNDED_SECONDS: &str = "ORRERY_BOUNDED_SECONDS";
/// Regions as `--region`, with semicolons between them.
pub(crate) const REGION: &str = "ORRERY_REGION";
/// Address of the whole account, as `--account-listen`.
pub(crate) const ACCOUNT_LISTEN: &str = "ORRERY_ACCOUNT_LISTEN";
/// Regions of other processes as `--peer`, with semicolons between them.
pub(crate) const PEER: &str = "ORRERY_PEER";
/// Address for other regions, as `--peer-listen`.
pub(crate) const PEER_LISTEN: &str = "ORRERY_PEER_LISTEN";
/// Certificate for other regions, as `--peer-identity`.
pub(crate) const PEER_IDENTITY: &str = "ORRERY_PEER_IDENTITY";
/// `true` for a region that does not found the account, as `--join`.
pub(crate) const JOIN: &str = "ORRERY_JOIN";
/// `true` to take writes in every region, as `--multi-write`.
pub(crate) const MULTI_WRITE: &str = "ORRERY_MULTI_WRITE";
/// `true` to fail over single partitions, as `--per-partition-failover`.
pub(crate) const PER_PARTITION_FAILOVER: &str = "ORRERY_PER_PARTITION_FAILOVER";
/// Who chooses another write region, as `--service-managed-failover`.
pub(crate) const SERVICE_MANAGED_FAILOVER: &str = "ORRERY_SERVICE_MANAGED_FAILOVER";
/// Records kept for regions that are away, as `--region-backlog`.
pub(crate) const REGION_BACKLOG: &str = "ORRERY_REGION_BACKLOG";
/// Address for operators, as `--management`.
pub(crate) const MANAGEMENT: &str = "ORRERY_MANAGEMENT";
/// File with the key of operators, as `--management-key-file`; `orrery region` reads it too.
pub(crate) const MANAGEMENT_KEY_FILE: &str = "ORRERY_MANAGEMENT_KEY_FILE";
/// The key of operators, for `orrery region`.
pub(crate) const MANAGEMENT_KEY: &str = "ORRERY_MANAGEMENT_KEY";
/// Where the server hears operators, for `orrery region`.
pub(crate) const MANAGEMENT_URL: &str = "ORRERY_MANAGEMENT_URL";
/// What to log, as `--log`.
pub(crate) const LOG: &str = "ORRERY_LOG";
/// `true` for a line of JSON at the start, as `--ready-json`.
pub(crate) const READY_JSON: &str = "ORRERY_READY_JSON";

/// Any value but the empty one turns colours off (<https://no-color.org>).
pub(crate) const NO_COLOR: &str = "NO_COLOR";
