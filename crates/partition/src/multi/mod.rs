//! A store as one region of an account in which every region writes.
//!
//! Positions and LSNs are this region's own. What regions have in common are the *streams*: every
//! transaction of items that this region makes gets a stamp, the next of its stream, and says what
//! had been applied here when it was made (`stamps`). Records of other regions are merged
//! (`merge`): an item is the set of its versions that no other version has seen, the one that
//! stands is the document that everybody reads, and the rest is kept beside it (`versions`), with
//! what unique keys forbid to show (`claims`), until nobody can conflict with it any more
//! (`prune`).
//!
//! A document keeps its text, and with it its resource id, entity tag and time, wherever it goes;
//! only its place in the feed is the region's own. The rules are those of `orrery_regions`.
//! Nothing here knows links: a driver moves records from a [`StreamReader`] of one store to
//! [`crate::Store::submit_merge`] of another, in the order that `orrery_regions::Mesh` gives.

mod access;
mod account;
mod claims;
mod codec;
mod command;
mod conflicts;
mod heirs;
mod item;
mod merge;
mod merging;
mod own;
mod prune;
mod region;
mod rids;
mod rows;
mod settle;
mod stamps;
mod stream_reader;
mod versions;

pub use access::{AccessTable, KeyAccess, KeyRange};
pub use account::{AccountOutcome, account_data};
pub use conflicts::{StoredConflict, StoredVersion};
pub use heirs::{retirement_changes, retirement_removals};
pub use merging::MergeError;
pub use settle::SettleItem;
pub use stream_reader::{StreamPiece, StreamReader};

pub(crate) use access::Access;
pub(crate) use account::{AccountChange, CHANGED_KEY, apply_account, last_changed};
pub(crate) use claims::decode as decode_claims;
pub(crate) use codec::{decode_progress, decode_stamped, encode_progress, encode_stamped};
pub(crate) use command::RegionCommand;
pub(crate) use merge::{Merged, apply_merged};
pub(crate) use merging::items_of;
pub(crate) use own::{finish_own, replace_versions};
pub(crate) use prune::Horizon;
pub(crate) use rids::{next_rids_from, of_region, region_of, rows_of, rows_range, sequence_of};
pub(crate) use rows::Rows;
pub(crate) use settle::as_shown;
pub(crate) use stamps::{
    Multi, REGION_KEY, Stamped, Stamps, advance_progress, change_progress, check_region,
    put_copied, put_progress, put_region, read_progress,
};
pub(crate) use versions::Row;
