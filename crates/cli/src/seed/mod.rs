//! `--seed`: databases, containers and items that a server starts with.
//!
//! The format is described in docs/seed.md. [`format`](self::format) reads a whole file before
//! [`load`] writes the first item, so that a typo does not leave a half-loaded seed; the items are
//! then written like the writes of any client.

mod format;
mod load;

pub(crate) use load::load;
