//! The account: catalogue, routing, feeds and queries over partitions, background work.
//!
//! Takes and gives the plain types of `model`: no HTTP, no protocol text. `async` begins here,
//! because a write waits for its group; reads do not wait for anything but the disk.

mod background;
mod catalogue;
mod clock;
mod containers;
mod continuation;
mod databases;
mod engine;
mod entries;
mod feed;
mod items;
mod offers;
mod order_rules;
mod query;
mod resources;
mod scripts;
mod throughput;
mod users;

pub use catalogue::{Catalogue, ContainerEntry, DatabaseEntry, UserEntry};
pub use clock::{Clock, SystemClock};
pub use containers::NewContainer;
pub use engine::{Engine, EngineOptions};
pub use feed::{FeedPage, FeedRequest, Scope};
pub use orrery_index::IndexUsage;
pub use orrery_model::{Script, ScriptKind, TriggerOperation, TriggerSettings, TriggerTiming};
pub use orrery_partition::{
    CheckReport, Container, Counters, Durability, Error as StoreError, HotKey, MeterReport,
    Partition, check as check_directory,
};
pub use orrery_script::ScriptOptions;
pub use query::{CompiledQuery, QueryReport, QueryText, ResumeAt, query_plan};
pub use resources::query_resources;
pub use scripts::{ContainerScripts, Executed, NewScript, ProcedureRequest, Triggers};
pub use throughput::{
    ContainerThroughput, Metering, PartitionThroughput, Terms, ThroughputKind, ThroughputMode,
    ThroughputOptions,
};
pub use users::NewPermission;
