//! How a container extracts the partition key of a document, and which EPK and stored bytes that
//! key has.

use orrery_json::{PropertyPath, Value};

use crate::hash_v2::HASH_BYTES;
use crate::sortable::write_epk_number;
use crate::{
    Epk, EpkRange, KeyComponent, KeyError, PartitionKey, hash_v1, hash_v2, storage_prefix,
};

/// One path hashed as a whole, or up to three hashed one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionKeyKind {
    Hash,
    MultiHash,
}

/// Version 1 hashes the first 100 characters of a string, version 2 hashes the whole string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionKeyVersion {
    V1,
    V2,
}

/// The partition key definition of a container, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionKeyDefinition {
    paths: Vec<PropertyPath>,
    kind: PartitionKeyKind,
    version: PartitionKeyVersion,
}

/// The reason why paths, kind and version do not form a valid definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error("a hash partition key has one path, not {0}")]
    HashPaths(usize),
    #[error("a hierarchical partition key has 1 to {PATHS_MAX} paths, not {0}")]
    MultiHashPaths(usize),
    #[error("a hierarchical partition key must be of version 2")]
    MultiHashVersion,
}

/// Maximum number of paths of a hierarchical key.
const PATHS_MAX: usize = 3;

/// Maximum UTF-8 bytes of a string component in version 2, which hashes the whole string.
const COMPONENT_BYTES_MAX: usize = 2048;

/// The largest hash of version 2, whose two highest bits are always clear.
const HASH_V2_MAX: u128 = (1 << 126) - 1;

impl PartitionKeyDefinition {
    pub fn new(
        paths: Vec<PropertyPath>,
        kind: PartitionKeyKind,
        version: PartitionKeyVersion,
    ) -> Result<PartitionKeyDefinition, DefinitionError> {
        match (kind, version) {
            (PartitionKeyKind::Hash, _) if paths.len() != 1 => {
                return Err(DefinitionError::HashPaths(paths.len()));
            }
            (PartitionKeyKind::MultiHash, _) if !(1..=PATHS_MAX).contains(&paths.len()) => {
                return Err(DefinitionError::MultiHashPaths(paths.len()));
            }
            (PartitionKeyKind::MultiHash, PartitionKeyVersion::V1) => {
                return Err(DefinitionError::MultiHashVersion);
            }
            (PartitionKeyKind::Hash, _)
            | (PartitionKeyKind::MultiHash, PartitionKeyVersion::V2) => {}
        }
        Ok(PartitionKeyDefinition {
            paths,
            kind,
            version,
        })
    }

    pub fn paths(&self) -> &[PropertyPath] {
        &self.paths
    }

    pub fn kind(&self) -> PartitionKeyKind {
        self.kind
    }

    pub fn version(&self) -> PartitionKeyVersion {
        self.version
    }

    /// The complete key of a document. A path without a value yields an undefined component, and so
    /// does a path to an array or an object.
    pub fn extract(&self, document: &Value) -> PartitionKey {
        let component = |path: &PropertyPath| {
            KeyComponent::from_value(path.value_in(document)).unwrap_or(KeyComponent::Undefined)
        };
        PartitionKey::new(self.paths.iter().map(component).collect())
    }

    /// Checks that the key has a component for every path, as operations on one item require.
    pub fn check_complete(&self, key: &PartitionKey) -> Result<(), KeyError> {
        self.check_prefix(key)?;
        if key.len() < self.paths.len() {
            return Err(KeyError::Incomplete {
                found: key.len(),
                defined: self.paths.len(),
            });
        }
        Ok(())
    }

    /// Checks that the key has at most one component for each path.
    pub fn check_prefix(&self, key: &PartitionKey) -> Result<(), KeyError> {
        if key.len() > self.paths.len() {
            return Err(KeyError::TooMany {
                found: key.len(),
                defined: self.paths.len(),
            });
        }
        Ok(())
    }

    /// Whether every key with this component has exactly this value at the component's path. In
    /// version 1, long strings with the same first characters share one key.
    pub fn determines_value(&self, component: &KeyComponent) -> bool {
        match component {
            KeyComponent::String(text) if self.version == PartitionKeyVersion::V1 => {
                hash_v1::is_fully_hashed(text)
            }
            _ => true,
        }
    }

    /// Checks the length of every string component. Version 1 hashes only the beginning of a
    /// string, so it accepts any length.
    pub fn check_size(&self, key: &PartitionKey) -> Result<(), KeyError> {
        if self.version == PartitionKeyVersion::V1 {
            return Ok(());
        }
        for component in key.components() {
            if let KeyComponent::String(text) = component
                && text.len() > COMPONENT_BYTES_MAX
            {
                return Err(KeyError::TooLong {
                    found: text.len(),
                    max: COMPONENT_BYTES_MAX,
                });
            }
        }
        Ok(())
    }

    /// The EPK of a complete key, or the start of the EPK range of a prefix.
    pub fn epk(&self, key: &PartitionKey) -> Epk {
        let components = key.components();
        Epk::from_bytes(match (self.kind, self.version) {
            (PartitionKeyKind::MultiHash, _) => hash_v2::epk_of_multi_hash(components),
            (PartitionKeyKind::Hash, PartitionKeyVersion::V2) => hash_v2::epk_of_hash(components),
            (PartitionKeyKind::Hash, PartitionKeyVersion::V1) => {
                let mut epk = Vec::new();
                hash_v1::write_epk(components, &mut epk);
                epk
            }
        })
    }

    /// The EPK range of all complete keys that begin with `key`. For a complete key this is one
    /// point.
    pub fn prefix_range(&self, key: &PartitionKey) -> EpkRange {
        let min = self.epk(key);
        let mut bytes = min.as_bytes().to_vec();
        let max = if self.kind == PartitionKeyKind::MultiHash && key.len() < self.paths.len() {
            bytes.push(0xFF);
            Epk::from_bytes(bytes)
        } else {
            if key.is_empty() {
                // Extend the empty EPK so that its successor is still below every key with
                // components: EPKs of version 1 all begin with the marker of a number.
                let room = match self.version {
                    PartitionKeyVersion::V1 => 1,
                    PartitionKeyVersion::V2 => HASH_BYTES,
                };
                bytes.resize(room, 0);
            }
            Epk::from_bytes(bytes).successor()
        };
        EpkRange::new(min, max)
    }

    /// The EPK ranges of a new container with `count` physical partitions (at least one). Clients
    /// expect exactly these boundaries.
    pub fn initial_ranges(&self, count: usize) -> Vec<EpkRange> {
        let count = count.max(1) as u128;
        let boundary = |index| match index {
            0 => Epk::min(),
            _ if index == count => Epk::max(),
            _ => self.initial_boundary(index, count),
        };
        (0..count)
            .map(|index| EpkRange::new(boundary(index), boundary(index + 1)))
            .collect()
    }

    /// Version 1 rounds each boundary separately. Version 2 rounds the width of one range, so the
    /// last range takes the remainder.
    fn initial_boundary(&self, index: u128, count: u128) -> Epk {
        self.point(match self.version {
            PartitionKeyVersion::V1 => u128::from(u32::MAX) * index / count,
            PartitionKeyVersion::V2 => HASH_V2_MAX / count * index,
        })
    }

    /// The EPK that splits a range into two halves with about equal numbers of hashes. `None` if
    /// the range is too small to split.
    pub fn middle(&self, range: &EpkRange) -> Option<Epk> {
        let (first, end) = self.hashes(range);
        let middle = self.point(u128::midpoint(first, end));
        (range.min < middle && middle < range.max).then_some(middle)
    }

    /// The fraction of all hashes that fall into a range, between 0 and 1.
    pub fn width(&self, range: &EpkRange) -> f64 {
        let (first, end) = self.hashes(range);
        let (_, all) = self.hashes(&EpkRange::full());
        (end - first) as f64 / all as f64
    }

    /// The hashes in a range: the first hash, and the first hash after the range.
    fn hashes(&self, range: &EpkRange) -> (u128, u128) {
        match self.version {
            PartitionKeyVersion::V1 => {
                // The byte encoding of version 1 has no simple inverse, so a binary search finds
                // the hash.
                let first = |end: &Epk| first_hash(|hash| self.point(u128::from(hash)) >= *end);
                (first(&range.min).into(), first(&range.max).into())
            }
            PartitionKeyVersion::V2 => {
                let hash = |point: &Epk| {
                    let mut bytes = [0; 16];
                    let known = point.as_bytes().len().min(16);
                    bytes[..known].copy_from_slice(&point.as_bytes()[..known]);
                    u128::from_be_bytes(bytes).min(HASH_V2_MAX)
                };
                (hash(&range.min), hash(&range.max))
            }
        }
    }

    fn point(&self, hash: u128) -> Epk {
        match self.version {
            PartitionKeyVersion::V1 => {
                let mut bytes = Vec::new();
                write_epk_number(hash as f64, &mut bytes);
                Epk::from_bytes(bytes)
            }
            PartitionKeyVersion::V2 => Epk::from_bytes(hash.to_be_bytes().to_vec()),
        }
    }

    /// The component bytes that every [`storage_prefix`](Self::storage_prefix) of a key with prefix
    /// `key` contains, and their byte offset. A filter needs them because keys with different first
    /// levels may have equal hashes. `None` for keys with one level.
    pub fn prefix_components(&self, key: &PartitionKey) -> Option<(usize, Vec<u8>)> {
        (self.kind == PartitionKeyKind::MultiHash)
            .then(|| storage_prefix::prefix_components(self.paths.len(), key.components()))
    }

    /// Appends bytes that identify the logical partition of a complete key. The encoding is
    /// injective, self-delimiting, and sorts in the order of effective partition keys.
    ///
    /// Keys that version 1 does not distinguish form one logical partition and have the same bytes.
    pub fn storage_prefix(&self, key: &PartitionKey, out: &mut Vec<u8>) {
        let components = key.components();
        match (self.kind, self.version) {
            (PartitionKeyKind::MultiHash, _) => {
                storage_prefix::write_multi_hash(self.paths.len(), components, out);
            }
            (PartitionKeyKind::Hash, PartitionKeyVersion::V2) => {
                storage_prefix::write_hash_v2(components, out);
            }
            (PartitionKeyKind::Hash, PartitionKeyVersion::V1) => {
                storage_prefix::write_hash_v1(components, out);
            }
        }
    }
}

/// The smallest hash that satisfies the monotonic predicate `holds`; `u32::MAX` if none does.
fn first_hash(holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, u32::MAX);
    while low < high {
        let middle = u32::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use orrery_json::parse;
    use proptest::prelude::*;

    use super::*;
    use crate::partition_key::tests::any_component;

    fn paths(count: usize) -> Vec<PropertyPath> {
        let names = ["/a", "/b/c", "/d", "/e"];
        names[..count]
            .iter()
            .map(|text| PropertyPath::parse(text).unwrap())
            .collect()
    }

    fn definition(
        count: usize,
        kind: PartitionKeyKind,
        version: PartitionKeyVersion,
    ) -> PartitionKeyDefinition {
        PartitionKeyDefinition::new(paths(count), kind, version).unwrap()
    }

    fn definitions() -> [PartitionKeyDefinition; 4] {
        [
            definition(1, PartitionKeyKind::Hash, PartitionKeyVersion::V1),
            definition(1, PartitionKeyKind::Hash, PartitionKeyVersion::V2),
            definition(1, PartitionKeyKind::MultiHash, PartitionKeyVersion::V2),
            definition(3, PartitionKeyKind::MultiHash, PartitionKeyVersion::V2),
        ]
    }

    fn key(header: &str) -> PartitionKey {
        PartitionKey::parse_header(header).unwrap()
    }

    fn prefix(definition: &PartitionKeyDefinition, key: &PartitionKey) -> Vec<u8> {
        let mut out = Vec::new();
        definition.storage_prefix(key, &mut out);
        out
    }

    #[test]
    fn definitions_are_checked() {
        for (count, kind, version, valid) in [
            (0, PartitionKeyKind::Hash, PartitionKeyVersion::V1, false),
            (1, PartitionKeyKind::Hash, PartitionKeyVersion::V1, true),
            (1, PartitionKeyKind::Hash, PartitionKeyVersion::V2, true),
            (2, PartitionKeyKind::Hash, PartitionKeyVersion::V2, false),
            (
                0,
                PartitionKeyKind::MultiHash,
                PartitionKeyVersion::V2,
                false,
            ),
            (
                1,
                PartitionKeyKind::MultiHash,
                PartitionKeyVersion::V2,
                true,
            ),
            (
                3,
                PartitionKeyKind::MultiHash,
                PartitionKeyVersion::V2,
                true,
            ),
            (
                4,
                PartitionKeyKind::MultiHash,
                PartitionKeyVersion::V2,
                false,
            ),
            (
                2,
                PartitionKeyKind::MultiHash,
                PartitionKeyVersion::V1,
                false,
            ),
        ] {
            let made = PartitionKeyDefinition::new(paths(count), kind, version);
            assert_eq!(made.is_ok(), valid, "{count} {kind:?} {version:?}");
        }
    }

    #[test]
    fn keys_are_found_in_documents() {
        let definition = definition(2, PartitionKeyKind::MultiHash, PartitionKeyVersion::V2);
        for (document, expected) in [
            (r#"{"a":1,"b":{"c":"x"}}"#, r#"[1,"x"]"#),
            (r#"{"a":null}"#, "[null,{}]"),
            (r#"{"a":-0.0,"b":5}"#, "[0,{}]"),
            ("[]", "[{},{}]"),
            (r#"{"b":{"c":[]}}"#, "[{},{}]"),
            (r#"{"a":{},"b":{"c":2}}"#, "[{},2]"),
        ] {
            let found = definition.extract(&parse(document.as_bytes()).unwrap());
            assert_eq!(found.to_json(), expected, "{document}");
        }
    }

    #[test]
    fn counts_and_sizes_are_checked() {
        let [v1, v2, _, multi] = definitions();
        assert!(multi.check_complete(&key("[1,2,3]")).is_ok());
        assert!(multi.check_complete(&key("[1,2]")).is_err());
        assert!(multi.check_prefix(&key("[1,2]")).is_ok());
        assert!(multi.check_prefix(&key("[1,2,3,4]")).is_err());
        let text = |bytes| PartitionKey::new(vec![KeyComponent::String("a".repeat(bytes))]);
        assert!(v2.check_size(&text(2048)).is_ok());
        assert!(v2.check_size(&text(2049)).is_err());
        assert!(v1.check_size(&text(2049)).is_ok());
    }

    #[test]
    fn version_1_does_not_see_the_end_of_a_long_string() {
        let [v1, v2, ..] = definitions();
        let text = |end: &str| PartitionKey::new(vec![KeyComponent::String("a".repeat(100) + end)]);
        assert_eq!(prefix(&v1, &text("x")), prefix(&v1, &text("y")));
        assert_ne!(prefix(&v2, &text("x")), prefix(&v2, &text("y")));
    }

    #[test]
    fn ranges_of_complete_keys_are_points() {
        let [v1, v2, _, multi] = definitions();
        for (definition, header, expected) in [
            (&v1, "[]", "[,01)"),
            (&v1, "[1]", "[05C1ED172B6B2605BFF0,05C1ED172B6B2605BFF1)"),
            (&v2, "[]", "[,00000000000000000000000000000001)"),
            (
                &v2,
                "[1]",
                "[20CD98B339BA78A5D0CF6953B87070B0,20CD98B339BA78A5D0CF6953B87070B1)",
            ),
            (&multi, "[]", "[,FF)"),
            (
                &multi,
                "[1]",
                "[20CD98B339BA78A5D0CF6953B87070B0,20CD98B339BA78A5D0CF6953B87070B0FF)",
            ),
        ] {
            assert_eq!(definition.prefix_range(&key(header)).to_string(), expected);
        }
    }

    #[test]
    fn initial_ranges_tile_the_line() {
        for definition in definitions() {
            for count in [0, 1, 2, 7, 1000] {
                let ranges = definition.initial_ranges(count);
                assert_eq!(ranges.len(), count.max(1));
                assert_eq!(ranges[0].min, Epk::min());
                assert_eq!(ranges[ranges.len() - 1].max, Epk::max());
                assert!(ranges.windows(2).all(|pair| pair[0].max == pair[1].min));
                assert!(ranges.iter().all(|range| !range.is_empty()));
            }
        }
    }

    #[test]
    fn five_initial_ranges_have_the_boundaries_that_clients_expect() {
        let [v1, v2, ..] = definitions();
        for (definition, expected) in [
            (
                v1,
                [
                    "05C1C9CD673398",
                    "05C1D9CD673398",
                    "05C1E399CD6732",
                    "05C1E9CD673398",
                ],
            ),
            (
                v2,
                [
                    "0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC",
                    "19999999999999999999999999999998",
                    "26666666666666666666666666666664",
                    "33333333333333333333333333333330",
                ],
            ),
        ] {
            let ranges = definition.initial_ranges(5);
            let boundaries: Vec<_> = ranges[1..]
                .iter()
                .map(|range| range.min.to_string())
                .collect();
            assert_eq!(boundaries, expected);
        }
    }

    #[test]
    fn ranges_are_cut_in_the_middle() {
        for definition in definitions() {
            let halves = definition.initial_ranges(2);
            assert_eq!(
                definition.middle(&EpkRange::full()),
                Some(halves[0].max.clone())
            );
            let quarters = definition.initial_ranges(4);
            for (half, quarter) in halves.iter().zip(quarters.chunks(2)) {
                let middle = definition.middle(half).unwrap();
                assert!(half.contains(&middle) && half.min < middle);
                let (near, far) = (&quarter[0].max, definition.middle(&quarter[0]).unwrap());
                assert!(&far < near && *near < half.max, "{middle} {near} {far}");
            }
            let point = EpkRange::new(halves[0].max.clone(), halves[0].max.successor());
            assert_eq!(definition.middle(&point), None);
        }
    }

    /// Keys that often share a part: short strings, long strings that differ late, prefixes.
    fn any_key() -> impl Strategy<Value = PartitionKey> {
        let component = prop_oneof![
            any_component(),
            "[ab\u{0}]{0,2}".prop_map(KeyComponent::String),
            (98_usize..103, "[ab😀]{0,2}")
                .prop_map(|(count, end)| KeyComponent::String("a".repeat(count) + &end)),
            (0_i8..3).prop_map(|number| KeyComponent::Number(f64::from(number))),
        ];
        proptest::collection::vec(component, 0..4).prop_map(PartitionKey::new)
    }

    /// The key reduced to the parts that its definition distinguishes.
    fn identity(definition: &PartitionKeyDefinition, key: &PartitionKey) -> PartitionKey {
        let see = |component: &KeyComponent| match component {
            KeyComponent::String(text) if definition.version == PartitionKeyVersion::V1 => {
                KeyComponent::String(hash_v1::significant(text).into_owned())
            }
            other => other.clone(),
        };
        PartitionKey::new(key.components().iter().map(see).collect())
    }

    /// The second key has the same hash as the first.
    #[test]
    fn keys_with_one_hash_differ_in_their_first_levels() {
        let definition = definitions()
            .into_iter()
            .find(|definition| definition.kind == PartitionKeyKind::MultiHash)
            .unwrap();
        let key = |text: &str| PartitionKey::new(vec![KeyComponent::String(text.to_owned())]);
        let (one, other) = (key("a"), key("tenant-hds0xim0`$eHM`|&wj#+Wy}"));
        assert_eq!(definition.epk(&one), definition.epk(&other));
        assert_ne!(
            definition.prefix_components(&one),
            definition.prefix_components(&other)
        );
    }

    proptest! {
        #[test]
        fn first_levels_tell_which_keys_begin_with_them(a in any_key(), b in any_key()) {
            for definition in definitions() {
                let levels = definition.paths.len();
                let cut = |key: &PartitionKey, at: usize| {
                    PartitionKey::new(key.components().iter().take(at).cloned().collect())
                };
                for first in 0..levels {
                    let Some((at, bytes)) = definition.prefix_components(&cut(&a, first)) else {
                        continue;
                    };
                    for key in [cut(&a, levels), cut(&b, levels)] {
                        if definition.check_complete(&key).is_err() {
                            continue;
                        }
                        let begins = key.components().starts_with(cut(&a, first).components());
                        let found = prefix(&definition, &key)[at..].starts_with(&bytes);
                        prop_assert_eq!(found, begins);
                    }
                }
            }
        }

        #[test]
        fn storage_prefixes_are_injective_and_ordered(a in any_key(), b in any_key()) {
            for definition in definitions() {
                let levels = definition.paths.len();
                let cut = |key: &PartitionKey| {
                    let components = key.components();
                    PartitionKey::new(components[..components.len().min(levels)].to_vec())
                };
                let (a, b) = (cut(&a), cut(&b));
                let (bytes_a, bytes_b) = (prefix(&definition, &a), prefix(&definition, &b));
                let same = identity(&definition, &a) == identity(&definition, &b);
                prop_assert_eq!(bytes_a == bytes_b, same);
                prop_assert_eq!(bytes_a.starts_with(&bytes_b), same);
                let (epk_a, epk_b) = (definition.epk(&a), definition.epk(&b));
                if epk_a != epk_b {
                    prop_assert_eq!(bytes_a.cmp(&bytes_b), epk_a.cmp(&epk_b));
                }
            }
        }

        #[test]
        fn ranges_select_stored_keys_as_they_select_points(a in any_key(), b in any_key()) {
            for definition in definitions() {
                let levels = definition.paths.len();
                let components = b.components();
                let prefix_key =
                    PartitionKey::new(components[..components.len().min(levels)].to_vec());
                if a.len() < levels {
                    continue;
                }
                let full = PartitionKey::new(a.components()[..levels].to_vec());
                let range = definition.prefix_range(&prefix_key);
                let mut stored = prefix(&definition, &full);
                stored.push(0xFF);
                let selected = range.min.significant_bytes() <= stored.as_slice()
                    && stored.as_slice() < range.max.significant_bytes();
                prop_assert_eq!(selected, range.contains(&definition.epk(&full)));
                let own = definition.prefix_range(&full);
                prop_assert!(own.contains(&definition.epk(&full)));
                prop_assert!(own.is_subset(&EpkRange::full()));
            }
        }
    }
}
