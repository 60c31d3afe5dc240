//! Cases of a few regions, told step by step.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod account;
mod fencing;
mod unfit;
mod unheard;
