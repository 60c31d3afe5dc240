//! Conjunctions and disjunctions in flat form, without terms that other terms imply.

use super::ImpliedPredicate;
use super::range::{self, Ranges};
use crate::predicate::{DocumentPath, Predicate, ValueRange};

/// All conditions hold.
pub(super) fn all(terms: Vec<ImpliedPredicate>) -> ImpliedPredicate {
    let mut is_exact = true;
    let mut kept: Vec<Predicate> = Vec::new();
    for term in terms {
        if term.predicate == Predicate::Nothing {
            return ImpliedPredicate::FALSE;
        }
        is_exact &= term.is_exact;
        for predicate in parts_of_and(term.predicate) {
            match conjoin(&mut kept, predicate) {
                Conjunction::Exactly => {}
                Conjunction::Vaguely => is_exact = false,
                Conjunction::Nowhere => return ImpliedPredicate::FALSE,
            }
        }
    }
    // The flags are computed before the removal, because each check compares with all terms.
    let implied: Vec<bool> = kept.iter().map(|one| is_implied(one, &kept)).collect();
    let mut implied = implied.into_iter();
    kept.retain(|_| !implied.next().unwrap_or_default());
    ImpliedPredicate {
        predicate: one_or(kept, Predicate::Anything, Predicate::And),
        is_exact,
    }
}

/// At least one condition holds.
pub(super) fn any(terms: Vec<ImpliedPredicate>) -> ImpliedPredicate {
    let mut is_exact = true;
    let mut kept: Vec<Predicate> = Vec::new();
    for term in terms {
        if term.predicate == Predicate::Anything {
            if term.is_exact {
                return ImpliedPredicate::TRUE;
            }
            is_exact = false;
        }
        is_exact &= term.is_exact;
        for predicate in parts_of_or(term.predicate) {
            disjoin(&mut kept, predicate);
        }
    }
    // A disjunction with an unrestricted term restricts nothing.
    if kept.contains(&Predicate::Anything) {
        kept = vec![Predicate::Anything];
    }
    ImpliedPredicate {
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

/// The effect of a further term on a conjunction.
enum Conjunction {
    Exactly,
    Vaguely,
    Nowhere,
}

/// Adds a term; intersects the ranges of a path that has a single value. An array path cannot be
/// intersected: different elements may satisfy different terms.
fn conjoin(kept: &mut Vec<Predicate>, predicate: Predicate) -> Conjunction {
    if kept.contains(&predicate) {
        return Conjunction::Exactly;
    }
    if let Predicate::Value { path, ranges } = &predicate
        && !path.is_multiple()
        && let Some(known) = ranges_of(kept, path)
        && let Some(shared) = range::intersection(known, ranges)
    {
        if shared.list.is_empty() {
            return Conjunction::Nowhere;
        }
        *known = shared.list;
        return if shared.is_exact {
            Conjunction::Exactly
        } else {
            Conjunction::Vaguely
        };
    }
    kept.push(predicate);
    Conjunction::Exactly
}

/// Adds a term; unites the ranges of equal paths.
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

/// The ranges of the term that restricts exactly this path.
fn ranges_of<'a>(
    kept: &'a mut [Predicate],
    path: &DocumentPath,
) -> Option<&'a mut Vec<ValueRange>> {
    kept.iter_mut().find_map(|term| match term {
        Predicate::Value { path: of, ranges } if of == path => Some(ranges),
        _ => None,
    })
}

/// Whether a term only requires that a value exists, while another term restricts the same value or
/// a part of it.
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
