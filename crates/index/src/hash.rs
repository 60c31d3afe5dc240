//! The identifier of an index within its container.
//!
//! The hash of a path is computed step by step, so the walk over a document hashes each property
//! name once, regardless of depth. Tags separate the hashes of single paths, composite indexes and
//! spatial indexes.

use orrery_exec::{DocumentPath, PathStep};
use orrery_model::{CompositePath, IndexStep, SortOrder};
use xxhash_rust::xxh3::xxh3_64;

/// The hash of a path, or the hash of the paths and directions of a composite index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexHash(pub u64);

const NAME: u8 = b'n';
const ELEMENT: u8 = b'e';
const COMPOSITE: u8 = b'c';
const SPATIAL: u8 = b's';

/// A name up to this length is hashed in a stack buffer, without an allocation.
const NAME_BYTES_SHORT: usize = 55;

impl IndexHash {
    /// The whole document. Statistics count documents under this hash.
    pub const ROOT: IndexHash = IndexHash(0);
    /// Documents that all indexes exclude. Statistics count these documents under this hash.
    pub const UNINDEXED: IndexHash = IndexHash(1);

    pub fn of_path(path: &DocumentPath) -> IndexHash {
        path.0
            .iter()
            .fold(IndexHash::ROOT, |hash, step| match step {
                PathStep::Name(name) => hash.property(name),
                PathStep::Element => hash.element(),
            })
    }

    /// The hash of a composite index: its paths and directions, in order.
    pub fn of_composite(paths: &[CompositePath]) -> IndexHash {
        let mut input = vec![COMPOSITE];
        for path in paths {
            let hash = path
                .path
                .steps()
                .iter()
                .fold(IndexHash::ROOT, |hash, step| match step {
                    IndexStep::Property(name) => hash.property(name),
                    IndexStep::Elements => hash.element(),
                });
            input.extend_from_slice(&hash.0.to_be_bytes());
            input.push(match path.order {
                SortOrder::Ascending => 0,
                SortOrder::Descending => 1,
            });
        }
        IndexHash(xxh3_64(&input))
    }

    pub fn of_spatial(path: &DocumentPath) -> IndexHash {
        IndexHash::of_path(path).spatial()
    }

    /// The hash one step deeper, at the property `name`.
    pub(crate) fn property(self, name: &str) -> IndexHash {
        const PREFIX: usize = 9;
        let name = name.as_bytes();
        if name.len() <= NAME_BYTES_SHORT {
            let mut input = [0; PREFIX + NAME_BYTES_SHORT];
            input[..8].copy_from_slice(&self.0.to_be_bytes());
            input[8] = NAME;
            input[PREFIX..PREFIX + name.len()].copy_from_slice(name);
            return IndexHash(xxh3_64(&input[..PREFIX + name.len()]));
        }
        let mut input = Vec::with_capacity(PREFIX + name.len());
        input.extend_from_slice(&self.0.to_be_bytes());
        input.push(NAME);
        input.extend_from_slice(name);
        IndexHash(xxh3_64(&input))
    }

    /// The hash one step deeper, at every element of the array.
    pub(crate) fn element(self) -> IndexHash {
        self.tagged(ELEMENT)
    }

    /// The hash of the spatial index at this path.
    pub(crate) fn spatial(self) -> IndexHash {
        self.tagged(SPATIAL)
    }

    fn tagged(self, tag: u8) -> IndexHash {
        let mut input = [tag; 9];
        input[..8].copy_from_slice(&self.0.to_be_bytes());
        IndexHash(xxh3_64(&input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_names_of_their_own() {
        let name = |name: &str| PathStep::Name(name.to_owned());
        let paths = [
            DocumentPath(vec![]),
            DocumentPath(vec![name("a")]),
            DocumentPath(vec![name("")]),
            DocumentPath(vec![PathStep::Element]),
            DocumentPath(vec![name("a"), PathStep::Element]),
            DocumentPath(vec![name("a"), name("b")]),
            DocumentPath(vec![name("ab")]),
            DocumentPath(vec![name(&"a".repeat(55))]),
            DocumentPath(vec![name(&"a".repeat(56))]),
        ];
        let mut hashes: Vec<IndexHash> = paths.iter().map(IndexHash::of_path).collect();
        hashes.extend(paths.iter().map(IndexHash::of_spatial));
        let count = hashes.len();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
        assert_eq!(IndexHash::of_path(&paths[0]), IndexHash::ROOT);
    }

    #[test]
    fn hashes_are_part_of_the_format() {
        let path = DocumentPath(vec![PathStep::Name("a".to_owned()), PathStep::Element]);
        assert_eq!(
            IndexHash::of_path(&path),
            IndexHash(1_942_045_300_108_997_964)
        );
    }
}
