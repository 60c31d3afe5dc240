//! The settings that only an account with regions has.

use std::path::PathBuf;

use anyhow::{Result, bail};
use orrery_account::AccountMode;
use orrery_engine::Durability;
use orrery_model::ConsistencyLevel;

use super::RegionSetting;
use super::peers::{self, PeersSettings};
use crate::listen::Listen;
use crate::on_off::OnOff;
use crate::settings::{DataLocation, NamedLayer, Settings, first};
use crate::size::Size;

/// The size of one log file. The log gives disk space back only in whole files, so a smaller
/// backlog would not free space.
const BACKLOG_MIN: Size = Size::mebibytes(16);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionsSettings {
    /// The first takes the writes of a new account.
    pub(crate) regions: Vec<RegionSetting>,
    /// The address of the account as a whole, if a setting names it.
    pub(crate) account_listen: Option<Listen>,
    pub(crate) multi_write: bool,
    pub(crate) per_partition_failover: bool,
    pub(crate) service_managed_failover: OnOff,
    /// Bytes of records that a region retains for regions that are away, if a setting names them.
    pub(crate) backlog: Option<Size>,
    pub(crate) management: Listen,
    pub(crate) management_key_file: Option<PathBuf>,
    /// Peer regions in other processes. None if all regions run in this process.
    pub(crate) peers: Option<PeersSettings>,
}

impl RegionsSettings {
    /// Which regions take writes; [`check`] refuses two answers.
    pub(crate) fn mode(&self) -> AccountMode {
        if self.multi_write {
            AccountMode::EveryRegionWrites
        } else if self.per_partition_failover {
            AccountMode::ByOwner
        } else {
            AccountMode::OneRegionWrites
        }
    }
}

/// Resolves the settings of regions. None where no source names a region.
pub(crate) fn resolve(sources: &[NamedLayer]) -> Result<Option<RegionsSettings>> {
    let regions = first(sources, |layer| layer.region.as_ref()).unwrap_or_default();
    let multi_write = first(sources, |layer| layer.multi_write.as_ref()).unwrap_or(false);
    let per_partition_failover =
        first(sources, |layer| layer.per_partition_failover.as_ref()).unwrap_or(false);
    let account_listen = first(sources, |layer| layer.account_listen.as_ref());
    let backlog = first(sources, |layer| layer.region_backlog.as_ref());
    let management = first(sources, |layer| layer.management.as_ref());
    let management_key_file = first(sources, |layer| layer.management_key_file.as_ref());
    let peers = peers::resolve(sources)?;
    // A region setting without regions is refused: ignored silently, it would leave the user with
    // an account that has only one region.
    if regions.is_empty() {
        if peers.is_some() {
            bail!("--peer needs the region of this process; name it with --region");
        }
        if account_listen.is_some() {
            bail!(
                "--account-listen needs regions; name them with --region. An account of one region is where \
                 --listen is"
            );
        }
        if multi_write || management.is_some() || management_key_file.is_some() {
            bail!("--multi-write and --management need regions; name them with --region");
        }
        if per_partition_failover {
            bail!("--per-partition-failover needs regions; name them with --region");
        }
        if backlog.is_some() {
            bail!("--region-backlog needs regions; name them with --region");
        }
        return Ok(None);
    }
    if let Some(size) = backlog.filter(|size| size.0 < BACKLOG_MIN.0) {
        bail!("--region-backlog {size} is too little; a region keeps {BACKLOG_MIN} or more");
    }
    for (index, region) in regions.iter().enumerate() {
        if regions[..index]
            .iter()
            .any(|other| other.slug() == region.slug())
        {
            bail!("region '{}' is named twice", region.name);
        }
    }
    Ok(Some(RegionsSettings {
        regions,
        account_listen,
        multi_write,
        per_partition_failover,
        service_managed_failover: first(sources, |layer| layer.service_managed_failover.as_ref())
            .unwrap_or(OnOff::On),
        backlog,
        management: management.unwrap_or_else(Listen::any_port),
        management_key_file,
        peers,
    }))
}

/// Refuses combinations of region settings and other settings that no account can have.
pub(crate) fn check(settings: &Settings) -> Result<()> {
    let Some(regions) = &settings.regions else {
        return Ok(());
    };
    // Cosmos DB has no strong consistency with several write regions either.
    if regions.multi_write && settings.consistency == ConsistencyLevel::Strong {
        bail!(
            "strong consistency is not possible where every region takes writes; leave --multi-write out, or use \
             --consistency BoundedStaleness or a weaker one"
        );
    }
    if regions.per_partition_failover && regions.multi_write {
        bail!(
            "where every region takes writes no partition has to fail over; leave --per-partition-failover or \
             --multi-write out"
        );
    }
    let is_too_strong = matches!(
        settings.consistency,
        ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness
    );
    if regions.per_partition_failover && is_too_strong {
        bail!(
            "--per-partition-failover needs --consistency Session or a weaker one; at {} leave it out",
            settings.consistency.name()
        );
    }
    if let Some(peers) = &regions.peers {
        peers.check(settings, &regions.regions)?;
    }
    // A region with weaker durability may lose records after it has sent them to peers. After a
    // restart that region would assign the same log positions to other records.
    let forgets = settings.durability.0 != Durability::Sync;
    if forgets && matches!(settings.data_location, DataLocation::Directory(_)) {
        bail!("regions need --durability sync, because others rely on what one has acknowledged");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use orrery_account::StalenessPolicy;

    use super::*;
    use crate::args::Arguments;

    fn load(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<Settings> {
        let directory = tempfile::tempdir()?;
        let config = directory.path().join("orrery.toml");
        std::fs::write(&config, file)?;
        let arguments = [&["orrery"], flags].concat();
        let mut arguments = Arguments::try_parse_from(arguments)?.serve;
        arguments.config = Some(config);
        Settings::load(arguments, &|name| {
            let mut variables = variables.iter();
            let found = variables.find(|(other, _)| *other == name);
            found.map(|(_, value)| value.into())
        })
    }

    fn names(settings: &Settings) -> Vec<String> {
        let regions = settings.regions.iter().flat_map(|regions| &regions.regions);
        regions.map(ToString::to_string).collect()
    }

    #[test]
    fn regions_come_from_every_source() {
        let expected = RegionsSettings {
            regions: ["West US", "North Europe=8082"]
                .map(|text| text.parse().unwrap())
                .into(),
            account_listen: Some("8080".parse().unwrap()),
            multi_write: true,
            per_partition_failover: false,
            service_managed_failover: OnOff::Off,
            backlog: Some(Size::mebibytes(20)),
            management: "9000".parse().unwrap(),
            management_key_file: Some("k".into()),
            peers: None,
        };
        let flags = [
            "--region=West US",
            "--region=North Europe=8082",
            "--account-listen=8080",
            "--multi-write",
            "--service-managed-failover=off",
            "--region-backlog=20MiB",
            "--management=9000",
            "--management-key-file=k",
        ];
        let variables = [
            ("ORRERY_REGION", "West US;North Europe=8082"),
            ("ORRERY_ACCOUNT_LISTEN", "8080"),
            ("ORRERY_MULTI_WRITE", "true"),
            ("ORRERY_SERVICE_MANAGED_FAILOVER", "off"),
            ("ORRERY_REGION_BACKLOG", "20MiB"),
            ("ORRERY_MANAGEMENT", "9000"),
            ("ORRERY_MANAGEMENT_KEY_FILE", "k"),
        ];
        let file = "account-listen = '8080'\nmulti-write = true\nservice-managed-failover = 'off'\nmanagement = '9000'\n\
                    region-backlog = '20MiB'\nmanagement-key-file = 'k'\n[[regions]]\nname = 'West US'\n[[regions]]\n\
                    name = 'North Europe'\nlisten = '8082'\n";
        for settings in [
            load(&flags, &[], ""),
            load(&[], &variables, ""),
            load(&[], &[], file),
        ] {
            assert_eq!(settings.unwrap().regions.as_ref(), Some(&expected));
        }
        // The strongest source that names regions names all of them.
        let settings = load(&["--region=Chile"], &variables[..1], file).unwrap();
        assert_eq!(names(&settings), ["Chile"]);
    }

    #[test]
    fn peers_come_from_every_source() {
        let expected = PeersSettings {
            peers: ["b=h:1", "c=[::1]:2"]
                .map(|text| text.parse().unwrap())
                .into(),
            listen: "9000".parse().unwrap(),
            identity: "i".into(),
            joins: true,
        };
        let flags = [
            "--region=a",
            "--peer=b=h:1",
            "--peer=c=[::1]:2",
            "--peer-listen=9000",
            "--peer-identity=i",
            "--join",
        ];
        let variables = [
            ("ORRERY_REGION", "a"),
            ("ORRERY_PEER", "b=h:1;c=[::1]:2"),
            ("ORRERY_PEER_LISTEN", "9000"),
            ("ORRERY_PEER_IDENTITY", "i"),
            ("ORRERY_JOIN", "true"),
        ];
        let file = "regions = ['a']\npeers = ['b=h:1', 'c=[::1]:2']\npeer-listen = '9000'\n\
                    peer-identity = 'i'\njoin = true\n";
        for settings in [
            load(&flags, &[], ""),
            load(&[], &variables, ""),
            load(&[], &[], file),
        ] {
            let regions = settings.unwrap().regions.unwrap();
            assert_eq!(regions.peers.as_ref(), Some(&expected));
        }
    }

    #[test]
    fn the_first_region_listens_for_the_account() {
        for (flags, listen) in [
            (&["--region=a"][..], "127.0.0.1:8081"),
            (&["--region=a", "--listen=1"], "127.0.0.1:1"),
            (&["--region=a=2", "--region=b=3"], "127.0.0.1:2"),
        ] {
            let settings = load(flags, &[], "").unwrap();
            assert_eq!(settings.listen.to_string(), listen, "{flags:?}");
        }
    }

    #[test]
    fn the_bound_is_wider_with_regions() {
        let bound = |versions, seconds| StalenessPolicy { versions, seconds };
        for (flags, expected) in [
            (&[][..], bound(100, 5)),
            (&["--region=a"], bound(100_000, 300)),
            (&["--region=a", "--bounded-versions=7"], bound(7, 300)),
            (&["--bounded-seconds=9"], bound(100, 9)),
        ] {
            assert_eq!(load(flags, &[], "").unwrap().bound, expected, "{flags:?}");
        }
    }

    #[test]
    fn conflicting_settings_are_refused() {
        for (flags, phrase) in [
            (&["--multi-write"][..], "name them with --region"),
            (&["--management=1"], "name them with --region"),
            (&["--per-partition-failover"], "name them with --region"),
            (
                &["--region=a", "--per-partition-failover", "--multi-write"],
                "no partition has to fail over",
            ),
            (
                &[
                    "--region=a",
                    "--per-partition-failover",
                    "--consistency=Strong",
                ],
                "at Strong leave it out",
            ),
            (
                &[
                    "--region=a",
                    "--per-partition-failover",
                    "--consistency=BoundedStaleness",
                ],
                "at BoundedStaleness leave it out",
            ),
            (&["--account-listen=1"], "name them with --region"),
            (&["--region-backlog=1GB"], "name them with --region"),
            (&["--region=a", "--region-backlog=15MiB"], "16MiB or more"),
            (&["--region=West US", "--region=west-us"], "named twice"),
            (&["--region=a=1", "--listen=2"], "--listen"),
            (
                &["--region=a", "--multi-write", "--consistency=Strong"],
                "strong consistency",
            ),
            (&["--region=a", "--durability=none"], "--durability sync"),
            (&["--region=*"], "no name for a region"),
            (&["--peer=b=h:1"], "needs --peer-listen"),
            (&["--peer=b=h:1", "--peer-listen=1"], "--peer-identity"),
            (&["--peer=b"], "NAME=HOST:PORT"),
            (&["--region=a", "--join"], "--peer NAME=HOST:PORT"),
            (&["--region=a", "--peer-listen=1"], "--peer NAME=HOST:PORT"),
        ] {
            let error = load(flags, &[], "").unwrap_err().to_string();
            assert!(error.contains(phrase), "{flags:?}: {error}");
        }
        let linked = ["--peer-listen=1", "--peer-identity=i", "--peer=b=h:1"];
        for (flags, phrase) in [
            (&[][..], "name it with --region"),
            (&["--region=a", "--region=c"], "exactly one --region"),
            (&["--region=a", "--memory"], "needs a data directory"),
            (&["--region=B"], "this region and a peer"),
            (&["--region=a", "--peer=B=h:2"], "named twice"),
        ] {
            let error = load(&[&linked[..], flags].concat(), &[], "").unwrap_err();
            let error = error.to_string();
            assert!(error.contains(phrase), "{flags:?}: {error}");
        }
        assert!(load(&["--region=a", "--durability=none", "--memory"], &[], "").is_ok());
    }
}
