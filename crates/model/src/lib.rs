//! Databases, containers, policies, offers, users; typed operations, outcomes, failures; limits; charges.
//!
//! The words every layer above shares. Nothing here does I/O, holds a clock, or knows HTTP.

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

pub use account::{AccountKeys, KeyRole, Secret, WELL_KNOWN_KEY};
pub use address::{ContainerAddress, DatabaseAddress, ItemAddress, PermissionAddress, UserAddress};
pub use charge::{Charge, QueryWork, ReadWork, WriteWork};
pub use consistency::ConsistencyLevel;
pub use definition::{
    BoundingBox, CompositePath, ComputedProperty, ConflictPolicy, ContainerDefinition,
    DistanceFunction, FullTextPath, FullTextPolicy, Geospatial, IndexPath, IndexScope, IndexStep,
    IndexingMode, IndexingPolicy, PartitionKeySetting, PlaceStep, Quantizer, SortOrder,
    SpatialIndex, SpatialType, UniqueKey, VectorDataType, VectorEmbedding, VectorIndex,
    VectorIndexKind, WrittenPath,
};
pub use distribution::{Distribution, DistributionChange, Division, ThroughputBucket};
pub use document::{Document, check_item_id, check_resource_id};
pub use failure::{ConflictKind, Failure, GoneKind, NotFoundKind};
pub use offer::{Migrate, Offer};
pub use operation::{IndexingDirective, Operation, OperationKind, Precondition};
pub use outcome::{Answer, Lsn, OperationOutcome, OperationStatus, RangeId, Stamp};
pub use patch::{Patch, PatchAction, PatchOperation, Pointer};
pub use quota::{CONTAINER_KILOBYTES_STATED, QUOTA_TEXT, usage_text};
pub use resource::{Database, Etag, Permission, PermissionMode, User};
pub use script::{Script, ScriptKind, TriggerOperation, TriggerSettings, TriggerTiming};
pub use session::{Session, SessionVector};
pub use throughput::{OwnerUsage, PriorityLevel, Throughput};
