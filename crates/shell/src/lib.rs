//! The shell: a terminal client to any endpoint that speaks the protocol.
//!
//! It is a client like any other and knows the server only through REST: nothing of `wire`, nothing of
//! engines. `orrery explain` uses its client too. Statements are read by an editor or from a script,
//! become one [`statement::Statement`] each, and run against one [`session::Session`]. No connection is
//! made before a statement needs one.

mod account;
mod arguments;
mod caret;
mod changes;
mod client;
mod connection;
mod editor;
mod error;
mod explain;
mod functions;
mod help;
mod interactive;
mod key_values;
mod output;
mod places;
mod profile;
mod query;
mod run;
mod script;
mod session;
mod split;
mod statement;
mod summary;
mod watch;
mod words;

pub use arguments::ShellArguments;
pub use client::{Client, Endpoint, Key, Operator, TrustArguments};
pub use error::Error;
pub use explain::{Plan, page_text};
pub use key_values::KeyValues;
pub use query::{Page, Query};
pub use run::shell;
