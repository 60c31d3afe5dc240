//! What each level promises, over many seeds.

use std::collections::BTreeMap;

use orrery_regions::Consistency;

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

/// The worlds of the ordinary run are not kind: everything that the rules are for happens in them.
#[test]
fn worlds_have_everything_happen() {
    let mut happened = BTreeMap::new();
    for seed in 0..100 {
        for level in [Consistency::Strong, Consistency::Session] {
            let history = world::run(Plan::new(seed, level)).unwrap();
            for (what, times) in history.happened {
                *happened.entry(what).or_insert(0) += times;
            }
        }
    }
    for what in [
        "a broken write region stepped down",
        "a hand over was asked for",
        "a log was cut",
        "a session was lost",
        "a snapshot was installed",
        "a state was ahead of its log",
        "a state was set aside",
        "a state went back",
        "an epoch began",
        "members changed",
        "records came unasked",
        "regions were taken offline",
    ] {
        assert!(happened.contains_key(what), "{what}: never in {happened:?}");
    }
}

#[test]
fn strong_accounts_are_linearisable_and_lose_nothing() {
    for seed in seeds(2 * SEEDS) {
        check(Plan::new(seed, Consistency::Strong), |history| {
            linearisable(history)?;
            session(history)?;
            durable(history, Loss::Nothing)
        });
    }
}

#[test]
fn bounded_accounts_stay_within_their_bound() {
    for seed in seeds(2 * SEEDS) {
        check(Plan::new(seed, Consistency::Bounded(BOUND)), |history| {
            bounded(history, BOUND)?;
            session(history)?;
            durable(history, Loss::HandedOut)
        });
    }
}

#[test]
fn sessions_hold_and_losses_are_handed_out() {
    for seed in seeds(SEEDS) {
        for level in [
            Consistency::Session,
            Consistency::ConsistentPrefix,
            Consistency::Eventual,
        ] {
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
            ..Plan::new(seed, Consistency::Session)
        };
        check(plan, |history| {
            session(history)?;
            durable(history, Loss::Nothing)
        });
    }
}
