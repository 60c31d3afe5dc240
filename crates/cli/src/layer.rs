//! One source of settings: the flags, the environment, or the configuration file.
//!
//! All three say the same things, so they share one type. Nothing is decided here: whoever is
//! silent leaves `None`, and [`crate::settings::resolve`] puts the layers on top of each other.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use orrery_model::ConsistencyLevel;
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
    /// Address and port to listen on; port 0 takes any free one [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) listen: Option<Listen>,

    /// Address that clients are told to come to, when it differs from the one listened on
    #[arg(long, value_name = "URL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) advertise: Option<Advertise>,

    /// TLS with a certificate of its own making (auto), with the given PEM files, or off [default: auto]
    #[arg(long, value_name = "auto|off|CERT,KEY")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) tls: Option<Tls>,

    /// Directory that holds the data, made when missing [default: ./orrery-data]
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub(crate) data: Option<PathBuf>,

    /// Keep everything in memory and forget it at the end [default: false]
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

    /// Primary key for reading only
    #[arg(long, value_name = "KEY")]
    pub(crate) read_only_key: Option<KeyText>,

    /// Secondary key for reading only
    #[arg(long, value_name = "KEY")]
    pub(crate) secondary_read_only_key: Option<KeyText>,

    /// File with the keys, made with new ones when missing (not with --peer), read again whenever it changes
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["key", "secondary_key", "read_only_key", "secondary_read_only_key"]
    )]
    pub(crate) key_file: Option<PathBuf>,

    /// Serve the well-known key also on addresses that other machines reach, as in a container that only its host reaches [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) allow_well_known_key: Option<bool>,

    /// When writes reach the disk: before they are answered (sync), every MS milliseconds
    /// (interval:MS), or when the system likes (none) [default: sync]
    #[arg(long, value_name = "sync|interval:MS|none")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) durability: Option<DurabilitySetting>,

    /// Memory for data read from disk, such as 256MB or 1GiB [default: an eighth of the memory, 4GiB at most]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) cache: Option<Size>,

    /// Memory that requests and their answers may take together; one client has half of it at most [default: a quarter of the memory, 256MiB at least]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) memory_for_requests: Option<Size>,

    /// Connections of clients at one time; when there are more, the one goes on which nobody has shown a credential for longest [default: what the limit of open files leaves, 10000 at most]
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections: Option<NonZeroUsize>,

    /// Seconds for a client to connect, with TLS, and to send the headers of its first request; also for the headers of each later one [default: 20]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) header_time: Option<NonZeroU32>,

    /// Seconds after which a client is given up that sends its body, or reads its answer, with less than 1 KiB a second [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) stall_time: Option<NonZeroU32>,

    /// Seconds that a connection may be idle on which a client has shown a credential; others may be for the time of headers [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_time: Option<NonZeroU32>,

    /// Seconds that a request may take, its body included, before it is answered with 408 [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) request_time: Option<NonZeroU32>,

    /// A name by which a server on a loopback address may be called, beside localhost, names without a dot, and the one of --advertise; once for each
    #[arg(long, value_name = "NAME")]
    #[serde(rename = "allowed-hosts")]
    pub(crate) allowed_host: Option<Vec<String>>,

    /// Tell browsers to use nothing but TLS for this host for a year (HSTS) [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) hsts: Option<bool>,

    /// Refuse what goes beyond the provisioned throughput (on), or let everything pass (off) [default: on]
    #[arg(long, value_name = "on|off")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) throughput: Option<OnOff>,

    /// Have no provisioned throughput, but 5,000 RU/s for each physical partition [default: false]
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

    /// Bytes of JSON from which on a physical partition splits [default: 50GiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) partition_size: Option<Size>,

    /// Request units a second that one physical partition can have; a container with more has more of them [default: 10000]
    #[arg(long, value_name = "RUS")]
    pub(crate) partition_throughput: Option<NonZeroU32>,

    /// Bytes of JSON from which on a logical partition takes no more [default: 20GiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) logical_partition_size: Option<Size>,

    /// Threads that run stored procedures and triggers [default: 2]
    #[arg(long, value_name = "COUNT")]
    pub(crate) script_threads: Option<NonZeroUsize>,

    /// Milliseconds that one run of a script may take; further operations are declined after four fifths of it [default: 5000]
    #[arg(long, value_name = "MS")]
    pub(crate) script_time: Option<NonZeroU32>,

    /// Jumps and calls that one run of a script may make, counted in ten thousands [default: 10000000000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) script_steps: Option<NonZeroU64>,

    /// Memory that one run of a script may take [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_heap: Option<Size>,

    /// Stack that one run of a script may take [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_stack: Option<Size>,

    /// Memory outside of its heap that one value may take on its way between a script and the database [default: 32MiB]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) script_value: Option<Size>,

    /// Longest body that a script may answer with [default: 4MiB]
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

    /// Versions that a region may be behind at bounded staleness [default: 100, or 100000 with --region]
    #[arg(long, value_name = "COUNT")]
    pub(crate) bounded_versions: Option<NonZeroU64>,

    /// Seconds that a region may be behind at bounded staleness [default: 5, or 300 with --region]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) bounded_seconds: Option<NonZeroU64>,

    /// Have this region; once for each. The first takes the writes and --listen, others an address of their own or any free port
    #[arg(long, value_name = "NAME[=ADDRESS:PORT]")]
    #[serde(rename = "regions")]
    pub(crate) region: Option<Vec<RegionSetting>>,

    /// Address and port of the whole account, where whichever region of this process is there answers [default: any free port of --listen; none with --peer]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) account_listen: Option<Listen>,

    /// Another region, in a process of its own, and where that hears others; once for each
    #[arg(long, value_name = "NAME=HOST:PORT")]
    #[serde(rename = "peers")]
    pub(crate) peer: Option<Vec<PeerSetting>>,

    /// Address and port where this region hears those of other processes
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) peer_listen: Option<Listen>,

    /// Directory with the certificate that this region shows to others, of `orrery region certificates`
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

    /// Let single partitions be written in another region when they fail in the write region [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) per_partition_failover: Option<bool>,

    /// Let regions choose another write region when theirs is silent, from three regions on [default: on]
    #[arg(long, value_name = "on|off")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) service_managed_failover: Option<OnOff>,

    /// Bytes of records that a region keeps for others that are away; one that lacks more is copied when it is back, 16MiB at least [default: 1GiB, or 256MiB with --memory]
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) region_backlog: Option<Size>,

    /// Address and port where operators of regions are heard [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) management: Option<Listen>,

    /// File with the key of operators [default: the file management-key of the data directory, made when missing]
    #[arg(long, value_name = "FILE")]
    pub(crate) management_key_file: Option<PathBuf>,

    /// What to log on standard error, such as warn or info,orrery_server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// Print one line of JSON on standard output once requests are served, and nothing else [default: false]
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
    /// Whether it has keys itself, and not the name of a file with them.
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
