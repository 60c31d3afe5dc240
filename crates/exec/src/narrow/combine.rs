//! Conjunction and disjunction, flat and without what the other terms say already.

use super::Narrow;
use super::range::{self, Ranges};
use crate::predicate::{DocumentPath, Predicate, ValueRange};

/// All conditions hold.
pub(super) fn all(terms: Vec<Narrow>) -> Narrow {
    let mut is_exact = true;
    let mut kept: Vec<Predicate> = Vec::new();
    for term in terms {
        if term.predicate == Predicate::Nothing {
            return Narrow::FALSE;
        }
        is_exact &= term.is_exact;
        for predicate in parts_of_and(term.predicate) {
            match conjoin(&mut kept, predicate) {
                Conjoined::Exactly => {}
                Conjoined::Vaguely => is_exact = false,
                Conjoined::Nowhere => return Narrow::FALSE,
            }
        }
    }
    let implied: Vec<bool> = kept.iter().map(|one| is_implied(one, &kept)).collect();
    let mut implied = implied.into_iter();
    kept.retain(|_| !implied.next().unwrap_or_default());
    Narrow {
        predicate: one_or(kept, Predicate::Anything, Predicate::And),
        is_exact,
    }
}

/// Some condition holds.
pub(super) fn any(terms: Vec<Narrow>) -> Narrow {
    let mut is_exact = true;
    let mut kept: Vec<Predicate> = Vec::new();
    for term in terms {
        if term.predicate == Predicate::Anything {
            if term.is_exact {
                return Narrow::TRUE;
            }
            is_exact = false;
        }
        is_exact &= term.is_exact;
        for predicate in parts_of_or(term.predicate) {
            disjoin(&mut kept, predicate);
        }
    }
    if kept.contains(&Predicate::Anything) {
        kept = vec![Predicate::Anything];
    }
    Narrow {
        predicate: one_or(kept, Predicate::Nothing, Predicate::Or),
        is_exact,
    }
}

fn one_or(
    mut kept: Vec<Predicate>,
    none: Predicate,
    several: fn(Vec<Predicate>) -> Predicate,
) -> Predicate {
    match kept.len() {
        0 => none,
        1 => kept.remove(0),
        _ => several(kept),
    }
}

fn parts_of_and(predicate: Predicate) -> Vec<Predicate> {
    match predicate {
        Predicate::Anything => Vec::new(),
        Predicate::And(terms) => terms,
        term => vec![term],
    }
}

fn parts_of_or(predicate: Predicate) -> Vec<Predicate> {
    match predicate {
        Predicate::Nothing => Vec::new(),
        Predicate::Or(terms) => terms,
        term => vec![term],
    }
}

enum Conjoined {
    Exactly,
    Vaguely,
    Nowhere,
}

/// Adds a term; ranges of a path that has one value are intersected.
fn conjoin(kept: &mut Vec<Predicate>, predicate: Predicate) -> Conjoined {
    if kept.contains(&predicate) {
        return Conjoined::Exactly;
    }
    if let Predicate::Value { path, ranges } = &predicate
        && !path.is_multiple()
        && let Some(known) = ranges_of(kept, path)
        && let Some(shared) = range::intersection(known, ranges)
    {
        if shared.list.is_empty() {
            return Conjoined::Nowhere;
        }
        *known = shared.list;
        return if shared.is_exact {
            Conjoined::Exactly
        } else {
            Conjoined::Vaguely
        };
    }
    kept.push(predicate);
    Conjoined::Exactly
}

/// Adds a term; ranges of one path are put together.
fn disjoin(kept: &mut Vec<Predicate>, predicate: Predicate) {
    if kept.contains(&predicate) {
        return;
    }
    if let Predicate::Value { path, ranges } = &predicate
        && let Some(known) = ranges_of(kept, path)
    {
        let sets = [std::mem::take(known), ranges.clone()].map(Ranges::exactly);
        *known = range::union(sets).list;
        return;
    }
    kept.push(predicate);
}

fn ranges_of<'a>(
    kept: &'a mut [Predicate],
    path: &DocumentPath,
) -> Option<&'a mut Vec<ValueRange>> {
    kept.iter_mut().find_map(|term| match term {
        Predicate::Value { path: of, ranges } if of == path => Some(ranges),
        _ => None,
    })
}

/// That a value is there says nothing beside a term about the value or a part of it.
fn is_implied(term: &Predicate, terms: &[Predicate]) -> bool {
    let Predicate::Value { path, ranges } = term else {
        return false;
    };
    *ranges == [ValueRange::Defined]
        && terms.iter().any(|other| match other {
            Predicate::Value { path: of, .. } | Predicate::Spatial { path: of, .. } => {
                other != term && of.0.starts_with(&path.0)
            }
            _ => false,
        })
}
