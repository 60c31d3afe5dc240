//! The shell: a terminal client to any endpoint that speaks the protocol.
//!
//! The shell is a client like any other and knows the server only through REST: it uses nothing of
//! `wire` or of the engine. `orrery explain` uses the query client of the shell. An editor or a
//! script supplies statements; each becomes one [`statement::Statement`] and runs against one
//! [`session::ShellSession`]. The shell connects only when a statement needs the server.

mod account;
mod arguments;
mod caret;
mod changes;
mod connection;
mod editor;
mod error;
mod explain;
mod functions;
mod help;
mod interactive;
mod key_values;
mod output;
mod paths;
mod profile;
mod query;
mod run;
mod script;
mod session;
mod splitter;
mod statement;
mod summary;
mod watch;
mod words;

pub use arguments::ShellArguments;
pub use error::Error;
pub use explain::{Plan, page_text};
pub use key_values::KeyValues;
pub use query::{Page, Query};
pub use run::shell;
