//! One physical partition: documents, unique keys, TTL, transactions, and the commit path.
//!
//! A partition is a state machine fed by the log. A transaction reads the state, decides, and
//! becomes one [`record`]; many records share one append and one sync; [`apply`] turns a record
//! into changes of the state, the same way at run time and when the log is replayed. See
//! [`committer`] for the order of these steps and why nobody reads what is not durable.
//!
//! Leaves to others: which partition a key belongs to and what a database is (`engine`), headers
//! and status numbers (`wire`), the clock (times come in with requests).

mod apply;
mod authority;
mod beneath;
mod changes;
mod check;
mod check_log;
mod check_rows;
mod chores;
mod command;
mod committed;
mod committer;
mod container;
mod counters;
mod crowd;
mod data_directory;
mod document_key;
mod error;
mod expiry;
mod extents;
mod feed_entry;
mod filling;
mod following;
mod group;
mod guard;
mod health;
mod history;
mod index_state;
mod indexing;
mod known;
mod late_sync;
mod meter;
mod multi;
mod note;
mod overlay;
mod patch;
mod pending;
mod positions;
mod prepare;
mod purge;
mod record;
mod reindex;
mod replay;
mod replicate;
mod reshape;
mod retention;
mod room;
mod sample;
mod scan;
mod script_transaction;
mod scrub;
mod snapshot_stream;
mod spaces;
mod statistics;
mod store;
mod stored;
mod subscription;
mod told;
mod transaction;
mod under_way;
mod unique;
mod upkeep;
mod view;
mod watches;

pub use authority::{Authority, Verdict};
pub use changes::{ChangeMode, ChangeReader, ItemChange};
pub use check::{CheckReport, check};
pub use command::{Reply, TransactionOutcome};
pub use committed::CommittedRecord;
pub use container::{Container, Partition};
pub use counters::{Counters, Standing};
pub use crowd::UncountedCrowd;
pub use document_key::LogicalPartition;
pub use error::Error;
pub use expiry::Due;
pub use filling::Filling;
pub use health::StoreStatus;
pub use history::{ChangeKind, history_change, history_removal};
pub use index_state::{ContainerIndex, IndexFollows, policy_change, policy_removal};
pub use late_sync::Seen;
pub use meter::{Budget, Claim, HotKey, Meter, MeterReport, Rates};
pub use multi::{
    AccessTable, AccountOutcome, KeyAccess, KeyRange, MergeError, SettleItem, StoredConflict,
    StoredVersion, StreamPiece, StreamReader, account_data, retirement_changes,
    retirement_removals,
};
pub use note::{note_of, note_record};
pub use orrery_log::Position;
pub use pending::Reached;
pub use prepare::{Place, PreparedOperation, prepare};
pub use replicate::{Applied, CatalogueState, ReplicationError, Witness};
pub use reshape::{Correction, Heir, Reshape, Uncounted};
pub use sample::Sample;
pub use scan::{ScanRange, Scanned, Visit};
pub use script_transaction::{ScriptCommit, ScriptPlace, ScriptTransaction};
pub use scrub::ScrubReport;
pub use snapshot_stream::{SnapshotPiece, SnapshotStream};
pub use store::{Durability, Store, StoreOptions};
pub use stored::StoredItem;
pub use subscription::{Piece, Subscription};
pub use told::{tell_record, tell_stream_record};
pub use transaction::ItemTransaction;
pub use upkeep::{OnPanic, Upkeep};
pub use view::{Entry, EntryFlow, EntryPosition, PlaceWalk, View, ViewStatistics};
