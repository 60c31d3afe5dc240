//! The path of a replica, which a server gives to clients in direct mode and which their requests
//! repeat.
//!
//! A range has several paths that lead to the same listener, because the SDKs read at secondary
//! replicas only, and look for more replicas if they find fewer than four.

use std::fmt;

use orrery_keys::ContainerRid;
use orrery_model::RangeId;

/// The partition that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaPath {
    /// The partition of databases, users and lists of containers.
    Master,
    Range(ContainerRid, RangeId),
}

/// The names of the replicas of a partition. The first one is the primary.
pub(crate) const REPLICAS: [&str; 4] = ["1p", "2s", "3s", "4s"];

impl ReplicaPath {
    /// Parses the path that a request repeats.
    pub fn parse(path: &str) -> Option<ReplicaPath> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let mut value_after = |keyword: &str| {
            segments
                .next()
                .filter(|segment| *segment == keyword)
                .and_then(|_| segments.next())
        };
        value_after("apps")?;
        let service = value_after("services")?;
        let partition = value_after("partitions")?;
        value_after("replicas")?;
        if service == "master" {
            return Some(ReplicaPath::Master);
        }
        let container = ContainerRid::parse(service).ok()?;
        Some(ReplicaPath::Range(
            container,
            RangeId(partition.parse().ok()?),
        ))
    }

    /// The id of the range, as the addresses of the partition and the answers of it have it.
    pub(crate) fn range_text(self) -> String {
        match self {
            ReplicaPath::Master => "M".to_owned(),
            ReplicaPath::Range(_, range) => range.to_string(),
        }
    }
}

impl fmt::Display for ReplicaPath {
    /// The path without the name of the replica: `apps/orrery/services/…/partitions/0/replicas`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("apps/orrery/services/")?;
        match self {
            ReplicaPath::Master => f.write_str("master/partitions/M/replicas"),
            ReplicaPath::Range(container, range) => {
                write!(f, "{container}/partitions/{range}/replicas")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_keys::DatabaseRid;

    use super::*;

    #[test]
    fn a_path_comes_back_from_the_client() {
        let container = ContainerRid::new(DatabaseRid::new(1), 2);
        for path in [
            ReplicaPath::Master,
            ReplicaPath::Range(container, RangeId(7)),
        ] {
            let text = format!("/{path}/2s");
            assert_eq!(ReplicaPath::parse(&text), Some(path), "{text}");
        }
        for text in [
            "",
            "/",
            "/apps/a/services/x/partitions/0/replicas/1p",
            "/apps/a/services/master",
        ] {
            assert_eq!(ReplicaPath::parse(text), None, "{text}");
        }
    }
}
