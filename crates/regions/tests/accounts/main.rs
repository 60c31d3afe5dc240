//! Cases with a few regions, step by step.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod account;
mod failed_storage;
mod fencing;
mod unheard;
