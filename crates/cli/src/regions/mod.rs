//! Accounts in several regions: which there are, in this process and in others, where each keeps its
//! data and is reached, and who may give orders.

mod layout;
mod management_file;
mod management_key;
mod peer;
mod peers;
mod setting;
mod settings;

pub(crate) use layout::{Layout, check_alone, stores};
pub(crate) use management_file::ManagementFile;
pub(crate) use management_key::{KeyPlace, ManagementKey, read_management_key};
pub(crate) use peer::{PeerList, PeerSetting};
pub(crate) use peers::PeersSettings;
pub(crate) use setting::{RegionList, RegionSetting, check_name, slug};
pub(crate) use settings::{RegionsSettings, check, resolve};
