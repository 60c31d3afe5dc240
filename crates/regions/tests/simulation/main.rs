//! Runs whole accounts in a world without mercy and checks what each level promised.
//!
//! `ORRERY_SEED=n cargo test -p orrery-regions --test simulation` runs that seed alone in every
//! test; a failure names the test and the seed. `ORRERY_SEEDS=n` runs so many instead of few, from
//! `ORRERY_FIRST=n` on.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod bugs;
mod check;
mod clients;
mod history;
mod levels;
mod node;
mod operators;
mod plan;
mod random;
mod seeds;
mod world;

pub(crate) use seeds::seeds;
