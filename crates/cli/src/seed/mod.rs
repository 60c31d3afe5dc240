//! `--seed`: databases, containers and items that a server starts with.
//!
//! The format is described in docs/seed.md. [`format`](self::format) reads a whole file before
//! [`load`] writes anything, so that a typo does not leave half of it behind; the rest goes the way
//! of any other write.

mod format;
mod load;

pub(crate) use load::load;
