//! What a store does about the disk it stands on, as its owner wants it.

/// If the owner names no reserve, the store keeps at most a tenth of its disk free.
const RESERVE_PART: u64 = 10;
const RESERVE_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Opens a store although its log has lost records that were durable, and goes on without them.
    pub accept_loss: bool,
    pub on_panic: OnPanic,
    /// Bytes of the disk that are kept free: with less, writes are refused. None takes what suits the disk.
    pub disk_reserve_bytes: Option<u64>,
    /// Bytes that the scrub reads in a second; with none there is no scrub.
    pub scrub_bytes_per_second: u64,
}

/// What a panic of a thread of the store means to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPanic {
    /// The store refuses all writes and says why. This suits a process that has other work beside
    /// the store.
    #[default]
    RefuseWrites,
    /// The process ends, so that its supervisor starts it again or another region takes over.
    EndProcess,
}

/// What such a process ends with: an error of the program itself.
const EXIT_CODE: i32 = 70;

impl OnPanic {
    /// A thread of the store has panicked. Returns unless the process is to end.
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

impl Upkeep {
    /// The reserve of a disk of this size.
    pub(crate) fn reserve_of(&self, disk_bytes: u64) -> u64 {
        self.disk_reserve_bytes
            .unwrap_or_else(|| RESERVE_BYTES.min(disk_bytes / RESERVE_PART))
    }
}
