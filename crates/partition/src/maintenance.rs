//! Settings for the maintenance of a store's disk.

/// Without a configured reserve, the reserve is at most this fraction of the disk.
const RESERVE_PART: u64 = 10;
const RESERVE_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceOptions {
    /// Opens a store whose log has lost durable records, and continues without them.
    pub accept_loss: bool,
    pub on_panic: OnPanic,
    /// Free bytes below which writes are refused. `None` selects a reserve from the disk size.
    pub disk_reserve_bytes: Option<u64>,
    /// Bytes per second that the scrub reads; zero turns the scrub off.
    pub scrub_bytes_per_second: u64,
}

/// The reaction of the process to a panic in a thread of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPanic {
    /// The store refuses all writes and reports the cause. For a process with other tasks.
    #[default]
    RefuseWrites,
    /// The process exits, so that its supervisor restarts it or another region takes over.
    EndProcess,
}

/// The exit code after a panic: an internal software error.
const EXIT_CODE: i32 = 70;

impl OnPanic {
    /// Reacts to a panic in a thread of the store. Does not return if the process exits.
    pub(crate) fn act(self, message: &str) {
        tracing::error!("{message}");
        if self == OnPanic::EndProcess {
            tracing::error!(
                "the process ends, because nothing it says of its data could be relied on"
            );
            std::process::exit(EXIT_CODE);
        }
    }
}

impl MaintenanceOptions {
    /// The reserve for a disk of this size.
    pub(crate) fn reserve_of(&self, disk_bytes: u64) -> u64 {
        self.disk_reserve_bytes
            .unwrap_or_else(|| RESERVE_BYTES.min(disk_bytes / RESERVE_PART))
    }
}
