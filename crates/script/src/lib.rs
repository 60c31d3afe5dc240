//! The JavaScript sandbox: stored procedures, triggers and functions behind a `Host` trait.
//!
//! A [`Runtime`] owns threads that run scripts, each in a fresh engine with its own heap, so that no
//! effect of a script outlives its run or reaches another script. Time, memory, stack, response, log
//! and the values that go in and out are bounded by [`ScriptOptions`]; memory is borrowed from the
//! client's share of it. A script reaches the database only through the [`Host`] that the caller
//! submitted with it; functions of queries have no host and run in a [`FunctionSession`].
//!
//! This crate knows no partitions, transactions, charges or protocol. It does no I/O and its clock
//! is passed to it. That a failed run leaves nothing behind is the caller's part: it gets the host
//! back with the error and drops what the host had gathered.

mod account;
mod answer;
mod arguments;
mod aside;
mod bridge;
mod budget;
mod bytecode;
mod cache;
mod compile;
mod convert;
mod crossing;
mod error;
mod heap;
mod host;
mod job;
mod links;
mod natives;
mod options;
mod plain;
mod pool;
mod priority;
mod run;
mod runtime;
mod sandbox;
mod session;
mod slot;
mod stack;
mod texts;
mod thrown;

pub use budget::Clock;
pub use error::{ScriptError, Thrown};
pub use host::{
    CollectionSize, DocumentRef, FeedPage, Host, HostError, IndexAction, JsonText, PageRequest,
    Query, ReadDocument, SpatialFunction, WriteOptions,
};
pub use job::{Job, JobKind, PostResponse, ScriptOutcome, TriggerOperation};
pub use options::ScriptOptions;
pub use pool::LostThreads;
pub use runtime::Runtime;
pub use session::FunctionSession;
