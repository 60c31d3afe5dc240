//! The choice of the next operation.
//!
//! The YCSB mixes are those of its core workloads, with three adaptations to the protocol: an
//! update replaces the whole item, because SDKs do so by default; a scan is one page of the item
//! feed of partition key range 0 (`x-ms-max-item-count` of 1 to 100 items), because a feed has no
//! start key; and inserts use fresh ids after the loaded ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::item_keys::ItemKeys;
use crate::operation::Operation;
use crate::random::Random;
use crate::zipfian::Zipfian;

pub(crate) const CONFLICT: u16 = 409;

const SCAN_ITEMS_MAX: u64 = 100;

/// A mix of operations. The numbers are the percentage of reads.
#[derive(Clone)]
pub(crate) enum Mix {
    /// Creates of the data set, each number once. The counter is shared by all connections.
    Load(Arc<AtomicU64>),
    ReadUniform,
    Create,
    UpsertUniform,
    /// Reads and upserts of uniform keys, half of each.
    ReadUpsert,
    QueryUniform,
    ReadReplace(u64),
    ReadLatestCreate(u64),
    ScanCreate(u64),
    ReadModifyWrite(u64),
}

/// The random choices of one connection.
pub(crate) struct Chooser {
    mix: Mix,
    keys: Arc<ItemKeys>,
    random: Random,
    hot: Zipfian,
    latest: Zipfian,
}

impl Chooser {
    pub(crate) fn new(mix: Mix, keys: Arc<ItemKeys>, random: Random) -> Self {
        let latest = match mix {
            // Preparing a distribution over all items is slow, so only the mix that needs it does.
            Mix::ReadLatestCreate(_) => Zipfian::new(keys.loaded()),
            _ => Zipfian::new(1),
        };
        Self {
            mix,
            keys,
            random,
            hot: Zipfian::scrambled_universe(),
            latest,
        }
    }

    /// The next operation, or `None` when the mix has no operations left.
    pub(crate) fn next(&mut self) -> Option<Operation> {
        let operation = match &self.mix {
            Mix::Load(next) => {
                // All connections share the counter, so that each number is loaded once.
                let number = next.fetch_add(1, Ordering::Relaxed);
                return (number < self.keys.loaded()).then_some(Operation::Create(number));
            }
            Mix::ReadUniform => Operation::Read(self.uniform()),
            Mix::Create => Operation::Create(self.keys.reserve()),
            Mix::UpsertUniform => Operation::Upsert(self.uniform()),
            Mix::ReadUpsert => {
                let number = self.uniform();
                if self.random.below(2) == 0 {
                    Operation::Read(number)
                } else {
                    Operation::Upsert(number)
                }
            }
            Mix::QueryUniform => Operation::Query(self.uniform()),
            Mix::ReadReplace(reads) => {
                if self.random.below(100) < *reads {
                    Operation::Read(self.hot())
                } else {
                    Operation::Replace(self.hot())
                }
            }
            Mix::ReadLatestCreate(reads) => {
                if self.random.below(100) < *reads {
                    Operation::Read(self.latest())
                } else {
                    Operation::Create(self.keys.reserve())
                }
            }
            Mix::ScanCreate(scans) => {
                if self.random.below(100) < *scans {
                    Operation::Scan(1 + self.random.below(SCAN_ITEMS_MAX))
                } else {
                    Operation::Create(self.keys.reserve())
                }
            }
            Mix::ReadModifyWrite(reads) => {
                if self.random.below(100) < *reads {
                    Operation::Read(self.hot())
                } else {
                    Operation::ReadModifyWrite(self.hot())
                }
            }
        };
        Some(operation)
    }

    /// Whether an error is expected: a load finds the items of an earlier run.
    pub(crate) fn expects(&self, status: u16) -> bool {
        matches!(self.mix, Mix::Load(_)) && status == CONFLICT
    }

    /// The generator of the values in items.
    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    fn uniform(&mut self) -> u64 {
        self.random.below(self.keys.loaded())
    }

    /// A number from the skewed distribution, scattered over all items.
    fn hot(&mut self) -> u64 {
        self.hot
            .draw_scrambled(&mut self.random, self.keys.loaded())
    }

    /// A number near the newest item. The newest number has the highest probability.
    fn latest(&mut self) -> u64 {
        let visible = self.keys.visible();
        // Items that were created since the last draw become the most frequent ones.
        self.latest.extend_to(visible);
        visible - 1 - self.latest.draw(&mut self.random).min(visible - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(mix: Mix, count: usize) -> Vec<Operation> {
        let keys = Arc::new(ItemKeys::new(100, 0));
        let mut chooser = Chooser::new(mix, keys, Random::new(1, 0));
        std::iter::from_fn(|| chooser.next()).take(count).collect()
    }

    #[test]
    fn mixes_keep_their_proportions() {
        let cases = [
            (Mix::ReadReplace(50), 50),
            (Mix::ReadReplace(95), 95),
            (Mix::ReadReplace(100), 100),
            (Mix::ReadUpsert, 50),
            (Mix::QueryUniform, 0),
            (Mix::ReadLatestCreate(95), 95),
            (Mix::ScanCreate(95), 0),
            (Mix::ReadModifyWrite(50), 50),
        ];
        for (mix, percent) in cases {
            let operations = draw(mix, 10_000);
            let reads = operations
                .iter()
                .filter(|o| matches!(o, Operation::Read(_)))
                .count();
            assert!(
                reads.abs_diff(percent * 100) < 150,
                "{reads} reads of {percent}%"
            );
        }
    }

    #[test]
    fn loading_takes_each_number_once() {
        let operations = draw(Mix::Load(Arc::new(AtomicU64::new(0))), 1000);
        assert_eq!(
            operations,
            (0..100).map(Operation::Create).collect::<Vec<_>>()
        );
    }

    #[test]
    fn latest_prefers_the_end() {
        let reads = draw(Mix::ReadLatestCreate(100), 1000);
        let newest = reads.iter().filter(|o| **o == Operation::Read(99)).count();
        assert!(newest > 100, "{newest}");
    }

    #[test]
    fn same_seed_same_choices() {
        assert_eq!(
            draw(Mix::ReadReplace(50), 100),
            draw(Mix::ReadReplace(50), 100)
        );
    }
}
