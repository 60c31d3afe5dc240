//! Where the regions of an account keep their data: `DIR/regions/west-us`.
//!
//! The certificate, the secrets and the list of added regions belong to the account and are in
//! `DIR` itself. A directory belongs to an account of one region or to an account with regions; the
//! server refuses to open a directory of the other kind.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use orrery_account::region_store;
use serde::{Deserialize, Serialize};

use super::RegionSetting;
use super::setting::slug;
use crate::private_file;

const REGIONS: &str = "regions";
/// Regions that operators added and no setting names.
const ADDED: &str = "regions.json";
/// The file that every store directory contains.
const MARK: &str = "FORMAT";

/// The directories of all regions. None for an account in memory.
#[derive(Debug, Clone)]
pub(crate) struct RegionDirectories(Option<PathBuf>);

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedRegions {
    regions: Vec<String>,
}

/// Refuses a directory of an account with regions, where the settings name no region.
pub(crate) fn check_single_region(directory: &Path) -> Result<()> {
    if !directory.join(REGIONS).is_dir() {
        return Ok(());
    }
    bail!(
        "{} has the data of an account with regions; name them with --region, as they were named before",
        directory.display()
    );
}

/// The store directories of the data directory `directory`: one for each region, sorted by name, or
/// `directory` itself for an account without regions. The copy that a region has beside its store
/// is none.
pub(crate) fn stores(directory: &Path) -> Result<Vec<Result<PathBuf>>> {
    let regions = directory.join(REGIONS);
    if !regions.is_dir() {
        return Ok(vec![Ok(directory.to_owned())]);
    }
    let entries =
        fs::read_dir(&regions).with_context(|| format!("cannot read {}", regions.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>()?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths.iter().map(|path| store_of(path)).collect())
}

fn store_of(region: &Path) -> Result<PathBuf> {
    let store = region_store(region)
        .with_context(|| format!("cannot read the state of {}", region.display()))?;
    // Without that file, the check finds no store in the directory of the region and says so.
    Ok(store.unwrap_or_else(|| region.to_owned()))
}

impl RegionDirectories {
    /// Opens the data directory of an account with regions. Refuses a directory that has the store
    /// of an account of one region.
    pub(crate) fn open(directory: Option<&Path>) -> Result<RegionDirectories> {
        if let Some(directory) = directory {
            if directory.join(MARK).exists() {
                bail!(
                    "{} has the data of an account of one region; leave --region out, or use another directory",
                    directory.display()
                );
            }
            let regions = directory.join(REGIONS);
            fs::create_dir_all(&regions)
                .with_context(|| format!("cannot make the directory {}", regions.display()))?;
        }
        Ok(RegionDirectories(directory.map(Path::to_owned)))
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// The directory of one region.
    pub(crate) fn of(&self, name: &str) -> Option<PathBuf> {
        let directory = self.0.as_ref()?;
        Some(directory.join(REGIONS).join(slug(name)))
    }

    /// The regions of the settings, and the regions that operators added since.
    pub(crate) fn with_added(&self, mut regions: Vec<RegionSetting>) -> Result<Vec<RegionSetting>> {
        for region in self.added()? {
            if regions.iter().all(|known| known.slug() != region.slug()) {
                regions.push(region);
            }
        }
        Ok(regions)
    }

    /// Remembers a region that an operator added.
    pub(crate) fn add(&self, region: &RegionSetting) -> Result<()> {
        let mut regions = self.added()?;
        regions.retain(|known| known.slug() != region.slug());
        regions.push(region.clone());
        self.save(&regions)
    }

    /// Forgets the added regions that have left the account.
    pub(crate) fn forget(&self, is_gone: impl Fn(&str) -> bool) -> Result<()> {
        let mut regions = self.added()?;
        let count = regions.len();
        regions.retain(|region| !is_gone(&region.name));
        // The file is written only if it changes, because this runs at every start.
        if regions.len() == count {
            return Ok(());
        }
        self.save(&regions)
    }

    fn added(&self) -> Result<Vec<RegionSetting>> {
        let Some(path) = self.file() else {
            return Ok(Vec::new());
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let read = || -> Result<Vec<RegionSetting>, String> {
            let added: AddedRegions =
                serde_json::from_str(&text).map_err(|error| error.to_string())?;
            added.regions.iter().map(|region| region.parse()).collect()
        };
        read().map_err(|error| anyhow::anyhow!("{} is damaged: {error}", path.display()))
    }

    fn save(&self, regions: &[RegionSetting]) -> Result<()> {
        let Some(path) = self.file() else {
            return Ok(());
        };
        let added = AddedRegions {
            regions: regions.iter().map(ToString::to_string).collect(),
        };
        private_file::write(&path, &serde_json::to_vec_pretty(&added)?)
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(ADDED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(texts: &[&str]) -> Vec<RegionSetting> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn directories_are_of_one_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        check_single_region(path).unwrap();
        let layout = RegionDirectories::open(Some(path)).unwrap();
        assert_eq!(layout.of("West US"), Some(path.join("regions/west-us")));
        let error = check_single_region(path).unwrap_err().to_string();
        assert!(error.contains("--region"), "{error}");
        fs::write(path.join(MARK), "orrery 1\n").unwrap();
        let error = RegionDirectories::open(Some(path)).unwrap_err().to_string();
        assert!(error.contains("leave --region out"), "{error}");
        assert_eq!(RegionDirectories::open(None).unwrap().of("West US"), None);
    }

    #[test]
    fn stores_are_the_directory_or_those_of_its_regions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let found = || -> Vec<PathBuf> {
            let stores = stores(path).unwrap().into_iter();
            stores.map(Result::unwrap).collect()
        };
        assert_eq!(found(), [path]);
        let layout = RegionDirectories::open(Some(path)).unwrap();
        for name in ["West US", "North Europe"] {
            fs::create_dir(layout.of(name).unwrap()).unwrap();
        }
        let expected = ["north-europe", "west-us"].map(|name| path.join(REGIONS).join(name));
        assert_eq!(found(), expected);
        fs::write(expected[0].join("region"), "").unwrap();
        assert!(stores(path).unwrap()[0].is_err() && stores(path).unwrap()[1].is_ok());
    }

    #[test]
    fn what_operators_add_is_there_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let layout = RegionDirectories::open(Some(directory.path())).unwrap();
        let given = regions(&["West US", "North Europe=8082"]);
        assert_eq!(layout.with_added(given.clone()).unwrap(), given);
        for added in regions(&["East Asia=9000", "east-asia", "west us=1", "Chile"]) {
            layout.add(&added).unwrap();
        }
        let all = regions(&["West US", "North Europe=8082", "east-asia", "Chile"]);
        assert_eq!(layout.with_added(given.clone()).unwrap(), all);
        layout.forget(|name| name == "Chile").unwrap();
        assert_eq!(layout.with_added(given).unwrap(), all[..3]);
        fs::write(directory.path().join(ADDED), "{").unwrap();
        assert!(layout.with_added(vec![]).is_err());
    }
}
