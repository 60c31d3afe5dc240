//! The JavaScript sandbox: stored procedures, triggers and functions behind a `Host` trait.
//!
//! A [`Runtime`] owns threads that run scripts. Each script runs in a fresh engine with its own
//! heap, so that no effect of a script outlives its run or reaches another script.
//! [`ScriptOptions`] limits the time, memory, stack, response, log and exchanged values of a run; a
//! run borrows its memory from the share of its client. A script reaches the database only through
//! the [`Host`] that the caller submitted with it. Functions of queries have no host and run in a
//! [`FunctionSession`].
//!
//! This crate knows no partitions, transactions, charges or protocol. It does no I/O, and its
//! caller supplies the clock. The caller also makes sure that a failed run leaves no effect: it
//! receives the host together with the error and drops the writes that the host has collected.

mod answer;
mod arguments;
mod bridge;
mod budget;
mod bytecode;
mod cache;
mod compile;
mod convert;
mod copy_counter;
mod error;
mod exception;
mod fiber;
mod heap;
mod host;
mod job;
mod links;
mod memory_account;
mod natives;
mod options;
mod plain;
mod pool;
mod priority;
mod run;
mod runtime;
mod sandbox;
mod session;
mod stack;
mod submission;
mod texts;

pub use budget::Clock;
pub use error::{ScriptError, ScriptException};
pub use host::{
    CollectionSize, DocumentRef, FeedPage, Host, HostError, IndexAction, JsonText, PageRequest,
    ReadDocument, ScriptQuery, SpatialFunction, WriteOptions,
};
pub use job::{Job, JobKind, PostTriggerResponse, ScriptOutcome, TriggerOperation};
pub use options::ScriptOptions;
pub use pool::AbandonedThreads;
pub use priority::lower_thread_priority;
pub use runtime::Runtime;
pub use session::FunctionSession;
