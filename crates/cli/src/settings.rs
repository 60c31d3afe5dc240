//! The settings of the server, resolved from all sources.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use orrery_account::StalenessPolicy;
use orrery_engine::{
    MaintenanceOptions, OnPanic, PartitionLimits, ScriptOptions, ThroughputMode, ThroughputOptions,
};
use orrery_model::ConsistencyLevel;
use orrery_server::{Limits, QueryPlans};

use crate::advertise::Advertise;
use crate::args::ServeArguments;
use crate::durability::DurabilitySetting;
use crate::environment::Lookup;
use crate::keys::{KeySet, KeyTexts};
use crate::layer::Layer;
use crate::listen::Listen;
use crate::on_off::OnOff;
use crate::regions::{self, RegionsSettings};
use crate::size::Size;
use crate::tls::Tls;
use crate::{client_limits, env_vars, environment, file, memory};

const DATA_DEFAULT: &str = "./orrery-data";
const DURABILITY_DEFAULT: DurabilitySetting = DurabilitySetting(orrery_engine::Durability::Sync);
const BOUND_ALONE: StalenessPolicy = StalenessPolicy {
    versions: 100,
    seconds: 5,
};
const BOUND_OF_REGIONS: StalenessPolicy = StalenessPolicy {
    versions: 100_000,
    seconds: 300,
};
/// The scrubber reads a gigabyte in about a quarter of an hour at this rate.
const SCRUB_DEFAULT: Size = Size::mebibytes(1);
const LOG_DEFAULT: &str = "info";

#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) listen: Listen,
    pub(crate) advertise: Option<Advertise>,
    pub(crate) direct: DirectSetting,
    pub(crate) tls: Tls,
    pub(crate) data_location: DataLocation,
    pub(crate) keys: KeySource,
    pub(crate) allow_well_known_key: bool,
    pub(crate) durability: DurabilitySetting,
    pub(crate) cache: Size,
    pub(crate) maintenance: MaintenanceOptions,
    pub(crate) throughput: ThroughputOptions,
    pub(crate) partitions: PartitionLimits,
    pub(crate) scripts: ScriptSettings,
    pub(crate) seed: Option<PathBuf>,
    pub(crate) consistency: ConsistencyLevel,
    pub(crate) bound: StalenessPolicy,
    /// None for an account of one region, whose region the user does not name.
    pub(crate) regions: Option<RegionsSettings>,
    pub(crate) limits: Limits,
    pub(crate) hsts: bool,
    pub(crate) query_plans: QueryPlans,
    pub(crate) log: String,
    pub(crate) ready_json: bool,
}

/// The limits of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScriptSettings {
    pub(crate) threads: usize,
    pub(crate) time_ms: u32,
    pub(crate) steps: u64,
    pub(crate) heap: Size,
    pub(crate) stack: Size,
    pub(crate) value: Size,
    pub(crate) response: Size,
    pub(crate) log: Size,
}

impl Default for ScriptSettings {
    fn default() -> ScriptSettings {
        ScriptSettings {
            threads: 2,
            time_ms: 5000,
            steps: 10_000_000_000,
            heap: Size::mebibytes(64),
            stack: Size::mebibytes(1),
            value: Size::mebibytes(32),
            response: Size::mebibytes(4),
            log: Size(8 << 10),
        }
    }
}

impl ScriptSettings {
    pub(crate) fn options(self) -> ScriptOptions {
        let bytes = |size: Size| usize::try_from(size.0).unwrap_or(usize::MAX);
        let wall_time = Duration::from_millis(u64::from(self.time_ms));
        ScriptOptions {
            threads: self.threads,
            wall_time,
            // The last fifth of the time is left for a script that ends by itself once an operation
            // is declined.
            accept_time: wall_time / 5 * 4,
            steps_max: self.steps,
            heap_bytes: bytes(self.heap),
            stack_bytes: bytes(self.stack),
            value_bytes: bytes(self.value),
            response_length_max: bytes(self.response),
            log_bytes: bytes(self.log),
            ..ScriptOptions::default()
        }
    }
}

/// Where clients in direct mode connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectSetting {
    Off,
    /// A free port on the host of each region.
    AnyPort,
    /// The address of the first region; each further region has the next port.
    At(Listen),
}

/// Where the server stores the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataLocation {
    Memory,
    Directory(PathBuf),
}

impl DataLocation {
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            DataLocation::Memory => None,
            DataLocation::Directory(path) => Some(path),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    Given(KeySet),
    File(PathBuf),
}

impl Settings {
    pub(crate) fn load(arguments: ServeArguments, lookup: Lookup<'_>) -> Result<Settings> {
        // The file cannot name its own path, so only the flags and the environment can.
        let path = arguments
            .config
            .or_else(|| environment::path(lookup, env_vars::CONFIG));
        let file = path
            .map(|path| file::layer(&path))
            .transpose()?
            .unwrap_or_default();
        let mut settings = resolve(&[
            NamedLayer {
                name: "on the command line",
                layer: arguments.layer,
            },
            NamedLayer {
                name: "in the environment",
                layer: environment::layer(lookup)?,
            },
            NamedLayer {
                name: "in the configuration file",
                layer: file,
            },
        ])?;
        // `accept_loss` is a flag only: in a file it would accept every later loss without a word.
        settings.maintenance.accept_loss = arguments.accept_loss;
        Ok(settings)
    }
}

impl Settings {
    /// Every address on which the settings let clients connect.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let regions = self.regions.iter();
        let of_regions = regions.flat_map(|regions| {
            let own = regions.regions.iter().filter_map(|region| region.listen);
            own.chain(regions.account_listen)
        });
        let direct = match self.direct {
            DirectSetting::At(listen) => Some(listen),
            DirectSetting::Off | DirectSetting::AnyPort => None,
        };
        of_regions
            .chain([self.listen])
            .chain(direct)
            .map(|listen| listen.0)
    }

    /// Whether regions of the account run in other processes.
    pub(crate) fn has_peers(&self) -> bool {
        let regions = self.regions.as_ref();
        regions.is_some_and(|regions| regions.peers.is_some())
    }
}

/// A layer of settings, and the name of its source for messages.
pub(crate) struct NamedLayer {
    name: &'static str,
    pub(crate) layer: Layer,
}

pub(crate) fn first<T: Clone>(
    sources: &[NamedLayer],
    setting: impl Fn(&Layer) -> Option<&T>,
) -> Option<T> {
    // The sources are sorted from the strongest to the weakest, so the first value wins.
    sources
        .iter()
        .find_map(|source| setting(&source.layer))
        .cloned()
}

fn direct(sources: &[NamedLayer]) -> DirectSetting {
    match first(sources, |layer| layer.direct.as_ref()) {
        Some(OnOff::Off) => DirectSetting::Off,
        Some(OnOff::On) | None => first(sources, |layer| layer.direct_listen.as_ref())
            .map_or(DirectSetting::AnyPort, DirectSetting::At),
    }
}

fn throughput(sources: &[NamedLayer]) -> ThroughputOptions {
    let is_serverless = first(sources, |layer| layer.serverless.as_ref()).unwrap_or(false);
    let mode = match first(sources, |layer| layer.throughput.as_ref()) {
        Some(OnOff::Off) => ThroughputMode::Off,
        Some(OnOff::On) | None if is_serverless => ThroughputMode::Serverless,
        Some(OnOff::On) | None => ThroughputMode::Provisioned,
    };
    ThroughputOptions {
        mode,
        burst_capacity: first(sources, |layer| layer.burst_capacity.as_ref()).unwrap_or(false),
        ..ThroughputOptions::default()
    }
}

/// How the store treats its disk and a panic. A panic ends the process, because a supervisor of the
/// program starts it again.
fn maintenance(sources: &[NamedLayer]) -> MaintenanceOptions {
    MaintenanceOptions {
        accept_loss: false,
        on_panic: OnPanic::EndProcess,
        disk_reserve_bytes: first(sources, |layer| layer.disk_reserve.as_ref()).map(|size| size.0),
        scrub_bytes_per_second: first(sources, |layer| layer.scrub.as_ref())
            .unwrap_or(SCRUB_DEFAULT)
            .0,
    }
}

fn partitions(sources: &[NamedLayer]) -> PartitionLimits {
    let default = PartitionLimits::default();
    PartitionLimits {
        bytes: first(sources, |layer| layer.partition_size.as_ref())
            .map_or(default.bytes, |size| size.0),
        throughput: first(sources, |layer| layer.partition_throughput.as_ref())
            .map_or(default.throughput, NonZeroU32::get),
        logical_bytes: first(sources, |layer| layer.logical_partition_size.as_ref())
            .map_or(default.logical_bytes, |size| size.0),
    }
}

fn scripts(sources: &[NamedLayer]) -> ScriptSettings {
    let default = ScriptSettings::default();
    ScriptSettings {
        threads: first(sources, |layer| layer.script_threads.as_ref())
            .map_or(default.threads, NonZeroUsize::get),
        time_ms: first(sources, |layer| layer.script_time.as_ref())
            .map_or(default.time_ms, NonZeroU32::get),
        steps: first(sources, |layer| layer.script_steps.as_ref())
            .map_or(default.steps, NonZeroU64::get),
        heap: first(sources, |layer| layer.script_heap.as_ref()).unwrap_or(default.heap),
        stack: first(sources, |layer| layer.script_stack.as_ref()).unwrap_or(default.stack),
        value: first(sources, |layer| layer.script_value.as_ref()).unwrap_or(default.value),
        response: first(sources, |layer| layer.script_response.as_ref())
            .unwrap_or(default.response),
        log: first(sources, |layer| layer.script_log.as_ref()).unwrap_or(default.log),
    }
}

/// Puts the layers, strongest first, on top of the defaults. No other function knows the order of
/// the layers or the defaults.
fn resolve(sources: &[NamedLayer]) -> Result<Settings> {
    let regions = regions::resolve(sources)?;
    let settings = Settings {
        listen: listen(sources, regions.as_ref())?,
        advertise: first(sources, |layer| layer.advertise.as_ref()),
        direct: direct(sources),
        tls: first(sources, |layer| layer.tls.as_ref()).unwrap_or(Tls::Auto),
        data_location: data_location(sources)?,
        keys: keys(sources)?,
        allow_well_known_key: first(sources, |layer| layer.allow_well_known_key.as_ref())
            .unwrap_or(false),
        durability: first(sources, |layer| layer.durability.as_ref()).unwrap_or(DURABILITY_DEFAULT),
        cache: first(sources, |layer| layer.cache.as_ref()).unwrap_or_else(memory::cache_default),
        maintenance: maintenance(sources),
        throughput: throughput(sources),
        partitions: partitions(sources),
        scripts: scripts(sources),
        seed: first(sources, |layer| layer.seed.as_ref()),
        limits: client_limits::resolve(sources),
        hsts: first(sources, |layer| layer.hsts.as_ref()).unwrap_or(false),
        query_plans: first(sources, |layer| layer.query_plans.as_ref()).unwrap_or_default(),
        consistency: first(sources, |layer| layer.consistency.as_ref())
            .unwrap_or(ConsistencyLevel::Session),
        log: first(sources, |layer| layer.log.as_ref()).unwrap_or_else(|| LOG_DEFAULT.to_owned()),
        ready_json: first(sources, |layer| layer.ready_json.as_ref()).unwrap_or(false),
        bound: bound(sources, regions.is_some()),
        regions,
    };
    // Some pairs of settings are valid alone and conflict with each other.
    regions::check(&settings)?;
    Ok(settings)
}

/// The listen address of the first region, which is also the listen address of the account.
fn listen(sources: &[NamedLayer], regions: Option<&RegionsSettings>) -> Result<Listen> {
    let own = regions.and_then(|settings| settings.regions.first()?.listen);
    match (first(sources, |layer| layer.listen.as_ref()), own) {
        (Some(_), Some(_)) => {
            bail!("the first region has an address of its own, and --listen is one for it too")
        }
        (given, own) => Ok(given.or(own).unwrap_or_default()),
    }
}

/// The staleness bound. The defaults are the least bounds that Cosmos DB allows for one region and
/// for several regions.
fn bound(sources: &[NamedLayer], has_regions: bool) -> StalenessPolicy {
    let default = if has_regions {
        BOUND_OF_REGIONS
    } else {
        BOUND_ALONE
    };
    StalenessPolicy {
        versions: first(sources, |layer| layer.bounded_versions.as_ref())
            .map_or(default.versions, NonZeroU64::get),
        seconds: first(sources, |layer| layer.bounded_seconds.as_ref())
            .map_or(default.seconds, NonZeroU64::get),
    }
}

/// The strongest source that names a directory or asks for memory decides between them.
fn data_location(sources: &[NamedLayer]) -> Result<DataLocation> {
    // A stronger source that says `memory = false` overrules a weaker one that says `memory =
    // true`.
    let mut memory_declined = false;
    for NamedLayer { name, layer } in sources {
        match (&layer.data, layer.memory) {
            (Some(_), Some(true)) => bail!("both a data directory and memory are asked for {name}"),
            (Some(directory), _) => return Ok(DataLocation::Directory(directory.clone())),
            (None, Some(true)) if !memory_declined => return Ok(DataLocation::Memory),
            (None, Some(false)) => memory_declined = true,
            (None, _) => {}
        }
    }
    Ok(DataLocation::Directory(DATA_DEFAULT.into()))
}

/// The source of the keys. The strongest source with a key or a key file decides whether the keys
/// come from a file; keys that do not come from a file are then looked up one by one in all
/// sources.
fn keys(sources: &[NamedLayer]) -> Result<KeySource> {
    for NamedLayer { name, layer } in sources {
        match (&layer.key_file, layer.names_keys()) {
            (Some(_), true) => bail!("both keys and a key file are given {name}"),
            (Some(file), false) => return Ok(KeySource::File(file.clone())),
            (None, true) => break,
            (None, false) => {}
        }
    }
    let mut texts = KeyTexts::default();
    for NamedLayer { layer, .. } in sources {
        texts.primary = texts.primary.or_else(|| layer.key.clone());
        texts.secondary = texts.secondary.or_else(|| layer.secondary_key.clone());
        texts.primary_read_only = texts
            .primary_read_only
            .or_else(|| layer.read_only_key.clone());
        texts.secondary_read_only = texts
            .secondary_read_only
            .or_else(|| layer.secondary_read_only_key.clone());
    }
    KeySet::parse(&texts).map(KeySource::Given)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Arguments;

    const KEY: &str = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=";

    /// Flags, variables and the text of a file, as a user would write them.
    fn load(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<Settings> {
        let directory = tempfile::tempdir()?;
        let config = directory.path().join("orrery.toml");
        std::fs::write(&config, file)?;
        let mut arguments =
            Arguments::try_parse_from([&["orrery"], flags].concat().as_slice())?.serve;
        arguments.config = Some(config);
        Settings::load(arguments, &|name| {
            variables
                .iter()
                .find(|(other, _)| *other == name)
                .map(|(_, value)| value.into())
        })
    }

    fn directory(path: &str) -> DataLocation {
        DataLocation::Directory(path.into())
    }

    #[test]
    fn defaults() {
        let settings = load(&[], &[], "").unwrap();
        assert_eq!(settings.listen, Listen::default());
        assert_eq!(settings.data_location, directory("./orrery-data"));
        assert_eq!(settings.tls, Tls::Auto);
        assert_eq!(settings.throughput.mode, ThroughputMode::Provisioned);
        assert!(!settings.throughput.burst_capacity);
        assert!(!settings.ready_json);
    }

    #[test]
    fn flag_then_environment_then_file_then_default() {
        let flag: &[&str] = &["--cache=1KB"];
        let variable: &[(&str, &str)] = &[("ORRERY_CACHE", "2KB")];
        let file = "cache = \"3KB\"";
        for (flags, variables, file, expected) in [
            (flag, variable, file, 1000),
            (&[], variable, file, 2000),
            (&[], &[], file, 3000),
            (&[], &[], "", memory::cache_default().0),
            (flag, &[], file, 1000),
        ] {
            assert_eq!(load(flags, variables, file).unwrap().cache.0, expected);
        }
    }

    #[test]
    fn every_setting_comes_from_every_source() {
        let flags = [
            "--listen=1",
            "--advertise=https://a",
            "--tls=off",
            "--data=d",
            &format!("--key={KEY}"),
            "--allow-well-known-key",
            "--durability=none",
            "--cache=1",
            "--memory-for-requests=1MB",
            "--hsts",
            "--query-plans=nobody",
            "--throughput=on",
            "--serverless",
            "--burst-capacity",
            "--partition-size=5MB",
            "--partition-throughput=500",
            "--logical-partition-size=4MB",
            "--seed=s",
            "--consistency=Strong",
            "--log=warn",
            "--ready-json",
        ];
        let variables = [
            ("ORRERY_LISTEN", "1"),
            ("ORRERY_ADVERTISE", "https://a"),
            ("ORRERY_TLS", "off"),
            ("ORRERY_DATA", "d"),
            ("ORRERY_KEY", KEY),
            ("ORRERY_ALLOW_WELL_KNOWN_KEY", "true"),
            ("ORRERY_DURABILITY", "none"),
            ("ORRERY_CACHE", "1"),
            ("ORRERY_MEMORY_FOR_REQUESTS", "1MB"),
            ("ORRERY_HSTS", "true"),
            ("ORRERY_QUERY_PLANS", "nobody"),
            ("ORRERY_THROUGHPUT", "on"),
            ("ORRERY_SERVERLESS", "true"),
            ("ORRERY_BURST_CAPACITY", "true"),
            ("ORRERY_PARTITION_SIZE", "5MB"),
            ("ORRERY_PARTITION_THROUGHPUT", "500"),
            ("ORRERY_LOGICAL_PARTITION_SIZE", "4MB"),
            ("ORRERY_SEED", "s"),
            ("ORRERY_CONSISTENCY", "Strong"),
            ("ORRERY_LOG", "warn"),
            ("ORRERY_READY_JSON", "true"),
        ];
        let file = variables.map(|(name, value)| {
            let name = name
                .trim_start_matches("ORRERY_")
                .to_lowercase()
                .replace('_', "-");
            if value == "true" || name.ends_with("-throughput") {
                format!("{name} = {value}")
            } else {
                format!("{name} = '{value}'")
            }
        });
        let of_flags = load(&flags, &[], "").unwrap();
        assert_eq!(load(&[], &variables, "").unwrap(), of_flags);
        assert_eq!(load(&[], &[], &file.join("\n")).unwrap(), of_flags);
        assert_ne!(load(&[], &[], "").unwrap(), of_flags);
    }

    #[test]
    fn throughput_is_on_unless_it_is_off() {
        for (flags, expected) in [
            (&[][..], ThroughputMode::Provisioned),
            (&["--throughput=on"], ThroughputMode::Provisioned),
            (&["--throughput=off"], ThroughputMode::Off),
            (&["--serverless"], ThroughputMode::Serverless),
            (&["--serverless", "--throughput=off"], ThroughputMode::Off),
        ] {
            assert_eq!(load(flags, &[], "").unwrap().throughput.mode, expected);
        }
    }

    #[test]
    fn memory_or_a_directory() {
        for (flags, variables, file, expected) in [
            (
                &["--memory"][..],
                &[("ORRERY_DATA", "e")][..],
                "",
                DataLocation::Memory,
            ),
            (
                &["--data=f"],
                &[("ORRERY_MEMORY", "true")],
                "",
                directory("f"),
            ),
            (
                &["--memory=false"],
                &[],
                "memory = true",
                directory("./orrery-data"),
            ),
            (
                &[],
                &[("ORRERY_MEMORY", "true")],
                "data = 'g'",
                DataLocation::Memory,
            ),
        ] {
            assert_eq!(
                load(flags, variables, file).unwrap().data_location,
                expected
            );
        }
        let error = load(&[], &[], "data = 'd'\nmemory = true")
            .unwrap_err()
            .to_string();
        assert!(error.contains("in the configuration file"), "{error}");
    }

    #[test]
    fn keys_or_a_key_file() {
        let file = KeySource::File("k".into());
        assert_eq!(
            load(&[], &[("ORRERY_KEY_FILE", "k")], &format!("key = '{KEY}'"))
                .unwrap()
                .keys,
            file
        );
        let both = load(
            &[&format!("--key={KEY}")],
            &[("ORRERY_SECONDARY_KEY", KEY)],
            "key-file = 'k'",
        );
        let KeySource::Given(keys) = both.unwrap().keys else {
            panic!("not the given keys")
        };
        assert_eq!(keys.account_keys().keys.len(), 2);
        assert!(load(&[], &[], &format!("key = '{KEY}'\nkey-file = 'k'")).is_err());
    }
}
