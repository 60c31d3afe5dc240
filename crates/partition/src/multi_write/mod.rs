//! A store as one region of a multi-write account.
//!
//! Log positions and LSNs are local to a region. Regions share *streams*: every item transaction of
//! a region gets a version id, the next of the region's stream, and records the version vector of
//! that moment (`region_state`). Records of other regions are merged (`merge`): an item is the set
//! of its versions that no other version has superseded. The winning version is the visible
//! document, and the other versions are stored beside it (`versions`), together with documents that
//! are hidden by a unique key (`unique_claims`), until no concurrent write can exist any more
//! (`prune`).
//!
//! A document has the same text in every region, including its resource id, entity tag and
//! timestamp; only its position in the change feed is local. The conflict rules are in
//! `orrery_regions`. This module has no network links: a driver moves records from the
//! [`StreamReader`] of one store to [`crate::Store::submit_merge`] of another, in the order that
//! `orrery_regions::Mesh` determines.

mod access;
mod account;
mod child_partitions;
mod codec;
mod conflicts;
mod local_write;
mod merge;
mod merge_commit;
mod prune;
mod region;
mod region_state;
mod resolve;
mod rids;
mod stream_reader;
mod unique_claims;
mod versioned_item;
mod versions;
mod versions_filter;

pub use access::{AccessTable, KeyAccess, KeyRange};
pub use account::{AccountOutcome, account_data};
pub use child_partitions::{supersession_changes, supersession_removals};
pub use conflicts::{StoredConflict, StoredVersion};
pub use merge_commit::MergeError;
pub use resolve::ConflictDecision;
pub use stream_reader::{StreamRead, StreamReader};

pub(crate) use access::SharedAccessTable;
pub(crate) use account::{AccountChange, CHANGED_KEY, apply_account, last_changed};
pub(crate) use codec::{
    decode_progress, decode_stream_header, encode_progress, encode_stream_header,
};
pub(crate) use local_write::{finish_local_write, replace_versions};
pub(crate) use merge::{MergedRecord, apply_merged};
pub(crate) use merge_commit::items_of;
pub(crate) use prune::Horizon;
pub(crate) use region_state::{
    MultiWriteRegion, REGION_KEY, StreamHeader, VersionIdAllocator, advance_progress,
    change_progress, check_region, put_copied, put_progress, put_region, read_progress,
};
pub(crate) use resolve::visible_value;
pub(crate) use rids::{next_rids_from, region_of, rid_of_region, rows_of, rows_range, sequence_of};
pub(crate) use unique_claims::decode as decode_claims;
pub(crate) use versions::VersionsRow;
pub(crate) use versions_filter::VersionsFilter;
