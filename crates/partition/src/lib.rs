//! The store of physical partitions: documents, unique keys, TTL, transactions, and the commit
//! path.
//!
//! A partition is a state machine fed by the log. A transaction reads the state, decides, and
//! produces one [`record`]. Many records share one append and one sync. [`apply`] turns a record
//! into changes of the state, identically at run time and at replay. [`committer`] describes the
//! order of these steps and why no reader sees data that is not durable.
//!
//! Other crates map keys to partitions and manage databases (`engine`), and define headers and
//! status codes (`wire`). The clock is outside as well: times arrive with requests.

mod apply;
mod apply_after;
mod background_steps;
mod changes;
mod check;
mod check_log;
mod check_rows;
mod command;
mod committer;
mod container;
mod counters;
mod data_directory;
mod disk_monitor;
mod document_key;
mod error;
mod expiry;
mod feed_entry;
mod first_lsn;
mod following;
mod group;
mod health;
mod history;
mod in_flight_groups;
mod in_flight_overlay;
mod index_bounds;
mod index_state;
mod indexing;
mod keyspaces;
mod log_loss;
mod log_refusal;
mod log_tail;
mod maintenance;
mod meter;
mod multi_write;
mod note;
mod overlay;
mod oversized_partition;
mod patch;
mod planner_facts;
mod prepare;
mod purge;
mod record;
mod record_json;
mod reindex;
mod repartitioning;
mod replay;
mod replicate;
mod retention;
mod sample;
mod scan;
mod script_transaction;
mod scrub;
mod snapshot_install;
mod snapshot_stream;
mod statistics;
mod store;
mod store_steps;
mod store_threads;
mod stored_item;
mod subscription;
mod transaction;
mod uncommitted;
mod unique;
mod view;
mod watches;
mod work;
mod write;

pub use apply_after::ApplyAfter;
pub use changes::{ChangeMode, ChangeReader, ItemChange};
pub use check::{CheckReport, check};
pub use command::{LogWrapper, Reply, TransactionOutcome};
pub use container::{Container, FormerRange, Partition};
pub use counters::{CounterStatus, Counters};
pub use document_key::LogicalPartition;
pub use error::Error;
pub use expiry::ExpiryCandidate;
pub use first_lsn::{FIRST as FIRST_LSN_OF_NEW, first_lsn_change, lsn_beyond};
pub use health::StoreStatus;
pub use history::{ChangeKind, history_change, history_removal};
pub use index_state::{ContainerIndex, IndexPolicyState, policy_change, policy_removal};
pub use log_tail::LogRecord;
pub use maintenance::{MaintenanceOptions, OnPanic};
pub use meter::{HotKey, Meter, MeterReport, Rates, Reservation, ThroughputBudget};
pub use multi_write::{
    AccessTable, AccountOutcome, ConflictDecision, KeyAccess, KeyRange, MergeError, StoredConflict,
    StoredVersion, StreamRead, StreamReader, account_data, supersession_changes,
    supersession_removals,
};
pub use note::{note_of, note_record};
pub use orrery_log::{CommitLog, CommitStatus, Position};
pub use oversized_partition::OversizedRecount;
pub use prepare::{OperationContext, PreparedOperation, prepare};
pub use record_json::{record_json_lines, stream_record_json_lines};
pub use repartitioning::{ChildPartition, Correction, PartitionRecount, Repartitioning};
pub use replicate::{AppliedRecords, CatalogueState, CommitObserver, ReplicationError};
pub use sample::Sample;
pub use scan::{ScanRange, ScannedItem, Visit};
pub use script_transaction::{ScriptCommit, ScriptContext, ScriptTransaction};
pub use scrub::ScrubReport;
pub use snapshot_install::SnapshotInstaller;
pub use snapshot_stream::{SnapshotChunk, SnapshotStream};
pub use store::{Durability, Store, StoreOptions};
pub use store_steps::{StepOutcome, StoreSteps};
pub use stored_item::StoredItem;
pub use subscription::{Subscription, SubscriptionRead};
pub use transaction::ItemTransaction;
pub use uncommitted::StorePositions;
pub use view::{DocumentSetCursor, EntryFlow, EntryPosition, ScannedEntry, View, ViewStatistics};
