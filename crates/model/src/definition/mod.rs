//! The settings of a container, as clients write them. Each setting is checked once, and defaults
//! are filled in.
//!
//! Each file has one policy. A policy parses itself from the JSON of a create or replace body and
//! prints itself back; the printed form is both the answer to the client and the form on disk.

mod change_feed;
mod composite;
mod computed;
mod conflict;
mod container;
mod coverage;
pub(crate) mod fields;
mod full_text;
mod geospatial;
mod index_path;
mod indexing;
mod partition_key;
mod spatial;
#[cfg(test)]
mod tests;
mod ttl;
mod unique_keys;
mod vector;
mod verbatim_path;

pub use change_feed::ChangeFeedPolicy;
pub use composite::{CompositePath, SortOrder};
pub use computed::ComputedProperty;
pub use conflict::ConflictPolicy;
pub use container::ContainerDefinition;
pub use coverage::DocumentStep;
pub use full_text::{FullTextPath, FullTextPolicy};
pub use geospatial::Geospatial;
pub use index_path::{IndexPath, IndexScope, IndexStep};
pub use indexing::{IndexingMode, IndexingPolicy};
pub use partition_key::PartitionKeySetting;
pub use spatial::{BoundingBox, SpatialIndex, SpatialType};
pub use unique_keys::UniqueKey;
pub use vector::{
    DistanceFunction, Quantizer, VectorDataType, VectorEmbedding, VectorIndex, VectorIndexKind,
};
pub use verbatim_path::VerbatimPath;
