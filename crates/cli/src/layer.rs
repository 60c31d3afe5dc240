//! One source of settings: the flags, the environment, or the configuration file.
//!
//! All three sources have the same settings, so they share one type. This module decides nothing: a
//! source that does not name a setting leaves `None`, and [`crate::settings::resolve`] puts the
//! layers on top of each other.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use orrery_model::ConsistencyLevel;
use orrery_server::QueryPlans;
use serde::{Deserialize, Deserializer};

use crate::advertise::Advertise;
use crate::durability::DurabilitySetting;
use crate::keys::KeyText;
use crate::listen::Listen;
use crate::on_off::OnOff;
use crate::regions::{PeerSetting, RegionSetting};
use crate::size::Size;
use crate::tls::Tls;

// The help texts are also the table in docs/configuration.md.
#[expect(clippy::doc_markdown, reason = "the help texts, read on a terminal")]
#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Layer {
    /// Address and port to listen on; port 0 takes any free port [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) listen: Option<Listen>,

    /// Address of the server for clients, if it differs from --listen; "emulator" gives every client https://127.0.0.1:PORT/, as Microsoft's emulator does, so that SDKs tell its regions apart by host
    #[arg(long, value_name = "URL|emulator")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) advertise: Option<Advertise>,

    /// Let clients connect in direct mode (RNTBD over TLS), the default of the Java and .NET SDKs [default: on]
    #[arg(long, value_name = "on|off")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) direct: Option<OnOff>,

    /// Address and port for clients in direct mode; with regions each further region has the next port [default: any free port of --listen]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) direct_listen: Option<Listen>,

    /// TLS with a self-signed certificate (auto), with the given PEM files, or off [default: auto]
    #[arg(long, value_name = "auto|off|CERT,KEY")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) tls: Option<Tls>,

    /// Directory of the data; the server makes it if it is missing [default: ./orrery-data]
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub(crate) data: Option<PathBuf>,

    /// Store all data in memory, until the server stops [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) memory: Option<bool>,

    /// Primary key of the account, in base64 [default: the well-known key of the emulator]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<KeyText>,

    /// Secondary key
    #[arg(long, value_name = "KEY")]
    pub(crate) secondary_key: Option<KeyText>,

    /// Primary read-only key
    #[arg(long, value_name = "KEY")]
    pub(crate) read_only_key: Option<KeyText>,

    /// Secondary read-only key
    #[arg(long, value_name = "KEY")]
    pub(crate) secondary_read_only_key: Option<KeyText>,

    /// File with the keys; the server writes it with new keys if it is missing (not with --peer), and reads it again after a change
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["key", "secondary_key", "read_only_key", "secondary_read_only_key"]
    )]
    pub(crate) key_file: Option<PathBuf>,

    /// Accept the emulator's public key also on addresses that other machines reach, for instance in a container that only its host reaches [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) allow_well_known_key: Option<bool>,

    /// When writes reach the disk: before the answer (sync), every MS milliseconds
    /// (interval:MS), or when the operating system decides (none) [default: sync]
    #[arg(long, value_name = "sync|interval:MS|none")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) durability: Option<DurabilitySetting>,

    /// Memory for data read from disk, such as 256MB or 1GiB [default: an eighth of the memory, 4GiB at most]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) cache: Option<Size>,

    /// Memory of all requests and answers together; one client gets at most half of it [default: a quarter of the memory, 256MiB at least]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) memory_for_requests: Option<Size>,

    /// Client connections at one time; a further one replaces the connection that has been without a credential for longest [default: what the limit of open files leaves, 10000 at most]
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections: Option<NonZeroUsize>,

    /// Seconds for a client to connect, with TLS, and to send the headers of its first request; also for the headers of each later request [default: 20]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) header_time: Option<NonZeroU32>,

    /// Seconds after which the server drops a client that sends a body, or reads an answer, at less than 1 KiB a second [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) stall_time: Option<NonZeroU32>,

    /// Seconds that a connection with a valid credential may be idle; other connections get --header-time [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_time: Option<NonZeroU32>,

    /// Seconds for a whole request, its body included, until the server answers 408 [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) request_time: Option<NonZeroU32>,

    /// Host name that a server on a loopback address accepts, beside localhost, names without a dot, and the name of --advertise; once for each name
    #[arg(long, value_name = "NAME")]
    #[serde(rename = "allowed-hosts")]
    pub(crate) allowed_host: Option<Vec<String>>,

    /// Make browsers use only TLS for this host for a year (HSTS) [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) hsts: Option<bool>,

    /// Clients that get a refusal with the plan for a query over several partition keys whose rows need merging: SDKs that request plans (sdks), every client as in the service (everyone), or no client (nobody) [default: sdks]
    #[arg(long, value_name = "WHOM")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) query_plans: Option<QueryPlans>,

    /// Free bytes of the disk below which the server refuses writes [default: 256MiB, or a tenth of the disk if that is less]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) disk_reserve: Option<Size>,

    /// Bytes a second that the scrub reads in search of damaged data; 0 disables the scrub [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) scrub: Option<Size>,

    /// Refuse requests beyond the provisioned throughput (on), or accept all requests (off) [default: on]
    #[arg(long, value_name = "on|off")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) throughput: Option<OnOff>,

    /// Give each physical partition 5,000 RU/s, without provisioned throughput [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) serverless: Option<bool>,

    /// Save unused throughput of five minutes for bursts of up to 3,000 RU/s [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) burst_capacity: Option<bool>,

    /// Bytes of JSON at which a physical partition splits [default: 50GiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) partition_size: Option<Size>,

    /// Request units a second of one physical partition; a container with more throughput has more partitions [default: 10000]
    #[arg(long, value_name = "RUS")]
    pub(crate) partition_throughput: Option<NonZeroU32>,

    /// Bytes of JSON at which a logical partition is full [default: 20GiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) logical_partition_size: Option<Size>,

    /// Threads that run stored procedures and triggers [default: 2]
    #[arg(long, value_name = "COUNT")]
    pub(crate) script_threads: Option<NonZeroUsize>,

    /// Milliseconds of one run of a script; after four fifths of them the run can start no more operations [default: 5000]
    #[arg(long, value_name = "MS")]
    pub(crate) script_time: Option<NonZeroU32>,

    /// Jumps and calls of one run of a script, counted in ten thousands [default: 10000000000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) script_steps: Option<NonZeroU64>,

    /// Memory of one run of a script [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_heap: Option<Size>,

    /// Stack of one run of a script [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_stack: Option<Size>,

    /// Memory outside of the heap of one value on its way between a script and the database [default: 32MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_value: Option<Size>,

    /// Longest response body of a script [default: 4MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_response: Option<Size>,

    /// Longest log of one run of a script [default: 8KiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_log: Option<Size>,

    /// JSON file of databases, containers and items to load at the start (see docs/seed.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) seed: Option<PathBuf>,

    /// Consistency of the account: Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual [default: Session]
    #[arg(long, value_name = "LEVEL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) consistency: Option<ConsistencyLevel>,

    /// Versions by which a region may lag at bounded staleness [default: 100, or 100000 with --region]
    #[arg(long, value_name = "COUNT")]
    pub(crate) bounded_versions: Option<NonZeroU64>,

    /// Seconds by which a region may lag at bounded staleness [default: 5, or 300 with --region]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) bounded_seconds: Option<NonZeroU64>,

    /// A region of the account; once for each region. The first takes the writes and --listen, other regions their own address or any free port
    #[arg(long, value_name = "NAME[=ADDRESS:PORT]")]
    #[serde(rename = "regions")]
    pub(crate) region: Option<Vec<RegionSetting>>,

    /// Address and port of the whole account, where any region of this process that is present answers [default: any free port of --listen; none with --peer]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) account_listen: Option<Listen>,

    /// Another region, in its own process, and its --peer-listen; once for each region
    #[arg(long, value_name = "NAME=HOST:PORT")]
    #[serde(rename = "peers")]
    pub(crate) peer: Option<Vec<PeerSetting>>,

    /// Address and port at which regions of other processes reach this region
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) peer_listen: Option<Listen>,

    /// Directory with the certificate of this region, from `orrery region certificates`
    #[arg(long, value_name = "DIR")]
    pub(crate) peer_identity: Option<PathBuf>,

    /// Join the account that another process founds, instead of founding one [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) join: Option<bool>,

    /// Take writes in every region [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) multi_write: Option<bool>,

    /// Let another region take the writes of single partitions that fail in the write region [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) per_partition_failover: Option<bool>,

    /// Let regions vote for another write region when the write region is silent, with three regions or more [default: on]
    #[arg(long, value_name = "on|off")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) service_managed_failover: Option<OnOff>,

    /// Bytes of records that a region stores for absent regions, 16MiB at least; a region that misses more gets a copy of the state when it returns [default: 1GiB, or 256MiB with --memory]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) region_backlog: Option<Size>,

    /// Address and port of the operators' listener [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) management: Option<Listen>,

    /// File with the operators' key [default: the file management-key of the data directory, made when missing]
    #[arg(long, value_name = "FILE")]
    pub(crate) management_key_file: Option<PathBuf>,

    /// What to log on standard error, such as warn or info,orrery_server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// Print one line of JSON on standard output when the server is ready, and nothing else [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) ready_json: Option<bool>,
}

impl Layer {
    /// Whether this layer has keys itself, and not only the name of a key file.
    pub(crate) fn names_keys(&self) -> bool {
        let keys = [
            &self.key,
            &self.secondary_key,
            &self.read_only_key,
            &self.secondary_read_only_key,
        ];
        keys.into_iter().any(Option::is_some)
    }
}

fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}
