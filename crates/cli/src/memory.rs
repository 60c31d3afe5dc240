//! The memory of the machine, or of the container that the server runs in, if the container has
//! less.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::size::Size;

/// The fraction of the memory that caches stored data by default, as a divisor.
const CACHE_PART: u64 = 8;
const CACHE_MIN: Size = Size::mebibytes(128);
const CACHE_MAX: Size = Size::mebibytes(4096);

/// The fraction of the memory that requests may take by default, as a divisor.
const REQUESTS_PART: u64 = 4;
const REQUESTS_MIN: Size = Size::mebibytes(256);

/// The default size of the cache of stored data.
pub(crate) fn cache_default() -> Size {
    cache_of(memory_bytes())
}

/// The default limit on the memory of all requests and their answers together.
pub(crate) fn requests_default() -> Size {
    requests_of(memory_bytes())
}

fn requests_of(memory_bytes: u64) -> Size {
    // Whole mebibytes, so that the start message prints a short number.
    let part = Size::mebibytes((memory_bytes / REQUESTS_PART) >> 20);
    Size(part.0.max(REQUESTS_MIN.0))
}

fn cache_of(memory_bytes: u64) -> Size {
    let part = Size::mebibytes((memory_bytes / CACHE_PART) >> 20);
    Size(part.0.clamp(CACHE_MIN.0, CACHE_MAX.0))
}

fn memory_bytes() -> u64 {
    let memory = MemoryRefreshKind::nothing().with_ram();
    let system = System::new_with_specifics(RefreshKind::nothing().with_memory(memory));
    let limit = system.cgroup_limits().map(|limits| limits.total_memory);
    // A cgroup limit of zero means no limit.
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    system.total_memory().min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_and_a_quarter_within_bounds() {
        const GIB: u64 = 1 << 30;
        for (memory, cache_mebibytes, requests_mebibytes) in [
            (0, 128, 256),
            (GIB / 2, 128, 256),
            (2 * GIB, 256, 512),
            (16 * GIB + 12_345, 2048, 4096),
            (512 * GIB, 4096, 128 * 1024),
        ] {
            assert_eq!(cache_of(memory), Size::mebibytes(cache_mebibytes));
            assert_eq!(requests_of(memory), Size::mebibytes(requests_mebibytes));
        }
        assert!(
            memory_bytes() >= GIB / 4,
            "a machine that runs this has some"
        );
    }
}
