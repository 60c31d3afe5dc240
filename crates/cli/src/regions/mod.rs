//! Accounts in several regions: the names of the regions in this process and in other processes,
//! the directory and the address of each region, and the key of the operators.

mod directories;
mod management_file;
mod management_key;
mod peer;
mod peers;
mod setting;
mod settings;

pub(crate) use directories::{RegionDirectories, check_single_region, stores};
pub(crate) use management_file::ManagementFile;
pub(crate) use management_key::{KeyLocation, ManagementKey, read_management_key};
pub(crate) use peer::{PeerList, PeerSetting};
pub(crate) use peers::PeersSettings;
pub(crate) use setting::{RegionList, RegionSetting, check_name, slug};
pub(crate) use settings::{RegionsSettings, check, resolve};
