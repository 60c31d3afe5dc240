//! Partition keys, effective partition keys (EPK), key ranges, resource ids, sortable encodings.
//!
//! The partition key of a document determines its physical partition: the key is hashed to an EPK,
//! and each physical partition owns one range of EPKs. The hashes are part of the protocol, because
//! clients compute them too; `tests/data/epk-vectors.json` pins them.
//!
//! This crate has no notion of containers, policies or storage engines. It performs no I/O and
//! reads no clock.

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

pub use component::KeyComponent;
pub use definition::{
    DefinitionError, PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion,
};
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
