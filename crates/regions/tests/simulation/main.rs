//! Runs whole accounts in a world without mercy and checks what each level promised.
//!
//! `ORRERY_SEED=n cargo test -p orrery-regions --test simulation` runs that seed alone in every
//! test; a failure names the test and the seed. `ORRERY_SEEDS=n` runs so many instead of few.

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
mod world;

/// The seeds of a test: few in the ordinary run, which should be short.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("seeds are numbers"))
    };
    match (number("ORRERY_SEED"), number("ORRERY_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => (0..count).collect(),
        (None, None) => (0..count).collect(),
    }
}
