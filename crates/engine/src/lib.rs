//! The account: catalogue, routing, feeds and queries over partitions, background work.
//!
//! The engine takes and returns plain types of `model`: no HTTP, no protocol text. This layer is
//! the first one with `async`, because a write waits for its commit group. A read waits only for
//! the disk.

mod background;
mod bulk;
mod catalogue;
mod catalogue_rows;
mod change_feed;
mod change_feed_position;
mod clock;
mod containers;
mod continuation;
mod current_catalogue;
mod databases;
mod engine;
mod feed;
mod items;
mod multi_write;
mod offers;
mod order_by_check;
mod out_of_memory;
mod partitions;
mod query;
mod replication;
mod resources;
mod scripts;
mod throughput;
mod users;

pub use catalogue::{Catalogue, ContainerEntry, DatabaseEntry, UserEntry};
pub use change_feed::{ChangeFeedPage, ChangeFeedRequest, ChangeFeedStart};
pub use clock::{Clock, SystemClock};
pub use containers::NewContainer;
pub use continuation::unreadable_continuation;
pub use engine::{Engine, EngineOptions};
pub use feed::{FeedPage, FeedRequest, FeedScope};
pub use multi_write::{AccountStreamWriter, Conflict, ConflictOperation, ConflictsPage};
pub use orrery_index::IndexUsage;
pub use orrery_model::{Script, ScriptKind, TriggerOperation, TriggerSettings, TriggerTiming};
pub use orrery_partition::{
    AccessTable, AccountOutcome, ApplyAfter, ChangeKind, ChangeMode, CheckReport, Container,
    CounterStatus, Counters, Durability, Error as StoreError, HotKey, ItemChange, KeyAccess,
    KeyRange, LogRecord, MaintenanceOptions, MergeError, MeterReport, OnPanic, Partition, Position,
    ReplicationError, ScrubReport, SnapshotChunk, SnapshotInstaller, SnapshotStream, StoreStatus,
    StreamRead, StreamReader, Subscription, SubscriptionRead, check as check_directory,
};
pub use orrery_script::{AbandonedThreads, ScriptOptions, lower_thread_priority};
pub use out_of_memory::out_of_memory;
pub use partitions::{PartitionLimits, SplitMethod};
pub use query::{
    CompiledQuery, QueryCacheCounts, QueryLaneCounts, QueryReport, QueryText, ResumeAt, query_plan,
};
pub use replication::ReplicationRole;
pub use resources::query_resources;
pub use scripts::{
    ContainerScripts, NewScript, ProcedureRequest, ProcedureResponse, TriggerNames,
    TriggeredOutcome,
};
pub use throughput::{
    ContainerThroughput, Metering, PartitionThroughput, ReadBudget, RequestBudget, ThroughputKind,
    ThroughputMode, ThroughputOptions,
};
pub use users::NewPermission;
