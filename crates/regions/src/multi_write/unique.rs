//! Unique keys across regions: different items that claim the same value in concurrent writes.
//!
//! The visible items follow from the current versions alone: items are taken from the highest
//! precedence to the lowest, and an item is visible if no earlier item has taken one of its values.
//! So all regions agree before the hub decides. The hub then deletes the hidden items with ordinary
//! writes, so that a hidden item does not reappear when the winner is deleted.

use std::collections::BTreeSet;

use super::siblings::{SiblingVersion, precedence};

/// The items to hide, among the current items of one logical partition that are connected by
/// claims. Each item comes with the version that readers would otherwise see.
pub fn unique_key_losers<'a, I: Ord + Clone, B: 'a>(
    items: impl IntoIterator<Item = (I, &'a SiblingVersion<B>)>,
) -> BTreeSet<I> {
    let mut items: Vec<(I, &SiblingVersion<B>)> = items.into_iter().collect();
    items.sort_by(|left, right| precedence(right.1, left.1).then_with(|| left.0.cmp(&right.0)));
    let mut taken = BTreeSet::new();
    let mut hidden = BTreeSet::new();
    for (item, version) in items {
        if version
            .unique_claims
            .iter()
            .any(|claim| taken.contains(claim))
        {
            hidden.insert(item);
        } else {
            taken.extend(version.unique_claims.iter().copied());
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RegionId, Sequence, VersionId, VersionKind};

    #[test]
    fn the_best_claim_is_shown_and_frees_what_it_hides() {
        let version = |origin, number, claims: &[u64]| SiblingVersion {
            id: VersionId {
                origin: RegionId(origin),
                sequence: Sequence(1),
            },
            change: VersionKind::Put(number),
            etag: 0,
            deciding_epoch: None,
            unique_claims: claims.to_vec(),
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
            let found = unique_key_losers(items.iter().enumerate());
            assert_eq!(found.into_iter().collect::<Vec<_>>(), hidden);
        }
    }
}
