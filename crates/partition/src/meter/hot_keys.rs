//! The logical partitions with the highest consumption, in bounded memory.
//!
//! The sketch is Space-Saving: a fixed number of counters, where a new key takes over the smallest
//! counter with its count. A key with more than one part in [`COUNTERS`] of the consumption always
//! has a counter, and no count is too low. All counts decay, so that the result reflects recent
//! requests.

use orrery_keys::PartitionKey;

const COUNTERS: usize = 32;
/// Maximum number of reported keys.
const REPORTED: usize = 10;
const HALF_LIFE_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct HotKeys {
    counters: Vec<Counter>,
    total: f64,
    halved_ms: u64,
}

#[derive(Debug)]
struct Counter {
    key: PartitionKey,
    units: f64,
}

/// A logical partition with high consumption.
#[derive(Debug, Clone, PartialEq)]
pub struct HotKey {
    pub key: PartitionKey,
    /// Request units, halved every ten seconds.
    pub units: f64,
    /// Share of the consumption of the physical partition.
    pub share: f64,
}

impl HotKeys {
    pub(super) fn add(&mut self, key: Option<&PartitionKey>, units: f64, now_ms: u64) {
        self.halve(now_ms);
        self.total += units;
        let Some(key) = key else {
            return;
        };
        if let Some(counter) = self.counters.iter_mut().find(|counter| counter.key == *key) {
            counter.units += units;
            return;
        }
        if self.counters.len() < COUNTERS {
            let key = key.clone();
            self.counters.push(Counter { key, units });
            return;
        }
        let smallest = self
            .counters
            .iter_mut()
            .min_by(|a, b| a.units.total_cmp(&b.units));
        if let Some(smallest) = smallest {
            smallest.key = key.clone();
            smallest.units += units;
        }
    }

    /// The keys with the highest consumption first. A key whose count is mostly inherited is below
    /// its fair share and is omitted.
    pub(super) fn report(&mut self, now_ms: u64) -> Vec<HotKey> {
        self.halve(now_ms);
        let total = self.total;
        let hot = self.counters.iter().filter(|counter| {
            self.counters.len() < COUNTERS || counter.units * COUNTERS as f64 > total
        });
        let mut hot: Vec<_> = hot
            .map(|counter| HotKey {
                key: counter.key.clone(),
                units: counter.units,
                share: (counter.units / total).min(1.0),
            })
            .collect();
        hot.sort_by(|a, b| b.units.total_cmp(&a.units));
        hot.truncate(REPORTED);
        hot
    }

    fn halve(&mut self, now_ms: u64) {
        let times = now_ms.saturating_sub(self.halved_ms) / HALF_LIFE_MS;
        if times == 0 {
            return;
        }
        self.halved_ms += times * HALF_LIFE_MS;
        let factor = 0.5_f64.powi(i32::try_from(times).unwrap_or(i32::MAX));
        self.total *= factor;
        for counter in &mut self.counters {
            counter.units *= factor;
        }
        self.counters.retain(|counter| counter.units >= 0.01);
    }
}

#[cfg(test)]
mod tests {
    use orrery_keys::KeyComponent;

    use super::*;

    fn key(name: &str) -> PartitionKey {
        PartitionKey::new(vec![KeyComponent::String(name.to_owned())])
    }

    #[test]
    fn heavy_keys_are_found_among_many() {
        let mut hot = HotKeys::default();
        for round in 0..10_000 {
            hot.add(Some(&key(&format!("cold {round}"))), 1.0, 0);
            if round % 2 == 0 {
                hot.add(Some(&key("hot")), 1.0, 0);
            }
            if round % 5 == 0 {
                hot.add(Some(&key("warm")), 1.0, 0);
            }
        }
        let report = hot.report(0);
        assert_eq!(
            (&report[0].key, &report[1].key),
            (&key("hot"), &key("warm"))
        );
        assert!(
            (0.29..0.36).contains(&report[0].share),
            "{}",
            report[0].share
        );
        assert!(hot.counters.len() <= COUNTERS);
    }

    #[test]
    fn old_heat_is_forgotten() {
        let mut hot = HotKeys::default();
        hot.add(Some(&key("old")), 1_000.0, 0);
        hot.add(Some(&key("new")), 100.0, 60_000);
        assert_eq!(hot.report(60_000)[0].key, key("new"));
        assert_eq!(hot.report(600_000), []);
    }

    #[test]
    fn use_without_a_key_counts_in_the_whole() {
        let mut hot = HotKeys::default();
        hot.add(Some(&key("a")), 1.0, 0);
        hot.add(None, 3.0, 0);
        assert!((hot.report(0)[0].share - 0.25).abs() < 1e-9);
    }
}
