//! Partition keys, effective partition keys (EPK), key ranges, resource ids, sortable encodings.
//!
//! A document's partition key decides where the document lives: the key is hashed to an EPK, and
//! each physical partition owns one range of EPKs. The hashes are part of the protocol, because
//! clients compute them too; they are pinned by `tests/data/epk-vectors.json`.
//!
//! This crate knows nothing of containers, policies or storage engines: it does no I/O and holds
//! no clock.

mod component;
mod definition;
mod epk;
mod hash_v1;
mod hash_v2;
mod murmur;
mod partition_key;
mod range;
mod rid;
mod sortable;
mod storage_prefix;
#[cfg(test)]
mod vectors;

pub use component::Component;
pub use definition::{DefinitionError, KeyDefinition, KeyKind, KeyVersion};
pub use epk::{Epk, EpkError};
pub use partition_key::{KeyError, PartitionKey};
pub use range::EpkRange;
pub use rid::{
    ChildKind, ChildRid, ContainerRid, DatabaseRid, ItemRid, OfferRid, PartitionKeyRangeRid,
    PermissionRid, RidError, UserRid, is_database_rid, write_item_rid,
};
pub use sortable::{
    number_from_sortable, read_sortable_bytes, sortable_number, write_sortable_bytes,
};
