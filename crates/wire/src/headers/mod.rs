//! Headers of requests and responses.

mod header;
mod key_range;
pub mod names;
mod request;
mod response;
mod sdk_capabilities;
mod selection;
mod strategy;

pub(crate) use request::parse_indexing_directive;
pub use request::{BatchFlags, ChangeFeedMode, FeedPost, QueryFlags, RequestHeaders};
pub use response::{ContainerUsage, Owner, OwnerHeaders, ResponseHeaders};
pub use sdk_capabilities::SdkCapabilities;
pub use selection::Selection;
pub use strategy::ReadStrategy;
