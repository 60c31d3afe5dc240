//! The documents of the query suite, and facts about all documents that need no document in memory.
//!
//! Everything in a document follows from its number and the seed. Fields in query conditions are
//! permutations of the numbers, so that the count of each value is known exactly while equal values
//! lie scattered: no database gains from the order of loading. Scores are whole multiples of 1/64:
//! their sum is exact in any order of addition.

use std::io::Write as _;

use anyhow::{Result, bail};

use super::permutation::Permutation;
use crate::random::Random;

pub(crate) const PARTITIONS: u64 = 100;
/// The number of items that an equality finds.
pub(crate) const ROWS: u64 = 100;
/// The number of distinct values of `g`.
pub(crate) const GROUPS: u64 = 1000;
/// The number of items is a multiple of this, so that partitions, categories and groups have equal
/// sizes.
const ITEMS_UNIT: u64 = 1000;
const SCORE_UNITS: u64 = 1_000_000;
const UNITS_PER_ONE: f64 = 64.0;
const TAGS: u64 = 1000;
/// An upper limit on the length of the fields before the padding.
const VALUE_BYTES_MIN: usize = 400;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dataset {
    pub(crate) items: u64,
    value_bytes: usize,
    seed: u64,
    category: Permutation,
    n: Permutation,
    group_in_pk: Permutation,
    g: Permutation,
    raw: Permutation,
}

/// The fields that occur in query conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fields {
    pub(crate) pk: u64,
    pub(crate) category: u64,
    pub(crate) group_in_pk: u64,
    pub(crate) n: u64,
    pub(crate) g: u64,
    pub(crate) raw: u64,
}

impl Dataset {
    /// A data set. Equal arguments generate equal documents.
    pub(crate) fn new(items: u64, value_bytes: usize, seed: u64) -> Result<Self> {
        if items == 0 || !items.is_multiple_of(ITEMS_UNIT) {
            bail!("{items} items: the query suite needs a multiple of {ITEMS_UNIT}");
        }
        if value_bytes < VALUE_BYTES_MIN {
            bail!("items of {value_bytes} bytes are too small: the least is {VALUE_BYTES_MIN}");
        }
        // The inverted seed keeps the permutations independent of the random text of the documents.
        let over = |bound, stream| Permutation::new(bound, &mut Random::new(!seed, stream));
        Ok(Self {
            items,
            value_bytes,
            seed,
            category: over(items, 1),
            n: over(items, 2),
            group_in_pk: over(items / PARTITIONS, 3),
            g: over(items, 4),
            raw: over(items, 5),
        })
    }

    /// The number of distinct values of `category` and of `raw`.
    pub(crate) fn categories(&self) -> u64 {
        self.items / ROWS
    }

    pub(crate) fn items_of_partition(&self) -> u64 {
        self.items / PARTITIONS
    }

    /// The number of distinct values of `group_in_pk`.
    pub(crate) fn groups_in_partition(&self) -> u64 {
        (self.items_of_partition() / ROWS).max(1)
    }

    /// The number of items of one partition with this value of `group_in_pk`.
    pub(crate) fn rows_in_partition(&self, group: u64) -> u64 {
        let (items, groups) = (self.items_of_partition(), self.groups_in_partition());
        // The groups are one item larger below the remainder of the division.
        items / groups + u64::from(group < items % groups)
    }

    pub(crate) fn json_bytes(&self) -> u64 {
        self.items * self.value_bytes as u64
    }

    /// The sum of the scores of all documents.
    pub(crate) fn score_sum(&self) -> f64 {
        let units: u64 = (0..self.items)
            .map(|number| score_units(&mut self.random(number)))
            .sum();
        units as f64 / UNITS_PER_ONE
    }

    pub(crate) fn fields(&self, number: u64) -> Fields {
        Fields {
            pk: number % PARTITIONS,
            category: self.category.at(number) % self.categories(),
            group_in_pk: self.group_in_pk.at(number / PARTITIONS) % self.groups_in_partition(),
            // A permutation gives each document a distinct value, so `ORDER BY` has no ties.
            n: self.n.at(number),
            g: self.g.at(number) % GROUPS,
            raw: self.raw.at(number) % self.categories(),
        }
    }

    /// Appends the document of a number: JSON without escapes, of exactly the requested size.
    pub(crate) fn write(&self, out: &mut Vec<u8>, number: u64) {
        let begin = out.len();
        // The score must be drawn first; see `score_units`.
        let mut random = self.random(number);
        let score = score_units(&mut random) as f64 / UNITS_PER_ONE;
        let Fields {
            pk,
            category,
            group_in_pk,
            n,
            g,
            raw,
        } = self.fields(number);
        let mut tags = [0; 3];
        tags.fill_with(|| random.below(TAGS));
        let [one, two, three] = tags;
        let (a, b) = (random.below(1000), random.below(1000));
        write!(
            out,
            "{{\"id\":\"{number}\",\"pk\":\"p{pk}\",\"category\":\"c{category}\",\
             \"group_in_pk\":\"g{group_in_pk}\",\"n\":{n},\"score\":{score},\"g\":\"v{g}\",\
             \"raw\":{raw},\"tags\":[\"t{one}\",\"t{two}\",\"t{three}\"],\
             \"nested\":{{\"a\":{a},\"b\":\"b{b}\"}},\"name\":\""
        )
        .expect("writing to memory cannot fail");
        random.alphanumeric(out, 16);
        out.extend_from_slice(b"\",\"other\":\"");
        random.alphanumeric(out, 16);
        out.extend_from_slice(b"\",\"padding\":\"");
        let end = "\"}".len();
        random.alphanumeric(out, self.value_bytes - (out.len() - begin) - end);
        out.extend_from_slice(b"\"}");
    }

    fn random(&self, number: u64) -> Random {
        Random::new(self.seed, number)
    }
}

/// The score is the first draw of a document, so that the sum of the scores needs no other draw.
fn score_units(random: &mut Random) -> u64 {
    random.below(SCORE_UNITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    #[test]
    fn documents_have_the_asked_size_and_the_known_fields() {
        for value_bytes in [VALUE_BYTES_MIN, 1024] {
            let data = Dataset::new(1_000_000, value_bytes, 1).unwrap();
            for number in [0, 1, 999_999] {
                let mut text = Vec::new();
                data.write(&mut text, number);
                assert_eq!(text.len(), value_bytes);
                let item: Value = serde_json::from_slice(&text).unwrap();
                let fields = data.fields(number);
                assert_eq!(item["n"], fields.n);
                assert_eq!(item["category"], format!("c{}", fields.category));
                assert_eq!(item["tags"].as_array().unwrap().len(), 3);
            }
        }
    }

    #[test]
    fn values_occur_as_often_as_said() {
        for items in [2000, 20_000] {
            let data = Dataset::new(items, 500, 1).unwrap();
            let (mut categories, mut groups, mut gs, mut sum) =
                (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), 0.0);
            for number in 0..items {
                let fields = data.fields(number);
                *categories.entry(fields.category).or_insert(0) += 1;
                *groups.entry((fields.pk, fields.group_in_pk)).or_insert(0) += 1;
                *gs.entry(fields.g).or_insert(0) += 1;
                let mut text = Vec::new();
                data.write(&mut text, number);
                let item: Value = serde_json::from_slice(&text).unwrap();
                sum += item["score"].as_f64().unwrap();
            }
            assert!(categories.values().all(|count| *count == ROWS));
            assert_eq!(categories.len() as u64, data.categories());
            assert!(
                groups
                    .iter()
                    .all(|((_, group), count)| *count == data.rows_in_partition(*group))
            );
            assert!(gs.len() as u64 == GROUPS && gs.values().all(|count| *count == items / GROUPS));
            assert!((sum - data.score_sum()).abs() < 1e-9);
        }
    }

    #[test]
    fn sizes_that_do_not_divide_are_refused() {
        for (items, value_bytes) in [(0, 1024), (1500, 1024), (2000, 100)] {
            assert!(Dataset::new(items, value_bytes, 1).is_err());
        }
    }
}
