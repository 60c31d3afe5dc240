//! The ordered maps of the store.

use orrery_storage::Space;

/// Names on disk, in the order of the constants below. Never reordered.
pub(crate) const NAMES: [&str; 11] = [
    "documents",
    "unique",
    "expiry",
    "catalogue",
    "meta",
    "index",
    "statistics",
    "feed",
    "history",
    "versions",
    "claims",
];

/// Document key -> stored document.
pub(crate) const DOCUMENTS: Space = Space(0);
/// Logical partition and digest of the unique values -> id of the document that holds them.
pub(crate) const UNIQUE: Space = Space(1);
/// Second of expiry and document key -> nothing.
pub(crate) const EXPIRY: Space = Space(2);
/// Catalogue key -> catalogue entry, both the engine's.
pub(crate) const CATALOGUE: Space = Space(3);
/// The one catalogue key that means something here: with the number of a deleted container behind
/// it, it stands for as long as that container is being removed.
pub(crate) const REMOVAL_MARK: u8 = b'x';
/// With the number of a container behind it: the indexing policy its documents are to follow.
pub(crate) const INDEXING_POLICY: u8 = b'i';
/// The position applied last; the counters of each partition; the index state of each container.
pub(crate) const META: Space = Space(4);
/// Index entries -> nothing.
pub(crate) const INDEX: Space = Space(5);
/// Index entries that gather in memory before they are written out: more make the tables of the
/// index fewer, and a start after a crash slower.
pub(crate) const INDEX_BYTES_IN_MEMORY: usize = 32 * 1024 * 1024;
/// Pages of how many entries each index has, and about how many values; where each index is in them.
pub(crate) const STATISTICS: Space = Space(6);
/// Partition and moment of the newest version of a document -> its second, and where it stands.
pub(crate) const FEED: Space = Space(7);
/// Partition and moment of any change -> the change, in containers that keep them for a while.
pub(crate) const HISTORY: Space = Space(8);
/// In multi-write stores. Document key -> versions of it that are not shown: losers, tombstones.
pub(crate) const VERSIONS: Space = Space(9);
/// In multi-write stores. Key of a unique entry -> ids of documents that are not shown because
/// another one holds what they claim.
pub(crate) const CLAIMS: Space = Space(10);
/// With the number of a container behind it: it keeps its history, for so many minutes.
pub(crate) const HISTORY_POLICY: u8 = b'h';
/// In multi-write stores. With the numbers of a container and of a partition that has retired behind
/// it: who has taken over what it held.
pub(crate) const RETIRED: u8 = b'r';
