//! What each level promises, over many seeds.

use orrery_regions::Level;

use crate::check::{Loss, Verdict, bounded, converged, durable, linearisable, prefix, session};
use crate::history::History;
use crate::plan::{BOUND, Failovers, Plan};
use crate::{seeds, world};

const SEEDS: u64 = 300;

fn check(plan: Plan, checks: impl Fn(&History) -> Verdict) {
    let result = world::run(plan).and_then(|history| {
        checks(&history)?;
        prefix(&history)?;
        converged(&history)
    });
    if let Err(problem) = result {
        let seed = plan.seed;
        panic!(
            "{problem}\n{plan:?}\nORRERY_SEED={seed} cargo test -p orrery-regions --test simulation"
        );
    }
}

#[test]
fn strong_accounts_are_linearisable_and_lose_nothing() {
    for seed in seeds(2 * SEEDS) {
        check(Plan::new(seed, Level::Strong), |history| {
            linearisable(history)?;
            session(history)?;
            durable(history, Loss::Nothing)
        });
    }
}

#[test]
fn bounded_accounts_stay_within_their_bound() {
    for seed in seeds(2 * SEEDS) {
        check(Plan::new(seed, Level::Bounded(BOUND)), |history| {
            bounded(history, BOUND)?;
            session(history)?;
            durable(history, Loss::HandedOut)
        });
    }
}

#[test]
fn sessions_hold_and_losses_are_handed_out() {
    for seed in seeds(SEEDS) {
        for level in [Level::Session, Level::ConsistentPrefix, Level::Eventual] {
            check(Plan::new(seed, level), |history| {
                session(history)?;
                durable(history, Loss::HandedOut)
            });
        }
    }
}

#[test]
fn planned_failovers_lose_nothing() {
    for seed in seeds(SEEDS) {
        let plan = Plan {
            failovers: Failovers::Planned,
            ..Plan::new(seed, Level::Session)
        };
        check(plan, |history| {
            session(history)?;
            durable(history, Loss::Nothing)
        });
    }
}
