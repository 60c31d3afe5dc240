//! Databases, users and permissions; entity tags.

use std::fmt;

use orrery_keys::{DatabaseRid, OfferRid, PartitionKey, PermissionRid, UserRid};

/// The version of a resource, with its double quotes: `"0000002a-0000-0000-0001-65f0c0de0000"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Etag(String);

impl Etag {
    /// The tag of a write: its position in the log of its partition, which no other write has.
    pub fn of_write(range: u32, lsn: u64, ordinal: u16, seconds: u64) -> Etag {
        Etag::of_region_write(0, range, lsn, ordinal, seconds)
    }

    /// The tag of a write in a multi-write account, where each region has logs of its own.
    pub fn of_region_write(region: u8, range: u32, lsn: u64, ordinal: u16, seconds: u64) -> Etag {
        // The tag has the form of a GUID, like the entity tags of Cosmos DB.
        let (high, low) = ((lsn >> 16) & 0xFFFF_FFFF, lsn & 0xFFFF);
        let range = range & 0xFFFF;
        // Each part has a fixed number of digits; higher bits are cut.
        let seconds = seconds & 0xFFFF_FFFF;
        Etag(format!(
            "\"{high:08x}-{low:04x}-{range:04x}-{ordinal:04x}-{seconds:08x}{region:04x}\""
        ))
    }

    /// A tag that [`Etag::of_write`] made and that was stored as text.
    pub fn from_stored(text: impl Into<String>) -> Etag {
        Etag(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone)]
pub struct Database {
    pub rid: DatabaseRid,
    pub id: String,
    pub etag: Etag,
    pub modified_seconds: u64,
    /// The offer of a database that shares its throughput among its containers.
    pub offer: Option<OfferRid>,
}

#[derive(Debug, Clone)]
pub struct User {
    pub rid: UserRid,
    pub id: String,
    pub etag: Etag,
    pub modified_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionMode {
    Read,
    All,
}

#[derive(Debug, Clone)]
pub struct Permission {
    pub rid: PermissionRid,
    pub id: String,
    pub etag: Etag,
    pub modified_seconds: u64,
    pub mode: PermissionMode,
    /// The mode in the client's spelling, which answers repeat.
    pub mode_text: String,
    /// The link of the granted resource, by name or by resource id, as the client sent it.
    pub resource: String,
    pub partition_key: Option<PartitionKey>,
}
