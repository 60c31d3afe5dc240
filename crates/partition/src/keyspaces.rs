//! The keyspaces of the store.

use orrery_storage::KeyspaceId;

/// Names on disk, in the order of the constants below. The order is part of the format.
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

/// The number of keyspaces that every store of the present format has. Later programs added the
/// keyspaces after them.
pub(crate) const FIRST_NAMES: usize = 9;

/// Document key -> stored document.
pub(crate) const DOCUMENTS: KeyspaceId = KeyspaceId(0);
/// Logical partition and digest of the unique values -> id of the document with these values.
pub(crate) const UNIQUE: KeyspaceId = KeyspaceId(1);
/// Second of expiry and document key -> nothing.
pub(crate) const EXPIRY: KeyspaceId = KeyspaceId(2);
/// Catalogue key -> catalogue entry. The `engine` crate defines both.
pub(crate) const CATALOGUE: KeyspaceId = KeyspaceId(3);
/// First byte of a catalogue key that is followed by the number of a deleted container. The row
/// exists while that container is being purged.
pub(crate) const REMOVAL_MARK: u8 = b'x';
/// First byte of a catalogue key that is followed by a container number: its indexing policy.
pub(crate) const INDEXING_POLICY: u8 = b'i';
/// The applied position, the counters of each partition, and the index state of each container.
pub(crate) const META: KeyspaceId = KeyspaceId(4);
/// Index entries -> nothing.
pub(crate) const INDEX: KeyspaceId = KeyspaceId(5);
/// Bytes of index entries that gather in memory before a flush. More bytes make fewer index tables
/// and a slower start after a crash.
pub(crate) const INDEX_BYTES_IN_MEMORY: usize = 32 * 1024 * 1024;
/// Pages with the number of entries and of distinct values of each index, and the page of each
/// index.
pub(crate) const STATISTICS: KeyspaceId = KeyspaceId(6);
/// Partition and LSN of the latest version of a document -> its second and key position.
pub(crate) const FEED: KeyspaceId = KeyspaceId(7);
/// Partition and LSN of a change -> the change, in containers that keep their history.
pub(crate) const HISTORY: KeyspaceId = KeyspaceId(8);
/// Multi-write stores only. Document key -> hidden versions of the document: conflict losers,
/// tombstones.
pub(crate) const VERSIONS: KeyspaceId = KeyspaceId(9);
/// Multi-write stores only. Key of a unique entry -> ids of hidden documents that claim the value
/// while another document holds it.
pub(crate) const CLAIMS: KeyspaceId = KeyspaceId(10);
/// First byte of a catalogue key that is followed by a container number: the container keeps its
/// history.
pub(crate) const HISTORY_POLICY: u8 = b'h';
/// Multi-write stores only. First byte of a catalogue key that is followed by the numbers of a
/// container and a superseded partition: the child partitions that own its range.
pub(crate) const SUPERSEDED: u8 = b'r';
/// First byte of a catalogue change that is followed by a container number: the first LSNs of its
/// partitions. Never stored as a row.
pub(crate) const FIRST_LSN: u8 = b'l';
