//! Databases, containers, policies, offers, users; typed operations, outcomes, failures; limits; charges.
//!
//! This crate is the vocabulary of every layer above. It does no I/O, reads no clock and knows no
//! HTTP.

mod account;
mod address;
mod charge;
mod consistency;
mod definition;
mod distribution;
mod document;
mod failure;
pub mod limits;
mod offer;
mod operation;
mod outcome;
mod patch;
mod quota;
mod resource;
mod script;
mod session;
mod throughput;

pub use account::{AccountKeyRole, AccountKeys, Secret, WELL_KNOWN_KEY};
pub use address::{ContainerAddress, DatabaseAddress, ItemAddress, PermissionAddress, UserAddress};
pub use charge::{Charge, QueryWork, ReadWork, WriteWork};
pub use consistency::ConsistencyLevel;
pub use definition::{
    BoundingBox, ChangeFeedPolicy, CompositePath, ComputedProperty, ConflictPolicy,
    ContainerDefinition, DistanceFunction, DocumentStep, FullTextPath, FullTextPolicy, Geospatial,
    IndexPath, IndexScope, IndexStep, IndexingMode, IndexingPolicy, PartitionKeySetting, Quantizer,
    SortOrder, SpatialIndex, SpatialType, UniqueKey, VectorDataType, VectorEmbedding, VectorIndex,
    VectorIndexKind, VerbatimPath,
};
pub use distribution::{
    DistributionChange, PartitionShares, ThroughputBucket, ThroughputDistribution,
};
pub use document::{Document, check_item_id, check_resource_id, parse_item};
pub use failure::{ConflictKind, Failure, GoneKind, NotFoundKind};
pub use offer::{Offer, ThroughputMigration};
pub use operation::{IndexingDirective, Operation, OperationKind, Precondition};
pub use outcome::{ChargedResult, Lsn, OperationOutcome, OperationStatus, PartitionLsn, RangeId};
pub use patch::{JsonPointer, Patch, PatchAction, PatchOperation};
pub use quota::{
    CONTAINER_KILOBYTES_STATED, QUOTA_TEXT, SCRIPT_QUOTA_TEXT, script_usage_text, usage_text,
};
pub use resource::{Database, Etag, Permission, PermissionMode, User};
pub use script::{Script, ScriptKind, TriggerOperation, TriggerSettings, TriggerTiming};
pub use session::{RegionSession, SessionVector};
pub use throughput::{OwnerUsage, PriorityLevel, Throughput};
