//! The buffered keyspace: many small keys, gathered in memory in front of the engine.
//!
//! An item has a dozen index entries, each at a different position of a large keyspace. In the
//! engine's memtable every entry is a search through cold memory, and these searches were half the
//! cost of a write. Here the entries of a batch become one [`SortedRun`]. Runs are merged with runs
//! of equal size, which reads and writes memory sequentially, and a flush turns the gathered runs
//! into tables of the engine.
//!
//! ```text
//! batch -> run ------merged------> runs in memory ------written out------> tables of the engine
//!            \-> a row beside the rest of the batch ------removed after that
//! ```
//!
//! The row keeps a run over a restart. A crash between the flush of a run and the removal of its
//! row leaves the row behind. The next start reads that run again, in front of equal entries in the
//! tables, so the result is the same.

mod pending;
mod range;
mod recent;
mod run;
mod run_buffer;

pub(crate) use range::{MergeIterator, RunsRange};
pub(crate) use run::SortedRun;
pub(crate) use run_buffer::{PendingRun, ReadView, RunBuffer};
