//! The account: catalogue, routing, feeds and queries over partitions, background work.
//!
//! Takes and gives the plain types of `model`: no HTTP, no protocol text. `async` begins here,
//! because a write waits for its group; reads do not wait for anything but the disk.

mod background;
mod catalogue;
mod changes;
mod clock;
mod containers;
mod continuation;
mod current;
mod databases;
mod engine;
mod entries;
mod exhausted;
mod feed;
mod following;
mod items;
mod multi;
mod offers;
mod order_rules;
mod partitions;
mod query;
mod resources;
mod scripts;
mod throughput;
mod users;

pub use catalogue::{Catalogue, ContainerEntry, DatabaseEntry, UserEntry};
pub use changes::{ChangesPage, ChangesRequest, ChangesStart};
pub use clock::{Clock, SystemClock};
pub use containers::NewContainer;
pub use engine::{Engine, EngineOptions};
pub use exhausted::out_of_memory;
pub use feed::{FeedPage, FeedRequest, Scope};
pub use following::Role;
pub use multi::{AccountWriter, Conflict, ConflictOperation, ConflictsPage};
pub use orrery_index::IndexUsage;
pub use orrery_model::{Script, ScriptKind, TriggerOperation, TriggerSettings, TriggerTiming};
pub use orrery_partition::{
    AccessTable, AccountOutcome, ChangeKind, ChangeMode, CheckReport, CommittedRecord, Container,
    Counters, Durability, Error as StoreError, Filling, HotKey, ItemChange, KeyAccess, KeyRange,
    MergeError, MeterReport, OnPanic, Partition, Piece, Position, ReplicationError, ScrubReport,
    Seen, SnapshotPiece, SnapshotStream, Standing, StoreStatus, StreamPiece, StreamReader,
    Subscription, Upkeep, check as check_directory,
};
pub use orrery_script::{LostThreads, ScriptOptions};
pub use partitions::{Cut, PartitionLimits};
pub use query::{
    CompiledQuery, QueryCacheCounts, QueryLaneCounts, QueryReport, QueryText, ResumeAt, query_plan,
};
pub use resources::query_resources;
pub use scripts::{ContainerScripts, Executed, NewScript, ProcedureRequest, Triggers, Written};
pub use throughput::{
    ContainerThroughput, Metering, PartitionThroughput, ReadTerms, Terms, ThroughputKind,
    ThroughputMode, ThroughputOptions,
};
pub use users::NewPermission;
