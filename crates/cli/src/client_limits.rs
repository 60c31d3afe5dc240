//! Limits on what clients may use of the process: memory, connections, time, host names.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use orrery_server::Limits;

use crate::layer::Layer;
use crate::settings::{NamedLayer, first};
use crate::{memory, open_files};

/// Files that the store, the log and links to other regions may need.
const RESERVED_FILES: usize = 512;
/// More connections than this point to a leak or an attack, unless a setting allows more.
const CONNECTIONS_MAX: usize = 10_000;

pub(crate) fn resolve(sources: &[NamedLayer]) -> Limits {
    let default = Limits::default();
    let memory = first(sources, |layer| layer.memory_for_requests.as_ref());
    let memory = memory.unwrap_or_else(memory::requests_default);
    let seconds = |setting: fn(&Layer) -> Option<&NonZeroU32>, default| {
        let given = first(sources, setting);
        given.map_or(default, |seconds| {
            Duration::from_secs(u64::from(seconds.get()))
        })
    };
    Limits {
        memory_bytes: usize::try_from(memory.0).unwrap_or(usize::MAX),
        connections: first(sources, |layer| layer.connections.as_ref())
            .map_or_else(|| connections(open_files::limit()), NonZeroUsize::get),
        header_time: seconds(|layer| layer.header_time.as_ref(), default.header_time),
        stall_time: seconds(|layer| layer.stall_time.as_ref(), default.stall_time),
        idle_time: seconds(|layer| layer.idle_time.as_ref(), default.idle_time),
        request_time: seconds(|layer| layer.request_time.as_ref(), default.request_time),
        allowed_hosts: first(sources, |layer| layer.allowed_host.as_ref()).unwrap_or_default(),
    }
}

/// The connections that the limit of open files allows, after the files reserved for the store. Of
/// a small limit the store gets half.
fn connections(files: Option<u64>) -> usize {
    let files = files.map_or(usize::MAX, |files| {
        usize::try_from(files).unwrap_or(usize::MAX)
    });
    let reserved = RESERVED_FILES.min(files / 2);
    // At least one connection: with a limit of zero the server answers nobody.
    (files - reserved).clamp(1, CONNECTIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_left_to_the_store() {
        for (files, expected) in [
            (Some(64), 32),
            (Some(256), 128),
            (Some(1_024), 512),
            (Some(4_096), 3_584),
            (Some(1_048_576), 10_000),
            (Some(u64::MAX), 10_000),
            (None, 10_000),
        ] {
            assert_eq!(connections(files), expected, "{files:?}");
        }
    }
}
