//! The map of many small keys, in front of the engine.
//!
//! An item brings a dozen index entries, each to another place of a large map. In the engine's
//! memtable every one of them is a search through cold memory, and these searches were half of what
//! a write cost. Here the entries of a batch become one sorted [`Run`]; runs are merged with their
//! equals, which reads and writes memory in order; and what has gathered becomes tables of the engine
//! at once.
//!
//! ```text
//! batch -> run ------merged------> runs in memory ------written out------> tables of the engine
//!            \-> a row beside the rest of the batch ------removed after that
//! ```
//!
//! The row keeps a run over a restart. A run that was written out and whose row was not yet removed
//! is read again at the next start, in front of its own entries, and changes nothing.

mod front;
mod pending;
mod range;
mod recent;
mod run;

pub(crate) use front::{Front, Row, View};
pub(crate) use range::{Merge, RunsRange};
pub(crate) use run::Run;
