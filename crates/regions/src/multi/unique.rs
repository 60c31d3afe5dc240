//! Unique keys across regions: different items that claim the same value, each where the other was
//! not known.
//!
//! Which of them are shown follows from what stands and from nothing else: items are taken from the
//! best to the worst, and one is shown if nothing that it claims is taken. So all regions agree
//! before anybody decides. The hub then deletes what is not shown, as an ordinary write, so that it
//! does not come back when the winner goes.

use std::collections::BTreeSet;

use super::siblings::{Version, precedence};

/// The items that must not be shown, of those that stand in one logical partition and are connected
/// by claims. Each comes with its version that is shown otherwise.
pub fn clashes<'a, I: Ord + Clone, B: 'a>(
    items: impl IntoIterator<Item = (I, &'a Version<B>)>,
) -> BTreeSet<I> {
    let mut items: Vec<(I, &Version<B>)> = items.into_iter().collect();
    items.sort_by(|left, right| precedence(right.1, left.1).then_with(|| left.0.cmp(&right.0)));
    let mut taken = BTreeSet::new();
    let mut hidden = BTreeSet::new();
    for (item, version) in items {
        if version.claims.iter().any(|claim| taken.contains(claim)) {
            hidden.insert(item);
        } else {
            taken.extend(version.claims.iter().copied());
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, RegionId, Sequence, Stamp};

    #[test]
    fn the_best_claim_is_shown_and_frees_what_it_hides() {
        let version = |origin, number, claims: &[u64]| Version {
            stamp: Stamp {
                origin: RegionId(origin),
                sequence: Sequence(1),
            },
            change: Change::Put(number),
            etag: 0,
            decided: None,
            claims: claims.to_vec(),
            body: (),
        };
        for (items, hidden) in [
            (vec![version(0, 1.0, &[7]), version(1, 2.0, &[7])], vec![0]),
            (vec![version(0, 1.0, &[7]), version(1, 2.0, &[8])], vec![]),
            (vec![version(0, 1.0, &[7]), version(1, 1.0, &[7])], vec![1]),
            // The middle one loses to the best, so the worst keeps its claim.
            (
                vec![
                    version(0, 3.0, &[1]),
                    version(1, 2.0, &[1, 2]),
                    version(2, 1.0, &[2]),
                ],
                vec![1],
            ),
        ] {
            let found = clashes(items.iter().enumerate());
            assert_eq!(found.into_iter().collect::<Vec<_>>(), hidden);
        }
    }
}
